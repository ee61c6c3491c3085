//! One model call: started and pulled, its text passed through the scanner to the turn's followers, its calls handed over. When
//! model restarts in the middle, the reply begins again.

use crate::completion::{ended, images, pictures};
use crate::inspection::reply_text::ReplyText;
use crate::inspection::scan::scan;
use crate::model::assembly::{Assembly, Step};
use crate::model::budget::{self, Begun, Patience, Unpaid};
use crate::model::stream::{self, Pulled, RESTARTS};
use crate::state::context::GateContext;
use crate::state::errors::down;
use crate::state::rates::Load;
use crate::turn::context::TurnContext;
use crate::turn::events::EventSender;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::credproxy::CredError;
use ipc_proto::label::{Class, Label};
use ipc_proto::model::{Finish, Message, ModelError, ModelName, Piece, Request, Role, Thought, Usage};
use ipc_proto::router::TurnEvent;
use ipc_proto::runner_gate::GateError;
use ipc_proto::scanner::Crossing;
use ipc_proto::tool::ToolCall;
use ipc_proto::{List, Name, Text};
use policy::Passage;
use std::time::{Duration, Instant};

/// The longest that one poll takes.
const SLICE: Duration = Duration::from_secs(20);

/// A model call that is under way.
#[derive(Debug)]
pub(crate) struct ModelCall {
    request: Request,
    stream: Begun,
    assembly: Assembly,
    reply_text: ReplyText,
    begun: Instant,
    restarts: u32,
    /// The model that answers, once it is another than was requested.
    answering: Option<ModelName>,
    /// The notice that another model answers, which is sent once an answer comes.
    unannounced: Option<TurnEvent>,
    /// Followers were told that the turn waits for money.
    announced_wait: bool,
    /// The room that its images take.
    _room: Option<Load>,
}

/// The prompt that a runner sends.
pub(crate) struct Prompt {
    pub(crate) system: String,
    pub(crate) messages: Vec<Message>,
}

/// The state of a stream after one of its pieces.
enum Next {
    /// It goes on.
    More,
    /// Another stream replaces it.
    Replaced,
    /// The reply is whole.
    Done(Reply),
}

/// A whole reply.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) text: String,
    pub(crate) calls: Vec<ToolCall>,
    pub(crate) thoughts: Vec<Thought>,
    pub(crate) finish: Finish,
}

/// Takes one model call from the session's quota.
pub(crate) fn take_quota(gate: &GateContext, context: &TurnContext) -> Result<(), GateError> {
    let limit = context.agent.limits.model_calls_per_hour;
    if gate.take_quota(context.turn.session, limit) {
        Ok(())
    } else {
        Err(GateError::Quota { what: Name::clip("model calls an hour"), limit })
    }
}

/// Starts a model call: within the session's quota, without content that may not go to a model, and on the record first.
pub(crate) async fn begin(
    gate: &GateContext,
    context: &mut TurnContext,
    prompt: Prompt,
) -> Result<ModelCall, GateError> {
    take_quota(gate, context)?;
    let at = images::message_index(&context.turn.content, &prompt.messages);
    let (mut prompt, label) = without_secrets(gate, context, prompt).await?;
    context.reasoning.restore(&mut prompt.messages);
    let passes = policy::passes(&gate.engine(), &context.session, Passage::Prompt, &label);
    passes.map_err(|policies| GateError::Policy(List::clip(policies)))?;
    let mut request = Request { max_output: context.output_left()?, ..request(gate, context, prompt) };
    // The system message is first, so the index moves by one.
    let room = images::attach(gate, context, at.map(|at| at + 1), &mut request).await?;
    pictures::attach(context, &mut request);
    let event = Event::new(Action::ModelDecided, Result3::Success).about(&request.model);
    let mut event = event.in_turn(context.turn.session, context.turn.id);
    event.bytes = request.messages.iter().map(|message| message.text.len() as u64).sum();
    event.label = Some(context.session.label.clone());
    gate.record(event).await?;
    kit::fault_point!("gate.think.recorded");
    ModelCall::begin(gate, (request, room), &mut context.patience).await
}

/// The prompt as it goes to the model, and its label. Where a secret came into the session, from its user or from a tool whose
/// output is not cleaned, it is cut out of every message each time; the session's own label stays.
async fn without_secrets(
    gate: &GateContext,
    context: &TurnContext,
    mut prompt: Prompt,
) -> Result<(Prompt, Label), GateError> {
    let mut label = context.session.label.clone();
    if label.class < Class::Secret {
        return Ok((prompt, label));
    }
    for message in prompt.messages.iter_mut().filter(|message| !message.text.is_empty()) {
        let verdict = scan(gate, context, Crossing::ToolOutput, &message.text).await?;
        if let Some(clean) = verdict.redacted {
            message.text = Text::clip(&clean);
        }
    }
    label.class = Class::Sensitive;
    Ok((prompt, label))
}

