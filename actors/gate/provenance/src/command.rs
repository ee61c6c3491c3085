//! The programs of a shell command, however they are wrapped, and the dangers in it. This informs policy and the person who is
//! asked; the jail confines. A command that is not understood whole is never allowed: a reader of the first word alone is easily
//! tricked around a list of allowed programs. Code in another language is not understood, nor are words that are only known when
//! they run and decide what runs.
//!
//! This is own code rather than a shell's full parser: it is linear and bounded in depth on hostile text, and may give up on rare
//! forms.

mod code;
mod danger;
mod git;
mod modes;
mod sed;
mod split;
mod unwrap;
mod variables;

use crate::text::is_invisible;
use split::{Simple, Word, split};
use unwrap::{Inner, base, unwrap};

/// The programs of a command line, and the verdict on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// True if it was understood whole and holds no danger.
    pub allowed: bool,
    /// True if every program that it runs, and all that decides what these do, stands in it and was parsed.
    pub understood: bool,
    /// The reason, in a fixed phrase.
    pub reason: &'static str,
    /// Every program named, as written without quotes, in order, each once.
    pub programs: Vec<String>,
    /// The first danger that was found, in a fixed phrase.
    pub danger: Option<&'static str>,
}

/// Bytes of a command that are read.
const BOUND: usize = 32 * 1024;
/// Commands inside commands that are followed.
const DEPTH: usize = 8;
/// Programs that are reported.
const PROGRAMS: usize = 64;
/// Program runs in one command.
const RUNS: usize = 256;
/// Words of one program. With more, the programs that it runs in turn are not followed.
const WORDS: usize = 1024;
/// Programs that one program may be told to run.
const TOLD: usize = 8;

/// Judges a shell command.
#[must_use]
pub fn verdict(command: &str) -> Command {
    let mut survey = Survey::default();
    let odd = |char: char| is_invisible(char) || (char.is_control() && !matches!(char, '\n' | '\t'));
    let early = [
        (command.trim().is_empty(), "no command"),
        (command.len() > BOUND, "longer than a command that is read"),
        (command.contains(odd), "a control or invisible character"),
    ];
    if let Some((_, reason)) = early.iter().find(|(hit, _)| *hit) {
        return Command { allowed: false, understood: false, reason, programs: Vec::new(), danger: None };
    }
    survey.script(command, 0);
    let reason = match (survey.unread, survey.danger) {
        (true, _) => "not understood whole",
        (false, Some(danger)) => danger,
        (false, None) => "nothing dangerous in it",
    };
    let allowed = !survey.unread && survey.danger.is_none();
    Command { allowed, understood: !survey.unread, reason, programs: survey.programs, danger: survey.danger }
}

/// It changes which programs or code are found under a name.
const CHANGES: &str = "it changes how programs are found";

/// A finding in a part of a command.
enum Sign {
    /// Dangerous, in a fixed phrase.
    Danger(&'static str),
    /// It may run code that does not stand there.
    Unread,
}

/// The findings so far.
#[derive(Default)]
struct Survey {
    programs: Vec<String>,
    /// The same, once for each time that it runs, for the pipe.
    ran: Vec<String>,
    danger: Option<&'static str>,
    unread: bool,
}

impl Survey {
    fn script(&mut self, text: &str, depth: usize) {
        let Some(script) = split(text).filter(|_| depth < DEPTH) else {
            self.unread = true;
            return;
        };
        for pipeline in &script.pipelines {
            let begins = self.ran.len();
            for simple in pipeline {
                let upstream = self.ran.get(begins..).unwrap_or_default().to_vec();
                self.simple(simple, &upstream, depth);
            }
        }
        let calls = |name: &String| {
            script
                .pipelines
                .iter()
                .flatten()
                .filter(|simple| simple.words.first().is_some_and(|word| word.text == *name))
                .count()
        };
        if script.functions.iter().any(|name| calls(name) > 1) {
            self.alarm("a function that multiplies itself");
        }
        self.unread |= script.unsure || (script.pipelines.is_empty() && script.functions.is_empty());
    }

    fn simple(&mut self, simple: &Simple, upstream: &[String], depth: usize) {
        let mut inside = Survey::default();
        for nested in &simple.nested {
            inside.script(nested, depth + 1);
        }
        if let Some(danger) = danger::in_files(simple) {
            self.alarm(danger);
        }
        let start = simple.words.iter().position(|word| !word.is_assignment()).unwrap_or(simple.words.len());
        let (assigned, words) = simple.words.split_at(start);
        self.note(variables::before(assigned, words.first()));
        let body = simple.body.as_deref();
        self.run(words, &Inputs { upstream, fetched: &inside.programs, body }, depth);
        self.merge(inside);
    }

    /// Surveys one program with its arguments, and the programs that it runs in turn.
    fn run(&mut self, words: &[Word], inputs: &Inputs<'_>, depth: usize) {
        let Some((program, arguments)) = words.split_first() else { return };
        if depth >= DEPTH || self.ran.len() >= RUNS {
            self.unread = true;
            return;
        }
        self.unread |= program.open || program.text.is_empty();
        self.name(&program.text);
        if let Some(danger) = danger::of(&program.text, arguments, inputs) {
            self.alarm(danger);
        }
        let name = base(&program.text);
        self.note(variables::set_by(name, arguments));
        if name == "git" {
            self.note(git::of(arguments));
        }
        self.note(code::of(&program.text, arguments, inputs));
        if words.len() > WORDS {
            self.unread = true;
            return;
        }
        for inner in unwrap(&program.text, arguments, inputs.body) {
            match inner {
                Inner::Words(words) => self.run(&words, inputs, depth + 1),
                Inner::Script(text) => self.script(&text, depth + 1),
                Inner::Sets(word) => self.note(variables::before(&[word], None)),
                Inner::Unread => self.unread = true,
            }
        }
    }

    fn name(&mut self, program: &str) {
        if self.programs.len() >= PROGRAMS || self.ran.len() >= RUNS {
            self.unread = true;
            return;
        }
        self.ran.push(program.to_owned());
        if !program.is_empty() && !self.programs.iter().any(|named| named == program) {
            self.programs.push(program.to_owned());
        }
    }

    fn note(&mut self, sign: Option<Sign>) {
        match sign {
            Some(Sign::Danger(danger)) => self.alarm(danger),
            Some(Sign::Unread) => self.unread = true,
            None => {}
        }
    }

    fn alarm(&mut self, danger: &'static str) {
        self.danger.get_or_insert(danger);
    }

    fn merge(&mut self, other: Survey) {
        for program in &other.programs {
            self.name(program);
        }
        self.unread |= other.unread;
        if let Some(danger) = other.danger {
            self.alarm(danger);
        }
    }
}

/// The inputs of a program.
struct Inputs<'a> {
    /// Programs that write into it.
    upstream: &'a [String],
    /// Programs whose output is put into its words.
    fetched: &'a [String],
    /// Text given to it as its input.
    body: Option<&'a str>,
}

#[cfg(test)]
mod tests;
