//! The way of every change: judged, admitted, on the record, done. It asks the scanner, audit and the writer. Nothing
//! may be stored that was not judged, and no row may come or go by it that is not on the record first.

mod extraction;
mod forgetting;
mod holding;
mod restoring;
mod settling;

use crate::capture::{self, Ignored};
use crate::error::Admission;
use crate::patterns::Patterns;
use crate::screen::{self, Proposal, Scanned, Unfit};
use crate::sessions;
use crate::writer::{Job, ask, change};
use ipc_proto::Text;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::ids::MemoryId;
use ipc_proto::memory::{Capture, CaptureEvent, Entry, MemoryError, Muted, Refusal, Scope};
use ipc_proto::scanner::{self, Crossing, Judgement, SCAN_BOUND, ScannerClient, Subject, Verdict};
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
    writer: ActorRef<Job>,
    rules: Arc<Rules>,
    places: Arc<Semaphore>,
}

/// The owner's rules on text that is never stored.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    pub(crate) patterns: Patterns,
    pub(crate) ignored: Ignored,
}

impl Intake {
    /// A way to `writer`.
    pub(crate) fn new(
        scanner: Link<ScannerClient>,
        recorder: Recorder,
        writer: ActorRef<Job>,
        rules: Rules,
    ) -> Self {
        let places = Arc::new(Semaphore::new(AT_ONCE));
        Self { scanner, recorder, writer, rules: Arc::new(rules), places }
    }

    /// Changes under way.
    pub(crate) fn under_way(&self) -> u64 {
        u64::try_from(AT_ONCE - self.places.available_permits().min(AT_ONCE)).unwrap_or(u64::MAX)
    }

    /// Has `entry` judged and stores it without the parts that were cut out.
    pub(crate) async fn write(self, scope: Scope, entry: Entry) -> Result<MemoryId, MemoryError> {
        let proposal = Proposal::of(entry);
        let scanned = self.scanned(&scope, proposal).await?;
        self.clone().lasting(self.store(scope, scanned)).await
    }

    /// The same in the place of another row.
    pub(crate) async fn revise(
        self,
        scope: Scope,
        id: MemoryId,
        entry: Entry,
        reason: &str,
    ) -> Result<MemoryId, MemoryError> {
        let proposal = Proposal::of(entry).map(|proposal| proposal.instead_of(id, reason));
        let scanned = self.scanned(&scope, proposal).await?;
        self.clone().lasting(self.store(scope, scanned)).await
    }

    /// Returns whether `entry` would be written, with nothing written and nothing on the record.
    pub(crate) async fn judge(self, scope: Scope, entry: Entry) -> Result<(), MemoryError> {
        let scanned = self.tried(&scope, Proposal::of(entry)).await?;
        let admission = ask(&self.writer, move |store, _| store.admit(&scope, &scanned)).await?;
        admission.refusal().map_or(Ok(()), Err)
    }

    /// Stores a client's captured tool call; durable when this returns.
    pub(crate) async fn capture(
        self,
        scope: Scope,
        capture: Capture,
    ) -> Result<Option<MemoryId>, MemoryError> {
        sessions::may_be(&capture.client)?;
        let (id, session) = (capture::id(&scope, &capture), sessions::id(&scope, &capture));
        let (of, about) = (scope.clone(), capture.clone());
        let (muted, known, there) = ask(&self.writer, move |store, _| {
            store.writable()?;
            let named = (about.client.as_str(), about.session.as_str());
            let muted = store.is_muted(&of, Some(&about.project), Some(named))?;
            let there = match id {
                Some(id) => store.read(&of, id)?.is_some() || store.is_deleted(&of, id)?,
                None => false,
            };
            Ok((muted, store.knows(&of, session)?, there))
        })
        .await?;
        if muted {
            return Ok(None);
        }
        if there {
            return Ok(id);
        }
        if !known {
            let names = [capture.client.as_str(), capture.session.as_str(), capture.project.as_str()];
            self.fit(&scope, &names.join("\n"), true).await?;
        }
        let scanned = match capture::seen(&scope, &capture, &self.rules.ignored) {
            Some(seen) => {
                let proposal = Proposal::of(seen.entry).map(|proposal| match &seen.raw {
                    Some(raw) => proposal.made_from(raw),
                    None => proposal,
                });
                Some(self.scanned(&scope, proposal).await?)
            }
            None => None,
        };
        let keeps = scanned.as_ref().map(|scanned| scanned.entry().id);
        if known
            && scanned.is_none()
            && matches!(capture.event, CaptureEvent::Tool { .. } | CaptureEvent::Message { .. })
        {
            return Ok(None);
        }
        self.clone().lasting(self.take_down(scope, capture, scanned)).await?;
        Ok(keeps)
    }

