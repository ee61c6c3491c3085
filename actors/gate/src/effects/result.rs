//! Results of calls on their way to the model: scanned, stripped of secrets, bounded, labelled, recorded and durable.

use crate::decision::record;
use crate::inspection::marks::SUSPECT;
use crate::inspection::{marks, scan};
use crate::state::context::GateContext;
use crate::state::errors::down;
use crate::turn::attempt::Attempt;
use crate::turn::context::TurnContext;
use crate::turn::steps::save;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::capability::Capability;
use ipc_proto::label::{Class, Label};
use ipc_proto::router::{Released, Step, TurnEvent};
use ipc_proto::runner_gate::GateError;
use ipc_proto::scanner::{Crossing, Judgement, Verdict};
use ipc_proto::tool::{OUTPUT_BOUND, Outcome, ToolResult};
use ipc_proto::{Name, Text};
use policy::{Passage, Profile};
use sha2::{Digest, Sha256};

/// Replaces hostile output where the agent's profile is paranoid: there a false alarm costs the content of a file, as its owner
/// chose.
const WITHHELD: &str =
    "[The output was kept back: the scanner takes it for an attempt to give you instructions.]";

/// Bytes for the note on cut output, and for the marks around it.
const ROOM: usize = marks::ROOM + 256;

/// The output of a call before inspection.
pub(crate) struct CallOutput {
    pub(crate) result: ToolResult,
    /// The label of its source, if that is known.
    pub(crate) label: Option<Label>,
    /// The boundary that it crosses.
    pub(crate) crossing: Crossing,
    /// The stranger who wrote it, if it was one: it is wrapped then.
    pub(crate) source: Option<String>,
}

impl CallOutput {
    /// The output of a tool of unknown source.
    pub(crate) const fn plain(result: ToolResult) -> Self {
        Self { result, label: None, crossing: Crossing::ToolOutput, source: None }
    }
}

/// Accepts a result and returns the part of it that the model may see.
pub(crate) async fn accept(
    gate: &GateContext,
    context: &mut TurnContext,
    released: &Released,
    output: CallOutput,
) -> Result<ToolResult, GateError> {
    let tool = released.call.tool.to_string();
    let capability = gate.catalogue().get(&tool).cloned().unwrap_or_default();
    let verdict = scan::scan(gate, context, output.crossing, &output.result.output).await?;
    let (mut text, class) = cleaned(&output.result.output, &verdict, &capability);
    let label = context.result_label(&gate.catalogue(), &tool, class, output.label.as_ref());
    let hostile = verdict.judgement == Judgement::Block;
    if hostile {
        scan::alert(gate, context, &tool, "an injection in a tool's output").await?;
    }
    let passes = policy::passes(&gate.engine(), &context.session, Passage::Output, &label);
    text = match passes {
        Err(policies) => format!("[The output was kept back by policy: {}]", names(&policies)),
        Ok(()) => framed(text, hostile, context.session.profile, output.source.as_deref(), &capability)?,
    };
    let shown = ToolResult { output: Text::clip(&text), ..output.result };
    context.add_output(&gate.catalogue(), &tool, &label, &shown.output);
    context.calls.count_result(&tool, shown.outcome == Outcome::Error);
    record(gate, context, released, &shown, &label, &capability).await?;
    save(gate, context, Step::Result { result: shown.clone(), label }).await?;
    context.calls.insert(released.clone(), Some(shown.clone()));
    Ok(shown)
}

/// Output without its secrets, and the class of the rest. A secret that was cut out does not raise the session's label. A tool
/// that declares its output uncleaned gives it to the model as it is, with the label of a secret; a secret of the host's own is
/// always cut out.
fn cleaned(output: &str, verdict: &Verdict, capability: &Capability) -> (String, Class) {
    match &verdict.redacted {
        Some(clean) if capability.data.sanitize_output || verdict.held_secret => {
            (clean.to_string(), Class::Sensitive)
        }
        _ => (output.to_owned(), verdict.class),
    }
}

/// Output as the model sees it: bounded, wrapped if a stranger wrote it, and marked if the scanner found an injection.
fn framed(
    text: String,
    hostile: bool,
    profile: Profile,
    from: Option<&str>,
    capability: &Capability,
) -> Result<String, GateError> {
    if hostile && profile == Profile::Paranoid {
        return Ok(WITHHELD.to_owned());
    }
    let most = usize::try_from(capability.execution.max_output_size).unwrap_or(usize::MAX);
    let mut text = bounded(text, most.min(OUTPUT_BOUND - ROOM));
    if let Some(source) = from {
        let id = marks::identity().ok_or_else(|| down("randomness"))?;
        text = marks::wrap(&text, source, &id);
    }
    Ok(if hostile { format!("{SUSPECT}{text}") } else { text })
}

