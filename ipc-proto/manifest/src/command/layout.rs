//! The layout of the words of frames that have many.

/// Words of a [`crate::command::Kind::ProcessState`] frame.
pub mod state_words {
    /// [`crate::command::ProcessState`].
    pub const STATE: usize = 0;
    /// Pid, 0 when not running.
    pub const PID: usize = 1;
    /// Uid it runs as.
    pub const UID: usize = 2;
    /// Times started.
    pub const GENERATION: usize = 3;
    /// Restarts since the host started.
    pub const RESTARTS: usize = 4;
    /// When it was started, unix ms.
    pub const SINCE: usize = 5;
    /// First of the eight counters of its last [`crate::command::Kind::Heartbeat`].
    pub const COUNTERS: usize = 6;
}

/// Words of a [`crate::command::Kind::HostState`] frame about the host's check of itself.
pub mod check_words {
    /// [`crate::command::SelfCheck`].
    pub const STATE: usize = 6;
    /// How long it took, ms; of one that failed, the number of the row's process.
    pub const FACT: usize = 7;
    /// The number of the act, where a probe failed.
    pub const ACT: usize = 8;
    /// How the act's process ended ([`crate::command::Ended`]), where a probe failed.
    pub const ENDED: usize = 9;
    /// The code of that end, where a probe failed.
    pub const CODE: usize = 10;
}

/// Words of a [`crate::command::Kind::Violation`] frame.
pub mod violation_words {
    /// Turn id, two words; 0 for a process that is no runner.
    pub const TURN: usize = 0;
    /// Number of the system call; `u64::MAX` where a process was killed by its filter and no notice says by what.
    pub const NUMBER: usize = 2;
    /// Pid, as agentd sees it.
    pub const PID: usize = 3;
    /// The errno it heard; 0 if it was killed.
    pub const ERRNO: usize = 4;
    /// Its number among the violations of this start of the host, from 1.
    pub const SEQUENCE: usize = 5;
    /// When, unix ms.
    pub const AT: usize = 6;
    /// Acts before it that were refused and are not told one by one: agentd's queue was full, or a jail had used up what
    /// is told of it.
    pub const UNTOLD: usize = 7;
    /// The first three arguments.
    pub const ARGUMENTS: usize = 8;
    /// Id of the session whose turn it is, two words; 0 for a process that is no runner.
    pub const SESSION: usize = 12;
}
