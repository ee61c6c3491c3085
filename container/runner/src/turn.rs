//! The loop of a turn: ask the model, run the released calls, give their results back, until the model asks for no
//! more.

use crate::RunnerFault;
use crate::gate::Gate;
use crate::places::Places;
use crate::{egress, prompt, watch};
use ipc_proto::channel::SENT_BYTES;
use ipc_proto::ids::CallId;
use ipc_proto::model::{Message, Role};
use ipc_proto::router::{CallVerdict, Released};
use ipc_proto::runner_gate::{CompletionState, EffectState, Ending, Work};
use ipc_proto::tool::{Outcome, ToolResult};
use ipc_proto::{Blob, Name, Text};
use runner::tools::{self, Abort, Call, Context, Prepared, WayOut};
use serde_json::Value;
use std::collections::HashMap;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use toolset::channel_tools::SEND_FILE;

/// Lines of progress that wait to be sent; more are dropped.
const PROGRESS: usize = 16;

/// Answers the message.
pub(crate) async fn run(gate: &Gate, work: Work, places: &Places) -> Result<Ending, RunnerFault> {
    let mut deadline = Instant::now() + Duration::from_millis(work.wall_ms.into());
    let limits: HashMap<Name, u32> = work.tool_ms.iter().cloned().collect();
    let way_out = egress::for_commands(gate, &work, places).await?;
    let waited = || way_out.as_ref().map_or(Duration::ZERO, |way_out| way_out.events.waited());
    let system = prompt::system(&work.prompt, work.network);
    let mut messages = prompt::files(places);
    messages.extend(work.messages);
    let mut asked = 0;
    loop {
        messages.extend(gate.start_completion(&system, &messages).await?);
        let (message, calls, asking) = reply(gate).await?;
        deadline += asking;
        messages.push(message);
        if calls.is_empty() {
            return Ok(Ending::Answered);
        }
        asked += u32::try_from(calls.len()).unwrap_or(u32::MAX);
        if asked > work.tool_calls {
            return Ok(Ending::TooManyCalls);
        }
        for released in calls {
            let (until, before) = (until(deadline, limits.get(&released.call.tool)), waited());
            let (result, asking) = one_call(gate, &released, places, way_out.as_ref(), until).await?;
            deadline += asking + waited().saturating_sub(before);
            messages.push(answer(&released, &result));
            if Instant::now() >= deadline {
                return Ok(Ending::TimedOut);
            }
        }
    }
}

/// Waits for the model's whole answer; says besides how long a person was asked, which is not the turn's time.
async fn reply(gate: &Gate) -> Result<(Message, Vec<Released>, Duration), RunnerFault> {
    let mut asking = Duration::ZERO;
    loop {
        let begun = Instant::now();
        match gate.poll_completion().await? {
            CompletionState::Waiting => {}
            CompletionState::Asking => asking += begun.elapsed(),
            CompletionState::Reply { message, calls, .. } => return Ok((message, calls.into_vec(), asking)),
        }
    }
}

/// When a call is stopped: at the turn's end, or earlier if its tool declares so.
fn until(deadline: Instant, limit: Option<&u32>) -> Instant {
    limit.map_or(deadline, |ms| deadline.min(Instant::now() + Duration::from_millis((*ms).into())))
}

/// Runs one call, or says why not; says besides how long a person was asked, which is not the turn's time.
async fn one_call(
    gate: &Gate,
    released: &Released,
    places: &Places,
    way_out: Option<&WayOut>,
    deadline: Instant,
) -> Result<(ToolResult, Duration), RunnerFault> {
    let call = &released.call;
    let refusal = match &released.verdict {
        CallVerdict::Run => None,
        CallVerdict::Refused(reason) => Some(format!("[REFUSED] {reason}")),
        // The gate settles every question before it gives a reply out.
        CallVerdict::Asking(_) => Some("[REFUSED] nobody has answered".to_owned()),
    };
    if let Some(refusal) = refusal {
        return Ok((result(released, Outcome::Blocked, &refusal), Duration::ZERO));
    }
    let failed = match tools::prepare(&call.tool, &call.args) {
        Ok(Prepared::Host) if call.tool.as_str() == SEND_FILE => {
            match file_to_send(&call.args, places, deadline) {
                Ok(bytes) => return at_gate(gate, call.id, Some(bytes)).await,
                Err(why) => format!("[ERROR] {why}"),
            }
        }
        Ok(Prepared::Host) => return at_gate(gate, call.id, None).await,
        Ok(Prepared::Jail(prepared)) => {
            let (lines, heard) = mpsc::channel(PROGRESS);
            match context(places, way_out, deadline, lines) {
                Ok(context) => return in_jail(gate, released, prepared, (context, heard)).await,
                Err(_) => "[ERROR] the workspace cannot be opened".to_owned(),
            }
        }
        Err(problem) => problem,
    };
    Ok((gate.result(result(released, Outcome::Error, &failed)).await?, Duration::ZERO))
}

