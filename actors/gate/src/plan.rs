//! The plan: which tools a turn will need, asked of the model before anything untrusted is read, and from trusted
//! texts alone: the words of this turn and the names of the tools. Whatever goes wrong is the empty plan, which is
//! the strictest there is.

use crate::assemble::{Assembly, Step as Assembled};
use crate::context::TurnContext;
use crate::host::Shared;
use crate::money::{self, Begun, Unpaid};
use crate::source::{self, Pulled};
use crate::{answer, showing, thinking};
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::capability::Effect;
use ipc_proto::label::{Class, Trust};
use ipc_proto::model::{Message, ModelError, Purpose, Request, Role, StreamId};
use ipc_proto::router::{Step, Task};
use ipc_proto::runner_gate::GateError;
use ipc_proto::{List, Name, Text};
use sha2::{Digest, Sha256};
use std::time::{Duration, Instant};

/// How long one `hear` waits for the plan.
const SLICE: Duration = Duration::from_secs(20);
/// How long a plan may take in all; one that takes longer is the empty one.
const PATIENCE: Duration = Duration::from_secs(60);
/// Tokens of a plan, a list of at most 64 names.
const TOKENS: u32 = 1024;
/// Bytes of a plan's text; more is no list of names.
const BOUND: usize = 16 * 1024;

const WORDS: &str = "\
Name the tools that the person's message below will need. Answer with a JSON array of tool names and nothing else; an \
empty array if it needs none. Do not carry the message out. The tools are:\n";

/// A plan that is being made.
#[derive(Debug)]
pub(crate) struct Planning {
    /// What is asked for it, until it has ended.
    asked: Option<(Request, Begun)>,
    assembly: Assembly,
    text: String,
    begun: Instant,
}

/// Returns whether a plan is asked for: where the profile goes by it, and some tool could do harm. Paranoid asks before
/// whatever a plan could let through, so it needs none.
pub(crate) fn is_needed(shared: &Shared, context: &TurnContext) -> bool {
    let matters = |tool: &String| {
        let capability = shared.catalogue.get(tool);
        capability.is_some_and(|it| it.effect != Effect::Read || it.data.can_leak_data)
    };
    context.turn.task == Task::Chat
        && context.session.profile != policy::Profile::Paranoid
        && context.session.plan.is_none()
        && context.agent.tools.iter().any(matters)
}

impl Planning {
    /// Asks, on the record. A message that is not the user's own plans nothing.
    pub(crate) async fn begin(shared: &Shared, context: &mut TurnContext) -> Result<Self, GateError> {
        let mut planning =
            Self { asked: None, assembly: Assembly::default(), text: String::new(), begun: Instant::now() };
        if context.turn.label.trust > Trust::User {
            return Ok(planning);
        }
        let mut words = context.turn.content.plain();
        if context.turn.label.class == Class::Secret {
            words = showing::clean(shared, context, &words).await?;
        }
        let request = request(context, &words);
        let event = Event::new(Action::ModelDecided, Result3::Success).about(&request.model).because("plan");
        let mut event = event.in_turn(context.turn.session, context.turn.id);
        event.bytes = request.messages.iter().map(|message| message.text.len() as u64).sum();
        shared.record(event).await?;
        match money::start(shared, &request, &mut context.patience).await {
            Ok(begun) => planning.asked = Some((request, begun)),
            Err(GateError::Model(error)) => planning.ended(shared, context, Some(error)).await?,
            Err(error) => return Err(error),
        }
        Ok(planning)
    }

    /// Works on it for a while; `None` while it is still coming.
    pub(crate) async fn go_on(
        &mut self,
        shared: &Shared,
        context: &mut TurnContext,
    ) -> Result<Option<Vec<String>>, GateError> {
        let until = Instant::now() + SLICE;
        while let Some(begun) = self.asked.as_ref().map(|(_, begun)| *begun) {
            if Instant::now() >= until && self.begun.elapsed() < PATIENCE {
                return Ok(None);
            }
            let late = self.begun.elapsed() >= PATIENCE || self.text.len() > BOUND;
            let end = match begun {
                _ if late => Some(Err(ModelError::Timeout)),
                Begun::Coming(stream) => self.pull(shared, stream).await?,
                Begun::Unpaid(unpaid) => self.wait(shared, context, (unpaid, until)).await?,
            };
            let Some(end) = end else { continue };
            context.add(self.assembly.usage);
            self.ended(shared, context, end.err()).await?;
            self.cancel(shared).await;
            if end.is_err() {
                self.text.clear();
            }
        }
        Ok(Some(parse(&self.text, &context.agent.tools)))
    }

    /// Waits for money until then, or for as long as this slice goes; how it ended, if it did.
    async fn wait(
        &mut self,
        shared: &Shared,
        context: &mut TurnContext,
        (Unpaid { due, .. }, until): (Unpaid, Instant),
    ) -> Result<Option<Result<(), ModelError>>, GateError> {
        tokio::time::sleep_until(due.min(until).into()).await;
        let Some((request, begun)) = self.asked.as_mut().filter(|_| due <= until) else { return Ok(None) };
        match money::start(shared, request, &mut context.patience).await {
            Ok(next) => *begun = next,
            Err(GateError::Model(error)) => return Ok(Some(Err(error))),
            Err(error) => return Err(error),
        }
        Ok(None)
    }

