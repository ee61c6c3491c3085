//! `agentctl memory revise`, `edit` and `remove`: what is changed is never changed in its place.

use super::observed::Observed;
use super::{Where, ask, done, fetch};
use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::{edit, text};
use ipc_proto::ids::MemoryId;
use ipc_proto::memory::{Area, Ask, Entry, Importance, Kind, ObservationType, Project, Said};
use ipc_proto::{List, Name, Text};
use serde_json::json;

/// The arguments of `memory revise`.
#[derive(clap::Args)]
pub(crate) struct Revise {
    /// Its id
    #[arg(value_parser = super::id)]
    id: MemoryId,
    /// What it says from now on; as before without
    content: Option<String>,
    #[command(flatten)]
    observed: Observed,
    /// The type of an observation from now on: decision, bugfix, feature, refactor, discovery or change
    #[arg(long = "type", value_name = "TYPE", value_parser = super::named::<ObservationType>)]
    r#type: Option<ObservationType>,
    /// A tag that it has from now on, in the place of all it had; may be given again
    #[arg(long = "tag", value_name = "WORD", value_parser = super::tag)]
    tags: Vec<Name>,
    /// The project it belongs to from now on
    #[arg(long, value_parser = crate::project::named)]
    project: Option<Project>,
    /// How much it matters from now on, 1 to 5
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u8).range(1..=5))]
    importance: Option<u8>,
    /// When it is forgotten by itself: a number and s, m, h, d or w
    #[arg(long, value_name = "SPAN", value_parser = text::seconds)]
    expires: Option<u64>,
    #[command(flatten)]
    how: How,
}

/// The arguments of `memory edit`.
#[derive(clap::Args)]
pub(crate) struct Edit {
    /// Its id
    #[arg(value_parser = super::id)]
    id: MemoryId,
    #[command(flatten)]
    how: How,
}

/// The arguments of `memory remove`.
#[derive(clap::Args)]
pub(crate) struct Remove {
    /// Its id
    #[arg(value_parser = super::id)]
    id: MemoryId,
    #[command(flatten)]
    how: How,
}

/// Why, and where.
#[derive(clap::Args)]
struct How {
    /// Why; its history shows it
    #[arg(long, value_name = "TEXT", value_parser = crate::cli::text::<512>)]
    reason: Option<Text<512>>,
    #[command(flatten)]
    place: Where,
}

/// Revises by what was typed.
pub(super) async fn revise(app: &App, arguments: Revise) -> Outcome {
    let before = fetch(app, arguments.how.place.area.clone(), arguments.id).await?.entry;
    let mut entry = before.clone();
    if let Some(content) = arguments.content {
        entry.content = Text::new(content).map_err(|why| Failure::TooLong { what: "the memory", why })?;
    }
    match &mut entry.detail.kind {
        Kind::Observation(seen) => {
            seen.r#type = arguments.r#type.unwrap_or(seen.r#type);
            arguments.observed.put(seen)?;
        }
        _ if arguments.r#type.is_some() => {
            return Err(Failure::Usage("only an observation has what --type says".to_owned()));
        }
        _ => arguments.observed.none()?,
    }
    if !arguments.tags.is_empty() {
        entry.tags = List::new(arguments.tags).map_err(|why| Failure::TooLong { what: "--tag", why })?;
    }
    let detail = &mut entry.detail;
    detail.project = arguments.project.or_else(|| detail.project.clone());
    detail.importance = arguments.importance.map_or(detail.importance, Importance::of);
    let expires = arguments.expires.map(|span| text::now_ms().saturating_add(span.saturating_mul(1000)));
    detail.expires_ms = expires.or(detail.expires_ms);
    put(app, arguments.id, (&before, entry), arguments.how).await
}

/// Revises in the person's editor.
pub(super) async fn edit(app: &App, arguments: Edit) -> Outcome {
    let before = fetch(app, arguments.how.place.area.clone(), arguments.id).await?.entry;
    let draft = edit::edited(&before.content)?;
    let came = match Text::new(&draft.text) {
        Ok(content) => {
            let entry = Entry { content, ..before.clone() };
            put(app, arguments.id, (&before, entry), arguments.how).await
        }
        Err(why) => Err(Failure::TooLong { what: "the memory", why }),
    };
    draft.settle(came)
}

/// Puts the new row in the place of the old one, unless nothing would be different. Its id is chosen here, so that asking
/// twice is one revision.
async fn put(app: &App, id: MemoryId, (before, mut entry): (&Entry, Entry), how: How) -> Outcome {
    if entry == *before {
        let fields = json!({ "revised": false, "id": id.to_string() });
        return Ok(app.out.done(fields, "left as it was")?);
    }
    entry.id = MemoryId::random();
    let change = Ask::Revise { id, entry: Box::new(entry), reason: how.reason.unwrap_or_default() };
    let new = ask(app, how.place.area, change, Said::id).await?;
    let fields = json!({ "revised": true, "id": new.to_string(), "revises": id.to_string() });
    Ok(app.out.done(fields, &new.to_string())?)
}

impl Remove {
    /// Which, and in which part of memory.
    pub(super) const fn id(&self) -> (MemoryId, &Area) {
        (self.id, &self.how.place.area)
    }
}

/// Removes one.
pub(super) async fn remove(app: &App, arguments: Remove) -> Outcome {
    let How { reason, place } = arguments.how;
    let area: Area = place.area;
    let change = Ask::Remove { id: arguments.id, reason: reason.unwrap_or_default() };
    ask(app, area, change, done).await?;
    Ok(app.out.done(json!({ "id": arguments.id.to_string() }), "removed; a tombstone is left")?)
}
