//! What a shell command runs: every program it names, however it is wrapped, and what is dangerous in it. Information
//! for policy and for the person who is asked; the jail is what confines. A command that is not understood whole is
//! never allowed: reading the first word alone is how a list of allowed programs is got around. Code in another language, and
//! words that are only known when they run, where they decide what runs, are not understood.
//!
//! Own code rather than a shell's full parser: what is needed is linear and bounded in depth on hostile text, and may
//! give up on anything rare.

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

/// What a command line runs, and whether it is fit to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// It was understood whole and holds nothing dangerous.
    pub allowed: bool,
    /// Every program that it runs, and all that decides what these do, stands in it and was read.
    pub understood: bool,
    /// Why, in a fixed phrase.
    pub reason: &'static str,
    /// Every program named, as written but for quotes, in the order they stand, each once.
    pub programs: Vec<String>,
    /// What is dangerous in it, in a fixed phrase; the first that was found.
    pub danger: Option<&'static str>,
}

/// Bytes of a command that is read.
const BOUND: usize = 32 * 1024;
/// Commands inside commands that are followed.
const DEPTH: usize = 8;
/// Programs that are told.
const PROGRAMS: usize = 64;
/// Times that programs may run in one command.
const RUNS: usize = 256;
/// Words of one program: with more, what it runs in turn is not followed.
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

/// Something that a part of a command is found to be.
enum Sign {
    /// Dangerous, in a fixed phrase.
    Danger(&'static str),
    /// It may run what does not stand there.
    Unread,
}

/// What was found so far.
#[derive(Default)]
struct Survey {
    programs: Vec<String>,
    /// The same, each time it runs: what a pipe carries on.
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
        self.run(words, &Around { upstream, fetched: &inside.programs, body }, depth);
        self.merge(inside);
    }

    /// One program with its arguments, and what it runs in turn.
    fn run(&mut self, words: &[Word], around: &Around<'_>, depth: usize) {
        let Some((program, arguments)) = words.split_first() else { return };
        if depth >= DEPTH || self.ran.len() >= RUNS {
            self.unread = true;
            return;
        }
        self.unread |= program.open || program.text.is_empty();
        self.name(&program.text);
        if let Some(danger) = danger::of(&program.text, arguments, around) {
            self.alarm(danger);
        }
        let name = base(&program.text);
        self.note(variables::set_by(name, arguments));
        if name == "git" {
            self.note(git::of(arguments));
        }
        self.note(code::of(&program.text, arguments, around));
        if words.len() > WORDS {
            self.unread = true;
            return;
        }
        for inner in unwrap(&program.text, arguments, around.body) {
            match inner {
                Inner::Words(words) => self.run(&words, around, depth + 1),
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

/// What stands around a program.
struct Around<'a> {
    /// Programs that write into it.
    upstream: &'a [String],
    /// Programs whose output is put into its words.
    fetched: &'a [String],
    /// Text given to it as its input.
    body: Option<&'a str>,
}

#[cfg(test)]
mod tests;
