//! The Cloud API of one number through credproxy, which adds the token: messages, and files both ways.

use channel::{Api, Lost, NoFile, Reply, Source, form_of, media_type, no_reply, of_status, origin};
use ipc_proto::Name;
use ipc_proto::channel::{FILE_BYTES, Missed};
use ipc_proto::config::ChannelAccount;
use ipc_proto::credproxy::{Placement, Verb};
use serde::Deserialize;
use serde_json::Value;

/// The platform's own server, the one that gives out files, and the version of the API.
const SERVER: &str = "https://graph.facebook.com";
const FILES: &str = "https://lookaside.fbsbx.com";
const VERSION: &str = "v23.0";
/// The name by which the host calls itself: files are refused to whoever has none.
const AGENT: (&str, &str) = ("user-agent", concat!("cordon/", env!("CARGO_PKG_VERSION")));

/// The API of a number.
pub(crate) struct Cloud {
    api: Api,
    token: Name,
    number: String,
    server: String,
    /// The server that gives out files.
    files: String,
}

/// A file as the API describes it.
#[derive(Deserialize)]
struct Media {
    url: String,
    #[serde(default)]
    file_size: u64,
}

impl Cloud {
    pub(crate) fn new(api: Api, account: &ChannelAccount) -> Self {
        let own = account.base_url.as_deref();
        Self {
            api,
            token: Name::clip(&account.secret),
            number: account.number.clone().unwrap_or_default(),
            server: own.unwrap_or(SERVER).trim_end_matches('/').to_owned(),
            files: own.map_or(FILES, origin).to_owned(),
        }
    }

    /// The way to the servers.
    pub(crate) const fn api(&self) -> &Api {
        &self.api
    }

    /// Posts a message.
    ///
    /// # Errors
    /// [`Lost`] says if it may have been sent.
    pub(crate) async fn post(&self, message: &Value) -> Result<Reply, Lost> {
        self.send("messages", "application/json", message.to_string().into_bytes()).await
    }

    /// Stores a file, which nobody has before a message names it.
    ///
    /// # Errors
    /// [`Lost`]: it has no reply.
    pub(crate) async fn store(&self, name: &str, bytes: &[u8]) -> Result<Reply, Lost> {
        let kind = media_type(bytes);
        let fields = [("messaging_product", "whatsapp".to_owned()), ("type", kind.to_owned())];
        let (form, body) = form_of(&fields, ("file", name, bytes), kind);
        self.send("media", &form, body).await
    }

    /// Opens the file of this id.
    ///
    /// # Errors
    /// [`NoFile`]
    pub(crate) async fn file(&self, id: &str) -> Result<Source, NoFile> {
        let gone = NoFile::Missed(Missed::Gone);
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if !(1..=128).contains(&id.len()) || !id.bytes().all(plain) {
            return Err(gone);
        }
        let url = format!("{}/{VERSION}/{id}?phone_number_id={}", self.server, self.number);
        let asked = channel::request(Verb::Get, &url, &[AGENT], Vec::new(), Some(self.bearer()));
        let reply = match asked {
            Ok(asked) => self.api.request(asked).await,
            Err(lost) => Err(lost),
        };
        let reply = reply.map_err(|lost| no_reply(&lost))?;
        of_status(reply.status)?;
        let media: Media = serde_json::from_slice(&reply.body).map_err(|_| gone)?;
        if media.file_size > FILE_BYTES {
            return Err(NoFile::Missed(Missed::TooLarge));
        }
        self.api.file(&media.url, &[&self.files], &[AGENT], Some(self.bearer())).await
    }

    fn bearer(&self) -> Placement {
        Placement::header(&self.token, "authorization", "Bearer ")
    }

    async fn send(&self, edge: &str, kind: &str, body: Vec<u8>) -> Result<Reply, Lost> {
        let url = format!("{}/{VERSION}/{}/{edge}", self.server, self.number);
        let headers = [("content-type", kind)];
        let request = channel::request(Verb::Post, &url, &headers, body, Some(self.bearer()))?;
        self.api.request(request).await
    }
}
