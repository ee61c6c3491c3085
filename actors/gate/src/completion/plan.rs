//! The plan: the tools that a turn will need. The model is asked for it before anything untrusted is read, from trusted texts
//! alone: the message and the names of the tools. Any failure gives the empty plan, which is the strictest.

use crate::completion::ended;
use crate::inspection::display;
use crate::model::assembly::{Assembly, Step as Assembled};
use crate::model::budget::{self, Begun, Unpaid};
use crate::model::stream::{self, Pulled};
use crate::state::context::GateContext;
use crate::turn::context::TurnContext;
use crate::turn::steps;
use crate::turn::work;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::label::{Class, Trust};
use ipc_proto::model::{Message, ModelError, Purpose, Request, Role, StreamId};
use ipc_proto::router::{Step, Task};
use ipc_proto::runner_gate::GateError;
use ipc_proto::tool::ToolSpec;
use ipc_proto::{List, Name, Text};
use sha2::{Digest, Sha256};
use std::time::{Duration, Instant};

/// The longest that one poll takes.
const SLICE: Duration = Duration::from_secs(20);

/// The longest that a plan may take. A later one is empty.
const PATIENCE: Duration = Duration::from_secs(60);

/// Tokens of a plan, a list of at most 64 names.
const TOKENS: u32 = 1024;

/// Bytes of a plan's text. A list of names is never longer.
const BOUND: usize = 16 * 1024;

const WORDS: &str = "\
Name the tools that the person's message below will need. Answer with a JSON array of tool names and nothing else; an \
empty array if it needs none. Do not carry the message out. The tools are:\n";

/// A plan under way.
#[derive(Debug)]
pub(crate) struct Planning {
    /// The request for it, until it has ended.
    asked: Option<(Request, Begun)>,
    assembly: Assembly,
    text: String,
    begun: Instant,
}

/// Returns true if a plan is needed: where the profile uses one, and some tool could do harm. The paranoid profile asks before
/// everything that a plan could permit, so it needs none.
pub(crate) fn is_needed(gate: &GateContext, context: &TurnContext) -> bool {
    let catalogue = gate.catalogue();
    context.turn.task == Task::Chat
        && context.session.profile != policy::Profile::Paranoid
        && context.session.plan.is_none()
        && context.all_tools().iter().any(|tool| catalogue.can_harm(tool))
}

impl Planning {
    /// Requests the plan, on the record. A message that is not the user's own gives the empty plan; a task has that of the turn which
    /// handed it out.
    pub(crate) async fn begin(gate: &GateContext, context: &mut TurnContext) -> Result<Self, GateError> {
        let mut planning =
            Self { asked: None, assembly: Assembly::default(), text: String::new(), begun: Instant::now() };
        if context.turn.label.trust > Trust::User {
            let of_task =
                context.turn.delegated.as_ref().map(|terms| serde_json::json!(terms.plan).to_string());
            planning.text = of_task.unwrap_or_default();
            return Ok(planning);
        }
        let mut message = context.turn.content.plain();
        if context.turn.label.class == Class::Secret {
            message = display::clean(gate, context, &message).await?;
        }
        let request = request(&work::tools(gate, context), context, &message);
        let event = Event::new(Action::ModelDecided, Result3::Success).about(&request.model).because("plan");
        let mut event = event.in_turn(context.turn.session, context.turn.id);
        event.bytes = request.messages.iter().map(|message| message.text.len() as u64).sum();
        gate.record(event).await?;
        match budget::start(gate, &request, &mut context.patience).await {
            Ok(begun) => planning.asked = Some((request, begun)),
            Err(GateError::Model(error)) => planning.record_end(gate, context, Some(error)).await?,
            Err(error) => return Err(error),
        }
        Ok(planning)
    }

