//! A host for tests: a model with scripted pieces, a scanner that knows one secret and one attack, a record that is a list.

use crate::model::stream::Pulled;
use crate::passthrough::deps::Dependencies;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::gate::RelayError;
use ipc_proto::ids::UserId;
use ipc_proto::label::Class;
use ipc_proto::model::{
    Embedding, Message, ModelError, ModelName, Payer, Per, Request, Role, SET_ASIDE_S, StreamId,
};
use ipc_proto::scanner::{Conversation, Crossing, Judgement, Release, Verdict};
use ipc_proto::{List, Name, Text};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// The secret that the scanner cuts out.
const SECRET: &str = "SECRET";

/// The host.
#[derive(Default)]
pub(crate) struct Fake {
    /// The result of each pull; afterwards pulls fail.
    pub(crate) pulls: RefCell<VecDeque<Pulled>>,
    /// The recorded events.
    pub(crate) events: RefCell<Vec<(Action, Result3)>>,
    /// Answers that find their money set aside at first.
    pub(crate) unpaid: Cell<u32>,
    /// Answers that were started.
    pub(crate) begun: RefCell<u64>,
    /// Answers that were cancelled.
    pub(crate) cancelled: RefCell<Vec<StreamId>>,
    /// The scanner is away.
    pub(crate) away: bool,
    /// Audit is away.
    pub(crate) unrecorded: bool,
    /// Texts that are with the scanner.
    pub(crate) judging: Cell<u32>,
    /// Texts that were with the scanner at once, at most.
    pub(crate) judged_at_once: Cell<u32>,
}

impl Fake {
    /// A host whose model gives this.
    pub(crate) fn giving(pulls: impl IntoIterator<Item = Pulled>) -> Self {
        Self { pulls: RefCell::new(pulls.into_iter().collect()), ..Self::default() }
    }

    fn scanner(&self) -> Result<(), RelayError> {
        if self.away { Err(RelayError::Down(Name::clip("scanner"))) } else { Ok(()) }
    }
}

impl Dependencies for Fake {
    async fn start(&self, _: &Request) -> Result<StreamId, RelayError> {
        if let Some(left) = self.unpaid.get().checked_sub(1) {
            self.unpaid.set(left);
            return Err(RelayError::Model(ModelError::Budget { per: Per::Day, again_s: SET_ASIDE_S }));
        }
        *self.begun.borrow_mut() += 1;
        Ok(StreamId(*self.begun.borrow()))
    }

    async fn next(&self, _: &str, _: StreamId) -> Result<Pulled, RelayError> {
        match self.pulls.borrow_mut().pop_front() {
            Some(pulled) => Ok(pulled),
            None => Ok(Pulled::Failed(ModelError::Timeout)),
        }
    }

    async fn cancel(&self, stream: StreamId) {
        self.cancelled.borrow_mut().push(stream);
    }

    /// Holds back the last word, which may be the beginning of a secret.
    async fn hold_back(&self, pending: &str, last: bool) -> Result<Release, RelayError> {
        self.scanner()?;
        let end = if last { pending.len() } else { pending.rfind(' ').map_or(0, |at| at + 1) };
        let free = &pending[..end];
        Ok(Release {
            text: Text::clip(&free.replace(SECRET, "[cut]")),
            consumed: u32::try_from(end).unwrap(),
            canary_leaked: false,
            redactions: u16::try_from(free.matches(SECRET).count()).unwrap(),
        })
    }

    async fn judge(&self, _: Crossing, text: &str) -> Result<Verdict, RelayError> {
        self.scanner()?;
        self.judging.set(self.judging.get() + 1);
        self.judged_at_once.set(self.judged_at_once.get().max(self.judging.get()));
        tokio::task::yield_now().await;
        self.judging.set(self.judging.get() - 1);
        let (secret, attack) = (text.contains(SECRET), text.contains("ATTACK"));
        Ok(Verdict {
            judgement: if attack { Judgement::Block } else { Judgement::Pass },
            score: 0,
            rules: List::clip(attack.then(|| Name::clip("attack"))),
            canary_leaked: false,
            class: if secret { Class::Secret } else { Class::Public },
            redacted: secret.then(|| Text::clip(&text.replace(SECRET, "[cut]"))),
            threats: List::default(),
            spans: List::default(),
            held_secret: false,
            conversation: Conversation::default(),
        })
    }

    async fn record(&self, event: Event) -> Result<(), RelayError> {
        if self.unrecorded {
            return Err(RelayError::Down(Name::clip("audit")));
        }
        self.record_later(event);
        Ok(())
    }

    fn record_later(&self, event: Event) {
        self.events.borrow_mut().push((event.action, event.result));
    }
}

fn payer() -> Payer {
    Payer::of(UserId::from_bytes([7; 16]))
}

/// A request of one word.
pub(crate) fn ask() -> Request {
    let messages = List::clip([Message::text(Role::User, "hello")]);
    Request { max_output: 100, ..Request::new(ModelName::clip("corp/one"), messages, payer()) }
}

/// A request to embed one word.
pub(crate) fn embed() -> Embedding {
    Embedding {
        model: ModelName::clip("corp/vectors"),
        texts: List::clip([Text::clip("hello")]),
        dimensions: None,
        payer: payer(),
    }
}
