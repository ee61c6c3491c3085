//! Memory for clients of the API: a client reads, writes and leaves tombstones. The owner of the memory is the user that
//! router knows for the client's key or uid, and the label of a row that comes in is decided here. A call that destroys,
//! mutes or builds anew is for the person's own command, and has no method here.

mod call;
mod shown;

use crate::memory::{ask, recall};
use crate::passthrough::find;
use crate::state::context::GateContext;
use call::Call;
use ipc_proto::api::Caller;
use ipc_proto::gate::RelayError;
use ipc_proto::ids::{MemoryId, SessionId};
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::memory::{
    Answered, Block, BlockAsk, Entry, Filter, HITS, MOST_IDS, Neighbourhood, Over, Project, Question, Raw,
    Restored, Row, SessionRow, SourceType, Start, Unread,
};
use ipc_proto::{List, Text};

// The tools by which agents read the same.
const READ: &str = "memory_read";
const LIST: &str = "memory_list";
const QUERY: &str = "memory_query";
const TIMELINE: &str = "memory_timeline";

pub(crate) async fn read(
    gate: &GateContext,
    caller: Caller,
    ids: List<MemoryId, MOST_IDS>,
) -> Result<List<Row, HITS>, RelayError> {
    let call = Call::reading(gate, caller, READ, 0).await?;
    let rows = ask::read(gate, &call.scope, ids).await;
    call.release(rows).await
}

pub(crate) async fn raw(gate: &GateContext, caller: Caller, id: MemoryId) -> Result<Raw, RelayError> {
    let call = Call::reading(gate, caller, READ, 0).await?;
    let raw = ask::raw(gate, &call.scope, id).await;
    call.release(raw).await
}

pub(crate) async fn history(
    gate: &GateContext,
    caller: Caller,
    id: MemoryId,
) -> Result<List<Row, HITS>, RelayError> {
    let call = Call::reading(gate, caller, READ, 0).await?;
    let rows = ask::history(gate, &call.scope, id).await;
    call.release(rows).await
}

pub(crate) async fn list(
    gate: &GateContext,
    caller: Caller,
    filter: Filter,
    (limit, start): (u16, Start),
) -> Result<List<Row, HITS>, RelayError> {
    let call = Call::reading(gate, caller, LIST, 0).await?;
    let rows = ask::list(gate, &call.scope, filter, limit, start).await;
    call.release(rows).await
}

pub(crate) async fn sessions(
    gate: &GateContext,
    caller: Caller,
    project: Option<Project>,
    (limit, start): (u16, Start<SessionId>),
) -> Result<List<SessionRow, HITS>, RelayError> {
    let call = Call::reading(gate, caller, LIST, 0).await?;
    let sessions = ask::sessions(gate, &call.scope, project, limit, start).await;
    call.release(sessions).await
}

pub(crate) async fn unread(gate: &GateContext, caller: Caller, each: bool) -> Result<Unread, RelayError> {
    let call = Call::reading(gate, caller, LIST, 0).await?;
    let unread = ask::unread(gate, &call.scope, each).await;
    call.release(unread).await
}

pub(crate) async fn timeline(
    gate: &GateContext,
    caller: Caller,
    around: Neighbourhood,
) -> Result<List<Row, HITS>, RelayError> {
    let call = Call::reading(gate, caller, TIMELINE, 0).await?;
    let rows = ask::timeline(gate, &call.scope, around).await;
    call.release(rows).await
}

pub(crate) async fn find(
    gate: &GateContext,
    caller: Caller,
    question: Box<Question>,
) -> Result<Box<Answered>, RelayError> {
    let call = Call::reading(gate, caller, QUERY, question.words.len()).await?;
    let found = find::find(gate, call.client(), call.scope.clone(), *question).await;
    call.release(found).await
}

pub(crate) async fn block(
    gate: &GateContext,
    caller: Caller,
    ask: Box<BlockAsk>,
) -> Result<Box<Block>, RelayError> {
    let call = Call::reading(gate, caller, QUERY, 0).await?;
    let block = recall::block_for_client(gate, &call.scope, *ask).await.map(Box::new);
    call.release(block).await
}

pub(crate) async fn write(
    gate: &GateContext,
    caller: Caller,
    entry: Box<Entry>,
) -> Result<MemoryId, RelayError> {
    let call = Call::changing(gate, caller, size(&entry)).await?;
    ask::write(gate, &call.scope, of_a_stranger(entry, &call.by)).await
}

