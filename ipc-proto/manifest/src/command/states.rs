//! States, answers and ends that frames carry as numbers. Numbers are the wire format: a number that was given out is
//! never used for something else.

/// Says if the record accepts entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u64)]
pub enum RecordState {
    /// It does.
    #[default]
    Whole = 0,
    /// The last write or flush failed: nothing has an effect until one succeeds.
    Unwritable = 1,
    /// The existing record does not verify: nothing is appended to it.
    Broken = 2,
    /// The existing record belongs to another host: nothing is appended to it.
    Foreign = 3,
}

/// The kind of a listener that agentd keeps and clients connect to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum ListenerKind {
    /// A Unix socket: who comes is known from the kernel.
    Unix = 0,
    /// TCP on loopback: who comes is known from what they present.
    Tcp = 1,
}

/// How a runner ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Ended {
    /// It exited; the code is the exit status.
    Exited = 0,
    /// A signal killed it; the code is the signal.
    Killed = 1,
    /// Its wall clock ran out.
    TimedOut = 2,
    /// It could not be launched; the code is an errno.
    NotLaunched = 3,
    /// The attached workspace is not known (the host was restarted since) or is not the caller's.
    NoWorkspace = 4,
    /// Its jail used more memory than it may, all of it together.
    Memory = 5,
    /// Its jail used up its CPU time.
    Cpu = 6,
    /// More processes ran in its jail than may, where the kernel counts no jail alone (mode flat).
    Processes = 7,
    /// The host serves no runner: what its own check tried in the jails was not refused.
    Unproven = 8,
    /// The host's mode has no network namespace, and so no loopback of a jail's own.
    NoLoopback = 9,
    /// Its jail took of the disk what the host keeps free.
    Disk = 10,
}

/// Why a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum EndCause {
    /// It ended by itself, or something other than agentd ended it.
    Itself = 0,
    /// An operator restarted it.
    Restarted = 1,
    /// An operator holds it.
    Held = 2,
    /// It sent no heartbeat for 10 s.
    Silent = 3,
    /// It sent an invalid frame, or a command that its row does not permit.
    Forbidden = 4,
    /// It made a system call that it may not make.
    SystemCall = 5,
    /// It did not finish in time when the host stopped.
    Late = 6,
}

/// Why a process ends by itself. Free text goes to its log, never here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Failure {
    /// Its configuration section was refused.
    Config = 1,
    /// A file it needs could not be opened.
    Open = 2,
    /// It could not be sealed.
    Seal = 3,
    /// A file in its own folder is not its own to use: another try finds the same.
    NotOwn = 4,
    /// The disk is full: another try may find room.
    NoRoom = 5,
}

/// The host's state as `agentctl status` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum HostState {
    /// Not every process is ready yet.
    Starting = 0,
    /// Every process is ready.
    Ready = 1,
    /// Some process is not.
    Degraded = 2,
    /// Going down.
    Stopping = 3,
}

/// A process's state as `agentctl status` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum ProcessState {
    /// Launched, not sealed yet.
    Starting = 0,
    /// Sealed and serving.
    Ready = 1,
    /// Waiting for its restart.
    Waiting = 2,
    /// Held, by an operator or after repeated failure.
    Held = 3,
    /// Stopped with the host.
    Stopped = 4,
}

/// How the host confines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Mode {
    /// Root: own uid per process and per runner slot, namespaces.
    System = 0,
    /// An ordinary user with user namespaces.
    User = 1,
    /// No namespaces: landlock, seccomp and the descriptor topology alone.
    Flat = 2,
}

impl Mode {
    /// Its name, as it is configured and shown.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Flat => "flat",
        }
    }
}

/// The mechanism that enforces the limits of a jail as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Holder {
    /// Limits of each process, and agentd's watch on the jail's sum.
    Watch = 0,
    /// A cgroup of version 2 for each jail.
    Cgroup = 1,
}

/// How far the check has come that the host makes of itself before it serves a runner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum SelfCheck {
    /// It is not over: runners wait.
    Pending = 0,
    /// Everything was refused as it must be.
    Passed = 1,
    /// Something was not, or could not be tried: no runner is served.
    Failed = 2,
}

/// How agentd answers control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Answer {
    /// Done.
    Ok = 0,
    /// No such process, or it cannot be restarted by hand.
    NoSuchProcess = 1,
    /// The directory is not the caller's.
    NotYours = 2,
    /// Not a directory.
    NotADirectory = 3,
    /// Too many are attached.
    Full = 4,
    /// Every process stands still already.
    Frozen = 5,
    /// Nothing stands still.
    NotFrozen = 6,
    /// Some process could not be brought to stand still; all go on.
    Restless = 7,
    /// The directory is in the host's own state, or has it in it.
    Hosts = 8,
    /// The directory did not answer in time.
    Stalled = 9,
    /// Its file system is answered for by another program or machine.
    Remote = 10,
    /// As many directories of this caller's, or of everybody's, are being looked at as may be: ask again.
    Busy = 11,
}

from_number!(RecordState: Whole, Unwritable, Broken, Foreign);
from_number!(ListenerKind: Unix, Tcp);
from_number!(Ended: Exited, Killed, TimedOut, NotLaunched, NoWorkspace, Memory, Cpu, Processes, Unproven, NoLoopback,
    Disk);
from_number!(EndCause: Itself, Restarted, Held, Silent, Forbidden, SystemCall, Late);
from_number!(Failure: Config, Open, Seal, NotOwn, NoRoom);
from_number!(HostState: Starting, Ready, Degraded, Stopping);
from_number!(ProcessState: Starting, Ready, Waiting, Held, Stopped);
from_number!(Mode: System, User, Flat);
from_number!(SelfCheck: Pending, Passed, Failed);
from_number!(Holder: Watch, Cgroup);
from_number!(Answer: Ok, NoSuchProcess, NotYours, NotADirectory, Full, Frozen, NotFrozen, Restless, Hosts, Stalled, Remote, Busy);
