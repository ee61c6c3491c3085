//! `agentctl memory delete` and `forget`: forgets one memory or many. Many are forgotten only after a confirmation.

use super::sessions::session_ids;
use super::show::title;
use super::{Where, read};
use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::text;
use ipc_proto::control::{ControlError, method};
use ipc_proto::ids::MemoryId;
use ipc_proto::memory::{Area, Forget as What, Forgotten, MOST_IDS, MemoryError, Project};
use ipc_proto::{List, Text};
use serde_json::json;
use std::io::{BufRead, IsTerminal};

/// The arguments of `memory delete`.
#[derive(clap::Args)]
pub(crate) struct Delete {
    /// Its id
    #[arg(value_parser = super::id)]
    id: MemoryId,
    #[command(flatten)]
    place: Where,
}

/// The arguments of `memory forget`.
#[derive(clap::Args)]
pub(crate) struct Forget {
    #[command(flatten)]
    what: Selection,
    /// Leave only a hash on the record; by default a tombstone is left
    #[arg(long)]
    purge: bool,
    /// Only print what would be forgotten
    #[arg(long = "dry-run")]
    dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    place: Where,
}

/// The memories to forget: exactly one of these.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
struct Selection {
    /// Their ids
    #[arg(value_parser = super::id)]
    ids: Vec<MemoryId>,
    /// Every memory of a project: a directory, or any other name
    #[arg(long, value_parser = crate::project::named)]
    project: Option<Project>,
    /// Every memory of a session: its id, CLIENT:NAME, or cordon:ID of a session of this host
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// Every memory from before this time: a day such as 2026-11-22, or an age such as 90d
    #[arg(long, value_name = "TIME", value_parser = text::moment)]
    before: Option<u64>,
    /// Every memory that has all of these words
    #[arg(long, value_name = "WORDS", value_parser = topic)]
    topic: Option<Text<256>>,
}

/// Parses words; a blank text is refused.
fn topic(words: &str) -> Result<Text<256>, String> {
    if words.trim().is_empty() {
        return Err("a topic is one word or several".to_owned());
    }
    crate::arguments::text(words).map_err(|why| why.to_string())
}

/// Forgets one memory completely.
pub(super) async fn delete(app: &App, arguments: Delete) -> Outcome {
    let id = arguments.id;
    let gone = go(app, &arguments.place.area, &What::Ids(List::clip([id])), true, false).await?;
    if gone.rows == 0 {
        Err(ControlError::Memory(MemoryError::NotFound))?;
    }
    Ok(app.out.done(json!({ "id": id.to_string() }), "forgotten")?)
}

/// Forgets the selected memories.
pub(super) async fn forget(app: &App, arguments: Forget) -> Outcome {
    let Forget { what, purge, dry_run, yes, place } = arguments;
    let area = place.area;
    let what = selected(app, &area, what).await?;
    let there = all_of(app, &area, &what, purge).await?;
    let ids: Vec<String> = there.first.iter().map(ToString::to_string).collect();
    if dry_run {
        let fields = json!({ "dry_run": true, "rows": there.rows, "more": there.more, "ids": ids });
        let done = app.out.done(fields, &format!("{} would be forgotten", counted(&there)))?;
        if !app.out.json {
            shown(app, &area, there.first).await?;
        }
        return Ok(done);
    }
    if there.rows > 1 && !yes && !agreed(app, &there, purge)? {
        return Ok(app.out.done(json!({ "rows": 0 }), "nothing was forgotten")?);
    }
    let mut rows = 0;
    for what in &what {
        loop {
            let gone = go(app, &area, what, purge, false).await?;
            rows += gone.rows;
            // A host that reports more and forgets nothing would keep this loop running for ever.
            if !gone.more || gone.rows == 0 {
                break;
            }
        }
    }
    Ok(app.out.done(json!({ "rows": rows, "purged": purge }), &format!("{rows} forgotten"))?)
}

/// Shows the first of those that would be forgotten, a line each.
async fn shown(app: &App, area: &Area, first: List<MemoryId, MOST_IDS>) -> Result<(), Failure> {
    for row in read(app, area, first).await? {
        app.out.line(&format!("{}  {}", row.entry.id, text::begin(title(&row), 80)))?;
    }
    Ok(())
}

/// The number of rows that would be forgotten.
async fn all_of(app: &App, area: &Area, what: &[What], purge: bool) -> Result<Forgotten, Failure> {
    let mut all = Forgotten::default();
    for what in what {
        let there = go(app, area, what, purge, true).await?;
        all.rows += there.rows;
        all.more |= there.more;
        all.first = List::clip(all.first.into_iter().chain(there.first));
    }
    Ok(all)
}

async fn go(app: &App, area: &Area, what: &What, purge: bool, dry_run: bool) -> Result<Forgotten, Failure> {
    let forgotten = app.link.ask(&method::memory_forget, async |c, cx| {
        c.memory_forget(cx, area.clone(), what.clone(), purge, dry_run).await
    });
    forgotten.await
}

async fn selected(app: &App, area: &Area, what: Selection) -> Result<Vec<What>, Failure> {
    let Selection { ids, project, session, before, topic } = what;
    if let Some(session) = session {
        return Ok(session_ids(app, area, &session).await?.into_iter().map(What::Session).collect());
    }
    let others = project.map(What::Project).or(before.map(What::Before)).or(topic.map(What::Topic));
    Ok(vec![match others {
        Some(what) => what,
        None => What::Ids(List::new(ids).map_err(|why| Failure::TooLong { what: "the ids", why })?),
    }])
}

fn counted(there: &Forgotten) -> String {
    let more = if there.more { "more than " } else { "" };
    format!("{more}{}", text::count(there.rows, "memory", "memories"))
}

/// Returns true if the person confirms.
fn agreed(app: &App, there: &Forgotten, purge: bool) -> Result<bool, Failure> {
    if app.out.json || !std::io::stdin().is_terminal() {
        let why = format!("{} would be forgotten: --yes does so without a confirmation", counted(there));
        return Err(Failure::Usage(why));
    }
    let how = if purge { " for good" } else { "" };
    app.out.ask(&format!("forget {}{how}? [y/N] ", counted(there)))?;
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_that_says_nothing_is_none() {
        assert_eq!(topic("the ferry").unwrap().as_str(), "the ferry");
        for nothing in ["", " ", "\t\n"] {
            assert!(topic(nothing).is_err(), "{nothing:?}");
        }
    }
}
