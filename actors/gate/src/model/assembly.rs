//! Puts a model's pieces together: text, and calls whose arguments mean nothing before they are whole. It also splits text into
//! pieces that fit an event.

use ipc_proto::ids::CallId;
use ipc_proto::model::{
    Finish, ModelError, ModelName, Per, Piece, THOUGHT_BOUND, THOUGHTS, THOUGHTS_BOUND, Thought, Usage,
};
use ipc_proto::tool::{ALL_ARGS_BOUND, ARGS_BOUND, OUTPUT_BOUND, ToolCall};
use ipc_proto::{Name, Text};
use std::collections::BTreeMap;

/// Calls in one reply. With more of them the reply is an error.
const CALLS: usize = 32;

/// A reply that is being put together.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    open: BTreeMap<u16, (Name, String)>,
    calls: Vec<ToolCall>,
    /// The text of the block of reasoning that is under way, and its seal.
    thought: (String, String),
    thoughts: Vec<Thought>,
    text_bytes: usize,
    args_bytes: usize,
    thought_bytes: usize,
    pub(crate) usage: Usage,
}

/// The result of one piece.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nothing to show.
    Nothing,
    /// Text of the answer.
    Text(String),
    /// Text of the model's reasoning.
    Reasoning(String),
    /// A block of reasoning that its provider wants back is whole.
    Thought,
    /// Another model answers from here on; all of the reply that there was is void.
    Again {
        /// The model that failed.
        from: ModelName,
        /// Its error.
        why: ModelError,
        /// The model that answers from here on.
        to: ModelName,
    },
    /// A budget that only warns is used up.
    OverBudget(Per),
    /// The end.
    Done(Finish),
    /// The end, by an error.
    Failed(ModelError),
}

impl Assembly {
    /// Takes a piece. A piece that breaks the order or a bound is an error of the model's.
    pub(crate) fn take(&mut self, piece: Piece) -> Step {
        match piece {
            Piece::Text(text) => {
                self.text_bytes += text.len();
                if self.text_bytes > OUTPUT_BOUND { truncated() } else { Step::Text(text.into_string()) }
            }
            Piece::Reasoning(text) => Step::Reasoning(text.into_string()),
            Piece::Thought { seal, part } => {
                let whole = if seal { &mut self.thought.1 } else { &mut self.thought.0 };
                self.thought_bytes += part.len();
                let within =
                    self.thought_bytes <= THOUGHTS_BOUND && whole.len() + part.len() <= THOUGHT_BOUND;
                whole.push_str(if within { &part } else { "" });
                if within { Step::Nothing } else { invalid() }
            }
            Piece::ThoughtEnd { by, hidden, spoken, calls } => {
                let (text, seal) = std::mem::take(&mut self.thought);
                let (text, seal) = (Text::clip(&text), Text::clip(&seal));
                self.thoughts.push(Thought { by, text, seal, hidden, spoken, calls });
                if self.thoughts.len() > THOUGHTS { invalid() } else { Step::Thought }
            }
            Piece::Failover { from, why, to } => {
                *self = Self::default();
                Step::Again { from, why, to }
            }
            Piece::CallStart { index, tool } => {
                let full = self.open.len() + self.calls.len() >= CALLS;
                let fresh = !full && self.open.insert(index, (tool, String::new())).is_none();
                if fresh { Step::Nothing } else { invalid() }
            }
            Piece::CallDelta { index, args } => {
                self.args_bytes += args.len();
                let within = self.args_bytes <= ALL_ARGS_BOUND;
                match self.open.get_mut(&index) {
                    Some((_, whole)) if within && whole.len() + args.len() <= ARGS_BOUND => {
                        whole.push_str(&args);
                        Step::Nothing
                    }
                    _ => invalid(),
                }
            }
            Piece::CallEnd { index } => match self.open.remove(&index) {
                Some((tool, args)) => {
                    self.calls.push(ToolCall { id: CallId::random(), tool, args: Text::clip(&args) });
                    Step::Nothing
                }
                None => invalid(),
            },
            Piece::Usage(usage) => {
                self.usage = usage;
                Step::Nothing
            }
            Piece::OverBudget { per } => Step::OverBudget(per),
            // A call that never became whole is never run.
            Piece::Done(_) if !self.open.is_empty() => truncated(),
            Piece::Done(finish) => Step::Done(finish),
            Piece::Failed(error) => Step::Failed(error),
        }
    }

    /// The whole calls, in order, and the blocks of reasoning.
    pub(crate) fn into_parts(self) -> (Vec<ToolCall>, Vec<Thought>) {
        (self.calls, self.thoughts)
    }

    /// The blocks of reasoning so far.
    pub(crate) const fn thoughts(&mut self) -> &mut Vec<Thought> {
        &mut self.thoughts
    }
}

/// Text in pieces that fit an event or a piece of an answer.
pub(crate) fn in_pieces(text: &str) -> Vec<Text<16384>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let piece = Text::<16384>::clip(rest);
        rest = rest.get(piece.len()..).unwrap_or_default();
        pieces.push(piece);
    }
    pieces
}

const fn truncated() -> Step {
    Step::Failed(ModelError::Truncated)
}

