//! `mem-history`: sessions, newest first; the rows of one; or the rows around a row in the order of time.

use crate::args::{Args, of_project};
use crate::catalogue::{Tool, cursor, number, text};
use crate::envelope::{Code, Done, Fault};
use crate::request::{Answer, Request};
use crate::shape;
use crate::store::{Store, Trouble};
use crate::time;
use crate::tools::{ask, gone, id, listed};
use ipc_proto::ids::{MemoryId, SessionId};
use ipc_proto::memory::{
    Filter, HITS, MOST_IDS, MemoryError, Neighbourhood, Row, SESSIONS, SessionRow, Start,
};
use ipc_proto::{List, Text};
use serde_json::{Value, json};

/// Sessions or rows where the call names no number.
const LIMIT: u64 = 5;
/// The same to each side of an anchor.
const DEPTH: u16 = 5;
const MOST: u64 = 20;
/// The accepted names of a session.
const SESSION: &str = "an id as mem-history gives it, or the client's own name of a session";

pub(crate) const TOOL: Tool = Tool {
    name: "mem-history",
    description: "Show what happened when: recent sessions with their summaries; with sessionId what was learned in that \
                  one; with an anchor or a depth what was learned before and after.",
    reads: true,
    destroys: false,
    needs: &[],
    properties: || {
        json!({
            "limit": number(1, MOST, Some(LIMIT), "At most so many; around an anchor those nearest to it."),
            "cursor": cursor(),
            "sessionId": text(128, "Only this session, by its id or by the client's own name for it."),
            "anchor": text(128, "The id of a memory: what was before and after it."),
            "depthBefore": number(0, MOST, Some(DEPTH.into()), "So many before the anchor, or before the newest without one."),
            "depthAfter": number(0, MOST, Some(DEPTH.into()), "So many after the anchor."),
        })
    },
};

pub(crate) async fn run<S: Store>(store: &S, mut args: Args) -> Result<Done, Fault> {
    let around = ["anchor", "depthBefore", "depthAfter"].into_iter().find(|name| args.has(name));
    let filter = of_project(store.place().project.clone());
    let named: Option<Text<128>> = args.text("sessionId")?;
    let session = match named {
        Some(name) => Some(session(store, &name).await?),
        None => None,
    };
    match (around, session) {
        (Some(_), session) => timeline(store, args, Filter { session, ..filter }).await,
        (None, Some(session)) => one(store, args, session).await,
        (None, None) => sessions(store, args).await,
    }
}

/// The session by its id here, or by the client's own name for it.
async fn session<S: Store>(store: &S, name: &str) -> Result<SessionId, Fault> {
    let id: Option<SessionId> = name.parse().ok();
    if let Some(id) = id
        && is_known(store, id).await?
    {
        return Ok(id);
    }
    // Imported rows may be of a session that no hook reported here.
    let found = named(store, name).await?.or(id);
    found.ok_or_else(|| Fault::field("sessionId", "is no session that is known", json!(SESSION)))
}

/// Returns true if a hook reported this session here.
async fn is_known<S: Store>(store: &S, id: SessionId) -> Result<bool, Fault> {
    let asked = Request::Sessions { project: None, limit: 1, start: Start::Behind(List::clip([id])) };
    match store.ask(asked).await {
        Err(Trouble::Memory(MemoryError::NotFound)) => Ok(false),
        answer => Ok(answer?.sessions().map(|_| true)?),
    }
}

/// The newest session that a client names so.
async fn named<S: Store>(store: &S, name: &str) -> Result<Option<SessionId>, Fault> {
    let mut read = 0;
    loop {
        let (limit, start) = (u16::try_from(HITS).unwrap_or(u16::MAX), Start::After(read));
        let page = ask(store, Request::Sessions { project: None, limit, start }, Answer::sessions).await?;
        if let Some(found) = page.iter().find(|session| session.name.as_str() == name) {
            return Ok(Some(found.id));
        }
        read = read.saturating_add(u32::try_from(page.len()).unwrap_or(u32::MAX));
        let is_last = page.len() < HITS || usize::try_from(read).is_ok_and(|read| read >= SESSIONS);
        if is_last {
            return Ok(None);
        }
    }
}

/// Refuses a session without rows that no hook reported here.
async fn must_be_known<S: Store>(store: &S, id: SessionId) -> Result<(), Fault> {
    if is_known(store, id).await? {
        return Ok(());
    }
    let fault = Fault::new(Code::NotFound, "There is no such session; mem-history alone lists them.");
    Err(fault.with(json!({ "field": "sessionId", "id": id.to_string(), "valid": SESSION })))
}

