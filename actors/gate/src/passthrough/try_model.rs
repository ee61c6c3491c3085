//! Tries a model: one short question, on the owner's money and on the record like any other.

use crate::model::budget::Patience;
use crate::passthrough::answer::Answer;
use crate::passthrough::answer::decided::{Decided, Decision};
use crate::state::context::GateContext;
use crate::state::elapsed::ms;
use crate::state::errors::{relay_down, to_relay_error};
use ipc_proto::api::Caller;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::gate::{RelayError, Tried};
use ipc_proto::ids::{CallId, UserId};
use ipc_proto::model::{Message, ModelError, ModelInfo, ModelName, Payer, Piece, Request, Role, Usage};
use ipc_proto::{List, Name, router};
use std::time::{Duration, Instant};

/// The question.
const QUESTION: &str = "Answer with the one word: ready";

/// Tokens of the answer: the least bound that providers take.
const TOKENS: u32 = 16;

/// The longest that it takes, a little less than its caller waits.
const PATIENCE: Duration = Duration::from_secs(140);

/// Root's uid; root is always the owner.
const ROOT: u32 = 0;

/// Has a model answer, and reports times, tokens and cost.
pub(crate) async fn try_model(gate: &GateContext, model: ModelName, by: &str) -> Result<Tried, RelayError> {
    let payer = owner(gate).await?;
    let load = gate.rates.hold(QUESTION.len())?;
    let (id, requester) = (CallId::random(), requester(by));
    let mut decision = Event::new(Action::ModelDecided, Result3::Success).about(&model).because(&requester);
    decision.call = Some(id);
    decision.bytes = QUESTION.len() as u64;
    let (request, patience) = (request(model, payer), Patience::NONE);
    let decided = Decided { request, id, requester, load, patience, decision: Decision::Due(decision) };
    let begun = Instant::now();
    let mut answer = Answer::begin(gate, decided).await?;
    let heard = tokio::time::timeout(PATIENCE, hear(gate, &mut answer, begun)).await;
    let mut tried = match heard {
        Ok(Ok(tried)) => tried,
        Ok(Err(error)) => {
            answer.give_up(gate).await;
            return Err(error);
        }
        Err(_) => {
            answer.give_up(gate).await;
            return Err(RelayError::Model(ModelError::Timeout));
        }
    };
    let models = gate.models().await.map_err(to_relay_error)?;
    tried.cost_micros = cost(&models, answer.model(), tried.tokens);
    Ok(tried)
}

fn requester(by: &str) -> Name {
    Name::clip(&format!("tried by {by}"))
}

/// Reads the whole answer; only its times and its usage are kept.
async fn hear(gate: &GateContext, answer: &mut Answer, begun: Instant) -> Result<Tried, RelayError> {
    let (mut first, mut usage) = (None, Usage::default());
    while !answer.is_over() {
        for piece in answer.pull(gate, u16::MAX).await? {
            match piece {
                Piece::Usage(used) => usage = used,
                Piece::Failed(error) => return Err(RelayError::Model(error)),
                Piece::Failover { .. } => first = None,
                Piece::OverBudget { .. } => {}
                _ => first = first.or_else(|| Some(ms(begun.elapsed()))),
            }
        }
    }
    let whole_ms = ms(begun.elapsed());
    let tokens = (usage.input, usage.output);
    Ok(Tried { first_ms: first.unwrap_or(whole_ms), whole_ms, tokens, cost_micros: 0 })
}

/// The owner of the host, who pays.
async fn owner(gate: &GateContext) -> Result<UserId, RelayError> {
    let holder = gate.router.call(&router::method::holder, |router, rpc| async move {
        router.holder(rpc, Caller::Peer(ROOT)).await
    });
    match holder.await {
        Ok(Ok(holder)) => Ok(holder.user),
        _ => Err(relay_down("router")),
    }
}

fn request(model: ModelName, user: UserId) -> Request {
    let messages = List::clip([Message::text(Role::User, QUESTION)]);
    Request { max_output: TOKENS, ..Request::new(model, messages, Payer::of(user)) }
}

/// The cost of these tokens, rounded up. The discount of a cache is not known here, so the cost is rather too high.
fn cost(models: &[ModelInfo], name: &str, (input, output): (u32, u32)) -> u64 {
    const MILLION: u64 = 1_000_000;
    let Some(model) = models.iter().find(|model| model.name.as_str() == name) else { return 0 };
    let read = u64::from(input).saturating_mul(model.input_micros);
    let written = u64::from(output).saturating_mul(model.output_micros);
    read.saturating_add(written).div_ceil(MILLION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_is_that_of_the_model_that_answered_and_is_rounded_up() {
        let model = ModelInfo {
            name: ModelName::clip("corp/one"),
            context: 1000,
            output: 1000,
            tools: false,
            vision: false,
            embeds: false,
            priced: true,
            input_micros: 3_000_000,
            output_micros: 15_000_000,
        };
        assert_eq!(cost(std::slice::from_ref(&model), "corp/one", (10, 4)), 90);
        let cheap = ModelInfo { input_micros: 1, output_micros: 0, ..model.clone() };
        assert_eq!(cost(&[cheap], "corp/one", (10, 4)), 1);
        assert_eq!(cost(&[model], "other/one", (10, 4)), 0);
    }
}
