//! A secret tried by its owner: one request without a body, to where it is bound, of which the status alone is given.
//! It goes the way that every other request goes.

use crate::proxy::{Outside, Proxy};
use crate::replies::Replies;
use crate::vault_actor::VaultRequest;
use ipc_proto::credproxy::{At, CredError, PLACEHOLDER, Placement, Request, Verb};
use ipc_proto::{Blob, List, Name, Text};

impl<O: Outside> Proxy<O> {
    /// Sends the request and gives the status of its reply.
    pub(crate) async fn try_out(&self, name: Name, verb: Verb, url: Text<2048>) -> Result<u16, CredError> {
        if !matches!(verb, Verb::Get | Verb::Head) {
            return Err(CredError::NoTrial);
        }
        let at = self.ask(|reply| VaultRequest::Place(name.clone(), reply)).await?.unwrap_or_else(bearer);
        let url = marked(url, &at)?;
        let secret = Some(Placement { secret: name, at });
        let (headers, body) = (List::default(), Blob::default());
        let request = Request { verb, url, headers, body, secret, cookies: false };
        let replies = Replies::default();
        let head = self.request(&replies, request).await?;
        replies.close(head.reply);
        Ok(head.status)
    }
}

/// Where most services look for a key.
fn bearer() -> At {
    At::Header { name: Name::clip("authorization"), prefix: Text::clip("Bearer ") }
}

/// The address with the mark where the secret goes, if it goes into the address and the mark is not there yet.
fn marked(url: Text<2048>, at: &At) -> Result<Text<2048>, CredError> {
    match at {
        At::Query { name } if !url.contains(PLACEHOLDER) => {
            let between = if url.contains('?') { '&' } else { '?' };
            Text::new(format!("{url}{between}{name}={PLACEHOLDER}")).map_err(|_| CredError::BadUrl)
        }
        At::Field { .. } | At::Login => Err(CredError::NoTrial),
        At::Segment | At::Query { .. } | At::Header { .. } => Ok(url),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_of_the_query_is_put_there_and_one_of_a_body_cannot_be_tried() {
        let query = At::Query { name: Name::clip("key") };
        let url = |text: &str| Text::new(text).unwrap();
        for (given, wanted) in [
            ("https://a.test/x", format!("https://a.test/x?key={PLACEHOLDER}")),
            ("https://a.test/x?a=1", format!("https://a.test/x?a=1&key={PLACEHOLDER}")),
        ] {
            assert_eq!(marked(url(given), &query).unwrap().as_str(), wanted);
        }
        let there = format!("https://a.test/x?b={PLACEHOLDER}");
        assert_eq!(marked(url(&there), &query).unwrap().as_str(), there, "the request itself refuses it");
        assert_eq!(marked(url("https://a.test/x"), &bearer()).unwrap().as_str(), "https://a.test/x");
        let field = At::Field { name: Name::clip("key") };
        assert_eq!(marked(url("https://a.test/x"), &field), Err(CredError::NoTrial));
        let long = url(&format!("https://a.test/{}", "x".repeat(2030)));
        assert_eq!(marked(long, &query), Err(CredError::BadUrl));
    }
}
