//! Puts a model's pieces together: text, and calls whose arguments mean nothing before they are whole.

use ipc_proto::ids::CallId;
use ipc_proto::model::{Finish, ModelError, Piece, Usage};
use ipc_proto::tool::{ARGS_BOUND, OUTPUT_BOUND, ToolCall};
use ipc_proto::{Name, Text};
use std::collections::BTreeMap;

/// Calls of one reply; more are dropped, and the reply is an error.
const CALLS: usize = 32;

/// A reply in the making.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    open: BTreeMap<u16, (Name, String)>,
    calls: Vec<ToolCall>,
    text_bytes: usize,
    pub(crate) usage: Usage,
}

/// What a piece comes to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nothing to show.
    Nothing,
    /// Text of the answer.
    Text(String),
    /// The end.
    Done(Finish),
    /// The end, by an error.
    Failed(ModelError),
}

impl Assembly {
    /// Takes a piece. Whatever breaks the order or a bound is an error of the model's, never ours.
    pub(crate) fn take(&mut self, piece: Piece) -> Step {
        match piece {
            Piece::Text(text) => {
                self.text_bytes += text.len();
                if self.text_bytes > OUTPUT_BOUND { truncated() } else { Step::Text(text.into_string()) }
            }
            Piece::Reasoning(_) => Step::Nothing,
            Piece::CallStart { index, tool } => {
                let full = self.open.len() + self.calls.len() >= CALLS;
                let fresh = !full && self.open.insert(index, (tool, String::new())).is_none();
                if fresh { Step::Nothing } else { invalid() }
            }
            Piece::CallDelta { index, args } => match self.open.get_mut(&index) {
                Some((_, whole)) if whole.len() + args.len() <= ARGS_BOUND => {
                    whole.push_str(&args);
                    Step::Nothing
                }
                _ => invalid(),
            },
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
            // A call that never became whole is never run.
            Piece::Done(_) if !self.open.is_empty() => truncated(),
            Piece::Done(finish) => Step::Done(finish),
            Piece::Failed(error) => Step::Failed(error),
        }
    }

    /// The whole calls, in order.
    pub(crate) fn into_calls(self) -> Vec<ToolCall> {
        self.calls
    }
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
        let args: Vec<String> = assembly.into_calls().iter().map(|call| call.args.to_string()).collect();
        assert_eq!(args, ["{\"b\":1}", "{}"]);
    }

    #[test]
    fn a_call_that_never_became_whole_is_never_run() {
        let mut assembly = Assembly::default();
        assembly.take(start(0));
        assembly.take(delta(0, "{\"command\":\"rm"));
        assert_eq!(assembly.take(Piece::Done(Finish::ToolUse)), truncated());
        assert!(assembly.into_calls().is_empty());
    }

    #[test]
    fn fragments_without_a_start_double_starts_and_too_many_calls_are_the_models_error() {
        let mut assembly = Assembly::default();
        assert_eq!(assembly.take(delta(3, "x")), invalid());
        assert_eq!(assembly.take(Piece::CallEnd { index: 3 }), invalid());
        assert_eq!(assembly.take(start(0)), Step::Nothing);
        assert_eq!(assembly.take(start(0)), invalid());
        let mut many = Assembly::default();
        let refused = (0..40).filter(|index| many.take(start(*index)) == invalid()).count();
        assert_eq!(refused, 8);
    }
}
