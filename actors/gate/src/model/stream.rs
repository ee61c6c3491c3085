//! A model's answer as a stream: started, pulled, cancelled. Its pieces are not looked at here.

use crate::state::blocked_on;
use crate::state::context::GateContext;
use crate::state::errors::down;
use ipc_proto::Fault;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::model::{self, BUILT_IN, ModelError, Piece, Request, StreamId, Usage};
use ipc_proto::runner_gate::GateError;

/// Pieces pulled at once.
const CREDIT: u16 = 64;

/// Times that an answer begins again when model or credproxy went away in the middle.
pub(crate) const RESTARTS: u32 = 2;

/// The result of a pull.
#[derive(Debug)]
pub(crate) enum Pulled {
    /// The next pieces, possibly none.
    Pieces(Vec<Piece>),
    /// The stream is gone with the model that had it.
    Lost,
    /// The stream ended with this error.
    Failed(ModelError),
}

/// Returns true if a model of this name is asked through credproxy. One that runs in this host is not, and the name of a task
/// does not say which model answers.
fn goes_out(model: &str) -> bool {
    model.split_once('/').is_some_and(|(provider, _)| !BUILT_IN.contains(&provider))
}

/// Starts an answer. A `start` whose outcome is unknown began nothing that anybody could read, so it is repeated.
pub(crate) async fn start(gate: &GateContext, request: &Request) -> Result<StreamId, GateError> {
    for _ in 0..=RESTARTS {
        let started = gate.model.call(&model::method::start, |model, rpc| {
            let request = request.clone();
            async move { model.start(rpc, request).await }
        });
        match blocked_on::during("model", started).await {
            Ok(stream) => return stream.map_err(GateError::Model),
            Err(Fault::PeerRestarted) => {}
            Err(_) => break,
        }
    }
    Err(down("model"))
}

/// Returns the next pieces of an answer. `model` names the model or the task that answers.
pub(crate) async fn pull(gate: &GateContext, model: &str, stream: StreamId) -> Result<Pulled, GateError> {
    let pulled = pull_any(gate, stream);
    if goes_out(model) { blocked_on::during("credproxy", pulled).await } else { pulled.await }
}

async fn pull_any(gate: &GateContext, stream: StreamId) -> Result<Pulled, GateError> {
    let pulled = gate
        .model
        .call(&model::method::next, |model, rpc| async move { model.next(rpc, stream, CREDIT).await });
    match blocked_on::during("model", pulled).await {
        Ok(Ok(pieces)) => Ok(Pulled::Pieces(pieces.into_vec())),
        Err(Fault::PeerRestarted | Fault::Unreachable) | Ok(Err(ModelError::NoStream)) => Ok(Pulled::Lost),
        Ok(Err(error)) => Ok(Pulled::Failed(error)),
        Err(_) => Err(down("model")),
    }
}

/// Cancels a stream. If model is away, its streams are gone as well.
pub(crate) async fn cancel(gate: &GateContext, stream: StreamId) {
    let cancelled =
        gate.model.call(&model::method::cancel, |model, rpc| async move { model.cancel(rpc, stream).await });
    let _ = cancelled.await;
}

/// Returns the event that is recorded beside the end of an answer whose provider's token count was not believed.
pub(crate) fn disbelieved(ended: &Event, usage: Usage) -> Option<Event> {
    let claim = usage.claimed?;
    Some(Event {
        action: Action::UsageDisbelieved,
        result: Result3::Blocked,
        tokens: (claim.input, claim.output),
        duration_ms: 0,
        reason: None,
        ..ended.clone()
    })
}

/// The fixed code of an error, as users know it.
pub(crate) fn code(error: ModelError) -> String {
    let words = error.to_string();
    words.split(':').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::model::Per;

    #[test]
    fn an_answer_is_said_to_need_credproxy_only_where_its_models_name_says_so() {
        for (model, goes) in
            [("openai/gpt-5", true), ("offline/reader", false), ("scripted/slow", false), ("default", false)]
        {
            assert_eq!(goes_out(model), goes, "{model}");
        }
    }

    #[test]
    fn an_error_is_told_by_its_fixed_word() {
        let limited = ModelError::RateLimited { retry_after_s: 3 };
        let budget = ModelError::Budget { per: Per::Day, again_s: 9 };
        assert_eq!((code(limited), code(budget)), ("LLM_RATE_LIMITED".into(), "LLM_BUDGET_EXCEEDED".into()));
    }
}
