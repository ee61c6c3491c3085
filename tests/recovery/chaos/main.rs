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
mod telegram;
mod victims;

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
    if arguments.channel {
        return side_by_side(&arguments);
    }
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

/// Runs over a messenger, all at once.
fn side_by_side(arguments: &Arguments) -> ExitCode {
    let all_well = std::thread::scope(|scope| {
        let runs = (0..arguments.runs).map(|run| {
            let seed = arguments.seed.wrapping_add(run);
            println!("chaos: seed {seed}, over telegram, {} kills", arguments.faults);
            scope.spawn(move || match telegram::run(seed, arguments) {
                Ok(report) => {
                    println!("{report}");
                    true
                }
                Err(broken) => {
                    println!("{broken}chaos: once more with --channel telegram --seed {seed}");
                    false
                }
            })
        });
        let runs: Vec<_> = runs.collect();
        // Each is waited for, also behind one that is not well.
        let well: Vec<bool> = runs.into_iter().map(|run| run.join().unwrap_or(false)).collect();
        well.into_iter().all(|well| well)
    });
    if all_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
