//! Programs of libexec are linked statically, so that what they ask of the kernel does not vary by distribution.

use std::fs;
use std::path::PathBuf;

/// A program header that names an interpreter: the loader that a dynamically linked program asks for (elf(5)).
const PT_INTERP: u32 = 3;

/// Whether an ELF program of 64 bits asks for a loader. The offsets are those of elf(5).
fn asks_for_a_loader(program: &[u8]) -> bool {
    let number = |at: usize, bytes: usize| {
        let bytes = &program[at..at + bytes];
        bytes.iter().rev().fold(0_usize, |number, byte| number << 8 | usize::from(*byte))
    };
    assert_eq!(&program[..5], b"\x7fELF\x02", "an ELF program of 64 bits");
    let (headers, size, count) = (number(32, 8), number(54, 2), number(56, 2));
    (0..count).any(|n| number(headers + n * size, 4) == PT_INTERP as usize)
}

#[test]
fn every_program_that_is_confined_asks_for_no_loader() {
    let built = tests::programs();
    let read = |name: &str| fs::read(PathBuf::from(&built).join(name)).unwrap();
    assert!(asks_for_a_loader(&read("agentctl")), "people's own command may load what knows their users");
    let rows = manifest::TABLE.iter().map(|row| row.process.name()).filter(|name| !name.contains('@'));
    for name in rows.chain(["agentd-config", "twin"]) {
        assert!(!asks_for_a_loader(&read(name)), "{name}");
    }
}
