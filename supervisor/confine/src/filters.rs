//! The filters of a row, as programs. The build makes the filters of processes that agentd watches ahead of time, from this very
//! file, so that no process spends its start on them; the others are made where they are needed.
//!
//! It reads only the table and asks the system nothing: its caller even passes the pid that some rules name.

use crate::syscall_numbers::{Known, number};
use crate::tree::{self, Before};
use manifest::Row;
use manifest::syscalls::{self, Call, Is, RUNNER_KILLS, RUNNER_REFUSES, When, Width};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule, TargetArch,
};
use std::collections::BTreeMap;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// The reason why a filter could not be made.
#[derive(Debug, thiserror::Error)]
pub enum FilterFault {
    /// The table names a call that no kernel has.
    #[error("the table names an unknown system call `{0}`")]
    UnknownCall(&'static str),
    /// A filter could not be built.
    #[error("a seccomp filter cannot be built: {0}")]
    Build(#[from] seccompiler::BackendError),
    /// This machine's architecture has no filter.
    #[error("no seccomp filter for this architecture")]
    Architecture,
}

const ALLOW: SeccompAction = SeccompAction::Allow;
const KILL: SeccompAction = SeccompAction::KillProcess;
/// Stands in a program for notifying agentd, which seccompiler cannot express.
const NOTIFY: SeccompAction = SeccompAction::Trace(0x0c04);

const fn refusal(errno: u32) -> SeccompAction {
    SeccompAction::Errno(errno)
}

/// The calls that the filter with the listener notifies agentd of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tells {
    /// Those that the row does not allow.
    Refusals,
    /// Every call, for the tests that look for rules which nothing needs.
    #[cfg(debug_assertions)]
    Everything,
}

/// The filters of a process that agentd watches.
pub(crate) struct Watched {
    pub(crate) listening: BpfProgram,
    pub(crate) last: BpfProgram,
}

/// Flags of the one `sendmsg` that passes the listener: those of `passing::send`, and one bit that a Unix socket ignores, so that
/// the last filter can refuse this call and no other.
pub(crate) const HAND_OVER: libc::c_int = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL | libc::MSG_CONFIRM;

/// The filters of a row for a process that agentd watches. `own` is its pid as it sees it itself.
pub(crate) fn watched(row: &Row, tells: Tells, own: u32) -> Result<Watched, FilterFault> {
    let mut allowed = match tells {
        Tells::Refusals => allowed(row, own)?,
        #[cfg(debug_assertions)]
        Tells::Everything => Rules::new(),
    };
    let hand_over = rule(&[equal(2, HAND_OVER as u64)], own)?;
    allowed.insert(libc::SYS_seccomp, vec![]);
    match allowed.get_mut(&libc::SYS_sendmsg) {
        None => drop(allowed.insert(libc::SYS_sendmsg, vec![hand_over.clone()])),
        Some(rules) if rules.is_empty() => {}
        Some(rules) => rules.push(hand_over.clone()),
    }
    let gone = Rules::from([(libc::SYS_seccomp, vec![]), (libc::SYS_sendmsg, vec![hand_over])]);
    let answer = if row.process.is_runner() { refusal(libc::ENOSYS as u32) } else { KILL };
    Ok(Watched {
        listening: notifying(program(allowed, quietly(row, own)?, &NOTIFY, &ALLOW)?),
        last: program(gone, Before::new(), &ALLOW, &answer)?,
    })
}

/// The filters of a row for a process that is not watched, in the order in which they are applied.
pub(crate) fn unwatched(row: &Row, own: u32) -> Result<Vec<BpfProgram>, FilterFault> {
    if !row.process.is_runner() {
        return Ok(vec![program(allowed(row, own)?, Before::new(), &KILL, &ALLOW)?]);
    }
    let bound = allowed(row, own)?;
    let mut listed: Rules = bound.keys().map(|number| (*number, vec![])).collect();
    let mut filters = vec![killing()?];
    for errno in errnos(RUNNER_REFUSES.iter().map(|(_, errno)| *errno)) {
        filters.push(refusing(row, errno, &mut listed, own)?);
    }
    // A listed call with other arguments than listed: every other number passes here.
    let mut others: Rules = crate::syscall_numbers::all().map(|number| (number, vec![])).collect();
    others.extend(bound);
    filters.push(program(others, Before::new(), &refusal(libc::EPERM as u32), &ALLOW)?);
    // Last, so that the errno of calls that it does not list is its own; `seccomp` is one of those.
    filters.push(program(listed, Before::new(), &refusal(libc::ENOSYS as u32), &ALLOW)?);
    Ok(filters)
}

/// Replaces [`NOTIFY`] in a program by the notification.
fn notifying(mut program: BpfProgram) -> BpfProgram {
    let placeholder = u32::from(NOTIFY);
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
) -> Result<BpfProgram, FilterFault> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH).map_err(|_| FilterFault::Architecture)?;
    Ok(tree::compile(rules, before, otherwise, listed, architecture)?)
}

