//! What clients of the API ask of memory. Whose memory it is, router knows from what the client presented; how far a row
//! that comes in is to be trusted is said here. A client reads, writes and leaves tombstones: whatever destroys, mutes or
//! builds anew is for the person's own command.

use super::admit::Client;
use crate::host::Shared;
use ipc_proto::Name;
use ipc_proto::api::Caller;
use ipc_proto::gate::RelayError;
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::memory::{Area, Ask, Entry, Over, Said, Scope, SourceType, method};

/// Asks the memory of the caller's user, in the area that is their own.
pub(crate) async fn memory(shared: &Shared, caller: Caller, ask: Ask) -> Result<Said, RelayError> {
    let client = Client::of(shared, caller).await?;
    let (owner, by) = client.may_remember(shared)?;
    let ask = of_a_client(ask, &by).ok_or(RelayError::NoMemory)?;
    let scope = Scope { owner, area: Area::User };
    let answer = shared.memory.call(&method::ask, |memory, rpc| {
        let (scope, ask) = (scope.clone(), ask.clone());
        async move { memory.ask(rpc, scope, ask).await }
    });
    answer.await.map_err(|_| RelayError::Down(Name::clip("memory")))?.map_err(RelayError::Memory)
}

/// What a client may ask, with the label that its rows get; none if it may not ask that.
fn of_a_client(ask: Ask, by: &str) -> Option<Ask> {
    Some(match ask {
        Ask::Write(entry) => Ask::Write(of_a_stranger(entry, by)),
        Ask::Revise { id, entry, reason } => Ask::Revise { id, entry: of_a_stranger(entry, by), reason },
        // What is replaced so is gone, with its label and its history.
        Ask::Restore { over: Over::Replace, .. } => return None,
        Ask::Restore { mut row, raw, over, .. } => {
            row.entry = *of_a_stranger(Box::new(row.entry), by);
            Ask::Restore { row, raw, over, mine: false }
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
        | Ask::Stats => ask,
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
    use ipc_proto::ids::MemoryId;
    use ipc_proto::memory::{Forget, Muted, Row};
    use ipc_proto::{List, Text};

    fn entry() -> Box<Entry> {
        let label = Label::of(Trust::System, Class::Public, "me");
        Box::new(Entry::new(MemoryId::random(), Text::clip("I am the owner"), label))
    }

    fn restore(over: Over) -> Ask {
        let row = Box::new(Row::new(*entry(), Area::User, 1));
        Ask::Restore { row, raw: Text::default(), over, mine: true }
    }

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

    #[test]
    fn a_client_destroys_nothing_and_mutes_nothing() {
        let what = Box::new(Forget::Before(u64::MAX));
        for ask in [
            Ask::Forget { what, purge: true, dry_run: false },
            Ask::Mute { what: Muted::Project(Text::default()), mute: true },
            Ask::Reindex,
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
