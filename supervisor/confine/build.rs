//! Makes the filters of every row from the table, so that no process spends its start on it: over 0.2 ms of a runner's.
//! It runs the very code that a process would, and a test compares what both make.
//!
//! The numbers of system calls are those of the machine that builds. For another architecture it makes none, and each
//! process makes its own.

#[path = "src/filters.rs"]
#[expect(
    dead_code,
    unreachable_pub,
    reason = "shared with the library, which has more uses and tells of its faults"
)]
mod filters;
#[path = "src/syscall_numbers.rs"]
#[expect(dead_code, reason = "names of numbers are asked for at run time")]
mod syscall_numbers;
#[path = "src/tree.rs"]
mod tree;

use filters::{Tells, Watched};
use manifest::{Row, TABLE};
use std::error::Error;
use std::fmt::Write;
use std::path::PathBuf;

/// Two pids that no process has, to find where a process's own stands in its filter.
const NOBODY: [u32; 2] = [u32::MAX - 1, u32::MAX - 2];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    for file in ["filters", "syscall_numbers", "tree"] {
        println!("cargo::rerun-if-changed=src/{file}.rs");
    }
    let mut text = String::from("/// By row, in the table's order.\nstatic MADE: &[Made] = &[\n");
    if std::env::var("CARGO_CFG_TARGET_ARCH")? == std::env::consts::ARCH {
        for row in TABLE {
            let made = made(row).map_err(|fault| format!("the row of {}: {fault}", row.process.name()))?;
            text.push_str(&made);
        }
    }
    text.push_str("];\n");
    std::fs::write(PathBuf::from(std::env::var("OUT_DIR")?).join("filters.rs"), text)?;
    Ok(())
}

/// A row's filters in the words of the program.
fn made(row: &Row) -> Result<String, Box<dyn Error>> {
    let [one, other] = NOBODY.map(|own| filters::watched(row, Tells::Refusals, own));
    let (Watched { listening, last }, other) = (one?, other?.listening);
    let own: Vec<usize> = (0..listening.len()).filter(|at| listening.get(*at) != other.get(*at)).collect();
    let mut text = String::new();
    writeln!(text, "Made {{ process: {}, own: &{own:?},", row.process.number())?;
    for (name, program) in [("listening", &listening), ("last", &last)] {
        writeln!(text, "{name}: &[")?;
        for step in program {
            let (code, jt, jf, k) = (step.code, step.jt, step.jf, step.k);
            writeln!(text, "libc::sock_filter {{ code: {code}, jt: {jt}, jf: {jf}, k: {k} }},")?;
        }
        writeln!(text, "],")?;
    }
    writeln!(text, "}},")?;
    Ok(text)
}
