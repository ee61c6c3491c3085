//! The behaviour of the canned host, and the calls that it received.

use crate::recalled::MemoryCall;
use ipc_proto::PROTOCOL_VERSION;
use ipc_proto::api::Presented;
use ipc_proto::approval::{ApprovalView, Reply};
use ipc_proto::audit::Late;
use ipc_proto::config::UserRole;
use ipc_proto::control::{Answer, Ask, ControlError};
use ipc_proto::credproxy::{Binding, Lease};
use ipc_proto::ids::{ApprovalId, MemoryId, WorkspaceId};
use ipc_proto::router::{Steer, TurnEvent};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;

/// The behaviour of the host, and the calls that it received.
#[derive(Default)]
pub(crate) struct State {
    /// The protocol version it claims, if not ours.
    pub(crate) version: Option<u32>,
    /// Events of the one turn.
    pub(crate) events: Vec<TurnEvent>,
    /// Event numbers at which following breaks the connection, once each.
    pub(crate) cuts: BTreeSet<u64>,
    /// The number of times that `follow` finds nothing new at first.
    pub(crate) silences: usize,
    /// The first so many submits break the connection after they were taken.
    pub(crate) cut_submits: usize,
    /// The error that every command is answered with, if there is one.
    pub(crate) refuse: Option<ControlError>,
    /// Pids to list as running processes.
    pub(crate) processes: Vec<(&'static str, u32)>,
    /// The state directory.
    pub(crate) state_dir: String,
    /// The configuration file.
    pub(crate) config: String,
    /// How often the process `router` was started.
    pub(crate) generation: u64,
    /// `restart` breaks the connection after it took effect.
    pub(crate) cut_restart: bool,
    /// Entries of the record.
    pub(crate) records: u64,
    /// The record is broken.
    pub(crate) broken: bool,
    /// Entries of the record that wait too long for a signature.
    pub(crate) late: Option<Late>,
    /// The answer to attaching, if not 0.
    pub(crate) attach: u8,
    // The calls that were received.
    pub(crate) asks: Vec<Ask>,
    /// The steering messages.
    pub(crate) said: Vec<Steer>,
    pub(crate) follows: Vec<u64>,
    pub(crate) cancelled: usize,
    pub(crate) restarts: usize,
    pub(crate) ended: Vec<String>,
    pub(crate) removed: Vec<WorkspaceId>,
    pub(crate) secrets: Vec<(String, Binding, Lease, Vec<u8>)>,
    /// Other values that were sealed to credproxy.
    pub(crate) parcels: Vec<Vec<u8>>,
    pub(crate) directories: Vec<u64>,
    /// The value that the client of a new key will present.
    pub(crate) presented: Option<Presented>,
    pub(crate) added: Vec<(MemoryId, String, Vec<String>)>,
    /// The calls to memory.
    pub(crate) memories: Vec<MemoryCall>,
    /// Rows that a forgetting takes, and how often more are left; one row if not said.
    pub(crate) forgets: Option<(u32, u32)>,
    /// Approvals there are.
    pub(crate) approvals: Vec<ApprovalView>,
    pub(crate) answers: Vec<(ApprovalId, [u8; 32], Reply)>,
    pub(crate) revoked: Vec<ApprovalId>,
    /// The role of whoever asks, if not owner.
    pub(crate) role: Option<UserRole>,
    /// A difference that is reported is refused.
    pub(crate) refuse_drift: bool,
    pub(crate) drifts: Vec<(String, u16)>,
    /// The row and act that are not refused.
    pub(crate) weak: Option<(String, String)>,
    /// Runs of probes that were reported: acts, surprises.
    pub(crate) probed: Vec<(u32, u32)>,
    pub(crate) requeued: Vec<Option<String>>,
    pub(crate) pauses: Vec<(Option<String>, bool)>,
    pub(crate) stops: Vec<Option<String>>,
    pub(crate) queries: usize,
    /// The first entry that such a query began with.
    pub(crate) least_asked: Option<u64>,
    /// Entries of one answer to it; 2 unless said.
    pub(crate) page: Option<usize>,
}

/// The canned host.
#[derive(Clone, Default)]
pub(crate) struct Canned {
    state: Arc<Mutex<State>>,
    /// Breaks every connection.
    pub(crate) cut: Arc<Notify>,
    /// Says that what it does was changed.
    pub(crate) changed: Arc<Notify>,
}

impl State {
    /// Takes down that somebody follows from here; whether that is cut off, and whether nothing new is told.
    pub(crate) fn followed(&mut self, from: u64) -> (bool, bool) {
        self.follows.push(from);
        let silent = self.silences > 0;
        self.silences = self.silences.saturating_sub(1);
        (self.cuts.remove(&from), silent)
    }
}

impl Canned {
    /// A host whose one turn has these events.
    pub(crate) fn with(events: Vec<TurnEvent>) -> Self {
        let canned = Self::default();
        canned.set(|state| state.events = events);
        canned
    }

    /// Changes what it does.
    pub(crate) fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap());
        self.changed.notify_waiters();
    }

    /// Looks at what was asked.
    pub(crate) fn get<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.state.lock().unwrap())
    }

    pub(crate) fn version(&self) -> u32 {
        self.get(|state| state.version).unwrap_or(PROTOCOL_VERSION)
    }

    /// Takes a directory.
    pub(crate) fn attached(&self, about: &std::fs::Metadata) -> Vec<u8> {
        use std::os::unix::fs::MetadataExt;
        assert!(about.is_dir());
        self.set(|state| state.directories.push(about.ino()));
        match self.get(|state| state.attach) {
            0 => [&[0][..], &crate::host::ATTACHED_ID.bytes()].concat(),
            refusal => [&[refusal][..], &[0; 16]].concat(),
        }
    }

    /// The answer to every command.
    pub(crate) fn guard(&self) -> Answer<()> {
        self.get(|state| state.refuse.clone()).map_or(Ok(()), Err)
    }

    /// Breaks the connection, and never answers.
    pub(crate) async fn break_off(&self) -> ! {
        self.cut.notify_waiters();
        loop {
            std::future::pending::<()>().await;
        }
    }
}
