//! `agentctl memory sessions`, `mute`, `unmute`, `stats` and `reindex`: captured sessions of clients, and numbers.

use super::pages::{PAGE, Pages};
use super::{Page, Where, say_unread};
use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::{text, view};
use ipc_proto::control::method;
use ipc_proto::ids::SessionId;
use ipc_proto::memory::{Area, Muted, OWN_CLIENT, Project, SessionRow, Start, Stats};
use ipc_proto::{List, Name, Text};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The arguments of `memory sessions`.
#[derive(clap::Args)]
pub(crate) struct Sessions {
    /// Only sessions of this project: a directory, or any other name
    #[arg(long, value_parser = crate::project::named)]
    project: Option<Project>,
    #[command(flatten)]
    page: Page,
    /// Continue after this one, the last of the page before: its id or CLIENT:NAME; no session is shown twice
    #[arg(long, value_name = "SESSION", conflicts_with = "offset")]
    behind: Option<String>,
    #[command(flatten)]
    place: Where,
}

/// The arguments of `memory mute` and `memory unmute`.
#[derive(clap::Args)]
pub(crate) struct Mute {
    #[command(flatten)]
    what: Which,
    #[command(flatten)]
    place: Where,
}

/// The project or session: exactly one of these.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
struct Which {
    /// A project: a directory, or any other name
    #[arg(long, value_parser = crate::project::named)]
    project: Option<Project>,
    /// A session of a client, such as claude-code:NAME
    #[arg(long, value_name = "CLIENT:NAME", value_parser = session)]
    session: Option<(Name, Text<128>)>,
}

/// A session as its client names it.
pub(super) fn session(named: &str) -> Result<(Name, Text<128>), String> {
    let (client, name) =
        named.split_once(':').ok_or("CLIENT:NAME, as `agentctl memory sessions` shows them")?;
    if client.is_empty() || name.is_empty() {
        return Err("both CLIENT and NAME are needed".to_owned());
    }
    let why = |why: ipc_proto::bounded::TooLong| why.to_string();
    Ok((Name::new(client).map_err(why)?, Text::new(name).map_err(why)?))
}

/// The forms in which a session is given.
const FORMS: &str =
    "its id, CLIENT:NAME as `agentctl memory sessions` shows it, or cordon:ID of a session of this host";

/// The ids of a session that is given by its id or its client's name. A client's session may be here more than once: in two
/// projects, or imported from another host.
///
/// # Errors
/// There is none of that name, or sessions went so often that the list may be incomplete.
pub(super) async fn session_ids(app: &App, area: &Area, given: &str) -> Result<Vec<SessionId>, Failure> {
    if let Ok(id) = given.parse() {
        return Ok(vec![id]);
    }
    let (client, name) = session(given).map_err(|_| Failure::Usage(format!("a session is {FORMS}")))?;
    if client.as_str() == OWN_CLIENT {
        let id = name
            .parse()
            .map_err(|_| Failure::Usage(format!("{OWN_CLIENT}:{name} has no id; a session is {FORMS}")));
        return id.map(|id| vec![id]);
    }
    let (rows, may_lack) = all(app, area).await?;
    named(&rows, &client, &name, may_lack)
}

/// The ids of sessions with this client's name, if the list is complete.
fn named(
    rows: &[SessionRow],
    client: &Name,
    name: &Text<128>,
    may_lack: bool,
) -> Result<Vec<SessionId>, Failure> {
    if may_lack {
        // A session that is missing in the list may have the same name.
        return Err(Failure::Usage(format!(
            "sessions went so often meanwhile that {client}:{name} could not be looked for among all of them: ask once more, or \
             name it by its id"
        )));
    }
    let named = rows.iter().filter(|row| row.client == *client && row.name == *name);
    let ids: Vec<SessionId> = named.map(|row| row.id).collect();
    if ids.is_empty() {
        let why = format!("no session {client}:{name} was taken down in this area; a session is {FORMS}");
        return Err(Failure::Usage(why));
    }
    Ok(ids)
}

