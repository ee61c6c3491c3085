//! The tools of an agent: the list of them, the check of a model's call, and its run. Tools in the jail may touch the
//! workspace, the readable roots of the [`Context`] and, by `bash`, whatever the jail lets through. No tool may run on
//! arguments that were not checked, and none may outlive its call.

mod bash;
mod beneath;
mod context;
mod edit;
mod fault;
mod glob;
mod grep;
mod group;
pub mod limit;
pub mod network;
mod outcome;
mod output;
mod path;
mod read;
mod replace;
mod snapshot;
mod tool;
mod walk;
mod way_out;
mod write;

#[cfg(test)]
mod tests;

pub use context::{Abort, Context, Progress};
pub use fault::ToolFault;
pub use outcome::{Outcome, StateChange};
pub use output::MAX_OUTPUT;
pub use snapshot::Snapshot;
pub use toolset::ToolSpec;
pub use way_out::{Events, WayOut};

use ipc_proto::mcp::SEPARATOR;
use serde_json::Value;
use std::time::Instant;
use tool::{Listed, Tool};

/// A call whose arguments were checked.
#[derive(Debug)]
pub enum Prepared {
    /// To be run here, by [`Call::run`].
    Jail(Call),
    /// To be run by the gate.
    Host,
}

/// The tools that run in the jail.
const TOOLS: [Listed; 6] = [
    Listed::new::<read::Args>("read"),
    Listed::new::<write::Args>("write"),
    Listed::new::<edit::Args>("edit"),
    Listed::new::<glob::Args>("glob"),
    Listed::new::<grep::Args>("grep"),
    Listed::new::<bash::Args>("bash"),
];

/// A checked call of a tool in the jail. It can only be made by [`prepare`].
#[derive(Debug)]
pub struct Call(Box<dyn Tool>);

/// Checks a call: the tool exists, `args` is a JSON object (nothing at all counts as `{}`), every field is known,
/// present where required and within its bounds.
///
/// # Errors
/// Text for the model that begins with `[VALIDATION ERROR]` and says for each field what was wrong and what is valid.
pub fn prepare(name: &str, args: &str) -> Result<Prepared, String> {
    check(name, args).map_err(|problem| format!("[VALIDATION ERROR] {problem}"))
}

fn check(name: &str, args: &str) -> Result<Prepared, String> {
    // A tool of a server is the gate's to run, and its arguments are the server's to check.
    if name.contains(SEPARATOR) {
        return toolset::parse_args(args).map(|_| Prepared::Host);
    }
    let args = toolset::check(name, args)?;
    if toolset::is_hosts(name) {
        return Ok(Prepared::Host);
    }
    typed(name, args).map(Prepared::Jail).map_err(|problem| format!("{name}: {problem}"))
}

/// The second half of the check: what a schema cannot say.
fn typed(name: &str, args: Value) -> Result<Call, String> {
    let listed = TOOLS.iter().find(|listed| listed.name == name);
    let listed = listed.ok_or_else(|| "this tool cannot be run in the jail".to_owned())?;
    listed.parse(args).map(Call)
}

impl Call {
    /// Runs the call to its end, its bound, the deadline or the abort, whichever comes first. Blocks the thread; the
    /// output has at most `context.max_output` bytes. Whatever goes wrong is in the outcome, for the model to read.
    #[must_use]
    pub fn run(&self, context: &Context) -> Outcome {
        let started = Instant::now();
        let before = self.0.changes().map(|path| snapshot::of(context, path));
        let done = context.go_on().and_then(|()| self.0.run(context));
        let mut outcome = done.unwrap_or_else(|fault| Outcome::failed(&fault));
        outcome.state = before
            .zip(self.0.changes())
            .map(|(before, path)| StateChange { before, after: snapshot::of(context, path) });
        outcome.output = output::fit(outcome.output, context.max_output);
        outcome.duration_ms = u32::try_from(started.elapsed().as_millis()).unwrap_or(u32::MAX);
        outcome
    }
}
