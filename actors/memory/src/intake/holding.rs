//! What comes to hold by a person's word, and what waits for it: each on the record before it is done.

use super::{Intake, event};
use crate::screen::{Proposal, Scanned};
use crate::store::{Admission, Store, StoreError};
use crate::writer::{ask, change};
use ipc_proto::Text;
use ipc_proto::audit::{Action, Result3};
use ipc_proto::ids::MemoryId;
use ipc_proto::label::{Label, Trust};
use ipc_proto::memory::{Entry, Kind, MemoryError, Row, Scope, SourceType, State};
use std::sync::Arc;

/// Bytes of what is known of an entity.
const KNOWN: usize = 4096;

/// How a row comes to hold.
type Holding = fn(&mut Store, &Scope, MemoryId, u64) -> Result<(), StoreError>;

impl Intake {
    /// Has a proposed fact hold as its owner's own word: of the very bytes that were proposed.
    pub(crate) async fn accept(self, scope: Scope, id: MemoryId) -> Result<(), MemoryError> {
        self.clone().lasting(self.held(scope, id, true)).await
    }

    /// Has a row hold again that was removed.
    pub(crate) async fn unremove(self, scope: Scope, id: MemoryId) -> Result<(), MemoryError> {
        self.clone().lasting(self.held(scope, id, false)).await
    }

    async fn held(self, scope: Scope, id: MemoryId, accepted: bool) -> Result<(), MemoryError> {
        let of = scope.clone();
        let row = ask(&self.writer, move |store, _| store.to_hold(&of, id, accepted)).await?;
        if row.state == State::Current {
            return Ok(());
        }
        let (why, hold): (_, Holding) =
            if accepted { ("accepted", Store::accept) } else { ("removal undone", Store::unremove) };
        self.record(event(Action::MemoryWritten, Result3::Success, &scope, &row.entry).because(why)).await?;
        kit::fault_point!("memory.hold.recorded");
        let of = scope.clone();
        let held = change(&self.writer, move |store, now_ms| hold(store, &of, id, now_ms)).await;
        if let Err(error) = held {
            self.undone(event(Action::MemoryWritten, Result3::Error, &scope, &row.entry), error).await;
        }
        held
    }

    /// Keeps what curator took from a row. That one of them is not kept loses nothing: the row itself is there.
    pub(super) async fn taken(&self, scope: &Scope, from: &Row, taken: Vec<Entry>) {
        for entry in taken {
            let entry = of_row(entry, from);
            let kept = match entry.detail.kind {
                Kind::Semantic(_) => self.proposed(scope.clone(), entry).await,
                Kind::Entity(_) => self.met(scope.clone(), entry).await,
                _ => Err(MemoryError::Refused),
            };
            if let Err(error) = kept {
                tracing::info!(owner = %scope.owner, %error, "what was taken from a row is not kept");
            }
        }
    }

    async fn proposed(&self, scope: Scope, entry: Entry) -> Result<(), MemoryError> {
        let (of, id) = (scope.clone(), entry.id);
        let known = ask(&self.writer, move |store, _| {
            Ok(store.read(&of, id)?.is_some() || store.is_deleted(&of, id)?)
        });
        if known.await? {
            return Ok(());
        }
        let scanned = self.scanned(&scope, Proposal::of(entry)).await?;
        self.clone().lasting(self.clone().put_forward(scope, scanned)).await
    }

    async fn put_forward(self, scope: Scope, scanned: Arc<Scanned>) -> Result<(), MemoryError> {
        let about = |result| event(Action::MemoryWritten, result, &scope, scanned.entry());
        self.record(about(Result3::Success).because("proposed")).await?;
        let (of, put) = (scope.clone(), scanned.clone());
        let done = change(&self.writer, move |store, now_ms| {
            store.tidy(now_ms)?;
            store.propose(&of, &put, now_ms)
        });
        let done = done.await.and_then(|admission| admission.refusal().map_or(Ok(admission), Err));
        let error = match done {
            Ok(Admission::New) => return Ok(()),
            Ok(_) => MemoryError::Refused,
            Err(error) => error,
        };
        self.undone(about(Result3::Error), error).await;
        Err(error)
    }

    /// Keeps an entity, or what is new of one that is known.
    async fn met(&self, scope: Scope, mut entry: Entry) -> Result<(), MemoryError> {
        let (of, about) = (scope.clone(), entry.clone());
        let known = ask(&self.writer, move |store, _| store.of_the_same_key(&of, &about)).await?;
        if let Some(known) = known {
            let Some(content) = with_news(&known.entry.content, &entry.content) else { return Ok(()) };
            entry.content = Text::clip(&content);
            entry.label = entry.label.join(&known.entry.label);
        }
        self.clone().write(scope, entry).await.map(drop)
    }
}

/// As it may be kept: a model's word about a stranger's text, of the place and no more trusted than the row.
fn of_row(mut entry: Entry, from: &Row) -> Entry {
    entry.label = entry.label.join(&from.entry.label);
    entry.label = entry.label.join(&Label::of(Trust::Untrusted, entry.label.class, "curator"));
    entry.session = from.entry.session;
    let detail = &mut entry.detail;
    detail.project.clone_from(&from.entry.detail.project);
    detail.source = from.entry.detail.source.clone();
    detail.source.r#type = SourceType::AiInference;
    detail.source.row = Some(from.entry.id);
    detail.expires_ms = from.entry.detail.expires_ms;
    entry
}

/// The lines of what is known and those of what is said that are not among them; none if all of them are, or if no more
/// is kept of it.
fn with_news(known: &str, said: &str) -> Option<String> {
    let mut all = known.to_owned();
    for line in said.lines().filter(|line| !line.trim().is_empty()) {
        if !all.lines().any(|known| known == line) && all.len() + 1 + line.len() <= KNOWN {
            all.push('\n');
            all.push_str(line);
        }
    }
    (all.len() > known.len()).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{entry, id};
    use ipc_proto::label::Class;
    use ipc_proto::memory::Area;

    #[test]
    fn what_is_taken_from_a_row_is_no_more_trusted_and_no_less_confidential_than_the_row() {
        let mut from = entry(1, "a page said so");
        from.label = Label::of(Trust::Verified, Class::Sensitive, "hook:opencode");
        from.detail.expires_ms = Some(9);
        let mut told = entry(2, "a fact");
        told.label = Label::of(Trust::System, Class::Public, "me");
        let taken = of_row(told, &Row::new(from, Area::User, 1));
        assert_eq!((taken.label.trust, taken.label.class), (Trust::Untrusted, Class::Sensitive));
        assert!(taken.label.sources.iter().any(|source| source.as_str() == "hook:opencode"));
        assert_eq!((taken.detail.source.row, taken.detail.expires_ms), (Some(id(1)), Some(9)));
        assert_eq!(taken.detail.source.r#type, SourceType::AiInference);
    }

    #[test]
    fn of_an_entity_only_what_is_new_is_added_and_only_so_much_is_kept() {
        assert_eq!(with_news("kit", "kit\nkit uses tokio").as_deref(), Some("kit\nkit uses tokio"));
        assert_eq!(with_news("kit\nkit uses tokio", "kit uses tokio\n\nkit"), None);
        let full = "x".repeat(KNOWN);
        assert_eq!(with_news(&full, "y"), None);
    }
}
