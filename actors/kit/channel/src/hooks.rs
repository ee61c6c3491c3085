//! The hooks of one account: each is taken from ingress, and answered with 200 only once router has accepted what it brought.

use crate::platform::PollFault;
use ipc_proto::channel::{CURSOR, Link as State};
use ipc_proto::ingress::{Hook, HookAnswer, HookId, IngressClient, method};
use ipc_proto::{Name, Text};
use kit::Link;
use std::cell::{Cell, RefCell};

/// The hooks of one account.
pub struct Hooks {
    ingress: Link<IngressClient>,
    account: Name,
    /// The hook whose messages were handed on last, and the cursor that stands for them.
    handed: RefCell<Option<(HookId, Text<CURSOR>)>>,
    next: Cell<u64>,
}

impl Hooks {
    /// The hooks of the account of this name.
    #[must_use]
    pub fn new(ingress: Link<IngressClient>, account: Name) -> Self {
        // Cursors of an earlier life are never taken for those of this one.
        let first = getrandom::u64().unwrap_or_else(|_| kit::now_ms());
        Self { ingress, account, handed: RefCell::default(), next: Cell::new(first) }
    }

    /// The next hook, after the last one is answered: with 200 if router has accepted up to its cursor, else with 503, upon which
    /// its sender tries again.
    ///
    /// # Errors
    /// Ingress is away.
    pub async fn next(&self, accepted: Option<&str>, held: bool) -> Result<Option<Hook>, PollFault> {
        let handed = self.handed.borrow_mut().take();
        if let Some((id, cursor)) = handed {
            let done = accepted == Some(cursor.as_str());
            self.answer(id, HookAnswer::status(if done { 200 } else { 503 })).await;
        }
        let taken = self.ingress.call(&method::next, |ingress, context| {
            let name = self.account.clone();
            async move { ingress.next(context, name, held).await }
        });
        let fault = |reason: &str| PollFault { link: State::Down, reason: reason.to_owned(), after: None };
        match taken.await {
            Ok(Ok(hook)) => Ok(hook),
            Ok(Err(_)) => Err(fault("ingress does not know this channel; restart the host")),
            Err(_) => Err(fault("ingress is held or away; if it is held: agentctl release ingress")),
        }
    }

    /// The cursor of a hook whose messages are handed on: it is answered at the next call of [`Self::next`].
    pub fn hand_on(&self, id: HookId) -> Text<CURSOR> {
        let number = self.next.get();
        self.next.set(number.wrapping_add(1));
        let cursor = Text::clip(&format!("{number:016x}"));
        *self.handed.borrow_mut() = Some((id, cursor.clone()));
        cursor
    }

    /// Answers a hook at once.
    pub async fn answer(&self, id: HookId, answer: HookAnswer) {
        let answered = self.ingress.call(&method::answer, |ingress, context| {
            let (name, answer) = (self.account.clone(), answer.clone());
            async move { ingress.answer(context, name, id, answer).await }
        });
        // A sender that hears nothing sends again, and its message is known by its key.
        let _ = answered.await;
    }
}