async fn timeline<S: Store>(store: &S, mut args: Args, filter: Filter) -> Result<Done, Fault> {
    if args.has("cursor") {
        return Err(Fault::field(
            "cursor",
            "goes with no anchor: depthBefore and depthAfter reach further",
            json!(null),
        ));
    }
    let anchor: Option<Text<128>> = args.text("anchor")?;
    let anchor = anchor.map(|text| id("anchor", &text)).transpose()?;
    let before = args.number("depthBefore", 0..=MOST)?.unwrap_or(DEPTH);
    let after = args.number("depthAfter", 0..=MOST)?.unwrap_or(DEPTH);
    let limit: Option<usize> = args.number("limit", 1..=MOST)?;
    let session = filter.session;
    let asked = Request::Timeline(Neighbourhood { anchor, filter, before, after });
    let gone = |trouble: Trouble| match (trouble, anchor) {
        (Trouble::Memory(MemoryError::NotFound), Some(id)) => Fault::no_row(&id.to_string()),
        (trouble, _) => trouble.into(),
    };
    let rows = store.ask(asked).await.map_err(gone)?.rows()?.into_vec();
    if let Some(session) = session {
        belongs(store, session, anchor, &rows).await?;
    }
    let rows = nearest(rows, anchor, limit);
    let shown: Vec<Value> = rows.iter().map(shape::index).collect();
    Ok(Done::new(json!({ "anchor": anchor.map(|id| id.to_string()), "observations": shown })))
}

/// Refuses an anchor outside of the session, and an unknown session.
async fn belongs<S: Store>(
    store: &S,
    session: SessionId,
    anchor: Option<MemoryId>,
    rows: &[Row],
) -> Result<(), Fault> {
    let at = rows.iter().find(|row| Some(row.entry.id) == anchor);
    if let Some(own) = at.map(|row| row.entry.session)
        && own != Some(session)
    {
        let valid = json!({ "sessionId": own.map(|own| own.to_string()) });
        return Err(Fault::field("anchor", "is not of the session that `sessionId` names", valid));
    }
    if rows.is_empty() { must_be_known(store, session).await } else { Ok(()) }
}

/// The requested number of rows: those nearest to the anchor, or the newest without one, in the order of time.
fn nearest(mut rows: Vec<Row>, anchor: Option<MemoryId>, limit: Option<usize>) -> Vec<Row> {
    let Some(limit) = limit else { return rows };
    while rows.len() > limit {
        let at = anchor.and_then(|id| rows.iter().position(|row| row.entry.id == id));
        // The side that reaches further loses its last.
        if at.is_some_and(|at| at < rows.len() - 1 - at) { drop(rows.pop()) } else { drop(rows.remove(0)) }
    }
    rows
}

async fn one<S: Store>(store: &S, mut args: Args, session: SessionId) -> Result<Done, Fault> {
    let is_first = !args.has("cursor");
    let (mut reached, limit) = (args.reached()?, args.number("limit", 1..=MOST)?.unwrap_or(LIMIT));
    let filter = Filter { session: Some(session), ..Filter::default() };
    let mut rows = listed(store, filter, more(limit), &reached).await?.into_vec();
    if is_first && rows.is_empty() {
        must_be_known(store, session).await?;
    }
    let has_more = cut(&mut rows, limit);
    rows.iter().for_each(|row| reached.past(row.entry.id.bytes()));
    let shown: Vec<Value> = rows.iter().map(shape::index).collect();
    let done = Done::new(json!({ "observations": shown }));
    Ok(if has_more { done.meta("nextCursor", args.bound.behind(&reached)) } else { done })
}

async fn sessions<S: Store>(store: &S, mut args: Args) -> Result<Done, Fault> {
    let (mut reached, limit) = (args.reached()?, args.number("limit", 1..=MOST)?.unwrap_or(LIMIT));
    let project = store.place().project.clone();
    let asked =
        Request::Sessions { project, limit: more(limit), start: reached.start(SessionId::from_bytes) };
    let mut sessions = store.ask(asked).await.map_err(gone)?.sessions()?.into_vec();
    let has_more = cut(&mut sessions, limit);
    sessions.iter().for_each(|session| reached.past(session.id.bytes()));
    let ids: List<MemoryId, MOST_IDS> = List::clip(sessions.iter().filter_map(|session| session.summary));
    let summaries =
        if ids.is_empty() { List::default() } else { ask(store, Request::Read(ids), Answer::rows).await? };
    let shown: Vec<Value> = sessions.iter().map(|session| told(session, &summaries)).collect();
    let done = Done::new(json!({ "sessions": shown }));
    Ok(if has_more { done.meta("nextCursor", args.bound.behind(&reached)) } else { done })
}

fn told(session: &SessionRow, summaries: &[Row]) -> Value {
    let summary = summaries.iter().find(|row| Some(row.entry.id) == session.summary);
    json!({
        "session": {
            "id": session.id.to_string(), "client": session.client, "name": session.name,
            "projectPath": session.project, "startedAt": time::written(session.started_ms),
            "endedAt": session.ended_ms.map(time::written), "status": session.status,
            "observationCount": session.observations,
            "summaryId": session.summary.map(|id| id.to_string()), "muted": session.muted,
        },
        "summary": summary.map(shape::item),
        "observationCount": session.observations,
    })
}

/// One more than is shown tells whether there are more.
fn more(limit: u64) -> u16 {
    u16::try_from(limit + 1).unwrap_or(u16::MAX)
}

fn cut<T>(items: &mut Vec<T>, limit: u64) -> bool {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let has_more = items.len() > limit;
    items.truncate(limit);
    has_more
}
