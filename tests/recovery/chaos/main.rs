//! `chaos`: a real host, people who use it, and faults of every kind while they do; then peace, and the laws.
//!
//! Everything that is left to chance comes from the seed: who asks for what, and which fault falls after which pause.
//! When within a turn a fault falls is the machine's, so a seed that broke a law breaks it again soon rather than at
//! once. It touches its own temporary directory, the processes that it started, and, as root, a small disk of its
//! own. It steps the host's own clock, where its build lets it, and never the machine's.
#![expect(clippy::disallowed_methods, reason = "it starts the real programs")]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it is a command")]

mod arguments;
mod asker;
mod dice;
mod disk;
mod faults;
mod laws;
mod life;
mod people;
mod promises;
mod record;
mod settle;
mod stand;

use arguments::Arguments;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = match Arguments::read(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(why) => {
            eprintln!("chaos: {why}\n{}", arguments::USAGE);
            return ExitCode::from(64);
        }
    };
    for run in 0..arguments.runs {
        let seed = arguments.seed.wrapping_add(run);
        println!("chaos: seed {seed}, {} faults", arguments.faults);
        match life::run(seed, &arguments) {
            Ok(report) => println!("{report}"),
            Err(broken) => {
                println!("{broken}chaos: once more with --seed {seed} --faults {}", arguments.faults);
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
