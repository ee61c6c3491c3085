//! seccomp: the row's groups as filters. What a row does not list is stopped and told to agentd, which answers it or
//! ends the process; a process that nobody watches is ended, or answered, by the kernel.
//!
//! The listener comes with the first filter and is handed over by a `sendmsg` that this filter lets through and the last
//! one takes away, together with `seccomp` itself: of several filters the kernel takes the strictest answer. A closed
//! listener, as after agentd's end, makes every such call fail with ENOSYS: nothing is ever let through by its absence.

use crate::syscall_numbers::{Known, number};
use crate::tree::{self, Before};
use manifest::Row;
use manifest::syscalls::{self, Call, Is, RUNNER_KILLS, RUNNER_REFUSES, When, Width};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule, TargetArch,
};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Why a filter could not be made or applied.
#[derive(Debug, thiserror::Error)]
pub enum SeccompFault {
    /// The table names a call that no kernel has.
    #[error("the table names an unknown system call `{0}`")]
    UnknownCall(&'static str),
    /// A filter could not be built.
    #[error("a seccomp filter cannot be built: {0}")]
    Build(#[from] seccompiler::BackendError),
    /// The kernel did not take it.
    #[error("the kernel refuses the seccomp filter: {0}")]
    Apply(io::Error),
    /// agentd did not take the listener.
    #[error("the listener cannot be handed to agentd: {0}")]
    HandOver(io::Error),
    /// This machine's architecture has no filter.
    #[error("no seccomp filter for this architecture")]
    Architecture,
}

const ALLOW: SeccompAction = SeccompAction::Allow;
const KILL: SeccompAction = SeccompAction::KillProcess;
/// What stands in a program for telling agentd, which seccompiler has no word for.
const TOLD: SeccompAction = SeccompAction::Trace(0x0c04);

const fn refusal(errno: u32) -> SeccompAction {
    SeccompAction::Errno(errno)
}

/// What the filter with the listener tells agentd of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tells {
    /// Of what the row does not allow.
    Refusals,
    /// Of every call, for the tests that look for rules which nothing needs.
    #[cfg(debug_assertions)]
    Everything,
}

/// The filters of a process that agentd watches.
pub(crate) struct Watched {
    listening: BpfProgram,
    last: BpfProgram,
}

/// Flags of the one `sendmsg` that hands the listener over: what [`crate::passing::send`] sets, and one bit that a Unix
/// socket does not look at, so that the last filter can take away this call and no other.
pub(crate) const HAND_OVER: libc::c_int = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL | libc::MSG_CONFIRM;

/// The filters of a row for a process that agentd watches.
pub(crate) fn watched(row: &Row, tells: Tells) -> Result<Watched, SeccompFault> {
    let mut allowed = match tells {
        Tells::Refusals => allowed(row)?,
        #[cfg(debug_assertions)]
        Tells::Everything => Rules::new(),
    };
    let hand_over = rule(&[equal(2, HAND_OVER as u64)])?;
    allowed.insert(libc::SYS_seccomp, vec![]);
    match allowed.get_mut(&libc::SYS_sendmsg) {
        None => drop(allowed.insert(libc::SYS_sendmsg, vec![hand_over.clone()])),
        Some(rules) if rules.is_empty() => {}
        Some(rules) => rules.push(hand_over.clone()),
    }
    let gone = Rules::from([(libc::SYS_seccomp, vec![]), (libc::SYS_sendmsg, vec![hand_over])]);
    let answer = if row.process.is_runner() { refusal(libc::ENOSYS as u32) } else { KILL };
    Ok(Watched {
        listening: told(program(allowed, quietly(row)?, &TOLD, &ALLOW)?),
        last: program(gone, Before::new(), &ALLOW, &answer)?,
    })
}

impl Watched {
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
pub(crate) fn unwatched(row: &Row) -> Result<Vec<BpfProgram>, SeccompFault> {
    if !row.process.is_runner() {
        return Ok(vec![program(allowed(row)?, Before::new(), &KILL, &ALLOW)?]);
    }
    let bound = allowed(row)?;
    let mut listed: Rules = bound.keys().map(|number| (*number, vec![])).collect();
    let mut filters = vec![killing()?];
    for errno in errnos(RUNNER_REFUSES.iter().map(|(_, errno)| *errno)) {
        filters.push(refusing(row, errno, &mut listed)?);
    }
    // A call that is listed, with arguments that are not: every other number passes here.
    let mut others: Rules = crate::syscall_numbers::all().map(|number| (number, vec![])).collect();
    others.extend(bound);
    filters.push(program(others, Before::new(), &refusal(libc::EPERM as u32), &ALLOW)?);
    // Last, so that the errno of what it does not list is its own; `seccomp` is one of those.
    filters.push(program(listed, Before::new(), &refusal(libc::ENOSYS as u32), &ALLOW)?);
    Ok(filters)
}

/// Applies them to this thread, which is the only one.
pub(crate) fn apply(filters: &[BpfProgram]) -> Result<(), SeccompFault> {
    filters.iter().try_for_each(|filter| install(filter, 0).map(drop).map_err(SeccompFault::Apply))
}

/// Installs one filter. no_new_privs is set already; seccompiler would set it again, which a filter before this one
/// need not allow.
fn install(filter: &BpfProgram, flags: libc::c_ulong) -> io::Result<RawFd> {
    let length = u16::try_from(filter.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let program =
        libc::sock_fprog { len: length, filter: filter.as_ptr().cast::<libc::sock_filter>().cast_mut() };
    // SAFETY: the program and its instructions, which have the kernel's layout, are valid for the call and only read.
    let answer =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program) };
    crate::sys::check(answer).map(|raw| raw as RawFd)
}

/// Puts telling agentd where [`TOLD`] stands.
fn told(mut program: BpfProgram) -> BpfProgram {
    let placeholder = u32::from(TOLD);
    for instruction in &mut program {
        if u32::from(instruction.code) == libc::BPF_RET | libc::BPF_K && instruction.k == placeholder {
            instruction.k = libc::SECCOMP_RET_USER_NOTIF;
        }
    }
    program
}

fn program(
    rules: Rules,
    before: Before,
    otherwise: &SeccompAction,
    listed: &SeccompAction,
) -> Result<BpfProgram, SeccompFault> {
    let architecture =
        TargetArch::try_from(std::env::consts::ARCH).map_err(|_| SeccompFault::Architecture)?;
    Ok(tree::compile(rules, before, otherwise, listed, architecture)?)
}

fn allowed(row: &Row) -> Result<Rules, SeccompFault> {
    let mut rules = Rules::new();
    for call in row.syscalls.iter().flat_map(|group| group.calls) {
        allow(&mut rules, call)?;
    }
    Ok(rules)
}

/// A call listed twice with conditions is allowed if any holds; listed once without any, always.
fn allow(rules: &mut Rules, call: &Call) -> Result<(), SeccompFault> {
    let Some(number) = numbered(call.name)? else { return Ok(()) };
    let alternatives = call.when.iter().map(|all| rule(all)).collect::<Result<Vec<_>, _>>()?;
    match rules.get_mut(&number) {
        None => drop(rules.insert(number, alternatives)),
        Some(known) if known.is_empty() => {}
        Some(known) if alternatives.is_empty() => known.clear(),
        Some(known) => known.extend(alternatives),
    }
    Ok(())
}

fn equal(argument: u8, value: u64) -> When {
    When { argument, width: Width::Half, is: Is::Equal(value) }
}

fn rule(all: &[When]) -> Result<SeccompRule, SeccompFault> {
    let conditions = all.iter().map(condition).collect::<Result<Vec<_>, _>>()?;
    Ok(SeccompRule::new(conditions)?)
}

fn condition(when: &When) -> Result<SeccompCondition, SeccompFault> {
    let (operator, value) = match when.is {
        Is::Equal(value) => (SeccompCmpOp::Eq, value),
        Is::Without(bits) => (SeccompCmpOp::MaskedEq(bits), 0),
        Is::Bits(of, set) => (SeccompCmpOp::MaskedEq(of), set),
        Is::OwnPid => (SeccompCmpOp::Eq, std::process::id().into()),
    };
    let width = match when.width {
        Width::Half => SeccompCmpArgLen::Dword,
        Width::Whole => SeccompCmpArgLen::Qword,
    };
    Ok(SeccompCondition::new(when.argument, width, operator, value)?)
}

fn killing() -> Result<BpfProgram, SeccompFault> {
    let mut rules = Rules::new();
    for name in RUNNER_KILLS {
        rules.extend(numbered(name)?.map(|number| (number, vec![])));
    }
    program(rules, Before::new(), &ALLOW, &KILL)
}

fn errnos(all: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut errnos: Vec<u32> = all.collect();
    errnos.sort_unstable();
    errnos.dedup();
    errnos
}

/// One filter for all calls refused with this errno; the last filter lets them pass to it. Not `seccomp`, with which
/// that one is yet to be made.
/// A call that the row has rules for is refused where they do not hold.
fn refusing(row: &Row, errno: u32, listed: &mut Rules) -> Result<BpfProgram, SeccompFault> {
    let (bound, mut rules) = (allowed(row)?, Rules::new());
    let refused = RUNNER_REFUSES.iter().filter(|(name, its)| *its == errno && *name != "seccomp");
    for (name, _) in refused {
        if let Some(number) = numbered(name)?.filter(|number| !bound.contains_key(number)) {
            rules.insert(number, vec![]);
            listed.insert(number, vec![]);
        }
    }
    program(rules, Before::new(), &ALLOW, &refusal(errno))
}

/// What is refused with an errno and not told.
fn quietly(row: &Row) -> Result<Before, SeccompFault> {
    let mut before = Before::new();
    for quiet in syscalls::quiets(row).filter(|quiet| quiet.name != "seccomp") {
        let when =
            quiet.when.iter().map(|when| rule(std::slice::from_ref(when))).collect::<Result<Vec<_>, _>>()?;
        before.extend(numbered(quiet.name)?.map(|number| (number, (when, refusal(quiet.errno)))));
    }
    Ok(before)
}

fn numbered(name: &'static str) -> Result<Option<i64>, SeccompFault> {
    match number(name) {
        Known::Number(number) => Ok(Some(number)),
        Known::NotHere => Ok(None),
        Known::Nobody => Err(SeccompFault::UnknownCall(name)),
    }
}
