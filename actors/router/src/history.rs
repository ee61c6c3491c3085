//! Earlier messages, cut to a budget: first the oldest tool results give way to a visible marker, then the oldest
//! turns are left out whole. A call is never parted from its result. Pure: it reads no store and no clock.

use crate::store::StoredStep;
use ipc_proto::ids::{ApprovalId, CallId};
use ipc_proto::label::Label;
use ipc_proto::model::{Asked, HANDED_BACK, Message, Role, Thought};
use ipc_proto::router::{CallVerdict, Finished, Labelled, Released, Step};
use ipc_proto::{List, Text};

/// The result that a model gets for a call whose result is unknown.
const UNKNOWN: &str = "[unknown: this call was released and no result was recorded; it is not run again]";
/// The result for a call that a person was asked about and did not answer.
const UNANSWERED: &str = "[refused: a person was asked and the turn ended before they answered]";

/// The question that a call still waits for among a turn's steps.
pub(crate) fn open_question(steps: impl Iterator<Item = Step>, call: CallId) -> Option<ApprovalId> {
    match decided(steps, call)?.verdict {
        CallVerdict::Asking(id) => Some(id),
        CallVerdict::Run | CallVerdict::Refused(_) => None,
    }
}

/// A call as it was decided in the end.
pub(crate) fn decided(steps: impl Iterator<Item = Step>, call: CallId) -> Option<Released> {
    let mut found: Option<Released> = None;
    for step in steps {
        match step {
            Step::Reply { calls, .. } if found.is_none() => {
                found = calls.into_iter().find(|it| it.call.id == call);
            }
            Step::Decided { call: which, verdict, record } if which == call => {
                if let Some(released) = &mut found {
                    (released.verdict, released.record) = (verdict, record);
                }
            }
            _ => {}
        }
    }
    found
}

/// Composes one turn: the message, the steps and the answer. `closing` stands for the answer of a turn that ended without one.
pub(crate) fn compose(
    said: Labelled,
    steps: Vec<StoredStep>,
    answer: Option<Finished>,
    closing: &str,
) -> Vec<Labelled> {
    let mut turn = vec![said];
    let mut open: Vec<Released> = Vec::new();
    let mut last = Label::bottom();
    // Steering messages stand behind the results of the calls that they came between.
    let mut steering: Vec<Labelled> = Vec::new();
    for StoredStep { step, label } in steps {
        match step {
            Step::Reply { text, calls, .. } => {
                close(&mut turn, &mut open, &last);
                turn.append(&mut steering);
                turn.push(reply(&text, &calls, &label));
                open = calls.into_vec();
            }
            Step::Result { result, label } => {
                if let Some(at) = open.iter().position(|it| it.call.id == result.call) {
                    open.remove(at);
                    turn.push(tool(result.call, &result.output, &label));
                }
            }
            Step::Decided { call, verdict, .. } => {
                if let Some(released) = open.iter_mut().find(|it| it.call.id == call) {
                    released.verdict = verdict;
                }
            }
            // The plan is for the gate only. Memories are given to each turn anew.
            Step::Steered { text, label, .. } => {
                steering.push(Labelled { message: Message::text(Role::User, &text), label });
            }
            Step::Plan { .. } | Step::Recalled { .. } => {}
        }
        if open.is_empty() {
            turn.append(&mut steering);
        }
        last = label;
    }
    close(&mut turn, &mut open, &last);
    turn.append(&mut steering);
    let last = ending(&mut turn, answer, closing);
    turn.extend(last);
    turn
}

/// The answer as it was sent takes the place of the model's own last text.
fn ending(turn: &mut Vec<Labelled>, answer: Option<Finished>, closing: &str) -> Option<Labelled> {
    let Some(answer) = answer else {
        let message = Message::text(Role::Assistant, closing);
        return (!closing.is_empty()).then(|| Labelled { message, label: Label::bottom() });
    };
    let last = turn.last().map(|it| &it.message);
    if last.is_some_and(|it| it.role == Role::Assistant && it.calls.is_empty()) {
        turn.pop();
    }
    let message = Message::text(Role::Assistant, &answer.text);
    (!answer.text.is_empty()).then_some(Labelled { message, label: answer.label })
}

/// Gives every call that is still open a result of its own.
fn close(turn: &mut Vec<Labelled>, open: &mut Vec<Released>, label: &Label) {
    for released in open.drain(..) {
        let text = match &released.verdict {
            CallVerdict::Run => UNKNOWN.to_owned(),
            CallVerdict::Refused(why) => format!("[refused: {why}]"),
            CallVerdict::Asking(_) => UNANSWERED.to_owned(),
        };
        turn.push(tool(released.call.id, &text, label));
    }
}

