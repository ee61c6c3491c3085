//! Requests and streams of one account through credproxy, which adds the secret.

use crate::lost::Lost;
use ipc_proto::credproxy::{
    CredError, CredproxyClient, Head, Header, Incoming, Opening, Outgoing, Placement, Proof, Request, Stream,
    Verb, Verdict, method,
};
use ipc_proto::{Blob, List, Name, Text};
use kit::{Link, Pull};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// All that RFC 3986 does not count as unreserved.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// The longest reply that is read, in bytes.
pub const REPLY_BOUND: usize = 8 * 1024 * 1024;

/// A reply.
#[derive(Debug, Clone)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// `Retry-After`, seconds.
    pub retry_after: Option<u32>,
    /// The headers that credproxy passes on.
    pub headers: List<Header, 16>,
    /// The body, whole; at most [`REPLY_BOUND`] bytes.
    pub body: Vec<u8>,
}

impl Reply {
    /// The value of a header; the name is in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|header| header.name.eq_ignore_ascii_case(name))
            .map(|header| header.value.as_str())
    }
}

/// A request with these headers, each a name and its value.
///
/// # Errors
/// [`Lost::Unsent`] if the address or the body is longer than a request may hold.
pub fn request(
    verb: Verb,
    url: &str,
    headers: &[(&str, &str)],
    body: impl Into<Vec<u8>>,
    secret: Option<Placement>,
) -> Result<Request, Lost> {
    let header = |(name, value): &(&str, &str)| Header { name: Name::clip(name), value: Text::clip(value) };
    Ok(Request {
        verb,
        url: Text::new(url).map_err(|_| Lost::Unsent(CredError::BadUrl))?,
        headers: List::clip(headers.iter().map(header)),
        body: Blob::new(body).map_err(|_| Lost::Unsent(CredError::Full))?,
        secret,
        cookies: false,
    })
}

/// A text as one segment of a path, or one value of a query or of a form: all but the unreserved characters of RFC 3986 is encoded.
#[must_use]
pub fn percent_encoded(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// The way of one account to its servers.
pub struct Api {
    credproxy: Link<CredproxyClient>,
    account: Name,
}

impl Api {
    /// The way of the account of this name.
    #[must_use]
    pub const fn new(credproxy: Link<CredproxyClient>, account: Name) -> Self {
        Self { credproxy, account }
    }

    /// The name of the account.
    #[must_use]
    pub const fn account(&self) -> &Name {
        &self.account
    }

    /// Sends a request; gives the head of the reply, and its body to pull.
    ///
    /// # Errors
    /// [`Lost`] says if the request may have had its effect.
    pub async fn begin(&self, request: Request) -> Result<(Head, Pull), Lost> {
        let asked = self.credproxy.call(&method::channel_request, |credproxy, context| {
            let (account, request) = (self.account.clone(), request.clone());
            async move { credproxy.channel_request(context, account, request).await }
        });
        let mut head = asked.await??;
        let pull = Pull::of(&self.credproxy, &mut head);
        Ok((head, pull))
    }

    /// Sends a request and reads the whole reply.
    ///
    /// # Errors
    /// [`Lost`] says if the request may have had its effect.
    pub async fn request(&self, request: Request) -> Result<Reply, Lost> {
        let (head, mut pull) = self.begin(request).await?;
        let mut body = Vec::new();
        loop {
            // The request has left: a reply that ends early says nothing about its effect.
            let Ok(Ok(chunk)) = pull.next().await else { return Err(Lost::Unknown) };
            body.extend(&*chunk.bytes);
            if body.len() > REPLY_BOUND {
                return Err(Lost::Unknown);
            }
            if chunk.last {
                let (status, retry_after) = (head.status, head.retry_after);
                return Ok(Reply { status, retry_after, headers: head.headers, body });
            }
        }
    }

    /// Compares what a sender gave with what only a holder of this secret can give.
    ///
    /// # Errors
    /// [`Lost`]: nothing was compared.
    pub async fn verify(
        &self,
        secret: &Name,
        proof: Proof,
        signed: &[u8],
        given: &[u8],
    ) -> Result<bool, Lost> {
        let signed = Blob::new(signed).map_err(|_| Lost::NotAsked)?;
        let given = Blob::new(given).map_err(|_| Lost::NotAsked)?;
        let verified = self.credproxy.call(&method::verify, |credproxy, context| {
            let (account, secret) = (self.account.clone(), secret.clone());
            let (signed, given) = (signed.clone(), given.clone());
            async move { credproxy.verify(context, account, secret, proof, signed, given).await }
        });
        Ok(verified.await?? == Verdict::Holds)
    }

    /// Signs these bytes with this secret.
    ///
    /// # Errors
    /// [`Lost`]: nothing was signed.
    pub async fn sign(&self, secret: &Name, bytes: &[u8]) -> Result<[u8; 32], Lost> {
        let bytes = Blob::new(bytes).map_err(|_| Lost::NotAsked)?;
        let signed = self.credproxy.call(&method::sign, |credproxy, context| {
            let (account, secret, bytes) = (self.account.clone(), secret.clone(), bytes.clone());
            async move { credproxy.sign(context, account, secret, bytes).await }
        });
        Ok(signed.await??)
    }

    /// Opens a stream.
    ///
    /// # Errors
    /// [`Lost`] says if something of it left this machine.
    pub async fn open(&self, opening: Opening) -> Result<Stream, Lost> {
        let opened = self.credproxy.call(&method::open_stream, |credproxy, context| {
            let (account, opening) = (self.account.clone(), opening.clone());
            async move { credproxy.open_stream(context, account, opening).await }
        });
        Ok(opened.await??)
    }

    /// Sends a part over a stream.
    ///
    /// # Errors
    /// [`Lost`]: the stream is over, or the part may have arrived.
    pub async fn push(&self, stream: Stream, outgoing: Outgoing) -> Result<(), Lost> {
        let pushed = self.credproxy.call(&method::push, |credproxy, context| {
            let outgoing = outgoing.clone();
            async move { credproxy.push(context, stream, outgoing).await }
        });
        Ok(pushed.await??)
    }

    /// The next part that came over a stream; [`Incoming::Quiet`] after 25 s without one.
    ///
    /// # Errors
    /// [`Lost`]: the stream is over.
    pub async fn pull(&self, stream: Stream) -> Result<Incoming, Lost> {
        let pulled = self
            .credproxy
            .call(&method::pull, |credproxy, context| async move { credproxy.pull(context, stream).await });
        Ok(pulled.await??)
    }

    /// Closes a stream and its connection.
    pub async fn close(&self, stream: Stream) {
        let closed = self.credproxy.call(&method::close_stream, |credproxy, context| async move {
            credproxy.close_stream(context, stream).await
        });
        // Credproxy closes what is left when this process ends.
        let _ = closed.await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_id_is_one_segment_of_a_path() {
        assert_eq!(percent_encoded("!a/b:c"), "%21a%2Fb%3Ac");
        assert_eq!(percent_encoded("é?#%"), "%C3%A9%3F%23%25");
    }

    proptest! {
        #[test]
        fn no_id_breaks_out_of_its_segment(text in "\\PC{0,32}|(?s).{0,32}") {
            let segment = percent_encoded(&text);
            prop_assert!(segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~%".contains(&byte)));
        }
    }
}
