//! The interface: each method is a message to the writer.

use crate::check::Check;
use crate::digest;
use crate::hash::{self, Hash};
use crate::intake::{Append, Intake};
use crate::log::Log;
use crate::open::{self, Opened};
use crate::standing::Standing;
use crate::writer::{Message, Setup, Writer};
use ipc_proto::audit::{
    Audit, AuditError, Consistency, Event, FRAME_BOUND, Filter, NOTE, Page, Proof, Receipt, Record, Report,
    Rotation, Serial, Stats, TAIL,
};
use ipc_proto::config;
use ipc_proto::{List, Name, Text};
use kit::{Actor, Edge, Flusher, Host, OpenFault, Place};
use manifest::Process;
use manifest::command::{Gauge, RecordState};
use ractor::{ActorRef, RpcReplyPort};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tarpc::context::Context;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::{oneshot, watch};

/// The longest that a tail waits, ms.
const WAIT: u32 = 20_000;

/// The process.
pub(crate) struct Auditor {
    writer: ActorRef<Message>,
    intake: Arc<Intake>,
    entries: watch::Receiver<u64>,
    folder: PathBuf,
    standing: Standing,
    /// The log's identity, if it is intact.
    log: Option<Hash>,
}

/// Flushes beside appends, and the descriptor that tells of those that are over.
pub(crate) type Flushing = (Flusher, OwnedFd);

/// Free bytes that a disk must have for room to be set aside: on one that has less at the start, an append is refused
/// as soon as the disk is full, and no room is withheld from others.
const ROOMY: u64 = 256 << 20;

/// Returns whether room may be set aside on the disk of this folder.
pub(crate) fn is_roomy(folder: &Path) -> bool {
    let about = nix::sys::statvfs::statvfs(folder);
    about.is_ok_and(|it| it.blocks_available().saturating_mul(it.fragment_size()) >= ROOMY)
}

/// The flusher that works beside appends; where the kernel does not support it, each flush is waited for.
pub(crate) fn flushing() -> Option<Flushing> {
    let made = Flusher::new();
    made.inspect_err(|error| tracing::info!(%error, "no flush goes on beside appends here")).ok()
}

impl Actor for Auditor {
    const PROCESS: Process = Process::Audit;
    type Config = config::Audit;
    type Opened = (Opened, PathBuf, config::Audit, Option<Flushing>, bool);

    fn open(config: config::Audit, place: &Place) -> Result<Self::Opened, OpenFault> {
        let (folder, known) = (place.own(), place.log().map(hash::of_words));
        let opened = open::open_known(&folder, known)
            .map_err(|fault| OpenFault::new("the record in the audit folder", fault))?;
        let roomy = is_roomy(&folder);
        Ok((opened, folder, config, flushing(), roomy))
    }

    async fn start((opened, folder, config, flushing, roomy): Self::Opened, host: Host) -> Self {
        let auditor = Self::begin(opened, folder, config, flushing, roomy).await;
        tokio::task::spawn_local(auditor.standing.clone().report(host.supervisor(), auditor.log));
        auditor
    }

    async fn serve(&self, edge: Edge) {
        let handles = Handles {
            witness: Name::clip(edge.caller().name()),
            writer: self.writer.clone(),
            intake: Arc::clone(&self.intake),
            entries: self.entries.clone(),
            folder: self.folder.clone(),
            standing: self.standing.clone(),
        };
        edge.serve(FRAME_BOUND, Server(Rc::new(handles)).serve()).await;
    }

    fn gauges(&self) -> Vec<(Gauge, u64)> {
        vec![(Gauge::RecordEntries, *self.entries.borrow())]
    }
}

