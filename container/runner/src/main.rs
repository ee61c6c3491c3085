//! One agent turn in a jail: asks the gate for its work, thinks, runs tools, and ends with it.
//!
//! It holds one socket, the workspace and a read-only system. Everything it reads from now on may be hostile: it
//! must hold no secret and decide nothing that matters.
#![cfg_attr(not(test), no_main)]

mod agent;
mod asking;
mod browsing;
mod command;
mod egress;
mod files;
mod gate;
mod inbox;
mod mcp;
mod places;
mod prompt;
mod turn;
mod watch;

use asking::Asking;
use confine::{Sealed, Watch};
use gate::Gate;
use ipc_proto::router::Task;
use ipc_proto::runner_gate::{Ending, Work};
use manifest::{Process, Row};
use places::Places;
use std::os::fd::{AsFd, OwnedFd};

/// Why a runner could not begin or go on. Its exit status says no more: it has no log.
#[derive(Debug, thiserror::Error)]
enum RunnerFault {
    #[error("cannot be made undumpable")]
    Harden,
    #[error("was not launched by agentd")]
    NotLaunched,
    #[error("cannot be sealed: {0}")]
    Seal(#[from] confine::SealFault),
    #[error("cannot run: {0}")]
    Runtime(#[from] std::io::Error),
    #[error("the gate is gone")]
    GateGone,
}

impl RunnerFault {
    /// 1 to 127 tells router that trying again would be the same, 128 and more that it may help.
    const fn status(&self) -> u8 {
        match self {
            Self::Harden | Self::NotLaunched | Self::Seal(_) => 1,
            Self::Runtime(_) => 128,
            Self::GateGone => 129,
        }
    }
}

#[cfg(not(test))]
confine::begins_with!(begin);

/// Its exit status.
#[cfg_attr(test, expect(dead_code, reason = "tests have a main of their own"))]
fn begin() -> u8 {
    run().map_or_else(|fault| fault.status(), |()| 0)
}

fn run() -> Result<(), RunnerFault> {
    confine::harden().map_err(|_| RunnerFault::Harden)?;
    let socket = confine::passing::inherited_control().ok_or(RunnerFault::NotLaunched)?;
    let places = Places::from_arguments().ok_or(RunnerFault::NotLaunched)?;
    let row = row().ok_or(RunnerFault::NotLaunched)?;
    let notices = confine::passing::inherited_notices().ok_or(RunnerFault::NotLaunched)?;
    let sealed = confine::seal_runner(row, places.mode, &places.sealed(row), watch(&notices))?;
    // agentd learns about this jail by the listener alone; no tool inherits this.
    drop(notices);
    if matches!(row.process, Process::McpRunner | Process::BrowserRunner) {
        return bridge(&sealed, socket, row, &places);
    }
    let asking = Asking::begin(socket, row.process)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let tasks = tokio::task::LocalSet::new();
    let connection = asking.connection()?;
    let gate = tasks.block_on(&runtime, async { Gate::over(connection) })?;
    let work = asking.answered()?;
    let done = tasks.block_on(&runtime, perform(&sealed, row, &gate, work, &places));
    // Tasks that still run, such as a command that took too long or one whose gate is gone, are not waited for: they
    // end with this process, and the jail with it.
    drop(tasks);
    runtime.shutdown_background();
    done
}

/// Bridges a server or a browser, which is launched when it is needed and has no work of a turn.
fn bridge(_: &Sealed, socket: OwnedFd, row: &Row, places: &Places) -> Result<(), RunnerFault> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let tasks = tokio::task::LocalSet::new();
    let connection = asking::hello(socket, row.process)?;
    watch::begin(places.mode, row);
    let bridged = tasks.block_on(&runtime, async {
        let gate = Gate::over(connection)?;
        match row.process {
            Process::BrowserRunner => browsing::run(&gate, places).await,
            _ => mcp::run(&gate, places).await,
        }
    });
    drop(tasks);
    runtime.shutdown_background();
    bridged
}

/// The row that agentd launched this for, by the name that it gave it.
fn row() -> Option<&'static Row> {
    let name = std::env::args_os().next()?;
    manifest::row_named(name.to_str()?).filter(|row| row.process.is_runner())
}

/// The notices of forbidden calls, for agentd; of every call, where a debug build's agentd asked for that.
fn watch(notices: &OwnedFd) -> Watch<'_> {
    #[cfg(debug_assertions)]
    if confine::passing::set_nonblocking(notices.as_fd()).is_ok()
        && confine::passing::receive::<{ manifest::command::FRAME }>(notices.as_fd())
            .is_ok_and(|said| said.is_some())
    {
        return Watch::Recording(notices.as_fd());
    }
    Watch::Agentd(notices.as_fd())
}

/// Does the work. The token says that the process is sealed, and with it every program it starts.
async fn perform(_: &Sealed, row: &Row, gate: &Gate, work: Work, places: &Places) -> Result<(), RunnerFault> {
    // Putting and getting files runs nothing but this program, which is named by its whole path.
    if !matches!(work.task, Task::Put { .. } | Task::Get { .. }) {
        places.enter()?;
        watch::begin(places.mode, row);
    }
    inbox::put(gate, &work.files, places).await?;
    let ending = match work.task.clone() {
        Task::Chat => match (work.engine.clone(), row.process) {
            (None, Process::Runner | Process::NetRunner) => turn::run(gate, work, places).await?,
            (Some(engine), Process::AgentRunner) => agent::engine::run(gate, &work, &engine, places).await?,
            _ => Ending::NotStarted,
        },
        Task::Command { argv } => command::run(gate, &argv, places, &work).await?,
        Task::Put { path, bytes } => files::put(&path, &bytes, places),
        Task::Get { path } => files::get(gate, &path, places).await?,
        // Elsewhere there is no loopback to serve it on.
        Task::Run(run) if row.process == Process::AgentRunner => {
            agent::run(gate, &run, &work, places).await?
        }
        Task::Run(_) => Ending::NotStarted,
    };
    gate.finish(ending).await
}

/// A failure of a person's own command, put or get.
const FAILED: Ending = Ending::Exited { status: 1 };
