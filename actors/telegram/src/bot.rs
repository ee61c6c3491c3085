//! A bot: the platform of an account.

use crate::api::Api;
use crate::multipart::form;
use crate::reply::{Failure, Kind, Refusal, outcome, poll_fault};
use crate::request;
use crate::update::{Me, next_update, read};
use channel::{Facts, Platform, PollFault, Polled, Rendered, TELEGRAM};
use ipc_proto::Text;
use ipc_proto::channel::{BATCH, Body, Claim, Conversation, Outcome, Piece, PressAnswer};
use serde::Deserialize;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::time::Duration;

/// Seconds that Telegram holds a poll for which there is nothing.
const HOLD_S: u32 = 50;
/// The time after which a poll is stalled.
const STALLED: Duration = Duration::from_secs(120);
/// The pause before an edit is tried again: an edit that may have had its effect has no other when it is repeated.
const EDIT_AGAIN_MS: u32 = 1_000;

/// A bot.
pub(crate) struct Bot {
    api: Api,
    me: RefCell<Option<Me>>,
}

impl Bot {
    pub(crate) const fn new(api: Api) -> Self {
        Self { api, me: RefCell::new(None) }
    }

    /// The bot itself; Telegram is asked once.
    async fn me(&self) -> Result<Me, Failure> {
        if let Some(me) = self.me.borrow().clone() {
            return Ok(me);
        }
        let me = self.api.call("getMe", &json!({})).await?;
        let me = Me::deserialize(&me).map_err(|_| Failure::Lost)?;
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
        let updates = polled.map_err(|_| Failure::Lost)??;
        updates.as_array().map(|updates| read(updates, &me)).ok_or(Failure::Lost)
    }

    /// Calls a method, and once more for the chat that a group has become.
    async fn call(&self, name: &str, parameters: Value) -> Result<Value, Failure> {
        match self.api.call(name, &parameters).await {
            Err(Failure::Refused(Refusal { moved_to: Some(chat), .. })) => {
                self.api.call(name, &request::moved(parameters, chat)).await
            }
            other => other,
        }
    }

    async fn send(&self, claim: &Claim) -> Outcome {
        match &claim.content.body {
            Body::Text(text) => outcome(self.call("sendMessage", request::send(claim, text)).await),
            Body::File { name, bytes } => {
                let fields = request::document(&claim.conversation);
                let (kind, body) = form(&fields, ("document", name.as_str(), &**bytes));
                outcome(self.api.send("sendDocument", &kind, body).await)
            }
        }
    }
}

impl Platform for Bot {
    const FACTS: Facts = TELEGRAM;

    fn piece(&self, rendered: Rendered) -> Piece {
        request::piece(rendered)
    }

    fn own_id(&self) -> Option<Text<128>> {
        self.me.borrow().as_ref().map(|me| Text::clip(&me.id.to_string()))
    }

    async fn poll(&self, cursor: Option<&str>, held: bool) -> Result<Polled, PollFault> {
        let polled = self.updates(cursor, held).await;
        polled.map_err(|failure| {
            if matches!(failure, Failure::Refused(Refusal { code: 401 | 404, .. })) {
                // Another token may be another bot.
                *self.me.borrow_mut() = None;
            }
            poll_fault(&failure, self.api.account())
        })
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
            Err(Failure::Lost) => Outcome::Unsent { after_ms: EDIT_AGAIN_MS },
            edited => outcome(edited),
        }
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
}
