//! The interface of a platform: its facts, its form of a piece, and the requests to its servers.

use crate::api::Api;
use crate::facts::Facts;
use crate::render::Rendered;
use crate::source::Source;
use ipc_proto::Text;
use ipc_proto::channel::{
    CURSOR, Claim, Conversation, Finding, Inbound, Link, Missed, Outcome, Piece, Press, PressAnswer, Trouble,
};
use ipc_proto::config::ChannelAccount;
use kit::Host;
use std::time::Duration;

/// The yield of one poll.
#[derive(Debug, Default)]
pub struct Polled {
    /// Messages, oldest first; at most `BATCH` of `ipc_proto::channel`.
    pub messages: Vec<Inbound>,
    /// Presses of buttons.
    pub presses: Vec<Pressed>,
    /// Invitations to conversations.
    pub invitations: Vec<Invitation>,
    /// The platform's position after all of it; none if nothing came.
    pub cursor: Option<Text<CURSOR>>,
    /// Payloads that could not be read.
    pub malformed: u32,
    /// The files of the messages that can be fetched.
    pub files: Vec<FileAt>,
}

impl Polled {
    /// Adds a message, and the sources of its files in the order of its attachments.
    pub fn take(&mut self, message: Inbound, sources: impl IntoIterator<Item = String>) {
        let (place, files) = (self.messages.len(), 0..message.attachments.len());
        let at = |(attachment, source)| FileAt { message: place, attachment, source };
        self.files.extend(files.zip(sources).map(at));
        self.messages.push(message);
    }
}

/// A file of a message that can be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileAt {
    /// The place of the message among those of the poll.
    pub message: usize,
    /// The place of the file among the message's attachments.
    pub attachment: usize,
    /// The platform's own word for it, such as an id or an address.
    pub source: String,
}

/// The reason for which a file is not given out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoFile {
    /// It is not fetched, for this reason.
    Missed(Missed),
    /// The platform could not be asked, or asks to wait; the file is tried again.
    Later,
}

/// A press of a button, and the platform's id by which it is answered.
#[derive(Debug)]
pub struct Pressed {
    /// The press.
    pub press: Press,
    /// The id of the press.
    pub id: String,
}

/// An invitation of the account to a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invitation {
    /// The platform's stable id of the conversation.
    pub conversation: Text<128>,
    /// The platform's stable id of the sender.
    pub sender: Text<128>,
}

/// The reason for which a poll gave nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PollFault {
    /// The state of the connection from now on.
    pub link: Link,
    /// The reason in the host's words, with the command that mends it.
    pub reason: String,
    /// The time after which to try again, where the platform gives one.
    pub after: Option<Duration>,
}

/// The trace of a piece of unknown outcome at the platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// It is there, under this id.
    Sent(Text<128>),
    /// It is not there.
    Missing,
    /// The platform has no way to tell.
    Cannot,
}

/// A platform, for one account.
#[expect(async_fn_in_trait, reason = "an actor's futures stay on its one thread")]
pub trait Platform: 'static {
    /// Its process's row.
    const PROCESS: manifest::Process;
    /// Its facts.
    const FACTS: Facts;

    /// Makes it for an account, with the account's way to the servers.
    fn make(api: Api, account: &ChannelAccount, host: &Host) -> Self;

    /// A text as a piece of this platform.
    fn piece(&self, rendered: Rendered) -> Piece {
        rendered.into()
    }

    /// The account's own id, once the platform has told it.
    fn own_id(&self) -> Option<Text<128>>;

    /// The limitation of a connection that is up, in the host's words, with the remedy; none if there is none.
    fn limitation(&self) -> Option<String> {
        None
    }

    /// Gives what comes after the cursor, and waits for it if `held` is true. Nothing of it is acknowledged to the platform
    /// before the next poll. The first poll of a connection is not held, so that its state is known at once.
    ///
    /// # Errors
    /// [`PollFault`]: the state of the connection, and the reason.
    async fn poll(&self, cursor: Option<&str>, held: bool) -> Result<Polled, PollFault>;

    /// Opens a file of a message; it is asked for by the source that [`Polled::files`] gave.
    ///
    /// # Errors
    /// [`NoFile`]
    async fn open_file(&self, _source: &str) -> Result<Source, NoFile> {
        Err(NoFile::Missed(Missed::Gone))
    }

    /// Joins the conversation of an invitation that router has admitted.
    ///
    /// # Errors
    /// The time after which to try again; nothing that came with the invitation is acknowledged before. An invitation that can
    /// never be accepted is no error.
    async fn join(&self, _invitation: &Invitation) -> Result<(), Duration> {
        Ok(())
    }

    /// Sends a piece, or puts it in the place of the message that it edits.
    async fn put(&self, claim: &Claim) -> Outcome;

    /// Looks for a piece whose outcome is unknown.
    async fn find(&self, _claim: &Claim) -> Found {
        Found::Cannot
    }

    /// Shows the beginning of an answer: a new message, or an edit of the one of this id. Returns the message's id, none if
    /// nothing was shown.
    async fn preview(
        &self,
        _conversation: &Conversation,
        _piece: &Piece,
        _edits: Option<&Text<128>>,
    ) -> Option<Text<128>> {
        None
    }

    /// Shows the account as typing, for as long as the facts say.
    async fn typing(&self, _conversation: &Conversation) {}

    /// Answers a press.
    async fn answer(&self, _id: &str, _answer: &PressAnswer) {}

    /// Shows the beginning of an answer as a draft; those of one number are one draft. Returns false where it was not shown, and
    /// the beginning is then shown by edits.
    async fn draft(&self, _conversation: &Conversation, _number: u32, _piece: &Piece) -> bool {
        false
    }

    /// The trouble for which the last poll failed.
    fn trouble(&self) -> Trouble {
        Trouble::None
    }

    /// Seconds by which the platform's clock is before this machine's; none while no reply told.
    fn clock_s(&self) -> Option<i32> {
        None
    }

    /// Looks at the account now, for `agentctl doctor --channels --deep`.
    async fn check(&self) -> Vec<Finding> {
        Vec::new()
    }
}
