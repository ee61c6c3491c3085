//! The state of the whole host. Each part owns its data, and is given what it needs of another part; no part knows the host. The
//! modules above this one combine them.

use crate::attachments::Attachments;
use crate::clock::ClockOffset;
use crate::configure::Configuration;
use crate::disk::Disk;
use crate::freeze::Freeze;
use crate::jails::Jails;
use crate::listeners::Listeners;
use crate::logs::Logs;
use crate::notify::Notify;
use crate::orphans::Orphans;
use crate::probes::Probes;
use crate::processes::Processes;
use crate::record_id::RecordId;
use crate::removed::Removed;
use crate::runners::Runners;
use crate::self_test::SelfTest;
use crate::vault::Vault;
use crate::violations::Violations;
use crate::watch::Watch;
use manifest::Process as Name;
use manifest::command::{Failure, HostState, RecordState};
use nix::sys::signalfd::SignalFd;
use std::fs::File;
use std::time::Instant;

/// The host.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) configuration: Configuration,
    pub(crate) jails: Jails,
    pub(crate) state: HostState,
    pub(crate) processes: Processes,
    pub(crate) runners: Runners,
    pub(crate) probes: Probes,
    pub(crate) self_test: SelfTest,
    pub(crate) attachments: Attachments,
    pub(crate) logs: Logs,
    pub(crate) disk: Disk,
    pub(crate) vault: Vault,
    /// The state of the record, as audit reported it last.
    pub(crate) record: RecordState,
    pub(crate) record_id: RecordId,
    pub(crate) clock: ClockOffset,
    pub(crate) notify: Notify,
    pub(crate) listeners: Listeners,
    pub(crate) signals: SignalFd,
    /// The uid of agentd outside of any user namespace.
    pub(crate) own_uid: u32,
    pub(crate) began_ms: u64,
    pub(crate) stop_asked: bool,
    pub(crate) freeze: Freeze,
    /// The time of the last look for silent processes.
    pub(crate) looked: Instant,
    pub(crate) watch: Watch,
    pub(crate) orphans: Orphans,
    pub(crate) removed: Removed,
    pub(crate) violations: Violations,
    #[cfg(debug_assertions)]
    pub(crate) recording: crate::recording::Recording,
    /// Debug builds: the fault point to arm in the first life of a process.
    pub(crate) fault: Option<(Name, u64)>,
    /// A process that failed before it was ever ready, and its reason.
    pub(crate) start_failed: Option<(Name, Option<Failure>)>,
    /// The lock of the state directory, held for as long as the host runs.
    pub(crate) _lock: nix::fcntl::Flock<File>,
}
