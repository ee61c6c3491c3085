//! `agentctl memory import`: an export of this program, a database of open-mem or claude-mem, or Markdown files. All of it
//! is looked through before any of it is sent. What comes from elsewhere is a stranger's unless its person says otherwise.

use super::lines::{Kept, Line, LineFault, Lines, Told};
use super::markdown::Notes;
use super::sessions::all;
use super::{PROGRAM, area, ask, done, markdown, named};
use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::{sibling, text};
use ipc_proto::List;
use ipc_proto::control::ControlError;
use ipc_proto::ids::{MemoryId, SessionId};
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::memory::{
    Area, Ask, Entry, MOST_IDS, MemoryError, Over, Project, Row, SESSIONS, Said, SessionRow, State,
};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Why a file of a folder was left out, by its word for a program.
const UNREAD: &str = "unreadable";
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
    /// Sessions that were taken in, or would be.
    sessions: u64,
    /// Refused by memory, with the number of the line or note and why.
    refused: Vec<(usize, MemoryError)>,
    /// Files that could not be read, and why.
    unread: Vec<(String, io::Error)>,
    /// What the notes are called, in their order; empty where lines are taken in.
    names: Vec<String>,
}

impl Count {
    /// How many were left out for each reason, by its word for a program.
    fn reasons(&self) -> BTreeMap<&'static str, u64> {
        let mut reasons = BTreeMap::new();
        for why in self.refused.iter().map(|(_, why)| reason(*why)).chain(self.unread.iter().map(|_| UNREAD))
        {
            *reasons.entry(why).or_default() += 1;
        }
        reasons
    }

    /// What was left out, for a program.
    fn left_out(&self) -> Vec<Value> {
        let refused = self.refused.iter().map(|(line, why)| {
            json!({ "line": line, "file": self.file(*line), "reason": reason(*why), "why": why.to_string() })
        });
        let unread = self.unread.iter().map(
            |(file, why)| json!({ "line": null, "file": file, "reason": UNREAD, "why": why.to_string() }),
        );
        refused.chain(unread).collect()
    }

    /// What a refused one is called: a note by its file, a line by its number.
    fn name(&self, number: usize) -> String {
        self.file(number).map_or_else(|| format!("line {number}"), str::to_owned)
    }

    /// The file that a note is made of.
    fn file(&self, number: usize) -> Option<&str> {
        number.checked_sub(1).and_then(|place| self.names.get(place)).map(String::as_str)
    }

    /// Counts what came of one; what concerns all of them ends the import, and then it is said how far it came.
    fn count(&mut self, app: &App, number: usize, came: Result<bool, Failure>) -> Result<(), Failure> {
        match came {
            Ok(true) => self.taken += 1,
            Ok(false) => self.left += 1,
            Err(failure) => match refusal(failure) {
                Ok(why) => self.refused.push((number, why)),
                Err(failure) => {
                    app.out.hint(&format!(
                        "{} were taken in before this, {} sessions",
                        self.taken, self.sessions
                    ));
                    return Err(failure);
                }
            },
        }
        Ok(())
    }
}

/// A reason by its word for a program.
fn reason(why: MemoryError) -> &'static str {
    match why {
        MemoryError::Refused(why) => why.name(),
        why => Failure::Control(ControlError::Memory(why)).kind(),
    }
}

/// Where memories come from.
enum Origin {
    /// Lines, of this program or of a database of another.
    Lines { file: File, foreign: bool },
    /// Notes.
    Notes(Notes),
}

