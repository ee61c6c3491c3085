//! `agentctl scan`: runs the scanner's own program, without a host. Texts come as JSON lines on standard input, and verdicts
//! go as JSON lines to standard output; this process reads neither.

use crate::app::Outcome;
use crate::arguments::named;
use crate::{sibling, view};
use ipc_proto::scanner::{Direction, Profile};
use std::ffi::OsStr;

/// The scanner's program.
const PROGRAM: &str = "scanner";

/// The arguments of `scan`.
#[derive(clap::Args)]
pub(crate) struct Scan {
    /// The direction of the texts: towards a model (input), or away from it (output)
    #[arg(long, value_parser = named::<Direction>, value_name = "input|output")]
    direction: Direction,
    /// The strictness: paranoid, standard or power-user
    #[arg(long, value_parser = named::<Profile>, default_value = "paranoid")]
    profile: Profile,
}

/// Judges every line of standard input `{"text":…}`.
pub(crate) fn scan(scan: &Scan) -> Outcome {
    let (direction, profile) = (view::word(scan.direction), view::word(scan.profile));
    let options = ["--direction", direction.as_str(), "--profile", profile.as_str()];
    let words = ["--offline", "scan"].into_iter().chain(options).map(OsStr::new);
    sibling::stream(PROGRAM, &words.collect::<Vec<_>>())
}
