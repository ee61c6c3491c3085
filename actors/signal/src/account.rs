//! An account: events are read from the daemon as they come, and messages are sent by it.

use crate::daemon::{Daemon, Failure, fault, outcome};
use crate::envelope::{Read, read};
use crate::events::Events;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use channel::{
    Api, Facts, FileAt, Lost, NoFile, Platform, PollFault, Polled, SIGNAL, Source, media_type,
    percent_encoded,
};
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
    Message(Box<Inbound>, Vec<String>),
    Malformed,
}

/// An account.
pub(crate) struct Number {
    daemon: Daemon,
    /// The account's own service id, once the daemon has told it.
    own: RefCell<Option<String>>,
    stream: RefCell<Option<Receiver<News>>>,
    /// The messages that were handed on and are not accepted yet, with the cursor that stands for it.
    pending: RefCell<Option<Pending>>,
}

/// Messages that were handed on, with their files and their cursor.
struct Pending {
    cursor: String,
    messages: Vec<Inbound>,
    files: Vec<FileAt>,
}

impl Pending {
    fn polled(&self) -> Polled {
        let (messages, files) = (self.messages.clone(), self.files.clone());
        Polled { messages, files, cursor: Some(Text::clip(&self.cursor)), ..Polled::default() }
    }
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
                News::Message(message, files) => polled.take(*message, files),
                News::Malformed => polled.malformed += 1,
            }
        }
        *self.stream.borrow_mut() = Some(stream);
        Ok(polled)
    }

    /// The batch again that router has not accepted.
    fn again(&self, accepted: Option<&str>) -> Option<Polled> {
        let mut pending = self.pending.borrow_mut();
        if pending.as_ref().is_some_and(|given| accepted == Some(given.cursor.as_str())) {
            *pending = None;
        }
        pending.as_ref().map(Pending::polled)
    }
}

/// Reads the stream until it ends, or nobody takes what it brings.
async fn follow(mut pull: Pull, news: Sender<News>, own: Option<String>) {
    let mut events = Events::default();
    while let Ok(Ok(chunk)) = pull.next().await {
        for data in events.push(&chunk.bytes) {
            let one = match data.map(|data| read(&data, own.as_deref())) {
                Some(Read::Message(message, files)) => News::Message(message, files),
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

/// A file as signal-cli takes one that is not on its own disk.
fn data_uri(name: &str, bytes: &[u8]) -> String {
    format!("data:{};filename={};base64,{}", media_type(bytes), percent_encoded(name), STANDARD.encode(bytes))
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
            let (messages, files) = (polled.messages.clone(), polled.files.clone());
            *self.pending.borrow_mut() = Some(Pending { cursor, messages, files });
        }
        Ok(polled)
    }

    async fn open_file(&self, source: &str) -> Result<Source, NoFile> {
        self.daemon.file(source).await
    }

    async fn put(&self, claim: &Claim) -> Outcome {
        let mut parameters = to(&claim.conversation);
        match &claim.content.body {
            Body::Text(text) => parameters.insert("message".to_owned(), json!(text)),
            Body::File { name, bytes } => {
                parameters.insert("attachments".to_owned(), json!([data_uri(name, bytes)]))
            }
        };
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