    async fn take_down(
        self,
        scope: Scope,
        capture: Capture,
        scanned: Option<Arc<Scanned>>,
    ) -> Result<(), MemoryError> {
        if let Some(scanned) = &scanned {
            let (of, about) = (scope.clone(), Arc::clone(scanned));
            let admission = ask(&self.writer, move |store, _| store.admit(&of, &about)).await?;
            if admission != Admission::New {
                return admission.refusal().map_or(Ok(()), Err);
            }
            self.record(event(Action::MemoryWritten, Result3::Success, &scope, scanned.entry())).await?;
        }
        kit::fault_point!("memory.capture.recorded");
        let (of, about) = (scope.clone(), scanned.clone());
        let taken = change(&self.writer, move |store, now_ms| {
            store.tidy(now_ms)?;
            store.take_down(&of, &capture, about.as_deref(), now_ms)
        });
        let taken = taken.await.and_then(|admission| admission.refusal().map_or(Ok(()), Err));
        kit::fault_point!("memory.capture.stored");
        if let (Err(error), Some(scanned)) = (taken, scanned) {
            self.undone(event(Action::MemoryWritten, Result3::Error, &scope, scanned.entry()), error).await;
        }
        taken
    }

    /// Mutes a session or a project, or no longer does.
    pub(crate) async fn mute(self, scope: Scope, what: Muted, mute: bool) -> Result<(), MemoryError> {
        let name = match &what {
            Muted::Session(client, name) => format!("{}\n{}", client.as_str(), name.as_str()),
            Muted::Project(project) => project.to_string(),
        };
        self.fit(&scope, &name, false).await?;
        change(&self.writer, move |store, _| store.mute(&scope, &what, mute)).await
    }

    /// The entry of a proposal once it was judged.
    async fn scanned(
        &self,
        scope: &Scope,
        proposal: Result<Proposal, Refusal>,
    ) -> Result<Arc<Scanned>, MemoryError> {
        let proposal = self.cleaned(scope, proposal)?;
        match self.judged(&proposal).await? {
            Ok(scanned) => Ok(Arc::new(scanned)),
            Err(refusal) => Err(self.refuse(scope, proposal.entry(), refusal).await),
        }
    }

    /// The same without an effect: a refusal in a dry run is not recorded.
    async fn tried(
        &self,
        scope: &Scope,
        proposal: Result<Proposal, Refusal>,
    ) -> Result<Arc<Scanned>, MemoryError> {
        let judged = self.judged(&self.cleaned(scope, proposal)?).await?;
        judged.map(Arc::new).map_err(|refusal| refused(scope, refusal))
    }

    /// A proposal without the text that the owner never wants stored.
    fn cleaned(&self, scope: &Scope, proposal: Result<Proposal, Refusal>) -> Result<Proposal, MemoryError> {
        let proposal = proposal.and_then(|proposal| proposal.without(&self.rules.patterns));
        proposal.map_err(|refusal| refused(scope, refusal))
    }

    async fn judged(&self, proposal: &Proposal) -> Result<Result<Scanned, Refusal>, MemoryError> {
        if let Some(text) = proposal.together() {
            match proposal.judged(&self.verdict(text).await?) {
                Ok(scanned) => return Ok(Ok(scanned)),
                Err(Unfit::Refused(refusal)) => return Ok(Err(refusal)),
                Err(Unfit::Apart) => {}
            }
        }
        let mut verdicts = Vec::new();
        for text in proposal.apart() {
            verdicts.push(self.verdict(text).await?);
        }
        Ok(proposal.judged_apart(&verdicts))
    }

