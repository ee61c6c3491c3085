//! `agentctl memory import`: an export of this program, a database of open-mem or claude-mem, or Markdown files. All of it
//! is looked through before any of it is sent. What comes from elsewhere is a stranger's unless its person says otherwise.

use super::lines::{Kept, Line, LineFault, Lines};
use super::{PROGRAM, area, ask, markdown, named};
use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::sibling;
use ipc_proto::List;
use ipc_proto::control::ControlError;
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::memory::{Area, Ask, Entry, MOST_IDS, MemoryError, Over, Project, Row, Said, State};
use serde_json::json;
use std::cmp::Reverse;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// How a database of SQLite begins.
const SQLITE: &[u8; 16] = b"SQLite format 3\0";

/// The arguments of `memory import`.
#[derive(clap::Args)]
pub(crate) struct Import {
    /// An export, a database of open-mem or claude-mem, a Markdown file or a folder of them; - is standard input
    file: PathBuf,
    /// What happens where a memory is here already: skip, merge or replace
    #[arg(long, value_name = "MODE", value_parser = named::<Over>, default_value = "skip")]
    mode: Over,
    /// Only say what would be taken in
    #[arg(long = "dry-run")]
    dry_run: bool,
    /// It is yours: labels stay as they are, and what has none is trusted as what you type
    #[arg(long)]
    mine: bool,
    /// The project of what names none
    #[arg(long, value_parser = crate::project::named)]
    project: Option<Project>,
    /// Which part of your memory it goes to; without one each memory goes where it was
    #[arg(long, value_name = "AREA", value_parser = area)]
    area: Option<Area>,
}

/// What came of it.
#[derive(Default)]
struct Count {
    /// Taken in, or to be taken in.
    taken: u64,
    /// Left as they are.
    left: u64,
    /// Refused by memory, with the number of the line or note and why.
    refused: Vec<(usize, MemoryError)>,
}

/// Where memories come from.
enum Origin {
    /// Lines, of this program or of a database of another.
    Lines { file: File, foreign: bool },
    /// Notes.
    Notes(Vec<Entry>),
}

