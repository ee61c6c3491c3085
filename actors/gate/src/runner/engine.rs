//! A turn that an engine answers. The engine's text passes the scanner, is saved as steps of the turn, and only then shown. Its
//! tools run in its own jail, so no decision is made about them, but their use is on the record under the gate's ids. Everything
//! here comes from a jail: it is bounded, labelled as untrusted, and never obeyed.

use crate::decision::record;
use crate::effects::result::{CallOutput, accept_and_show};
use crate::inspection::{answer, display};
use crate::runner::progress::EngineProgress;
use crate::runner::steering;
use crate::state::context::GateContext;
use crate::state::elapsed::ms;
use crate::state::errors::{down, router_refusal};
use crate::turn::attempt::Attempt;
use crate::turn::{replay, steps};
use ipc_proto::audit::{Action, Result3};
use ipc_proto::engine::{EngineEvent, Input, STATE, Token};
use ipc_proto::ids::CallId;
use ipc_proto::router::{
    self, CallVerdict, Released, STEERING_BOUND, STEERING_MESSAGES, Step, Task, TurnEvent, Why,
};
use ipc_proto::runner_gate::GateError;
use ipc_proto::tool::{Outcome, ToolCall, ToolResult};
use ipc_proto::{Blob, List, Name, Text};
use std::time::Instant;

/// Open tools of one engine. Further ones are not reported.
const OPEN_TOOLS: usize = 16;

/// Steps of a turn after which no more tools are reported: router keeps 256, and each open tool takes one more.
const STEPS: u32 = 236;

/// Bytes of text between two tools. More is left out.
const TEXT_BETWEEN_TOOLS: usize = 512 * 1024;

/// Bytes of text of a turn over all attempts, after which only `TEXT_ALWAYS` is left between two tools: router returns the
/// replies of a turn in one frame.
const TEXT_OF_TURN: usize = 1024 * 1024;

/// Bytes of text between two tools for which there is always room.
const TEXT_ALWAYS: usize = 8 * 1024;

const LEFT_OUT: &str = "\n[more text was left out]\n";

/// Accepts the engine's events in order. Events after its answer are ignored.
pub(crate) async fn accept(
    gate: &GateContext,
    attempt: &mut Attempt,
    progress: &mut EngineProgress,
    events: Vec<EngineEvent>,
) -> Result<(), GateError> {
    if attempt.context.agent.engine.is_none() || attempt.context.turn.task != Task::Chat {
        return Err(GateError::OutOfTurn);
    }
    for event in events {
        if progress.answered {
            return Ok(());
        }
        // A later attempt is under way: no step of this one is saved beside it.
        if *attempt.replaced.borrow() {
            return Err(down("runner"));
        }
        accept_one(gate, attempt, progress, event).await?;
    }
    let Attempt { context, events, .. } = attempt;
    progress.reply_text.release(gate, context, events, false).await
}

async fn accept_one(
    gate: &GateContext,
    attempt: &mut Attempt,
    progress: &mut EngineProgress,
    event: EngineEvent,
) -> Result<(), GateError> {
    match event {
        EngineEvent::Started => {
            let discarded = progress.reply_text.discard();
            attempt.events.send(gate, discarded).await
        }
        EngineEvent::Text(text) => {
            push_text(progress, &text);
            Ok(())
        }
        EngineEvent::ToolStart { number, tool, args } => {
            tool_start(gate, attempt, progress, number, &tool, &args).await
        }
        EngineEvent::ToolProgress { number, line } => {
            tool_progress(gate, attempt, progress, number, &line).await
        }
        EngineEvent::ToolEnd { number, failed, output } => {
            let outcome = if failed { Outcome::Error } else { Outcome::Success };
            tool_end(gate, attempt, progress, number, outcome, &output).await
        }
        EngineEvent::Completed { text } => complete(gate, attempt, progress, &text).await,
        EngineEvent::Error(why) => {
            push_text(progress, &format!("\n[the engine reports: {why}]\n"));
            let Attempt { context, events, .. } = attempt;
            progress.reply_text.release(gate, context, events, true).await
        }
    }
}

