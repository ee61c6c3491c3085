//! One model call: begun, pulled, its text passed through the scanner's hold-back to whoever follows the turn, its
//! calls handed over. When model restarts in the middle, the reply begins again.

use crate::assemble::{Assembly, Step};
use crate::context::TurnContext;
use crate::host::{Shared, down};
use crate::money::{self, Begun, Patience, Unpaid};
use crate::pictures;
use crate::relay::Load;
use crate::scan::scan;
use crate::source::{self, AGAIN, Pulled};
use crate::speech::Speech;
use crate::tell::Teller;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::credproxy::CredError;
use ipc_proto::label::{Class, Label};
use ipc_proto::model::{Finish, Message, ModelError, ModelName, Payer, Request, Role, Thought, Usage};
use ipc_proto::router::TurnEvent;
use ipc_proto::runner_gate::GateError;
use ipc_proto::scanner::Crossing;
use ipc_proto::tool::ToolCall;
use ipc_proto::{List, Name, Text};
use policy::Passage;
use std::time::{Duration, Instant};

/// How long one `hear` works before it says that it still waits.
const HEAR: Duration = Duration::from_secs(20);

/// A model call that is under way.
#[derive(Debug)]
pub(crate) struct Thinking {
    request: Request,
    stream: Begun,
    assembly: Assembly,
    speech: Speech,
    begun: Instant,
    again: u32,
    /// Which model answers, once it is another than was asked for.
    answering: Option<ModelName>,
    /// Who answers in the place of whoever was named last, which is told once an answer comes.
    unsaid: Option<TurnEvent>,
    /// Whoever follows the turn was told that it waits for money.
    told_to_wait: bool,
    /// What its images take of the room that there is for all.
    _room: Option<Load>,
}

/// What a runner asks the model to go on with.
pub(crate) struct Asked {
    pub(crate) system: String,
    pub(crate) messages: Vec<Message>,
}

/// A whole reply.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) text: String,
    pub(crate) calls: Vec<ToolCall>,
    pub(crate) thoughts: Vec<Thought>,
    pub(crate) finish: Finish,
}

/// Takes one model call of the session's quota.
pub(crate) fn take_quota(shared: &Shared, context: &TurnContext) -> Result<(), GateError> {
    let limit = context.agent.limits.model_calls_per_hour;
    let session = context.turn.session;
    let room = shared.quotas.lock().is_ok_and(|mut quotas| quotas.take(session, limit, Instant::now()));
    if room { Ok(()) } else { Err(GateError::Quota { what: Name::clip("model calls an hour"), limit }) }
}

/// A model call: within the session's quota, with nothing that may not go to a model, on the record, and only then
/// begun.
pub(crate) async fn begin(
    shared: &Shared,
    context: &mut TurnContext,
    asked: Asked,
) -> Result<Thinking, GateError> {
    take_quota(shared, context)?;
    let place = pictures::place(&context.turn.content, &asked.messages);
    let (mut asked, label) = without_secrets(shared, context, asked).await?;
    context.recall_thoughts(&mut asked.messages);
    let passes = policy::passes(&shared.engine(), &context.session, Passage::Prompt, &label);
    passes.map_err(|policies| GateError::Policy(List::clip(policies)))?;
    let mut request = request(shared, context, asked);
    // The host's words stand before all others.
    let room = pictures::show(shared, context, place.map(|place| place + 1), &mut request).await?;
    let event = Event::new(Action::ModelDecided, Result3::Success).about(&request.model);
    let mut event = event.in_turn(context.turn.session, context.turn.id);
    event.bytes = request.messages.iter().map(|message| message.text.len() as u64).sum();
    event.label = Some(context.session.label.clone());
    shared.record(event).await?;
    kit::fault_point!("gate.think.recorded");
    Thinking::begin(shared, (request, room), &mut context.patience).await
}

/// What goes to the model, and its label. Where a secret came into the session, from its person or from a tool whose
/// output is not cleaned, it is cut out of every message again and again: the session's own label stays.
async fn without_secrets(
    shared: &Shared,
    context: &TurnContext,
    mut asked: Asked,
) -> Result<(Asked, Label), GateError> {
    let mut label = context.session.label.clone();
    if label.class < Class::Secret {
        return Ok((asked, label));
    }
    for message in asked.messages.iter_mut().filter(|message| !message.text.is_empty()) {
        let verdict = scan(shared, context, Crossing::ToolOutput, &message.text).await?;
        if let Some(clean) = verdict.redacted {
            message.text = Text::clip(&clean);
        }
    }
    label.class = Class::Sensitive;
    Ok((asked, label))
}

