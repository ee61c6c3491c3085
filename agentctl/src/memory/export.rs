//! `agentctl memory export`: every row of an area with its history, its tombstones and what it was made from, and the sessions
//! of clients, as JSON lines; or what holds, as Markdown to read. Of a damaged database it is all that can be read, and what
//! cannot is counted.

use super::lines::{Kept, Met};
use super::markdown;
use super::pages::{PAGE, Pages};
use super::sessions::all;
use super::{Where, ask, say_damage};
use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::whole::Output;
use ipc_proto::control::ControlError;
use ipc_proto::memory::{
    Area, Ask, Filter, Kind, KindName, MemoryError, Row, Said, State, StateName, Unread,
};
use ipc_proto::{List, Text};
use serde_json::json;
use std::collections::HashSet;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// The arguments of `memory export`.
#[derive(clap::Args)]
pub(crate) struct Export {
    /// The file to write; standard output without one, and for -
    file: Option<PathBuf>,
    /// Replace the file if it is there
    #[arg(long, requires = "file")]
    force: bool,
    /// Write what holds as Markdown, to read; it cannot be taken in again as it was
    #[arg(long)]
    markdown: bool,
    #[command(flatten)]
    place: Where,
}

/// Writes them.
pub(super) async fn export(app: &App, arguments: Export) -> Outcome {
    let Export { file, force, markdown, place } = arguments;
    let Some(path) = file.filter(|file| file.as_os_str() != "-") else {
        let written = write(app, &place.area, markdown, &mut io::stdout().lock()).await?;
        return written.ended(app, place.area).await;
    };
    let at = |cause| Failure::File { path: path.clone(), cause };
    let mut output = Output::create(&path, force)?;
    let written = {
        let mut to = io::BufWriter::new(output.file());
        let written = write(app, &place.area, markdown, &mut to).await?;
        to.flush().map_err(at)?;
        written
    };
    output.finish()?;
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
    /// Memories or sessions went so often meanwhile that others may have been passed over.
    may_lack: bool,
}

impl Written {
    /// How the export ends: well only if nothing of the area is missing in it. What is missing is counted, and named where it
    /// has a name.
    async fn ended(self, app: &App, area: Area) -> Outcome {
        let unread = ask(app, area, Ask::Unread { each: true }, Said::unread).await?;
        say_damage(app, &unread);
        let Unread { damaged, rows, first } = unread;
        if !damaged && rows > 0 {
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
            app.out.hint(
                "memories or sessions went so often meanwhile that others may not be in it: export them once more",
            );
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
        let mut pages = Pages::new(|row: &Row| row.entry.id);
        while let Some(start) = pages.start() {
            let kinds = List::clip(KindName::ALL);
            let filter = Box::new(Filter { state: *state, kinds, ..Filter::default() });
            let page = Ask::List { filter, limit: PAGE, start };
            for row in pages.took(ask(app, area.clone(), page, Said::rows).await)? {
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
        let (sessions, may_lack) = all(app, area).await?;
        written.may_lack |= may_lack;
        for session in sessions {
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
