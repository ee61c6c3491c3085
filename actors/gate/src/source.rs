//! A model's answer as it is pulled: begun, pulled, given up. What its pieces mean is for whoever takes them; nothing is
//! looked at here.

use crate::host::{Shared, down};
use crate::waits;
use ipc_proto::Fault;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::model::{self, BUILT_IN, ModelError, Piece, Request, StreamId, Usage};
use ipc_proto::runner_gate::GateError;

/// Pieces pulled at once.
const CREDIT: u16 = 64;
/// Times an answer begins again when model or credproxy went away in the middle.
pub(crate) const AGAIN: u32 = 2;

/// What a pull came to.
#[derive(Debug)]
pub(crate) enum Pulled {
    /// The next pieces, possibly none.
    Pieces(Vec<Piece>),
    /// The stream is gone with the model that had it.
    Lost,
    /// There is no more of it.
    Failed(ModelError),
}

/// Returns whether a model of this name is asked through credproxy. One that runs in this host is not, and a task's name does not say
/// who answers: nothing is said of credproxy that may not be so.
fn goes_out(model: &str) -> bool {
    model.split_once('/').is_some_and(|(provider, _)| !BUILT_IN.contains(&provider))
}

/// Begins an answer. A `start` whose outcome is unknown began nothing that anybody could hear: it is asked again.
pub(crate) async fn start(shared: &Shared, request: &Request) -> Result<StreamId, GateError> {
    for _ in 0..=AGAIN {
        let started = shared.model.call(&model::method::start, |model, rpc| {
            let request = request.clone();
            async move { model.start(rpc, request).await }
        });
        match waits::on("model", started).await {
            Ok(stream) => return stream.map_err(GateError::Model),
            Err(Fault::PeerRestarted) => {}
            Err(_) => break,
        }
    }
    Err(down("model"))
}

/// The next pieces of an answer, which the model of this name gives or a task's.
pub(crate) async fn pull(shared: &Shared, model: &str, stream: StreamId) -> Result<Pulled, GateError> {
    let pulled = pull_any(shared, stream);
    if goes_out(model) { waits::on("credproxy", pulled).await } else { pulled.await }
}

async fn pull_any(shared: &Shared, stream: StreamId) -> Result<Pulled, GateError> {
    let pulled = shared
        .model
        .call(&model::method::next, |model, rpc| async move { model.next(rpc, stream, CREDIT).await });
    match waits::on("model", pulled).await {
        Ok(Ok(pieces)) => Ok(Pulled::Pieces(pieces.into_vec())),
        Err(Fault::PeerRestarted | Fault::Unreachable) | Ok(Err(ModelError::NoStream)) => Ok(Pulled::Lost),
        Ok(Err(error)) => Ok(Pulled::Failed(error)),
        Err(_) => Err(down("model")),
    }
}

/// Lets a stream go; that model is away by then is as good.
pub(crate) async fn cancel(shared: &Shared, stream: StreamId) {
    let cancelled = shared
        .model
        .call(&model::method::cancel, |model, rpc| async move { model.cancel(rpc, stream).await });
    let _ = cancelled.await;
}

/// What stands on the record beside the end of an answer whose provider's count was not believed.
pub(crate) fn untrue(ended: &Event, usage: Usage) -> Option<Event> {
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

/// An error's fixed word, as users know it.
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
