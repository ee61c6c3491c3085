//! What clients of the API ask of memory. Whose memory it is, router knows from what the client presented; how far a row
//! that comes in is to be trusted is said here. A client reads, writes and leaves tombstones: whatever destroys, mutes or
//! builds anew is for the person's own command.

use super::admit::Client;
use super::around::{Around, relayed};
use super::finding;
use super::rates::AGAIN;
use crate::host::Shared;
use crate::recalling;
use ipc_proto::api::Caller;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::gate::RelayError;
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::memory::{Area, Ask, Entry, Over, Row, Said, Scope, SourceType, State, method};
use ipc_proto::{List, Name};
use policy::{Call, Decision, Passage};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::time::Instant;

/// Asks the memory of the caller's user, in the area that is their own. What is read is decided on and recorded like an
/// agent's call of the tool that reads the same; what is written, memory itself records.
pub(crate) async fn memory(shared: &Shared, caller: Caller, ask: Ask) -> Result<Said, RelayError> {
    let begun = Instant::now();
    let load = shared.rates.hold(taken(&ask))?;
    let client = Client::of(shared, caller).await?;
    let (owner, by) = client.may_remember(shared)?;
    let mut load = client.load(load)?;
    let ask = of_a_client(ask, &by).ok_or(RelayError::NoMemory)?;
    let reads = tool(&ask);
    if let Some(tool) = reads {
        decide(shared, &client, tool).await?;
    }
    let scope = Scope { owner, area: Area::User };
    let said = match ask {
        Ask::Block(ask) => {
            recalling::of_client(shared, &scope, *ask).await.map(|block| Said::Block(Box::new(block)))
        }
        Ask::Find(question) => finding::find(shared, &client, scope, *question).await.map(Said::Found),
        ask => asked(shared, scope, ask).await,
    };
    let said =
        said.map(of_what_holds).and_then(|said| if load.grow(size(&said)) { Ok(said) } else { Err(full()) });
    match reads {
        Some(tool) => given(shared, &client, (tool, begun), said).await,
        None => said,
    }
}

/// Asks memory, without a look at who asks.
pub(crate) async fn asked(shared: &Shared, scope: Scope, ask: Ask) -> Result<Said, RelayError> {
    let answer = shared.memory.call(&method::ask, |memory, rpc| {
        let (scope, ask) = (scope.clone(), ask.clone());
        async move { memory.ask(rpc, scope, ask).await }
    });
    let said = answer.await.map_err(|fault| {
        tracing::warn!(%fault, "memory did not answer");
        RelayError::Down(Name::clip("memory"))
    });
    said?.map_err(RelayError::Memory)
}

/// Bytes of the long texts of a question.
fn taken(ask: &Ask) -> usize {
    let of = |entry: &Entry| entry.texts().map(str::len).sum::<usize>();
    match ask {
        Ask::Write(entry) | Ask::Revise { entry, .. } => of(entry),
        Ask::Restore { row, raw, .. } => of(&row.entry) + raw.len(),
        Ask::Find(question) => question.words.len(),
        _ => 0,
    }
}

/// Bytes of the texts of an answer: they are held here until the client's process has taken them.
fn size(said: &Said) -> usize {
    let mut bytes = 0;
    texts(said, |text, _| bytes += text.len());
    bytes
}

/// Shows every text of an answer with its label, in the order in which they are read.
fn texts(said: &Said, mut show: impl FnMut(&str, &Label)) {
    let mut of = |row: &Row| row.entry.texts().for_each(|text| show(text, &row.entry.label));
    match said {
        Said::Rows(rows) => rows.iter().for_each(of),
        Said::Found(found) => found.rows.iter().for_each(|found| of(&found.hit.row)),
        Said::Raw(raw) => show(&raw.text, &raw.label),
        Said::Block(block) => show(&block.text, block.label.as_ref().unwrap_or(&Label::bottom())),
        Said::Sessions(sessions) => {
            let label = Label::of(Trust::Untrusted, Class::Internal, "memory");
            sessions.iter().for_each(|session| show(&session.name, &label));
        }
        Said::Done
        | Said::Id(_)
        | Said::Taken(_)
        | Said::Forgotten(_)
        | Said::Session(_)
        | Said::Unread(_)
        | Said::Stats(_) => {}
    }
}

/// There is no room for as much as memory has to say.
const fn full() -> RelayError {
    RelayError::Busy { retry_s: AGAIN }
}

