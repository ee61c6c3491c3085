//! `agentctl memory show`, `list` and `timeline`.

use super::filter::Which;
use super::{Page, Where, fetch, raw, say_unread};
use crate::app::{App, Outcome};
use crate::{text, view};
use ipc_proto::control::method;
use ipc_proto::ids::MemoryId;
use ipc_proto::memory::{Area, Kind, Neighbourhood, Row, Start, State};
use serde_json::json;
use std::process::ExitCode;

/// The arguments of `memory show`.
#[derive(clap::Args)]
pub(crate) struct Show {
    /// Its id
    #[arg(value_parser = super::id)]
    id: MemoryId,
    /// Also show the text that an observation was made from
    #[arg(long)]
    raw: bool,
    #[command(flatten)]
    place: Where,
}

/// The arguments of `memory list`.
#[derive(clap::Args)]
pub(crate) struct List {
    #[command(flatten)]
    page: Page,
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    place: Where,
}

/// The arguments of `memory timeline`.
#[derive(clap::Args)]
pub(crate) struct Timeline {
    /// The memory in the middle; the newest by default
    #[arg(value_parser = super::id)]
    anchor: Option<MemoryId>,
    /// Show this many before it
    #[arg(long, value_name = "COUNT", default_value_t = 5, value_parser = clap::value_parser!(u16).range(0..=50))]
    before: u16,
    /// Show this many after it
    #[arg(long, value_name = "COUNT", default_value_t = 5, value_parser = clap::value_parser!(u16).range(0..=49))]
    after: u16,
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    place: Where,
}

/// Shows one.
pub(super) async fn show(app: &App, arguments: Show) -> Outcome {
    let area = arguments.place.area;
    let row = fetch(app, area.clone(), arguments.id).await?;
    let material = if arguments.raw { Some(raw(app, &area, arguments.id).await?.text) } else { None };
    if app.out.json {
        app.out.document(json!({ "memory": view::memory(&row), "raw": material }))?;
        return Ok(ExitCode::SUCCESS);
    }
    app.out.pairs(&facts(&row))?;
    app.out.line(&format!("\n{}", row.entry.content.trim_end()))?;
    if let Some(material) = material {
        app.out.line(&format!("\nmade from:\n{}", material.trim_end()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Lists them.
pub(super) async fn list(app: &App, arguments: List) -> Outcome {
    let List { page: Page { limit, offset }, which, place } = arguments;
    let filter = which.filter(app, &place.area).await?;
    let listed = app.link.ask(&method::memory_list, async |c, cx| {
        c.memory_list(cx, place.area.clone(), (*filter).clone(), limit, Start::After(offset)).await
    });
    rows(app, &listed.await?, place.area.clone()).await
}

/// Lists those around one.
pub(super) async fn timeline(app: &App, arguments: Timeline) -> Outcome {
    let Timeline { anchor, before, after, which, place } = arguments;
    let around = Neighbourhood { anchor, filter: *which.filter(app, &place.area).await?, before, after };
    let listed = app.link.ask(&method::memory_timeline, async |c, cx| {
        c.memory_timeline(cx, place.area.clone(), around.clone()).await
    });
    rows(app, &listed.await?, place.area.clone()).await
}

async fn rows(app: &App, rows: &[Row], area: Area) -> Outcome {
    say_unread(app, area).await?;
    let head = ["ID", "CREATED", "KIND", "TAGS", "LABEL", "CONTENT"];
    Ok(app.out.list("memories", rows, view::memory, &head, |row| {
        vec![
            row.entry.id.to_string(),
            text::utc(row.created_ms),
            view::kind(&row.entry.detail.kind),
            tags(row, ","),
            view::label(&row.entry.label),
            text::begin(title(row), 80),
        ]
    })?)
}

/// Its title, or the beginning of its text.
pub(super) fn title(row: &Row) -> &str {
    match &row.entry.detail.kind {
        Kind::Observation(seen) => &seen.title,
        _ => &row.entry.content,
    }
}

fn tags(row: &Row, between: &str) -> String {
    row.entry.tags.iter().map(|tag| tag.as_str()).collect::<Vec<_>>().join(between)
}

/// Its state in words.
pub(super) fn state(row: &Row) -> String {
    match row.state {
        State::Current => "current".to_owned(),
        State::Superseded { by, at_ms } => format!("superseded by {by} at {}", text::utc(at_ms)),
        State::Removed { at_ms } => format!("removed at {}", text::utc(at_ms)),
        State::Proposed { at_ms } => format!("proposed at {}, for you to accept or reject", text::utc(at_ms)),
    }
}

fn facts(row: &Row) -> Vec<(&'static str, String)> {
    let (entry, detail) = (&row.entry, &row.entry.detail);
    let mut facts = vec![
        ("id", entry.id.to_string()),
        ("area", view::area(&row.area)),
        ("kind", view::kind(&detail.kind)),
        ("state", state(row)),
    ];
    match &detail.kind {
        Kind::Note { key } => facts.extend(key.iter().map(|key| ("key", key.to_string()))),
        Kind::Semantic(fact) => facts.push(("key", fact.key.to_string())),
        Kind::Observation(seen) => {
            facts.extend([("title", seen.title.to_string()), ("subtitle", seen.subtitle.to_string())]);
            facts.extend(seen.facts.iter().map(|fact| ("fact", fact.to_string())));
            facts.extend(seen.files_read.iter().map(|file| ("read", file.to_string())));
            facts.extend(seen.files_modified.iter().map(|file| ("changed", file.to_string())));
        }
        Kind::Summary(summary) => facts.extend([
            ("request", summary.request.to_string()),
            ("learned", summary.learned.to_string()),
            ("completed", summary.completed.to_string()),
            ("next steps", summary.next_steps.to_string()),
        ]),
        Kind::Episodic { role } => facts.push(("role", role.to_string())),
        Kind::Entity(entity) => {
            facts.extend([("name", entity.name.to_string()), ("type", view::word(entity.r#type))]);
        }
    }
    facts.extend([
        ("tags", tags(row, ", ")),
        ("importance", detail.importance.get().to_string()),
        ("label", view::label(&entry.label)),
        ("source", view::word(detail.source.r#type)),
    ]);
    facts.extend(detail.project.iter().map(|project| ("project", project.to_string())));
    facts.extend(entry.session.map(|session| ("session", session.to_string())));
    facts.push(("created", text::utc(row.created_ms)));
    facts.extend(detail.expires_ms.map(|at| ("expires", text::utc(at))));
    facts.extend(row.revises.map(|id| ("revises", id.to_string())));
    facts.extend(detail.source.row.map(|id| ("taken from", id.to_string())));
    if !row.reason.is_empty() {
        facts.push(("reason", row.reason.to_string()));
    }
    facts
}