const fn invalid() -> Step {
    Step::Failed(ModelError::InvalidJson)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(index: u16) -> Piece {
        Piece::CallStart { index, tool: Name::clip("bash") }
    }

    fn delta(index: u16, args: &str) -> Piece {
        Piece::CallDelta { index, args: Text::clip(args) }
    }

    #[test]
    fn interleaved_fragments_become_whole_calls_in_the_order_of_their_ends() {
        let mut assembly = Assembly::default();
        let pieces = [start(0), start(1), delta(1, "{\"b\""), delta(0, "{}"), delta(1, ":1}")];
        for piece in pieces {
            assert_eq!(assembly.take(piece), Step::Nothing);
        }
        assembly.take(Piece::CallEnd { index: 1 });
        assembly.take(Piece::CallEnd { index: 0 });
        assert_eq!(assembly.take(Piece::Done(Finish::ToolUse)), Step::Done(Finish::ToolUse));
        let args: Vec<String> = assembly.into_parts().0.iter().map(|call| call.args.to_string()).collect();
        assert_eq!(args, ["{\"b\":1}", "{}"]);
    }

    #[test]
    fn a_call_that_never_became_whole_is_never_run() {
        let mut assembly = Assembly::default();
        assembly.take(start(0));
        assembly.take(delta(0, "{\"command\":\"rm"));
        assert_eq!(assembly.take(Piece::Done(Finish::ToolUse)), truncated());
        assert!(assembly.into_parts().0.is_empty());
    }

    // Holds B-18.
    #[test]
    fn a_fragment_out_of_order_or_one_call_too_many_is_the_models_error() {
        let mut assembly = Assembly::default();
        assert_eq!(assembly.take(delta(3, "x")), invalid());
        assert_eq!(assembly.take(Piece::CallEnd { index: 3 }), invalid());
        assert_eq!(assembly.take(start(0)), Step::Nothing);
        assert_eq!(assembly.take(start(0)), invalid());
        let mut many = Assembly::default();
        let refused = (0..40).filter(|index| many.take(start(*index)) == invalid()).count();
        assert_eq!(refused, 8);
    }

    #[test]
    fn another_model_s_answer_begins_with_nothing_of_the_one_before() {
        let mut assembly = Assembly::default();
        let name = |name: &str| ModelName::clip(name);
        assembly.take(Piece::Usage(Usage { output: 7, ..Usage::default() }));
        assembly.take(start(0));
        let why = ModelError::Timeout;
        let over = Piece::Failover { from: name("a/b"), why, to: name("c/d") };
        assert_eq!(assembly.take(over), Step::Again { from: name("a/b"), why, to: name("c/d") });
        assert_eq!(assembly.usage, Usage::default());
        assert_eq!(assembly.take(Piece::Done(Finish::Stop)), Step::Done(Finish::Stop));
    }

    // Holds B-17.
    #[test]
    fn arguments_beyond_a_calls_or_the_replys_bound_are_the_models_error() {
        let long = "x".repeat(16384);
        let mut assembly = Assembly::default();
        assembly.take(start(0));
        let taken = (0..40).take_while(|_| assembly.take(delta(0, &long)) == Step::Nothing).count();
        assert_eq!(taken, ARGS_BOUND / long.len());
        let mut many = Assembly::default();
        let fill = |index: u16, many: &mut Assembly| {
            many.take(start(index));
            (0..32).all(|_| many.take(delta(index, &long)) == Step::Nothing)
        };
        assert_eq!((0..8).take_while(|index| fill(*index, &mut many)).count(), 4);
    }

    // Holds B-73.
    #[test]
    fn reasoning_is_put_together_and_beyond_its_bounds_is_the_models_error() {
        let part = |seal, part: &str| Piece::Thought { seal, part: Text::clip(part) };
        let end = || Piece::ThoughtEnd { by: Text::clip("m"), hidden: false, spoken: true, calls: 1 };
        let mut assembly = Assembly::default();
        for piece in [part(false, "h"), part(false, "m"), part(true, "seal")] {
            assert_eq!(assembly.take(piece), Step::Nothing);
        }
        assert_eq!(assembly.take(end()), Step::Thought);
        let thought = Thought {
            by: Text::clip("m"),
            text: Text::clip("hm"),
            seal: Text::clip("seal"),
            spoken: true,
            calls: 1,
            ..Thought::default()
        };
        assert_eq!(assembly.into_parts().1, [thought]);
        let mut many = Assembly::default();
        assert_eq!((0..40).take_while(|_| many.take(end()) == Step::Thought).count(), THOUGHTS);
        let long = "x".repeat(16384);
        let mut much = Assembly::default();
        let taken = (0..40).take_while(|_| much.take(part(true, &long)) == Step::Nothing).count();
        assert_eq!(taken, THOUGHT_BOUND / long.len());
    }

    #[test]
    fn text_is_taken_apart_at_characters_and_nothing_of_it_is_lost() {
        let text = "ä€".repeat(10_000);
        let pieces = in_pieces(&text);
        assert!(pieces.len() > 3 && pieces.iter().all(|piece| !piece.is_empty()));
        assert_eq!(pieces.iter().map(|piece| piece.as_str()).collect::<String>(), text);
        assert!(in_pieces("").is_empty());
    }
}
