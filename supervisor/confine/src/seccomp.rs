//! seccomp: the row's groups as filters. A call that a row does not list is stopped, and agentd is notified and refuses it or ends
//! the process; for a process that is not watched the kernel itself does so.
//!
//! The listener comes with the first filter. It is passed by a `sendmsg` that this filter allows and the last one refuses, together
//! with `seccomp` itself: of several filters the kernel takes the strictest answer. If the listener is closed, as after agentd's
//! end, every such call fails with ENOSYS: nothing is ever let through by its absence.

use crate::filters::{self, FilterFault, Tells, Watched};
use manifest::Row;
use seccompiler::BpfProgram;
use std::borrow::Cow;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// The reason why a filter could not be made or applied.
#[derive(Debug, thiserror::Error)]
pub enum SeccompFault {
    /// It could not be made.
    #[error(transparent)]
    Make(#[from] FilterFault),
    /// The kernel did not accept it.
    #[error("the kernel refuses the seccomp filter: {0}")]
    Apply(io::Error),
    /// agentd did not accept the listener.
    #[error("the listener cannot be handed to agentd: {0}")]
    HandOver(io::Error),
}

/// A program for the kernel: one instruction after the other.
type Program = Cow<'static, [libc::sock_filter]>;

/// The filters of a row that the build has made.
struct Made {
    /// The number of its process.
    process: u8,
    listening: &'static [libc::sock_filter],
    /// The positions of the process's own pid in it.
    own: &'static [usize],
    last: &'static [libc::sock_filter],
}

include!(concat!(env!("OUT_DIR"), "/filters.rs"));

/// The filters of a process that agentd watches.
pub(crate) struct Ready {
    listening: Program,
    last: Program,
}

/// The filters of a row for this process: made by the build, or now where it has made none.
pub(crate) fn watched(row: &Row, tells: Tells) -> Result<Ready, SeccompFault> {
    let own = std::process::id();
    let made = MADE.iter().find(|made| tells == Tells::Refusals && made.process == row.process.number());
    let Some(made) = made else {
        let Watched { listening, last } = filters::watched(row, tells, own)?;
        return Ok(Ready { listening: program(&listening), last: program(&last) });
    };
    let mut listening = Cow::Borrowed(made.listening);
    for at in made.own {
        if let Some(step) = listening.to_mut().get_mut(*at) {
            step.k = own;
        }
    }
    Ok(Ready { listening, last: Cow::Borrowed(made.last) })
}

/// Converts a program to the kernel's own type.
fn program(made: &BpfProgram) -> Program {
    let step = |step: &seccompiler::sock_filter| libc::sock_filter {
        code: step.code,
        jt: step.jt,
        jf: step.jf,
        k: step.k,
    };
    made.iter().map(step).collect()
}

impl Ready {
    /// Applies them to this thread, which is the only one. `hand_over` passes the listener to agentd; until it has, no call is made
    /// that the row does not list.
    pub(crate) fn apply(
        &self,
        hand_over: impl FnOnce(&OwnedFd) -> io::Result<()>,
    ) -> Result<(), SeccompFault> {
        let raw = install(&self.listening, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER);
        let raw = raw.map_err(SeccompFault::Apply)?;
        // SAFETY: the kernel has just made this descriptor for us, and nobody else owns it.
        let listener = unsafe { OwnedFd::from_raw_fd(raw) };
        hand_over(&listener).map_err(SeccompFault::HandOver)?;
        drop(listener);
        install(&self.last, 0).map(drop).map_err(SeccompFault::Apply)
    }
}

/// The filters of a row for a process that is not watched, in the order in which they are applied.
pub(crate) fn unwatched(row: &Row) -> Result<Vec<Program>, SeccompFault> {
    Ok(filters::unwatched(row, std::process::id())?.iter().map(program).collect())
}

/// Applies them to this thread, which is the only one.
pub(crate) fn apply(filters: &[Program]) -> Result<(), SeccompFault> {
    filters.iter().try_for_each(|filter| install(filter, 0).map(drop).map_err(SeccompFault::Apply))
}

/// Installs one filter. no_new_privs is set already; seccompiler would set it again, which an earlier filter may refuse.
pub(crate) fn install(filter: &[libc::sock_filter], flags: libc::c_ulong) -> io::Result<RawFd> {
    let length = u16::try_from(filter.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let program = libc::sock_fprog { len: length, filter: filter.as_ptr().cast_mut() };
    // SAFETY: the program and its instructions are valid for the call and only read.
    let answer =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program) };
    crate::sys::check(answer).map(|raw| raw as RawFd)
}

#[cfg(test)]
mod tests {
    use super::*;
    use manifest::TABLE;

    // Holds P2-11.
    #[test]
    fn the_built_filters_are_those_of_the_table_for_every_row_and_any_pid() {
        assert_eq!(MADE.len(), TABLE.len());
        for row in TABLE {
            let (made, now) = (watched(row, Tells::Refusals).unwrap(), std::process::id());
            let Watched { listening, last } = filters::watched(row, Tells::Refusals, now).unwrap();
            for (made, now) in [(made.listening, program(&listening)), (made.last, program(&last))] {
                let words = |program: &Program| {
                    program.iter().map(|it| (it.code, it.jt, it.jf, it.k)).collect::<Vec<_>>()
                };
                assert_eq!(words(&made), words(&now), "{}", row.process.name());
            }
        }
    }
}
