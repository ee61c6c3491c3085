//! `agentctl memory`: the memories that the host keeps for the caller. Text of the host is shown only escaped, and memories
//! are read only through control.

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
use ipc_proto::control::{ControlError, method};
use ipc_proto::ids::MemoryId;
use ipc_proto::memory::{Area, HITS, MOST_IDS, Manner, MemoryError, Raw, Row, Unread};
use ipc_proto::{List, Name};
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
    /// Find the memories that match best
    Search(Box<search::Search>),
    /// Show one memory
    #[command(visible_alias = "get")]
    Show(show::Show),
    /// List memories, newest first
    List(show::List),
    /// Show the memories before and after one, in the order of time
    Timeline(show::Timeline),
    /// Show every revision of a memory, and the changes of each
    History(history::History),
    /// Replace a memory by a new revision
    Revise(Box<revise::Revise>),
    /// Revise a memory in your editor
    Edit(revise::Edit),
    /// Remove a memory and leave a tombstone, which its id still shows
    Remove(revise::Remove),
    /// Restore a removed memory
    Restore(proposed::One),
    /// List the facts that a model derived from others' text, for you to accept or reject
    Proposals(proposed::Proposals),
    /// Accept a proposed fact: from then on it counts as your own
    Accept(proposed::One),
    /// Reject a proposed fact: it is not proposed again
    Reject(revise::Remove),
    /// Forget one memory, so that nothing is left of it
    Delete(forget::Delete),
    /// Forget memories by their ids, project, session, time or words
    #[command(override_usage = "agentctl memory forget [OPTIONS] <IDS>...\n       \
        agentctl memory forget [OPTIONS] --project <PROJECT>\n       \
        agentctl memory forget [OPTIONS] --session <SESSION>\n       \
        agentctl memory forget [OPTIONS] --before <TIME> | --topic <WORDS>")]
    Forget(forget::Forget),
    /// Show the block of memories that a model would be given, byte for byte
    Context(Box<context::Context>),
    /// Stop capture and context for a project or a session of a client
    #[command(override_usage = "agentctl memory mute [OPTIONS] --project <PROJECT>\n       \
        agentctl memory mute [OPTIONS] --session <CLIENT:NAME>")]
    Mute(sessions::Mute),
    /// Resume capture and context for it
    #[command(override_usage = "agentctl memory unmute [OPTIONS] --project <PROJECT>\n       \
        agentctl memory unmute [OPTIONS] --session <CLIENT:NAME>")]
    Unmute(sessions::Mute),
    /// Show the captured sessions of clients, newest first
    Sessions(sessions::Sessions),
    /// Show the numbers of memories
    Stats(Where),
    /// Rebuild the indexes, and make every vector again
    Reindex(Where),
    /// Export memories, with their history and source texts
    Export(export::Export),
    /// Import memories: an export, a database of open-mem or claude-mem, Markdown files, or transcripts of Claude Code
    Import(import::Import),
    /// Measure the retrieval of turns, without a host: JSON lines of a file, or on standard input
    Eval {
        /// The file of lines; standard input by default, and for -
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
        /// The most turns to find for each question
        #[arg(long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=100))]
        limit: u16,
        /// The ranking: words, meaning, fused, weighted or plain; words without --embedder, fused with it
        #[arg(long, value_name = "MANNER", value_parser = crate::arguments::named::<Manner>)]
        by: Option<Manner>,
        /// The folder of a sentence model that makes the vectors of turns and questions
        #[arg(long, value_name = "DIR")]
        embedder: Option<PathBuf>,
    },
}

/// Runs the command.
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
        Memory::Stats(place) => sessions::stats(app, place).await,
        Memory::Reindex(place) => sessions::reindex(app, place).await,
        Memory::Export(arguments) => export::export(app, arguments).await,
        Memory::Import(arguments) => import::import(app, arguments).await,
        Memory::Eval { file, limit, by, embedder } => {
            let lines = lines_of(file.filter(|file| file.as_os_str() != "-"))?;
            eval(app, lines, (limit, by), embedder.as_deref())
        }
    }
}

