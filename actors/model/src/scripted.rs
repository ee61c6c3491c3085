//! `scripted/FILE`: replays a file of replies, with delays and stream boundaries, so that the layers above a model can
//! be tried against everything a model may do. The format is in docs/reference/test-models.md.
//!
//! It reads files in one folder, at the time of use, and follows no name out of it.

use crate::answer::{PIECE, Reply, Step, asked, chunks, tokens};
use ipc_proto::model::{Finish, ModelError, Piece, Purpose, Request, Role, Usage};
use ipc_proto::{Name, Text};
use serde::Deserialize;
use serde_json::Value;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

/// Bytes of a script.
const FILE_BOUND: u64 = 4 * 1024 * 1024;
/// The longest delay.
const DELAY_BOUND: u64 = 600_000;
/// Seconds that a scripted rate limit asks to wait, unless the script says.
const RETRY_AFTER: u32 = 1;

/// One line of a script: a reply, or the tools that a turn is said to need.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(rename = "match")]
    matches: Option<String>,
    pieces: Option<Vec<Scripted>>,
    plan: Option<Vec<Name>>,
}

/// One entry of `pieces`; each is one key, `call`, `text` and `error` with options beside it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scripted {
    text: Option<String>,
    reasoning: Option<String>,
    call: Option<Call>,
    delay_ms: Option<u64>,
    error: Option<Fault>,
    usage: Option<Tokens>,
    done: Option<Finish>,
    /// Every character is a piece of its own.
    #[serde(default)]
    split: bool,
    /// The wait of `rate_limited`.
    retry_after_s: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    tool: Name,
    /// A JSON value; a string is sent as it stands, so that broken arguments can be scripted.
    args: Value,
    /// The call's end is not told.
    #[serde(default)]
    open: bool,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Fault {
    RateLimited,
    Timeout,
    Truncated,
    InvalidJson,
    Server,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tokens {
    input: u32,
    output: u32,
}

/// The scripts there are, in order of name.
pub(crate) fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let regular = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let named = regular.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = named.filter(|name| is_name(name)).collect();
    names.sort();
    names
}

/// The script's answer to this request.
pub(crate) fn answer(folder: &Path, file: &str, request: &Request) -> Result<Vec<Step>, ModelError> {
    let script = read(folder, file)?;
    if request.purpose == Purpose::Plan {
        return Ok(Reply::say(plan(&script, request)).steps(request));
    }
    let pieces = choose(&script, request)?;
    Ok(steps(pieces, request))
}

/// 1 to 64 letters, digits, `.`, `_` and `-`, the first a letter or digit: no name leads out of the folder.
fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    name.len() <= 64 && name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(plain)
}

fn read(folder: &Path, file: &str) -> Result<Vec<Line>, ModelError> {
    let path = folder.join(file);
    // Anything but a regular file could make the open, and with it the process, wait.
    if !is_name(file) || !path.symlink_metadata().is_ok_and(|about| about.is_file()) {
        return Err(ModelError::UnknownModel);
    }
    let mut text = String::new();
    let opened = std::fs::File::open(&path).map_err(|_| ModelError::Script)?;
    let size = opened.take(FILE_BOUND + 1).read_to_string(&mut text).map_err(|_| ModelError::Script)?;
    if u64::try_from(size).is_ok_and(|size| size > FILE_BOUND) {
        return Err(ModelError::Script);
    }
    parse(&text)
}

fn parse(text: &str) -> Result<Vec<Line>, ModelError> {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let parsed = lines.map(|(number, line)| {
        let line = serde_json::from_str::<Line>(line).map_err(|fault| {
            // The place and not the content: a script may hold anything.
            tracing::warn!(line = number, column = fault.column(), "a line of the script cannot be read");
            ModelError::Script
        })?;
        if line.pieces.is_some() == line.plan.is_some() {
            tracing::warn!(line = number, "a line of the script is neither a reply nor a plan");
            return Err(ModelError::Script);
        }
        Ok(line)
    });
    parsed.collect()
}

/// The first reply whose `match` is in the last message; else, of those without one, that of this request's turn.
fn choose<'a>(script: &'a [Line], request: &Request) -> Result<&'a [Scripted], ModelError> {
    let replies = || script.iter().filter_map(|line| Some((line, line.pieces.as_deref()?)));
    let turn = request.messages.iter().filter(|message| message.role == Role::Assistant).count();
    let in_turn = || replies().filter(|(line, _)| line.matches.is_none()).nth(turn);
    let chosen = replies().find(|(line, _)| fits(line, request)).or_else(in_turn);
    chosen.map(|(_, pieces)| pieces).ok_or(ModelError::Script)
}

/// The first plan whose `match` is in the last message, or that has none, as JSON; without one, the empty plan.
fn plan(script: &[Line], request: &Request) -> String {
    let chosen = script.iter().filter(|line| line.matches.is_none() || fits(line, request));
    let tools = chosen.filter_map(|line| line.plan.as_ref()).next().into_iter().flatten();
    tools.map(Name::as_str).collect::<Value>().to_string()
}