fn request(gate: &GateContext, context: &TurnContext, prompt: Prompt) -> Request {
    let system = Message::text(Role::System, &prompt.system);
    let messages = List::clip(std::iter::once(system).chain(prompt.messages));
    Request {
        tools: crate::turn::work::tools(gate, context),
        ..Request::new(Text::clip(&context.agent.model), messages, context.payer())
    }
}

impl ModelCall {
    /// Starts the stream, unless it waits for money.
    async fn begin(
        gate: &GateContext,
        (request, room): (Request, Option<Load>),
        patience: &mut Patience,
    ) -> Result<Self, GateError> {
        let stream = budget::start(gate, &request, patience).await?;
        Ok(Self {
            request,
            stream,
            assembly: Assembly::default(),
            reply_text: ReplyText::default(),
            begun: Instant::now(),
            restarts: 0,
            answering: None,
            unannounced: None,
            announced_wait: false,
            _room: room,
        })
    }

    /// The model that answers.
    pub(crate) fn model(&self) -> &str {
        self.answering.as_ref().unwrap_or(&self.request.model)
    }

    /// Polls for at most `SLICE`; `None` while the reply is still coming.
    pub(crate) async fn poll(
        &mut self,
        gate: &GateContext,
        context: &mut TurnContext,
        events: &mut EventSender,
    ) -> Result<Option<Reply>, GateError> {
        let until = Instant::now() + SLICE;
        while Instant::now() < until {
            let stream = match self.stream {
                Begun::Coming(stream) => stream,
                Begun::Unpaid(unpaid) => {
                    self.wait(gate, context, events, (unpaid, until)).await?;
                    continue;
                }
            };
            let pieces = match stream::pull(gate, self.model(), stream).await? {
                Pulled::Pieces(pieces) => pieces,
                Pulled::Lost => {
                    self.restart(gate, &mut context.patience, events).await?;
                    continue;
                }
                Pulled::Failed(error) => return Err(self.record_failure(gate, context, error).await?),
            };
            let mut next = Next::More;
            for piece in pieces {
                next = self.handle(gate, context, events, piece).await?;
                if !matches!(next, Next::More) {
                    break;
                }
            }
            if let Next::Done(reply) = next {
                return Ok(Some(reply));
            }
            self.reply_text.release(gate, context, events, false).await?;
        }
        Ok(None)
    }

    /// Handles one piece.
    async fn handle(
        &mut self,
        gate: &GateContext,
        context: &mut TurnContext,
        events: &mut EventSender,
        piece: Piece,
    ) -> Result<Next, GateError> {
        match self.assembly.take(piece) {
            Step::Nothing | Step::Reasoning(_) | Step::Thought => {}
            Step::Text(text) => self.reply_text.push(&text),
            Step::Again { from, why, to } => {
                self.fail_over(gate, events, failover(&from, why, &to), to).await?;
            }
            Step::OverBudget(per) => events.send(gate, context.warn(per)).await?,
            Step::Failed(ModelError::Credentials(CredError::NoReply)) if self.restarts < RESTARTS => {
                self.restart(gate, &mut context.patience, events).await?;
                return Ok(Next::Replaced);
            }
            Step::Failed(error) => {
                let Some(unpaid) = context.patience.wait(error) else {
                    return Err(self.record_failure(gate, context, error).await?);
                };
                self.replace_stream(gate, events, (Begun::Unpaid(unpaid), error)).await?;
                return Ok(Next::Replaced);
            }
            Step::Done(finish) => {
                self.reply_text.release(gate, context, events, true).await?;
                return self.finish(gate, context, finish).await.map(Next::Done);
            }
        }
        Ok(Next::More)
    }

    /// Waits for money until it is due or this poll ends; followers are told once.
    async fn wait(
        &mut self,
        gate: &GateContext,
        context: &mut TurnContext,
        events: &mut EventSender,
        (Unpaid { per, due }, until): (Unpaid, Instant),
    ) -> Result<(), GateError> {
        if !std::mem::replace(&mut self.announced_wait, true) {
            let notice = format!(
                "the budget per {per} is set aside for answers that are under way: the turn waits for it"
            );
            events.send(gate, [TurnEvent::Notice(Text::clip(&notice))]).await?;
        }
        tokio::time::sleep_until(due.min(until).into()).await;
        if due > until {
            return Ok(());
        }
        self.stream = match budget::start(gate, &self.request, &mut context.patience).await {
            Err(GateError::Model(error)) => return Err(self.record_failure(gate, context, error).await?),
            begun => begun?,
        };
        self.announce(gate, events).await
    }