/// Every session of an area once, newest first, and true if sessions went so often meanwhile that some may be missing.
pub(super) async fn all(app: &App, area: &Area) -> Result<(Vec<SessionRow>, bool), Failure> {
    let (mut all, mut pages) = (Vec::new(), Pages::new(|row: &SessionRow| row.id));
    while let Some(start) = pages.start() {
        if matches!(&start, Start::Behind(known) if known.is_empty()) {
            // Rows that were removed since the last pass are not counted.
            all.clear();
        }
        let page = app.link.ask(&method::memory_sessions, async |c, cx| {
            c.memory_sessions(cx, area.clone(), None, PAGE, start.clone()).await
        });
        all.extend(pages.took(page.await)?);
    }
    Ok((all, pages.may_lack))
}

/// The session after which a list begins.
async fn start(app: &App, area: &Area, behind: &str) -> Result<Start<SessionId>, Failure> {
    match session_ids(app, area, behind).await?.as_slice() {
        [one] => Ok(Start::Behind(List::clip([*one]))),
        _ => Err(Failure::Usage(format!(
            "{behind} is here more than once: name it by its id, as --json shows it"
        ))),
    }
}

/// Lists sessions.
pub(super) async fn sessions(app: &App, arguments: Sessions) -> Outcome {
    let Sessions { project, page: Page { limit, offset }, behind, place } = arguments;
    let start = match &behind {
        Some(behind) => start(app, &place.area, behind).await?,
        None => Start::After(offset),
    };
    let listed = app.link.ask(&method::memory_sessions, async |c, cx| {
        c.memory_sessions(cx, place.area.clone(), project.clone(), limit, start.clone()).await
    });
    let rows = listed.await?;
    say_unread(app, place.area).await?;
    let head = ["SESSION", "STATUS", "BEGAN", "OBSERVATIONS", "MUTED", "PROJECT"];
    Ok(app.out.list("sessions", &rows, document, &head, |row| {
        vec![
            format!("{}:{}", row.client, row.name),
            view::word(row.status),
            text::utc(row.started_ms),
            row.observations.to_string(),
            if row.muted { "yes" } else { "no" }.to_owned(),
            row.project.to_string(),
        ]
    })?)
}

fn document(row: &SessionRow) -> Value {
    json!({
        "id": row.id.to_string(), "client": row.client, "name": row.name, "project": row.project,
        "started_ms": row.started_ms, "ended_ms": row.ended_ms, "status": row.status,
        "observations": row.observations, "summary": row.summary.map(|id| id.to_string()), "muted": row.muted,
    })
}

/// Mutes or unmutes.
pub(super) async fn mute(app: &App, arguments: Mute, mute: bool) -> Outcome {
    let Which { project, session } = arguments.what;
    let by_session = session.map(|(client, name)| Muted::Session(client, name));
    let Some(what) = project.map(Muted::Project).or(by_session) else {
        return Err(Failure::Usage("one of --project and --session".to_owned()));
    };
    let (kind, name) = match &what {
        Muted::Project(project) => ("project", project.to_string()),
        Muted::Session(client, name) => ("session", format!("{client}:{name}")),
    };
    let area = arguments.place.area;
    let muted = app
        .link
        .ask(&method::memory_mute, async |c, cx| c.memory_mute(cx, area.clone(), what.clone(), mute).await);
    muted.await?;
    let sentence = if mute {
        format!("the {kind} {name} is neither taken down nor reminded from now on")
    } else {
        format!("the {kind} {name} is taken down and reminded again")
    };
    Ok(app.out.done(json!({ kind: name, "muted": mute }), &sentence)?)
}

/// Shows the numbers.
pub(super) async fn stats(app: &App, place: Where) -> Outcome {
    let area = place.area;
    let stats = app.link.ask(&method::memory_stats, async |c, cx| c.memory_stats(cx, area.clone()).await);
    show_stats(app, stats.await?)
}

