//! An account: events are read from the daemon as they come, and messages are sent by it.

use crate::daemon::{Daemon, Failure, fault, outcome};
use crate::envelope::{Read, read};
use crate::events::Events;
use channel::{Api, Facts, Lost, Platform, PollFault, Polled, SIGNAL};
use ipc_proto::Text;
use ipc_proto::channel::{BATCH, Body, Claim, Conversation, ConversationKind, Inbound, Outcome};
use ipc_proto::config::ChannelAccount;
use kit::{Host, Pull};
use serde_json::{Map, Value, json};
use std::cell::RefCell;
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::timeout;

/// The longest wait of a poll.
const HOLD: Duration = Duration::from_secs(25);

/// The news that the reader of the stream hands on.
enum News {
    Message(Box<Inbound>),
    Malformed,
}

/// An account.
pub(crate) struct Number {
    daemon: Daemon,
    /// The account's own service id, once the daemon has told it.
    own: RefCell<Option<String>>,
    stream: RefCell<Option<Receiver<News>>>,
    /// The messages that were handed on and are not accepted yet, with the cursor that stands for it.
    pending: RefCell<Option<(String, Vec<Inbound>)>>,
}

impl Number {
    pub(crate) fn new(api: Api, server: &str) -> Self {
        Self {
            daemon: Daemon::new(api, server),
            own: RefCell::default(),
            stream: RefCell::default(),
            pending: RefCell::default(),
        }
    }

    /// The account's own service id: the daemon is asked once.
    async fn learn(&self) -> Result<(), Failure> {
        if self.own.borrow().is_some() {
            return Ok(());
        }
        let accounts = self.daemon.call("listAccounts", json!({})).await?;
        let Some(number) = accounts.pointer("/0/number").and_then(Value::as_str) else {
            return Err(Failure::Refused(0));
        };
        let status = self.daemon.call("getUserStatus", json!({ "recipient": [number] })).await?;
        *self.own.borrow_mut() = status.pointer("/0/uuid").and_then(Value::as_str).map(str::to_owned);
        Ok(())
    }

    /// The stream of events, which is opened where there is none.
    async fn stream(&self) -> Result<Receiver<News>, Failure> {
        if let Some(stream) = self.stream.borrow_mut().take() {
            return Ok(stream);
        }
        self.learn().await?;
        let pull = self.daemon.events().await?;
        let (news, stream) = channel(BATCH);
        drop(tokio::task::spawn_local(follow(pull, news, self.own.borrow().clone())));
        Ok(stream)
    }

    async fn news(&self, held: bool) -> Result<Polled, Failure> {
        let mut stream = self.stream().await?;
        let first = match timeout(if held { HOLD } else { Duration::ZERO }, stream.recv()).await {
            Ok(Some(news)) => Some(news),
            // The daemon has ended the stream.
            Ok(None) => return Err(Lost::Unknown.into()),
            Err(_) => None,
        };
        let mut polled = Polled::default();
        for news in first.into_iter().chain(std::iter::from_fn(|| stream.try_recv().ok())).take(BATCH) {
            match news {
                News::Message(message) => polled.messages.push(*message),
                News::Malformed => polled.malformed += 1,
            }
        }
        *self.stream.borrow_mut() = Some(stream);
        Ok(polled)
    }

    /// The batch again that router has not accepted.
    fn again(&self, accepted: Option<&str>) -> Option<Polled> {
        let mut pending = self.pending.borrow_mut();
        let (cursor, messages) = pending.take()?;
        if accepted == Some(cursor.as_str()) {
            return None;
        }
        *pending = Some((cursor.clone(), messages.clone()));
        Some(Polled { messages, cursor: Some(Text::clip(&cursor)), ..Polled::default() })
    }
}

/// Reads the stream until it ends, or nobody takes what it brings.
async fn follow(mut pull: Pull, news: Sender<News>, own: Option<String>) {
    let mut events = Events::default();
    while let Ok(Ok(chunk)) = pull.next().await {
        for data in events.push(&chunk.bytes) {
            let one = match data.map(|data| read(&data, own.as_deref())) {
                Some(Read::Message(message)) => News::Message(message),
                Some(Read::Nothing) => continue,
                Some(Read::Malformed) | None => News::Malformed,
            };
            if news.send(one).await.is_err() {
                return;
            }
        }
        if chunk.last {
            return;
        }
    }
}

/// The receiver of a message, as signal-cli names it.
fn to(conversation: &Conversation) -> Map<String, Value> {
    let (key, value) = match conversation.kind {
        ConversationKind::Direct => ("recipient", json!([conversation.id])),
        ConversationKind::Group => ("groupId", json!(conversation.id)),
    };
    Map::from_iter([(key.to_owned(), value)])
}

impl Platform for Number {
    const PROCESS: manifest::Process = manifest::Process::Signal;
    const FACTS: Facts = SIGNAL;

    fn make(api: Api, account: &ChannelAccount, _: &Host) -> Self {
        // The configuration has one for every account of this platform.
        Self::new(api, account.base_url.as_deref().unwrap_or_default())
    }

    fn own_id(&self) -> Option<Text<128>> {
        self.own.borrow().as_deref().map(Text::clip)
    }

    async fn poll(&self, cursor: Option<&str>, held: bool) -> Result<Polled, PollFault> {
        if let Some(polled) = self.again(cursor) {
            return Ok(polled);
        }
        let polled = self.news(held).await.map_err(|failure| {
            let (link, reason) = fault(failure);
            PollFault { link, reason: reason.to_owned(), after: None }
        });
        let mut polled = polled?;
        if let Some(last) = polled.messages.last() {
            let cursor = last.key.to_string();
            polled.cursor = Some(Text::clip(&cursor));
            *self.pending.borrow_mut() = Some((cursor, polled.messages.clone()));
        }
        Ok(polled)
    }

    async fn put(&self, claim: &Claim) -> Outcome {
        let Body::Text(text) = &claim.content.body else {
            return Outcome::Refused { why: Text::clip("files are not sent to Signal yet"), finally: true };
        };
        let mut parameters = to(&claim.conversation);
        parameters.insert("message".to_owned(), json!(text));
        if claim.conversation.kind == ConversationKind::Group
            && claim.piece.number == 0
            && let Some((at, author)) = claim.reply_to.as_ref().and_then(|message| message.split_once(':'))
            && let Ok(at) = at.parse::<u64>()
        {
            parameters.insert("quoteTimestamp".to_owned(), json!(at));
            parameters.insert("quoteAuthor".to_owned(), json!(author));
        }
        outcome(&self.daemon.call("send", Value::Object(parameters)).await)
    }

    async fn typing(&self, conversation: &Conversation) {
        // A sign that is not shown is no loss.
        let _ = self.daemon.call("sendTyping", Value::Object(to(conversation))).await;
    }
}
