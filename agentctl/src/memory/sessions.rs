//! `agentctl memory sessions`, `mute`, `unmute`, `stats` and `reindex`: what clients told of, and how much there is.

use super::{Page, Where, ask, done, say_unread};
use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::{text, view};
use ipc_proto::ids::SessionId;
use ipc_proto::memory::{Area, Ask, Muted, OWN_CLIENT, Project, Said, SessionRow};
use ipc_proto::{Name, Text};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};

/// Sessions of one answer.
const PAGE: u16 = 100;

/// The arguments of `memory sessions`.
#[derive(clap::Args)]
pub(crate) struct Sessions {
    /// Of this project: a directory, or any other name
    #[arg(long, value_parser = crate::project::named)]
    project: Option<Project>,
    #[command(flatten)]
    page: Page,
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

/// Which: one of these.
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

/// How a session is given.
const FORMS: &str =
    "its id, CLIENT:NAME as `agentctl memory sessions` shows it, or cordon:ID of a session of this host";

/// The ids of a session that is given by its id or as its client names it. A client's may be here more than once: in two
/// projects, or taken in from another host.
///
/// # Errors
/// There is none of that name.
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
    let named = |row: &SessionRow| row.client == client && row.name == name;
    let ids: Vec<SessionId> =
        all(app, area).await?.iter().filter(|row| named(row)).map(|row| row.id).collect();
    if ids.is_empty() {
        let why = format!("no session {client}:{name} was taken down in this area; a session is {FORMS}");
        return Err(Failure::Usage(why));
    }
    Ok(ids)
}

/// Every session of an area, newest first, each once.
pub(super) async fn all(app: &App, area: &Area) -> Result<Vec<SessionRow>, Failure> {
    let (mut all, mut seen, mut offset) = (Vec::new(), HashSet::new(), 0);
    loop {
        let page = Ask::Sessions { project: None, limit: PAGE, offset };
        let rows = ask(app, area.clone(), page, Said::sessions).await?;
        let is_last = rows.len() < usize::from(PAGE);
        all.extend(rows.into_iter().filter(|row| seen.insert(row.id)));
        if is_last {
            return Ok(all);
        }
        offset += u32::from(PAGE);
    }
}

/// Lists sessions.
pub(super) async fn sessions(app: &App, arguments: Sessions) -> Outcome {
    let Sessions { project, page: Page { limit, offset }, place } = arguments;
    let asked = Ask::Sessions { project, limit, offset };
    let rows = ask(app, place.area.clone(), asked, Said::sessions).await?;
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

/// Mutes, or does so no longer.
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
    ask(app, arguments.place.area, Ask::Mute { what, mute }, done).await?;
    let sentence = if mute {
        format!("the {kind} {name} is neither taken down nor reminded from now on")
    } else {
        format!("the {kind} {name} is taken down and reminded again")
    };
    Ok(app.out.done(json!({ kind: name, "muted": mute }), &sentence)?)
}

/// Shows how much there is, after a rebuild of the indexes if that is asked for.
pub(super) async fn stats(app: &App, place: Where, question: Ask) -> Outcome {
    let stats = ask(app, place.area, question, Said::stats).await?;
    let by_kind: Vec<_> = stats.kinds.iter().map(|(kind, count)| (view::word(kind), *count)).collect();
    let by_type: Vec<_> = stats.types.iter().map(|(kind, count)| (view::word(kind), *count)).collect();
    let counted = |pairs: &[(String, u32)]| {
        pairs.iter().map(|(name, count)| format!("{count} {name}")).collect::<Vec<_>>().join(", ")
    };
    let embedder = stats.embedder.as_ref().map_or_else(
        || "none but the built-in".to_owned(),
        |name| format!("{name}, {} memories have its vector", stats.embedded),
    );
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
        ("muted", stats.muted.iter().map(|project| project.as_str()).collect::<Vec<_>>().join(", ")),
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

    #[test]
    fn a_session_is_its_client_and_its_name_there() {
        let (client, name) = session("opencode:ses_1:x").unwrap();
        assert_eq!((client.as_str(), name.as_str()), ("opencode", "ses_1:x"));
        for wrong in ["", "opencode", ":x", "opencode:"] {
            assert!(session(wrong).is_err(), "{wrong}");
        }
    }
}
