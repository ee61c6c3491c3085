//! `agentctl memory`: what the host remembers for the caller, and how well it finds it. It shows text of the host only
//! escaped, and reads no memory but by asking.

mod add;
mod context;
mod export;
mod filter;
mod forget;
mod history;
mod import;
mod lines;
mod markdown;
mod observed;
mod pages;
mod proposed;
mod revise;
mod search;
mod sessions;
mod show;

use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::sibling;
use ipc_proto::Name;
use ipc_proto::control::{ControlError, method};
use ipc_proto::ids::MemoryId;
use ipc_proto::memory::{Area, Ask, Manner, MemoryError, Row, Said, Unread};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

/// Memory's program.
const PROGRAM: &str = "memory";
const EMBEDDER: &str = "embedder";

/// The commands of `memory`.
#[derive(clap::Subcommand)]
pub(crate) enum Memory {
    /// Remember a text
    #[command(visible_alias = "create")]
    Add(Box<add::Add>),
    /// Find what fits the words best
    Search(Box<search::Search>),
    /// Show one memory
    #[command(visible_alias = "get")]
    Show(show::Show),
    /// List memories, newest first
    List(show::List),
    /// Show what came before and after a memory, in the order of time
    Timeline(show::Timeline),
    /// Show every revision of a memory, and what each of them changed
    History(history::History),
    /// Put a memory that says something else in the place of one
    Revise(Box<revise::Revise>),
    /// Revise a memory in your editor
    Edit(revise::Edit),
    /// Remove a memory and leave a tombstone, which its id still shows
    Remove(revise::Remove),
    /// Have a memory hold again that was removed
    Restore(proposed::One),
    /// List the facts that a model took from what others wrote, for you to accept or reject
    Proposals(proposed::Proposals),
    /// Accept a proposed fact: it holds as your own word from then on
    Accept(proposed::One),
    /// Reject a proposed fact: it is not proposed again
    Reject(revise::Remove),
    /// Forget one memory, so that nothing is left of it
    Delete(forget::Delete),
    /// Forget memories by their ids, their project, their session, their time or what they are about
    Forget(forget::Forget),
    /// Show what a model would be given of it, byte for byte
    Context(Box<context::Context>),
    /// Neither take down nor remind a project or a session of a client
    Mute(sessions::Mute),
    /// Take down and remind it again
    Unmute(sessions::Mute),
    /// Show the sessions of clients that were taken down, newest first
    Sessions(sessions::Sessions),
    /// Show how much is remembered
    Stats(Where),
    /// Build the indexes anew, and have every vector made again
    Reindex(Where),
    /// Write memories out, with their history and what they were made from
    Export(export::Export),
    /// Take memories in: an export, a database of open-mem or claude-mem, or Markdown files
    Import(import::Import),
    /// Measure how well turns of conversations are found, without a host: JSON lines of a file, or on standard input
    Eval {
        /// The lines; standard input without it, and for -
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
        /// Turns found for each question, at most
        #[arg(long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=100))]
        limit: u16,
        /// By what turns are ranked: words, meaning, fused, weighted or plain; words without --embedder, fused with it
        #[arg(long, value_name = "MANNER", value_parser = named::<Manner>)]
        by: Option<Manner>,
        /// Folder of a sentence model that makes the vectors of turns and questions
        #[arg(long, value_name = "DIR")]
        embedder: Option<PathBuf>,
    },
}

/// Does what was typed.
pub(crate) async fn run(app: &App, command: Memory) -> Outcome {
    match command {
        Memory::Add(arguments) => add::add(app, *arguments).await,
        Memory::Search(arguments) => search::search(app, *arguments).await,
        Memory::Show(arguments) => show::show(app, arguments).await,
        Memory::List(arguments) => show::list(app, arguments).await,
        Memory::Timeline(arguments) => show::timeline(app, arguments).await,
        Memory::History(arguments) => history::history(app, arguments).await,
        Memory::Revise(arguments) => revise::revise(app, *arguments).await,
        Memory::Edit(arguments) => revise::edit(app, arguments).await,
        Memory::Remove(arguments) => revise::remove(app, arguments).await,
        Memory::Restore(arguments) => proposed::restore(app, arguments).await,
        Memory::Proposals(arguments) => proposed::proposals(app, arguments).await,
        Memory::Accept(arguments) => proposed::accept(app, arguments).await,
        Memory::Reject(arguments) => proposed::reject(app, arguments).await,
        Memory::Delete(arguments) => forget::delete(app, arguments).await,
        Memory::Forget(arguments) => forget::forget(app, arguments).await,
        Memory::Context(arguments) => context::context(app, *arguments).await,
        Memory::Mute(arguments) => sessions::mute(app, arguments, true).await,
        Memory::Unmute(arguments) => sessions::mute(app, arguments, false).await,
        Memory::Sessions(arguments) => sessions::sessions(app, arguments).await,
        Memory::Stats(place) => sessions::stats(app, place, Ask::Stats).await,
        Memory::Reindex(place) => sessions::stats(app, place, Ask::Reindex).await,
        Memory::Export(arguments) => export::export(app, arguments).await,
        Memory::Import(arguments) => import::import(app, arguments).await,
        Memory::Eval { file, limit, by, embedder } => {
            let lines = lines_of(file.filter(|file| file.as_os_str() != "-"))?;
            eval(app, lines, (limit, by), embedder.as_deref())
        }
    }
}

