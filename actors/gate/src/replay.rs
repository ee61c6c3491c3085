//! Taking a turn up: its conversation with what earlier attempts did. A call that was released and has no result is
//! given to the model as unknown, and is not run again.

use crate::context::TurnContext;
use ipc_proto::label::Label;
use ipc_proto::model::{Asked, Message, Role};
use ipc_proto::router::{CallVerdict, Released, Step};
use ipc_proto::tool::{Outcome, ToolResult};
use ipc_proto::{List, Text};

/// What the model is told of a call whose outcome nobody knows.
pub(crate) const UNKNOWN: &str = "[UNKNOWN] this call was released and its outcome is not known, because the host was \
    interrupted. It is not run again by itself; look before you repeat it.";

/// What earlier attempts leave to be done first.
#[derive(Debug, Default)]
pub(crate) struct Replayed {
    /// The messages they add.
    pub(crate) messages: Vec<Message>,
    /// Calls without a result, to be kept as unknown.
    pub(crate) unknown: Vec<Released>,
    /// The last reply asked for nothing: it is the answer, and only the end is missing.
    pub(crate) answered: bool,
}

/// Goes through the steps of earlier attempts.
pub(crate) fn replay(context: &mut TurnContext) -> Replayed {
    let mut replayed = Replayed::default();
    let steps: Vec<Step> = context.turn.steps.iter().cloned().collect();
    context.next_step = u32::try_from(steps.len()).unwrap_or(u32::MAX);
    let results: Vec<(ToolResult, Label)> = steps.iter().filter_map(result_of).collect();
    for step in steps {
        let Step::Reply { text, calls } = step else { continue };
        replayed.answered = calls.is_empty();
        context.last_text = text.to_string();
        replayed.messages.push(assistant(&text, &calls));
        for released in calls {
            context.asked += 1;
            let result =
                results.iter().find(|(result, _)| result.call == released.call.id).map(|(r, _)| r.clone());
            replayed.messages.push(tool_message(&released, result.as_ref()));
            if result.is_none() && released.verdict == CallVerdict::Run {
                replayed.unknown.push(released.clone());
            }
            context.calls.insert(released.call.id, (released, result));
        }
    }
    replayed
}

fn result_of(step: &Step) -> Option<(ToolResult, Label)> {
    match step {
        Step::Result { result, label } => Some((result.clone(), label.clone())),
        Step::Reply { .. } => None,
    }
}

/// An assistant's message as it stands in the conversation.
pub(crate) fn assistant(text: &str, calls: &[Released]) -> Message {
    let asked = calls.iter().map(|released| {
        let call = &released.call;
        Asked { id: call.id, tool: call.tool.clone(), args: call.args.clone() }
    });
    Message { role: Role::Assistant, text: Text::clip(text), calls: List::clip(asked), answers: None }
}

fn tool_message(released: &Released, result: Option<&ToolResult>) -> Message {
    let text = match (result, &released.verdict) {
        (Some(result), _) => result.output.to_string(),
        (None, CallVerdict::Refused(reason)) => format!("[REFUSED] {reason}"),
        (None, CallVerdict::Run) => UNKNOWN.to_owned(),
    };
    Message {
        role: Role::Tool,
        text: Text::clip(&text),
        calls: List::default(),
        answers: Some(released.call.id),
    }
}

/// The result of a call whose outcome nobody knows.
pub(crate) fn unknown(released: &Released) -> ToolResult {
    let output = Text::clip(UNKNOWN);
    ToolResult { call: released.call.id, outcome: Outcome::Unknown, output, duration_ms: 0, snapshot: None }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use ipc_proto::Name;
    use ipc_proto::config::{Agent, AgentLimits};
    use ipc_proto::content::Content;
    use ipc_proto::ids::{CallId, SessionId, TurnId, UserId};
    use ipc_proto::router::{Task, Turn};
    use ipc_proto::tool::ToolCall;
    use std::collections::HashMap;

    pub(crate) fn context(steps: Vec<Step>) -> TurnContext {
        let turn = Turn {
            id: TurnId::random(),
            session: SessionId::random(),
            user: UserId::random(),
            user_name: Name::clip("owner"),
            agent: Name::clip("default"),
            task: Task::Chat,
            content: Content::default(),
            label: Label::bottom(),
            history: List::default(),
            steps: List::clip(steps),
            session_label: Label::bottom(),
            workspace_label: Label::bottom(),
            attempt: 2,
        };
        let limits = AgentLimits {
            tool_calls: 50,
            tool_failures: 3,
            seconds: 120,
            output_tokens: 1,
            model_calls_per_hour: 9,
        };
        let agent = Agent {
            model: String::new(),
            prompt: String::new(),
            tools: vec![],
            profile: String::new(),
            limits,
        };
        TurnContext {
            turn,
            agent,
            canary: String::new(),
            session_label: Label::bottom(),
            workspace_label: Label::bottom(),
            calls: HashMap::new(),
            asked: 0,
            failures: HashMap::new(),
            next_step: 0,
            last_text: String::new(),
            usage: ipc_proto::model::Usage::default(),
        }
    }

    fn released(verdict: CallVerdict) -> Released {
        let call = ToolCall { id: CallId::random(), tool: Name::clip("bash"), args: Text::clip("{}") };
        Released { call, verdict, record: 7 }
    }

    #[test]
    fn a_released_call_without_a_result_is_unknown_and_recorded_results_are_given_back() {
        let (done, lost) = (released(CallVerdict::Run), released(CallVerdict::Run));
        let refused = released(CallVerdict::Refused(Text::clip("no")));
        let result = ToolResult {
            call: done.call.id,
            outcome: Outcome::Success,
            output: Text::clip("ok"),
            duration_ms: 1,
            snapshot: None,
        };
        let reply = Step::Reply { text: Text::clip("hm"), calls: List::clip([done, lost.clone(), refused]) };
        let mut context = context(vec![reply, Step::Result { result, label: Label::bottom() }]);
        let replayed = replay(&mut context);
        let texts: Vec<&str> = replayed.messages.iter().map(|message| message.text.as_str()).collect();
        assert_eq!(texts, ["hm", "ok", UNKNOWN, "[REFUSED] no"]);
        assert_eq!(replayed.unknown, [lost]);
        assert_eq!((context.asked, context.next_step, replayed.answered), (3, 2, false));
    }

    #[test]
    fn a_last_reply_that_asked_for_nothing_is_the_answer() {
        let mut context = context(vec![Step::Reply { text: Text::clip("42"), calls: List::default() }]);
        assert!(replay(&mut context).answered);
        assert_eq!(context.last_text, "42");
    }
}
