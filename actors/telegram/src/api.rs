//! Calls of the Bot API through credproxy, which puts the token into the path.

use crate::reply::{Failure, read};
use ipc_proto::credproxy::{At, CredproxyClient, Header, PLACEHOLDER, Placement, Request, Verb, method};
use ipc_proto::{Blob, List, Name, Text};
use kit::{Link, Pull};
use serde_json::Value;

/// The longest reply that is read, in bytes.
const REPLY_BOUND: usize = 8 * 1024 * 1024;

/// The API of one account.
pub(crate) struct Api {
    credproxy: Link<CredproxyClient>,
    account: Name,
    secret: Name,
    server: String,
}

impl Api {
    pub(crate) fn new(credproxy: Link<CredproxyClient>, account: Name, secret: Name, server: &str) -> Self {
        Self { credproxy, account, secret, server: server.trim_end_matches('/').to_owned() }
    }

    /// The name of the account.
    pub(crate) const fn account(&self) -> &Name {
        &self.account
    }

    /// Calls a method with these parameters.
    ///
    /// # Errors
    /// [`Failure`] says if the call may have had its effect.
    pub(crate) async fn call(&self, name: &str, parameters: &Value) -> Result<Value, Failure> {
        self.send(name, "application/json", parameters.to_string().into_bytes()).await
    }

    /// Calls a method with a body of this type.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub(crate) async fn send(&self, name: &str, kind: &str, body: Vec<u8>) -> Result<Value, Failure> {
        let request = self.request(name, kind, body)?;
        let asked = self.credproxy.call(&method::channel_request, |credproxy, context| {
            let (account, request) = (self.account.clone(), request.clone());
            async move { credproxy.channel_request(context, account, request).await }
        });
        let mut head = asked.await??;
        let (mut pull, mut body) = (Pull::of(&self.credproxy, &mut head), Vec::new());
        loop {
            // The request has left: a reply that ends early says nothing about its effect.
            let Ok(Ok(chunk)) = pull.next().await else { return Err(Failure::Lost) };
            body.extend(&*chunk.bytes);
            if body.len() > REPLY_BOUND {
                return Err(Failure::Lost);
            }
            if chunk.last {
                return read(head.status, &body);
            }
        }
    }

    fn request(&self, name: &str, kind: &str, body: Vec<u8>) -> Result<Request, Failure> {
        let url = format!("{}/bot{PLACEHOLDER}/{name}", self.server);
        let header = Header { name: Name::clip("content-type"), value: Text::clip(kind) };
        Ok(Request {
            verb: Verb::Post,
            url: Text::clip(&url),
            headers: List::clip([header]),
            body: Blob::new(body).map_err(|_| Failure::NotAsked)?,
            secret: Some(Placement { secret: self.secret.clone(), at: At::Segment }),
        })
    }
}
