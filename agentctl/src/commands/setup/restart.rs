//! A restart of the host by the machine's service manager, where that runs it.

use std::process::{Command, Stdio};

/// The unit of the host.
const UNIT: &str = "cordon";
const PROGRAM: &str = "systemctl";

/// The command that restarts the host, if the service manager runs it now.
pub(super) fn command(is_system: bool) -> Option<Vec<&'static str>> {
    let manager: &[&'static str] = if is_system { &[PROGRAM] } else { &[PROGRAM, "--user"] };
    let with = |verb: &[&'static str]| [manager, verb].concat();
    succeeds(&with(&["is-active", "--quiet", UNIT])).then(|| with(&["restart", UNIT]))
}

/// Runs the command. Returns true if it succeeded.
pub(super) fn succeeds(words: &[&str]) -> bool {
    let Some((program, arguments)) = words.split_first() else { return false };
    #[expect(
        clippy::disallowed_methods,
        reason = "the machine's service manager, run as the person, outside the host"
    )]
    let mut command = Command::new(program);
    let status =
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::succeeds;

    #[test]
    fn a_command_that_fails_or_is_not_there_did_not_succeed() {
        assert!(succeeds(&["true"]));
        assert!(!succeeds(&["false"]) && !succeeds(&["/nonexistent/program"]) && !succeeds(&[]));
    }
}
