//! What the desk asks of the rest of the host, as data, and the one place that does it. The desk never waits: it
//! hands an errand out and is told how it went. At most one errand is out for each message that has not ended and
//! for each call that waits for a record, so their number is bounded by the queue's.

use crate::desk::Desk;
use crate::launch::Launch;
use crate::queue::Queue;
use ipc_proto::Text;
use ipc_proto::audit::Event;
use ipc_proto::ids::{TurnId, WorkspaceId};
use ipc_proto::scanner::{self, SCAN_BOUND, ScannerClient, Subject, Verdict};
use kit::{Host, Link, Recorder, Supervisor};
use manifest::command::Ended;
use std::io::{self, ErrorKind};
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;

/// What is done when an errand comes back.
pub(crate) type Then<T> = Box<dyn FnOnce(&mut Desk, T) + Send>;

/// Something that is to be done outside the desk.
pub(crate) enum Errand {
    /// Put this on the record, and say whether it is durable there.
    Record(Box<Event>, Then<bool>),
    /// Have the scanner look at this text on its way in, and say what it found; `None` if it could not.
    Scan(Subject, Text<SCAN_BOUND>, Then<Option<Verdict>>),
    /// Have agentd launch a runner.
    Launch(Launch),
    /// Have agentd end the runner of this turn.
    Kill(TurnId),
    /// Have agentd give the runner of this turn so much wall clock from now on.
    Wall(TurnId, Duration),
    /// Have agentd remove the folder of this workspace.
    Remove(WorkspaceId),
    /// Have agentd close this attached directory, in which no session works any more.
    Forget(WorkspaceId),
}

/// Returns whether a command could not be sent because agentd has closed its end, which it does only by ending.
fn host_ends(fault: &io::Error) -> bool {
    matches!(
        fault.kind(),
        ErrorKind::BrokenPipe
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionRefused
            | ErrorKind::NotConnected
    )
}

/// The peers that errands go to.
#[derive(Clone)]
pub(crate) struct Peers {
    recorder: Recorder,
    scanner: Link<ScannerClient>,
    supervisor: Supervisor,
}

impl Peers {
    pub(crate) fn of(host: &Host) -> Self {
        Self { recorder: host.recorder(), scanner: host.link(), supervisor: host.supervisor() }
    }

    /// Does errands as they come, side by side.
    pub(crate) async fn run(self, queue: Queue, mut errands: UnboundedReceiver<Errand>) {
        while let Some(errand) = errands.recv().await {
            let (peers, queue) = (self.clone(), queue.clone());
            tokio::task::spawn_local(async move { peers.perform(&queue, errand).await });
        }
    }

    async fn perform(&self, queue: &Queue, errand: Errand) {
        match errand {
            Errand::Record(event, then) => {
                let recorded = self.recorder.record(*event).await;
                if let Err(fault) = &recorded {
                    tracing::warn!(%fault, "not recorded; what depends on it waits");
                }
                queue.tell(move |desk| then(desk, recorded.is_ok()));
            }
            Errand::Scan(subject, text, then) => {
                let verdict = self.scan(&subject, &text).await;
                queue.tell(move |desk| then(desk, verdict));
            }
            Errand::Launch(launch) => {
                kit::fault_point!("router.start.launching");
                match self.supervisor.send(launch.frame(), &[]) {
                    Ok(()) => {}
                    // agentd is gone, and the host with it: the next life takes the turn up again.
                    Err(fault) if host_ends(&fault) => {
                        tracing::warn!(%fault, "agentd is gone; the turn waits for the host's next start");
                    }
                    Err(fault) => {
                        let errno =
                            u64::try_from(fault.raw_os_error().unwrap_or_default()).unwrap_or_default();
                        queue.tell(move |desk| {
                            desk.runner_ended(launch.turn, Some(Ended::NotLaunched), errno)
                        });
                    }
                }
                kit::fault_point!("router.start.launched");
            }
            // One that is not heard is said again by the desk's next ticks.
            Errand::Kill(turn) => drop(self.supervisor.send(crate::launch::kill_frame(turn), &[])),
            // One that is not heard is said again, as all are.
            Errand::Remove(workspace) => {
                drop(self.supervisor.send(crate::launch::remove_frame(workspace), &[]))
            }
            // One that is not heard leaves a directory open until the host ends.
            Errand::Forget(workspace) => {
                drop(self.supervisor.send(crate::launch::forget_frame(workspace), &[]))
            }
            Errand::Wall(turn, left) => {
                // One that is not heard ends the runner early, and its turn is taken up again with what it has kept.
                if let Err(fault) = self.supervisor.send(crate::launch::wall_frame(turn, left), &[]) {
                    tracing::warn!(%fault, "agentd does not take a wall clock");
                }
            }
        }
    }

    async fn scan(&self, subject: &Subject, text: &Text<SCAN_BOUND>) -> Option<Verdict> {
        let asked = self.scanner.call(&scanner::method::scan, |scanner, context| {
            let (subject, text) = (subject.clone(), text.clone());
            async move { scanner.scan(context, subject, text).await }
        });
        let verdict = asked.await;
        if let Err(fault) = &verdict {
            tracing::warn!(%fault, "not scanned; the message waits");
        }
        verdict.ok()
    }
}
