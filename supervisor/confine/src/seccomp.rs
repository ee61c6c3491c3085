//! seccomp: the row's groups as a filter. An actor dies by an unlisted call; a runner's programs get an errno,
//! save for the list that kills.

use crate::syscall_numbers::{Known, number};
use manifest::syscalls::{CLONE_NEW, Call, Is, RUNNER_KILLS, RUNNER_REFUSES, When};
use manifest::{Process, Row};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};
use std::collections::BTreeMap;

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
    Apply(#[from] seccompiler::Error),
    /// This machine's architecture has no filter.
    #[error("no seccomp filter for this architecture")]
    Architecture,
}

/// The filters of a row, in the order they are applied.
pub(crate) fn filters(row: &Row) -> Result<Vec<BpfProgram>, SeccompFault> {
    let mut allowed = Rules::new();
    for call in row.syscalls.iter().flat_map(|group| group.calls) {
        allow(&mut allowed, call)?;
    }
    if row.process != Process::Runner {
        return Ok(vec![compile(allowed, SeccompAction::KillProcess, SeccompAction::Allow)?]);
    }
    let mut filters = vec![killing()?];
    for errno in errnos() {
        filters.push(refusing(errno, &mut allowed)?);
    }
    filters.push(no_new_namespaces()?);
    // Last, so that the errno of what it does not list is its own.
    filters.push(compile(allowed, SeccompAction::Errno(libc::ENOSYS as u32), SeccompAction::Allow)?);
    Ok(filters)
}

/// Applies them to this thread, which is the only one.
pub(crate) fn apply(filters: &[BpfProgram]) -> Result<(), SeccompFault> {
    for filter in filters {
        seccompiler::apply_filter(filter)?;
    }
    Ok(())
}

fn compile(
    rules: Rules,
    otherwise: SeccompAction,
    listed: SeccompAction,
) -> Result<BpfProgram, SeccompFault> {
    let architecture =
        TargetArch::try_from(std::env::consts::ARCH).map_err(|_| SeccompFault::Architecture)?;
    Ok(SeccompFilter::new(rules, otherwise, listed, architecture)?.try_into()?)
}

/// A call listed twice with conditions is allowed if any holds; listed once without any, always.
fn allow(rules: &mut Rules, call: &Call) -> Result<(), SeccompFault> {
    let Some(number) = numbered(call.name)? else { return Ok(()) };
    let conditions = call.when.iter().map(condition).collect::<Result<Vec<_>, _>>()?;
    match rules.get_mut(&number) {
        None => drop(rules.insert(number, conditions)),
        Some(known) if known.is_empty() => {}
        Some(known) if conditions.is_empty() => known.clear(),
        Some(known) => known.extend(conditions),
    }
    Ok(())
}

fn condition(when: &When) -> Result<SeccompRule, SeccompFault> {
    let (operator, value) = match when.is {
        Is::Equal(value) => (SeccompCmpOp::Eq, value),
        Is::Without(bits) => (SeccompCmpOp::MaskedEq(bits.into()), 0),
    };
    rule(when.argument, operator, value)
}

fn rule(argument: u8, operator: SeccompCmpOp, value: u32) -> Result<SeccompRule, SeccompFault> {
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value.into())?;
    Ok(SeccompRule::new(vec![condition])?)
}

fn killing() -> Result<BpfProgram, SeccompFault> {
    let mut rules = Rules::new();
    for name in RUNNER_KILLS {
        rules.extend(numbered(name)?.map(|number| (number, vec![])));
    }
    compile(rules, SeccompAction::Allow, SeccompAction::KillProcess)
}

fn errnos() -> Vec<u32> {
    let mut errnos: Vec<u32> = RUNNER_REFUSES.iter().map(|(_, errno)| *errno).collect();
    errnos.sort_unstable();
    errnos.dedup();
    errnos
}

/// One filter for all calls refused with this errno; the last filter lets them pass to it.
fn refusing(errno: u32, allowed: &mut Rules) -> Result<BpfProgram, SeccompFault> {
    let mut rules = Rules::new();
    for (name, _) in RUNNER_REFUSES.iter().filter(|(_, its)| *its == errno) {
        if let Some(number) = numbered(name)? {
            rules.insert(number, vec![]);
            allowed.insert(number, vec![]);
        }
    }
    compile(rules, SeccompAction::Allow, SeccompAction::Errno(errno))
}

fn no_new_namespaces() -> Result<BpfProgram, SeccompFault> {
    let bits = (0..u32::BITS).map(|bit| 1_u32 << bit).filter(|bit| CLONE_NEW & bit != 0);
    let rules =
        bits.map(|bit| rule(0, SeccompCmpOp::MaskedEq(bit.into()), bit)).collect::<Result<Vec<_>, _>>()?;
    let rules = Rules::from([(libc::SYS_clone, rules)]);
    compile(rules, SeccompAction::Allow, SeccompAction::Errno(libc::EPERM as u32))
}

fn numbered(name: &'static str) -> Result<Option<i64>, SeccompFault> {
    match number(name) {
        Known::Number(number) => Ok(Some(number)),
        Known::NotHere => Ok(None),
        Known::Nobody => Err(SeccompFault::UnknownCall(name)),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_row_of_the_table_makes_a_filter() {
        for row in manifest::TABLE {
            let filters = super::filters(row).unwrap();
            assert!(filters.iter().all(|filter| !filter.is_empty()), "{}", row.process.name());
        }
    }
}
