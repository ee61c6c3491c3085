//! Groups of system calls, by name, each with its reason. A row names the groups it needs; what is in none of them is
//! refused, and agentd hears of it. One list for all builds: debug and release have the same filters.
//!
//! Conditions are on numbers alone: a filter sees no memory, so what a call finds behind a pointer is never judged
//! here, and a call whose meaning stands there (`clone3`, `openat2`) is granted to nobody.

mod actors;
mod condition;
mod jailed;
mod programs;
mod refused;

pub use actors::{
    ACCEPT, BASE, DATABASE, DIAL, DIALLED, FILES, FLUSH, HTTP, LENGTH, LINKS, LIST, MODES, NODELAY, OPEN,
    PASS, PEER, READ, RECORD, REPLACE,
};
pub use condition::Condition;
pub use jailed::{LOOPBACK, TERMINAL};
pub use programs::{CHILDREN, CODE, DESCRIPTORS, OLDER, PAIRS, SELF, SIGNALS, TIMES, TREE};
pub use refused::{CLONE_NEW, QUIET, QUIET_APART, QUIET_BROWSER, Quiet, RUNNER_KILLS, RUNNER_REFUSES};

use crate::{Process, Row};

/// One system call that is allowed.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The kernel's name of it.
    pub name: &'static str,
    /// Conditions on its arguments: any of these alternatives suffices; an empty slice allows all.
    pub when: &'static [&'static [When]],
    /// Why its arguments are bound; empty where they are not.
    pub why: &'static str,
    /// When it is needed, where an ordinary day of the host may go by without it; `None` where it may not.
    pub rare: Option<Condition>,
}

/// One condition on one argument. All of an alternative must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct When {
    /// The argument's index, from 0.
    pub argument: u8,
    /// How much of it the kernel reads.
    pub width: Width,
    /// The condition that the value must meet.
    pub is: Is,
}

/// How much of an argument the kernel reads. A filter that looks at less than the kernel does can be passed by what it
/// does not see; one that looks at more refuses what the kernel would take for the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// The low 32 bits: its type is `int`, `unsigned int`, `pid_t`, `umode_t`.
    Half,
    /// All 64: `long`, `size_t`, a pointer.
    Whole,
}

/// A condition on an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Is {
    /// Equal to this value.
    Equal(u64),
    /// None of these bits is set.
    Without(u64),
    /// The bits selected by the first mask equal the second value.
    Bits(u64, u64),
    /// The pid of the process that is sealed.
    OwnPid,
}

/// Calls that belong together and why they are needed.
#[derive(Debug)]
pub struct Group {
    /// Its name in `agentctl manifest`.
    pub name: &'static str,
    /// The reason.
    pub why: &'static str,
    /// The calls.
    pub calls: &'static [Call],
}

impl Call {
    /// The same, marked as needed only where this holds.
    #[must_use]
    pub const fn rare(mut self, when: Condition) -> Self {
        self.rare = Some(when);
        self
    }

    /// Returns whether these arguments are allowed to the process `own`.
    #[must_use]
    pub fn takes(&self, arguments: &[u64; 6], own: u32) -> bool {
        self.when.is_empty() || self.alternative(arguments, own).is_some()
    }

    /// The first alternative that allows these arguments.
    #[must_use]
    pub fn alternative(&self, arguments: &[u64; 6], own: u32) -> Option<usize> {
        self.when.iter().position(|all| all.iter().all(|when| when.holds(arguments, own)))
    }
}

impl When {
    /// Returns whether it holds of these arguments for the process `own`.
    #[must_use]
    pub fn holds(&self, arguments: &[u64; 6], own: u32) -> bool {
        let Some(value) = arguments.get(usize::from(self.argument)) else { return false };
        let mask = if self.width == Width::Half { u64::from(u32::MAX) } else { u64::MAX };
        let value = value & mask;
        match self.is {
            Is::Equal(expected) => value == expected & mask,
            Is::Without(bits) => value & bits & mask == 0,
            Is::Bits(of, set) => value & of & mask == set & mask,
            Is::OwnPid => value == u64::from(own),
        }
    }
}