impl Auditor {
    pub(crate) async fn begin(
        opened: Opened,
        folder: PathBuf,
        config: config::Audit,
        flushing: Option<Flushing>,
        roomy: bool,
    ) -> Self {
        let (sender, entries) = watch::channel(0);
        let (flusher, notices) = flushing.unzip();
        let intake = Arc::<Intake>::default();
        let (state, log) = match &opened {
            Opened::Whole(log) => (RecordState::Whole, Some(log.keys.log())),
            Opened::Broken(_) => (RecordState::Broken, None),
            Opened::Foreign(_) => (RecordState::Foreign, None),
        };
        let standing = Standing::new(state);
        let (intake_too, standing_too) = (Arc::clone(&intake), standing.clone());
        let setup = Setup {
            opened,
            config,
            intake: intake_too,
            entries: sender,
            flusher,
            roomy,
            standing: standing_too,
        };
        let Ok((writer, _)) = ractor::Actor::spawn(None, Writer, setup).await else {
            // Its start only moves values: there is nothing that could fail but memory.
            std::process::abort()
        };
        if let Some(notices) = notices {
            tokio::task::spawn_local(watch_flushes(notices, writer.clone()));
        }
        Self { writer, intake, entries, folder, standing, log }
    }
}

/// Tells the writer of flushes that are over.
async fn watch_flushes(notices: OwnedFd, writer: ActorRef<Message>) {
    let notices = match watch_over(notices) {
        Ok(notices) => notices,
        Err(error) => return tracing::error!(%error, "flushes that are over are not heard of"),
    };
    while let Ok(mut ready) = notices.readable().await {
        let _ = nix::unistd::read(notices.get_ref(), &mut [0; 8]);
        ready.clear_ready();
        if writer.cast(Message::Flushed).is_err() {
            return;
        }
    }
}

#[expect(deprecated, reason = "the successor is unsafe; the type given here upholds what that asks for")]
fn watch_over(notices: OwnedFd) -> std::io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(notices, Interest::READABLE)
}

/// The serving end of one edge: cloned for each call.
#[derive(Clone)]
struct Server(Rc<Handles>);

/// The handles that the calls need.
struct Handles {
    witness: Name,
    writer: ActorRef<Message>,
    intake: Arc<Intake>,
    entries: watch::Receiver<u64>,
    folder: PathBuf,
    standing: Standing,
}

impl Server {
    async fn ask<T: Send + 'static>(
        &self,
        message: impl FnOnce(RpcReplyPort<Result<T, AuditError>>) -> Message,
    ) -> Result<T, AuditError> {
        let (reply, answer) = ractor::concurrency::oneshot();
        self.0.writer.cast(message(reply.into())).map_err(|_| AuditError::NotDurable)?;
        answer.await.map_err(|_| AuditError::NotDurable)?
    }

    /// Has the writer do something with the log, unless the record does not hold.
    async fn with<T: Send + 'static>(
        &self,
        act: impl FnOnce(&mut Log) -> Result<T, AuditError> + Send + 'static,
    ) -> Result<T, AuditError> {
        self.ask(|reply| {
            Message::With(Box::new(move |log| {
                let _ = reply.send(log.map_or(Err(AuditError::Broken), act));
            }))
        })
        .await
    }
}

impl Audit for Server {
    async fn append(self, _: Context, serial: Serial, event: Event) -> Result<Receipt, AuditError> {
        let (reply, answer) = oneshot::channel();
        let append = Append { witness: self.0.witness.clone(), serial, event, reply };
        if self.0.intake.put(append) {
            self.0.writer.cast(Message::Appends).map_err(|_| AuditError::NotDurable)?;
        }
        answer.await.map_err(|_| AuditError::NotDurable)?
    }

    async fn tail(
        self,
        _: Context,
        from: u64,
        max: u16,
        wait_ms: u32,
    ) -> Result<List<Record, TAIL>, AuditError> {
        let wait = Duration::from_millis(wait_ms.min(WAIT).into());
        let mut entries = self.0.entries.clone();
        // That none came in time is an empty answer.
        let _ = tokio::time::timeout(wait, entries.wait_for(|entries| *entries > from)).await;
        self.with(move |log| log.read(from, usize::from(max))).await
    }

