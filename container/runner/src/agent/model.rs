//! A model's answer on its way from the gate to the program. An answer that the program no longer takes is ended.

use crate::gate::Gate;
use ipc_proto::gate::RelayError;
use ipc_proto::model::{ModelError, Piece, Request, StreamId};
use std::sync::atomic::{AtomicU32, Ordering};
use tokio::runtime::Handle;
use tokio::sync::SemaphorePermit;
use vendors::answer::{Origin, ReplyEvent, Source};
use vendors::fault::{Fault, Kind};
use vendors::pieces::Calls;

/// Pieces in one answer.
const CREDIT: u16 = 64;
/// Models named to a program that asks for one that there is not.
const NAMED: usize = 40;

/// Answers that were begun in this jail.
static BEGUN: AtomicU32 = AtomicU32::new(0);

/// The number of model answers begun so far: a program that has one may have acted on it.
pub(super) fn begun() -> u32 {
    BEGUN.load(Ordering::Relaxed)
}

/// An answer.
pub(super) struct Model {
    gate: Gate,
    stream: StreamId,
    calls: Calls,
    over: bool,
    /// Its request is with the gate for as long.
    _room: SemaphorePermit<'static>,
}

impl Model {
    /// Begins it.
    ///
    /// # Errors
    /// The gate refuses, or there is no such model.
    pub(super) async fn begin(
        gate: &Gate,
        request: Request,
        room: SemaphorePermit<'static>,
    ) -> Result<Self, Fault> {
        let name = request.model.clone();
        match gate.ask(request).await {
            Ok(stream) => {
                BEGUN.fetch_add(1, Ordering::Relaxed);
                let (gate, calls) = (gate.clone(), Calls::default());
                Ok(Self { gate, stream, calls, over: false, _room: room })
            }
            Err(error) => Err(refused(gate, &name, error).await),
        }
    }
}

/// A refusal in the words of the API; of a model that there is not or that is another agent's, with the names of those
/// that may be asked.
pub(super) async fn refused(gate: &Gate, model: &str, error: RelayError) -> Fault {
    let is_known = match error {
        RelayError::Model(ModelError::UnknownModel) => false,
        RelayError::NotInScope => true,
        RelayError::Model(ModelError::NoVision) => return Fault::no_vision(model),
        error => return error.into(),
    };
    let names = match gate.models().await {
        Ok(names) => names,
        Err(error) => return error.into(),
    };
    let names: Vec<&str> = names.iter().take(NAMED).map(|name| name.as_str()).collect();
    let names = names.join(", ");
    if is_known {
        // There is no key in a jail, though the gate's own error speaks of one.
        let message = format!("This agent may not use this model; it may use: {names}");
        return Fault::new(Kind::Forbidden, message).about("model");
    }
    Fault::no_model(model, &names)
}

impl Source for Model {
    async fn next(&mut self) -> Vec<ReplyEvent> {
        match self.gate.pull(self.stream, CREDIT).await {
            Ok(pieces) => {
                self.over = pieces.iter().any(|piece| matches!(piece, Piece::Done(_) | Piece::Failed(_)));
                let mut said = Vec::with_capacity(pieces.len());
                pieces.into_iter().for_each(|piece| self.calls.take(piece, &mut said));
                said
            }
            Err(error) => {
                self.over = true;
                vec![ReplyEvent::Failed(error.into())]
            }
        }
    }

    fn origin(&self) -> Origin {
        Origin { turn: None }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        let Some(runtime) = Handle::try_current().ok().filter(|_| !self.over) else { return };
        let (gate, stream) = (self.gate.clone(), self.stream);
        drop(runtime.spawn(async move { gate.end(stream).await }));
    }
}
