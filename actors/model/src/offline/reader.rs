//! `offline/reader`: answers from a person's own files and memory by searching them with its tools and quoting what
//! fits best. A program and not a chat model: it understands a few commands and takes anything else as a question.
//!
//! It is a function of the conversation alone. It asks only for tools it was told of, and says so when one failed.

mod command;
mod conversation;
mod hits;
mod passages;
mod question;
mod result;
#[cfg(test)]
mod tests;
mod words;

use crate::answer::{Reply, Wanted, room, within};
use command::Command;
use conversation::Turn;
use ipc_proto::model::{Message, Request};
use result::Came;
use serde_json::{Value, json};

/// Memories that are asked for.
const MEMORIES: u32 = 5;
/// Characters of an answer that are kept free for what stands around a tool's output.
const AROUND: usize = 500;
/// Characters of a tool's output that an answer shows.
const SHOWN: usize = 200_000;

/// What the reader says to this request.
pub(crate) fn answer(request: &Request) -> Reply {
    let messages: Vec<&Message> = request.messages.iter().collect();
    answer_to(&messages, request)
}

/// The same over some of the request's messages.
pub(crate) fn answer_to(messages: &[&Message], request: &Request) -> Reply {
    let turn = Turn::of(messages, &request.tools);
    let shown = room(request).saturating_sub(AROUND).min(SHOWN);
    match Command::parse(turn.question) {
        Command::Echo(text) => Reply::say(text),
        Command::Remember(text) => remember(&turn, text),
        Command::Recall(words) => recall(&turn, words, shown),
        Command::Run(command) => run(&turn, command, shown),
        Command::Read(path) => read(&turn, path, shown),
        Command::Write { path, text } => write(&turn, path, text),
        Command::Unfinished(how) => {
            Reply::say(format!("That is not complete. It is written like this: {how}"))
        }
        Command::Question(text) => question::answer(&turn, text),
    }
}

/// The tools that it will ask for to do what these words say.
pub(super) fn plan(words: &str) -> &'static [&'static str] {
    match Command::parse(words) {
        Command::Echo(_) | Command::Unfinished(_) => &[],
        Command::Remember(_) => &["memory_write"],
        Command::Recall(_) => &["memory_query"],
        Command::Run(_) => &["bash"],
        Command::Read(_) => &["read"],
        Command::Write { .. } => &["write"],
        Command::Question(_) => &["grep", "memory_query", "read"],
    }
}

/// Asks for one tool, or says what became of it.
fn one(turn: &Turn<'_>, tool: &str, args: &Value, say: impl FnOnce(Came<'_>) -> String) -> Reply {
    match turn.came(tool) {
        Some(came) => Reply::say(say(came)),
        None if turn.has(tool) => Reply::ask(vec![Wanted::new(tool, args)]),
        None => Reply::say(format!("I have no tool `{tool}` here, so I cannot do that.")),
    }
}

fn remember(turn: &Turn<'_>, text: &str) -> Reply {
    one(turn, "memory_write", &json!({ "content": text }), |came| match came {
        Came::Output(_) => format!("I will remember this: {text}"),
        failed => format!("I could not remember this. {}", failed.told("memory_write")),
    })
}

fn recall(turn: &Turn<'_>, words: &str, shown: usize) -> Reply {
    one(turn, "memory_query", &json!({ "query": words, "limit": MEMORIES }), |came| match came {
        Came::Output(output) => match result::memories(output).as_slice() {
            [] => format!("I remember nothing about \"{words}\"."),
            found => format!("This is what I remember:\n\n{}", cut(&quotes(found), shown)),
        },
        failed => format!("I could not look into memory. {}", failed.told("memory_query")),
    })
}

fn run(turn: &Turn<'_>, command: &str, shown: usize) -> Reply {
    one(turn, "bash", &json!({ "command": command }), |came| match came {
        Came::Output(output) => ran(output, result::exit_status(output).or(Some(0)), shown),
        Came::Failed { said, .. } if result::exit_status(said).is_some() => {
            ran(said, result::exit_status(said), shown)
        }
        failed => format!("The command did not run to its end. {}", failed.told("bash")),
    })
}

fn ran(output: &str, status: Option<i64>, shown: usize) -> String {
    let status = status.map_or_else(|| "unknown".to_owned(), |status| status.to_string());
    format!("{}\nexit status {status}", fence(&cut(output, shown)))
}

fn read(turn: &Turn<'_>, path: &str, shown: usize) -> Reply {
    one(turn, "read", &json!({ "path": path }), |came| match came {
        Came::Output(output) => format!("{path}:\n{}", fence(&cut(output, shown))),
        failed => format!("I could not read {path}. {}", failed.told("read")),
    })
}

fn write(turn: &Turn<'_>, path: &str, text: &str) -> Reply {
    one(turn, "write", &json!({ "path": path, "content": text }), |came| match came {
        Came::Output(output) => format!("Written: {}", output.trim()),
        failed => format!("I could not write {path}. {}", failed.told("write")),
    })
}

/// Memories as quotes, each with where it is kept.
fn quotes(memories: &[result::Memory]) -> String {
    memories.iter().map(result::Memory::quote).collect::<Vec<_>>().join("\n\n")
}

/// Output between fences that nothing in it can close.
fn fence(output: &str) -> String {
    let mut ticks = "```".to_owned();
    while output.contains(&ticks) {
        ticks.push('`');
    }
    format!("{ticks}\n{}\n{ticks}", output.trim_end_matches('\n'))
}

/// As much as there is room for, and a visible mark where the rest was.
fn cut(output: &str, room: usize) -> String {
    let kept = within(output, room);
    match output.len() - kept.len() {
        0 => output.to_owned(),
        lost => format!("{kept}\n[... {lost} bytes cut here ...]"),
    }
}