    async fn verify(self, _: Context) -> Result<Report, AuditError> {
        if self.0.standing.is_foreign() {
            // By itself it may well hold.
            return Ok(broken(0, [0; 32], "it is another log than this host's"));
        }
        // On the heap: every call of every method has room for the largest of their futures.
        let mut check = match Check::begin(&self.0.folder, None, None) {
            Ok(check) => Box::new(check),
            Err(fault) => return Ok(broken(0, [0; 32], &fault.message)),
        };
        while check.step() {
            // Appends go on meanwhile.
            tokio::task::yield_now().await;
        }
        let found = check.end();
        Ok(match found.faults.first() {
            Some(fault) => broken(fault.index.unwrap_or(found.entries), found.head, &fault.message),
            None => Report {
                entries: found.entries,
                broken_at: None,
                fault: None,
                head: found.head,
                late: found.late,
            },
        })
    }

    async fn prove(self, _: Context, index: u64) -> Result<Proof, AuditError> {
        self.with(move |log| log.prove(index)).await
    }

    async fn consistency(self, _: Context, from: u64) -> Result<Consistency, AuditError> {
        self.with(move |log| log.consistency(from)).await
    }

    async fn checkpoint(self, _: Context) -> Result<Text<NOTE>, AuditError> {
        self.with(|log| log.checkpoint().map(|note| Text::clip(&note)).map_err(|_| AuditError::Broken)).await
    }

    async fn stats(self, _: Context) -> Result<Stats, AuditError> {
        self.with(|log| Ok(log.stats())).await
    }

    async fn query(self, _: Context, from: u64, filter: Filter) -> Result<Page, AuditError> {
        self.with(move |log| log.query(from, &filter)).await
    }

    async fn digest(self, _: Context, day: u32) -> Result<Text<NOTE>, AuditError> {
        self.with(move |log| {
            let note = log.folder.read_text(&digest::file(day), NOTE).map_err(|_| AuditError::Broken)?;
            note.map(|note| Text::clip(&note)).ok_or(AuditError::NoDigest)
        })
        .await
    }

    async fn rotate_key(self, _: Context) -> Result<Rotation, AuditError> {
        self.with(|log| match log.rotate() {
            Ok(note) => {
                Ok(Rotation { note: Text::clip(&note), key: Text::clip(&log.keys.secret.public.text()) })
            }
            Err(fault) => {
                tracing::error!(%fault, "the key could not be rotated");
                Err(AuditError::NotDurable)
            }
        })
        .await
    }
}

