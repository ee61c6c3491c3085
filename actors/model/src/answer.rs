//! Answers of the models that run in this process, cut into the pieces of a stream. Pure functions of text: it waits
//! for, opens and asks nothing.

pub(crate) use dialect::count::request as asked;
pub(crate) use dialect::text::{PIECE, chunks};
use ipc_proto::model::{Finish, Piece, Request, Usage};
use ipc_proto::{Name, Text};
use std::time::Duration;

/// Bytes of one piece of an offline model: small, so that its reader has a real stream to deal with.
const SMALL: usize = 64;

/// One thing an answer does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Gives a piece.
    Give(Piece),
    /// Gives nothing for as long.
    Wait(Duration),
}

/// A call that an offline model asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ToolCall {
    /// The tool.
    pub(crate) tool: Name,
    /// Its arguments, JSON.
    pub(crate) args: String,
}

impl ToolCall {
    /// A call of `tool` with these arguments.
    pub(crate) fn new(tool: &str, args: &serde_json::Value) -> Self {
        Self { tool: Name::clip(tool), args: args.to_string() }
    }
}

/// A whole answer: words, or calls, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reply {
    /// Its text.
    pub(crate) text: String,
    /// The calls that it asks for.
    pub(crate) calls: Vec<ToolCall>,
}

impl Reply {
    /// Words alone.
    pub(crate) fn say(text: impl Into<String>) -> Self {
        Self { text: text.into(), calls: Vec::new() }
    }

    /// Calls alone.
    pub(crate) const fn ask(calls: Vec<ToolCall>) -> Self {
        Self { text: String::new(), calls }
    }

    /// The answer as a stream. Words beyond the request's bound of output are cut, as a model's are, and it ends before the
    /// first of the request's texts to end at.
    pub(crate) fn steps(&self, request: &Request) -> Vec<Step> {
        let within = within(&self.text, room(request));
        let (text, stopped) = dialect::until(within, request.stop.iter().map(|stop| stop.as_str()));
        let calls = if stopped.is_some() { &[][..] } else { &self.calls };
        let mut pieces: Vec<Piece> = chunks(text, SMALL).map(|part| Piece::Text(Text::clip(part))).collect();
        for (index, call) in (0..).zip(calls) {
            pieces.push(Piece::CallStart { index, tool: call.tool.clone() });
            pieces.extend(
                chunks(&call.args, SMALL).map(|part| Piece::CallDelta { index, args: Text::clip(part) }),
            );
            pieces.push(Piece::CallEnd { index });
        }
        let called: usize = calls.iter().map(|call| call.tool.len() + call.args.chars().count()).sum();
        let output = tokens(text.chars().count() + called);
        pieces.push(Piece::Usage(Usage { input: asked(request), output, ..Usage::default() }));
        pieces.push(Piece::Done(stopped.map_or_else(|| self.finish(text), Finish::StoppedAt)));
        pieces.into_iter().map(Step::Give).collect()
    }

    const fn finish(&self, said: &str) -> Finish {
        match (said.len() < self.text.len(), self.calls.is_empty()) {
            (true, _) => Finish::MaxTokens,
            (false, false) => Finish::ToolUse,
            (false, true) => Finish::Stop,
        }
    }
}

/// Characters that an answer to this request may have; a bound of 0 tokens is none.
pub(crate) fn room(request: &Request) -> usize {
    match usize::try_from(request.max_output) {
        Ok(0) | Err(_) => usize::MAX,
        Ok(tokens) => tokens.saturating_mul(4),
    }
}

/// As many characters of the text as there is room for.
pub(crate) fn within(text: &str, room: usize) -> &str {
    let end = text.char_indices().nth(room).map_or(text.len(), |(end, _)| end);
    text.get(..end).unwrap_or(text)
}

/// The usual estimate: four characters are a token.
pub(crate) fn tokens(characters: usize) -> u32 {
    u32::try_from(characters.div_ceil(4)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offline::testing::request;

    fn said(steps: &[Step]) -> String {
        let text = |step: &Step| match step {
            Step::Give(Piece::Text(text)) => Some(text.to_string()),
            _ => None,
        };
        steps.iter().filter_map(text).collect()
    }

    #[test]
    fn an_answer_beyond_its_bound_is_cut_and_says_so() {
        let mut request = request(&[], &[]);
        request.max_output = 2;
        let steps = Reply::say("123456789").steps(&request);
        assert_eq!(said(&steps), "12345678");
        assert_eq!(steps.last(), Some(&Step::Give(Piece::Done(Finish::MaxTokens))));
        request.max_output = 0;
        assert_eq!(said(&Reply::say("123456789").steps(&request)), "123456789");
    }

    #[test]
    fn an_answer_ends_before_the_first_stop_text_and_names_it() {
        let mut request = request(&[], &[]);
        for (stop, expected, end) in [
            (&["7", "45"][..], "123", Finish::StoppedAt(1)),
            (&["345", "4"], "123", Finish::StoppedAt(1)),
            (&["", "9"], "12345678", Finish::StoppedAt(1)),
            (&["90"], "123456789", Finish::ToolUse),
        ] {
            request.stop = ipc_proto::List::clip(stop.iter().map(|text| Text::clip(text)));
            let calls = vec![ToolCall::new("write", &serde_json::json!({}))];
            let steps = Reply { text: "123456789".to_owned(), calls }.steps(&request);
            assert_eq!(said(&steps), expected);
            assert_eq!(steps.last(), Some(&Step::Give(Piece::Done(end))));
            let calls = steps.iter().any(|step| matches!(step, Step::Give(Piece::CallStart { .. })));
            assert_eq!(calls, end == Finish::ToolUse, "what would have come after it");
        }
    }

    #[test]
    fn a_call_comes_in_fragments_and_its_end_is_told() {
        let args = serde_json::json!({ "content": "x".repeat(200) });
        let reply = Reply::ask(vec![ToolCall::new("write", &args)]);
        let steps = reply.steps(&request(&[], &[]));
        let fragments =
            steps.iter().filter(|step| matches!(step, Step::Give(Piece::CallDelta { .. }))).count();
        assert!(fragments >= 4, "{fragments}");
        assert_eq!(steps[steps.len() - 3], Step::Give(Piece::CallEnd { index: 0 }));
        assert_eq!(steps.last(), Some(&Step::Give(Piece::Done(Finish::ToolUse))));
    }

    #[test]
    fn four_characters_are_a_token() {
        assert_eq!([0, 1, 4, 5].map(tokens), [0, 1, 1, 2]);
    }
}
