//! The conversation of a claimed turn, with the steps of earlier attempts. A released call without a result is given to the model
//! as unknown, and is not run again.

use crate::state::mcp::found_in;
use crate::turn::context::{RECALL_TOOL, TurnContext};
use crate::turn::pending_reply::{DecidedCall, PendingReply, assistant};
use ipc_proto::Text;
use ipc_proto::ids::CallId;
use ipc_proto::label::Label;
use ipc_proto::model::{Finish, Message, Role};
use ipc_proto::router::{CallVerdict, Released, Step};
use ipc_proto::tool::{Outcome, ToolResult};
use policy::Catalogue;
use std::collections::HashMap;
use toolset::server_tools::TOOL_FIND;

/// The result that the model is given for a call of unknown outcome.
pub(crate) const UNKNOWN: &str = "[UNKNOWN] this call was released and its outcome is not known, because the host was \
    interrupted. It is not run again by itself; look before you repeat it.";

/// The notice for an engine, which reports some calls only once they have ended.
const UNSEEN: &str = "[UNKNOWN] an earlier attempt was interrupted, and what else it did is not known; look before you \
    repeat it.";

/// The remains of earlier attempts, which come first.
#[derive(Default)]
pub(crate) struct Replayed {
    /// The messages they add.
    pub(crate) messages: Vec<Message>,
    /// Calls without a result, which are saved as unknown.
    pub(crate) unknown: Vec<Released>,
    /// The last reply, if one of its calls still waits for a person. The runner has not seen it, so none of its calls was run.
    pub(crate) pending: Option<PendingReply>,
    /// The last reply has no calls: it is the answer, and only the end is missing.
    pub(crate) answered: bool,
}

/// Replays the steps of earlier attempts.
pub(crate) fn replay(catalogue: &Catalogue, context: &mut TurnContext) -> Replayed {
    let mut replayed = Replayed::default();
    let steps: Vec<Step> = context.turn.steps.iter().cloned().collect();
    context.next_step = u32::try_from(steps.len()).unwrap_or(u32::MAX);
    let results: HashMap<CallId, (ToolResult, Label)> = steps.iter().filter_map(result_in).collect();
    let decided: HashMap<CallId, (CallVerdict, u64)> = steps.iter().filter_map(decision_in).collect();
    for step in steps {
        match step {
            Step::Reply { text, calls, thoughts } => {
                context.reasoning.keep(calls.first().map(|released| released.call.id), thoughts);
                let calls =
                    calls.into_vec().into_iter().map(|released| with_decision(released, &decided)).collect();
                reply(catalogue, context, &mut replayed, text.into_string(), calls, &results);
            }
            Step::Recalled { text, label } => {
                context.add_recalled(catalogue, RECALL_TOOL, &label, &text);
            }
            Step::Steered { text, label, .. } => {
                context.add_steering(&label, &text);
                replayed.messages.push(Message::text(Role::User, &text));
                replayed.answered = false;
            }
            Step::Plan { tools } => {
                context.list(tools.iter().map(|tool| tool.to_string()));
                context.session.plan(tools.iter().map(|tool| tool.to_string()));
            }
            Step::Decided { .. } | Step::Result { .. } => {}
        }
    }
    replayed
}

/// Replays one reply with the results of its calls.
fn reply(
    catalogue: &Catalogue,
    context: &mut TurnContext,
    replayed: &mut Replayed,
    text: String,
    calls: Vec<Released>,
    results: &HashMap<CallId, (ToolResult, Label)>,
) {
    replayed.answered = calls.is_empty();
    context.last_text.clone_from(&text);
    for released in &calls {
        context.calls.count(&released.call);
    }
    let most = context.agent.limits.same_call;
    context.calls.note_repeats(calls.iter().map(|released| &released.call), most);
    let waits = calls.iter().any(|released| matches!(released.verdict, CallVerdict::Asking(_)));
    if !waits {
        context.add_reply(&text);
        replayed.messages.push(assistant(&text, calls.iter()));
    }
    for released in &calls {
        let known = results.get(&released.call.id);
        let result = known.map(|(result, _)| result.clone());
        if let Some((result, label)) = known {
            context.session.output(catalogue, &released.call.tool, label, &result.output);
            if released.call.tool.as_str() == TOOL_FIND {
                context.list(found_in(&result.output).map(str::to_owned));
            }
        }
        if !waits {
            let message = tool_message(released, result.as_ref());
            context.known.add(&message.text);
            replayed.messages.push(message);
            if result.is_none() && released.verdict == CallVerdict::Run {
                replayed.unknown.push(released.clone());
            }
        }
        context.calls.insert(released.clone(), result);
    }
    if waits {
        let calls = calls.into_iter().map(|released| DecidedCall { released, question: None }).collect();
        replayed.pending = Some(PendingReply { text, finish: Finish::ToolUse, calls });
    }
}

