//! The interface of a platform: its facts, its form of a piece, and the requests to its servers.

use crate::facts::Facts;
use crate::render::Rendered;
use ipc_proto::Text;
use ipc_proto::channel::{CURSOR, Claim, Conversation, Inbound, Link, Outcome, Piece, Press, PressAnswer};
use std::time::Duration;

/// The yield of one poll.
#[derive(Debug, Default)]
pub struct Polled {
    /// Messages, oldest first; at most `BATCH` of `ipc_proto::channel`.
    pub messages: Vec<Inbound>,
    /// Presses of buttons.
    pub presses: Vec<Pressed>,
    /// The platform's position after all of it; none if nothing came.
    pub cursor: Option<Text<CURSOR>>,
    /// Payloads that could not be read.
    pub malformed: u32,
}

/// A press of a button, and the platform's id by which it is answered.
#[derive(Debug)]
pub struct Pressed {
    /// The press.
    pub press: Press,
    /// The id of the press.
    pub id: String,
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
    /// Its facts.
    const FACTS: Facts;

    /// A text as a piece of this platform.
    fn piece(&self, rendered: Rendered) -> Piece;

    /// The account's own id, once the platform has told it.
    fn own_id(&self) -> Option<Text<128>>;

    /// Gives what comes after the cursor, and waits for it if `held` is true. Nothing of it is acknowledged to the platform
    /// before the next poll. The first poll of a connection is not held, so that its state is known at once.
    ///
    /// # Errors
    /// [`PollFault`]: the state of the connection, and the reason.
    async fn poll(&self, cursor: Option<&str>, held: bool) -> Result<Polled, PollFault>;

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
        conversation: &Conversation,
        piece: &Piece,
        edits: Option<&Text<128>>,
    ) -> Option<Text<128>>;

    /// Shows the account as typing, for as long as the facts say.
    async fn typing(&self, conversation: &Conversation);

    /// Answers a press.
    async fn answer(&self, id: &str, answer: &PressAnswer);
}
