//! `agentctl web check`: runs web's own program, without a host and a network. Cases come as JSON lines on standard input,
//! and verdicts go as JSON lines to standard output; this process reads neither.

use crate::app::Outcome;
use crate::sibling;
use std::ffi::OsStr;

/// Web's program.
const PROGRAM: &str = "web";

/// The commands of `web`.
#[derive(clap::Subcommand)]
pub(crate) enum Web {
    /// Check addresses from standard input, JSON lines {"url":…,"allow":[…],"resolve":{…},"redirect":[…]}, without a host
    Check,
}

/// Judges every line of standard input.
pub(crate) fn check() -> Outcome {
    sibling::stream(PROGRAM, &["--offline", "check"].map(OsStr::new))
}
