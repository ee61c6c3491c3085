//! seccomp: the row's groups as filters. What a row does not list is stopped and told to agentd, which answers it or
//! ends the process; a process that nobody watches is ended, or answered, by the kernel.
//!
//! The listener comes with the first filter and is handed over by a `sendmsg` that this filter lets through and the last
//! one takes away, together with `seccomp` itself: of several filters the kernel takes the strictest answer. A closed
//! listener, as after agentd's end, makes every such call fail with ENOSYS: nothing is ever let through by its absence.

use crate::filters::{self, FilterFault, Tells, Watched};
use manifest::Row;
use seccompiler::BpfProgram;
use std::borrow::Cow;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// Why a filter could not be made or applied.
#[derive(Debug, thiserror::Error)]
pub enum SeccompFault {
    /// It could not be made.
    #[error(transparent)]
    Make(#[from] FilterFault),
    /// The kernel did not take it.
    #[error("the kernel refuses the seccomp filter: {0}")]
    Apply(io::Error),
    /// agentd did not take the listener.
    #[error("the listener cannot be handed to agentd: {0}")]
    HandOver(io::Error),
}

/// What the kernel takes: one instruction after the other.
type Program = Cow<'static, [libc::sock_filter]>;

/// The filters of a row that a build has made.
struct Made {
    /// The number of its process.
    process: u8,
    listening: &'static [libc::sock_filter],
    /// Where the process's own pid stands in it.
    own: &'static [usize],
    last: &'static [libc::sock_filter],
}

include!(concat!(env!("OUT_DIR"), "/filters.rs"));

/// The filters of a process that agentd watches, as the kernel takes them.
pub(crate) struct Ready {
    listening: Program,
    last: Program,
}

/// Those of a row, for this process: what the build has made, or, where it has not, made now.
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

/// The same in the kernel's own type.
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
    /// Applies them to this thread, which is the only one. `hand_over` gives the listener to agentd; until it has, no
    /// call is made here that the row does not list.
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

/// The filters of a row for a process that nobody watches, in the order they are applied.
pub(crate) fn unwatched(row: &Row) -> Result<Vec<Program>, SeccompFault> {
    Ok(filters::unwatched(row, std::process::id())?.iter().map(program).collect())
}

/// Applies them to this thread, which is the only one.
pub(crate) fn apply(filters: &[Program]) -> Result<(), SeccompFault> {
    filters.iter().try_for_each(|filter| install(filter, 0).map(drop).map_err(SeccompFault::Apply))
}

/// Installs one filter. no_new_privs is set already; seccompiler would set it again, which a filter before this one
/// need not allow.
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
    fn what_the_build_has_made_is_what_is_made_of_the_table_for_every_row_and_any_pid() {
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