/// Takes them in.
pub(super) async fn import(app: &App, arguments: Import) -> Outcome {
    let count = match source(&arguments)? {
        Origin::Lines { file, foreign } => lines(app, &arguments, file, foreign).await?,
        Origin::Notes(notes) => self::notes(app, &arguments, notes).await?,
    };
    let refused: Vec<_> =
        count.refused.iter().map(|(line, why)| json!({ "line": line, "why": why.to_string() })).collect();
    let fields =
        json!({ "dry_run": arguments.dry_run, "taken": count.taken, "left": count.left, "refused": refused });
    let would = if arguments.dry_run { "would be " } else { "" };
    let sentence = format!(
        "{} {would}taken in, {} left as they are, {} refused",
        count.taken,
        count.left,
        refused.len()
    );
    app.out.done(fields, &sentence)?;
    for (line, why) in &count.refused {
        app.out.remark(&format!("line {line}: {why}"));
    }
    Ok(if count.refused.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What the file is, by how it begins.
fn source(arguments: &Import) -> Result<Origin, Failure> {
    let path = &arguments.file;
    let at = |cause| Failure::File { path: path.clone(), cause };
    if path == Path::new("-") {
        let mut file = tempfile::tempfile().map_err(at)?;
        io::copy(&mut io::stdin().lock(), &mut file).map_err(at)?;
        return Ok(Origin::Lines { file, foreign: false });
    }
    let is_markdown = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"));
    if path.is_dir() || is_markdown {
        return Ok(Origin::Notes(markdown::notes(path, arguments.project.as_ref())?));
    }
    let mut file = File::open(path).map_err(at)?;
    let mut begin = Vec::new();
    file.by_ref().take(SQLITE.len() as u64).read_to_end(&mut begin).map_err(at)?;
    if begin != SQLITE {
        return Ok(Origin::Lines { file, foreign: false });
    }
    Ok(Origin::Lines { file: foreign(path)?, foreign: true })
}

/// The lines that memory's own program makes of a database of another program. Only it links a database.
fn foreign(path: &Path) -> Result<File, Failure> {
    let file = tempfile::tempfile()?;
    let words = [OsStr::new("--offline"), OsStr::new("read-foreign"), path.as_os_str()];
    sibling::into(PROGRAM, &words, file.try_clone()?)?;
    Ok(file)
}

/// Looks at every line, and then takes each in, the oldest memory first: the order in which they come is theirs here.
async fn lines(app: &App, arguments: &Import, mut file: File, foreign: bool) -> Result<Count, Failure> {
    let mut count = Count::default();
    let mut order = Vec::new();
    file.rewind()?;
    for line in Lines::of(BufReader::new(&mut file)) {
        let Line { number, at, kept } = line.map_err(|fault| wrong(&arguments.file, fault))?;
        // Of one instant the newest stands first in an export.
        order.push((kept.row.created_ms, Reverse(number), at));
    }
    order.sort_unstable();
    for (_, Reverse(number), at) in order {
        file.seek(SeekFrom::Start(at))?;
        let Some(line) = Lines::of(BufReader::new(&mut file)).next() else { continue };
        let mut kept = line.map_err(|fault| wrong(&arguments.file, fault))?.kept;
        let entry = &mut kept.row.entry;
        entry.detail.project = entry.detail.project.take().or_else(|| arguments.project.clone());
        if foreign && arguments.mine {
            entry.detail.source.external = false;
            entry.label = Label::of(Trust::User, Class::Internal, "import");
        }
        match one(app, arguments, kept).await {
            Ok(true) => count.taken += 1,
            Ok(false) => count.left += 1,
            Err(failure) => count.refused.push((number, refusal(failure)?)),
        }
    }
    Ok(count)
}

/// Takes one in, or only looks whether it would be; whether it is.
async fn one(app: &App, arguments: &Import, kept: Kept) -> Result<bool, Failure> {
    let area = arguments.area.clone().unwrap_or_else(|| kept.row.area.clone());
    if arguments.dry_run {
        let there = ask(app, area, Ask::Read(List::clip([kept.row.entry.id])), Said::rows).await?;
        return Ok(match (there.first(), arguments.mode) {
            (None, _) | (Some(_), Over::Replace) => true,
            (Some(_), Over::Skip) => false,
            (Some(there), Over::Merge) => later(&kept.row) > later(there),
        });
    }
    let (row, raw) = (Box::new(kept.row), kept.raw);
    let restore = Ask::Restore { row, raw, over: arguments.mode, mine: arguments.mine };
    Ok(ask(app, area, restore, Said::taken).await?.is_some())
}

/// Of two states of a row the later holds.
const fn later(row: &Row) -> u8 {
    match row.state {
        State::Current | State::Proposed { .. } => 0,
        State::Superseded { .. } => 1,
        State::Removed { .. } => 2,
    }
}

fn wrong(path: &Path, fault: LineFault) -> Failure {
    match fault {
        LineFault::Malformed(line, why) => Failure::Malformed { path: path.to_owned(), line, why },
        LineFault::Input(cause) => Failure::File { path: path.to_owned(), cause },
    }
}

/// Takes notes in: one whose text is here already is left as it is.
async fn notes(app: &App, arguments: &Import, notes: Vec<Entry>) -> Result<Count, Failure> {
    let mut count = Count::default();
    let area = arguments.area.clone().unwrap_or(Area::User);
    let mut here = std::collections::HashSet::new();
    for some in notes.chunks(MOST_IDS) {
        let ids = List::clip(some.iter().map(|entry| entry.id));
        let rows = ask(app, area.clone(), Ask::Read(ids), Said::rows).await?;
        here.extend(rows.iter().map(|row| row.entry.id));
    }
    for (place, mut entry) in notes.into_iter().enumerate() {
        if here.contains(&entry.id) {
            count.left += 1;
            continue;
        }
        entry.detail.source.external = !arguments.mine;
        if arguments.dry_run {
            count.taken += 1;
            continue;
        }
        match ask(app, area.clone(), Ask::Write(Box::new(entry)), Said::id).await {
            Ok(_) => count.taken += 1,
            Err(failure) => count.refused.push((place + 1, refusal(failure)?)),
        }
    }
    Ok(count)
}

/// Why memory would not have one row; what concerns all of them ends the import.
fn refusal(failure: Failure) -> Result<MemoryError, Failure> {
    match failure {
        Failure::Control(ControlError::Memory(
            why @ (MemoryError::Refused | MemoryError::NeedsPerson | MemoryError::NotFound),
        )) => Ok(why),
        failure => Err(failure),
    }
}
