//! A model that is tried: one short question, on the owner's money and on the record like any other, and how it did.

use super::answer::{Answer, Decided, Decision};
use super::around::relayed;
use crate::host::{Shared, down};
use crate::money::Patience;
use ipc_proto::api::Caller;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::gate::{RelayError, Tried};
use ipc_proto::ids::{CallId, UserId};
use ipc_proto::model::{Message, ModelError, ModelInfo, ModelName, Payer, Piece, Request, Role, Usage};
use ipc_proto::router;
use ipc_proto::{List, Name};
use std::time::{Duration, Instant};

/// What is asked.
const QUESTION: &str = "Answer with the one word: ready";
/// Tokens of the answer: what a provider's least bound is.
const TOKENS: u32 = 16;
/// How long it may take: a little less than whoever asked waits.
const PATIENCE: Duration = Duration::from_secs(140);
/// Root, who is always the owner.
const ROOT: u32 = 0;

/// Has a model answer, and says how it did.
pub(crate) async fn try_model(shared: &Shared, model: ModelName, by: &str) -> Result<Tried, RelayError> {
    let payer = owner(shared).await?;
    let load = shared.rates.hold(QUESTION.len())?;
    let (id, whose) = (CallId::random(), whose(by));
    let mut decision = Event::new(Action::ModelDecided, Result3::Success).about(&model).because(&whose);
    decision.call = Some(id);
    decision.bytes = QUESTION.len() as u64;
    let (request, patience) = (request(model, payer), Patience::NONE);
    let decided = Decided { request, id, whose, load, patience, decision: Decision::Due(decision) };
    let begun = Instant::now();
    let mut answer = Answer::begin(shared, decided).await?;
    let heard = tokio::time::timeout(PATIENCE, hear(shared, &mut answer, begun)).await;
    let mut tried = match heard {
        Ok(Ok(tried)) => tried,
        Ok(Err(error)) => {
            answer.give_up(shared).await;
            return Err(error);
        }
        Err(_) => {
            answer.give_up(shared).await;
            return Err(RelayError::Model(ModelError::Timeout));
        }
    };
    let models = shared.models().await.map_err(relayed)?;
    tried.cost_micros = cost(&models, answer.model(), tried.tokens);
    Ok(tried)
}

fn whose(by: &str) -> Name {
    Name::clip(&format!("tried by {by}"))
}

/// The whole answer, of which nothing is kept but when it came and what it used.
async fn hear(shared: &Shared, answer: &mut Answer, begun: Instant) -> Result<Tried, RelayError> {
    let (mut first, mut usage) = (None, Usage::default());
    while !answer.is_over() {
        for piece in answer.pull(shared, u16::MAX).await? {
            match piece {
                Piece::Usage(used) => usage = used,
                Piece::Failed(error) => return Err(RelayError::Model(error)),
                Piece::Failover { .. } => first = None,
                Piece::OverBudget { .. } => {}
                _ => first = first.or_else(|| Some(ms(begun))),
            }
        }
    }
    let whole_ms = ms(begun);
    let tokens = (usage.input, usage.output);
    Ok(Tried { first_ms: first.unwrap_or(whole_ms), whole_ms, tokens, cost_micros: 0 })
}

fn ms(since: Instant) -> u32 {
    u32::try_from(since.elapsed().as_millis()).unwrap_or(u32::MAX)
}

/// Whoever the host belongs to pays.
async fn owner(shared: &Shared) -> Result<UserId, RelayError> {
    let holder = shared.router.call(&router::method::holder, |router, rpc| async move {
        router.holder(rpc, Caller::Peer(ROOT)).await
    });
    match holder.await {
        Ok(Ok(holder)) => Ok(holder.user),
        _ => Err(relayed(down("router"))),
    }
}

fn request(model: ModelName, user: UserId) -> Request {
    let messages = List::clip([Message::text(Role::User, QUESTION)]);
    Request { max_output: TOKENS, ..Request::new(model, messages, Payer::of(user)) }
}

/// What these tokens cost, rounded up; what a cache saved is not known here, so it is rather too much.
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
    fn the_cost_is_by_the_model_that_answered_and_never_rounded_down_to_nothing() {
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