fn request(shared: &Shared, context: &TurnContext, asked: Asked) -> Request {
    let system = Message::text(Role::System, &asked.system);
    let messages = List::clip(std::iter::once(system).chain(asked.messages));
    Request {
        tools: crate::taking::tools(shared, context),
        max_output: context.agent.limits.output_tokens,
        ..Request::new(Text::clip(&context.agent.model), messages, payer(context))
    }
}

/// Whose money a turn spends.
pub(crate) fn payer(context: &TurnContext) -> Payer {
    let turn = &context.turn;
    Payer {
        user: turn.user,
        session: Some(turn.session),
        agent: Some(turn.agent.clone()),
        key: turn.key.map(|key| key.id),
        key_day_micros: turn.key.and_then(|key| key.day_micros),
    }
}

impl Thinking {
    /// Begins, unless it waits for money.
    async fn begin(
        shared: &Shared,
        (request, room): (Request, Option<Load>),
        patience: &mut Patience,
    ) -> Result<Self, GateError> {
        let stream = money::start(shared, &request, patience).await?;
        Ok(Self {
            request,
            stream,
            assembly: Assembly::default(),
            speech: Speech::default(),
            begun: Instant::now(),
            again: 0,
            answering: None,
            unsaid: None,
            told_to_wait: false,
            _room: room,
        })
    }

    /// The model that answers.
    pub(crate) fn model(&self) -> &str {
        self.answering.as_ref().unwrap_or(&self.request.model)
    }

    /// Works on the reply for a while; `None` if it is still coming.
    pub(crate) async fn go_on(
        &mut self,
        shared: &Shared,
        context: &mut TurnContext,
        teller: &mut Teller,
    ) -> Result<Option<Reply>, GateError> {
        let until = Instant::now() + HEAR;
        while Instant::now() < until {
            let stream = match self.stream {
                Begun::Coming(stream) => stream,
                Begun::Unpaid(unpaid) => {
                    self.wait(shared, context, teller, (unpaid, until)).await?;
                    continue;
                }
            };
            let pieces = match source::pull(shared, self.model(), stream).await? {
                Pulled::Pieces(pieces) => pieces,
                Pulled::Lost => {
                    self.begin_again(shared, &mut context.patience, teller).await?;
                    continue;
                }
                Pulled::Failed(error) => return Err(self.failed(shared, context, error).await?),
            };
            for piece in pieces {
                match self.assembly.take(piece) {
                    Step::Nothing | Step::Reasoning(_) | Step::Thought => {}
                    Step::Text(text) => self.speech.push(&text),
                    Step::Again { from, why, to } => {
                        self.fail_over(shared, teller, failover(&from, why, &to), to).await?;
                    }
                    Step::OverBudget(per) => teller.tell(shared, context.warn(per)).await?,
                    Step::Failed(ModelError::Credentials(CredError::NoReply)) if self.again < AGAIN => {
                        self.begin_again(shared, &mut context.patience, teller).await?;
                        break;
                    }
                    Step::Failed(error) => {
                        let Some(unpaid) = context.patience.wait(error) else {
                            return Err(self.failed(shared, context, error).await?);
                        };
                        self.begin_anew(shared, teller, (Begun::Unpaid(unpaid), error)).await?;
                        break;
                    }
                    Step::Done(finish) => {
                        self.speech.let_go(shared, context, teller, true).await?;
                        return self.finish(shared, context, finish).await.map(Some);
                    }
                }
            }
            self.speech.let_go(shared, context, teller, false).await?;
        }
        Ok(None)
    }

    /// Waits for money until then, or for as long as this hearing goes; whoever follows the turn is told so once.
    async fn wait(
        &mut self,
        shared: &Shared,
        context: &mut TurnContext,
        teller: &mut Teller,
        (Unpaid { per, due }, until): (Unpaid, Instant),
    ) -> Result<(), GateError> {
        if !std::mem::replace(&mut self.told_to_wait, true) {
            let notice = format!(
                "the budget per {per} is set aside for answers that are under way: the turn waits for it"
            );
            teller.tell(shared, [TurnEvent::Notice(Text::clip(&notice))]).await?;
        }
        tokio::time::sleep_until(due.min(until).into()).await;
        if due > until {
            return Ok(());
        }
        self.stream = match money::start(shared, &self.request, &mut context.patience).await {
            Err(GateError::Model(error)) => return Err(self.failed(shared, context, error).await?),
            begun => begun?,
        };
        self.name(shared, teller).await
    }