    async fn restart(
        &mut self,
        gate: &GateContext,
        patience: &mut Patience,
        events: &mut EventSender,
    ) -> Result<(), GateError> {
        if self.restarts >= RESTARTS {
            return Err(down("model"));
        }
        self.restarts += 1;
        let begun = budget::start(gate, &self.request, patience).await?;
        self.replace_stream(gate, events, (begun, ModelError::Truncated)).await
    }

    /// Replaces the stream. Nothing of the reply before, which failed with `why`, is kept.
    async fn replace_stream(
        &mut self,
        gate: &GateContext,
        events: &mut EventSender,
        (begun, why): (Begun, ModelError),
    ) -> Result<(), GateError> {
        self.stream = begun;
        self.assembly = Assembly::default();
        // Model chooses again which model answers, and that need not be the one that was named last.
        let notice = self.answering.take().and_then(|from| failover(&from, why, &self.request.model));
        self.unannounced = notice.or(self.unannounced.take());
        events.send(gate, self.reply_text.discard()).await?;
        self.announce(gate, events).await
    }

    /// Tells followers which model answers, if that is another than was named. While there is no money none does.
    async fn announce(&mut self, gate: &GateContext, events: &mut EventSender) -> Result<(), GateError> {
        let comes = matches!(self.stream, Begun::Coming(_));
        events.send(gate, self.unannounced.take_if(|_| comes)).await
    }

    /// Another model answers, or the same one again. Nothing of the reply before is kept.
    async fn fail_over(
        &mut self,
        gate: &GateContext,
        events: &mut EventSender,
        notice: Option<TurnEvent>,
        to: ModelName,
    ) -> Result<(), GateError> {
        self.answering = Some(to);
        events.send(gate, self.reply_text.discard().into_iter().chain(notice)).await
    }

    async fn finish(
        &mut self,
        gate: &GateContext,
        context: &mut TurnContext,
        finish: Finish,
    ) -> Result<Reply, GateError> {
        let assembly = std::mem::take(&mut self.assembly);
        context.add_usage(assembly.usage);
        self.record_end(gate, context, Result3::Success, assembly.usage, None).await?;
        // The calls after a leak are the attacker's as well.
        let (calls, thoughts) =
            if self.reply_text.has_leaked() { Default::default() } else { assembly.into_parts() };
        Ok(Reply { text: self.reply_text.take(), calls, thoughts, finish })
    }

    async fn record_failure(
        &self,
        gate: &GateContext,
        context: &TurnContext,
        error: ModelError,
    ) -> Result<GateError, GateError> {
        self.record_end(gate, context, Result3::Error, self.assembly.usage, Some(&error.to_string())).await?;
        Ok(GateError::Model(error))
    }

    async fn record_end(
        &self,
        gate: &GateContext,
        context: &TurnContext,
        result: Result3,
        usage: Usage,
        reason: Option<&str>,
    ) -> Result<(), GateError> {
        let mut event = Event::new(Action::ModelEnded, result).about(self.model());
        event.reason = reason.map(Name::clip);
        ended::record(gate, context, event, (usage, self.begun)).await
    }

    /// Cancels an answer that nobody waits for any more, on the record.
    pub(crate) async fn give_up(self, gate: &GateContext, context: &TurnContext) -> Result<(), GateError> {
        self.stream.cancel(gate).await;
        let why = Some("given up: its turn is over");
        self.record_end(gate, context, Result3::Error, self.assembly.usage, why).await
    }

    /// Cancels the model's stream.
    pub(crate) async fn cancel(self, gate: &GateContext) {
        self.stream.cancel(gate).await;
    }
}

/// The notice that another model answers than was requested; `None` where the same one is asked again.
fn failover(from: &str, why: ModelError, to: &str) -> Option<TurnEvent> {
    let notice = || Text::clip(&format!("{from} failed ({}): {to} answers", stream::code(why)));
    (from != to).then(|| TurnEvent::Notice(notice()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failover_is_announced_and_a_second_try_is_not() {
        let told = failover("a/b", ModelError::Timeout, "c/d");
        assert_eq!(told, Some(TurnEvent::Notice(Text::clip("a/b failed (LLM_TIMEOUT): c/d answers"))));
        assert_eq!(failover("a/b", ModelError::Timeout, "a/b"), None);
    }
}