/// The agents' tool that reads what this asks for; none of what changes something.
const fn tool(ask: &Ask) -> Option<&'static str> {
    match ask {
        Ask::Find(_) | Ask::Block(_) => Some("memory_query"),
        Ask::Read(_) | Ask::Raw(_) | Ask::History(_) => Some("memory_read"),
        Ask::List { .. } | Ask::Sessions { .. } | Ask::Stats | Ask::Unread { .. } => Some("memory_list"),
        Ask::Timeline { .. } => Some("memory_timeline"),
        Ask::Write(_)
        | Ask::Capture(_)
        | Ask::Revise { .. }
        | Ask::Remove { .. }
        | Ask::Unremove(_)
        | Ask::Accept(_)
        | Ask::Forget { .. }
        | Ask::Restore { .. }
        | Ask::RestoreSession { .. }
        | Ask::Judge(_)
        | Ask::Mute { .. }
        | Ask::Reindex => None,
    }
}

/// Returns whether the client may read so; on the record. Nobody is there to be asked: what asks is refused.
async fn decide(shared: &Shared, client: &Client, tool: &str) -> Result<(), RelayError> {
    let label = Label::of(Trust::User, Class::Internal, &format!("api:{}", client.phrase()));
    let (session, args) =
        (client.session(&label), Map::from_iter([("scope".to_owned(), Value::from("user"))]));
    let verdict = policy::decide(&shared.engine(), &shared.catalogue, &session, &Call { tool, args: &args });
    if verdict.decision == Decision::Allow {
        let event = client.told(Action::ToolDecided, Result3::Success, tool).because(&client.phrase());
        return shared.record(event).await.map(drop).map_err(relayed);
    }
    let why = format!("{}: policy", client.phrase());
    shared
        .record(client.told(Action::ToolDecided, Result3::Blocked, tool).because(&why))
        .await
        .map_err(relayed)?;
    Err(RelayError::Policy(verdict.why.policies))
}

/// What memory said, if it may be given to the client; how much that is, and the hash of it, on the record.
async fn given(
    shared: &Shared,
    client: &Client,
    (tool, begun): (&str, Instant),
    said: Result<Said, RelayError>,
) -> Result<Said, RelayError> {
    let mut ended = client.told(Action::ToolEnded, Result3::Success, tool).because(&client.phrase());
    ended.duration_ms = u32::try_from(begun.elapsed().as_millis()).unwrap_or(u32::MAX);
    let said = match said {
        Ok(said) => said,
        Err(error) => {
            shared.note(Event { result: Result3::Error, ..ended });
            return Err(error);
        }
    };
    let Given { label, bytes, hash } = Given::of(&said);
    let session = client.session(&label);
    ended.bytes = bytes;
    if policy::passes(&shared.engine(), &session, Passage::Log, &label).is_ok() {
        ended.hash = Some(hash);
    }
    let passes = policy::passes(&shared.engine(), &session, Passage::Output, &label);
    ended.label = Some(label);
    match passes {
        Ok(()) => {
            shared.record(ended).await.map_err(relayed)?;
            Ok(said)
        }
        Err(policies) => {
            shared.record(Event { result: Result3::Blocked, ..ended }).await.map_err(relayed)?;
            Err(RelayError::Policy(List::clip(policies)))
        }
    }
}

/// What the record says of an answer.
struct Given {
    /// The join of all that is in it.
    label: Label,
    /// Bytes of its texts.
    bytes: u64,
    /// The hash of its texts, each before a zero byte.
    hash: [u8; 32],
}

impl Given {
    fn of(said: &Said) -> Self {
        let (mut label, mut bytes, mut hash) = (Label::bottom(), 0_u64, Sha256::new());
        texts(said, |text, its| {
            label = label.join(its);
            bytes += u64::try_from(text.len()).unwrap_or(u64::MAX);
            hash.update(text);
            hash.update([0]);
        });
        if let Said::Found(found) = said
            && let Some(read) = &found.read
        {
            label = label.join(read);
        }
        Self { label, bytes, hash: hash.finalize().into() }
    }
}

/// An answer without what waits for a person's word: until they gave it, that is for them alone to see.
fn of_what_holds(said: Said) -> Said {
    let waits = |row: &Row| matches!(row.state, State::Proposed { .. });
    match said {
        Said::Rows(rows) => Said::Rows(List::clip(rows.into_vec().into_iter().filter(|row| !waits(row)))),
        Said::Found(mut found) => {
            let rows = std::mem::take(&mut found.rows).into_iter();
            found.rows = List::clip(rows.filter(|found| !waits(&found.hit.row)));
            Said::Found(found)
        }
        said => said,
    }
}