fn result_in(step: &Step) -> Option<(CallId, (ToolResult, Label))> {
    match step {
        Step::Result { result, label } => Some((result.call, (result.clone(), label.clone()))),
        Step::Reply { .. }
        | Step::Plan { .. }
        | Step::Decided { .. }
        | Step::Recalled { .. }
        | Step::Steered { .. } => None,
    }
}

fn decision_in(step: &Step) -> Option<(CallId, (CallVerdict, u64))> {
    match step {
        Step::Decided { call, verdict, record } => Some((*call, (verdict.clone(), *record))),
        Step::Reply { .. }
        | Step::Plan { .. }
        | Step::Result { .. }
        | Step::Recalled { .. }
        | Step::Steered { .. } => None,
    }
}

/// A call with its last verdict.
fn with_decision(mut released: Released, decided: &HashMap<CallId, (CallVerdict, u64)>) -> Released {
    if let Some((verdict, record)) = decided.get(&released.call.id) {
        (released.verdict, released.record) = (verdict.clone(), *record);
    }
    released
}

fn tool_message(released: &Released, result: Option<&ToolResult>) -> Message {
    let text = match (result, &released.verdict) {
        (Some(result), _) => result.output.to_string(),
        (None, CallVerdict::Refused(reason)) => format!("[REFUSED] {reason}"),
        (None, CallVerdict::Run) => UNKNOWN.to_owned(),
        (None, CallVerdict::Asking(_)) => "[REFUSED] nobody has answered".to_owned(),
    };
    Message { answers: Some(released.call.id), ..Message::text(Role::Tool, &text) }
}

/// The message that tells an engine of an earlier attempt, which may have used tools that it had not reported.
pub(crate) fn unseen() -> Message {
    Message::text(Role::Tool, UNSEEN)
}