fn reply(text: &str, calls: &[Released], label: &Label) -> Labelled {
    let asked =
        |it: &Released| Asked { id: it.call.id, tool: it.call.tool.clone(), args: it.call.args.clone() };
    let calls = List::clip(calls.iter().map(asked));
    let message = Message { calls, ..Message::text(Role::Assistant, text) };
    Labelled { message, label: label.clone() }
}

fn tool(call: CallId, text: &str, label: &Label) -> Labelled {
    let message = Message { answers: Some(call), ..Message::text(Role::Tool, text) };
    Labelled { message, label: label.clone() }
}

/// Gathers turns from the newest to the oldest, as many as fit.
pub(crate) struct Fit {
    budget: usize,
    most: usize,
    /// Bytes of what is held, every tool result counted as its marker.
    least: usize,
    held: usize,
    /// Bytes of tool results that are held whole: more than the budget would never be shown.
    outputs: usize,
    turns: Vec<Vec<Labelled>>,
}

impl Fit {
    /// Room for `budget` bytes of text in `most` messages.
    pub(crate) const fn new(budget: usize, most: usize) -> Self {
        Self { budget, most, least: 0, held: 0, outputs: 0, turns: Vec::new() }
    }

    /// Takes the next older turn; `false` if it does not fit, and then no older one may follow.
    pub(crate) fn older(&mut self, mut turn: Vec<Labelled>) -> bool {
        let least: usize = turn.iter().map(|it| least(&it.message)).sum();
        if self.least + least > self.budget || self.held + turn.len() > self.most {
            return false;
        }
        self.least += least;
        self.held += turn.len();
        for labelled in turn.iter_mut().rev() {
            self.outputs += spare(&labelled.message);
            if self.outputs > self.budget {
                elide(&mut labelled.message);
            }
        }
        self.turns.push(turn);
        true
    }

    /// The turns that were gathered, oldest first, within the budget.
    pub(crate) fn done(mut self) -> Vec<Labelled> {
        let mut room = self.budget - self.least;
        for labelled in self.turns.iter_mut().flat_map(|turn| turn.iter_mut().rev()) {
            let spare = spare(&labelled.message);
            if spare > room {
                // All older results give way too: the newest stay whole.
                room = 0;
                elide(&mut labelled.message);
            } else {
                room -= spare;
            }
        }
        self.turns.into_iter().rev().flatten().collect()
    }
}

/// Cuts a turn's own steps to `budget` bytes: first the oldest thoughts, beyond those that are handed back to the model anyway; then the
/// oldest tool results, which give way to the marker. Text stays. Returns the number of replies without their thoughts.
pub(crate) fn cut_steps(steps: &mut [Step], budget: usize) -> u32 {
    let without_thoughts = cut_thoughts(steps);
    let mut room = budget;
    for step in steps.iter_mut().rev() {
        match step {
            Step::Reply { text, calls, thoughts } => {
                let calls: usize = calls.iter().map(|it| it.call.args.len()).sum();
                let thoughts: usize = thoughts.iter().map(Thought::bytes).sum();
                room = room.saturating_sub(text.len() + calls + thoughts);
            }
            Step::Result { result, .. } => {
                let marker = marker(result.output.len());
                if result.output.len() > room && marker.len() < result.output.len() {
                    room = 0;
                    result.output = Text::clip(&marker);
                }
                room = room.saturating_sub(result.output.len());
            }
            Step::Recalled { text, .. } => room = room.saturating_sub(text.len()),
            Step::Steered { text, .. } => room = room.saturating_sub(text.len()),
            Step::Plan { .. } | Step::Decided { .. } => {}
        }
    }
    without_thoughts
}

/// Leaves the newest thoughts and no older ones, as many as go back to a model: a reply keeps all of its own or none.
fn cut_thoughts(steps: &mut [Step]) -> u32 {
    let (mut room, mut without_thoughts) = (HANDED_BACK, 0);
    for step in steps.iter_mut().rev() {
        let Step::Reply { thoughts, .. } = step else { continue };
        let bytes: usize = thoughts.iter().map(Thought::bytes).sum();
        if bytes > room {
            room = 0;
            *thoughts = List::default();
            without_thoughts += 1;
        }
        room = room.saturating_sub(bytes);
    }
    without_thoughts
}

/// The marker for a tool result that did not fit.
fn marker(bytes: usize) -> String {
    format!("[... elided: {bytes} bytes of tool output]")
}

/// Bytes of text in a message.
fn size(message: &Message) -> usize {
    message.text.len() + message.calls.iter().map(|call| call.tool.len() + call.args.len()).sum::<usize>()
}