pub(crate) async fn revise(
    gate: &GateContext,
    caller: Caller,
    id: MemoryId,
    (entry, reason): (Box<Entry>, Text<512>),
) -> Result<MemoryId, RelayError> {
    let call = Call::changing(gate, caller, size(&entry)).await?;
    ask::revise(gate, &call.scope, id, of_a_stranger(entry, &call.by), reason).await
}

pub(crate) async fn remove(
    gate: &GateContext,
    caller: Caller,
    id: MemoryId,
    reason: Text<512>,
) -> Result<(), RelayError> {
    let call = Call::changing(gate, caller, 0).await?;
    ask::remove(gate, &call.scope, id, reason).await
}

pub(crate) async fn restore(
    gate: &GateContext,
    caller: Caller,
    row: Box<Restored>,
) -> Result<Option<MemoryId>, RelayError> {
    let call = Call::changing(gate, caller, size(&row.row.entry) + row.raw.len()).await?;
    let row = restored(row, &call.by).ok_or(RelayError::NoMemory)?;
    ask::restore(gate, &call.scope, row).await
}

/// Bytes of the long texts of an entry.
fn size(entry: &Entry) -> usize {
    entry.texts().map(str::len).sum()
}

/// A row that a client puts back, with the label that it gets; none if the client may not put it back so: a row that is
/// replaced is gone, with its label and its history.
fn restored(row: Box<Restored>, by: &str) -> Option<Box<Restored>> {
    if row.over == Over::Replace || row.dry_run {
        return None;
    }
    let Restored { mut row, raw, over, .. } = *row;
    row.entry = *of_a_stranger(Box::new(row.entry), by);
    Some(Box::new(Restored { row, raw, over, mine: false, dry_run: false }))
}

/// A client speaks for a program that a model may steer, so nothing in it is the person's own word.
fn of_a_stranger(mut entry: Box<Entry>, by: &str) -> Box<Entry> {
    entry.detail.source.external = true;
    if matches!(entry.detail.source.r#type, SourceType::ExplicitSave | SourceType::UserMessage) {
        entry.detail.source.r#type = SourceType::AiInference;
    }
    entry.label = Label::of(Trust::Untrusted, entry.label.class.max(Class::Internal), by);
    entry
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::memory::Area;
    use manifest::Process;

    fn entry() -> Box<Entry> {
        let label = Label::of(Trust::System, Class::Public, "me");
        Box::new(Entry::new(MemoryId::random(), Text::clip("I am the owner"), label))
    }

    fn exported(over: Over) -> Box<Restored> {
        let row = Row::new(*entry(), Area::User, 1);
        Box::new(Restored { row, raw: Text::default(), over, mine: true, dry_run: false })
    }

    // Holds P5-45.
    #[test]
    fn a_row_that_a_client_writes_is_a_strangers() {
        let entry = of_a_stranger(entry(), "api:key bar");
        assert_eq!(entry.label, Label::of(Trust::Untrusted, Class::Internal, "api:key bar"));
        assert!(entry.detail.source.external);
        assert_eq!(entry.detail.source.r#type, SourceType::AiInference);
    }

    // Holds P5-14, P5-45.
    #[test]
    fn a_client_replaces_no_row_and_restores_it_as_a_strangers() {
        assert_eq!(restored(exported(Over::Replace), "api"), None);
        assert_eq!(restored(Box::new(Restored { dry_run: true, ..*exported(Over::Skip) }), "api"), None);
        for over in [Over::Skip, Over::Merge] {
            let row = restored(exported(over), "api").unwrap();
            assert_eq!((row.row.entry.label.trust, row.mine), (Trust::Untrusted, false));
        }
    }

    // Holds P5-14.
    #[test]
    fn a_client_has_no_method_that_destroys_or_mutes() {
        let served = |method: &str| manifest::allowed(Process::Gateway, Process::Gate, method);
        let asked = |method: &str| manifest::allowed(Process::Gate, Process::Memory, method);
        for own in ["capture", "judge", "unremove", "accept", "forget", "restore_session", "mute", "reindex"]
        {
            assert!(!served(&format!("memory_{own}")) && !asked(own), "{own}");
        }
        assert!(served("memory_read") && asked("read"));
    }
}
