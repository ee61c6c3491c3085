//! An observation that curator made, with the facts and entities that it extracted from it. Facts are proposed, entities are
//! stored. All of it is judged first, then on the record, then done in one transaction: a crash leaves either all of it or the
//! captured row, from which it is made again. An extracted entry that may not be stored is left out; the others are stored.

use super::{Intake, answer, event};
use crate::error::Admission;
use crate::row::key;
use crate::screen::{Proposal, Scanned};
use crate::writer::{ask, change};
use ipc_proto::Text;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::ids::MemoryId;
use ipc_proto::label::{Label, Trust};
use ipc_proto::memory::{Entry, Kind, KindName, MemoryError, Refusal, Scope, SourceType};
use std::sync::Arc;

/// Bytes of the facts about an entity.
const KNOWN: usize = 4096;

impl Intake {
    /// Stores an observation in the place of the captured row `of`, with the entries extracted from it.
    pub(super) async fn observed(
        self,
        scope: Scope,
        of: MemoryId,
        entry: Entry,
        extracted: Vec<Entry>,
    ) -> Result<(), MemoryError> {
        let proposal = Proposal::of(entry).map(|proposal| proposal.instead_of(of, "compressed"));
        let seen = self.scanned(&scope, proposal).await?;
        let extracted = self.screen_extracted(&scope, seen.entry(), extracted).await?;
        self.clone().lasting(self.observe(scope, seen, extracted)).await
    }

    async fn observe(
        self,
        scope: Scope,
        seen: Arc<Scanned>,
        extracted: Vec<Arc<Scanned>>,
    ) -> Result<(), MemoryError> {
        let (of, about) = (scope.clone(), Arc::clone(&seen));
        let admission = change(&self.writer, move |store, now_ms| {
            store.tidy(now_ms)?;
            store.admit(&of, &about)
        });
        let admission = admission.await?;
        if admission != Admission::New {
            return answer(admission, seen.entry().id).map(drop);
        }
        for scanned in std::iter::once(&seen).chain(&extracted) {
            self.record(written(&scope, scanned.entry(), Result3::Success)).await?;
        }
        kit::fault_point!("memory.observe.recorded");
        let (of, row, rows) = (scope.clone(), Arc::clone(&seen), extracted.clone());
        let observed =
            change(&self.writer, move |store, now_ms| store.observe(&of, &row, &rows, now_ms)).await;
        kit::fault_point!("memory.observe.stored");
        let (admission, each) = match observed {
            Ok(observed) => observed,
            Err(error) => return Err(self.record_failure(&scope, (&seen, &extracted), error).await),
        };
        if let Some(error) = admission.refusal() {
            return Err(self.record_failure(&scope, (&seen, &extracted), error).await);
        }
        for (scanned, admission) in extracted.iter().zip(each) {
            if admission != Admission::New {
                let error = admission.refusal().unwrap_or(MemoryError::Refused(Refusal::IdInUse));
                self.undone(written(&scope, scanned.entry(), Result3::Error), error).await;
            }
        }
        Ok(())
    }

    async fn record_failure(
        &self,
        scope: &Scope,
        (seen, extracted): (&Arc<Scanned>, &[Arc<Scanned>]),
        error: MemoryError,
    ) -> MemoryError {
        for scanned in std::iter::once(seen).chain(extracted) {
            self.undone(written(scope, scanned.entry(), Result3::Error), error).await;
        }
        error
    }

