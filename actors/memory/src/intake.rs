//! What a write and a delete go through: judged, admitted, on the record, done. It asks the scanner, audit and the
//! writer. Nothing may be stored that was not judged, and nothing may change that is not on the record first.

use crate::screen::{self, Proposal, Refusal, Scanned};
use crate::store::{Admission, Doomed};
use crate::writer::{Ask, ask};
use ipc_proto::Text;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::ids::MemoryId;
use ipc_proto::memory::{Entry, MemoryError, Scope};
use ipc_proto::scanner::{self, Crossing, SCAN_BOUND, ScannerClient, Subject, Verdict};
use kit::{Link, Recorder};
use ractor::ActorRef;
use std::future::Future;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Changes that are under way at once; further ones wait for as long as their callers do.
const AT_ONCE: usize = 64;

/// The way of every change into the store.
#[derive(Clone)]
pub(crate) struct Intake {
    scanner: Link<ScannerClient>,
    recorder: Recorder,
    writer: ActorRef<Ask>,
    places: Arc<Semaphore>,
}

impl Intake {
    /// A way to `writer`.
    pub(crate) fn new(scanner: Link<ScannerClient>, recorder: Recorder, writer: ActorRef<Ask>) -> Self {
        Self { scanner, recorder, writer, places: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    /// Changes under way.
    pub(crate) fn under_way(&self) -> u64 {
        u64::try_from(AT_ONCE - self.places.available_permits().min(AT_ONCE)).unwrap_or(u64::MAX)
    }

    /// Has `entry` judged and stores what is left of it.
    pub(crate) async fn write(self, scope: Scope, entry: Entry) -> Result<MemoryId, MemoryError> {
        let proposal = Proposal::of(entry).map_err(|refusal| refused(&scope, refusal))?;
        let (content, tags) = self.verdicts(&proposal).await?;
        let scanned = match proposal.judged(&content, tags.as_ref()) {
            Ok(scanned) => Arc::new(scanned),
            Err(refusal) => return self.refuse(&scope, proposal.entry(), refusal).await,
        };
        self.clone().lasting(self.store(scope, scanned)).await
    }

    /// Forgets a row; one that was deleted before is forgotten already.
    pub(crate) async fn delete(self, scope: Scope, id: MemoryId) -> Result<(), MemoryError> {
        self.clone().lasting(self.forget(scope, id)).await
    }

    async fn verdicts(&self, proposal: &Proposal) -> Result<(Verdict, Option<Verdict>), MemoryError> {
        let content = self.verdict(proposal.content()).await?;
        let tags = match proposal.tags() {
            Some(tags) => Some(self.verdict(tags).await?),
            None => None,
        };
        Ok((content, tags))
    }

    /// Judged by the strictest profile: what is stored is read by whoever comes later, by whatever profile.
    async fn verdict(&self, text: Text<SCAN_BOUND>) -> Result<Verdict, MemoryError> {
        let asked = self.scanner.call(&scanner::method::scan, |scanner, context| {
            let text = text.clone();
            async move { scanner.scan(context, Subject::at(Crossing::MemoryWrite), text).await }
        });
        asked.await.map_err(|fault| {
            tracing::warn!(%fault, "not scanned");
            MemoryError::ScannerDown
        })
    }

    /// Refuses what the scanner would not have kept. That it could not be recorded does not let it in.
    async fn refuse(&self, scope: &Scope, entry: &Entry, refusal: Refusal) -> Result<MemoryId, MemoryError> {
        // No hash: what is refused may be a secret, and a short one could be guessed by it.
        let event = Event { hash: None, ..event(Action::MemoryWritten, Result3::Blocked, scope, entry) };
        if let Err(error) = self.recorder.record(event.because(&refusal.to_string())).await {
            tracing::warn!(%error, "a refusal is not on the record");
        }
        Err(refused(scope, refusal))
    }

    async fn store(self, scope: Scope, scanned: Arc<Scanned>) -> Result<MemoryId, MemoryError> {
        let (entry, id) = (scanned.entry(), scanned.entry().id);
        let admission =
            ask(&self.writer, |reply| Ask::Admit(scope.clone(), Arc::clone(&scanned), reply)).await?;
        if admission != Admission::New {
            return answer(admission, id);
        }
        self.record(event(Action::MemoryWritten, Result3::Success, &scope, entry)).await?;
        kit::fault_point!("memory.write.recorded");
        let insert = |reply| Ask::Insert(scope.clone(), Arc::clone(&scanned), reply);
        let stored = ask(&self.writer, insert).await.and_then(|admission| answer(admission, id));
        kit::fault_point!("memory.write.stored");
        if let Err(error) = stored {
            self.undone(event(Action::MemoryWritten, Result3::Error, &scope, entry), error).await;
        }
        stored
    }

    async fn forget(self, scope: Scope, id: MemoryId) -> Result<(), MemoryError> {
        let row = match ask(&self.writer, |reply| Ask::Doomed(scope.clone(), id, reply)).await? {
            Doomed::Here(row) => row,
            Doomed::Gone => return Ok(()),
            Doomed::Unknown => return Err(MemoryError::NotFound),
        };
        self.record(event(Action::MemoryDeleted, Result3::Success, &scope, &row.entry)).await?;
        kit::fault_point!("memory.delete.recorded");
        let deleted = ask(&self.writer, |reply| Ask::Delete(scope.clone(), id, reply)).await;
        kit::fault_point!("memory.delete.done");
        if let Err(error) = deleted {
            self.undone(event(Action::MemoryDeleted, Result3::Error, &scope, &row.entry), error).await;
        }
        deleted
    }

    async fn record(&self, event: Event) -> Result<(), MemoryError> {
        match self.recorder.record(event).await {
            Ok(_) => Ok(()),
            Err(error) => {
                tracing::warn!(%error, "not recorded, so not done");
                Err(MemoryError::NotRecorded)
            }
        }
    }

    /// Puts on the record that what was decided did not happen.
    async fn undone(&self, event: Event, error: MemoryError) {
        if let Err(error) = self.recorder.record(event.because(&error.to_string())).await {
            tracing::warn!(%error, "a failure is not on the record");
        }
    }

    /// Carries a change through to its end even if its caller goes away: what is on the record is then done.
    async fn lasting<T: 'static>(
        self,
        change: impl Future<Output = Result<T, MemoryError>> + 'static,
    ) -> Result<T, MemoryError> {
        let place = self.places.acquire_owned().await.map_err(|_| MemoryError::Storage)?;
        let task = tokio::task::spawn_local(async move {
            let done = change.await;
            drop(place);
            done
        });
        task.await.unwrap_or(Err(MemoryError::Storage))
    }
}

/// What a caller is told of an admission.
fn answer(admission: Admission, id: MemoryId) -> Result<MemoryId, MemoryError> {
    match admission {
        Admission::New | Admission::Already => Ok(id),
        Admission::Taken => Err(MemoryError::Refused),
        Admission::Full => Err(MemoryError::Full),
    }
}

fn refused(scope: &Scope, refusal: Refusal) -> MemoryError {
    tracing::info!(owner = %scope.owner, reason = %refusal, "refused");
    MemoryError::Refused
}

/// An event about an owner's row: its size and hash, never its text.
fn event(action: Action, result: Result3, scope: &Scope, entry: &Entry) -> Event {
    Event {
        session: entry.session,
        hash: Some(screen::hash(entry)),
        bytes: u64::try_from(entry.content.len()).unwrap_or(u64::MAX),
        label: Some(entry.label.clone()),
        ..Event::new(action, result).about(&scope.owner.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_fits_a_name_so_that_the_record_says_it_whole() {
        let refusals = [Refusal::Empty, Refusal::Injection, Refusal::Secret, Refusal::Tag, Refusal::TooLong];
        let errors = [MemoryError::Storage, MemoryError::Full, MemoryError::Refused];
        let reasons = refusals.iter().map(ToString::to_string).chain(errors.iter().map(ToString::to_string));
        for reason in reasons {
            assert!(ipc_proto::Name::new(reason.clone()).is_ok(), "{reason}");
        }
    }
}
