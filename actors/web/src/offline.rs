//! `web --offline check`: judges addresses by the functions that the live host judges them by, and reaches nothing.
//! `agentctl web check` executes this.
//!
//! Each line of standard input is `{"url":URL,"allow":[GLOBS],"resolve":{NAME:[IPS]},"redirect":[URLS]}`, and gets one
//! line: `{"verdict":"allow"|"deny","reason":WORDS}`. Without `allow` every public host is allowed. A name that
//! `resolve` does not speak of is judged by its name alone. Each redirect is taken from the place before it.

use address::{Target, Unfit};
use ipc_proto::dialer::Host;
use ipc_proto::web::{Mode, REDIRECTS, Rule};
use ipc_proto::{List, Text};
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::process::ExitCode;

const USAGE: u8 = 64;
/// Bytes of one line.
const LINE: u64 = 1024 * 1024;

/// One line.
#[derive(Deserialize)]
struct Case {
    url: String,
    #[serde(default)]
    allow: Option<Vec<Text<253>>>,
    #[serde(default)]
    resolve: Option<BTreeMap<String, Vec<String>>>,
    #[serde(default)]
    redirect: Option<Vec<String>>,
}

/// Why a line is refused; its content is not repeated.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum Malformed {
    #[error("not the JSON of a case: column {0}")]
    Json(usize),
    #[error("`allow` has more than 64 entries")]
    Allow,
}

