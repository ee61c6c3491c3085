//! Performs effects at the peers, and sends their results to the actor.

use crate::actor::{Message, RouterHandle};
use crate::state::effects::{Effect, close_frame, deadline_frame, kill_frame, remove_frame};
use ipc_proto::credproxy::{self, CredError, CredproxyClient, Proof, Verdict};
use ipc_proto::scanner::{self, SCAN_BOUND, ScannerClient, Subject};
use ipc_proto::{Blob, Name, Text};
use kit::{Host, Link, Recorder, Supervisor};
use manifest::command::Ended;
use std::io::{self, ErrorKind};
use tokio::sync::mpsc::UnboundedReceiver;

/// Returns true if a command could not be sent because agentd has closed its end, which it does only by ending.
fn host_ends(fault: &io::Error) -> bool {
    matches!(
        fault.kind(),
        ErrorKind::BrokenPipe
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionRefused
            | ErrorKind::NotConnected
    )
}

/// The peers that perform effects.
#[derive(Clone)]
pub(crate) struct Peers {
    recorder: Recorder,
    scanner: Link<ScannerClient>,
    credproxy: Link<CredproxyClient>,
    supervisor: Supervisor,
}

impl Peers {
    pub(crate) fn of(host: &Host) -> Self {
        Self {
            recorder: host.recorder(),
            scanner: host.link(),
            credproxy: host.link(),
            supervisor: host.supervisor(),
        }
    }

    /// Performs effects as they come, side by side.
    pub(crate) async fn run(self, handle: RouterHandle, mut effects: UnboundedReceiver<Effect>) {
        while let Some(effect) = effects.recv().await {
            let (peers, handle) = (self.clone(), handle.clone());
            tokio::task::spawn_local(async move { peers.perform(&handle, effect).await });
        }
    }

    async fn perform(&self, handle: &RouterHandle, effect: Effect) {
        match effect {
            Effect::Record(event, then) => {
                let recorded = self.recorder.record(*event).await;
                if let Err(fault) = &recorded {
                    tracing::warn!(%fault, "not recorded; what depends on it waits");
                }
                handle.send(Message::Recorded(then, recorded.is_ok()));
            }
            Effect::Scan(subject, text, job) => {
                let verdict = self.scan(&subject, &text).await;
                handle.send(Message::Scanned(job, verdict));
            }
            Effect::Verify { account, secret, digits, then } => {
                let holds = self.verify(&account, &secret, &digits).await;
                handle.send(Message::Verified(then, holds));
            }
            Effect::Launch(launch) => {
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
                        handle.send(Message::RunnerEnded(launch.turn, Some(Ended::NotLaunched), errno));
                    }
                }
                kit::fault_point!("router.start.launched");
            }
            // A command that is lost is repeated by the next ticks.
            Effect::Kill(turn) => drop(self.supervisor.send(kill_frame(turn), &[])),
            // A command that is lost is repeated, as all are.
            Effect::RemoveWorkspace(workspace) => drop(self.supervisor.send(remove_frame(workspace), &[])),
            // A command that is lost leaves a directory open until the host ends.
            Effect::CloseDirectory(workspace) => drop(self.supervisor.send(close_frame(workspace), &[])),
            Effect::SetDeadline(turn, left) => {
                // A command that is lost ends the runner early, and its turn is retried with the steps that it has.
                if let Err(fault) = self.supervisor.send(deadline_frame(turn, left), &[]) {
                    tracing::warn!(%fault, "agentd does not take a deadline");
                }
            }
        }
    }

    /// Returns true if this is the current code of the account's secret; `None` if that could not be compared.
    async fn verify(&self, account: &Name, secret: &Name, digits: &str) -> Option<bool> {
        let given = Blob::new(digits.as_bytes().to_vec()).ok()?;
        let asked = self.credproxy.call(&credproxy::method::verify, |credproxy, context| {
            let (account, secret, given) = (account.clone(), secret.clone(), given.clone());
            let signed = Blob::default();
            async move { credproxy.verify(context, account, secret, Proof::Totp, signed, given).await }
        });
        match asked.await {
            Ok(Ok(verdict)) => Some(verdict == Verdict::Holds),
            Ok(Err(CredError::Full)) => Some(false),
            Ok(Err(error)) => {
                tracing::warn!(%error, "a code cannot be compared");
                None
            }
            Err(fault) => {
                tracing::warn!(%fault, "a code cannot be compared");
                None
            }
        }
    }

    async fn scan(&self, subject: &Subject, text: &Text<SCAN_BOUND>) -> Option<scanner::Verdict> {
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