fn fits(line: &Line, request: &Request) -> bool {
    let last = request.messages.last().map_or("", |message| message.text.as_str());
    line.matches.as_ref().is_some_and(|part| last.contains(part.as_str()))
}

/// A reply that says neither `done` nor `error` is ended here, as is one without `usage` counted here.
fn steps(pieces: &[Scripted], request: &Request) -> Vec<Step> {
    let mut playing = Playing::default();
    for piece in pieces {
        playing.take(piece);
        if playing.ended {
            return playing.steps;
        }
        if let Some(finish) = piece.done {
            return playing.end(Some(finish), request);
        }
    }
    playing.end(None, request)
}

/// A reply being turned into steps.
#[derive(Default)]
struct Playing {
    steps: Vec<Step>,
    calls: u16,
    said: usize,
    counted: bool,
    ended: bool,
}

impl Playing {
    fn take(&mut self, piece: &Scripted) {
        if let Some(ms) = piece.delay_ms {
            self.steps.push(Step::Wait(Duration::from_millis(ms.min(DELAY_BOUND))));
        }
        if let Some(text) = &piece.reasoning {
            self.words(text, piece.split, |part| Piece::Reasoning(Text::clip(part)));
        }
        if let Some(text) = &piece.text {
            self.words(text, piece.split, |part| Piece::Text(Text::clip(part)));
        }
        if let Some(call) = &piece.call {
            self.call(call, piece.split);
        }
        if let Some(Tokens { input, output }) = piece.usage {
            self.counted = true;
            self.give(Piece::Usage(Usage { input, output, ..Usage::default() }));
        }
        if let Some(fault) = piece.error {
            self.ended = true;
            self.give(Piece::Failed(fault.as_error(piece.retry_after_s)));
        }
    }

    fn give(&mut self, piece: Piece) {
        self.steps.push(Step::Give(piece));
    }

    fn words(&mut self, text: &str, split: bool, piece: impl Fn(&str) -> Piece) {
        self.said += text.chars().count();
        chunks(text, if split { 1 } else { PIECE }).for_each(|part| self.give(piece(part)));
    }

    fn call(&mut self, call: &Call, split: bool) {
        let index = self.calls;
        self.calls = self.calls.saturating_add(1);
        let args = match &call.args {
            Value::String(raw) => raw.clone(),
            value => value.to_string(),
        };
        self.give(Piece::CallStart { index, tool: call.tool.clone() });
        self.words(&args, split, |part| Piece::CallDelta { index, args: Text::clip(part) });
        if !call.open {
            self.give(Piece::CallEnd { index });
        }
    }

    fn end(mut self, finish: Option<Finish>, request: &Request) -> Vec<Step> {
        if !self.counted {
            let usage = Usage { input: asked(request), output: tokens(self.said), ..Usage::default() };
            self.give(Piece::Usage(usage));
        }
        let asks = if self.calls > 0 { Finish::ToolUse } else { Finish::Stop };
        self.give(Piece::Done(finish.unwrap_or(asks)));
        self.steps
    }
}

