//! `agentctl memory export`: every row of an area with its history, its tombstones and what it was made from, and the sessions
//! of clients, as JSON lines; or what holds, as Markdown to read. Of a damaged database it is all that can be read, and what
//! cannot is counted.

use super::lines::{Kept, Met};
use super::markdown;
use super::sessions::all;
use super::{Where, ask, say_unread};
use crate::app::{App, Outcome};
use crate::failure::Failure;
use ipc_proto::control::ControlError;
use ipc_proto::ids::MemoryId;
use ipc_proto::memory::{
    Area, Ask, Filter, Kind, KindName, MemoryError, Row, Said, State, StateName, Unread,
};
use ipc_proto::{List, Text};
use serde_json::json;
use std::collections::HashSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Rows of one answer.
const PAGE: u16 = 100;
/// Rows of it that the one before had as well.
const OVER: u32 = 10;
/// So many of the last rows are known again.
const KNOWN: usize = OVER as usize;
/// How often all rows in a state are gone through again.
const AGAIN: u8 = 16;

/// The arguments of `memory export`.
#[derive(clap::Args)]
pub(crate) struct Export {
    /// The file to write; standard output without one
    file: Option<PathBuf>,
    /// Write what holds as Markdown, to read; it cannot be taken in again as it was
    #[arg(long)]
    markdown: bool,
    #[command(flatten)]
    place: Where,
}

/// Writes them.
pub(super) async fn export(app: &App, arguments: Export) -> Outcome {
    let Export { file, markdown, place } = arguments;
    let Some(path) = file else {
        let written = write(app, &place.area, markdown, &mut io::stdout().lock()).await?;
        return written.ended(app, place.area).await;
    };
    let at = |cause| Failure::File { path: path.clone(), cause };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // For its owner's eyes alone, and there whole or not at all.
    let mut whole = tempfile::NamedTempFile::new_in(folder).map_err(at)?;
    let written = {
        let mut to = io::BufWriter::new(whole.as_file_mut());
        let written = write(app, &place.area, markdown, &mut to).await?;
        to.flush().map_err(at)?;
        written
    };
    whole.as_file().sync_all().map_err(at)?;
    whole.persist(&path).map_err(|error| at(error.error))?;
    let Written { memories, sessions, without_raw, .. } = written;
    let fields = json!({
        "file": path.to_string_lossy(), "memories": memories, "sessions": sessions, "without_raw": without_raw,
    });
    app.out
        .done(fields, &format!("{memories} memories and {sessions} sessions are in {}", path.display()))?;
    written.ended(app, place.area).await
}

/// What was written.
#[derive(Clone, Copy, Default)]
struct Written {
    memories: u64,
    sessions: u64,
    /// Memories of which it cannot be read any more what they were made from.
    without_raw: u64,
    /// Memories went so often meanwhile that others may have been passed over.
    may_lack: bool,
}

