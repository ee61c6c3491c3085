//! A bot: the platform of an account.

use crate::api::Api;
use crate::reply::{Failure, Kind, Refusal, no_file, outcome, poll_fault, trouble};
use crate::update::{Me, next_update, read};
use crate::{findings, request};
use channel::{
    Facts, Found, Lost, NoFile, Platform, PollFault, Polled, Rendered, Source, TELEGRAM, form, media_type,
};
use ipc_proto::channel::{
    BATCH, Body, Claim, Conversation, Finding, Missed, Outcome, Piece, PressAnswer, Trouble,
};
use ipc_proto::config::ChannelAccount;
use ipc_proto::{Name, Text};
use kit::Host;
use serde::Deserialize;
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::time::Duration;

/// Seconds that Telegram holds a poll for which there is nothing.
const HOLD_S: u32 = 50;
/// The time after which a poll is stalled.
const STALLED: Duration = Duration::from_secs(120);
/// Telegram's own server.
const SERVER: &str = "https://api.telegram.org";
/// The pause before an edit is tried again: an edit that may have had its effect has no other when it is repeated.
const EDIT_AGAIN_MS: u32 = 1_000;
/// The times that an edit is made again which an earlier life of this process may have made.
const EDITS: u32 = 60;

/// A bot.
pub(crate) struct Bot {
    api: Api,
    me: RefCell<Option<Me>>,
    /// The trouble for which the last poll failed.
    trouble: Cell<Trouble>,
    /// Seconds by which Telegram's clock is before this machine's.
    clock_s: Cell<Option<i32>>,
}

impl Bot {
    pub(crate) const fn new(api: Api) -> Self {
        Self { api, me: RefCell::new(None), trouble: Cell::new(Trouble::None), clock_s: Cell::new(None) }
    }

    /// The bot itself; Telegram is asked once.
    async fn me(&self) -> Result<Me, Failure> {
        if let Some(me) = self.me.borrow().clone() {
            return Ok(me);
        }
        let me = self.api.call("getMe", &json!({})).await?;
        let me = Me::deserialize(&me).map_err(|_| Lost::Unknown)?;
        *self.me.borrow_mut() = Some(me.clone());
        Ok(me)
    }

    async fn updates(&self, cursor: Option<&str>, held: bool) -> Result<Polled, Failure> {
        let me = self.me().await?;
        let mut parameters = json!({
            "timeout": if held { HOLD_S } else { 0 },
            "limit": BATCH,
            "allowed_updates": ["message", "edited_message", "callback_query"],
        });
        let offset = next_update(cursor, &me);
        if let (Some(parameters), Some(next)) = (parameters.as_object_mut(), offset) {
            parameters.insert("offset".to_owned(), json!(next));
        }
        let polled = tokio::time::timeout(STALLED, self.api.call("getUpdates", &parameters)).await;
        let updates = polled.map_err(|_| Lost::Unknown)??;
        updates.as_array().map(|updates| read(updates, &me)).ok_or_else(|| Lost::Unknown.into())
    }

    /// Calls a method, and once more for the chat that a group has become.
    async fn call(&self, name: &str, parameters: Value) -> Result<Value, Failure> {
        let reply = match self.api.call(name, &parameters).await {
            Err(Failure::Refused(Refusal { moved_to: Some(chat), .. })) => {
                self.api.call(name, &request::moved(parameters, chat)).await
            }
            other => other,
        };
        if name == "sendMessage" {
            self.compare_clocks(reply.as_ref().ok());
        }
        reply
    }

    /// The date of a message that was sent just now says what Telegram's clock shows.
    fn compare_clocks(&self, message: Option<&Value>) {
        let date = message.and_then(|message| message.get("date")).and_then(Value::as_i64);
        let before =
            date.zip(i64::try_from(kit::now_ms() / 1000).ok()).map(|(date, now)| date.saturating_sub(now));
        if let Some(seconds) = before.and_then(|seconds| i32::try_from(seconds).ok()) {
            self.clock_s.set(Some(seconds));
        }
    }

