//! A person's own program in a jail, as the gate serves it. Its model calls go through the pass-through in the name of its turn;
//! the person's input is fetched from router. It has none of the host's tools, and must never get one.

use crate::passthrough::embed;
use crate::passthrough::streams::Streams;
use crate::state::context::GateContext;
use crate::state::errors::{down, relay_down, router_refusal, to_relay_error};
use crate::turn::context::sum_of;
use crate::turn::labels;
use crate::turn::requester::Requester;
use ipc_proto::gate::RelayError;
use ipc_proto::ids::TurnId;
use ipc_proto::model::{ModelName, Piece, Request, StreamId, Usage};
use ipc_proto::router::{self, Input};
use ipc_proto::runner_gate::GateError;
use ipc_proto::{List, Text};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// Seconds after which an engine whose hourly quota is used up may ask again.
const FULL: u32 = 60;

/// The requests of one program.
#[derive(Clone)]
pub(crate) struct Program {
    gate: GateContext,
    turn: TurnId,
    /// Its answer streams.
    streams: Streams,
    /// Set once its work was given out.
    requester: Rc<RefCell<Option<Requester>>>,
    spent: Rc<RefCell<Spent>>,
    /// The failure of its last model call; none if that was answered.
    failure: Rc<RefCell<Option<GateError>>>,
}

/// The usage of its model calls.
#[derive(Default)]
struct Spent {
    /// The usage of each open answer, as reported last.
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
    pub(crate) fn new(gate: GateContext, turn: TurnId) -> Self {
        Self {
            gate,
            turn,
            streams: Streams::default(),
            requester: Rc::default(),
            spent: Rc::default(),
            failure: Rc::default(),
        }
    }

    /// Sets the requester when its work is given out.
    pub(crate) fn begin(&self, requester: Requester) {
        self.requester.replace(Some(requester));
    }

    fn requester(&self) -> Result<Requester, RelayError> {
        self.requester.borrow().clone().ok_or(RelayError::NotInScope)
    }

    /// The requester with the labels of now: the program runs for hours.
    async fn current_requester(&self) -> Result<Requester, RelayError> {
        let mut requester = self.requester()?;
        let label = labels::now(&self.gate, self.turn).await.ok_or_else(|| relay_down("router"))?;
        requester.label = requester.label.join(&label);
        Ok(requester)
    }

    /// The models by name, its agent's own first.
    pub(crate) async fn models(&self) -> Result<List<ModelName, 256>, RelayError> {
        let requester = self.requester()?;
        let own: ModelName = Text::clip(&requester.model);
        if requester.engine {
            return Ok(List::clip([own]));
        }
        let models = self.gate.models().await.map_err(to_relay_error)?;
        let others = models.into_iter().map(|model| model.name).filter(|name| *name != own);
        Ok(List::clip(std::iter::once(own.clone()).chain(others)))
    }

    pub(crate) async fn ask(&self, request: Request) -> Result<StreamId, RelayError> {
        let asked = self.begin_answer(request).await;
        if let Err(error) = &asked {
            self.failure.replace(failure_of(error));
        }
        asked
    }

    async fn begin_answer(&self, request: Request) -> Result<StreamId, RelayError> {
        let requester = self.requester()?;
        requester.may_use(&request.model)?;
        if requester.engine && !self.gate.take_quota(requester.session, requester.calls) {
            return Err(RelayError::Busy { retry_s: FULL });
        }
        self.streams.begin_run(&self.gate, &self.current_requester().await?, request).await
    }

    pub(crate) async fn pull(&self, stream: StreamId, credit: u16) -> Result<List<Piece, 64>, RelayError> {
        let pulled = self.streams.pull(&self.gate, stream, credit).await;
        match &pulled {
            Ok(pieces) => {
                self.spent.borrow_mut().hear(stream, pieces);
                pieces.iter().for_each(|piece| hear_end(&mut self.failure.borrow_mut(), piece));
            }
            Err(error) => drop(self.failure.replace(failure_of(error))),
        }
        pulled
    }

    /// The failure of its last model call; none if that was answered.
    pub(crate) fn failure(&self) -> Option<GateError> {
        self.failure.borrow().clone()
    }

    pub(crate) async fn end(&self, stream: StreamId) {
        self.spent.borrow_mut().close(stream);
        self.streams.end(&self.gate, stream).await;
    }

    pub(crate) async fn count(&self, request: Request) -> Result<u32, RelayError> {
        embed::count_run(&self.gate, &self.requester()?, request).await
    }

    /// The person's input.
    pub(crate) async fn input(&self, from: u64) -> Result<Input, GateError> {
        let turn = self.turn;
        let typed = self
            .gate
            .router
            .call(&router::method::typed, |router, rpc| async move { router.typed(rpc, turn, from).await });
        typed.await.map_err(|_| down("router"))?.map_err(|error| router_refusal(&error))
    }

    /// The usage of its model calls so far.
    pub(crate) fn spent(&self) -> Usage {
        let spent = self.spent.borrow();
        spent.open.values().fold(spent.sum, |sum, usage| sum_of(sum, *usage))
    }

    /// Ends every answer when the program is gone.
    pub(crate) async fn end_all(&self) {
        self.streams.end_all(&self.gate).await;
    }
}

/// The error of a turn that the failure of a model call is; none for a refusal of the call itself.
fn failure_of(error: &RelayError) -> Option<GateError> {
    match error {
        RelayError::Model(error) => Some(GateError::Model(*error)),
        RelayError::Down(name) => Some(GateError::Down(name.clone())),
        _ => None,
    }
}

/// Notes how an answer ended, if it ended with this piece.
fn hear_end(failure: &mut Option<GateError>, piece: &Piece) {
    match piece {
        Piece::Done(_) => *failure = None,
        Piece::Failed(error) => *failure = Some(GateError::Model(*error)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::Name;
    use ipc_proto::model::ModelError;

    // Holds P7-94.
    #[test]
    fn the_failure_of_an_engines_last_model_call_is_known() {
        let failed = GateError::Model(ModelError::Auth);
        assert_eq!(failure_of(&RelayError::Model(ModelError::Auth)), Some(failed.clone()));
        let down = Name::clip("model");
        assert_eq!(failure_of(&RelayError::Down(down.clone())), Some(GateError::Down(down)));
        assert_eq!(failure_of(&RelayError::NotInScope), None, "its own fault");
        let mut last = None;
        for piece in [Piece::Failed(ModelError::Auth), Piece::Usage(Usage::default())] {
            hear_end(&mut last, &piece);
        }
        assert_eq!(last, Some(failed));
    }
}
