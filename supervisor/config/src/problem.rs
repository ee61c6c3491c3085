//! The faults of a configuration, collected so that all are reported at once.
//!
//! A message names the key, the fault and the valid values. Text from the file is shown escaped and cut, and never where a secret
//! could stand.

use std::fmt::{self, Write as _};

/// The most problems that are shown; the rest is counted.
pub const SHOWN: usize = 1000;
/// The most characters of the file's text in a message.
const QUOTED: usize = 60;

/// One error.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The line, counted from 1.
    pub line: usize,
    /// The key, such as `agent.helper.model`.
    pub key: String,
    /// The fault, and the valid values.
    pub what: String,
}

/// All errors so far.
#[derive(Debug, Default)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// Adds one: `what` is wrong at `key`; `valid` describes the valid values.
    pub fn add(&mut self, line: usize, key: &str, what: impl fmt::Display, valid: impl fmt::Display) {
        self.0.push(Problem { line, key: key.to_owned(), what: format!("{what}; valid: {valid}") });
    }

    /// Adds an error of the file's syntax, which has no valid values.
    pub fn add_syntax(&mut self, line: usize, what: &str) {
        self.0.push(Problem { line, key: "syntax".to_owned(), what: quoted_free(what) });
    }

    /// Returns true if there is no error.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The report on the file that is called `file`: sorted by line, each problem once. For a line that is not valid TOML only that is
    /// reported, since any guess of its value could be wrong.
    #[must_use]
    pub fn report(mut self, file: &str) -> Report {
        let syntax = |p: &Problem| p.key == "syntax";
        let broken: Vec<_> = self.0.iter().filter(|p| syntax(p)).map(|p| p.line).collect();
        self.0.retain(|p| syntax(p) || !broken.contains(&p.line));
        self.0.sort();
        self.0.dedup();
        Report { file: file.escape_debug().to_string(), problems: self.0 }
    }
}

/// All problems of one file; displayed one per line as `FILE:LINE: KEY: ERROR; valid: ...`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    file: String,
    /// The problems, by line.
    pub problems: Vec<Problem>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Problem { line, key, what } in self.problems.iter().take(SHOWN) {
            writeln!(f, "{}:{line}: {key}: {what}", self.file)?;
        }
        match self.problems.len().checked_sub(SHOWN) {
            Some(more @ 1..) => writeln!(f, "{}: and {more} more", self.file),
            _ => Ok(()),
        }
    }
}

/// Text of the file as messages show it: in quotes, escaped, cut.
#[must_use]
pub fn quoted(text: &str) -> String {
    let cut = if text.chars().nth(QUOTED).is_some() { "..." } else { "" };
    let shown: String = text.chars().take(QUOTED).collect();
    format!("\"{}{cut}\"", shown.escape_debug())
}

/// A parser's own message: it may contain a character of the file.
fn quoted_free(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        // Writing to a string cannot fail.
        let _ = if c.is_control() { write!(out, "{}", c.escape_debug()) } else { write!(out, "{c}") };
    }
    out
}

/// The words, separated by commas.
pub fn listed<T: AsRef<str>>(words: impl IntoIterator<Item = T>) -> String {
    let mut out = String::new();
    for word in words {
        if !out.is_empty() {
            out.push_str(", ");
        }
        out.push_str(word.as_ref());
    }
    out
}

/// `, nearest is WORD` if one of the valid words is similar to the text, else nothing.
#[must_use]
pub fn nearest<T: AsRef<str>>(written: &str, valid: &[T]) -> String {
    let far = written.chars().count().div_ceil(3);
    let close = valid.iter().map(|word| (distance(written, word.as_ref()), word.as_ref()));
    match close.min().filter(|(steps, _)| *steps <= far) {
        Some((_, word)) => format!(", nearest is {word}"),
        None => String::new(),
    }
}

/// Letters to change. Long text is cut first: it is similar to no key.
fn distance(a: &str, b: &str) -> usize {
    let cut = |text: &str| text.chars().take(100).collect::<String>();
    strsim::levenshtein(&cut(a), &cut(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_the_letters_to_change() {
        for (a, b, steps) in [
            ("mode", "mode", 0),
            ("moed", "mode", 2),
            ("mod", "mode", 1),
            ("", "abc", 3),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!((distance(a, b), distance(b, a)), (steps, steps), "{a} {b}");
        }
    }

    #[test]
    fn only_a_near_word_is_suggested() {
        assert_eq!(nearest("moed", &["level", "mode"]), ", nearest is mode");
        assert_eq!(nearest("mod", &["level", "mode"]), ", nearest is mode");
        assert_eq!(nearest("prompt_fiel", &["profile", "prompt_file"]), ", nearest is prompt_file");
        assert_eq!(nearest("ab", &["xy"]), "");
        assert_eq!(nearest("gateway", &["router", "model"]), "");
    }

    #[test]
    fn a_line_that_toml_cannot_read_reports_nothing_else() {
        let mut problems = Problems::default();
        problems.add(2, "host.mode", "guessed", "x");
        problems.add(3, "host.mode", "true", "x");
        problems.add_syntax(2, "broken \u{1b}[0m");
        let report = problems.report("a\nb");
        let lines = "a\\nb:2: syntax: broken \\u{1b}[0m\na\\nb:3: host.mode: true; valid: x\n";
        assert_eq!(report.to_string(), lines);
    }

    #[test]
    fn shown_text_is_escaped_and_cut() {
        assert_eq!(quoted("a\u{1b}\"\n"), r#""a\u{1b}\"\n""#);
        assert_eq!(quoted(&"x".repeat(61)), format!("\"{}...\"", "x".repeat(60)));
    }
}
