//! The catalogue of acts that a process must not be able to perform. `agentctl redteam` tries each from inside every
//! jail and compares the outcome with the one that the row expects. Pure data; `confine` performs an act, in the jail
//! and nowhere else.
//!
//! The permissions follow from the row itself. An act stands here once, beside the right that makes it harmless to a
//! row: when a grant is removed from a row, the expected outcome changes from `contained` to refused.

mod list;

pub use list::ACTS;

use crate::command::{Ended, Mode};
use crate::process::Process;
use crate::row::{Access, Network, Place, Row};

/// One act. Its number is its place in [`ACTS`].
#[derive(Debug)]
pub struct Act {
    /// The act's identifier for people and programs.
    pub id: &'static str,
    /// A short description of the attempt.
    pub tries: &'static str,
    /// When it is tried.
    pub moment: Moment,
    /// By whom.
    pub whom: Whom,
    /// Rights by which a row may succeed, and why that gives nothing away.
    pub contained: &'static [(Right, &'static str)],
}

/// The layers that stand when an act is tried: a later layer must not hide that an earlier one is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// In the jail, not sealed yet: ids, capability sets and no_new_privs alone.
    Jailed,
    /// The same, and namespaces: left out in mode flat, which has none.
    Apart,
    /// Sealed: landlock and seccomp as well.
    Sealed,
}

/// The processes that try an act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whom {
    /// Every row.
    All,
    /// Every row but the runner's.
    Actors,
    /// The runner.
    Runner,
}

/// The right that makes an act harmless to the processes that have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// Its row lists this system call, whatever the arguments.
    Call(&'static str),
    /// Its row has the network of the host.
    Client,
    /// Its row opens its own folder for writing.
    OwnFolder,
    /// It is a runner, whose tools are ordinary programs.
    Programs,
    /// It is a runner in mode flat.
    Flat,
    /// Its row has a loopback of its own, and a terminal.
    Loopback,
}

/// The expected outcome of an act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// The kernel refuses it with an errno, or ends the process.
    Refused,
    /// It may succeed, and this is why that is no harm.
    Contained(&'static str),
}

/// The observed outcome of an act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The kernel refused it with this errno.
    Refused(u8),
    /// It was ended by this signal.
    Killed(u8),
    /// It succeeded.
    Succeeded,
    /// This kernel has nothing that could be tried.
    NotHere,
    /// It could not be made ready, or its process could not be sealed.
    Unprepared,
    /// Its process did not end in time, and was ended.
    TimedOut,
    /// Its process could not be launched; an errno.
    NotLaunched(u8),
}

/// Exit statuses of a process that performs acts. What is below [`status::SUCCEEDED`] and not 0 is the errno by which
/// the last of them was refused.
pub mod status {
    /// The first of several acts succeeded; one more for each after it. 0 says the same of a program that took its place.
    pub const SUCCEEDED: u8 = 200;
    /// This kernel has nothing that could be tried.
    pub const NOT_HERE: u8 = 250;
    /// An act could not be made ready.
    pub const UNPREPARED: u8 = 251;
    /// The process could not be sealed.
    pub const NOT_SEALED: u8 = 252;
}

/// Most acts that one process performs, one after another.
pub const AT_ONCE: usize = 4;

/// Signals by which the kernel, or agentd for it, ends who does what it must not: kill, and those of seccomp, of the
/// largest file and of the time on the CPU.
const ENDS: &[u8] = &[9, 24, 25, 31];

impl Act {
    /// The act of this name, and its number.
    #[must_use]
    pub fn named(id: &str) -> Option<(u16, &'static Self)> {
        (0..).zip(ACTS).find(|(_, act)| act.id == id)
    }

    /// The act of this number.
    #[must_use]
    pub fn numbered(number: u16) -> Option<&'static Self> {
        ACTS.get(usize::from(number))
    }

    /// The expected outcome when `row` tries it in this mode; `None` where it is not tried.
    #[must_use]
    pub fn expected(&self, row: &Row, mode: Mode) -> Option<Expected> {
        let runner = row.process.is_runner();
        let asked = match self.whom {
            Whom::All => true,
            Whom::Actors => !runner,
            Whom::Runner => runner,
        };
        let apart = self.moment == Moment::Apart || row.network == Network::Loopback;
        if !asked || (apart && mode == Mode::Flat) {
            return None;
        }
        let held = self.contained.iter().find(|(right, _)| right.is_held(row, mode));
        Some(held.map_or(Expected::Refused, |(_, why)| Expected::Contained(why)))
    }
}

impl Right {
    fn is_held(self, row: &Row, mode: Mode) -> bool {
        let runner = row.process.is_runner();
        match self {
            Self::Call(name) => {
                row.syscalls.iter().any(|group| group.calls.iter().any(|call| call.name == name))
            }
            Self::Client => row.network == Network::Client,
            Self::Loopback => row.network == Network::Loopback,
            Self::OwnFolder => {
                row.opens.iter().any(|open| open.place == Place::Own && open.access == Access::Write)
            }
            Self::Programs => runner,
            Self::Flat => runner && mode == Mode::Flat,
        }
    }
}

impl Seen {
    /// The outcome, read from the end of the process that tried it.
    #[must_use]
    pub fn of(ended: Ended, code: u64) -> Self {
        let code = u8::try_from(code).unwrap_or(u8::MAX);
        match ended {
            Ended::Killed => Self::Killed(code),
            Ended::TimedOut => Self::TimedOut,
            Ended::Exited => match code {
                0 => Self::Succeeded,
                1..status::SUCCEEDED => Self::Refused(code),
                status::NOT_HERE => Self::NotHere,
                status::UNPREPARED.. => Self::Unprepared,
                _ => Self::Succeeded,
            },
            _ => Self::NotLaunched(code),
        }
    }