/// Bytes of a message once its tool result, if it is one, has given way.
fn least(message: &Message) -> usize {
    size(message) - spare(message)
}

/// Bytes that giving way would free.
fn spare(message: &Message) -> usize {
    let text = message.text.len();
    if message.role == Role::Tool { text.saturating_sub(marker(text).len()) } else { 0 }
}

fn elide(message: &mut Message) {
    if spare(message) > 0 {
        message.text = Text::clip(&marker(message.text.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::Name;
    use ipc_proto::model::Usage;
    use ipc_proto::router::End;
    use ipc_proto::tool::{Outcome, ToolCall, ToolResult};
    use proptest::prelude::*;

    fn call(n: u8) -> CallId {
        CallId::from_bytes([n; 16])
    }

    fn said(text: &str) -> Labelled {
        Labelled { message: Message::text(Role::User, text), label: Label::bottom() }
    }

    fn stored(step: Step) -> StoredStep {
        StoredStep { step, label: Label::bottom() }
    }

    fn replied(text: &str, calls: &[(u8, CallVerdict)]) -> StoredStep {
        let calls = calls.iter().map(|(n, verdict)| Released {
            call: ToolCall { id: call(*n), tool: Name::clip("read"), args: Text::clip("{}") },
            verdict: verdict.clone(),
            record: 0,
            why: ipc_proto::router::Why::default(),
        });
        stored(Step::Reply { text: Text::clip(text), calls: List::clip(calls), thoughts: List::default() })
    }

    fn resulted(n: u8, output: &str) -> StoredStep {
        let result = ToolResult {
            call: call(n),
            outcome: Outcome::Success,
            output: Text::clip(output),
            duration_ms: 0,
            snapshot: None,
        };
        stored(Step::Result { result, label: Label::bottom() })
    }

    fn answered(text: &str) -> Option<Finished> {
        Some(Finished {
            end: End::Answered,
            text: Text::clip(text),
            label: Label::bottom(),
            usage: Usage::default(),
            duration_ms: 0,
            attempts: 1,
        })
    }

    fn shown(turn: &[Labelled]) -> Vec<(Role, &str)> {
        turn.iter().map(|it| (it.message.role, it.message.text.as_str())).collect()
    }

    /// Every call has exactly one result, right after the reply that asked for it and before the next reply.
    fn pairs_hold(messages: &[Labelled]) -> bool {
        let mut open: Vec<CallId> = vec![];
        for Labelled { message, .. } in messages {
            match message.answers {
                Some(id) => match open.iter().position(|it| *it == id) {
                    Some(at) => drop(open.remove(at)),
                    None => return false,
                },
                None if !open.is_empty() => return false,
                None => open.extend(message.calls.iter().map(|it| it.id)),
            }
        }
        open.is_empty()
    }

    #[test]
    fn a_turn_has_message_steps_and_answer_and_a_result_for_every_call() {
        let refused = CallVerdict::Refused(Text::clip("not allowed"));
        let steps = vec![
            replied("let me see", &[(1, CallVerdict::Run), (2, refused)]),
            resulted(1, "found"),
            replied("and", &[(3, CallVerdict::Run)]),
            resulted(9, "nobody asked for this"),
            replied("raw answer", &[]),
        ];
        let turn = compose(said("hello"), steps, answered("answer"), "");
        assert!(pairs_hold(&turn));
        let expected = [
            (Role::User, "hello"),
            (Role::Assistant, "let me see"),
            (Role::Tool, "found"),
            (Role::Tool, "[refused: not allowed]"),
            (Role::Assistant, "and"),
            (Role::Tool, UNKNOWN),
            (Role::Assistant, "answer"),
        ];
        assert_eq!(shown(&turn), expected);
    }

    #[test]
    fn a_turn_without_an_answer_says_so() {
        let turn = compose(said("hello"), vec![replied("", &[(1, CallVerdict::Run)])], None, "[cancelled]");
        assert!(pairs_hold(&turn));
        assert_eq!(shown(&turn).last(), Some(&(Role::Assistant, "[cancelled]")));
    }

    // Holds B-20.
    #[test]
    fn the_oldest_tool_results_give_way_first_and_the_newest_stay_whole() {
        let turn = |n: u8| {
            compose(
                said("q"),
                vec![replied("", &[(n, CallVerdict::Run)]), resulted(n, &"x".repeat(1000))],
                answered("a"),
                "",
            )
        };
        let mut fit = Fit::new(2500, 100);
        for n in [3, 2, 1] {
            assert!(fit.older(turn(n)));
        }
        let all = fit.done();
        let tools: Vec<_> =
            all.iter().filter(|it| it.message.role == Role::Tool).map(|it| it.message.text.len()).collect();
        assert_eq!(tools, [marker(1000).len(), 1000, 1000]);
        assert!(all.iter().any(|it| it.message.text.as_str() == "[... elided: 1000 bytes of tool output]"));
    }

    #[test]
    fn a_turns_own_steps_lose_their_oldest_results_and_no_reply() {
        let mut steps: Vec<Step> = vec![
            replied("one", &[(1, CallVerdict::Run)]).step,
            resulted(1, &"x".repeat(500)).step,
            replied("two", &[(2, CallVerdict::Run)]).step,
            resulted(2, &"y".repeat(500)).step,
        ];
        cut_steps(&mut steps, 600);
        let outputs: Vec<_> = steps
            .iter()
            .filter_map(|step| match step {
                Step::Result { result, .. } => Some(result.output.as_str().len()),
                _ => None,
            })
            .collect();
        assert_eq!((steps.len(), outputs), (4, vec![marker(500).len(), 500]));
    }

    // Holds B-77.
    #[test]
    fn a_turn_keeps_its_newest_thoughts_up_to_what_a_model_gets() {
        let thought = |bytes: usize| Thought { text: Text::clip(&"t".repeat(bytes)), ..Thought::default() };
        let thinking = |bytes: usize| Step::Reply {
            text: Text::clip("hm"),
            calls: List::default(),
            thoughts: List::clip([thought(bytes)]),
        };
        // 12 MiB of them.
        let mut steps: Vec<Step> = std::iter::repeat_with(|| thinking(240 * 1024)).take(52).collect();
        steps.push(thinking(16));
        assert_eq!(cut_steps(&mut steps, 1 << 20), 48);
        let left: Vec<usize> = steps
            .iter()
            .filter_map(|step| match step {
                Step::Reply { thoughts, .. } => Some(thoughts.iter().map(Thought::bytes).sum()),
                _ => None,
            })
            .collect();
        assert_eq!(left[..48], [0; 48], "the oldest go first");
        assert!(left[48..].iter().all(|bytes| *bytes > 0) && left.iter().sum::<usize>() <= HANDED_BACK);
    }

    /// One turn: bytes of the message, and per reply its bytes and those of each call's result.
    type Shape = (usize, Vec<(usize, Vec<usize>)>, usize);

    fn shape() -> impl Strategy<Value = Shape> {
        let reply = (0usize..300, prop::collection::vec(0usize..3000, 0..4));
        (0usize..300, prop::collection::vec(reply, 0..4), 0usize..300)
    }

    fn build((asked, replies, answer): &Shape) -> Vec<Labelled> {
        let mut steps = vec![];
        let mut n = 0;
        for (text, outputs) in replies {
            let ids: Vec<u8> = outputs
                .iter()
                .map(|_| {
                    n += 1;
                    n
                })
                .collect();
            let calls: Vec<_> = ids.iter().map(|n| (*n, CallVerdict::Run)).collect();
            steps.push(replied(&"r".repeat(*text), &calls));
            // Every fourth result was never recorded.
            steps.extend(
                ids.iter()
                    .zip(outputs)
                    .filter(|(n, _)| *n % 4 != 0)
                    .map(|(n, len)| resulted(*n, &"o".repeat(*len))),
            );
        }
        compose(said(&"u".repeat(*asked)), steps, answered(&"a".repeat(*answer)), "")
    }

    proptest! {
        // Holds B-20.
        #[test]
        fn history_never_exceeds_its_budget_nor_parts_a_call_from_its_result(
            shapes in prop::collection::vec(shape(), 0..12), budget in 0usize..20_000, most in 0usize..60,
        ) {
            let turns: Vec<_> = shapes.iter().map(build).collect();
            let mut fit = Fit::new(budget, most);
            let taken = turns.iter().take_while(|turn| fit.older((*turn).clone())).count();
            let all = fit.done();
            prop_assert!(all.iter().map(|it| size(&it.message)).sum::<usize>() <= budget);
            prop_assert!(all.len() <= most);
            prop_assert!(pairs_hold(&all));
            let whole: Vec<_> = turns[..taken].iter().rev().flatten().collect();
            prop_assert_eq!(all.len(), whole.len(), "turns are left out whole, oldest first");
            let mut intact = false;
            for (now, before) in all.iter().zip(whole) {
                let elided = now != before;
                prop_assert!(!elided || now.message.role == Role::Tool, "only tool results give way");
                prop_assert!(!(elided && intact), "nothing gives way that is newer than what is whole");
                intact |= !elided && spare(&before.message) > 0;
            }
        }
    }
}