/// Appends text. Beyond the bound a note replaces the rest.
fn push_text(progress: &mut EngineProgress, text: &str) {
    let most = TEXT_BETWEEN_TOOLS.min(TEXT_OF_TURN.saturating_sub(progress.text_bytes)).max(TEXT_ALWAYS);
    let reply_text = &mut progress.reply_text;
    let left = most.saturating_sub(reply_text.bytes());
    if text.len() < left {
        reply_text.push(text);
    } else if left > 0 {
        reply_text.push(text.get(..text.floor_char_boundary(left)).unwrap_or_default());
        reply_text.push(LEFT_OUT);
    }
}

/// The whole text since the last tool, without secrets and as it was shown.
async fn release_text(
    gate: &GateContext,
    attempt: &mut Attempt,
    progress: &mut EngineProgress,
) -> Result<String, GateError> {
    let Attempt { context, events, .. } = attempt;
    progress.reply_text.release(gate, context, events, true).await?;
    let spoken = progress.reply_text.take();
    let text = answer::release_shown(gate, context, events, &spoken).await?;
    // The engine may have written its own text into the workspace.
    context.raise_workspace();
    context.add_reply(&text);
    context.last_text.clone_from(&text);
    progress.text_bytes = progress.text_bytes.saturating_add(text.len());
    Ok(text)
}

/// Records and saves the use of a tool before it is shown.
async fn tool_start(
    gate: &GateContext,
    attempt: &mut Attempt,
    progress: &mut EngineProgress,
    number: u32,
    tool: &str,
    args: &str,
) -> Result<(), GateError> {
    if progress.open.contains_key(&number) {
        return Ok(());
    }
    if progress.open.len() >= OPEN_TOOLS || attempt.context.next_step >= STEPS {
        if std::mem::replace(&mut progress.announced_limit, true) {
            return Ok(());
        }
        let notice = "the engine uses more tools than are shown and kept; its turn goes on";
        return attempt.events.send(gate, [TurnEvent::Notice(Text::clip(notice))]).await;
    }
    let text = release_text(gate, attempt, progress).await?;
    let args = display::clean(gate, &attempt.context, args).await?;
    let tool =
        tool_name(attempt.context.agent.engine.as_ref().map_or("", |engine| engine.name.as_str()), tool);
    let call = ToolCall { id: CallId::random(), tool, args: Text::clip(&args) };
    let event = record::event(gate, &attempt.context, Action::ToolDecided, Result3::Success, &call);
    let record = gate.record(event.because("the engine's own, in its jail")).await?.index;
    let released = Released { call, verdict: CallVerdict::Run, record, why: Why::default() };
    let calls = List::clip([released.clone()]);
    let step = Step::Reply { text: Text::clip(&text), calls, thoughts: List::default() };
    steps::save(gate, &mut attempt.context, step).await?;
    kit::fault_point!("gate.engine.kept");
    attempt.context.calls.insert(released.clone(), None);
    let start = display::start(gate, &attempt.context, &released).await?;
    progress.open.insert(number, (released, Instant::now()));
    attempt.events.send(gate, [start]).await
}

/// The name of an engine's tool. A colon sets it apart from the host's own tools.
fn tool_name(engine: &str, tool: &str) -> Name {
    let plain = |c: char| if c.is_ascii_graphic() { c } else { '_' };
    Name::clip(&format!("{engine}:{}", tool.chars().map(plain).collect::<String>()))
}

async fn tool_progress(
    gate: &GateContext,
    attempt: &mut Attempt,
    progress: &mut EngineProgress,
    number: u32,
    line: &str,
) -> Result<(), GateError> {
    let Some((released, _)) = progress.open.get(&number) else { return Ok(()) };
    let call = released.call.id;
    let line = Text::clip(&display::clean(gate, &attempt.context, line).await?);
    attempt.events.send(gate, [TurnEvent::ToolProgress { call, line }]).await
}

async fn tool_end(
    gate: &GateContext,
    attempt: &mut Attempt,
    progress: &mut EngineProgress,
    number: u32,
    outcome: Outcome,
    output: &str,
) -> Result<(), GateError> {
    let Some((released, begun)) = progress.open.remove(&number) else { return Ok(()) };
    let duration_ms = ms(begun.elapsed());
    let call = released.call.id;
    let result = ToolResult { call, outcome, output: Text::clip(output), duration_ms, snapshot: None };
    accept_and_show(gate, attempt, &released, CallOutput::plain(result)).await.map(drop)
}

