//! `offline/reader`: answers from a person's own files and memory by searching them with its tools and quoting the best
//! passages. A program and not a chat model: it understands a few commands and takes anything else as a question.
//!
//! It is a function of the conversation alone. It asks only for tools that the request offers, and says so when one
//! failed.

mod command;
mod conversation;
mod hits;
mod keywords;
mod passages;
mod question;
mod result;
#[cfg(test)]
mod tests;

use crate::answer::{Reply, ToolCall, room, within};
use command::Command;
use conversation::Turn;
use ipc_proto::model::{Message, Request};
use result::CallOutcome;
use serde_json::{Value, json};

/// Memories that are asked for.
const MEMORIES: u32 = 5;
/// Characters of an answer that are reserved for the text around a tool's output.
const AROUND: usize = 500;
/// Characters of a tool's output that an answer shows.
const SHOWN: usize = 200_000;

/// The reader's answer to this request.
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
        Command::Recall(query) => recall(&turn, query, shown),
        Command::Run(command) => run(&turn, command, shown),
        Command::Read(path) => read(&turn, path, shown),
        Command::Write { path, text } => write(&turn, path, text),
        Command::Unfinished(how) => {
            Reply::say(format!("That is not complete. It is written like this: {how}"))
        }
        Command::Question(text) => question::answer(&turn, text),
    }
}

/// The tools that it will call for this message.
pub(super) fn plan(message: &str) -> &'static [&'static str] {
    match Command::parse(message) {
        Command::Echo(_) | Command::Unfinished(_) => &[],
        Command::Remember(_) => &["memory_write"],
        Command::Recall(_) => &["memory_query"],
        Command::Run(_) => &["bash"],
        Command::Read(_) => &["read"],
        Command::Write { .. } => &["write"],
        Command::Question(_) => &["grep", "memory_query", "read"],
    }
}

/// Asks for one tool, or reports its result.
fn one(turn: &Turn<'_>, tool: &str, args: &Value, say: impl FnOnce(CallOutcome<'_>) -> String) -> Reply {
    match turn.outcome(tool) {
        Some(outcome) => Reply::say(say(outcome)),
        None if turn.has(tool) => Reply::ask(vec![ToolCall::new(tool, args)]),
        None => Reply::say(format!("I have no tool `{tool}` here, so I cannot do that.")),
    }
}

fn remember(turn: &Turn<'_>, text: &str) -> Reply {
    one(turn, "memory_write", &json!({ "content": text }), |came| match came {
        CallOutcome::Output(_) => format!("I will remember this: {text}"),
        failed => format!("I could not remember this. {}", failed.explanation("memory_write")),
    })
}

fn recall(turn: &Turn<'_>, query: &str, shown: usize) -> Reply {
    one(turn, "memory_query", &json!({ "query": query, "limit": MEMORIES }), |came| match came {
        CallOutcome::Output(output) => match result::memories(output).as_slice() {
            [] => format!("I remember nothing about \"{query}\"."),
            found => format!("This is what I remember:\n\n{}", cut(&quotes(found), shown)),
        },
        failed => format!("I could not look into memory. {}", failed.explanation("memory_query")),
    })
}

fn run(turn: &Turn<'_>, command: &str, shown: usize) -> Reply {
    one(turn, "bash", &json!({ "command": command }), |came| match came {
        CallOutcome::Output(output) => ran(output, result::exit_status(output).or(Some(0)), shown),
        CallOutcome::Failed { said, .. } if result::exit_status(said).is_some() => {
            ran(said, result::exit_status(said), shown)
        }
        failed => format!("The command did not run to its end. {}", failed.explanation("bash")),
    })
}

fn ran(output: &str, status: Option<i64>, shown: usize) -> String {
    let status = status.map_or_else(|| "unknown".to_owned(), |status| status.to_string());
    format!("{}\nexit status {status}", fence(&cut(output, shown)))
}

fn read(turn: &Turn<'_>, path: &str, shown: usize) -> Reply {
    one(turn, "read", &json!({ "path": path }), |came| match came {
        CallOutcome::Output(output) => format!("{path}:\n{}", fence(&cut(output, shown))),
        failed => format!("I could not read {path}. {}", failed.explanation("read")),
    })
}

fn write(turn: &Turn<'_>, path: &str, text: &str) -> Reply {
    one(turn, "write", &json!({ "path": path, "content": text }), |came| match came {
        CallOutcome::Output(output) => format!("Written: {}", output.trim()),
        failed => format!("I could not write {path}. {}", failed.explanation("write")),
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
