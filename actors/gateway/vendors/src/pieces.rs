//! Pieces of a model's answer become events of a reply: a call is one event once it is whole.

use crate::answer::{Call, ReplyEvent};
use crate::fault::{Fault, Kind};
use ipc_proto::ids::CallId;
use ipc_proto::model::{Piece, THOUGHT_BOUND, Thought};
use ipc_proto::tool::ARGS_BOUND;
use ipc_proto::{Name, Text};

/// Calls whose arguments are still coming, and the block of reasoning that is.
#[derive(Debug, Default)]
pub struct Calls {
    calls: Vec<(u16, Call)>,
    /// Text and seal of the block of reasoning.
    thought: (String, String),
}

impl Calls {
    /// Adds a piece. A call is emitted once its arguments are whole, since fragments mean nothing.
    pub fn take(&mut self, piece: Piece, said: &mut Vec<ReplyEvent>) {
        match piece {
            Piece::Text(text) if text.is_empty() => {}
            Piece::Text(text) => said.push(ReplyEvent::Text(text.into_string())),
            // No client needs it but as the blocks below.
            Piece::Reasoning(_) => {}
            Piece::Thought { seal, part } => {
                let whole = if seal { &mut self.thought.1 } else { &mut self.thought.0 };
                if whole.len() + part.len() <= THOUGHT_BOUND {
                    whole.push_str(&part);
                } else {
                    said.push(ReplyEvent::Failed(Fault::new(Kind::Upstream, "Reasoning is over its bound.")));
                }
            }
            Piece::ThoughtEnd { by, hidden, spoken, calls } => {
                let (text, seal) = std::mem::take(&mut self.thought);
                let (text, seal) = (Text::clip(&text), Text::clip(&seal));
                said.push(ReplyEvent::Thought(Thought { by, text, seal, hidden, spoken, calls }));
            }
            Piece::CallStart { index, tool } => self.begin(index, tool),
            Piece::CallDelta { index, args } => {
                let call = self.calls.iter_mut().find(|(at, _)| *at == index);
                if let Some((_, call)) = call {
                    call.args.push_str(&args);
                    if call.args.len() > ARGS_BOUND {
                        said.push(ReplyEvent::Failed(Fault::new(
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
                    said.push(ReplyEvent::Call(call));
                }
            }
            Piece::Failover { from, why, to } => {
                *self = Self::default();
                said.push(ReplyEvent::Note(format!("{from} failed ({why}); {to} answers")));
                said.push(ReplyEvent::Void);
                said.push(ReplyEvent::By(to.into_string()));
            }
            Piece::Usage(usage) => said.push(ReplyEvent::Usage(usage)),
            Piece::OverBudget { per } => said.push(ReplyEvent::OverBudget(per)),
            Piece::Done(finish) => said.push(ReplyEvent::Done(finish)),
            Piece::Failed(error) => said.push(ReplyEvent::Failed(error.into())),
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

    fn told(pieces: Vec<Piece>) -> Vec<ReplyEvent> {
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
                ReplyEvent::Call(call) => Some((call.tool.as_str(), call.args.as_str())),
                _ => None,
            })
            .collect();
        assert_eq!(calls, [("list", "{}"), ("read", "{\"p\":1}")]);
        assert_eq!(
            (said.first(), said.last()),
            (Some(&ReplyEvent::Text("a".into())), Some(&ReplyEvent::Done(Finish::ToolUse)),)
        );
    }

    // Holds P7-78.
    #[test]
    fn a_failover_voids_text_and_open_calls() {
        let failover =
            Piece::Failover { from: Text::clip("a/b"), why: ModelError::Timeout, to: Text::clip("c/d") };
        let said = told(vec![
            start(0, "read"),
            failover,
            delta(0, "x"),
            Piece::CallEnd { index: 0 },
            Piece::Usage(Usage::default()),
        ]);
        let [ReplyEvent::Note(_), ReplyEvent::Void, ReplyEvent::By(model), ReplyEvent::Usage(_)] = &said[..]
        else {
            panic!("{said:?}")
        };
        assert_eq!(model, "c/d");
    }

    #[test]
    fn a_block_of_reasoning_is_sent_once_and_whole() {
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
        let [ReplyEvent::Note(_), ReplyEvent::Void, ReplyEvent::By(_), ReplyEvent::Thought(thought)] =
            &said[..]
        else {
            panic!("{said:?}")
        };
        assert_eq!((thought.text.as_str(), thought.seal.as_str()), ("hm", "s"));
        let long = "a".repeat(16384);
        assert!(told(vec![part(true, &long); 17]).iter().any(|said| matches!(said, ReplyEvent::Failed(_))));
    }

    // Holds B-156.
    #[test]
    fn arguments_over_their_bound_end_the_answer() {
        let part = "a".repeat(16384);
        let mut pieces = vec![start(0, "read")];
        pieces.extend((0..33).map(|_| delta(0, &part)));
        assert!(told(pieces).iter().any(|said| matches!(said, ReplyEvent::Failed(_))));
    }
}