impl Written {
    /// How the export ends: well only if nothing of the area is missing in it. What is missing is counted, and named where it
    /// has a name.
    async fn ended(self, app: &App, area: Area) -> Outcome {
        let Unread { damaged, rows, first } =
            ask(app, area.clone(), Ask::Unread { each: true }, Said::unread).await?;
        if damaged {
            say_unread(app, area).await?;
        } else if rows > 0 {
            let named: Vec<String> = first.iter().map(ToString::to_string).collect();
            let more = usize::try_from(rows).unwrap_or(usize::MAX).saturating_sub(named.len());
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            app.out.hint(&format!(
                "{rows} memories are not in it, since this version does not understand what the database holds of them: {}{more}",
                named.join(", ")
            ));
        }
        if self.without_raw > 0 {
            app.out.hint(&format!(
                "of {} memories it cannot be read what they were made from",
                self.without_raw
            ));
        }
        if self.may_lack {
            app.out
                .hint("memories went so often meanwhile that others may not be in it: export them once more");
        }
        let is_whole = rows == 0 && self.without_raw == 0 && !self.may_lack;
        Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// What holds comes first, then what stood in its place before, then tombstones, so that what changes meanwhile is there,
/// and once: as it was when it was come to.
async fn write(app: &App, area: &Area, markdown: bool, to: &mut impl Write) -> Result<Written, Failure> {
    let states: &[StateName] = if markdown {
        &[StateName::Current]
    } else {
        &[StateName::Current, StateName::Superseded, StateName::Removed, StateName::Proposed]
    };
    let (mut seen, mut written) = (HashSet::new(), Written::default());
    for state in states {
        let mut pages = Pages::of(*state);
        while let Some(rows) = pages.next(app, area).await? {
            for row in rows {
                if !seen.insert(row.entry.id) {
                    continue;
                }
                let text =
                    if markdown { markdown::shown(&row) } else { line(app, area, row, &mut written).await? };
                to.write_all(text.as_bytes())?;
                written.memories += 1;
            }
        }
        written.may_lack |= pages.may_lack;
    }
    if !markdown {
        for session in all(app, area).await? {
            let line = Met::new(session, area.clone()).write().map_err(io::Error::from)?;
            to.write_all((line + "\n").as_bytes())?;
            written.sessions += 1;
        }
    }
    to.flush()?;
    Ok(written)
}

async fn line(app: &App, area: &Area, row: Row, written: &mut Written) -> Result<String, Failure> {
    let may_have_raw =
        matches!(row.entry.detail.kind, Kind::Observation(_)) && !matches!(row.state, State::Removed { .. });
    let mut text = Text::default();
    if may_have_raw {
        match ask(app, area.clone(), Ask::Raw(row.entry.id), Said::raw).await {
            Ok(raw) => text = raw.text,
            Err(Failure::Control(ControlError::Memory(MemoryError::Damaged | MemoryError::Storage))) => {
                written.without_raw += 1;
            }
            // It went meanwhile, with what it was made from.
            Err(Failure::Control(ControlError::Memory(MemoryError::NotFound))) => {}
            Err(failure) => return Err(failure),
        }
    }
    let line = Kept::new(row, text).write().map_err(io::Error::from)?;
    Ok(line + "\n")
}

/// The pages of all rows in a state, newest first. Each goes over a part of the one before it, so that it is seen when
/// rows went meanwhile and others took their places: then all is gone through again.
struct Pages {
    state: StateName,
    /// So many of the newest are known.
    offset: u32,
    /// The last of them.
    known: Vec<MemoryId>,
    /// How often they are gone through again at most.
    again: u8,
    /// Rows went once more after that.
    may_lack: bool,
    ended: bool,
}

impl Pages {
    const fn of(state: StateName) -> Self {
        Self { state, offset: 0, known: Vec::new(), again: AGAIN, may_lack: false, ended: false }
    }

    /// The next page; none after the last.
    async fn next(&mut self, app: &App, area: &Area) -> Result<Option<Vec<Row>>, Failure> {
        if self.ended {
            return Ok(None);
        }
        let offset = self.offset.saturating_sub(OVER);
        let kinds = List::clip(KindName::ALL);
        let filter = Box::new(Filter { state: self.state, kinds, ..Filter::default() });
        let page = Ask::List { filter, limit: PAGE, offset };
        let rows = ask(app, area.clone(), page, Said::rows).await?.into_vec();
        if offset > 0 && !rows.iter().any(|row| self.known.contains(&row.entry.id)) {
            if let Some(again) = self.again.checked_sub(1) {
                *self = Self { again, ..Self::of(self.state) };
                return Ok(Some(Vec::new()));
            }
            // An export ends also where rows go all the while.
            self.may_lack = true;
        }
        self.ended = rows.len() < usize::from(PAGE);
        self.offset = offset.saturating_add(u32::try_from(rows.len()).unwrap_or(u32::MAX));
        self.known = rows.iter().rev().take(KNOWN).map(|row| row.entry.id).collect();
        Ok(Some(rows))
    }
}