/// Takes them in.
pub(super) async fn import(app: &App, arguments: Import) -> Outcome {
    let count = match source(&arguments)? {
        Origin::Lines { file, foreign } => lines(app, &arguments, file, foreign).await?,
        Origin::Notes(notes) => self::notes(app, &arguments, notes).await?,
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
        "{} {would}taken in, {} left as they are, {} refused{why}; {} sessions",
        count.taken,
        count.left,
        refused.len(),
        count.sessions
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

/// Looks at every line, and then takes each in: sessions, and then memories, the oldest first: the order in which they come
/// is theirs here.
async fn lines(app: &App, arguments: &Import, mut file: File, foreign: bool) -> Result<Count, Failure> {
    let mut count = Count::default();
    let (mut order, mut sessions) = (Vec::new(), Vec::new());
    file.rewind()?;
    for line in Lines::of(BufReader::new(&mut file)) {
        let Line { number, at, told } = line.map_err(|fault| wrong(&arguments.file, fault))?;
        match told {
            // Of one instant the newest stands first in an export.
            Told::Memory(kept) => order.push((kept.row.created_ms, Reverse(number), at)),
            Told::Session(row, area) => {
                let area = arguments.area.clone().unwrap_or(area);
                sessions.push(Listed { number, at, id: row.id, area });
            }
        }
    }
    // The oldest session stands last in an export.
    for Listed { number, at, .. } in newest(app, sessions, &mut count).await?.into_iter().rev() {
        let Some(Told::Session(row, area)) = line_at(arguments, &mut file, at)? else { continue };
        let came = session(app, arguments, *row, area).await;
        if matches!(came, Ok(true)) {
            count.sessions += 1;
        } else if came.is_err() {
            count.count(app, number, came)?;
        }
    }
    order.sort_unstable();
    for (_, Reverse(number), at) in order {
        let Some(Told::Memory(mut kept)) = line_at(arguments, &mut file, at)? else { continue };
        let entry = &mut kept.row.entry;
        entry.detail.project = entry.detail.project.take().or_else(|| arguments.project.clone());
        if foreign && arguments.mine {
            entry.detail.source.external = false;
            entry.label = Label::of(Trust::User, Class::Internal, "import");
        }
        let came = one(app, arguments, *kept).await;
        count.count(app, number, came)?;
    }
    Ok(count)
}

/// Where a session stands in a file, and the area that it goes to.
struct Listed {
    number: usize,
    at: u64,
    id: SessionId,
    area: Area,
}

/// Those of the sessions that there is room for. The newest stand first; the others are refused here, since memory, which is
/// told of the oldest first, would have no room for the newest.
async fn newest(app: &App, sessions: Vec<Listed>, count: &mut Count) -> Result<Vec<Listed>, Failure> {
    let mut areas: Vec<(Area, HashSet<SessionId>)> = Vec::new();
    let mut newest = Vec::new();
    for session in sessions {
        let at = match areas.iter().position(|(area, _)| *area == session.area) {
            Some(at) => at,
            None => {
                // Where one is missing, memory itself refuses what it has no room for.
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

/// What the line says that begins so many bytes after the file's beginning.
fn line_at(arguments: &Import, file: &mut File, at: u64) -> Result<Option<Told>, Failure> {
    file.seek(SeekFrom::Start(at))?;
    let line = Lines::of(BufReader::new(file)).next();
    let line = line.transpose().map_err(|fault| wrong(&arguments.file, fault))?;
    Ok(line.map(|line| line.told))
}

/// Takes one in, or only looks whether it would be; whether it is.
async fn one(app: &App, arguments: &Import, kept: Kept) -> Result<bool, Failure> {
    let area = arguments.area.clone().unwrap_or_else(|| kept.row.area.clone());
    let Import { mode, mine, dry_run, .. } = *arguments;
    let restore = Ask::Restore { row: Box::new(kept.row), raw: kept.raw, over: mode, mine, dry_run };
    Ok(ask(app, area, restore, Said::taken).await?.is_some())
}

/// The same with a session.
async fn session(app: &App, arguments: &Import, row: SessionRow, area: Area) -> Result<bool, Failure> {
    let area = arguments.area.clone().unwrap_or(area);
    let Import { mode, mine, dry_run, .. } = *arguments;
    let restore = Ask::RestoreSession { session: Box::new(row), over: mode, mine, dry_run };
    ask(app, area, restore, Said::session).await
}

fn wrong(path: &Path, fault: LineFault) -> Failure {
    match fault {
        LineFault::Malformed(line, why) => Failure::Malformed { path: path.to_owned(), line, why },
        LineFault::Input(cause) => Failure::File { path: path.to_owned(), cause },
    }
}

/// Takes notes in: one whose text is here already is left as it is.
async fn notes(app: &App, arguments: &Import, notes: Notes) -> Result<Count, Failure> {
    let Notes { entries: notes, unread } = notes;
    let mut count = Count { unread, ..Count::default() };
    let area = arguments.area.clone().unwrap_or(Area::User);
    let mut here = HashMap::new();
    for some in notes.chunks(MOST_IDS) {
        let ids = List::clip(some.iter().map(|entry| entry.id));
        let rows = ask(app, area.clone(), Ask::Read(ids), Said::rows).await?;
        here.extend(rows.into_vec().into_iter().map(|row| (row.entry.id, row)));
    }
    let key = |entry: &Entry| entry.texts().next().unwrap_or_default().to_owned();
    count.names = notes.iter().map(key).collect();
    for (place, mut entry) in notes.into_iter().enumerate() {
        if let Some(row) = here.remove(&entry.id) {
            let Some(id) = said_again(app, arguments, &area, row).await? else {
                count.left += 1;
                continue;
            };
            entry.id = id;
        }
        entry.detail.source.external = !arguments.mine;
        let entry = Box::new(entry);
        let came = if arguments.dry_run {
            ask(app, area.clone(), Ask::Judge(entry), done).await
        } else {
            ask(app, area.clone(), Ask::Write(entry), Said::id).await.map(drop)
        };
        count.count(app, place + 1, came.map(|()| true))?;
    }
    Ok(count)
}

/// The id under which a file says again what it said before: something else that it said meanwhile stands in the place of this
/// row. None if what it says is here, was removed, or was revised by its person.
async fn said_again(
    app: &App,
    arguments: &Import,
    area: &Area,
    mut row: Row,
) -> Result<Option<MemoryId>, Failure> {
    let first = row.entry.id;
    let read = async |id| {
        let rows = ask(app, area.clone(), Ask::Read(List::clip([id])), Said::rows).await?;
        Ok::<_, Failure>(rows.into_vec().into_iter().next())
    };
    for time in 1..=markdown::AGAIN {
        let State::Superseded { by, .. } = row.state else { return Ok(None) };
        let newer = read(by).await?;
        if !newer.is_some_and(|newer| markdown::is_of_a_file(&newer, arguments.project.as_ref())) {
            return Ok(None);
        }
        let next = markdown::again(first, time);
        row = match read(next).await? {
            Some(row) => row,
            None => return Ok(Some(next)),
        };
    }
    Ok(None)
}

/// Why memory would not have one row; what concerns all of them ends the import.
fn refusal(failure: Failure) -> Result<MemoryError, Failure> {
    match failure {
        Failure::Control(ControlError::Memory(
            why @ (MemoryError::Refused(_)
            | MemoryError::NeedsPerson
            | MemoryError::NotFound
            | MemoryError::Full
            | MemoryError::ShareFull),
        )) => Ok(why),
        failure => Err(failure),
    }
}
