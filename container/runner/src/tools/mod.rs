//! The tools of an agent: one list of what they are, one function that checks a model's call, one that runs it.
//! Tools in the jail may touch the workspace, the readable roots of the [`Context`] and, by `bash`, whatever the
//! jail lets through. No tool may run on arguments that were not checked, and none may outlive its call.

mod bash;
mod beneath;
mod context;
mod edit;
mod fault;
mod glob;
mod grep;
mod group;
pub mod limit;
mod outcome;
mod output;
mod path;
mod read;
mod replace;
mod snapshot;
mod walk;
mod write;

#[cfg(test)]
mod tests;

pub use context::{Abort, Context, Progress};
pub use fault::ToolFault;
pub use outcome::{Outcome, StateChange};
pub use output::MAX_OUTPUT;
pub use snapshot::Snapshot;
pub use toolset::ToolSpec;

use serde::de::DeserializeOwned;
use serde_json::Value;
use std::time::Instant;

/// A call whose arguments were checked.
#[derive(Debug)]
pub enum Prepared {
    /// To be run here, by [`Call::run`].
    Jail(Call),
    /// To be run by the gate.
    Host,
}

/// A checked call of a tool in the jail. It can only be made by [`prepare`].
#[derive(Debug)]
pub struct Call(Kind);

#[derive(Debug)]
enum Kind {
    Read(read::Args),
    Write(write::Args),
    Edit(edit::Args),
    Glob(glob::Args),
    Grep(grep::Args),
    Bash(bash::Args),
}

/// Checks a call: the tool exists, `args` is a JSON object (nothing at all counts as `{}`), every field is known,
/// present where required and within its bounds.
///
/// # Errors
/// Text for the model that begins with `[VALIDATION ERROR]` and says for each field what was wrong and what is valid.
pub fn prepare(name: &str, args: &str) -> Result<Prepared, String> {
    check(name, args).map_err(|problem| format!("[VALIDATION ERROR] {problem}"))
}

fn check(name: &str, args: &str) -> Result<Prepared, String> {
    let args = toolset::check(name, args)?;
    if toolset::specs().iter().any(|spec| spec.name == name && !spec.in_jail) {
        return Ok(Prepared::Host);
    }
    let kind = typed(name, args).map_err(|problem| format!("{name}: {problem}"))?;
    Ok(Prepared::Jail(Call(kind)))
}

/// The second half of the check: what a schema cannot say (a pattern that compiles, base64 that decodes).
fn typed(name: &str, args: Value) -> Result<Kind, String> {
    Ok(match name {
        "read" => Kind::Read(decode(args)?),
        "write" => Kind::Write(write::Args::new(decode(args)?)?),
        "edit" => Kind::Edit(edit::Args::new(decode(args)?)?),
        "glob" => Kind::Glob(glob::Args::new(decode(args)?)?),
        "grep" => Kind::Grep(grep::Args::new(decode(args)?)?),
        "bash" => Kind::Bash(bash::Args::new(decode(args)?)?),
        _ => return Err("this tool cannot be run in the jail".to_owned()),
    })
}

fn decode<T: DeserializeOwned>(args: Value) -> Result<T, String> {
    serde_json::from_value(args).map_err(|cause| cause.to_string())
}

impl Call {
    /// The tool's name.
    #[must_use]
    pub const fn tool(&self) -> &'static str {
        match &self.0 {
            Kind::Read(_) => "read",
            Kind::Write(_) => "write",
            Kind::Edit(_) => "edit",
            Kind::Glob(_) => "glob",
            Kind::Grep(_) => "grep",
            Kind::Bash(_) => "bash",
        }
    }

    /// Runs the call to its end, its bound, the deadline or the abort, whichever comes first. Blocks the thread; the
    /// output has at most `context.max_output` bytes. Whatever goes wrong is in the outcome, for the model to read.
    #[must_use]
    pub fn run(&self, context: &Context) -> Outcome {
        let started = Instant::now();
        let before = self.changes().map(|path| snapshot::of(context, path));
        let done = context.go_on().and_then(|()| self.execute(context));
        let mut outcome = done.unwrap_or_else(|fault| Outcome::failed(&fault));
        outcome.state = before
            .zip(self.changes())
            .map(|(before, path)| StateChange { before, after: snapshot::of(context, path) });
        outcome.output = output::fit(outcome.output, context.max_output);
        outcome.duration_ms = u32::try_from(started.elapsed().as_millis()).unwrap_or(u32::MAX);
        outcome
    }

    fn execute(&self, context: &Context) -> Result<Outcome, ToolFault> {
        match &self.0 {
            Kind::Read(args) => read::run(args, context),
            Kind::Write(args) => write::run(args, context),
            Kind::Edit(args) => edit::run(args, context),
            Kind::Glob(args) => glob::run(args, context),
            Kind::Grep(args) => grep::run(args, context),
            Kind::Bash(args) => bash::run(args, context),
        }
    }

    /// The one file this call may change, where that is known beforehand.
    fn changes(&self) -> Option<&str> {
        match &self.0 {
            Kind::Write(args) => Some(args.path()),
            Kind::Edit(args) => Some(args.path()),
            Kind::Read(_) | Kind::Glob(_) | Kind::Grep(_) | Kind::Bash(_) => None,
        }
    }
}