/// Rebuilds the indexes, and shows the numbers.
pub(super) async fn reindex(app: &App, place: Where) -> Outcome {
    let area = place.area;
    let stats = app.link.ask(&method::memory_reindex, async |c, cx| c.memory_reindex(cx, area.clone()).await);
    show_stats(app, stats.await?)
}

fn show_stats(app: &App, stats: Stats) -> Outcome {
    let by_kind: Vec<_> = stats.kinds.iter().map(|(kind, count)| (view::word(kind), *count)).collect();
    let by_type: Vec<_> = stats.types.iter().map(|(kind, count)| (view::word(kind), *count)).collect();
    let counted = |pairs: &[(String, u32)]| match pairs {
        [] => "0".to_owned(),
        _ => pairs.iter().map(|(name, count)| format!("{count} {name}")).collect::<Vec<_>>().join(", "),
    };
    let embedder = stats.embedder.as_ref().map_or_else(
        || "none but the built-in".to_owned(),
        |name| format!("{name}, {} its vector", text::count(stats.embedded, "memory has", "memories have")),
    );
    let muted: Vec<&str> = stats.muted.iter().map(|project| project.as_str()).collect();
    let muted = if muted.is_empty() { "nothing".to_owned() } else { muted.join(", ") };
    let facts = [
        ("memories", counted(&by_kind)),
        ("observations", counted(&by_type)),
        ("not compressed yet", stats.plain.to_string()),
        ("unreadable", stats.set_aside.to_string()),
        ("superseded", stats.superseded.to_string()),
        ("removed", stats.removed.to_string()),
        ("proposed", stats.proposed.to_string()),
        ("sessions", stats.sessions.to_string()),
        ("tokens", format!("{}, found out for {}", stats.tokens, stats.discovery_tokens)),
        ("embedder", embedder),
        ("muted", muted),
    ];
    let map = |pairs: Vec<(String, u32)>| pairs.into_iter().collect::<BTreeMap<_, _>>();
    let fields = json!({
        "kinds": map(by_kind), "types": map(by_type), "plain": stats.plain, "superseded": stats.superseded,
        "removed": stats.removed, "proposed": stats.proposed, "sessions": stats.sessions, "tokens": stats.tokens,
        "discovery_tokens": stats.discovery_tokens, "embedder": stats.embedder, "embedded": stats.embedded,
        "unreadable": stats.set_aside, "muted": stats.muted,
    });
    Ok(app.out.facts(fields, &facts)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::memory::SessionStatus;

    #[test]
    fn a_session_is_its_client_and_its_name_there() {
        let (client, name) = session("opencode:ses_1:x").unwrap();
        assert_eq!((client.as_str(), name.as_str()), ("opencode", "ses_1:x"));
        for wrong in ["", "opencode", ":x", "opencode:"] {
            assert!(session(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_session_is_looked_for_by_name_among_all_of_them_or_not_at_all() {
        let row = |number: u8, name: &str| SessionRow {
            id: SessionId::from_bytes([number; 16]),
            client: Name::clip("opencode"),
            name: Text::clip(name),
            project: Text::clip("/p"),
            started_ms: 5,
            ended_ms: None,
            status: SessionStatus::Active,
            observations: 0,
            summary: None,
            muted: false,
        };
        let rows = [row(1, "a"), row(2, "b"), row(3, "a")];
        let named = |name: &str, may_lack| named(&rows, &Name::clip("opencode"), &Text::clip(name), may_lack);
        assert_eq!(named("a", false).unwrap(), [rows[0].id, rows[2].id]);
        for (name, may_lack, why) in [("c", false, "no session opencode:c"), ("a", true, "name it by its id")]
        {
            assert!(named(name, may_lack).unwrap_err().to_string().contains(why), "{name}");
        }
    }
}