/// What a client may ask, with the label that its rows get; none if it may not ask that.
fn of_a_client(ask: Ask, by: &str) -> Option<Ask> {
    Some(match ask {
        Ask::Write(entry) => Ask::Write(of_a_stranger(entry, by)),
        Ask::Revise { id, entry, reason } => Ask::Revise { id, entry: of_a_stranger(entry, by), reason },
        // What is replaced so is gone, with its label and its history.
        Ask::Restore { over: Over::Replace, .. } | Ask::Restore { dry_run: true, .. } => return None,
        Ask::Restore { mut row, raw, over, dry_run, .. } => {
            row.entry = *of_a_stranger(Box::new(row.entry), by);
            Ask::Restore { row, raw, over, mine: false, dry_run }
        }
        Ask::Read(_)
        | Ask::Raw(_)
        | Ask::List { .. }
        | Ask::Find(_)
        | Ask::Timeline { .. }
        | Ask::Sessions { .. }
        | Ask::History(_)
        | Ask::Remove { .. }
        | Ask::Block(_)
        | Ask::Stats
        | Ask::Unread { .. } => ask,
        // What a person is to say, they say to their own command.
        Ask::Accept(_) | Ask::Unremove(_) => return None,
        Ask::RestoreSession { .. } | Ask::Judge(_) => return None,
        Ask::Capture(_) | Ask::Forget { .. } | Ask::Mute { .. } | Ask::Reindex => return None,
    })
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
    use ipc_proto::Text;
    use ipc_proto::ids::MemoryId;
    use ipc_proto::memory::{Forget, Muted};

    fn entry() -> Box<Entry> {
        let label = Label::of(Trust::System, Class::Public, "me");
        Box::new(Entry::new(MemoryId::random(), Text::clip("I am the owner"), label))
    }

    fn restore(over: Over) -> Ask {
        let row = Box::new(Row::new(*entry(), Area::User, 1));
        Ask::Restore { row, raw: Text::default(), over, mine: true, dry_run: false }
    }

    // Holds P5-45.
    #[test]
    fn whatever_a_client_says_of_itself_its_rows_are_a_strangers() {
        let id = MemoryId::random();
        let asked = [Ask::Write(entry()), Ask::Revise { id, entry: entry(), reason: Text::default() }];
        for ask in asked {
            let (Ask::Write(entry) | Ask::Revise { entry, .. }) = of_a_client(ask, "api:key bar").unwrap()
            else {
                panic!("another question came of it")
            };
            assert_eq!(entry.label, Label::of(Trust::Untrusted, Class::Internal, "api:key bar"));
            assert!(entry.detail.source.external);
            assert_eq!(entry.detail.source.r#type, SourceType::AiInference);
        }
    }

    // Holds P5-46.
    #[test]
    fn whatever_reads_is_decided_on_as_a_tool_and_the_record_says_how_much_was_read_of_what() {
        let row = |content: &str, trust| {
            let label = Label::of(trust, Class::Sensitive, content);
            Row::new(Entry::new(MemoryId::random(), Text::clip(content), label), Area::User, 1)
        };
        let rows = |rows: [Row; 2]| Given::of(&Said::Rows(List::clip(rows)));
        let (one, other) = (row("ab", Trust::User), row("cde", Trust::Untrusted));
        let given = rows([one.clone(), other.clone()]);
        assert_eq!(
            (given.bytes, given.label.trust, given.label.class),
            (5, Trust::Untrusted, Class::Sensitive)
        );
        assert_ne!(given.hash, rows([other, one]).hash);
        assert_eq!(tool(&Ask::Raw(MemoryId::random())), Some("memory_read"));
        assert_eq!(tool(&Ask::Unread { each: true }), Some("memory_list"));
        assert_eq!(tool(&Ask::Write(entry())), None, "memory itself records what is written");
    }

    #[test]
    fn what_waits_for_a_persons_word_is_in_no_answer_to_a_client() {
        let row = |state| Row { state, ..Row::new(*entry(), Area::User, 1) };
        let rows = [row(State::Proposed { at_ms: 1 }), row(State::Current), row(State::Removed { at_ms: 1 })];
        let said = of_what_holds(Said::Rows(List::clip(rows)));
        assert!(
            matches!(&said, Said::Rows(rows) if rows.len() == 2
                && rows.iter().all(|row| !matches!(row.state, State::Proposed { .. }))),
            "{said:?}"
        );
    }

    // Holds P5-14, P5-45.
    #[test]
    fn a_client_destroys_nothing_and_mutes_nothing() {
        let what = Box::new(Forget::Before(u64::MAX));
        for ask in [
            Ask::Forget { what, purge: true, dry_run: false },
            Ask::Mute { what: Muted::Project(Text::default()), mute: true },
            Ask::Reindex,
            Ask::Accept(MemoryId::random()),
            Ask::Unremove(MemoryId::random()),
            restore(Over::Replace),
        ] {
            assert_eq!(of_a_client(ask, "api"), None);
        }
        for over in [Over::Skip, Over::Merge] {
            let Some(Ask::Restore { row, mine, .. }) = of_a_client(restore(over), "api") else {
                panic!("what destroys nothing is refused")
            };
            assert_eq!((row.entry.label.trust, mine), (Trust::Untrusted, false));
        }
        assert!(of_a_client(Ask::Read(List::default()), "api").is_some());
    }
}
