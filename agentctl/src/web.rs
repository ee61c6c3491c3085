//! `agentctl web check`: has addresses judged by web's own program, with no host and no network. Cases come as JSON
//! lines on standard input and verdicts go as JSON lines to standard output; this process looks at neither.

use crate::app::Outcome;
use crate::sibling;
use std::ffi::OsStr;

/// Web's program.
const PROGRAM: &str = "web";

/// The commands of `web`.
#[derive(clap::Subcommand)]
pub(crate) enum Web {
    /// Judge addresses, JSON lines {"url":…,"allow":[…],"resolve":{…},"redirect":[…]} on standard input, without a host
    Check,
}

/// Judges every line of standard input.
pub(crate) fn check() -> Outcome {
    sibling::stream(PROGRAM, &["--offline", "check"].map(OsStr::new))
}