/// Has the gate run a call, with the bytes of a file that it sends.
async fn at_gate(
    gate: &Gate,
    call: CallId,
    file: Option<Blob<SENT_BYTES>>,
) -> Result<(ToolResult, Duration), RunnerFault> {
    let mut asking = Duration::ZERO;
    loop {
        let begun = Instant::now();
        match gate.effect(call, file.clone()).await? {
            EffectState::Waiting => {}
            EffectState::Asking => asking += begun.elapsed(),
            EffectState::Done(result) => return Ok((result, asking)),
        }
    }
}

/// Runs a call here, and reports its progress.
async fn in_jail(
    gate: &Gate,
    released: &Released,
    prepared: Call,
    (context, heard): (Context, mpsc::Receiver<String>),
) -> Result<(ToolResult, Duration), RunnerFault> {
    let telling = tokio::task::spawn_local(report_progress(gate.clone(), released.call.id, heard));
    let outcome = tokio::task::spawn_blocking(move || prepared.run(&context)).await;
    drop(telling.await);
    watch::reap();
    Ok((gate.result(tool_result(released, outcome.ok())).await?, Duration::ZERO))
}

/// The bytes of the file that a call of `send_file` names.
fn file_to_send(args: &str, places: &Places, deadline: Instant) -> Result<Blob<SENT_BYTES>, String> {
    let args = toolset::parse_args(args)?;
    let path = args.get("path").and_then(Value::as_str).unwrap_or_default();
    let context = Context::open(&places.workspace, &places.readable(), &places.tmp, deadline);
    let bytes =
        context.and_then(|context| context.file(path, SENT_BYTES)).map_err(|fault| fault.to_string())?;
    Blob::new(bytes).map_err(|_| {
        format!("{path}: it has more than {SENT_BYTES} bytes; send a part of it, or a smaller form")
    })
}

fn context(
    places: &Places,
    way_out: Option<&WayOut>,
    deadline: Instant,
    lines: mpsc::Sender<String>,
) -> Result<Context, tools::ToolFault> {
    let mut context = Context::open(&places.workspace, &places.readable(), &places.tmp, deadline)?;
    context.abort = Abort::default();
    context.way_out = way_out.cloned();
    // A line that does not fit is a line that would have come too fast.
    context.progress = Box::new(move |line| drop(lines.try_send(line.to_owned())));
    Ok(context)
}

async fn report_progress(gate: Gate, call: CallId, mut lines: mpsc::Receiver<String>) {
    while let Some(line) = lines.recv().await {
        gate.progress(call, &line).await;
    }
}

fn result(released: &Released, outcome: Outcome, output: &str) -> ToolResult {
    ToolResult { call: released.call.id, outcome, output: Text::clip(output), duration_ms: 0, snapshot: None }
}

fn tool_result(released: &Released, outcome: Option<tools::Outcome>) -> ToolResult {
    let Some(outcome) = outcome else {
        return result(released, Outcome::Error, "[ERROR] the tool broke");
    };
    // A command that ended with another status than 0 was run as asked; failing tests are no failing tool.
    let how =
        if outcome.ok || outcome.error == Some("exit_status") { Outcome::Success } else { Outcome::Error };
    let mark = match (how, outcome.error) {
        (Outcome::Success, _) => "",
        (_, Some("timed_out")) => "[TIMEOUT] ",
        _ => "[ERROR] ",
    };
    let snapshot = outcome.state.as_ref().and_then(|state| serde_json::to_string(state).ok());
    ToolResult {
        duration_ms: outcome.duration_ms,
        snapshot: snapshot.and_then(|text| Text::new(text).ok()),
        ..result(released, how, &format!("{mark}{}", outcome.output))
    }
}

/// A tool's message in the conversation.
fn answer(released: &Released, result: &ToolResult) -> Message {
    Message { answers: Some(released.call.id), ..Message::text(Role::Tool, &result.output) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use manifest::command::Mode;
    use std::fs;

    // Holds B-192.
    #[test]
    fn a_file_to_send_is_one_of_the_workspace_within_its_bound() {
        let folder = tempfile::tempdir().unwrap();
        let places =
            Places { mode: Mode::Flat, workspace: folder.path().to_owned(), tmp: folder.path().to_owned() };
        fs::write(folder.path().join("fits"), vec![1; SENT_BYTES]).unwrap();
        fs::write(folder.path().join("over"), vec![1; SENT_BYTES + 1]).unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        let read = |path: &str| file_to_send(&format!(r#"{{"path":"{path}"}}"#), &places, deadline);
        assert_eq!(read("fits").unwrap().len(), SENT_BYTES);
        assert!(read("over").unwrap_err().contains("it has more than 2097152 bytes"));
        for outside in ["../x", "/etc/passwd", "none", "."] {
            assert!(read(outside).is_err(), "{outside}");
        }
    }
}
