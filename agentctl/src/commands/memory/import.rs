//! `agentctl memory import`: an export of this program, a database of open-mem or claude-mem, Markdown files, or transcripts of
//! Claude Code. All of it is checked before any of it is sent. Foreign files are labelled untrusted unless the person says
//! otherwise.

mod count;
mod transcript;

use super::lines::{Content, Line, LineFault, Lines, MemoryLine};
use super::markdown::MarkdownNotes;
use super::sessions::all;
use super::{PROGRAM, area, markdown, read};
use crate::app::{App, Outcome};
use crate::arguments::named;
use crate::failure::Failure;
use crate::in_place::{Progress, Unit};
use crate::{sibling, text};
use count::Count;
use ipc_proto::List;
use ipc_proto::control::method;
use ipc_proto::ids::{MemoryId, SessionId};
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::memory::{
    Area, Capture, Entry, MOST_IDS, MemoryError, Over, Project, Restored, RestoredSession, Row, SESSIONS,
    SessionRow, State,
};
use serde_json::json;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The beginning of an SQLite database.
const SQLITE: &[u8; 16] = b"SQLite format 3\0";

/// The arguments of `memory import`.
#[derive(clap::Args)]
pub(crate) struct Import {
    /// An export, a database of open-mem or claude-mem, a Markdown file or a folder of them, or a transcript of Claude Code
    /// or a folder of them (~/.claude/projects); - is standard input
    file: PathBuf,
    /// The action for a memory that is here already: skip, merge or replace
    #[arg(long, value_name = "MODE", value_parser = named::<Over>, default_value = "skip")]
    mode: Over,
    /// Only print what would be imported
    #[arg(long = "dry-run")]
    dry_run: bool,
    /// The file is yours: labels stay as they are, and memories without one are trusted as your own text
    #[arg(long)]
    mine: bool,
    /// The project of memories that name none
    #[arg(long, value_parser = crate::project::named)]
    project: Option<Project>,
    /// Import into this part of your memory; by default each memory goes where it was
    #[arg(long, value_name = "AREA", value_parser = area)]
    area: Option<Area>,
}

/// The source of memories.
enum Origin {
    /// Lines, of this program or of a database of another.
    Lines { file: File, foreign: bool },
    /// Notes.
    Notes(MarkdownNotes),
    /// Transcripts of Claude Code.
    Transcripts(Vec<PathBuf>),
}

