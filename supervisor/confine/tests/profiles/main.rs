//! Every rule of every row, both ways, in a real process under the row's real filters: an allowed call passes, and the same call with
//! any one condition altered is notified to the listener; so is every call that the row does not list.
//!
//! The process under the filters is a child of this program that makes one call after another. This program holds agentd's end,
//! and answers notifications with an errno that no kernel returns.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod cases;
mod sealed;

use cases::{Case, cases};
use manifest::syscalls::{Fate, allows, calls, fate, quiet};
use manifest::{Process, Row, TABLE};
use sealed::{Came, End};
use std::collections::BTreeSet;

/// The expected outcome of a case.
fn expected(row: &'static Row, case: &Case, own: u32) -> Came {
    if allows(row, case.name, &case.arguments, own) {
        return Came::Allowed;
    }
    let silent = quiet(row, case.name, &case.arguments);
    silent.map_or(Came::Told, Came::Errno)
}

/// Makes every case of a row in one process, and returns how many were allowed and how many were notified.
fn tried(row: &'static Row) -> (usize, usize) {
    let (name, all) = (row.process.name(), cases(row));
    let (own, came) = sealed::make(row, &all);
    let mut counts = (0, 0);
    for (case, came) in all.iter().zip(&came) {
        let case = case.of(own);
        match (expected(row, &case, own), *came) {
            (Came::Allowed, Came::Allowed | Came::Errno(_)) => counts.0 += 1,
            (Came::Told, Came::Told) => counts.1 += 1,
            (Came::Errno(wanted), Came::Errno(found)) if wanted == found => {}
            (wanted, found) => panic!("{name}: {case:?}: {wanted:?} expected, {found:?} came"),
        }
    }
    assert_eq!(came.len(), all.len(), "{name}");
    counts
}

// Holds P2-10.
#[test]
fn every_rule_allows_its_call_and_stops_one_with_another_argument() {
    for row in TABLE {
        let (allowed, told) = tried(row);
        assert!(allowed > 30 && told > 80, "{}: {allowed} allowed, {told} told", row.process.name());
    }
}

// Holds P2-10.
#[test]
fn every_rule_of_the_table_is_among_the_cases_with_each_of_its_conditions() {
    for row in TABLE {
        let all: Vec<Case> = cases(row).iter().map(|case| case.of(7)).collect();
        for call in row.syscalls.iter().flat_map(|group| group.calls) {
            let of_it = || all.iter().filter(|case| case.name == call.name);
            for (at, alternative) in call.when.iter().enumerate() {
                assert!(
                    of_it().any(|case| call.alternative(&case.arguments, 7) == Some(at)),
                    "{}",
                    call.name
                );
                for when in *alternative {
                    let only_this = |case: &&Case| {
                        let others = alternative.iter().filter(|other| *other != when);
                        !when.holds(&case.arguments, 7)
                            && others.into_iter().all(|other| other.holds(&case.arguments, 7))
                    };
                    assert!(of_it().any(|case| only_this(&case)), "{} {when:?}", call.name);
                }
            }
        }
    }
}

// Holds P2-10.
#[test]
fn calls_that_end_or_stop_their_process_are_allowed_and_stopped_alike() {
    let ends = [
        ("exit", End::Exited),
        ("exit_group", End::Exited),
        ("fork", End::Exited),
        ("vfork", End::Exited),
        ("pause", End::Signal(nix::libc::SIGALRM)),
        ("rt_sigreturn", End::Signal(nix::libc::SIGSEGV)),
    ];
    for row in TABLE.iter().filter(|row| row.process.is_runner() || row.process == Process::Scanner) {
        for (name, end) in ends {
            let listed = calls(row, name).next().is_some();
            let wanted = if listed { end } else { End::Told };
            assert_eq!(sealed::end(row, name), wanted, "{} {name}", row.process.name());
        }
    }
}

// Holds P2-10.
#[test]
fn a_process_that_nobody_watches_is_ended_or_answered_by_the_kernel_alike() {
    let runner = manifest::row(Process::Runner).unwrap();
    // The pid in the cases is nobody's, so it differs from the child's own.
    let refused = |case: &Case| {
        let listed = allows(runner, case.name, &case.arguments, u32::MAX);
        !listed && !sealed::ENDING.contains(&case.name) && fate(runner, case.name) != Fate::Kill
    };
    let all: Vec<Case> = cases(runner).iter().map(|case| case.of(u32::MAX)).filter(refused).collect();
    let heard = sealed::heard(runner, &all);
    assert_eq!(heard.len(), all.len());
    for (case, errno) in all.iter().zip(heard) {
        assert_eq!(Fate::Errno(errno), fate(runner, case.name), "{case:?}");
    }
    let kills: BTreeSet<_> = manifest::syscalls::RUNNER_KILLS.iter().copied().collect();
    for name in kills {
        let case = Case::bare(name);
        assert_eq!(sealed::unwatched(runner, &case), None, "{name} did not kill");
    }
    for row in TABLE.iter().filter(|row| !row.process.is_runner()) {
        for name in ["execve", "clone", "ptrace", "seccomp", "bind", "kill"] {
            let case = Case::bare(name);
            if calls(row, name).next().is_none() {
                assert_eq!(sealed::unwatched(row, &case), None, "{} {name}", row.process.name());
            }
        }
    }
}

// Holds P2-10.
#[test]
fn what_hands_the_listener_over_is_taken_away_by_the_last_filter() {
    for row in TABLE {
        for (name, flags) in [("seccomp", 0), ("sendmsg", 0x4840)] {
            let mut case = Case::bare(name);
            case.arguments[2] = flags;
            let end = sealed::last(row, &case);
            let wanted = if row.process.is_runner() {
                End::Errno(nix::libc::ENOSYS)
            } else {
                End::Signal(nix::libc::SIGSYS)
            };
            assert_eq!(end, wanted, "{} {name}", row.process.name());
        }
    }
}