    /// The next pieces; how it ended, if it did.
    async fn pull(
        &mut self,
        shared: &Shared,
        stream: StreamId,
    ) -> Result<Option<Result<(), ModelError>>, GateError> {
        let model = self.asked.as_ref().map_or("", |(request, _)| request.model.as_str());
        let pieces = match source::pull(shared, model, stream).await? {
            Pulled::Pieces(pieces) => pieces,
            Pulled::Failed(error) => return Ok(Some(Err(error))),
            Pulled::Lost => return Ok(Some(Err(ModelError::NoStream))),
        };
        for piece in pieces {
            match self.assembly.take(piece) {
                // The reply that follows the plan says it as well.
                Assembled::OverBudget(_) => {}
                Assembled::Nothing | Assembled::Reasoning(_) | Assembled::Thought => {}
                Assembled::Again { .. } => self.text.clear(),
                Assembled::Text(text) => self.text.push_str(&text),
                Assembled::Done(_) => return Ok(Some(Ok(()))),
                Assembled::Failed(error) => return Ok(Some(Err(error))),
            }
        }
        Ok(None)
    }

    async fn ended(
        &self,
        shared: &Shared,
        context: &TurnContext,
        error: Option<ModelError>,
    ) -> Result<(), GateError> {
        let result = if error.is_none() { Result3::Success } else { Result3::Error };
        let event = Event::new(Action::ModelEnded, result).about(&context.agent.model).because("plan");
        let mut event = event.in_turn(context.turn.session, context.turn.id);
        event.tokens = (self.assembly.usage.input, self.assembly.usage.output);
        event.duration_ms = u32::try_from(self.begun.elapsed().as_millis()).unwrap_or(u32::MAX);
        if let Some(untrue) = source::untrue(&event, self.assembly.usage) {
            shared.record(untrue).await?;
        }
        shared.record(event).await.map(drop)
    }

    /// Lets the model's stream go.
    pub(crate) async fn cancel(&mut self, shared: &Shared) {
        if let Some((_, begun)) = self.asked.take() {
            begun.cancel(shared).await;
        }
    }
}

/// Locks the plan: recorded, then durable, so that no later attempt of the turn can have another.
pub(crate) async fn lock(
    shared: &Shared,
    context: &mut TurnContext,
    tools: Vec<String>,
) -> Result<(), GateError> {
    let event = Event::new(Action::PlanLocked, Result3::Success).about(&context.turn.agent);
    let mut event = event.in_turn(context.turn.session, context.turn.id);
    event.hash = Some(Sha256::digest(tools.join("\n")).into());
    shared.record(event).await?;
    let names = List::clip(tools.iter().map(|tool| Name::clip(tool)));
    context.session.plan(tools);
    answer::keep(shared, context, Step::Plan { tools: names }).await?;
    kit::fault_point!("gate.plan.kept");
    Ok(())
}

/// The request: no history, no tool to call, nothing that anybody but the user and the host has written.
fn request(context: &TurnContext, words: &str) -> Request {
    let specs = toolset::specs();
    let mut system = String::from(WORDS);
    for spec in specs.iter().filter(|spec| context.agent.tools.iter().any(|tool| tool == spec.name)) {
        system.push_str(&format!("- {}: {}\n", spec.name, spec.description));
    }
    let messages = [Message::text(Role::System, &system), Message::text(Role::User, words)];
    let model = Text::clip(&context.agent.model);
    Request {
        purpose: Purpose::Plan,
        max_output: TOKENS.min(context.agent.limits.output_tokens),
        ..Request::new(model, List::clip(messages), thinking::payer(context))
    }
}

/// Reads a plan strictly: a JSON array of strings, bare or in a code fence. Names that the agent does not have are
/// dropped; anything else is the empty plan.
fn parse(text: &str, known: &[String]) -> Vec<String> {
    let named: Vec<String> = serde_json::from_str(unfenced(text.trim())).unwrap_or_default();
    known.iter().filter(|tool| named.contains(tool)).cloned().collect()
}

fn unfenced(text: &str) -> &str {
    let Some(inner) = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")) else { return text };
    let inner = inner.strip_prefix("json").unwrap_or(inner);
    inner.trim()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::tests::context;

    // Holds P5-41.
    #[test]
    fn a_plan_is_a_list_of_names_and_anything_else_is_the_empty_one() {
        let known = ["read".to_owned(), "bash".to_owned()];
        let cases: &[(&str, &[&str])] = &[
            (r#"["bash","read"]"#, &["read", "bash"]),
            ("```json\n[\"bash\"]\n```", &["bash"]),
            ("```\n[\"bash\", \"bash\"]\n```", &["bash"]),
            (r#"["pay","bash"]"#, &["bash"]),
            ("[]", &[]),
            ("", &[]),
            ("I need bash.", &[]),
            (r#"{"tools":["bash"]}"#, &[]),
            (r#"["bash", 7]"#, &[]),
            (r#"["bash"] and also ["read"]"#, &[]),
        ];
        for (text, plan) in cases {
            assert_eq!(parse(text, &known), *plan, "{text}");
        }
    }

    // Holds P5-41.
    #[test]
    fn a_plan_is_asked_for_with_the_users_words_alone_and_with_no_tool_to_call() {
        let mut context = context(vec![]);
        context.agent.tools = vec!["bash".into()];
        context.turn.history = List::clip([ipc_proto::router::Labelled {
            message: Message::text(Role::User, "HISTORY"),
            label: ipc_proto::label::Label::bottom(),
        }]);
        let request = request(&context, "tidy up");
        let texts: Vec<&str> = request.messages.iter().map(|message| message.text.as_str()).collect();
        assert!(request.tools.is_empty() && request.purpose == Purpose::Plan);
        assert_eq!(texts.get(1..), Some(["tidy up"].as_slice()));
        assert!(
            texts[0].contains("- bash: ") && !texts[0].contains("- read: ") && !texts[0].contains("HISTORY")
        );
    }
}
