//! `mem-export`: rows with their history, tombstones and material, in open-mem's form. An answer has a bound; the next
//! one continues where it ended.

use crate::CONTRACT;
use crate::args::{Args, SCOPES, TYPES, of_project};
use crate::catalogue::{Tool, choice, cursor, number, scope};
use crate::cursor::Reached;
use crate::envelope::{Done, Fault};
use crate::request::{Answer, Request};
use crate::shape::{self, Item};
use crate::store::{Store, Trouble};
use crate::time;
use crate::tools::{ask, listed};
use ipc_proto::List;
use ipc_proto::memory::{Filter, HITS, KindName, MemoryError, Row, StateName, Unread};
use serde_json::json;

/// Rows where the call names no number.
const LIMIT: u64 = 100;
const MOST: u64 = 1000;
/// Bytes of text after which an answer ends.
const BYTES: usize = 2 << 20;
/// States in the order of output: current rows first.
const STATES: [StateName; 3] = [StateName::Current, StateName::Superseded, StateName::Removed];

pub(crate) const TOOL: Tool = Tool {
    name: "mem-export",
    description: "Give memories whole as one document for mem-import, here or elsewhere: every field, every revision, \
                  what was removed, and what each was made from.",
    reads: true,
    destroys: false,
    needs: &[],
    properties: || {
        json!({
            "type": choice(&TYPES, "Only observations of this type; every kind without it."),
            "scope": scope(),
            "limit": number(1, MOST, Some(LIMIT), "At most so many in one answer."),
            "cursor": cursor(),
            "format": choice(&[("json", ())], "The form of the document; json is the one there is."),
        })
    },
};

/// The rows gathered so far.
#[derive(Default)]
struct Gathered {
    observations: Vec<Item>,
    summaries: Vec<Item>,
    memories: Vec<Item>,
    bytes: usize,
    /// Rows whose material cannot be read any more.
    without_raw: u32,
}

pub(crate) async fn run<S: Store>(store: &S, mut args: Args) -> Result<Done, Fault> {
    let reached = args.reached()?;
    let project = args.scope(store.place(), &SCOPES)?;
    let types: List<_, 6> = List::clip(args.choice("type", &TYPES)?);
    let limit = args.number("limit", 1..=MOST)?.unwrap_or(LIMIT);
    args.choice("format", &[("json", ())])?;
    // Entities are exported only if they are asked for by name.
    let kinds = if types.is_empty() { List::clip(KindName::ALL) } else { List::default() };
    let filter = Filter { types, kinds, ..of_project(project) };
    let mut gathered = Gathered::default();
    let next = gather(store, &filter, reached, limit, &mut gathered).await?;
    let payload = json!({
        "version": 1, "contractVersion": CONTRACT, "exportedAt": time::written(time::now()),
        "project": store.place().project, "observations": gathered.observations,
        "summaries": gathered.summaries, "memories": gathered.memories,
    });
    let mut done = Done::new(json!({ "format": "json", "payload": payload }));
    if gathered.without_raw > 0 {
        done = done.meta("withoutRaw", gathered.without_raw);
    }
    if let Some(next) = next {
        return Ok(done.meta("nextCursor", args.bound.behind(&next)));
    }
    let Unread { damaged, rows, .. } = ask(store, Request::Unread { each: true }, Answer::unread).await?;
    Ok(if damaged || rows > 0 { done.meta("unreadable", rows) } else { done })
}

/// Continues from a position; returns the position where it ended, or none at the end.
async fn gather<S: Store>(
    store: &S,
    filter: &Filter,
    mut reached: Reached,
    limit: u64,
    into: &mut Gathered,
) -> Result<Option<Reached>, Fault> {
    let mut left = limit;
    while let Some(state) = STATES.get(usize::from(reached.list)) {
        loop {
            if left == 0 || into.bytes > BYTES {
                return Ok(Some(reached));
            }
            let most = u16::try_from(left).unwrap_or(u16::MAX).min(u16::try_from(HITS).unwrap_or(u16::MAX));
            let filter = Filter { state: *state, ..filter.clone() };
            let rows = listed(store, filter, most, &reached).await?;
            for row in &rows {
                into.take(store, row).await?;
                left -= 1;
                reached.past(row.entry.id.bytes());
                if into.bytes > BYTES {
                    break;
                }
            }
            if rows.len() < usize::from(most) && into.bytes <= BYTES {
                break;
            }
        }
        reached = Reached::list(reached.list.saturating_add(1));
    }
    Ok(None)
}

impl Gathered {
    async fn take<S: Store>(&mut self, store: &S, row: &Row) -> Result<(), Fault> {
        let kind = row.entry.detail.kind.name();
        let mut item = shape::item(row);
        if kind == KindName::Observation {
            match store.ask(Request::Raw(row.entry.id)).await {
                Err(Trouble::Memory(MemoryError::Damaged | MemoryError::Storage)) => self.without_raw += 1,
                // It was forgotten since it was listed: then it is in no document either.
                Err(Trouble::Memory(MemoryError::NotFound)) => return Ok(()),
                answer => {
                    let raw = answer?.raw()?.text;
                    self.bytes += raw.len();
                    item.raw_tool_output = Some(raw);
                }
            }
        }
        self.bytes += row.entry.texts().map(str::len).sum::<usize>();
        match kind {
            KindName::Observation => self.observations.push(item),
            KindName::Summary => self.summaries.push(item),
            KindName::Note | KindName::Episodic | KindName::Semantic | KindName::Entity => {
                self.memories.push(item)
            }
        }
        Ok(())
    }
}