fn broken(index: u64, head: [u8; 32], why: &str) -> Report {
    Report { entries: index, broken_at: Some(index), fault: Some(Name::clip(why)), head, late: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::audit::{Action, AuditClient, Result3, method};
    use kit::Link;
    use tokio::net::UnixStream;

    /// A link to audit over the log of this folder, as control's: it may call every method.
    async fn linked(folder: &Path) -> Link<AuditClient> {
        let opened = open::open(folder).unwrap();
        let auditor = Rc::new(
            Auditor::begin(opened, folder.to_owned(), config::Audit::DEFAULT, flushing(), true).await,
        );
        let (near, far) = UnixStream::pair().unwrap();
        tokio::task::spawn_local(async move {
            auditor.serve(kit::bench::edge(near, Process::Audit, Process::Control)).await;
        });
        kit::bench::link(far, Process::Control)
    }

    async fn append(audit: &Link<AuditClient>, number: u64) -> Result<Receipt, AuditError> {
        let (serial, event) = (Serial { life: 9, number }, Event::new(Action::ToolDecided, Result3::Success));
        let ask = |audit: AuditClient, cx| {
            let event = event.clone();
            async move { audit.append(cx, serial, event).await }
        };
        audit.call(&method::append, ask).await.unwrap()
    }

    async fn verify(audit: &Link<AuditClient>) -> Report {
        let ask = |audit: AuditClient, cx| async move { audit.verify(cx).await };
        audit.call(&method::verify, ask).await.unwrap().unwrap()
    }

    #[test]
    fn simultaneous_appends_are_one_entry_each_and_proved() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        let served = kit::bench::run(async move {
            let audit = linked(&path).await;
            let together = futures::future::join_all((1..=700).map(|number| append(&audit, number))).await;
            let mut indices: Vec<u64> = together.into_iter().map(|receipt| receipt.unwrap().index).collect();
            // They are served in any order; a repeat is looked for among the latest.
            let last = (1..).zip(&indices).find(|(_, index)| **index == 699).unwrap().0;
            assert_eq!(append(&audit, last).await.unwrap().index, 699);
            indices.sort_unstable();
            assert_eq!(indices, (0..700).collect::<Vec<_>>());
            let report = verify(&audit).await;
            assert_eq!((report.entries, report.fault), (700, None));
            let ask = |audit: AuditClient, cx| async move { audit.prove(cx, 699).await };
            let proof = audit.call(&method::prove, ask).await.unwrap().unwrap();
            assert!(proof.entry.starts_with(b"{\"index\":699,") && proof.checkpoint.contains("\n700\n"));
            let ask = |audit: AuditClient, cx| async move { audit.stats(cx).await };
            let stats = audit.call(&method::stats, ask).await.unwrap().unwrap();
            assert_eq!((stats.entries, stats.counts[0].total), (700, 700));
            let ask = |audit: AuditClient, cx| async move { audit.query(cx, 698, Filter::default()).await };
            let page = audit.call(&method::query, ask).await.unwrap().unwrap();
            assert_eq!((page.records.len(), page.next), (2, None));
            let ask = |audit: AuditClient, cx| async move { audit.prove(cx, 700).await };
            assert_eq!(audit.call(&method::prove, ask).await.unwrap(), Err(AuditError::NoEntry));
        });
        served.unwrap();
        let found = crate::check::run(folder.path(), None, None).unwrap();
        assert_eq!((found.faults.listed, found.vouched), (vec![], 700));
    }

    // Holds P6-16.
    #[test]
    fn a_rotation_and_appends_beside_a_verification_are_no_fault() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        let served = kit::bench::run(async move {
            let audit = &linked(&path).await;
            futures::future::join_all((1..=700).map(|number| append(audit, number))).await;
            let rotate = |audit: AuditClient, cx| async move { audit.rotate_key(cx).await };
            let more = futures::future::join_all((701..=710).map(|number| append(audit, number)));
            let rotated = audit.call(&method::rotate_key, rotate);
            let (report, rotated, _) = futures::join!(verify(audit), rotated, more);
            assert!(report.fault.is_none() && rotated.unwrap().is_ok(), "{report:?}");
        });
        served.unwrap();
    }

    // Holds P6-24.
    #[test]
    fn what_audit_itself_records_among_appends_has_an_index_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        let served = kit::bench::run(async move {
            let audit = &linked(&path).await;
            let rotate = |audit: AuditClient, cx| async move { audit.rotate_key(cx).await };
            let calls = (1..=60).map(|number| async move {
                if number % 7 == 3 {
                    return audit.call(&method::rotate_key, rotate).await.unwrap().map(drop);
                }
                append(audit, number).await.map(drop)
            });
            let done = futures::future::join_all(calls).await;
            assert!(done.iter().all(Result::is_ok), "{done:?}");
        });
        served.unwrap();
        let found = crate::check::run(folder.path(), None, None).unwrap();
        assert_eq!((found.faults.listed, found.entries), (vec![], 60));
    }

    #[test]
    fn a_record_that_does_not_hold_is_not_appended_to_and_can_be_verified() {
        let folder = tempfile::tempdir().unwrap();
        drop(open::open(folder.path()).unwrap());
        std::fs::write(folder.path().join("checkpoint"), "another\n").unwrap();
        let path = folder.path().to_owned();
        let served = kit::bench::run(async move {
            let audit = linked(&path).await;
            assert_eq!(append(&audit, 1).await, Err(AuditError::Broken));
            assert!(verify(&audit).await.fault.is_some());
        });
        served.unwrap();
    }
}
