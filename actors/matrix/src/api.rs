//! Requests of the client-server API through credproxy, which adds the access token.

use crate::reply::{Failure, read};
use ipc_proto::credproxy::{CredError, Header, Placement, Request, Verb};
use ipc_proto::{Blob, List, Name, Text};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The path of the API.
const CLIENT: &str = "/_matrix/client/v3";
/// The path of uploads.
const UPLOAD: &str = "/_matrix/media/v3/upload";

/// The API for one account.
pub(crate) struct Api {
    way: channel::Api,
    secret: Name,
    server: String,
}

impl Api {
    pub(crate) fn new(way: channel::Api, secret: Name, server: &str) -> Self {
        Self { way, secret, server: server.trim_end_matches('/').to_owned() }
    }

    /// The name of the account.
    pub(crate) const fn account(&self) -> &Name {
        self.way.account()
    }

    /// Reads something; `path` is below [`CLIENT`].
    ///
    /// # Errors
    /// [`Failure`] says if the request may have had its effect.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        let body = self.send(Verb::Get, &format!("{CLIENT}{path}"), "application/json", Vec::new()).await?;
        serde_json::from_slice(&body).map_err(|_| Failure::Lost)
    }

    /// Sends JSON; `path` is below [`CLIENT`].
    ///
    /// # Errors
    /// As [`Self::get`].
    pub(crate) async fn put(&self, verb: Verb, path: &str, body: &Value) -> Result<Value, Failure> {
        let body = body.to_string().into_bytes();
        let reply = self.send(verb, &format!("{CLIENT}{path}"), "application/json", body).await?;
        serde_json::from_slice(&reply).map_err(|_| Failure::Lost)
    }

    /// Sends a message to a room under a transaction id: sent again under the same one, it is there once. Returns its event's id.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub(crate) async fn message(
        &self,
        room: &str,
        transaction: &str,
        content: &Value,
    ) -> Result<Text<128>, Failure> {
        let path = format!("/rooms/{}/send/m.room.message/{}", escaped(room), escaped(transaction));
        let sent = self.put(Verb::Put, &path, content).await?;
        let id = sent.get("event_id").and_then(Value::as_str).ok_or(Failure::Lost)?;
        Text::new(id).map_err(|_| Failure::Lost)
    }

    /// Stores a file at the homeserver. Returns its `mxc` address.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub(crate) async fn upload(&self, name: &str, kind: &str, bytes: &[u8]) -> Result<String, Failure> {
        let path = format!("{UPLOAD}?filename={}", escaped(name));
        let reply = self.send(Verb::Post, &path, kind, bytes.to_vec()).await?;
        let reply: Value = serde_json::from_slice(&reply).map_err(|_| Failure::Lost)?;
        let address = reply.get("content_uri").and_then(Value::as_str);
        address.filter(|address| address.len() <= 512).map(str::to_owned).ok_or(Failure::Lost)
    }

    /// Joins a room.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub(crate) async fn join(&self, room: &str) -> Result<(), Failure> {
        self.put(Verb::Post, &format!("/rooms/{}/join", escaped(room)), &json!({})).await.map(drop)
    }

    async fn send(&self, verb: Verb, path: &str, kind: &str, body: Vec<u8>) -> Result<Vec<u8>, Failure> {
        let header = Header { name: Name::clip("content-type"), value: Text::clip(kind) };
        let request = Request {
            verb,
            url: Text::new(format!("{}{path}", self.server))
                .map_err(|_| Failure::Unsent(CredError::BadUrl))?,
            headers: List::clip([header].into_iter().filter(|_| verb != Verb::Get)),
            body: Blob::new(body).map_err(|_| Failure::Unsent(CredError::Full))?,
            secret: Some(Placement::header(&self.secret, "authorization", "Bearer ")),
        };
        let reply = self.way.request(request).await?;
        read(reply.status, reply.retry_after, reply.body)
    }
}

/// A text as one segment of a path, or one value of a query.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_id_is_one_segment_of_a_path() {
        assert_eq!(escaped("!a/b:c"), "%21a%2Fb%3Ac");
        assert_eq!(escaped("é?#%"), "%C3%A9%3F%23%25");
    }

    proptest! {
        #[test]
        fn no_id_breaks_out_of_its_segment(text in "\\PC{0,32}|(?s).{0,32}") {
            let segment = escaped(&text);
            prop_assert!(segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~%".contains(&byte)));
        }
    }
}
