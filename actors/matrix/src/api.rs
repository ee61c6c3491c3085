//! Requests of the client-server API through credproxy, which adds the access token.

use crate::reply::{Failure, read};
use channel::{Lost, NoFile, Source, origin, percent_encoded};
use ipc_proto::channel::Missed;
use ipc_proto::credproxy::{Placement, Verb};
use ipc_proto::{Name, Text};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The path of the API.
const CLIENT: &str = "/_matrix/client/v3";
/// The path of files, which are given to those alone who may read them.
const DOWNLOAD: &str = "/_matrix/client/v1/media/download";
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
        serde_json::from_slice(&body).map_err(|_| Lost::Unknown.into())
    }

    /// Sends JSON; `path` is below [`CLIENT`].
    ///
    /// # Errors
    /// As [`Self::get`].
    pub(crate) async fn put(&self, verb: Verb, path: &str, body: &Value) -> Result<Value, Failure> {
        let body = body.to_string().into_bytes();
        let reply = self.send(verb, &format!("{CLIENT}{path}"), "application/json", body).await?;
        serde_json::from_slice(&reply).map_err(|_| Lost::Unknown.into())
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
        let path =
            format!("/rooms/{}/send/m.room.message/{}", percent_encoded(room), percent_encoded(transaction));
        let sent = self.put(Verb::Put, &path, content).await?;
        let id = sent.get("event_id").and_then(Value::as_str).ok_or(Lost::Unknown)?;
        Text::new(id).map_err(|_| Lost::Unknown.into())
    }

    /// Stores a file at the homeserver. Returns its `mxc` address.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub(crate) async fn upload(&self, name: &str, kind: &str, bytes: &[u8]) -> Result<String, Failure> {
        let path = format!("{UPLOAD}?filename={}", percent_encoded(name));
        let reply = self.send(Verb::Post, &path, kind, bytes.to_vec()).await?;
        let reply: Value = serde_json::from_slice(&reply).map_err(|_| Lost::Unknown)?;
        let address = reply.get("content_uri").and_then(Value::as_str);
        address.filter(|address| address.len() <= 512).map(str::to_owned).ok_or_else(|| Lost::Unknown.into())
    }

    /// Opens a file at the homeserver by its `mxc` address.
    ///
    /// # Errors
    /// [`NoFile`]
    pub(crate) async fn file(&self, address: &str) -> Result<Source, NoFile> {
        let (server, id) = mxc(address).ok_or(NoFile::Missed(Missed::Gone))?;
        let url = format!("{}{DOWNLOAD}/{}/{id}", self.server, percent_encoded(server));
        let secret = Placement::header(&self.secret, "authorization", "Bearer ");
        self.way.file(&url, &[origin(&self.server)], &[], Some(secret)).await
    }

    /// Joins a room.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub(crate) async fn join(&self, room: &str) -> Result<(), Failure> {
        self.put(Verb::Post, &format!("/rooms/{}/join", percent_encoded(room)), &json!({})).await.map(drop)
    }

    async fn send(&self, verb: Verb, path: &str, kind: &str, body: Vec<u8>) -> Result<Vec<u8>, Failure> {
        let headers: &[_] = if verb == Verb::Get { &[] } else { &[("content-type", kind)] };
        let secret = Placement::header(&self.secret, "authorization", "Bearer ");
        let request = channel::request(verb, &format!("{}{path}", self.server), headers, body, Some(secret))?;
        let reply = self.way.request(request).await?;
        read(reply.status, reply.retry_after, reply.body)
    }
}

/// The server and the id of an `mxc` address, which its sender wrote: each is one segment of a path and names no other.
fn mxc(address: &str) -> Option<(&str, &str)> {
    let (server, id) = address.strip_prefix("mxc://")?.split_once('/')?;
    let of_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-.:[]".contains(&byte);
    let of_id = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let plain = (1..=230).contains(&server.len()) && server.bytes().all(of_host);
    let named = server.bytes().any(|byte| byte.is_ascii_alphanumeric());
    (plain && named && (1..=255).contains(&id.len()) && id.bytes().all(of_id)).then_some((server, id))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds P11-55.
    #[test]
    fn an_address_of_a_file_is_a_server_and_an_id_and_nothing_else() {
        assert_eq!(mxc("mxc://a.test:8448/Ab-_9"), Some(("a.test:8448", "Ab-_9")));
        assert_eq!(mxc("mxc://[::1]/x"), Some(("[::1]", "x")));
        for address in [
            "",
            "mxc://",
            "mxc://a.test",
            "mxc://a.test/",
            "mxc:///x",
            "mxc://../x",
            "mxc://a.test/..",
            "mxc://a.test/x/y",
            "mxc://a.test/x?allow_redirect=true",
            "mxc://a.test/x#y",
            "mxc://a@b.test/x",
            "mxc://a.test/%2e",
            "https://a.test/x",
            "MXC://a.test/x",
            "mxc://a.test\\evil/x",
            "mxc://\u{e9}.test/x",
        ] {
            assert_eq!(mxc(address), None, "{address}");
        }
        assert_eq!(mxc(&format!("mxc://a.test/{}", "x".repeat(256))), None);
    }
}
