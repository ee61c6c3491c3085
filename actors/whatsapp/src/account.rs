//! A number of WhatsApp: its hooks are read once their signature holds, and its messages and files go by the Cloud API.

use crate::cloud::Cloud;
use crate::hook::{News, read};
use crate::reply::{failure, outcome};
use crate::request::{self, tag};
use channel::{
    Api, Facts, Found, Hooks, Lost, NoFile, Platform, PollFault, Polled, Reply, Source, WHATSAPP, refused,
};
use data_encoding::HEXLOWER_PERMISSIVE;
use ipc_proto::channel::{Body, Claim, Conversation, Outcome, PressAnswer};
use ipc_proto::config::ChannelAccount;
use ipc_proto::credproxy::Proof;
use ipc_proto::ingress::{Hook, HookAnswer};
use ipc_proto::{Name, Text};
use kit::Host;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Duration;
use tokio::sync::Notify;

/// The pause before a file is tried again that nobody has, ms.
const AGAIN_MS: u32 = 5_000;
/// The time for which a status of a message of unknown outcome is waited for.
const STATUS: Duration = Duration::from_secs(600);
/// Conversations and statuses that are remembered.
const REMEMBERED: usize = 1024;

/// A number.
pub(crate) struct Number {
    cloud: Cloud,
    hooks: Hooks,
    app_secret: Name,
    verify_secret: Name,
    number: String,
    /// The last message of each conversation, which the sign of typing answers.
    last: RefCell<HashMap<Text<128>, Text<128>>>,
    /// The message ids that statuses brought, by tag.
    sent: RefCell<HashMap<String, String>>,
    news: Notify,
}

impl Number {
    pub(crate) fn new(api: Api, hooks: Hooks, account: &ChannelAccount) -> Self {
        let name = |secret: &Option<String>| Name::clip(secret.as_deref().unwrap_or_default());
        Self {
            cloud: Cloud::new(api, account),
            hooks,
            app_secret: name(&account.app_secret),
            verify_secret: name(&account.verify_secret),
            number: account.number.clone().unwrap_or_default(),
            last: RefCell::default(),
            sent: RefCell::default(),
            news: Notify::new(),
        }
    }

    async fn post(&self, message: &Value) -> Result<Reply, Lost> {
        self.cloud.post(message).await
    }

    /// Sends a file: its bytes are stored first, and nobody has them before the message.
    async fn send_file(&self, claim: &Claim, name: &str, bytes: &[u8]) -> Outcome {
        let stored = match self.cloud.store(name, bytes).await {
            Ok(reply) => match request::stored(&reply) {
                Some(id) => id,
                None => return failure(&reply).unwrap_or(Outcome::Unsent { after_ms: AGAIN_MS }),
            },
            Err(_) => return Outcome::Unsent { after_ms: AGAIN_MS },
        };
        outcome(&self.post(&request::file(claim, &stored, name, bytes)).await)
    }

    /// The platform's first try of the address: its challenge, if it knows the verify token.
    async fn challenged(&self, hook: &Hook) -> HookAnswer {
        let value = |name: &str| {
            let pair = hook.query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
            // A token or a challenge with another character is not one of the platform's.
            pair.filter(|value| {
                value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte))
            })
        };
        let (Some("subscribe"), Some(token), Some(challenge)) =
            (value("hub.mode"), value("hub.verify_token"), value("hub.challenge"))
        else {
            return HookAnswer::status(400);
        };
        match self.cloud.api().verify(&self.verify_secret, Proof::Equal, b"", token.as_bytes()).await {
            Ok(true) => HookAnswer { status: 200, body: Text::clip(challenge) },
            Ok(false) => HookAnswer::status(403),
            Err(_) => HookAnswer::status(503),
        }
    }

    /// The contents of a hook whose signature holds, or the status by which it is refused.
    async fn proven(&self, hook: &Hook) -> Result<News, u16> {
        let given = hook.header("x-hub-signature-256").and_then(|value| value.strip_prefix("sha256="));
        let given = given.and_then(|hex| HEXLOWER_PERMISSIVE.decode(hex.as_bytes()).ok()).ok_or(401_u16)?;
        match self.cloud.api().verify(&self.app_secret, Proof::HmacSha256, &hook.body, &given).await {
            Ok(true) => read(&self.number, &hook.body).ok_or(400),
            Ok(false) => Err(401),
            Err(_) => Err(503),
        }
    }

    fn note(&self, news: &News) {
        let (mut last, mut sent) = (self.last.borrow_mut(), self.sent.borrow_mut());
        if last.len() >= REMEMBERED {
            last.clear();
        }
        if sent.len() >= REMEMBERED {
            sent.clear();
        }
        for message in &news.messages {
            last.insert(message.conversation.id.clone(), message.message.clone());
        }
        sent.extend(news.sent.iter().cloned());
        self.news.notify_waiters();
    }
}

impl Platform for Number {
    const PROCESS: manifest::Process = manifest::Process::Whatsapp;
    const FACTS: Facts = WHATSAPP;

    fn make(api: Api, account: &ChannelAccount, host: &Host) -> Self {
        let hooks = Hooks::new(host.link(), api.account().clone());
        Self::new(api, hooks, account)
    }

    fn own_id(&self) -> Option<Text<128>> {
        Some(Text::clip(&self.number))
    }

    async fn poll(&self, cursor: Option<&str>, held: bool) -> Result<Polled, PollFault> {
        let Some(hook) = self.hooks.next(cursor, held).await? else { return Ok(Polled::default()) };
        if !hook.post {
            let answer = self.challenged(&hook).await;
            self.hooks.answer(hook.id, answer).await;
            return Ok(Polled::default());
        }
        match self.proven(&hook).await {
            Ok(news) => {
                self.note(&news);
                let cursor = Some(self.hooks.hand_on(hook.id));
                let News { messages, files, presses, malformed, .. } = news;
                Ok(Polled { messages, files, presses, cursor, malformed, ..Polled::default() })
            }
            Err(status) => {
                self.hooks.answer(hook.id, HookAnswer::status(status)).await;
                Ok(Polled { malformed: u32::from(status == 400), ..Polled::default() })
            }
        }
    }

    async fn open_file(&self, source: &str) -> Result<Source, NoFile> {
        self.cloud.file(source).await
    }

    async fn put(&self, claim: &Claim) -> Outcome {
        match &claim.content.body {
            Body::Text(text) => match request::send(claim, text) {
                Some(message) => outcome(&self.post(&message).await),
                None => refused("the question is too long for WhatsApp's buttons; answer it by agentctl"),
            },
            Body::File { name, bytes } => self.send_file(claim, name, bytes).await,
        }
    }

    async fn find(&self, claim: &Claim) -> Found {
        let tag = tag(claim);
        let status = async {
            loop {
                let news = self.news.notified();
                if let Some(id) = self.sent.borrow_mut().remove(&tag) {
                    return id;
                }
                news.await;
            }
        };
        match tokio::time::timeout(STATUS, status).await {
            Ok(id) => Text::new(id).map_or(Found::Cannot, Found::Sent),
            Err(_) => Found::Cannot,
        }
    }

    async fn typing(&self, conversation: &Conversation) {
        let last = self.last.borrow().get(&conversation.id).cloned();
        if let Some(message) = last {
            // A sign that is not shown is no loss.
            drop(self.post(&request::typing(&message)).await);
        }
    }

    async fn answer(&self, id: &str, answer: &PressAnswer) {
        // The effect is done; the line is a courtesy.
        drop(self.post(&request::line(id, &answer.text)).await);
    }
}