/// The page of a list.
#[derive(clap::Args)]
pub(crate) struct Page {
    /// Show at most this many
    #[arg(long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=100))]
    limit: u16,
    /// Skip this many of the newest
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    offset: u32,
}

/// The part of the caller's memory.
#[derive(clap::Args)]
pub(crate) struct Where {
    /// The part of your memory: user, global or agent:NAME
    #[arg(long, value_name = "AREA", default_value = "user", value_parser = area)]
    area: Area,
}

/// Parses the id of a memory.
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

/// Rows by their ids, whatever their state.
async fn read(app: &App, area: &Area, ids: List<MemoryId, MOST_IDS>) -> Result<List<Row, HITS>, Failure> {
    let rows =
        app.link.ask(&method::memory_read, async |c, cx| c.memory_read(cx, area.clone(), ids.clone()).await);
    rows.await
}

/// The source text of an observation.
async fn raw(app: &App, area: &Area, id: MemoryId) -> Result<Raw, Failure> {
    app.link.ask(&method::memory_raw, async |c, cx| c.memory_raw(cx, area.clone(), id).await).await
}

/// Rows of an area that cannot be read; with `each`, every row of a sound database is read too.
async fn unread(app: &App, area: &Area, each: bool) -> Result<Unread, Failure> {
    app.link.ask(&method::memory_unread, async |c, cx| c.memory_unread(cx, area.clone(), each).await).await
}

/// The row with this id, whatever its state.
async fn fetch(app: &App, area: Area, id: MemoryId) -> Result<Row, Failure> {
    let rows = read(app, &area, List::clip([id])).await?;
    let row = rows.into_vec().into_iter().next();
    Ok(row.ok_or(ControlError::Memory(MemoryError::NotFound))?)
}

/// Says on standard error that an area's database is damaged, and how many memories of it cannot be read.
async fn say_unread(app: &App, area: Area) -> Result<(), Failure> {
    say_damage(app, &unread(app, &area, false).await?);
    Ok(())
}

/// The same for an answer that is there already.
fn say_damage(app: &App, unread: &Unread) {
    if unread.damaged {
        let rows = unread.rows;
        app.out.hint(&format!("{rows} memories of this area cannot be read: {}", MemoryError::ReadOnly));
    }
}

/// The lines of this file, or of standard input.
fn lines_of(file: Option<PathBuf>) -> Result<Stdio, Failure> {
    let Some(path) = file else { return Ok(Stdio::inherit()) };
    let file = std::fs::File::open(&path);
    Ok(Stdio::from(file.map_err(|cause| Failure::File { path, cause })?))
}

/// Runs memory's own program to measure retrieval. This process reads neither the turns nor the answers.
/// With a model, embedder's own program runs before it and adds a vector to each text.
fn eval(app: &App, lines: Stdio, (limit, by): (u16, Option<Manner>), embedder: Option<&Path>) -> Outcome {
    let usual = if embedder.is_some() { Manner::Fused } else { Manner::Words };
    let (limit, by) = (limit.to_string(), crate::view::word(by.unwrap_or(usual)));
    let words = ["--offline", "eval", "--limit", &limit, "--by", &by];
    let json = app.out.json.then_some("--json");
    let words: Vec<&OsStr> = words.into_iter().chain(json).map(OsStr::new).collect();
    let Some(folder) = embedder else { return sibling::reading(PROGRAM, &words, lines) };
    // An unusable model is reported before memory's program prints its results without one.
    let sound = sibling::stream(EMBEDDER, &["--offline".as_ref(), "check".as_ref(), folder.as_os_str()])?;
    if sound != ExitCode::SUCCESS {
        return Ok(sound);
    }
    let before = [OsStr::new("--offline"), OsStr::new("vectors"), folder.as_os_str()];
    sibling::piped((EMBEDDER, &before), (PROGRAM, &words), lines)
}

/// Parses a tag; a blank one is refused.
fn tag(word: &str) -> Result<Name, String> {
    if word.trim().is_empty() {
        return Err("a tag is a word".to_owned());
    }
    Name::new(word).map_err(|why| why.to_string())
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
