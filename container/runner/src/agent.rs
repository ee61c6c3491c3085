//! A person's own program that asks models by itself, such as a coding agent. It gets the model API on the jail's own
//! loopback, placeholders in the place of keys, and a terminal of the jail's own or streams; its output and the
//! person's input go over the one socket. It must never get anything of the person's machine but its workspace.

mod api;
mod conversation;
pub(crate) mod engine;
mod model;
mod profile;
mod program;

use crate::RunnerFault;
use crate::command::{Piece, not_run};
use crate::egress;
use crate::gate::Gate;
use crate::places::Places;
use ipc_proto::router::{Run, Typed};
use ipc_proto::runner_gate::{Ending, Work};
use program::Program;
use runner::tools::{limit, network};
use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender};

/// Time to wait for more output once the program has ended: a process that it left may hold its streams open.
const LINGER: Duration = Duration::from_millis(500);
/// Bytes that are passed on after its end: more than its pipes and the waiting pieces can hold. Output beyond them is
/// of processes that it left.
const LAST: usize = 4 << 20;
/// After this time, input is asked for again: router may be starting.
const AGAIN: Duration = Duration::from_secs(1);

/// Runs it.
pub(crate) async fn run(gate: &Gate, run: &Run, work: &Work, places: &Places) -> Result<Ending, RunnerFault> {
    limit::begin();
    api::open(gate.clone()).await?;
    let authority = way_out(gate, work, places).await?;
    let model = model_of(gate).await?;
    let mut environment: Vec<(&str, String)> =
        profile::prepare(run.profile, &model, places, authority.as_deref())?;
    environment.extend(egress::placeholders(work));
    let argv: Vec<&str> = run.argv.iter().map(|word| word.as_str()).collect();
    let program = match Program::start(&argv, run.terminal.as_ref(), &environment, places)? {
        Ok(program) => program,
        Err(cause) => {
            // A raw terminal needs a carriage return besides.
            let line_end = if run.terminal.is_some() { "\r\n" } else { "\n" };
            return not_run(gate, argv.first().copied().unwrap_or_default(), &cause, line_end).await;
        }
    };
    let Program { output, input, mut ended } = program;
    let mut typing = tokio::task::spawn_local(type_in(gate.clone(), input));
    let over = Cell::new(false);
    let tail = RefCell::new(network::Tail::default());
    let passing = pass(gate, output, &over, &tail);
    tokio::pin!(passing);
    let mut passed = false;
    let wall = tokio::time::sleep(Duration::from_millis(work.wall_ms.into()));
    tokio::pin!(wall);
    let status = loop {
        tokio::select! {
            status = &mut ended => break status.unwrap_or(u8::MAX),
            result = &mut passing, if !passed => {
                result?;
                passed = true;
            }
            gone = &mut typing => return Err(gone.unwrap_or(RunnerFault::GateGone)),
            // The jail ends with this process, and everything in it.
            () = &mut wall => return Ok(Ending::TimedOut),
        }
    };
    over.set(true);
    if !passed {
        tokio::select! {
            result = &mut passing => result?,
            () = &mut wall => return Ok(Ending::TimedOut),
        }
    }
    typing.abort();
    // A program with a terminal of its own has told the person in its own way, and one with a way out was told by the proxy.
    let silent = run.terminal.is_some() || work.network;
    let sentence = tail.borrow().explain(status).filter(|_| !silent);
    if let Some(sentence) = sentence {
        gate.output(true, format!("{sentence}\n").as_bytes()).await?;
    }
    if let Some(reached) = limit::reached(status.into()) {
        gate.output(true, format!("\n[ended because {}]\n", reached.sentence()).as_bytes()).await?;
    }
    Ok(Ending::Exited { status })
}

/// Opens the way out of a jail that has one; returns the file of the authority that programs are to believe.
async fn way_out(gate: &Gate, work: &Work, places: &Places) -> Result<Option<PathBuf>, RunnerFault> {
    if work.network { egress::open(gate, &places.tmp, &work.opaque).await.map(Some) } else { Ok(None) }
}

/// The agent's own model.
async fn model_of(gate: &Gate) -> Result<String, RunnerFault> {
    let models = gate.models().await.map_err(|_| RunnerFault::GateGone)?;
    Ok(models.first().map(|name| name.to_string()).unwrap_or_default())
}

/// Passes its output on: a slow reader slows it down, as a terminal would. Once it is `over`, earlier output is passed
/// on to the last byte.
/// `tail` gets the end of it.
async fn pass(
    gate: &Gate,
    mut output: Receiver<Piece>,
    over: &Cell<bool>,
    tail: &RefCell<network::Tail>,
) -> Result<(), RunnerFault> {
    let mut left = LAST;
    while left > 0 {
        let (error, piece) = match tokio::time::timeout(LINGER, output.recv()).await {
            Ok(Some(piece)) => piece,
            Err(_) if !over.get() => continue,
            Ok(None) | Err(_) => break,
        };
        if over.get() {
            left = left.saturating_sub(piece.len());
        }
        tail.borrow_mut().push(&piece);
        gate.output(error, &piece).await?;
    }
    Ok(())
}

/// Fetches the person's input, as fast as the program takes it; input that it no longer takes is dropped. Ends with the
/// gate.
async fn type_in(gate: Gate, input: Sender<Typed>) -> RunnerFault {
    let mut from = 0;
    loop {
        let more = match gate.input(from).await {
            Ok(Some(more)) => more,
            Ok(None) => {
                tokio::time::sleep(AGAIN).await;
                continue;
            }
            Err(gone) => return gone,
        };
        from = more.from;
        for typed in more.typed {
            from += 1;
            drop(input.send(typed).await);
        }
    }
}