impl Fault {
    fn as_error(self, retry_after_s: Option<u32>) -> ModelError {
        match self {
            Self::RateLimited => {
                ModelError::RateLimited { retry_after_s: retry_after_s.unwrap_or(RETRY_AFTER) }
            }
            Self::Timeout => ModelError::Timeout,
            Self::Truncated => ModelError::Truncated,
            Self::InvalidJson => ModelError::InvalidJson,
            Self::Server => ModelError::Server { status: 500 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offline::testing::request;

    fn played(script: &str, messages: &[(&str, &str)]) -> Result<Vec<Step>, ModelError> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("s"), script).unwrap();
        answer(folder.path(), "s", &request(messages, &[]))
    }

    fn pieces(steps: Result<Vec<Step>, ModelError>) -> Vec<Piece> {
        let piece = |step| if let Step::Give(piece) = step { Some(piece) } else { None };
        steps
            .unwrap()
            .into_iter()
            .filter_map(piece)
            .filter(|piece| !matches!(piece, Piece::Usage(_)))
            .collect()
    }

    fn said(script: &str, messages: &[(&str, &str)]) -> Option<String> {
        match pieces(played(script, messages)).into_iter().next() {
            Some(Piece::Text(text)) => Some(text.into_string()),
            _ => None,
        }
    }

    #[test]
    fn the_assistants_messages_so_far_choose_the_line_unless_a_match_does() {
        let script = "# two replies and an exception\n{\"pieces\":[{\"text\":\"one\"}]}\n\n\
                      {\"match\":\"urgent\",\"pieces\":[{\"text\":\"now\"}]}\n{\"pieces\":[{\"text\":\"two\"}]}";
        assert_eq!(said(script, &[("user", "a")]).unwrap(), "one");
        assert_eq!(said(script, &[("user", "a"), ("assistant", "one"), ("user", "b")]).unwrap(), "two");
        assert_eq!(said(script, &[("user", "urgent")]).unwrap(), "now");
        let third = [("assistant", "one"), ("assistant", "two"), ("user", "c")];
        assert_eq!(played(script, &third), Err(ModelError::Script));
    }

    #[test]
    fn a_plan_is_answered_from_a_line_of_its_own_that_is_no_reply() {
        let planned = |script: &str| {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("s"), script).unwrap();
            let mut request = request(&[("user", "urgent")], &[]);
            request.purpose = Purpose::Plan;
            match pieces(answer(folder.path(), "s", &request)).into_iter().next() {
                Some(Piece::Text(text)) => text.into_string(),
                other => panic!("{other:?}"),
            }
        };
        let reply = r#"{"pieces":[{"text":"one"}]}"#;
        let plan = r#"{"plan":["bash","read"]}"#;
        assert_eq!(planned(reply), "[]");
        assert_eq!(planned(&format!("{reply}\n{plan}")), r#"["bash","read"]"#);
        assert_eq!(
            planned(&format!("{{\"match\":\"calm\",\"plan\":[\"x\"]}}\n{plan}")),
            r#"["bash","read"]"#
        );
        assert_eq!(planned(&format!("{{\"match\":\"urg\",\"plan\":[]}}\n{plan}")), "[]");
        let both = format!("{plan}\n{reply}\n{{\"pieces\":[{{\"text\":\"two\"}}]}}");
        assert_eq!(said(&both, &[("user", "a")]).unwrap(), "one");
        assert_eq!(said(&both, &[("assistant", "one")]).unwrap(), "two");
        for neither in ["{}", r#"{"plan":[],"pieces":[]}"#] {
            assert_eq!(played(neither, &[]), Err(ModelError::Script), "{neither}");
        }
    }

    #[test]
    fn pieces_keep_their_boundaries_and_can_be_split() {
        let script =
            r#"{"pieces":[{"text":"ab"},{"text":"cé","split":true},{"delay_ms":5},{"done":"max_tokens"}]}"#;
        let word = |text: &str| Piece::Text(Text::clip(text));
        let expected = [word("ab"), word("c"), word("é"), Piece::Done(Finish::MaxTokens)];
        assert_eq!(pieces(played(script, &[])), expected);
        assert!(played(script, &[]).unwrap().contains(&Step::Wait(Duration::from_millis(5))));
    }

    #[test]
    fn a_call_is_whole_unless_it_is_left_open_or_broken() {
        let script = r#"{"pieces":[{"call":{"tool":"bash","args":{"command":"ls"}}},{"call":{"tool":"x","args":"{\"a","open":true}}]}"#;
        let (bash, x) = (Name::clip("bash"), Name::clip("x"));
        let delta = |index, args: &str| Piece::CallDelta { index, args: Text::clip(args) };
        let expected = [
            Piece::CallStart { index: 0, tool: bash },
            delta(0, r#"{"command":"ls"}"#),
            Piece::CallEnd { index: 0 },
            Piece::CallStart { index: 1, tool: x },
            delta(1, r#"{"a"#),
            Piece::Done(Finish::ToolUse),
        ];
        assert_eq!(pieces(played(script, &[])), expected);
    }

    #[test]
    fn an_error_is_the_end() {
        for (error, becomes) in [
            (r#""error":"rate_limited","retry_after_s":7"#, ModelError::RateLimited { retry_after_s: 7 }),
            (r#""error":"timeout""#, ModelError::Timeout),
            (r#""error":"truncated""#, ModelError::Truncated),
            (r#""error":"invalid_json""#, ModelError::InvalidJson),
            (r#""error":"server""#, ModelError::Server { status: 500 }),
        ] {
            let script = format!(r#"{{"pieces":[{{"text":"a"}},{{{error}}},{{"text":"b"}}]}}"#);
            let pieces = pieces(played(&script, &[]));
            assert_eq!(pieces[1..], [Piece::Failed(becomes)], "{error}");
        }
    }

    #[test]
    fn an_unreadable_script_fails_and_no_name_leaves_the_folder() {
        for script in ["{", r#"{"pieces":[{"txt":"a"}]}"#, r#"{"pieces":3}"#, ""] {
            assert_eq!(played(script, &[]), Err(ModelError::Script), "{script}");
        }
        let folder = tempfile::tempdir().unwrap();
        let scripts = folder.path().join("scripts");
        std::fs::create_dir_all(scripts.join("sub")).unwrap();
        std::fs::write(folder.path().join("out"), r#"{"pieces":[]}"#).unwrap();
        std::os::unix::fs::symlink("../out", scripts.join("link")).unwrap();
        for name in ["../out", "/etc/passwd", "", ".", "sub", "link", ".hidden", "none"] {
            let request = request(&[], &[]);
            assert_eq!(answer(&scripts, name, &request), Err(ModelError::UnknownModel), "{name}");
        }
        assert_eq!(files(&scripts), [""; 0]);
    }
}