/// Completes the answer: the text since the last tool, or `whole` where there is none.
async fn complete(
    gate: &GateContext,
    attempt: &mut Attempt,
    progress: &mut EngineProgress,
    whole: &str,
) -> Result<(), GateError> {
    let open: Vec<(Released, Instant)> = progress.open.drain().map(|(_, tool)| tool).collect();
    for (released, _) in open {
        accept_and_show(gate, attempt, &released, CallOutput::plain(replay::unknown(&released))).await?;
    }
    if progress.reply_text.bytes() == 0 {
        push_text(progress, whole);
    }
    let text = release_text(gate, attempt, progress).await?;
    let step = Step::Reply { text: Text::clip(&text), calls: List::default(), thoughts: List::default() };
    steps::save(gate, &mut attempt.context, step).await?;
    kit::fault_point!("gate.engine.answered");
    progress.answered = true;
    Ok(())
}

/// Messages for an engine that accepts them while it runs; none once it has answered.
pub(crate) async fn steering(
    gate: &GateContext,
    attempt: &mut Attempt,
    progress: &mut EngineProgress,
) -> Result<List<Text<STEERING_BOUND>, STEERING_MESSAGES>, GateError> {
    let engine = attempt.context.agent.engine.as_ref();
    if engine.is_none_or(|it| it.input != Input::StreamJson) || attempt.context.turn.task != Task::Chat {
        return Err(GateError::OutOfTurn);
    }
    if progress.answered || attempt.context.next_step >= STEPS {
        return Ok(List::default());
    }
    steering::accept_messages(gate, attempt).await
}

/// Saves the engine's state for the next turn. This comes after the answer is saved, so that the state is never ahead of the
/// record.
pub(crate) async fn save_state(
    gate: &GateContext,
    attempt: &mut Attempt,
    progress: &mut EngineProgress,
    token: Token,
    state: Blob<STATE>,
) -> Result<(), GateError> {
    let may = progress.answered && !std::mem::replace(&mut progress.state_saved, true);
    let Some(engine) = attempt.context.agent.engine.as_ref().filter(|_| may) else {
        return Err(GateError::OutOfTurn);
    };
    let (turn, name) = (attempt.context.turn.id, &engine.name);
    let saved = gate.router.call(&router::method::keep_engine_state, |router, rpc| {
        let (name, token, state) = (name.clone(), token.clone(), state.clone());
        async move { router.keep_engine_state(rpc, turn, name, token, state).await }
    });
    saved.await.map_err(|_| down("router"))?.map_err(|error| router_refusal(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds P1-28.
    #[test]
    fn an_engine_s_tool_is_never_one_of_the_host_s_own() {
        assert_eq!(tool_name("codex", "bash").as_str(), "codex:bash");
        assert_eq!(tool_name("codex", "a b\u{1b}[1m").as_str(), "codex:a_b_[1m");
        assert!(toolset::specs().iter().all(|spec| !spec.name.contains(':')));
    }

    // Holds B-81.
    #[test]
    fn text_between_two_tools_is_bounded_and_says_that_it_was_cut() {
        let piece = "x".repeat(16_384);
        for (text_bytes, most) in [
            (0, TEXT_BETWEEN_TOOLS),
            (TEXT_OF_TURN - 100_000, 100_000),
            (TEXT_OF_TURN, TEXT_ALWAYS),
            (TEXT_OF_TURN * 2, TEXT_ALWAYS),
        ] {
            let mut progress = EngineProgress { text_bytes, ..EngineProgress::default() };
            (0..100).for_each(|_| push_text(&mut progress, &piece));
            assert_eq!(progress.reply_text.bytes(), most + LEFT_OUT.len(), "{text_bytes}");
        }
    }

    #[test]
    fn text_of_earlier_attempts_counts() {
        let text = Text::clip(&"x".repeat(1000));
        let reply = Step::Reply { text, calls: List::default(), thoughts: List::default() };
        assert_eq!(EngineProgress::after([reply.clone(), reply].iter()).text_bytes, 2000);
    }
}