/// Which of many.
#[derive(clap::Args)]
pub(crate) struct Page {
    /// At most so many
    #[arg(long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=100))]
    limit: u16,
    /// Leave out so many of the newest
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    offset: u32,
}

/// In which part of the caller's memory.
#[derive(clap::Args)]
pub(crate) struct Where {
    /// Which part of your memory: user, global or agent:NAME
    #[arg(long, value_name = "AREA", default_value = "user", value_parser = area)]
    area: Area,
}

/// An id of a memory, as it is written.
fn id(text: &str) -> Result<MemoryId, String> {
    let such = "an id such as 0f8fad5b-d9cb-469f-a165-70867728950e, as `agentctl memory list` shows them";
    text.parse().map_err(|_| such.to_owned())
}

fn area(text: &str) -> Result<Area, String> {
    match text {
        "user" => Ok(Area::User),
        "global" => Ok(Area::Global),
        _ => match text.strip_prefix("agent:") {
            Some(name) if !name.is_empty() => Name::new(name).map(Area::Agent).map_err(|why| why.to_string()),
            _ => Err("one of user, global, agent:NAME".to_owned()),
        },
    }
}

/// Asks the caller's own memory, and takes the answer of the kind that this has.
async fn ask<T>(
    app: &App,
    area: Area,
    ask: Ask,
    kind: impl FnOnce(Said) -> Result<T, MemoryError>,
) -> Result<T, Failure> {
    let call = app.link.ask(&method::memory, async |c, cx| c.memory(cx, area.clone(), ask.clone()).await);
    Ok(kind(call.await?).map_err(ControlError::Memory)?)
}

/// The row with this id, whatever its state.
async fn fetch(app: &App, area: Area, id: MemoryId) -> Result<Row, Failure> {
    let rows = ask(app, area, Ask::Read(ipc_proto::List::clip([id])), Said::rows).await?;
    let row = rows.into_vec().into_iter().next();
    Ok(row.ok_or(ControlError::Memory(MemoryError::NotFound))?)
}

/// Says on standard error that an area's database is damaged, and how many memories of it cannot be read.
async fn say_unread(app: &App, area: Area) -> Result<(), Failure> {
    say_damage(app, &ask(app, area, Ask::Unread { each: false }, Said::unread).await?);
    Ok(())
}

/// The same of what was asked for already.
fn say_damage(app: &App, unread: &Unread) {
    if unread.damaged {
        let rows = unread.rows;
        app.out.hint(&format!("{rows} memories of this area cannot be read: {}", MemoryError::ReadOnly));
    }
}

/// What says nothing but that it is done.
fn done(said: Said) -> Result<(), MemoryError> {
    if matches!(said, Said::Done) { Ok(()) } else { Err(MemoryError::Storage) }
}

/// The lines of this file, or of standard input.
fn lines_of(file: Option<PathBuf>) -> Result<Stdio, Failure> {
    let Some(path) = file else { return Ok(Stdio::inherit()) };
    let file = std::fs::File::open(&path);
    Ok(Stdio::from(file.map_err(|cause| Failure::File { path, cause })?))
}

/// Has memory's own program measure how well it finds. This process looks at neither the turns nor the answers.
/// With a model, embedder's own program stands before it and puts a vector beside each text.
fn eval(app: &App, lines: Stdio, (limit, by): (u16, Option<Manner>), embedder: Option<&Path>) -> Outcome {
    let usual = if embedder.is_some() { Manner::Fused } else { Manner::Words };
    let (limit, by) = (limit.to_string(), crate::view::word(by.unwrap_or(usual)));
    let words = ["--offline", "eval", "--limit", &limit, "--by", &by];
    let json = app.out.json.then_some("--json");
    let words: Vec<&OsStr> = words.into_iter().chain(json).map(OsStr::new).collect();
    let Some(folder) = embedder else { return sibling::reading(PROGRAM, &words, lines) };
    // A model of no use is told before memory's program says what it found without one.
    let sound = sibling::stream(EMBEDDER, &["--offline".as_ref(), "check".as_ref(), folder.as_os_str()])?;
    if sound != ExitCode::SUCCESS {
        return Ok(sound);
    }
    let before = [OsStr::new("--offline"), OsStr::new("vectors"), folder.as_os_str()];
    sibling::piped((EMBEDDER, &before), (PROGRAM, &words), lines)
}

/// A tag: what says nothing is none.
fn tag(word: &str) -> Result<Name, String> {
    if word.trim().is_empty() {
        return Err("a tag is a word".to_owned());
    }
    Name::new(word).map_err(|why| why.to_string())
}

/// A value by the name that it has on the wire.
fn named<T: serde::de::DeserializeOwned>(name: &str) -> Result<T, String> {
    let known = serde_json::from_value(name.into());
    // What serde says of an unknown name lists those that there are.
    known.map_err(|error: serde_json::Error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_area_is_read_as_it_is_written() {
        for text in ["user", "global", "agent:default"] {
            assert_eq!(crate::view::area(&area(text).unwrap()), text);
        }
        for wrong in ["", "agent", "agent:", "User"] {
            assert!(area(wrong).is_err(), "{wrong}");
        }
    }
}