    /// The facts extracted from a row, judged. Facts that are known already, or are refused, are left out.
    async fn screen_extracted(
        &self,
        scope: &Scope,
        from: &Entry,
        extracted: Vec<Entry>,
    ) -> Result<Vec<Arc<Scanned>>, MemoryError> {
        let mut fit: Vec<Arc<Scanned>> = Vec::new();
        for entry in extracted {
            let entry = of_row(entry, from);
            let entry = match entry.detail.kind {
                Kind::Semantic(_) => self.unknown(scope, entry).await?,
                Kind::Entity(_) => self.met(scope, entry, &mut fit).await?,
                _ => None,
            };
            let Some(entry) = entry else { continue };
            match self.scanned(scope, Proposal::of(entry)).await {
                Ok(scanned) => fit.push(scanned),
                Err(MemoryError::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(fit)
    }

    /// A fact that was neither proposed nor deleted before.
    async fn unknown(&self, scope: &Scope, entry: Entry) -> Result<Option<Entry>, MemoryError> {
        let (of, id) = (scope.clone(), entry.id);
        let known = ask(&self.writer, move |store, _| {
            Ok(store.read(&of, id)?.is_some() || store.is_deleted(&of, id)?)
        });
        Ok(if known.await? { None } else { Some(entry) })
    }

    /// An entity with all that is known of it; none if nothing of it is new. One that was met in the same row before gives way
    /// to it.
    async fn met(
        &self,
        scope: &Scope,
        mut entry: Entry,
        fit: &mut Vec<Arc<Scanned>>,
    ) -> Result<Option<Entry>, MemoryError> {
        let same = |other: &Arc<Scanned>| {
            other.entry().detail.kind.name() == KindName::Entity && key(other.entry()) == key(&entry)
        };
        let met = fit.iter().position(same);
        let known = match met.and_then(|at| fit.get(at)) {
            Some(met) => Some(met.entry().clone()),
            None => {
                let (of, about) = (scope.clone(), entry.clone());
                ask(&self.writer, move |store, _| store.of_the_same_key(&of, &about))
                    .await?
                    .map(|row| row.entry)
            }
        };
        if let Some(known) = known {
            let Some(content) = with_news(&known.content, &entry.content) else { return Ok(None) };
            entry.content = Text::clip(&content);
            entry.label = entry.label.join(&known.label);
        }
        met.map(|at| fit.remove(at));
        Ok(Some(entry))
    }
}

/// That a row is written; of a fact, that it is proposed.
fn written(scope: &Scope, entry: &Entry, result: Result3) -> Event {
    let event = event(Action::MemoryWritten, result, scope, entry);
    if entry.detail.kind.name() == KindName::Semantic { event.because("proposed") } else { event }
}

/// As it may be kept: a model's word about a stranger's text, of the place and no more trusted than the row.
fn of_row(mut entry: Entry, from: &Entry) -> Entry {
    entry.label = entry.label.join(&from.label);
    entry.label = entry.label.join(&Label::of(Trust::Untrusted, entry.label.class, "curator"));
    entry.session = from.session;
    let detail = &mut entry.detail;
    detail.project.clone_from(&from.detail.project);
    detail.source = from.detail.source.clone();
    detail.source.r#type = SourceType::AiInference;
    detail.source.row = Some(from.id);
    detail.expires_ms = from.detail.expires_ms;
    entry
}

/// The known lines and the new ones; none if there are no new ones, or if there is no room for more.
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

    // Holds P5-14.
    #[test]
    fn an_extracted_row_is_never_less_restricted_than_its_source() {
        let mut from = entry(1, "a page said so");
        from.label = Label::of(Trust::Verified, Class::Sensitive, "hook:opencode");
        from.detail.expires_ms = Some(9);
        let mut fact = entry(2, "a fact");
        fact.label = Label::of(Trust::System, Class::Public, "me");
        let extracted = of_row(fact, &from);
        assert_eq!((extracted.label.trust, extracted.label.class), (Trust::Untrusted, Class::Sensitive));
        assert!(extracted.label.sources.iter().any(|source| source.as_str() == "hook:opencode"));
        assert_eq!((extracted.detail.source.row, extracted.detail.expires_ms), (Some(id(1)), Some(9)));
        assert_eq!(extracted.detail.source.r#type, SourceType::AiInference);
    }

    // Holds B-120.
    #[test]
    fn of_an_entity_only_what_is_new_is_added_and_only_so_much_is_kept() {
        assert_eq!(with_news("kit", "kit\nkit uses tokio").as_deref(), Some("kit\nkit uses tokio"));
        assert_eq!(with_news("kit\nkit uses tokio", "kit uses tokio\n\nkit"), None);
        let full = "x".repeat(KNOWN);
        assert_eq!(with_news(&full, "y"), None);
    }
}
