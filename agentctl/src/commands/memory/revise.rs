//! `agentctl memory revise`, `edit` and `remove`: a change is a new revision, and the old one stays in the history.

use super::observed::Observed;
use super::{Where, fetch};
use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::{edit, text};
use ipc_proto::control::method;
use ipc_proto::ids::MemoryId;
use ipc_proto::memory::{Area, Entry, Importance, Kind, ObservationType, Project};
use ipc_proto::{List, Name, Text};
use serde_json::json;

/// The arguments of `memory revise`.
#[derive(clap::Args)]
pub(crate) struct Revise {
    /// Its id
    #[arg(value_parser = super::id)]
    id: MemoryId,
    /// The new text; unchanged by default
    content: Option<String>,
    #[command(flatten)]
    observed: Observed,
    /// The new type of an observation: decision, bugfix, feature, refactor, discovery or change
    #[arg(long = "type", value_name = "TYPE", value_parser = crate::arguments::named::<ObservationType>)]
    r#type: Option<ObservationType>,
    /// A new tag, which replaces all that it had; may be given again
    #[arg(long = "tag", value_name = "WORD", value_parser = super::tag)]
    tags: Vec<Name>,
    /// The new project
    #[arg(long, value_parser = crate::project::named)]
    project: Option<Project>,
    /// The new importance, 1 to 5
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u8).range(1..=5))]
    importance: Option<u8>,
    /// Its new lifetime: a number and s, m, h, d or w
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

/// The reason, and the part of memory.
#[derive(clap::Args)]
struct How {
    /// The reason, which its history shows
    #[arg(long, value_name = "TEXT", value_parser = crate::arguments::text::<512>)]
    reason: Option<Text<512>>,
    #[command(flatten)]
    place: Where,
}

/// Revises by the options.
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
            return Err(Failure::Usage("--type is for an observation".to_owned()));
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
    let edited = match Text::new(&draft.text) {
        Ok(content) => {
            let entry = Entry { content, ..before.clone() };
            put(app, arguments.id, (&before, entry), arguments.how).await
        }
        Err(why) => Err(Failure::TooLong { what: "the memory", why }),
    };
    draft.settle(edited)
}

/// Replaces the old row by the new one, unless they are the same. Its id is chosen here, so that a repeated call is one
/// revision.
async fn put(app: &App, id: MemoryId, (before, mut entry): (&Entry, Entry), how: How) -> Outcome {
    if entry == *before {
        let fields = json!({ "revised": false, "id": id.to_string() });
        return Ok(app.out.done(fields, "left as it was")?);
    }
    entry.id = MemoryId::random();
    let (entry, area, reason) = (Box::new(entry), how.place.area, how.reason.unwrap_or_default());
    let new = app.link.ask(&method::memory_revise, async |c, cx| {
        c.memory_revise(cx, area.clone(), id, entry.clone(), reason.clone()).await
    });
    let new = new.await?;
    let fields = json!({ "revised": true, "id": new.to_string(), "revises": id.to_string() });
    Ok(app.out.done(fields, &new.to_string())?)
}

impl Remove {
    /// The id, and the part of memory.
    pub(super) const fn id(&self) -> (MemoryId, &Area) {
        (self.id, &self.how.place.area)
    }
}

/// Removes one.
pub(super) async fn remove(app: &App, arguments: Remove) -> Outcome {
    let How { reason, place } = arguments.how;
    let (area, reason) = (place.area, reason.unwrap_or_default());
    let removed = app.link.ask(&method::memory_remove, async |c, cx| {
        c.memory_remove(cx, area.clone(), arguments.id, reason.clone()).await
    });
    removed.await?;
    Ok(app.out.done(json!({ "id": arguments.id.to_string() }), "removed; a tombstone is left")?)
}
