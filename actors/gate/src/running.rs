//! A person's own program in a jail, as the gate serves it: its model calls go through the relay that clients of the API
//! use, in the name of its turn; what the person types is fetched from router for it. It has no tool of the host's, and
//! must never be given any.

use crate::context::{TurnContext, sum_of};
use crate::host::{Shared, down, refused};
use crate::relay::{self, Relays};
use ipc_proto::gate::RelayError;
use ipc_proto::ids::{SessionId, TurnId, UserId};
use ipc_proto::label::Label;
use ipc_proto::model::{ModelName, Piece, Request, StreamId, Usage};
use ipc_proto::router::{self, Input, PayingKey, Task};
use ipc_proto::runner_gate::GateError;
use ipc_proto::{List, Name, Text};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Instant;

/// After so many seconds an engine whose hour is full may ask again.
const FULL: u32 = 60;

/// Who asks models for a program: its turn, as it was when its work was given out.
#[derive(Clone, Debug)]
pub(crate) struct Asker {
    pub(crate) turn: TurnId,
    pub(crate) session: SessionId,
    pub(crate) user: UserId,
    pub(crate) user_name: Name,
    /// The agent with which it is run: its policy, its budget and its model.
    pub(crate) agent: Name,
    pub(crate) profile: String,
    model: String,
    /// What its workspace and its session held then, and so what it may say.
    pub(crate) label: Label,
    /// The key of the API that its message came with.
    pub(crate) key: Option<PayingKey>,
    /// An engine: it answers for its agent, and asks that one's model alone.
    engine: bool,
    /// Model calls of its session in an hour: an engine has as many as the host's own loop.
    calls: u32,
}

impl Asker {
    /// Of this turn.
    pub(crate) fn of(context: &TurnContext) -> Self {
        let turn = &context.turn;
        Self {
            turn: turn.id,
            session: turn.session,
            user: turn.user,
            user_name: turn.user_name.clone(),
            agent: turn.agent.clone(),
            profile: context.agent.profile.clone(),
            model: context.agent.model.clone(),
            label: context.session.label.clone(),
            key: turn.key,
            engine: !matches!(turn.task, Task::Run(_)),
            calls: context.agent.limits.model_calls_per_hour,
        }
    }

    /// Returns whether it may ask this model: an engine is held to its agent's, as the host's own loop is.
    fn may_name(&self, model: &str) -> Result<(), RelayError> {
        if self.engine && model != self.model { Err(RelayError::NotInScope) } else { Ok(()) }
    }
}

/// What one program asks.
#[derive(Clone)]
pub(crate) struct Program {
    shared: Shared,
    turn: TurnId,
    /// The answers that come for it.
    relays: Relays,
    /// There once its work was given out.
    asker: Rc<RefCell<Option<Asker>>>,
    spent: Rc<RefCell<Spent>>,
}

/// What its model calls came to.
#[derive(Default)]
struct Spent {
    /// Of the answers that come, by the last word on each.
    open: HashMap<StreamId, Usage>,
    sum: Usage,
}

impl Spent {
    fn hear(&mut self, stream: StreamId, pieces: &[Piece]) {
        for piece in pieces {
            match piece {
                Piece::Usage(usage) => {
                    self.open.insert(stream, *usage);
                }
                Piece::Done(_) | Piece::Failed(_) => self.close(stream),
                _ => {}
            }
        }
    }

    fn close(&mut self, stream: StreamId) {
        if let Some(usage) = self.open.remove(&stream) {
            self.sum = sum_of(self.sum, usage);
        }
    }
}

impl Program {
    pub(crate) fn new(shared: Shared, turn: TurnId) -> Self {
        Self { shared, turn, relays: Relays::default(), asker: Rc::default(), spent: Rc::default() }
    }

    /// Its work was given out.
    pub(crate) fn begin(&self, asker: Asker) {
        self.asker.replace(Some(asker));
    }

    fn asker(&self) -> Result<Asker, RelayError> {
        self.asker.borrow().clone().ok_or(RelayError::NotInScope)
    }

    /// The same, with what its session and its workspace hold by now: it runs for hours, and another session may write
    /// to the same folder. Their labels alone are asked for: a turn has up to 256 steps.
    async fn asker_now(&self) -> Result<Asker, RelayError> {
        let (mut asker, turn) = (self.asker()?, self.turn);
        let labels = self
            .shared
            .router
            .call(&router::method::labels, |router, rpc| async move { router.labels(rpc, turn).await });
        let Ok(Ok((session, workspace))) = labels.await else { return Err(relay::relayed(down("router"))) };
        asker.label = asker.label.join(&session).join(&workspace);
        Ok(asker)
    }

    /// The models by name, its agent's own first.
    pub(crate) async fn models(&self) -> Result<List<ModelName, 256>, RelayError> {
        let asker = self.asker()?;
        let own: ModelName = Text::clip(&asker.model);
        if asker.engine {
            return Ok(List::clip([own]));
        }
        let models = self.shared.models().await.map_err(relay::relayed)?;
        let others = models.into_iter().map(|model| model.name).filter(|name| *name != own);
        Ok(List::clip(std::iter::once(own.clone()).chain(others)))
    }

    pub(crate) async fn ask(&self, request: Request) -> Result<StreamId, RelayError> {
        let asker = self.asker()?;
        asker.may_name(&request.model)?;
        if asker.engine {
            self.take_quota(&asker)?;
        }
        self.relays.begin_run(&self.shared, &self.asker_now().await?, request).await
    }

    fn take_quota(&self, asker: &Asker) -> Result<(), RelayError> {
        let (session, limit) = (asker.session, asker.calls);
        let quotas = self.shared.quotas.lock();
        let room = quotas.is_ok_and(|mut quotas| quotas.take(session, limit, Instant::now()));
        if room { Ok(()) } else { Err(RelayError::Busy { retry_s: FULL }) }
    }

    pub(crate) async fn pull(&self, stream: StreamId, credit: u16) -> Result<List<Piece, 64>, RelayError> {
        let pieces = self.relays.pull(&self.shared, stream, credit).await?;
        self.spent.borrow_mut().hear(stream, &pieces);
        Ok(pieces)
    }

    pub(crate) async fn end(&self, stream: StreamId) {
        self.spent.borrow_mut().close(stream);
        self.relays.end(&self.shared, stream).await;
    }

    pub(crate) async fn count(&self, request: Request) -> Result<u32, RelayError> {
        relay::count_run(&self.shared, &self.asker()?, request).await
    }

    /// What the person typed.
    pub(crate) async fn input(&self, from: u64) -> Result<Input, GateError> {
        let turn = self.turn;
        let typed = self
            .shared
            .router
            .call(&router::method::typed, |router, rpc| async move { router.typed(rpc, turn, from).await });
        typed.await.map_err(|_| down("router"))?.map_err(|error| refused(&error))
    }

    /// What its model calls came to so far.
    pub(crate) fn spent(&self) -> Usage {
        let spent = self.spent.borrow();
        spent.open.values().fold(spent.sum, |sum, usage| sum_of(sum, *usage))
    }

    /// Ends every answer: the program is gone.
    pub(crate) async fn end_all(&self) {
        self.relays.end_all(&self.shared).await;
    }
}