    /// Polls for at most `SLICE`; `None` while it is still coming.
    pub(crate) async fn poll(
        &mut self,
        gate: &GateContext,
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
                Begun::Coming(stream) => self.pull(gate, stream).await?,
                Begun::Unpaid(unpaid) => self.wait(gate, context, (unpaid, until)).await?,
            };
            let Some(end) = end else { continue };
            context.add_usage(self.assembly.usage);
            self.record_end(gate, context, end.err()).await?;
            self.cancel(gate).await;
            if end.is_err() {
                self.text.clear();
            }
        }
        Ok(Some(parse(&self.text, &context.all_tools())))
    }

    /// Waits for money until it is due or this poll ends; returns the end of the request, if it has ended.
    async fn wait(
        &mut self,
        gate: &GateContext,
        context: &mut TurnContext,
        (Unpaid { due, .. }, until): (Unpaid, Instant),
    ) -> Result<Option<Result<(), ModelError>>, GateError> {
        tokio::time::sleep_until(due.min(until).into()).await;
        let Some((request, begun)) = self.asked.as_mut().filter(|_| due <= until) else { return Ok(None) };
        match budget::start(gate, request, &mut context.patience).await {
            Ok(next) => *begun = next,
            Err(GateError::Model(error)) => return Ok(Some(Err(error))),
            Err(error) => return Err(error),
        }
        Ok(None)
    }

    /// Pulls the next pieces; returns the end of the request, if it has ended.
    async fn pull(
        &mut self,
        gate: &GateContext,
        stream: StreamId,
    ) -> Result<Option<Result<(), ModelError>>, GateError> {
        let model = self.asked.as_ref().map_or("", |(request, _)| request.model.as_str());
        let pieces = match stream::pull(gate, model, stream).await? {
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

    async fn record_end(
        &self,
        gate: &GateContext,
        context: &TurnContext,
        error: Option<ModelError>,
    ) -> Result<(), GateError> {
        let result = if error.is_none() { Result3::Success } else { Result3::Error };
        let event = Event::new(Action::ModelEnded, result).about(&context.agent.model).because("plan");
        ended::record(gate, context, event, (self.assembly.usage, self.begun)).await
    }

    /// Cancels the model's stream.
    pub(crate) async fn cancel(&mut self, gate: &GateContext) {
        if let Some((_, begun)) = self.asked.take() {
            begun.cancel(gate).await;
        }
    }
}

/// Locks the plan: recorded, then durable, so that later attempts of the turn have the same one.
pub(crate) async fn lock(
    gate: &GateContext,
    context: &mut TurnContext,
    tools: Vec<String>,
) -> Result<(), GateError> {
    let event = Event::new(Action::PlanLocked, Result3::Success).about(&context.turn.agent);
    let mut event = event.in_turn(context.turn.session, context.turn.id);
    event.hash = Some(Sha256::digest(tools.join("\n")).into());
    gate.record(event).await?;
    let names = List::clip(tools.iter().map(|tool| Name::clip(tool)));
    context.list(tools.iter().cloned());
    context.session.plan(tools);
    steps::save(gate, context, Step::Plan { tools: names }).await?;
    kit::fault_point!("gate.plan.kept");
    Ok(())
}

/// The request: no history, no tools to call, no text but the user's and the host's.
fn request(tools: &[ToolSpec], context: &TurnContext, message: &str) -> Request {
    let mut system = String::from(WORDS);
    for spec in tools {
        system.push_str(&format!("- {}: {}\n", spec.name, spec.description));
    }
    for tool in
        context.all_tools().iter().filter(|tool| tools.iter().all(|spec| spec.name.as_str() != tool.as_str()))
    {
        if system.len() > BOUND {
            break;
        }
        system.push_str(&format!("- {tool}\n"));
    }
    let messages = [Message::text(Role::System, &system), Message::text(Role::User, message)];
    let model = Text::clip(&context.agent.model);
    Request {
        purpose: Purpose::Plan,
        max_output: TOKENS.min(context.agent.limits.output_tokens),
        ..Request::new(model, List::clip(messages), context.payer())
    }
}

/// Parses a plan strictly: a JSON array of strings, bare or in a code fence. Names of tools that the agent does not have are
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
    use crate::turn::testing::context;

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
    fn a_plan_is_requested_with_the_users_text_alone_and_without_tools() {
        let mut context = context(vec![]);
        let tools = [ToolSpec {
            name: Name::clip("bash"),
            description: Text::clip("Runs a command"),
            schema: Text::clip("{}"),
            in_jail: true,
        }];
        context.turn.history = List::clip([ipc_proto::router::Labelled {
            message: Message::text(Role::User, "HISTORY"),
            label: ipc_proto::label::Label::bottom(),
        }]);
        let request = request(&tools, &context, "tidy up");
        let texts: Vec<&str> = request.messages.iter().map(|message| message.text.as_str()).collect();
        assert!(request.tools.is_empty() && request.purpose == Purpose::Plan);
        assert_eq!(texts.get(1..), Some(["tidy up"].as_slice()));
        assert!(
            texts[0].contains("- bash: ") && !texts[0].contains("- read: ") && !texts[0].contains("HISTORY")
        );
    }
}
