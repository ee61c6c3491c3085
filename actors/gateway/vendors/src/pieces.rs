//! Pieces of a model's answer as what is said of it: a call is told once it is whole.

use crate::answer::{Call, Said};
use crate::fault::{Fault, Kind};
use ipc_proto::ids::CallId;
use ipc_proto::model::{Piece, THOUGHT_BOUND, Thought};
use ipc_proto::tool::ARGS_BOUND;
use ipc_proto::{Name, Text};

/// Calls whose arguments are still coming, and the block of reasoning that is.
#[derive(Debug, Default)]
pub struct Calls {
    calls: Vec<(u16, Call)>,
    /// What it says, and its seal.
    thought: (String, String),
}

impl Calls {
    /// Takes a piece. A call is told once its arguments are whole, since fragments mean nothing.
    pub fn take(&mut self, piece: Piece, said: &mut Vec<Said>) {
        match piece {
            Piece::Text(text) if text.is_empty() => {}
            Piece::Text(text) => said.push(Said::Text(text.into_string())),
            // No client needs it but as the blocks below.
            Piece::Reasoning(_) => {}
            Piece::Thought { seal, part } => {
                let whole = if seal { &mut self.thought.1 } else { &mut self.thought.0 };
                if whole.len() + part.len() <= THOUGHT_BOUND {
                    whole.push_str(&part);
                } else {
                    said.push(Said::Failed(Fault::new(Kind::Upstream, "Reasoning is over its bound.")));
                }
            }
            Piece::ThoughtEnd { by, hidden, spoken, calls } => {
                let (text, seal) = std::mem::take(&mut self.thought);
                let (text, seal) = (Text::clip(&text), Text::clip(&seal));
                said.push(Said::Thought(Thought { by, text, seal, hidden, spoken, calls }));
            }
            Piece::CallStart { index, tool } => self.begin(index, tool),
            Piece::CallDelta { index, args } => {
                let call = self.calls.iter_mut().find(|(at, _)| *at == index);
                if let Some((_, call)) = call {
                    call.args.push_str(&args);
                    if call.args.len() > ARGS_BOUND {
                        said.push(Said::Failed(Fault::new(
                            Kind::Upstream,
                            "A call's arguments are over their bound.",
                        )));
                    }
                }
            }
            Piece::CallEnd { index } => {
                if let Some(place) = self.calls.iter().position(|(at, _)| *at == index) {
                    let (_, mut call) = self.calls.swap_remove(place);
                    if call.args.trim().is_empty() {
                        call.args = "{}".to_owned();
                    }
                    said.push(Said::Call(call));
                }
            }
            Piece::Failover { from, why, to } => {
                *self = Self::default();
                said.push(Said::Note(format!("{from} failed ({why}); {to} answers")));
                said.push(Said::Void);
                said.push(Said::By(to.into_string()));
            }
            Piece::Usage(usage) => said.push(Said::Usage(usage)),
            Piece::OverBudget { per } => said.push(Said::OverBudget(per)),
            Piece::Done(finish) => said.push(Said::Done(finish)),
            Piece::Failed(error) => said.push(Said::Failed(error.into())),
        }
    }

    fn begin(&mut self, index: u16, tool: Name) {
        self.calls.retain(|(at, _)| *at != index);
        self.calls.push((index, Call { id: CallId::random(), tool, args: String::new() }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::model::{Finish, ModelError, Usage};

    fn told(pieces: Vec<Piece>) -> Vec<Said> {
        let (mut calls, mut said) = (Calls::default(), Vec::new());
        pieces.into_iter().for_each(|piece| calls.take(piece, &mut said));
        said
    }

    fn start(index: u16, tool: &str) -> Piece {
        Piece::CallStart { index, tool: Name::clip(tool) }
    }

    fn delta(index: u16, args: &str) -> Piece {
        Piece::CallDelta { index, args: Text::clip(args) }
    }

    #[test]
    fn a_call_is_told_once_and_whole_whatever_lies_between_its_fragments() {
        let said = told(vec![
            Piece::Text(Text::clip("a")),
            start(0, "read"),
            delta(0, "{\"p\":"),
            start(1, "list"),
            Piece::CallEnd { index: 1 },
            delta(0, "1}"),
            Piece::CallEnd { index: 0 },
            start(2, "never"),
            delta(2, "{"),
            Piece::Reasoning(Text::clip("hm")),
            Piece::Done(Finish::ToolUse),
        ]);
        let calls: Vec<(&str, &str)> = said
            .iter()
            .filter_map(|said| match said {
                Said::Call(call) => Some((call.tool.as_str(), call.args.as_str())),
                _ => None,
            })
            .collect();
        assert_eq!(calls, [("list", "{}"), ("read", "{\"p\":1}")]);
        assert_eq!(
            (said.first(), said.last()),
            (Some(&Said::Text("a".into())), Some(&Said::Done(Finish::ToolUse)),)
        );
    }

    // Holds P7-78.
    #[test]
    fn what_a_model_said_before_another_took_over_is_void_and_open_calls_are_forgotten() {
        let failover =
            Piece::Failover { from: Text::clip("a/b"), why: ModelError::Timeout, to: Text::clip("c/d") };
        let said = told(vec![
            start(0, "read"),
            failover,
            delta(0, "x"),
            Piece::CallEnd { index: 0 },
            Piece::Usage(Usage::default()),
        ]);
        let [Said::Note(_), Said::Void, Said::By(model), Said::Usage(_)] = &said[..] else {
            panic!("{said:?}")
        };
        assert_eq!(model, "c/d");
    }

    #[test]
    fn a_block_of_reasoning_is_told_once_and_whole_and_void_with_what_was_said() {
        let part = |seal, part: &str| Piece::Thought { seal, part: Text::clip(part) };
        let end = || Piece::ThoughtEnd { by: Text::clip("m"), hidden: false, spoken: false, calls: 0 };
        let failover =
            Piece::Failover { from: Text::clip("a/b"), why: ModelError::Timeout, to: Text::clip("c/d") };
        let said = told(vec![
            part(false, "void"),
            failover,
            part(false, "h"),
            part(true, "s"),
            part(false, "m"),
            end(),
        ]);
        let [Said::Note(_), Said::Void, Said::By(_), Said::Thought(thought)] = &said[..] else {
            panic!("{said:?}")
        };
        assert_eq!((thought.text.as_str(), thought.seal.as_str()), ("hm", "s"));
        let long = "a".repeat(16384);
        assert!(told(vec![part(true, &long); 17]).iter().any(|said| matches!(said, Said::Failed(_))));
    }

    // Holds B-156.
    #[test]
    fn arguments_over_their_bound_end_the_answer() {
        let part = "a".repeat(16384);
        let mut pieces = vec![start(0, "read")];
        pieces.extend((0..33).map(|_| delta(0, &part)));
        assert!(told(pieces).iter().any(|said| matches!(said, Said::Failed(_))));
    }
}
