//! The `bash` tool. Runs one command in a process group of its own, bounded in time and in output; the jail around
//! the runner decides what the command can reach. Must never leave a process of the group behind, nor hand on an
//! environment or a descriptor.

use super::context::Context;
use super::fault::ToolFault;
use super::group::{Finished, Group, code_of};
use super::limit::{self, Reached};
use super::network;
use super::outcome::Outcome;
use super::tool::{Checked, Tool};
use super::way_out::WayOut;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use toolset::jail_tools::COMMAND_MS;

/// Between asking a group to end and killing it.
const GRACE: Duration = Duration::from_secs(5);
/// Time before the turn's end in which the command is ended and its output returned.
const RESERVE: Duration = Duration::from_millis(500);
/// The exit code of a command that ran out of time.
const TIMED_OUT: i32 = 124;
/// Where programs are looked for.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    command: String,
    cwd: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    timeout: Option<u64>,
}

impl Tool for Args {
    fn run(&self, context: &Context) -> Result<Outcome, ToolFault> {
        run(self, context)
    }
}

impl Checked for Args {
    type Raw = Self;

    fn check(args: Self::Raw) -> Result<Self, String> {
        match args.env.keys().find(|name| !is_name(name)) {
            Some(name) => Err(format!(
                "`env`: {} is not a variable's name: letters, digits and _, not a digit first",
                toolset::validate::show(name)
            )),
            None => Ok(args),
        }
    }
}

fn is_name(name: &str) -> bool {
    let first = name.chars().next();
    first.is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The reason for which a command was ended early.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cut {
    Time,
    Abort,
}

fn run(args: &Args, context: &Context) -> Result<Outcome, ToolFault> {
    let asked = Duration::from_millis(args.timeout.unwrap_or(COMMAND_MS));
    let started = Instant::now();
    let turn_end = context.deadline.checked_sub(RESERVE).unwrap_or(context.deadline);
    let (end, waited_before) = (turn_end.min(started + asked), context.waited());
    drop(context.way_out.as_ref().map(|way_out| way_out.events.take_refusals()));
    limit::begin();
    let mut group = start(args, context)?;
    let mut cut = None;
    let mut told = started;
    while group.step() {
        let now = Instant::now();
        // Time in which a person is asked is nobody's.
        let waited = context.waited().saturating_sub(waited_before);
        if !group.is_ending() && (context.abort.is_set() || now >= end + waited) {
            cut = Some(if context.abort.is_set() { Cut::Abort } else { Cut::Time });
            // Half of the reserve is for killing, the other half for the output.
            let last = (context.deadline + waited).checked_sub(RESERVE / 2).unwrap_or(now);
            group.end((now + GRACE).min(last));
        }
        if now.duration_since(told) >= Duration::from_secs(1) {
            told = now;
            (context.progress)(&format!(
                "{} s, {} bytes of output",
                started.elapsed().as_secs(),
                group.output()
            ));
        }
    }
    let spent = started.elapsed();
    Ok(outcome(&group.finish(), cut, spent, context.way_out.as_ref()))
}

fn start(args: &Args, context: &Context) -> Result<Group, ToolFault> {
    let cwd = folder(args, context)?;
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place in a runner that starts programs, inside its jail"
    )]
    let mut command = Command::new("/bin/bash");
    command
        // Without `--` a command that begins with `-` would be taken for an option.
        .args(["--noprofile", "--norc", "-c", "--", &args.command])
        .current_dir(&cwd)
        .env_clear()
        .envs([
            ("PATH", PATH),
            ("LANG", "C.UTF-8"),
            ("TERM", "dumb"),
            ("SHELL", "/bin/bash"),
            ("USER", "agent"),
        ])
        .envs(network::variables(context.way_out.as_ref()))
        .envs([("HOME", &context.scratch), ("TMPDIR", &context.scratch), ("PWD", &cwd)])
        .envs(&args.env)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    command.spawn().and_then(Group::of).map_err(ToolFault::NotStarted)
}

/// The folder to run in. The check finds the model's mistakes and bounds nothing: a command may `cd` wherever the jail
/// lets it.
fn folder(args: &Args, context: &Context) -> Result<PathBuf, ToolFault> {
    let Some(cwd) = &args.cwd else { return Ok(context.workspace().to_owned()) };
    let place = context.locate(cwd)?;
    if !place.about()?.is_dir() {
        return Err(ToolFault::NotFolder { path: place.shown });
    }
    Ok(place.full())
}

fn outcome(left: &Finished, cut: Option<Cut>, spent: Duration, way_out: Option<&WayOut>) -> Outcome {
    let (out, err) = (left.out.text(), left.err.text());
    let code = match (cut, left.status) {
        (Some(Cut::Time), _) => TIMED_OUT,
        (_, Some(status)) => code_of(status),
        (_, None) => 255,
    };
    let mut output = out;
    if !err.is_empty() {
        if !output.is_empty() && !output.ends_with('\n') {
            output.push('\n');
        }
        output.push_str(&format!("[standard error]\n{err}"));
    }
    let reached = limit::reached(code).filter(|_| cut.is_none());
    for sentence in network_notes(&output, code, way_out) {
        if !output.ends_with('\n') {
            output.push('\n');
        }
        output.push_str(&sentence);
    }
    if let Some(note) = note(left, cut, reached, code, spent) {
        if !output.is_empty() && !output.ends_with('\n') {
            output.push('\n');
        }
        output.push_str(&note);
    }
    let mut outcome = Outcome::done(output)
        .with("exitCode", code)
        .with("stdoutBytes", left.out.total())
        .with("stderrBytes", left.err.total())
        .with("truncated", left.out.lost() + left.err.lost() > 0)
        .with("timedOut", cut == Some(Cut::Time));
    outcome.ok = code == 0 && cut.is_none();
    outcome.error = match (cut, reached) {
        (Some(Cut::Time), _) => Some("timed_out"),
        (Some(Cut::Abort), _) => Some("aborted"),
        (None, Some(reached)) => Some(reached.name()),
        (None, None) => (code != 0).then_some("exit_status"),
    };
    outcome
}

/// Sentences about the network: there is none, or what the way out has refused.
fn network_notes(output: &str, code: i32, way_out: Option<&WayOut>) -> Vec<String> {
    match way_out {
        Some(way_out) => way_out.events.take_refusals(),
        None if code != 0 && network::is_missing(output.as_bytes()) => vec![network::SENTENCE.to_owned()],
        None => Vec::new(),
    }
}

fn note(
    left: &Finished,
    cut: Option<Cut>,
    reached: Option<Reached>,
    code: i32,
    spent: Duration,
) -> Option<String> {
    if let Some(reached) = reached {
        return Some(format!("[ended because {}: exit code {code}]", reached.sentence()));
    }
    match (cut, left.status.and_then(|status| status.signal())) {
        (Some(Cut::Time), _) => Some(format!(
            "[ended after {} ms because its time was over: exit code {code}]",
            spent.as_millis()
        )),
        (Some(Cut::Abort), _) => Some("[ended because the turn was cancelled]".to_owned()),
        (None, Some(signal)) => Some(format!("[ended by signal {signal}: exit code {code}]")),
        (None, None) => (code != 0).then(|| format!("[exit code {code}]")),
    }
}