    /// Sends a file: as a photo if it is a picture that Telegram shows as one, and as a document if it is not or Telegram refuses it so.
    async fn send_file(&self, claim: &Claim, name: &str, bytes: &[u8]) -> Outcome {
        if matches!(media_type(bytes), "image/jpeg" | "image/png") {
            match self.send_form("sendPhoto", ("photo", name, bytes), claim).await {
                Err(Failure::Refused(Refusal { code: 400, moved_to: None, .. })) => {}
                sent => return outcome(sent),
            }
        }
        outcome(self.send_form("sendDocument", ("document", name, bytes), claim).await)
    }

    async fn send_form(
        &self,
        method: &str,
        file: (&str, &str, &[u8]),
        claim: &Claim,
    ) -> Result<Value, Failure> {
        let (kind, body) = form(&request::document(&claim.conversation), file);
        self.api.send(method, &kind, body).await
    }

    async fn send(&self, claim: &Claim) -> Outcome {
        match &claim.content.body {
            Body::Text(text) => outcome(self.call("sendMessage", request::send(claim, text)).await),
            Body::File { name, bytes } => self.send_file(claim, name, bytes).await,
        }
    }
}

impl Platform for Bot {
    const PROCESS: manifest::Process = manifest::Process::Telegram;
    const FACTS: Facts = TELEGRAM;

    fn make(api: channel::Api, account: &ChannelAccount, _: &Host) -> Self {
        let server = account.base_url.as_deref().unwrap_or(SERVER);
        Self::new(Api::new(api, Name::clip(&account.secret), server))
    }

    fn piece(&self, rendered: Rendered) -> Piece {
        request::piece(rendered)
    }

    fn own_id(&self) -> Option<Text<128>> {
        self.me.borrow().as_ref().map(|me| Text::clip(&me.id.to_string()))
    }

    async fn poll(&self, cursor: Option<&str>, held: bool) -> Result<Polled, PollFault> {
        let polled = self.updates(cursor, held).await;
        polled.map_err(|failure| {
            self.trouble.set(trouble(&failure));
            if matches!(failure, Failure::Refused(Refusal { code: 401 | 404, .. })) {
                // Another token may be another bot.
                *self.me.borrow_mut() = None;
            }
            poll_fault(&failure, self.api.account())
        })
    }

    async fn open_file(&self, source: &str) -> Result<Source, NoFile> {
        let found = self.api.call("getFile", &json!({ "file_id": source })).await;
        let found = found.map_err(|failure| no_file(&failure))?;
        let path = found.get("file_path").and_then(Value::as_str).filter(|path| is_plain(path));
        let path = path.ok_or(NoFile::Missed(Missed::Gone))?;
        match self.api.file(path).await {
            Ok((head, pull)) if head.status == 200 => Ok(Source::Body(pull)),
            Ok((head, _)) if head.status == 404 => Err(NoFile::Missed(Missed::Gone)),
            Ok(_) | Err(_) => Err(NoFile::Later),
        }
    }

    async fn put(&self, claim: &Claim) -> Outcome {
        let (Some(message), Body::Text(text)) = (&claim.edits, &claim.content.body) else {
            return self.send(claim).await;
        };
        match self.call("editMessageText", request::edit(claim, message, text)).await {
            Err(Failure::Refused(Refusal { kind: Kind::NotModified, .. })) => {
                Outcome::Sent { id: message.clone() }
            }
            Err(Failure::Refused(Refusal { kind: Kind::Gone, .. })) => self.send(claim).await,
            Err(Failure::Lost(Lost::Unknown)) => Outcome::Unsent { after_ms: EDIT_AGAIN_MS },
            edited => outcome(edited),
        }
    }

    /// A message cannot be looked for. An edit can be made again: it has no second effect, and the message that it changes is there.
    async fn find(&self, claim: &Claim) -> Found {
        let (Some(message), Body::Text(text)) = (&claim.edits, &claim.content.body) else {
            return Found::Cannot;
        };
        for _ in 0..EDITS {
            let edited = self.call("editMessageText", request::edit(claim, message, text)).await;
            match repeated(edited, message) {
                Some(found) => return found,
                None => tokio::time::sleep(Duration::from_millis(EDIT_AGAIN_MS.into())).await,
            }
        }
        Found::Cannot
    }