fn allowed(row: &Row, own: u32) -> Result<Rules, FilterFault> {
    let mut rules = Rules::new();
    for call in row.syscalls.iter().flat_map(|group| group.calls) {
        allow(&mut rules, call, own)?;
    }
    Ok(rules)
}

/// A call listed twice with conditions is allowed if any holds; listed once without any, always.
fn allow(rules: &mut Rules, call: &Call, own: u32) -> Result<(), FilterFault> {
    let Some(number) = numbered(call.name)? else { return Ok(()) };
    let alternatives = call.when.iter().map(|all| rule(all, own)).collect::<Result<Vec<_>, _>>()?;
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

fn rule(all: &[When], own: u32) -> Result<SeccompRule, FilterFault> {
    let conditions = all.iter().map(|when| condition(when, own)).collect::<Result<Vec<_>, _>>()?;
    Ok(SeccompRule::new(conditions)?)
}

fn condition(when: &When, own: u32) -> Result<SeccompCondition, FilterFault> {
    let (operator, value) = match when.is {
        Is::Equal(value) => (SeccompCmpOp::Eq, value),
        Is::Without(bits) => (SeccompCmpOp::MaskedEq(bits), 0),
        Is::Bits(of, set) => (SeccompCmpOp::MaskedEq(of), set),
        Is::OwnPid => (SeccompCmpOp::Eq, own.into()),
    };
    let width = match when.width {
        Width::Half => SeccompCmpArgLen::Dword,
        Width::Whole => SeccompCmpArgLen::Qword,
    };
    Ok(SeccompCondition::new(when.argument, width, operator, value)?)
}

fn killing() -> Result<BpfProgram, FilterFault> {
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

/// One filter for all calls that are refused with this errno; the last filter lets them pass to it. Not for `seccomp`, by which
/// that filter is yet to be installed. A call that the row has rules for is refused where they do not hold.
fn refusing(row: &Row, errno: u32, listed: &mut Rules, own: u32) -> Result<BpfProgram, FilterFault> {
    let (bound, mut rules) = (allowed(row, own)?, Rules::new());
    let refused = RUNNER_REFUSES.iter().filter(|(name, its)| *its == errno && *name != "seccomp");
    for (name, _) in refused {
        if let Some(number) = numbered(name)?.filter(|number| !bound.contains_key(number)) {
            rules.insert(number, vec![]);
            listed.insert(number, vec![]);
        }
    }
    program(rules, Before::new(), &ALLOW, &refusal(errno))
}

/// The calls that are refused with an errno and not notified.
fn quietly(row: &Row, own: u32) -> Result<Before, FilterFault> {
    let mut before = Before::new();
    for quiet in syscalls::quiets(row).filter(|quiet| quiet.name != "seccomp") {
        let when = quiet
            .when
            .iter()
            .map(|when| rule(std::slice::from_ref(when), own))
            .collect::<Result<Vec<_>, _>>()?;
        before.extend(numbered(quiet.name)?.map(|number| (number, (when, refusal(quiet.errno)))));
    }
    Ok(before)
}

fn numbered(name: &'static str) -> Result<Option<i64>, FilterFault> {
    match number(name) {
        Known::Number(number) => Ok(Some(number)),
        Known::NotHere => Ok(None),
        Known::Nobody => Err(FilterFault::UnknownCall(name)),
    }
}