/// The calls of a row's groups that have this name.
pub fn calls(row: &'static Row, name: &str) -> impl Iterator<Item = &'static Call> {
    row.syscalls.iter().flat_map(|group| group.calls).filter(move |call| call.name == name)
}

/// Returns whether the row allows this call with these arguments to the process `own`.
#[must_use]
pub fn allows(row: &'static Row, name: &str, arguments: &[u64; 6], own: u32) -> bool {
    calls(row, name).any(|call| call.takes(arguments, own))
}

/// The consequence of a call that the process's row does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is killed.
    Kill,
    /// The call fails with this errno.
    Errno(u32),
}

/// The consequence for a process of this row of a call that the row does not allow. Any such call kills an actor,
/// which has no use for one. A known attack on the jail kills a runner's process; every other call returns an errno
/// that ordinary programs know how to handle.
#[must_use]
pub fn fate(row: &'static Row, name: &str) -> Fate {
    if !row.process.is_runner() || RUNNER_KILLS.contains(&name) {
        return Fate::Kill;
    }
    if let Some((_, errno)) = RUNNER_REFUSES.iter().find(|(refused, _)| *refused == name) {
        return Fate::Errno(*errno);
    }
    // A call that is there, with arguments that are not allowed; or one that might as well not be there.
    Fate::Errno(if calls(row, name).next().is_some() { refused::EPERM } else { refused::ENOSYS })
}

/// Calls that the kernel refuses to programs of this row without notifying agentd; empty where the row is no runner's.
pub fn quiets(row: &Row) -> impl Iterator<Item = &'static Quiet> + Clone + use<> {
    let (all, sockets, own) = match row.process {
        Process::Runner => (QUIET, refused::QUIET_SOCKETS, &[][..]),
        Process::AgentRunner | Process::NetRunner | Process::McpRunner => (QUIET, QUIET_APART, &[][..]),
        Process::BrowserRunner => (QUIET, QUIET_APART, QUIET_BROWSER),
        _ => (&[][..], &[][..], &[][..]),
    };
    all.iter().chain(sockets).chain(own)
}

/// Returns whether the kernel answers this call of a runner's program by itself, and with which errno.
#[must_use]
pub fn quiet(row: &Row, name: &str, arguments: &[u64; 6]) -> Option<u32> {
    let holds = |quiet: &&Quiet| {
        quiet.name == name
            && (quiet.when.is_empty() || quiet.when.iter().any(|when| when.holds(arguments, 0)))
    };
    quiets(row).find(holds).map(|quiet| quiet.errno)
}

const fn any(name: &'static str) -> Call {
    Call { name, when: &[], why: "", rare: None }
}

const fn only(name: &'static str, when: &'static [&'static [When]], why: &'static str) -> Call {
    Call { name, when, why, rare: None }
}

const fn equal(argument: u8, value: u64) -> When {
    When { argument, width: Width::Half, is: Is::Equal(value) }
}

const fn without(argument: u8, bits: u64) -> When {
    When { argument, width: Width::Half, is: Is::Without(bits) }
}

const fn bits(argument: u8, of: u64, set: u64) -> When {
    When { argument, width: Width::Half, is: Is::Bits(of, set) }
}

const fn own_pid(argument: u8) -> When {
    When { argument, width: Width::Half, is: Is::OwnPid }
}

/// The same, of all 64 bits.
const fn whole(when: When) -> When {
    When { argument: when.argument, width: Width::Whole, is: when.is }
}

/// `MSG_FASTOPEN`, `linux/socket.h`: connects and sends at once, past landlock's rules for TCP.
const FASTOPEN: u64 = 0x2000_0000;
/// `S_ISUID` and `S_ISGID`.
const SETUID: u64 = 0o6000;