    async fn preview(
        &self,
        conversation: &Conversation,
        piece: &Piece,
        edits: Option<&Text<128>>,
    ) -> Option<Text<128>> {
        let parameters = request::preview(conversation, piece, edits.map(Text::as_str))?;
        let name = if edits.is_some() { "editMessageText" } else { "sendMessage" };
        match outcome(self.call(name, parameters).await) {
            Outcome::Sent { id } => Some(id),
            Outcome::Refused { .. } | Outcome::Unsent { .. } | Outcome::Unknown => None,
        }
    }

    async fn typing(&self, conversation: &Conversation) {
        // A sign that is not shown is no loss.
        drop(self.api.call("sendChatAction", &request::typing(conversation)).await);
    }

    async fn answer(&self, id: &str, answer: &PressAnswer) {
        let parameters = json!({ "callback_query_id": id, "text": answer.text });
        // A press that is answered too late is refused; its effect is done.
        drop(self.api.call("answerCallbackQuery", &parameters).await);
    }

    async fn draft(&self, conversation: &Conversation, number: u32, piece: &Piece) -> bool {
        let Some(parameters) = request::draft(conversation, number, piece) else { return false };
        !matches!(self.api.call("sendMessageDraft", &parameters).await, Err(Failure::Refused(_)))
    }

    fn trouble(&self) -> Trouble {
        self.trouble.get()
    }

    fn clock_s(&self) -> Option<i32> {
        self.clock_s.get()
    }

    async fn check(&self) -> Vec<Finding> {
        let me = self.api.call("getMe", &json!({})).await;
        let mut findings = findings::of_me(&me, self.api.account());
        if me.is_ok() {
            let hook = self.api.call("getWebhookInfo", &json!({})).await;
            findings.extend(findings::of_hook(hook.as_ref().ok()));
        }
        findings
    }
}

/// The outcome by which an edit that was made again tells of the message; none if it does not, and is to be made once more. A message that is gone may
/// have been sent anew: nothing says so.
fn repeated(edited: Result<Value, Failure>, message: &Text<128>) -> Option<Found> {
    match edited {
        Ok(_) | Err(Failure::Refused(Refusal { kind: Kind::NotModified, .. })) => {
            Some(Found::Sent(message.clone()))
        }
        Err(Failure::Lost(_) | Failure::Refused(Refusal { code: 401 | 404 | 429, .. })) => None,
        Err(Failure::Refused(_)) => Some(Found::Cannot),
    }
}

/// A path on the server that means the same to everybody who reads it.
fn is_plain(path: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/');
    !path.is_empty()
        && path.len() <= 512
        && path.chars().all(plain)
        && path.split('/').all(|part| !part.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_that_is_made_again_says_if_the_answer_is_there() {
        let message = Text::clip("7");
        let of = |edited| repeated(edited, &message);
        let refused = |code: u16, description: &str| {
            let body = json!({ "ok": false, "error_code": code, "description": description });
            of(crate::reply::read(code, body.to_string().as_bytes()))
        };
        let there = Some(Found::Sent(message.clone()));
        assert_eq!(of(Ok(json!({ "message_id": 7 }))), there);
        assert_eq!(refused(400, "Bad Request: message is not modified"), there);
        assert_eq!(refused(400, "Bad Request: message to edit not found"), Some(Found::Cannot));
        assert_eq!(refused(429, "Too Many Requests"), None);
        assert_eq!(of(Err(Lost::NotAsked.into())), None);
        assert_eq!(of(Err(Lost::Unknown.into())), None);
    }

    // Holds P11-51.
    #[test]
    fn a_file_is_read_only_from_a_plain_path_of_the_server() {
        assert!(is_plain("photos/file_7.jpg") && is_plain("documents/file-1"));
        for path in ["", "../bot1/getMe", "a/../b", "a?b", "a%2e/b", "a#b", "__x__/\u{e9}", "/.x"] {
            assert!(!is_plain(path), "{path}");
        }
    }
}
