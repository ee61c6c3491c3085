//! Programs of libexec are linked statically, so that what they ask of the kernel does not vary by distribution.

use std::fs;
use std::path::PathBuf;
use tests::Host;

/// A program header that names an interpreter: the loader that a dynamically linked program asks for (elf(5)).
const PT_INTERP: u32 = 3;

/// The kind of an ELF program that may lie at any address (elf(5)).
const ET_DYN: usize = 3;

/// A number in an ELF program of 64 bits. Where one is, elf(5) says.
fn number(program: &[u8], at: usize, bytes: usize) -> usize {
    assert_eq!(&program[..5], b"\x7fELF\x02", "an ELF program of 64 bits");
    program[at..at + bytes].iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte))
}

/// Returns whether such a program asks for a loader.
fn asks_for_a_loader(program: &[u8]) -> bool {
    let number = |at, bytes| number(program, at, bytes);
    let (headers, size, count) = (number(32, 8), number(54, 2), number(56, 2));
    (0..count).any(|n| number(headers + n * size, 4) == PT_INTERP as usize)
}

/// Where a process has what is named so, as hexadecimal digits.
fn mapped(pid: i32, name: &str) -> String {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let line = maps.lines().find(|line| line.ends_with(name)).unwrap_or_else(|| panic!("{name}: {maps}"));
    line.split('-').next().unwrap().to_owned()
}

// Holds P1-02.
#[test]
fn every_program_that_is_confined_asks_for_no_loader() {
    let built = tests::programs();
    let read = |name: &str| fs::read(PathBuf::from(&built).join(name)).unwrap();
    assert!(asks_for_a_loader(&read("agentctl")), "people's own command may load what knows their users");
    let rows = manifest::TABLE.iter().map(|row| row.process.program());
    for name in rows.chain(["agentd-config", "jail-probe"]) {
        assert!(!asks_for_a_loader(&read(name)), "{name}");
    }
}

// Holds P1-03.
#[test]
fn every_program_is_position_independent() {
    let built = tests::programs();
    let kind = |name: &str| number(&fs::read(built.join(name)).unwrap(), 16, 2);
    let rows = manifest::TABLE.iter().map(|row| row.process.program());
    for name in rows.chain(["agentd", "agentd-config", "jail-probe", "agentctl"]) {
        assert_eq!(kind(name), ET_DYN, "{name}");
    }
}

// Holds P1-03.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn no_two_runners_have_code_stack_or_heap_in_one_place() {
    // Where anything of a runner lies is root's alone to read.
    assert!(tests::is_root(), "make test-confined needs root");
    let host = Host::start();
    // One that has just begun has no heap yet.
    let has_heap =
        |pid: &i32| fs::read_to_string(format!("/proc/{pid}/maps")).is_ok_and(|maps| maps.contains("[heap]"));
    let begun = || host.waiting_runners().into_iter().filter(has_heap).collect::<Vec<i32>>();
    host.wait_for("two runners wait", || begun().len() > 1);
    let runners = begun();
    for place in ["/runner", "[stack]", "[heap]", "[vdso]"] {
        assert_ne!(mapped(runners[0], place), mapped(runners[1], place), "{place}");
    }
}