/// Runs offline.
pub(crate) fn run(words: impl Iterator<Item = String>) -> ExitCode {
    if !words.eq(["check"]) {
        drop(writeln!(io::stderr(), "usage: web --offline check <LINES"));
        return ExitCode::from(USAGE);
    }
    match check(io::stdin().lock(), io::stdout().lock()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            drop(writeln!(io::stderr(), "web: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Judges line by line; whether all were well formed.
fn check(lines: impl BufRead, out: impl Write) -> io::Result<bool> {
    kit::answer_lines(LINE, lines, out, |line| {
        let (word, reason) = match judge_line(line)? {
            Ok(reason) => ("allow", reason),
            Err(reason) => ("deny", reason),
        };
        Ok::<_, Malformed>(Some(json!({ "verdict": word, "reason": reason })))
    })
}

/// Why it is allowed, or why it is denied.
type Verdict = Result<&'static str, &'static str>;

fn judge_line(line: &[u8]) -> Result<Verdict, Malformed> {
    let case: Case = serde_json::from_slice(line).map_err(|error| Malformed::Json(error.column()))?;
    let mode = if case.allow.is_some() { Mode::Allowlist } else { Mode::Unrestricted };
    let allow = List::new(case.allow.clone().unwrap_or_default()).map_err(|_| Malformed::Allow)?;
    Ok(case.judge(&Rule { mode, allow, ..Rule::default() }))
}

impl Case {
    fn judge(&self, rule: &Rule) -> Verdict {
        let redirects = self.redirect.as_deref().unwrap_or_default();
        if redirects.len() > usize::from(REDIRECTS) {
            return Err("more redirects than are followed");
        }
        let mut target = address::parse(&self.url).map_err(Unfit::phrase)?;
        self.reach(&target, rule).map_err(Unfit::phrase)?;
        for location in redirects {
            target = target.follow(location).map_err(Unfit::phrase)?;
            self.reach(&target, rule).map_err(Unfit::phrase)?;
        }
        Ok(if rule.mode == Mode::Allowlist { "the host is on the allow list" } else { "the host is public" })
    }

    /// The checks of the fetcher before it dials, then those of the dialer before it connects.
    fn reach(&self, target: &Target, rule: &Rule) -> Result<(), Unfit> {
        address::may_go(target, rule)?;
        let answers = self.resolve.iter().flatten();
        for (_, answer) in answers.filter(|(name, _)| name.parse::<Host>().as_ref() == Ok(&target.host)) {
            let addresses = answer.iter().map(|text| text.parse()).collect::<Result<Vec<_>, _>>();
            address::may_connect(&addresses.map_err(|_| Unfit::Unresolved)?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(lines: &str) -> (Vec<serde_json::Value>, bool) {
        let mut out = Vec::new();
        let whole = check(lines.as_bytes(), &mut out).unwrap();
        let out = String::from_utf8(out).unwrap();
        (out.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), whole)
    }

    fn verdict(line: &str) -> String {
        let (out, whole) = run(line);
        assert!(out.len() == 1 && whole, "{line}");
        out[0]["verdict"].as_str().unwrap().to_owned()
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "a row for each case")]
    fn a_place_is_allowed_if_url_lists_answers_and_every_redirect_are() {
        let allow = r#""allow":["api.example.com","*.example.org"]"#;
        let cases = [
            (r#"{"url":"https://api.example.com/x"}"#.to_owned(), "allow"),
            (format!(r#"{{"url":"https://api.example.com/x",{allow}}}"#), "allow"),
            (format!(r#"{{"url":"https://evil.test/",{allow}}}"#), "deny"),
            (r#"{"url":"https://api.example.com/x","allow":[]}"#.to_owned(), "deny"),
            (r#"{"url":"https://10.0.0.1/"}"#.to_owned(), "deny"),
            (
                format!(
                    r#"{{"url":"https://a.example.org/",{allow},"resolve":{{"A.example.org.":["9.9.9.9"]}}}}"#
                ),
                "allow",
            ),
            (
                format!(
                    r#"{{"url":"https://a.example.org/",{allow},"resolve":{{"a.example.org":["9.9.9.9","10.0.0.1"]}}}}"#
                ),
                "deny",
            ),
            (
                format!(r#"{{"url":"https://a.example.org/",{allow},"resolve":{{"a.example.org":[]}}}}"#),
                "deny",
            ),
            (
                format!(
                    r#"{{"url":"https://a.example.org/",{allow},"resolve":{{"a.example.org":["what"]}}}}"#
                ),
                "deny",
            ),
            (
                format!(
                    r#"{{"url":"https://a.example.org/",{allow},"resolve":{{"b.example.org":["10.0.0.1"]}}}}"#
                ),
                "allow",
            ),
            (
                format!(
                    r#"{{"url":"https://api.example.com/",{allow},"redirect":["/next","//a.example.org/x","?y"]}}"#
                ),
                "allow",
            ),
            (
                format!(r#"{{"url":"https://api.example.com/",{allow},"redirect":["https://evil.test/"]}}"#),
                "deny",
            ),
            (
                format!(
                    r#"{{"url":"https://api.example.com/",{allow},"redirect":["/1","/2","/3","/4","/5"]}}"#
                ),
                "allow",
            ),
            (
                format!(
                    r#"{{"url":"https://api.example.com/",{allow},"redirect":["/1","/2","/3","/4","/5","/6"]}}"#
                ),
                "deny",
            ),
            (
                format!(
                    r#"{{"url":"https://api.example.com/",{allow},"redirect":["//a.example.org/"],"resolve":{{"a.example.org":["127.0.0.1"]}}}}"#
                ),
                "deny",
            ),
        ];
        for (line, want) in cases {
            assert_eq!(verdict(&line), want, "{line}");
        }
    }

    #[test]
    fn a_malformed_line_is_told_by_its_number_and_the_rest_goes_on() {
        let long = "x".repeat(1 << 20);
        let lines = format!(
            "{{\"url\":\"https://a.example.org/\"}}\nnonsense\n\n{{\"url\":1}}\n{long}yy\n\u{0}\n{{\"url\":\"ftp://x/\"}}"
        );
        let (out, whole) = run(&lines);
        let of = |key: &str| out.iter().map(|line| line[key].clone()).collect::<Vec<_>>();
        let null = serde_json::Value::Null;
        assert_eq!(of("line"), [&null, &2.into(), &4.into(), &5.into(), &6.into(), &null].map(Clone::clone));
        assert!(!whole && !format!("{out:?}").contains("nonsense"));
        assert!(run("").1);
    }
}
