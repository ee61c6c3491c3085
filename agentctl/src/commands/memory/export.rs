//! `agentctl memory export`: every row of an area with its history, its tombstones and its source texts, and the sessions of
//! clients, as JSON lines; or current memories as Markdown to read. A damaged database is exported as far as it can be read,
//! and unreadable rows are counted.

use super::lines::{MemoryLine, SessionLine};
use super::markdown;
use super::pages::{PAGE, Pages};
use super::sessions::all;
use super::{Where, raw, say_damage, unread};
use crate::app::{App, Outcome};
use crate::atomic_file::Output;
use crate::failure::Failure;
use crate::text;
use ipc_proto::control::{ControlError, method};
use ipc_proto::memory::{Area, Filter, Kind, KindName, MemoryError, Row, State, StateName, Unread};
use ipc_proto::{List, Text};
use serde_json::json;
use std::collections::HashSet;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// The arguments of `memory export`.
#[derive(clap::Args)]
pub(crate) struct Export {
    /// The file to write; standard output by default, and for -
    file: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long, requires = "file")]
    force: bool,
    /// Write current memories as Markdown to read; it cannot be imported as it was
    #[arg(long)]
    markdown: bool,
    #[command(flatten)]
    place: Where,
}

/// Runs the export.
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
    app.out.done(
        fields,
        &format!(
            "{} and {} are in {}",
            text::count(memories, "memory", "memories"),
            text::count(sessions, "session", "sessions"),
            path.display()
        ),
    )?;
    written.ended(app, place.area).await
}

/// The numbers of written rows.
#[derive(Clone, Copy, Default)]
struct Written {
    memories: u64,
    sessions: u64,
    /// Memories with an unreadable source text.
    without_raw: u64,
    /// True if rows went so often meanwhile that others may be missing.
    may_lack: bool,
}

impl Written {
    /// Ends the export. It succeeds only if nothing of the area is missing; missing rows are counted, and named if they have a
    /// name.
    async fn ended(self, app: &App, area: Area) -> Outcome {
        let unread = unread(app, &area, true).await?;
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

/// Writes current memories first, then superseded ones, then tombstones, so that a memory that changes meanwhile is
/// written once, as it was when it was read.
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
            let filter = Filter { state: *state, kinds, ..Filter::default() };
            let page = app.link.ask(&method::memory_list, async |c, cx| {
                c.memory_list(cx, area.clone(), filter.clone(), PAGE, start.clone()).await
            });
            for row in pages.took(page.await)? {
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
            let line = SessionLine::new(session, area.clone()).write().map_err(io::Error::from)?;
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
        match raw(app, area, row.entry.id).await {
            Ok(raw) => text = raw.text,
            Err(Failure::Control(ControlError::Memory(MemoryError::Damaged | MemoryError::Storage))) => {
                written.without_raw += 1;
            }
            // The row went meanwhile, with its source text.
            Err(Failure::Control(ControlError::Memory(MemoryError::NotFound))) => {}
            Err(failure) => return Err(failure),
        }
    }
    let line = MemoryLine::new(row, text).write().map_err(io::Error::from)?;
    Ok(line + "\n")
}
