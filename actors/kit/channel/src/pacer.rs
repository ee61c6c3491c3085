//! The pace of each conversation: one request at a time, and no sooner than the platform allows.

use crate::facts::Cadence;
use ipc_proto::channel::{Conversation, ConversationKind};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::Instant;

/// Conversations that are remembered; beyond that, those that nobody waits for are forgotten.
const REMEMBERED: usize = 1024;

type Next = std::sync::Arc<Mutex<Instant>>;

/// The pace of an account.
#[derive(Clone)]
pub(crate) struct Pacer {
    cadence: Cadence,
    next: Rc<RefCell<HashMap<String, Next>>>,
}

/// The right to send to one conversation. Letting it go starts the pause after it.
pub(crate) struct Permit {
    next: OwnedMutexGuard<Instant>,
    pause: Duration,
}

impl Permit {
    /// Lets it go without a pause: nothing was sent.
    pub(crate) fn leave(mut self) {
        self.pause = Duration::ZERO;
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        *self.next = Instant::now() + self.pause;
    }
}

impl Pacer {
    pub(crate) fn new(cadence: Cadence) -> Self {
        Self { cadence, next: Rc::default() }
    }

    /// Waits until the conversation may be sent to.
    pub(crate) async fn permit(&self, conversation: &Conversation) -> Permit {
        let pause = match conversation.kind {
            ConversationKind::Direct => self.cadence.message,
            ConversationKind::Group => self.cadence.group,
        };
        let next = self.next(conversation.id.as_str()).lock_owned().await;
        tokio::time::sleep_until(*next).await;
        Permit { next, pause }
    }

    fn next(&self, conversation: &str) -> Next {
        let mut all = self.next.borrow_mut();
        if all.len() >= REMEMBERED {
            let now = Instant::now();
            all.retain(|_, next| next.try_lock().map_or(true, |until| *until > now));
        }
        let fresh = || Next::new(Mutex::new(Instant::now()));
        Next::clone(all.entry(conversation.to_owned()).or_insert_with(fresh))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::TELEGRAM;
    use ipc_proto::Text;

    fn conversation(id: &str, kind: ConversationKind) -> Conversation {
        Conversation { id: Text::clip(id), thread: None, kind }
    }

    #[tokio::test]
    async fn one_conversation_waits_for_its_pause_and_no_other_does() {
        let pacer = Pacer::new(Cadence { message: Duration::from_millis(50), ..TELEGRAM.cadence });
        let one = conversation("1", ConversationKind::Direct);
        let began = Instant::now();
        drop(pacer.permit(&one).await);
        drop(pacer.permit(&conversation("2", ConversationKind::Direct)).await);
        let other = began.elapsed();
        drop(pacer.permit(&one).await);
        assert!(other < began.elapsed() && began.elapsed() >= Duration::from_millis(50));
    }
}