    async fn begin_again(
        &mut self,
        shared: &Shared,
        patience: &mut Patience,
        teller: &mut Teller,
    ) -> Result<(), GateError> {
        if self.again >= AGAIN {
            return Err(down("model"));
        }
        self.again += 1;
        let begun = money::start(shared, &self.request, patience).await?;
        self.begin_anew(shared, teller, (begun, ModelError::Truncated)).await
    }

    /// The reply is this one from now on, and begins with nothing of the one before, which failed so.
    async fn begin_anew(
        &mut self,
        shared: &Shared,
        teller: &mut Teller,
        (begun, why): (Begun, ModelError),
    ) -> Result<(), GateError> {
        self.stream = begun;
        self.assembly = Assembly::default();
        // Who answers is found anew, and whoever was named before need not be the one.
        let notice = self.answering.take().and_then(|from| failover(&from, why, &self.request.model));
        self.unsaid = notice.or(self.unsaid.take());
        teller.tell(shared, self.speech.void()).await?;
        self.name(shared, teller).await
    }

    /// Tells who answers, if that is another than was named; while there is no money nobody does.
    async fn name(&mut self, shared: &Shared, teller: &mut Teller) -> Result<(), GateError> {
        let comes = matches!(self.stream, Begun::Coming(_));
        teller.tell(shared, self.unsaid.take_if(|_| comes)).await
    }

    /// Another model answers, or the same one again: its reply begins with nothing of the one before.
    async fn fail_over(
        &mut self,
        shared: &Shared,
        teller: &mut Teller,
        notice: Option<TurnEvent>,
        to: ModelName,
    ) -> Result<(), GateError> {
        self.answering = Some(to);
        teller.tell(shared, self.speech.void().into_iter().chain(notice)).await
    }

    async fn finish(
        &mut self,
        shared: &Shared,
        context: &mut TurnContext,
        finish: Finish,
    ) -> Result<Reply, GateError> {
        let assembly = std::mem::take(&mut self.assembly);
        context.add(assembly.usage);
        self.ended(shared, context, Result3::Success, assembly.usage, None).await?;
        // What follows a leak is the attacker's as well.
        let (calls, thoughts) =
            if self.speech.has_leaked() { Default::default() } else { assembly.into_parts() };
        Ok(Reply { text: self.speech.take(), calls, thoughts, finish })
    }

    async fn failed(
        &self,
        shared: &Shared,
        context: &TurnContext,
        error: ModelError,
    ) -> Result<GateError, GateError> {
        self.ended(shared, context, Result3::Error, self.assembly.usage, Some(&error.to_string())).await?;
        Ok(GateError::Model(error))
    }

    async fn ended(
        &self,
        shared: &Shared,
        context: &TurnContext,
        result: Result3,
        usage: Usage,
        reason: Option<&str>,
    ) -> Result<(), GateError> {
        let event = Event::new(Action::ModelEnded, result).about(self.model());
        let mut event = event.in_turn(context.turn.session, context.turn.id);
        event.tokens = (usage.input, usage.output);
        event.duration_ms = u32::try_from(self.begun.elapsed().as_millis()).unwrap_or(u32::MAX);
        event.reason = reason.map(Name::clip);
        if let Some(untrue) = source::untrue(&event, usage) {
            shared.record(untrue).await?;
        }
        shared.record(event).await.map(drop)
    }

    /// Gives up an answer that nobody waits for any more, and says so on the record.
    pub(crate) async fn give_up(self, shared: &Shared, context: &TurnContext) -> Result<(), GateError> {
        self.stream.cancel(shared).await;
        let why = Some("given up: its turn is over");
        self.ended(shared, context, Result3::Error, self.assembly.usage, why).await
    }

    /// Lets the model's stream go.
    pub(crate) async fn cancel(self, shared: &Shared) {
        self.stream.cancel(shared).await;
    }
}

/// What a person is told when another model answers than was asked for; nothing where the same one is asked again.
fn failover(from: &str, why: ModelError, to: &str) -> Option<TurnEvent> {
    let notice = || Text::clip(&format!("{from} failed ({}): {to} answers", source::code(why)));
    (from != to).then(|| TurnEvent::Notice(notice()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_told_which_model_failed_and_which_answers_and_nothing_of_a_second_try() {
        let told = failover("a/b", ModelError::Timeout, "c/d");
        assert_eq!(told, Some(TurnEvent::Notice(Text::clip("a/b failed (LLM_TIMEOUT): c/d answers"))));
        assert_eq!(failover("a/b", ModelError::Timeout, "a/b"), None);
    }
}