    /// Checks text that stands beside rows, such as a reason or a project's name: it is refused if it may not be
    /// stored, and text that a model may be `given` also if it would steer one.
    async fn fit(&self, scope: &Scope, words: &str, given: bool) -> Result<(), MemoryError> {
        if words.trim().is_empty() {
            return Ok(());
        }
        let verdict = self.verdict(Text::clip(words)).await?;
        if given && screen::steers(&verdict) {
            return Err(refused(scope, Refusal::Injection));
        }
        let fit = verdict.judgement != Judgement::Block && verdict.redacted.is_none();
        let fit = fit && self.rules.patterns.cut_out(words) == words;
        if fit { Ok(()) } else { Err(refused(scope, Refusal::Name)) }
    }

    /// Judged by the strictest profile: a stored text is read later, under any profile.
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

    /// Refuses an entry that the scanner rejects. A failure to record that does not let it in.
    async fn refuse(&self, scope: &Scope, entry: &Entry, refusal: Refusal) -> MemoryError {
        // No hash: a refused text may be a secret, and a short one could be guessed by it.
        let event = Event { hash: None, ..event(Action::MemoryWritten, Result3::Blocked, scope, entry) };
        if let Err(error) = self.recorder.record(event.because(&refusal.to_string())).await {
            tracing::warn!(%error, "a refusal is not on the record");
        }
        refused(scope, refusal)
    }

    async fn store(self, scope: Scope, scanned: Arc<Scanned>) -> Result<MemoryId, MemoryError> {
        let (entry, id) = (scanned.entry(), scanned.entry().id);
        let (of, about) = (scope.clone(), Arc::clone(&scanned));
        let admission = change(&self.writer, move |store, now_ms| {
            store.tidy(now_ms)?;
            store.admit(&of, &about)
        })
        .await?;
        if admission != Admission::New {
            return answer(admission, id);
        }
        self.record(event(Action::MemoryWritten, Result3::Success, &scope, entry)).await?;
        kit::fault_point!("memory.write.recorded");
        let (of, about) = (scope.clone(), Arc::clone(&scanned));
        let stored = change(&self.writer, move |store, now_ms| store.insert(&of, &about, now_ms)).await;
        let stored = stored.and_then(|admission| answer(admission, id));
        kit::fault_point!("memory.write.stored");
        if let Err(error) = stored {
            self.undone(event(Action::MemoryWritten, Result3::Error, &scope, entry), error).await;
        }
        stored
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

    /// Records that a decided change did not happen.
    async fn undone(&self, event: Event, error: MemoryError) {
        if let Err(error) = self.recorder.record(event.because(&error.to_string())).await {
            tracing::warn!(%error, "a failure is not on the record");
        }
    }

    /// Carries a change through to its end even if its caller goes away: a recorded change is then done.
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

/// The answer to the caller for an admission.
fn answer(admission: Admission, id: MemoryId) -> Result<MemoryId, MemoryError> {
    admission.refusal().map_or(Ok(id), Err)
}

fn refused(scope: &Scope, refusal: Refusal) -> MemoryError {
    tracing::info!(owner = %scope.owner, reason = %refusal, "refused");
    MemoryError::Refused(refusal)
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
    fn every_cause_fits_a_name_so_that_the_record_says_it_whole() {
        let refused = Refusal::ALL.map(MemoryError::Refused);
        let errors = [MemoryError::Storage, MemoryError::Full, MemoryError::ShareFull];
        let errors = refused.iter().chain(&errors).map(ToString::to_string);
        let reasons = Refusal::ALL.iter().map(ToString::to_string).chain(errors);
        for reason in reasons {
            // The remedy after it may be cut.
            let cause = reason.split(';').next().unwrap_or_default();
            assert!(ipc_proto::Name::new(cause.to_owned()).is_ok(), "{reason}");
        }
    }
}
