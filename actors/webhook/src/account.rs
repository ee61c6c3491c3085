//! An account: its hooks are read once their signature holds, and its answers are posted under a signature of their own.

use crate::message::read;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use channel::{
    Api, Facts, Found, Hooks, Lost, NoFile, Platform, PollFault, Polled, Reply, Source, WEBHOOK, media_type,
    refused,
};
use ipc_proto::channel::{Body, Claim, Missed, Outcome};
use ipc_proto::config::ChannelAccount;
use ipc_proto::credproxy::{Proof, Verb};
use ipc_proto::ingress::{Hook, HookAnswer};
use ipc_proto::{Name, Text};
use kit::Host;
use serde_json::{Value, json};
use std::cell::RefCell;

/// Seconds by which the time of a hook may differ from this machine's, as Standard Webhooks recommends.
const SKEW_S: u64 = 300;
/// The pause before an answer is sent again that never left, or that the receiver could not take.
const AGAIN_MS: u32 = 5_000;

/// An account.
pub(crate) struct Webhook {
    api: Api,
    hooks: Hooks,
    secret: Name,
    url: String,
    /// The files of the last message, in base64.
    files: RefCell<Vec<String>>,
}

impl Webhook {
    pub(crate) fn new(api: Api, hooks: Hooks, account: &ChannelAccount) -> Self {
        let url = account.base_url.clone().unwrap_or_default();
        Self { api, hooks, secret: Name::clip(&account.secret), url, files: RefCell::default() }
    }

    /// The id and the time of a hook whose signature holds, or the status by which it is refused.
    async fn proven<'a>(&self, hook: &'a Hook) -> Result<(&'a str, u64), u16> {
        let header = |name: &str| hook.header(name).filter(|value| !value.is_empty());
        let (id, at) = header("webhook-id").zip(header("webhook-timestamp")).ok_or(400_u16)?;
        let seconds: u64 = at.parse().map_err(|_| 400_u16)?;
        if seconds.abs_diff(kit::now_ms() / 1000) > SKEW_S || !hook.post {
            return Err(400);
        }
        let signed = [format!("{id}.{at}.").as_bytes(), &hook.body].concat();
        let given = header("webhook-signature").ok_or(400_u16)?;
        // Several signatures stand there while a secret is changed.
        for one in given.split(' ').filter_map(|one| one.strip_prefix("v1,")).take(4) {
            let Ok(signature) = STANDARD.decode(one) else { continue };
            match self.api.verify(&self.secret, Proof::HmacSha256, &signed, &signature).await {
                Ok(true) => return Ok((id, seconds)),
                Ok(false) => {}
                Err(_) => return Err(503),
            }
        }
        Err(401)
    }

    async fn post(&self, claim: &Claim) -> Result<Reply, Lost> {
        let (id, at) = (id_of(claim), (kit::now_ms() / 1000).to_string());
        let body = document(claim).to_string().into_bytes();
        let signed = [format!("{id}.{at}.").as_bytes(), &body].concat();
        let signature = self.api.sign(&self.secret, &signed).await?;
        let headers = [
            ("content-type", "application/json"),
            ("webhook-id", &id),
            ("webhook-timestamp", &at),
            ("webhook-signature", &format!("v1,{}", STANDARD.encode(signature))),
        ];
        let request = channel::request(Verb::Post, &self.url, &headers, body, None)?;
        self.api.request(request).await
    }
}

/// A piece as the receiver gets it: a text, or a file in base64.
fn document(claim: &Claim) -> Value {
    let (key, content) = match &claim.content.body {
        Body::Text(text) => ("text", json!(text)),
        Body::File { name, bytes } => (
            "file",
            json!({ "name": name, "media_type": media_type(bytes), "data": STANDARD.encode(&**bytes) }),
        ),
    };
    json!({
        "type": "message",
        "conversation": claim.conversation.id,
        "reply_to": claim.reply_to,
        "part": claim.piece.number,
        key: content,
    })
}

/// The id of an answer: the same one whenever it is sent.
fn id_of(claim: &Claim) -> String {
    format!("msg_{}_{}", claim.piece.delivery, claim.piece.number)
}

/// The outcome of an answer. A receiver knows a repeated one by its id, so that one whose outcome is unknown is sent again.
fn outcome(id: &str, sent: &Result<Reply, Lost>) -> Outcome {
    match sent {
        Ok(reply) if (200..300).contains(&reply.status) => Outcome::Sent { id: Text::clip(id) },
        Ok(reply) if (400..500).contains(&reply.status) && !matches!(reply.status, 408 | 425 | 429) => {
            let why = format!("the receiver refused it with status {}", reply.status);
            refused(&why)
        }
        Ok(reply) => {
            let wait =
                reply.retry_after.map_or(AGAIN_MS, |seconds| seconds.clamp(1, 3600).saturating_mul(1000));
            Outcome::Unsent { after_ms: wait }
        }
        Err(Lost::Unsent(_) | Lost::NotAsked) => Outcome::Unsent { after_ms: AGAIN_MS },
        Err(Lost::Unknown) => Outcome::Unknown,
    }
}

impl Platform for Webhook {
    const PROCESS: manifest::Process = manifest::Process::Webhook;
    const FACTS: Facts = WEBHOOK;

    fn make(api: Api, account: &ChannelAccount, host: &Host) -> Self {
        let hooks = Hooks::new(host.link(), api.account().clone());
        Self::new(api, hooks, account)
    }

    fn own_id(&self) -> Option<Text<128>> {
        None
    }

    async fn poll(&self, cursor: Option<&str>, held: bool) -> Result<Polled, PollFault> {
        let Some(hook) = self.hooks.next(cursor, held).await? else { return Ok(Polled::default()) };
        let message = match self.proven(&hook).await {
            Ok((id, at)) => read(id, at, &hook.body).ok_or(400),
            Err(status) => Err(status),
        };
        match message {
            Ok((message, files)) => {
                let cursor = Some(self.hooks.hand_on(hook.id));
                let mut polled = Polled { cursor, ..Polled::default() };
                polled.take(message, (0..files.len()).map(|number| number.to_string()));
                *self.files.borrow_mut() = files;
                Ok(polled)
            }
            Err(status) => {
                self.hooks.answer(hook.id, HookAnswer::status(status)).await;
                Ok(Polled { malformed: u32::from(status == 400), ..Polled::default() })
            }
        }
    }

    async fn open_file(&self, source: &str) -> Result<Source, NoFile> {
        let files = self.files.borrow();
        let file = source.parse().ok().and_then(|number: usize| files.get(number));
        let bytes = file.and_then(|file| STANDARD.decode(file).ok());
        bytes.map(Source::Bytes).ok_or(NoFile::Missed(Missed::Gone))
    }

    async fn put(&self, claim: &Claim) -> Outcome {
        outcome(&id_of(claim), &self.post(claim).await)
    }

    async fn find(&self, _: &Claim) -> Found {
        Found::Missing
    }
}