    /// Returns whether it is what was expected. What this kernel has not got is no surprise; an act that was not tried is one,
    /// since it proves nothing.
    #[must_use]
    pub fn fits(self, expected: Expected) -> bool {
        match self {
            Self::NotHere | Self::Refused(_) => true,
            Self::Killed(signal) => ENDS.contains(&signal),
            Self::Succeeded => matches!(expected, Expected::Contained(_)),
            Self::Unprepared | Self::TimedOut | Self::NotLaunched(_) => false,
        }
    }
}

/// The acts of the check that the host makes of itself before it serves a runner, in this order and in one process: the
/// fewest that tell whether ids, namespaces, landlock and seccomp hold. All are refused to every row in every mode, and
/// one that ends the process is the last of its kind.
#[must_use]
pub const fn self_check(process: Process) -> &'static [&'static str] {
    match process {
        Process::Runner => &["chroot-jailed", "tcp-connect-apart", "shadow", "call-ptrace"],
        // These connect to their own loopback only.
        Process::AgentRunner | Process::NetRunner | Process::McpRunner | Process::BrowserRunner => {
            &["chroot-jailed", "mount-apart", "shadow", "call-ptrace"]
        }
        _ => &["chroot-jailed", "peer-trace-jailed", "shadow", "call-keyctl"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TABLE;

    const MODES: [Mode; 3] = [Mode::System, Mode::User, Mode::Flat];

    #[test]
    fn every_act_has_a_name_of_its_own_and_says_what_it_tries() {
        for (at, act) in ACTS.iter().enumerate() {
            assert!(ACTS.iter().skip(at + 1).all(|other| other.id != act.id), "{}", act.id);
            assert!(!act.tries.is_empty() && act.id.len() <= 32, "{}", act.id);
            assert!(
                act.id.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
            );
            let (number, found) = Act::named(act.id).unwrap();
            assert_eq!((usize::from(number), found.id), (at, act.id));
        }
    }

    #[test]
    fn every_act_is_tried_by_somebody_and_refused_to_somebody() {
        for act in ACTS {
            let all = || TABLE.iter().flat_map(|row| MODES.map(|mode| act.expected(row, mode)));
            assert!(all().flatten().count() > 0, "{}", act.id);
            let own = ["git-hook", "git-config", "fifo", "setuid-file", "many-filters"].contains(&act.id);
            assert_eq!(all().flatten().all(|it| it != Expected::Refused), own, "{}", act.id);
        }
    }

    // Holds P2-30.
    #[test]
    fn what_a_row_may_do_follows_from_the_row() {
        let expected = |id: &str, process: Process| {
            Act::named(id).unwrap().1.expected(crate::row(process).unwrap(), Mode::System)
        };
        let contained = |id: &str, process: Process| matches!(expected(id, process), Some(Expected::Contained(why)) if !why.is_empty());
        assert!(contained("tcp-connect", Process::Dialer) && contained("own-folder", Process::Audit));
        assert!(contained("exec-system", Process::Runner));
        assert_eq!(expected("tcp-connect", Process::Web), Some(Expected::Refused));
        assert_eq!(expected("own-folder", Process::Scanner), Some(Expected::Refused));
        assert_eq!(expected("exec-system", Process::Gate), Some(Expected::Refused));
        assert_eq!(expected("own-folder", Process::Runner), None);
    }

    #[test]
    fn the_self_check_is_of_acts_that_are_refused_to_every_row_in_every_mode() {
        for row in TABLE {
            let acts = self_check(row.process);
            assert!(!acts.is_empty() && acts.len() <= AT_ONCE);
            let moments: Vec<Moment> = acts.iter().map(|id| Act::named(id).unwrap().1.moment).collect();
            assert!(moments.is_sorted_by_key(|moment| *moment == Moment::Sealed), "{moments:?}");
            for (id, mode) in acts.iter().flat_map(|id| MODES.map(|mode| (id, mode))) {
                let expected = Act::named(id).unwrap().1.expected(row, mode);
                let skipped = row.network == Network::Client || mode == Mode::Flat;
                assert!(expected == Some(Expected::Refused) || (expected.is_none() && skipped), "{id}");
            }
        }
    }

    #[test]
    fn an_end_is_told_from_every_other() {
        let cases = [
            (Ended::Exited, 0, Seen::Succeeded, false),
            (Ended::Exited, 13, Seen::Refused(13), true),
            (Ended::Exited, 202, Seen::Succeeded, false),
            (Ended::Exited, 250, Seen::NotHere, true),
            (Ended::Exited, 251, Seen::Unprepared, false),
            (Ended::Exited, 252, Seen::Unprepared, false),
            (Ended::Killed, 31, Seen::Killed(31), true),
            (Ended::Killed, 11, Seen::Killed(11), false),
            (Ended::TimedOut, 9, Seen::TimedOut, false),
            (Ended::NotLaunched, 11, Seen::NotLaunched(11), false),
        ];
        for (ended, code, seen, fits) in cases {
            assert_eq!((Seen::of(ended, code), seen.fits(Expected::Refused)), (seen, fits));
        }
        assert!(
            Seen::Succeeded.fits(Expected::Contained("")) && !Seen::TimedOut.fits(Expected::Contained(""))
        );
    }
}