fn bounded(mut text: String, most: usize) -> String {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        text.push_str(&format!("\n[... output cut at {most} bytes]"));
    }
    text
}

fn names(policies: &[Name]) -> String {
    policies.iter().map(Text::as_str).collect::<Vec<_>>().join(", ")
}

async fn record(
    gate: &GateContext,
    context: &TurnContext,
    released: &Released,
    result: &ToolResult,
    label: &Label,
    capability: &Capability,
) -> Result<(), GateError> {
    let (how, outcome) = match result.outcome {
        Outcome::Success => (Result3::Success, "success"),
        Outcome::Blocked => (Result3::Blocked, "blocked"),
        Outcome::Error | Outcome::Unknown => (Result3::Error, "error"),
    };
    let event = Event::new(Action::ToolEnded, how).about(&released.call.tool);
    let mut event = event.in_turn(context.turn.session, context.turn.id);
    event.call = Some(released.call.id);
    event.bytes = result.output.len() as u64;
    event.duration_ms = result.duration_ms;
    event.label = Some(label.clone());
    if capability.audit.log_output && record::may_log(gate, context, label) {
        event.hash = Some(Sha256::digest(result.output.as_bytes()).into());
    }
    if result.outcome == Outcome::Unknown {
        event.reason = Some(Name::clip("outcome unknown after an interruption"));
    }
    gate.record(event).await?;
    record::alert(gate, context, &released.call.tool, outcome).await
}

/// Accepts the result of a call and tells followers that the call has ended.
pub(crate) async fn accept_and_show(
    gate: &GateContext,
    attempt: &mut Attempt,
    released: &Released,
    output: CallOutput,
) -> Result<ToolResult, GateError> {
    let result = accept(gate, &mut attempt.context, released, output).await?;
    kit::fault_point!("gate.result.kept");
    let event =
        TurnEvent::ToolEnd { call: result.call, outcome: result.outcome, duration_ms: result.duration_ms };
    attempt.events.send(gate, [event]).await?;
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capability(change: impl FnOnce(&mut Capability)) -> Capability {
        let mut capability = Capability::default();
        change(&mut capability);
        capability
    }

    fn verdict(redacted: Option<&str>, class: Class, held_secret: bool) -> Verdict {
        Verdict {
            judgement: Judgement::Pass,
            score: 0,
            rules: Default::default(),
            canary_leaked: false,
            class,
            redacted: redacted.map(Text::clip),
            threats: Default::default(),
            spans: Default::default(),
            held_secret,
            conversation: Default::default(),
        }
    }

    // Holds P8-11.
    #[test]
    fn output_loses_secrets_unless_declared_and_the_hosts_own_always() {
        let (cleans, bares) = (capability(|_| ()), capability(|it| it.data.sanitize_output = false));
        let found = verdict(Some("[cut]"), Class::Secret, false);
        assert_eq!(cleaned("key", &found, &cleans), ("[cut]".into(), Class::Sensitive));
        assert_eq!(cleaned("key", &found, &bares), ("key".into(), Class::Secret));
        let own = verdict(Some("[cut]"), Class::Secret, true);
        assert_eq!(cleaned("key", &own, &bares), ("[cut]".into(), Class::Sensitive));
        assert_eq!(cleaned("x", &verdict(None, Class::Public, false), &cleans), ("x".into(), Class::Public));
    }

    // Holds B-53.
    #[test]
    fn output_is_cut_at_its_tools_bound_within_the_marks_around_it() {
        let small = capability(|it| it.execution.max_output_size = 4);
        let shown = framed("ä€bcdef".into(), false, Profile::Standard, Some("a.example"), &small).unwrap();
        assert!(
            shown.starts_with("<external_content ") && shown.contains("\nä\n[... output cut at 4 bytes]\n</")
        );
        let all = capability(|it| it.execution.max_output_size = u32::MAX);
        let shown = framed("x".repeat(OUTPUT_BOUND), true, Profile::Standard, Some("a"), &all).unwrap();
        assert!(shown.len() <= OUTPUT_BOUND && shown.ends_with("\">") && shown.starts_with(SUSPECT));
    }

    // Holds P8-11.
    #[test]
    fn an_injection_is_marked_and_a_paranoid_agent_is_not_given_it_at_all() {
        let any = capability(|_| ());
        let shown = |profile| framed("obey".into(), true, profile, None, &any).unwrap();
        assert_eq!(shown(Profile::Paranoid), WITHHELD);
        assert_eq!(shown(Profile::PowerUser), format!("{SUSPECT}obey"));
    }
}