/// Runs the import.
pub(super) async fn import(app: &App, arguments: Import) -> Outcome {
    let count = match source(&arguments)? {
        Origin::Lines { file, foreign } => lines(app, &arguments, file, foreign).await?,
        Origin::Notes(notes) => self::notes(app, &arguments, notes).await?,
        Origin::Transcripts(files) => transcripts(app, &arguments, files).await?,
    };
    let refused = count.left_out();
    let reasons = count.reasons();
    let fields = json!({
        "dry_run": arguments.dry_run, "taken": count.taken, "left": count.left, "sessions": count.sessions,
        "refused": refused, "reasons": reasons,
    });
    let would = if arguments.dry_run { "would be " } else { "" };
    let why: Vec<String> = reasons.iter().map(|(why, count)| format!("{count} {why}")).collect();
    let why = if why.is_empty() { String::new() } else { format!(" ({})", why.join(", ")) };
    let sentence = format!(
        "{} {would}taken in, {} left as {}, {} refused{why}; {}",
        count.taken,
        count.left,
        if count.left == 1 { "it is" } else { "they are" },
        refused.len(),
        text::count(count.sessions, "session", "sessions"),
    );
    app.out.done(fields, &sentence)?;
    for (line, why) in &count.refused {
        app.out.remark(&format!("{}: {why}", count.name(*line)));
    }
    for (file, why) in &count.unread {
        app.out.remark(&format!("{}: {why}", text::line(file)));
    }
    Ok(if reasons.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The kind of the file, by its beginning.
fn source(arguments: &Import) -> Result<Origin, Failure> {
    let path = &arguments.file;
    let at = |cause| Failure::File { path: path.clone(), cause };
    if path == Path::new("-") {
        let mut file = tempfile::tempfile().map_err(at)?;
        io::copy(&mut io::stdin().lock(), &mut file).map_err(at)?;
        return Ok(Origin::Lines { file, foreign: false });
    }
    let transcripts = transcript::files(path)?;
    if !transcripts.is_empty() {
        return Ok(Origin::Transcripts(transcripts));
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

/// The lines that memory's own program, which alone links a database, makes of another program's database.
fn foreign(path: &Path) -> Result<File, Failure> {
    let file = tempfile::tempfile()?;
    let words = [OsStr::new("--offline"), OsStr::new("read-foreign"), path.as_os_str()];
    sibling::into(PROGRAM, &words, file.try_clone()?)?;
    Ok(file)
}

/// Checks every line, and then imports sessions and memories, the oldest first, so that their order here is the same.
async fn lines(app: &App, arguments: &Import, mut file: File, foreign: bool) -> Result<Count, Failure> {
    let mut count = Count::default();
    let (mut order, mut sessions) = (Vec::new(), Vec::new());
    file.rewind()?;
    for line in Lines::of(BufReader::new(&mut file)) {
        let Line { number, at, content } = line.map_err(|fault| wrong(&arguments.file, fault))?;
        match content {
            // Rows of the same instant stand in an export with the newest first.
            Content::Memory(memory) => order.push((memory.row.created_ms, Reverse(number), at)),
            Content::Session(row, area) => {
                let area = arguments.area.clone().unwrap_or(area);
                sessions.push(Listed { number, at, id: row.id, area });
            }
        }
    }
    // The oldest session stands last in an export.
    for Listed { number, at, .. } in newest(app, sessions, &mut count).await?.into_iter().rev() {
        let Some(Content::Session(row, area)) = line_at(arguments, &mut file, at)? else { continue };
        let result = session(app, arguments, *row, area).await;
        if matches!(result, Ok(true)) {
            count.sessions += 1;
        } else if result.is_err() {
            count.count(app, number, result)?;
        }
    }
    order.sort_unstable();
    let mut progress =
        Progress::new(app.out.json, "import", Unit::Of("memories"), u64::try_from(order.len()).ok());
    for (_, Reverse(number), at) in order {
        progress.add(1);
        let Some(Content::Memory(mut memory)) = line_at(arguments, &mut file, at)? else { continue };
        let entry = &mut memory.row.entry;
        entry.detail.project = entry.detail.project.take().or_else(|| arguments.project.clone());
        if foreign && arguments.mine {
            entry.detail.source.external = false;
            entry.label = Label::of(Trust::User, Class::Internal, "import");
        }
        let result = one(app, arguments, *memory).await;
        count.count(app, number, result)?;
    }
    Ok(count)
}

/// The position of a session in a file, and its area.
struct Listed {
    number: usize,
    at: u64,
    id: SessionId,
    area: Area,
}

/// The sessions for which there is room, the newest first. The others are refused here: memory receives the oldest first
/// and would have no room for the newest.
async fn newest(app: &App, sessions: Vec<Listed>, count: &mut Count) -> Result<Vec<Listed>, Failure> {
    let mut areas: Vec<(Area, HashSet<SessionId>)> = Vec::new();
    let mut newest = Vec::new();
    for session in sessions {
        let at = match areas.iter().position(|(area, _)| *area == session.area) {
            Some(at) => at,
            None => {
                // If one is missing, memory itself refuses sessions over its bound.
                let (here, _) = all(app, &session.area).await?;
                areas.push((session.area.clone(), here.iter().map(|row| row.id).collect()));
                areas.len() - 1
            }
        };
        let Some((_, known)) = areas.get_mut(at) else { continue };
        if known.contains(&session.id) || known.len() < SESSIONS {
            known.insert(session.id);
            newest.push(session);
        } else {
            count.refused.push((session.number, MemoryError::Full));
        }
    }
    Ok(newest)
}

/// The line that begins at this offset of the file, in bytes.
fn line_at(arguments: &Import, file: &mut File, at: u64) -> Result<Option<Content>, Failure> {
    file.seek(SeekFrom::Start(at))?;
    let line = Lines::of(BufReader::new(file)).next();
    let line = line.transpose().map_err(|fault| wrong(&arguments.file, fault))?;
    Ok(line.map(|line| line.content))
}

/// Imports one memory, or only checks it. Returns true if it was or would be imported.
async fn one(app: &App, arguments: &Import, memory: MemoryLine) -> Result<bool, Failure> {
    let area = arguments.area.clone().unwrap_or_else(|| memory.row.area.clone());
    let Import { mode, mine, dry_run, .. } = *arguments;
    let row = Box::new(Restored { row: memory.row, raw: memory.raw, over: mode, mine, dry_run });
    let restored = app
        .link
        .ask(&method::memory_restore, async |c, cx| c.memory_restore(cx, area.clone(), row.clone()).await);
    Ok(restored.await?.is_some())
}

/// The same with a session.
async fn session(app: &App, arguments: &Import, row: SessionRow, area: Area) -> Result<bool, Failure> {
    let area = arguments.area.clone().unwrap_or(area);
    let Import { mode, mine, dry_run, .. } = *arguments;
    let session = Box::new(RestoredSession { session: row, over: mode, mine, dry_run });
    let restored = app.link.ask(&method::memory_restore_session, async |c, cx| {
        c.memory_restore_session(cx, area.clone(), session.clone()).await
    });
    restored.await
}

fn wrong(path: &Path, fault: LineFault) -> Failure {
    match fault {
        LineFault::Malformed(line, why) => Failure::Malformed { path: path.to_owned(), line, why },
        LineFault::Input(cause) => Failure::File { path: path.to_owned(), cause },
    }
}

/// Imports transcripts, each event as a hook would have captured it. The same event twice is one memory.
async fn transcripts(app: &App, arguments: &Import, files: Vec<PathBuf>) -> Result<Count, Failure> {
    let mut count = Count::default();
    let area = arguments.area.clone().unwrap_or(Area::User);
    let whole = files.iter().filter_map(|file| file.metadata().ok()).map(|about| about.len()).sum();
    let mut progress = Progress::new(app.out.json, "import", Unit::Bytes, Some(whole));
    for file in files {
        let mut seen = 0;
        for line in transcript::captures(&file)? {
            let transcript::Line { number, bytes, captures } = line?;
            progress.add(bytes);
            for mut capture in captures {
                capture.project = arguments.project.clone().unwrap_or(capture.project);
                seen += 1;
                let result =
                    if arguments.dry_run { Ok(true) } else { self::capture(app, &area, capture).await };
                count.count(app, number, result)?;
            }
        }
        count.sessions += u64::from(seen > 0);
    }
    Ok(count)
}

/// Sends one captured event. Returns false if it is no memory, or is one already.
async fn capture(app: &App, area: &Area, capture: Capture) -> Result<bool, Failure> {
    let capture = Box::new(capture);
    let captured = app.link.ask(&method::memory_capture, async |c, cx| {
        c.memory_capture(cx, area.clone(), capture.clone()).await
    });
    Ok(captured.await?.is_some())
}

/// Imports notes: a note with a text that is here already is left as it is.
async fn notes(app: &App, arguments: &Import, notes: MarkdownNotes) -> Result<Count, Failure> {
    let MarkdownNotes { entries: notes, unread } = notes;
    let mut count = Count { unread, ..Count::default() };
    let area = arguments.area.clone().unwrap_or(Area::User);
    let mut here = HashMap::new();
    for some in notes.chunks(MOST_IDS) {
        let ids = List::clip(some.iter().map(|entry| entry.id));
        let rows = read(app, &area, ids).await?;
        here.extend(rows.into_vec().into_iter().map(|row| (row.entry.id, row)));
    }
    let key = |entry: &Entry| entry.texts().next().unwrap_or_default().to_owned();
    count.names = notes.iter().map(key).collect();
    let mut progress =
        Progress::new(app.out.json, "import", Unit::Of("notes"), u64::try_from(notes.len()).ok());
    for (place, mut entry) in notes.into_iter().enumerate() {
        progress.add(1);
        if let Some(row) = here.remove(&entry.id) {
            let Some(id) = said_again(app, arguments, &area, row).await? else {
                count.left += 1;
                continue;
            };
            entry.id = id;
        }
        entry.detail.source.external = !arguments.mine;
        let entry = Box::new(entry);
        let result = if arguments.dry_run {
            let judged = app.link.ask(&method::memory_judge, async |c, cx| {
                c.memory_judge(cx, area.clone(), entry.clone()).await
            });
            judged.await
        } else {
            let written = app.link.ask(&method::memory_write, async |c, cx| {
                c.memory_write(cx, area.clone(), entry.clone()).await
            });
            written.await.map(drop)
        };
        count.count(app, place + 1, result.map(|()| true))?;
    }
    Ok(count)
}

/// The id of a note whose file returned to an earlier text after a different one. `None` if the text is current, was
/// removed, or was revised by its person.
async fn said_again(
    app: &App,
    arguments: &Import,
    area: &Area,
    mut row: Row,
) -> Result<Option<MemoryId>, Failure> {
    let first = row.entry.id;
    let newer_row = async |id| {
        let rows = read(app, area, List::clip([id])).await?;
        Ok::<_, Failure>(rows.into_vec().into_iter().next())
    };
    for time in 1..=markdown::AGAIN {
        let State::Superseded { by, .. } = row.state else { return Ok(None) };
        let newer = newer_row(by).await?;
        if !newer.is_some_and(|newer| markdown::is_of_a_file(&newer, arguments.project.as_ref())) {
            return Ok(None);
        }
        let next = markdown::again(first, time);
        row = match newer_row(next).await? {
            Some(row) => row,
            None => return Ok(Some(next)),
        };
    }
    Ok(None)
}
