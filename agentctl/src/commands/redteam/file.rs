//! A file of probes: JSON lines, each a command for a runner's jail and its expected result. The file is read whole before
//! anything runs, and nothing runs if one line is wrong.

use serde::Deserialize;
use std::collections::HashSet;

/// Most lines.
const LINES: usize = 10_000;
/// Bytes of a command at most, as of one word of a sandbox's command.
const COMMAND: usize = 8192;
/// Most bytes of an id.
const ID: usize = 128;
/// Most bytes of what a probe tries, in words.
const ATTEMPT: usize = 1024;

/// One probe.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Probe {
    pub(super) id: String,
    pub(super) command: String,
    /// The attempt in words.
    pub(super) attempt: Option<String>,
    pub(super) expectation: Expectation,
}

/// The expected result of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Expectation {
    pub(super) ending: Ending,
    /// The record must say that it ran.
    pub(super) audited: bool,
}

/// The expected ending of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// It ends with status 0.
    Ok,
    /// Its attempt is refused: it ends with another status, by a signal, or by a limit of its jail.
    Refused,
    /// The host and its processes are unchanged, whichever way it ends.
    Contained,
}

/// A line that is wrong.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    /// From 1.
    pub(super) line: usize,
    pub(super) why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    id: String,
    attempt: Option<String>,
    command: String,
    expect: String,
}

/// Reads a file. Blank lines are left out.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<Probe>, Wrong> {
    let text = str::from_utf8(bytes).map_err(|_| {
        let well = bytes.split(|byte| *byte == b'\n').take_while(|line| str::from_utf8(line).is_ok());
        Wrong { line: 1 + well.count(), why: "it is not UTF-8".to_owned() }
    })?;
    let (mut probes, mut ids) = (Vec::new(), HashSet::new());
    for (line, words) in (1..).zip(text.lines()) {
        if words.trim().is_empty() {
            continue;
        }
        let probe = one(words).map_err(|why| Wrong { line, why })?;
        if !ids.insert(probe.id.clone()) {
            return Err(Wrong { line, why: format!("the id {} stands in an earlier line too", probe.id) });
        }
        if probes.len() == LINES {
            return Err(Wrong { line, why: format!("there are more than {LINES} probes") });
        }
        probes.push(probe);
    }
    if probes.is_empty() {
        return Err(Wrong { line: 1, why: "there is no probe in it".to_owned() });
    }
    Ok(probes)
}

fn one(words: &str) -> Result<Probe, String> {
    let Line { id, attempt, command, expect } =
        serde_json::from_str(words).map_err(|error| reason(&error))?;
    let bound = |what: &str, text: &str, most: usize| match text.len() {
        0 => Err(format!("{what} is empty")),
        length if length > most => Err(format!("{what} has {length} bytes; {most} are allowed")),
        _ if text.contains('\0') => Err(format!("{what} has a zero byte, which no command line can have")),
        _ => Ok(()),
    };
    bound("id", &id, ID)?;
    bound("command", &command, COMMAND)?;
    attempt.as_ref().map_or(Ok(()), |attempt| bound("attempt", attempt, ATTEMPT))?;
    Ok(Probe { expectation: expectation(&expect)?, id, command, attempt })
}

/// The parser's error without its line number, which is always 1.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or(&text).to_owned() + &format!(" (column {})", error.column())
}

/// `ok`, `refused`, `contained` or `refused-or-contained`; with `, audited` the record must say so as well.
fn expectation(expect: &str) -> Result<Expectation, String> {
    let mut words = expect.split(',').map(str::trim);
    let ending = match words.next() {
        Some("ok") => Ending::Ok,
        Some("refused") => Ending::Refused,
        // A refused attempt is contained.
        Some("contained" | "refused-or-contained") => Ending::Contained,
        _ => return Err(unknown(expect)),
    };
    match (words.next(), words.next()) {
        (None, None) => Ok(Expectation { ending, audited: false }),
        (Some("audited"), None) => Ok(Expectation { ending, audited: true }),
        _ => Err(unknown(expect)),
    }
}

fn unknown(expect: &str) -> String {
    format!(
        "expect is {expect:?}; there are ok, refused, contained and refused-or-contained, each with `, audited` after it or not"
    )
}

impl Expectation {
    /// Its name in the file.
    pub(super) const fn word(self) -> &'static str {
        match self.ending {
            Ending::Ok => "ok",
            Ending::Refused => "refused",
            Ending::Contained => "contained",
        }
    }
}