/// The result of a call of unknown outcome.
pub(crate) fn unknown(released: &Released) -> ToolResult {
    let output = Text::clip(UNKNOWN);
    ToolResult { call: released.call.id, outcome: Outcome::Unknown, output, duration_ms: 0, snapshot: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turn::testing::{context, shared_catalogue};
    use ipc_proto::ids::ApprovalId;
    use ipc_proto::label::{Class, Trust};
    use ipc_proto::model::Thought;
    use ipc_proto::router::Why;
    use ipc_proto::tool::ToolCall;
    use ipc_proto::{List, Name};

    fn released(verdict: CallVerdict) -> Released {
        let call = ToolCall { id: CallId::random(), tool: Name::clip("bash"), args: Text::clip("{}") };
        Released { call, verdict, record: 7, why: Why::default() }
    }

    // Holds P7-05.
    #[test]
    fn a_released_call_without_a_result_is_replayed_as_unknown() {
        let (done, lost) = (released(CallVerdict::Run), released(CallVerdict::Run));
        let refused = released(CallVerdict::Refused(Text::clip("no")));
        let result = ToolResult {
            call: done.call.id,
            outcome: Outcome::Success,
            output: Text::clip("ok"),
            duration_ms: 1,
            snapshot: None,
        };
        let reply = Step::Reply {
            text: Text::clip("hm"),
            calls: List::clip([done, lost.clone(), refused]),
            thoughts: List::default(),
        };
        let mut context = context(vec![reply, Step::Result { result, label: Label::bottom() }]);
        let replayed = replay(&shared_catalogue(), &mut context);
        let texts: Vec<&str> = replayed.messages.iter().map(|message| message.text.as_str()).collect();
        assert_eq!(texts, ["hm", "ok", UNKNOWN, "[REFUSED] no"]);
        assert_eq!(replayed.unknown, [lost]);
        assert_eq!((context.calls.asked(), context.next_step, replayed.answered), (3, 2, false));
    }

    #[test]
    fn a_reply_that_waits_for_a_person_is_replayed_whole() {
        let (run, asks) = (released(CallVerdict::Run), released(CallVerdict::Asking(ApprovalId::random())));
        let other = released(CallVerdict::Asking(ApprovalId::random()));
        let reply = Step::Reply {
            text: Text::clip("hm"),
            calls: List::clip([run.clone(), asks.clone(), other.clone()]),
            thoughts: List::default(),
        };
        let decided = Step::Decided { call: other.call.id, verdict: CallVerdict::Run, record: 9 };
        let mut context = context(vec![reply.clone(), decided.clone()]);
        let replayed = replay(&shared_catalogue(), &mut context);
        assert!(replayed.messages.is_empty() && replayed.unknown.is_empty());
        let pending = replayed.pending.unwrap();
        assert_eq!(
            pending.released().map(|call| (call.verdict.clone(), call.record)).collect::<Vec<_>>(),
            [(CallVerdict::Run, 7), (asks.verdict.clone(), 7), (CallVerdict::Run, 9)]
        );
        let last = Step::Decided { call: asks.call.id, verdict: CallVerdict::Run, record: 10 };
        let mut context = crate::turn::testing::context(vec![reply, decided, last]);
        let replayed = replay(&shared_catalogue(), &mut context);
        assert!(replayed.pending.is_none() && replayed.unknown.len() == 3, "the runner may have had it");
    }

    // Holds P8-22.
    #[test]
    fn reasoning_goes_back_to_its_model_with_its_calls_in_a_later_attempt() {
        let call = released(CallVerdict::Run);
        let thought = Thought { text: Text::clip("hm"), seal: Text::clip("sealed"), ..Thought::default() };
        let reply = Step::Reply {
            text: Text::default(),
            calls: List::clip([call.clone()]),
            thoughts: List::clip([thought.clone()]),
        };
        let mut context = context(vec![reply]);
        let mut messages = replay(&shared_catalogue(), &mut context).messages;
        assert!(messages.iter().all(|message| message.thoughts.is_empty()), "a runner is not given them");
        // The runner's own claim does not count.
        messages[1].thoughts = List::clip([Thought::default()]);
        context.reasoning.restore(&mut messages);
        assert_eq!(messages[0].thoughts[..], [thought]);
        assert!(messages[1].thoughts.is_empty());
        let mut repeated = vec![messages[0].clone(); 3];
        context.reasoning.restore(&mut repeated);
        assert_eq!(
            repeated.iter().filter(|message| !message.thoughts.is_empty()).count(),
            1,
            "each goes back once"
        );
    }

    // Holds P5-42.
    #[test]
    fn a_plan_that_was_locked_holds_for_later_attempts() {
        let mut context = context(vec![Step::Plan { tools: List::clip([Name::clip("bash")]) }]);
        replay(&shared_catalogue(), &mut context);
        assert_eq!(context.session.plan, Some(["bash".to_owned()].into()));
        assert_eq!(context.next_step, 1);
    }

    // Holds P5-34.
    #[test]
    fn what_memory_gave_is_given_again_and_counts_as_what_a_tool_gave_back() {
        let label = Label::of(Trust::Untrusted, Class::Internal, "web");
        let mut context = context(vec![Step::Recalled { text: Text::clip("a row"), label: label.clone() }]);
        let replayed = replay(&shared_catalogue(), &mut context);
        assert_eq!((context.recalled.as_deref(), context.next_step), (Some("a row"), 1));
        assert!(label.within(&context.session.label) && context.session.taint.thousandths() > 0);
        assert!(replayed.messages.is_empty() && !context.known.add("a row"), "it stands before the message");
    }

    #[test]
    fn a_last_reply_that_asked_for_nothing_is_the_answer() {
        let mut context = context(vec![Step::Reply {
            text: Text::clip("42"),
            calls: List::default(),
            thoughts: List::default(),
        }]);
        assert!(replay(&shared_catalogue(), &mut context).answered);
        assert_eq!(context.last_text, "42");
    }
}
