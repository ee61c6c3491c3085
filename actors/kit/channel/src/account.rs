//! An account of a platform: what its loops share.

use crate::pacer::Pacer;
use crate::platform::Platform;
use ipc_proto::channel::{ChannelError, Conversation};
use ipc_proto::config::Streaming;
use ipc_proto::credproxy::CredproxyClient;
use ipc_proto::router::RouterClient;
use ipc_proto::{Fault, Name, Text};
use kit::{Host, Link};
use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Duration;

/// The pause after a call to router that failed.
const AGAIN: Duration = Duration::from_secs(1);
/// Answers whose state is remembered.
const REMEMBERED: usize = 256;

/// The state of an answer at the platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Its beginning is shown, as the message of this id.
    Preview(Text<128>),
    /// The answer itself was sent: nothing of it is shown or edited any more.
    Answer,
}

/// One account. It is shared by its loops, on one thread.
pub struct Account<P> {
    /// Its name in the configuration.
    pub name: Name,
    /// Its platform.
    pub platform: P,
    /// The link to router.
    pub router: Link<RouterClient>,
    /// The link to credproxy, by which everything goes out.
    pub way: Link<CredproxyClient>,
    /// How an answer is shown while it comes.
    pub streaming: Streaming,
    /// True if the account is shown as typing.
    pub typing: bool,
    pub(crate) pacer: Pacer,
    /// The state of answers, by conversation and by the message that they answer.
    shown: RefCell<HashMap<(Text<128>, Text<128>), Shown>>,
}

impl<P: Platform> Account<P> {
    /// An account of this name.
    pub fn new(name: Name, platform: P, host: &Host, streaming: Streaming, typing: bool) -> Self {
        let pacer = Pacer::new(P::FACTS.cadence);
        let (router, way) = (host.link(), host.link());
        Self { name, platform, router, way, streaming, typing, pacer, shown: RefCell::default() }
    }

    /// Notes how far the answer to a message is.
    pub(crate) fn note(&self, conversation: &Conversation, message: &Text<128>, state: Shown) {
        let mut shown = self.shown.borrow_mut();
        if shown.len() >= REMEMBERED {
            shown.clear();
        }
        shown.insert((conversation.id.clone(), message.clone()), state);
    }

    /// How far the answer to a message is; none before its preview.
    pub(crate) fn shown(&self, conversation: &Conversation, message: &Text<128>) -> Option<Shown> {
        self.shown.borrow().get(&(conversation.id.clone(), message.clone())).cloned()
    }
}

/// The time after which to ask router again that refused, or did not answer.
pub(crate) fn pause(refused: &Refused) -> Duration {
    match refused {
        Ok(ChannelError::Busy { retry_s }) => Duration::from_secs(u64::from(*retry_s).clamp(1, 60)),
        Ok(ChannelError::Paused | ChannelError::NoChannel) => AGAIN * 5,
        Ok(_) | Err(_) => AGAIN,
    }
}

/// The reason for which router gave nothing: its refusal, or the loss of the call.
pub(crate) type Refused = Result<ChannelError, Fault>;

/// The answer of router, or its refusal.
pub(crate) fn flat<T>(answer: Result<Result<T, ChannelError>, Fault>) -> Result<T, Refused> {
    match answer {
        Ok(Ok(given)) => Ok(given),
        Ok(Err(refusal)) => Err(Ok(refusal)),
        Err(fault) => Err(Err(fault)),
    }
}
