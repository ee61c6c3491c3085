//! The hooks that wait: for their channel to take them, and for its answers.

use ipc_proto::Name;
use ipc_proto::config;
use ipc_proto::ingress::{AT_ONCE, Hook, HookAnswer, HookId, NoAccount};
use manifest::Process;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;

/// The longest wait of `next`.
const HOLD: Duration = Duration::from_secs(20);

/// The hooks of every account.
pub(crate) struct Hooks(BTreeMap<String, (String, Account)>);

/// The hooks of one account.
#[derive(Default)]
pub(crate) struct Account {
    queue: RefCell<VecDeque<Hook>>,
    answers: RefCell<HashMap<HookId, oneshot::Sender<HookAnswer>>>,
    next: Cell<u64>,
    news: Notify,
}

impl Hooks {
    /// No hook yet.
    pub(crate) fn new(config: &config::Ingress) -> Self {
        let accounts =
            config.hooks.iter().map(|(name, process)| (name.clone(), (process.clone(), Account::default())));
        Self(accounts.collect())
    }

    /// The account of this name, for whom a hook came.
    pub(crate) fn named(&self, name: &str) -> Option<&Account> {
        self.0.get(name).map(|(_, account)| account)
    }

    /// The account of this name, for the process that reads its hooks.
    pub(crate) fn of(&self, caller: Process, name: &Name) -> Result<&Account, NoAccount> {
        let found = self.0.get(name.as_str()).filter(|(process, _)| process == caller.name());
        found.map(|(_, account)| account).ok_or(NoAccount)
    }

    /// Hooks that nobody has taken yet.
    pub(crate) fn waiting(&self) -> u64 {
        let waiting = self.0.values().map(|(_, account)| account.queue.borrow().len());
        u64::try_from(waiting.sum::<usize>()).unwrap_or(u64::MAX)
    }
}

impl Account {
    /// Takes a hook in; none where the channel has as many as it takes at once.
    pub(crate) fn push(
        &self,
        hook: impl FnOnce(HookId) -> Hook,
    ) -> Option<(HookId, oneshot::Receiver<HookAnswer>)> {
        let mut answers = self.answers.borrow_mut();
        if answers.len() >= AT_ONCE {
            return None;
        }
        let id = HookId(self.next.get());
        self.next.set(id.0.wrapping_add(1));
        let (answer, answered) = oneshot::channel();
        answers.insert(id, answer);
        self.queue.borrow_mut().push_back(hook(id));
        self.news.notify_one();
        Some((id, answered))
    }

    /// Forgets a hook whose sender has gone.
    pub(crate) fn forget(&self, id: HookId) {
        self.answers.borrow_mut().remove(&id);
        self.queue.borrow_mut().retain(|hook| hook.id != id);
    }

    /// The next hook.
    pub(crate) async fn next(&self, held: bool) -> Result<Option<Hook>, NoAccount> {
        let until = async {
            loop {
                let news = self.news.notified();
                if let Some(hook) = self.queue.borrow_mut().pop_front() {
                    return hook;
                }
                news.await;
            }
        };
        if held { Ok(timeout(HOLD, until).await.ok()) } else { Ok(self.queue.borrow_mut().pop_front()) }
    }

    /// Answers a hook.
    pub(crate) fn answer(&self, id: HookId, answer: HookAnswer) {
        if let Some(waiting) = self.answers.borrow_mut().remove(&id) {
            // A sender that has gone takes no answer, and sends again.
            drop(waiting.send(answer));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::{Blob, List, Text};

    fn hooks() -> Hooks {
        let process = Process::Webhook.name().to_owned();
        Hooks::new(&config::Ingress { hooks: [("in".to_owned(), process)].into() })
    }

    fn hook(id: HookId) -> Hook {
        Hook { id, post: true, query: Text::default(), headers: List::default(), body: Blob::default() }
    }

    #[tokio::test]
    async fn a_hook_waits_for_its_channel_and_its_sender_for_the_answer() {
        let hooks = hooks();
        let account = hooks.of(Process::Webhook, &Name::clip("in")).ok().unwrap();
        let (id, answered) = account.push(hook).unwrap();
        assert_eq!(account.next(true).await.unwrap().unwrap().id, id);
        account.answer(id, HookAnswer::status(200));
        assert_eq!(answered.await.unwrap().status, 200);
        assert_eq!(account.next(false).await, Ok(None));
    }

    #[test]
    fn a_channel_takes_the_hooks_of_its_own_accounts_alone() {
        let hooks = hooks();
        assert!(hooks.of(Process::Whatsapp, &Name::clip("in")).is_err());
        assert!(hooks.of(Process::Webhook, &Name::clip("out")).is_err());
    }

    #[test]
    fn a_channel_that_takes_nothing_is_sent_no_more_than_its_bound() {
        let hooks = hooks();
        let account = hooks.named("in").unwrap();
        let kept: Vec<_> = (0..AT_ONCE).map(|_| account.push(hook).unwrap()).collect();
        assert!(account.push(hook).is_none());
        account.forget(kept[0].0);
        assert!(account.push(hook).is_some());
    }
}
