//! A turn that an engine answers, as the gate tells it: what the program says passes the scanner, is kept as the steps of the
//! turn, and only then shown. Its tools are its own and run in its jail, so nothing is decided of them; that it used them is
//! on the record under ids of ours. Everything here is a jail's word: bounded, labelled as untrusted, and obeyed by nobody.

use crate::answer::{self, Given};
use crate::connection::{Active, take_result};
use crate::decide;
use crate::host::{Shared, down, refused};
use crate::speech::{Speech, text_events};
use crate::{replay, showing, words};
use ipc_proto::audit::{Action, Result3};
use ipc_proto::engine::{EngineEvent, Input, STATE, Token};
use ipc_proto::ids::CallId;
use ipc_proto::router::{self, CallVerdict, Released, Step, Task, TurnEvent, WORDS, WORDS_BOUND, Why};
use ipc_proto::runner_gate::GateError;
use ipc_proto::tool::{Outcome, ToolCall, ToolResult};
use ipc_proto::{Blob, List, Name, Text};
use std::collections::HashMap;
use std::time::Instant;

/// Tools of one engine that are under way at once; more are not told of.
const OPEN: usize = 16;
/// Steps of a turn beyond which no more tools are told of: router keeps 256, and each that is open takes one more.
const STEPS: u32 = 236;
/// Bytes of text between two tools; more is left out.
const TEXT: usize = 512 * 1024;
/// Bytes of text of a turn, all attempts together, after which there is room for the least alone: router gives a turn's
/// replies out whole, in one frame.
const WHOLE: usize = 1024 * 1024;
/// Bytes of text between two tools that there is always room for.
const LEAST: usize = 8 * 1024;
const LEFT_OUT: &str = "\n[more text was left out]\n";

/// What an engine does in one turn.
#[derive(Debug, Default)]
pub(crate) struct Telling {
    speech: Speech,
    /// Tools that are under way.
    open: HashMap<u32, (Released, Instant)>,
    /// The person was told that some tools are not told of.
    full: bool,
    answered: bool,
    /// What it knows of the session was taken: once a turn.
    kept: bool,
    /// Bytes of text that are kept of the turn.
    told: usize,
}

impl Telling {
    /// Goes on behind the steps of earlier attempts.
    pub(crate) fn after<'a>(steps: impl Iterator<Item = &'a Step>) -> Self {
        let bytes = |step: &Step| if let Step::Reply { text, .. } = step { text.len() } else { 0 };
        Self { told: steps.map(bytes).sum(), ..Self::default() }
    }
}

/// Takes what it does, in order. What comes after its answer is no part of it.
pub(crate) async fn tell(
    shared: &Shared,
    active: &mut Active,
    events: Vec<EngineEvent>,
) -> Result<(), GateError> {
    if active.context.agent.engine.is_none() || active.context.turn.task != Task::Chat {
        return Err(GateError::OutOfTurn);
    }
    for event in events {
        if active.telling.answered {
            return Ok(());
        }
        // A later attempt is under way: nothing of this one is kept beside it.
        if *active.replaced.borrow() {
            return Err(down("runner"));
        }
        one(shared, active, event).await?;
    }
    let Active { context, teller, telling, .. } = active;
    telling.speech.let_go(shared, context, teller, false).await
}

async fn one(shared: &Shared, active: &mut Active, event: EngineEvent) -> Result<(), GateError> {
    match event {
        EngineEvent::Started => {
            let void = active.telling.speech.void();
            active.teller.tell(shared, void).await
        }
        EngineEvent::Text(text) => {
            say(&mut active.telling, &text);
            Ok(())
        }
        EngineEvent::ToolStart { number, tool, args } => begin(shared, active, number, &tool, &args).await,
        EngineEvent::ToolProgress { number, line } => progress(shared, active, number, &line).await,
        EngineEvent::ToolEnd { number, failed, output } => {
            let outcome = if failed { Outcome::Error } else { Outcome::Success };
            end(shared, active, number, outcome, &output).await
        }
        EngineEvent::Completed { text } => complete(shared, active, &text).await,
        EngineEvent::Error(why) => {
            say(&mut active.telling, &format!("\n[the engine reports: {why}]\n"));
            let Active { context, teller, telling, .. } = active;
            telling.speech.let_go(shared, context, teller, true).await
        }
    }
}

/// Once there is too much, that is said in place of all that follows.
fn say(telling: &mut Telling, text: &str) {
    let most = TEXT.min(WHOLE.saturating_sub(telling.told)).max(LEAST);
    let speech = &mut telling.speech;
    let left = most.saturating_sub(speech.bytes());
    if text.len() < left {
        speech.push(text);
    } else if left > 0 {
        speech.push(text.get(..text.floor_char_boundary(left)).unwrap_or_default());
        speech.push(LEFT_OUT);
    }
}

/// The text since the last tool, whole: cut where something must not leave, and shown as it is then.
async fn text(shared: &Shared, active: &mut Active) -> Result<String, GateError> {
    let Active { context, teller, telling, .. } = active;
    telling.speech.let_go(shared, context, teller, true).await?;
    let said = telling.speech.take();
    let text = answer::release(shared, context, said.clone()).await?;
    if text != said {
        let again = std::iter::once(TurnEvent::Again).chain(text_events(&text));
        teller.tell(shared, again).await?;
    }
    // What it says it may have written down as well.
    context.workspace_label = context.workspace_label.join(&context.session.label);
    context.said(&text);
    context.last_text.clone_from(&text);
    telling.told = telling.told.saturating_add(text.len());
    Ok(text)
}

/// It uses a tool of its own: on the record and kept before it is shown.
async fn begin(
    shared: &Shared,
    active: &mut Active,
    number: u32,
    tool: &str,
    args: &str,
) -> Result<(), GateError> {
    let telling = &mut active.telling;
    if telling.open.contains_key(&number) {
        return Ok(());
    }
    if telling.open.len() >= OPEN || active.context.next_step >= STEPS {
        if std::mem::replace(&mut telling.full, true) {
            return Ok(());
        }
        let notice = "the engine uses more tools than are shown and kept; its turn goes on";
        return active.teller.tell(shared, [TurnEvent::Notice(Text::clip(notice))]).await;
    }
    let text = text(shared, active).await?;
    let args = showing::clean(shared, &active.context, args).await?;
    let tool = name(active.context.agent.engine.as_ref().map_or("", |engine| engine.name.as_str()), tool);
    let call = ToolCall { id: CallId::random(), tool, args: Text::clip(&args) };
    let event = decide::event(shared, &active.context, Action::ToolDecided, Result3::Success, &call);
    let record = shared.record(event.because("the engine's own, in its jail")).await?.index;
    let released = Released { call, verdict: CallVerdict::Run, record, why: Why::default() };
    let calls = List::clip([released.clone()]);
    let step = Step::Reply { text: Text::clip(&text), calls, thoughts: List::default() };
    answer::keep(shared, &mut active.context, step).await?;
    kit::fault_point!("gate.engine.kept");
    active.context.calls.insert(released.call.id, (released.clone(), None));
    let start = showing::start(shared, &active.context, &released).await?;
    active.telling.open.insert(number, (released, Instant::now()));
    active.teller.tell(shared, [start]).await
}

/// An engine's tool among the host's own, none of which has a colon in its name.
fn name(engine: &str, tool: &str) -> Name {
    let plain = |c: char| if c.is_ascii_graphic() { c } else { '_' };
    Name::clip(&format!("{engine}:{}", tool.chars().map(plain).collect::<String>()))
}

async fn progress(shared: &Shared, active: &mut Active, number: u32, line: &str) -> Result<(), GateError> {
    let Some((released, _)) = active.telling.open.get(&number) else { return Ok(()) };
    let call = released.call.id;
    let line = Text::clip(&showing::clean(shared, &active.context, line).await?);
    active.teller.tell(shared, [TurnEvent::ToolProgress { call, line }]).await
}

async fn end(
    shared: &Shared,
    active: &mut Active,
    number: u32,
    outcome: Outcome,
    output: &str,
) -> Result<(), GateError> {
    let Some((released, begun)) = active.telling.open.remove(&number) else { return Ok(()) };
    let duration_ms = u32::try_from(begun.elapsed().as_millis()).unwrap_or(u32::MAX);
    let call = released.call.id;
    let result = ToolResult { call, outcome, output: Text::clip(output), duration_ms, snapshot: None };
    take_result(shared, active, &released, Given::plain(result)).await.map(drop)
}

/// It has answered: with the text since its last tool, or with what it says once more where there is none.
async fn complete(shared: &Shared, active: &mut Active, whole: &str) -> Result<(), GateError> {
    let open: Vec<(Released, Instant)> = active.telling.open.drain().map(|(_, tool)| tool).collect();
    for (released, _) in open {
        take_result(shared, active, &released, Given::plain(replay::unknown(&released))).await?;
    }
    if active.telling.speech.bytes() == 0 {
        say(&mut active.telling, whole);
    }
    let text = text(shared, active).await?;
    let step = Step::Reply { text: Text::clip(&text), calls: List::default(), thoughts: List::default() };
    answer::keep(shared, &mut active.context, step).await?;
    kit::fault_point!("gate.engine.answered");
    active.telling.answered = true;
    Ok(())
}

/// What was said into its turn, for an engine that takes it in on its way; nothing once it has answered.
pub(crate) async fn words(
    shared: &Shared,
    active: &mut Active,
) -> Result<List<Text<WORDS_BOUND>, WORDS>, GateError> {
    let engine = active.context.agent.engine.as_ref();
    if engine.is_none_or(|it| it.input != Input::StreamJson) || active.context.turn.task != Task::Chat {
        return Err(GateError::OutOfTurn);
    }
    if active.telling.answered || active.context.next_step >= STEPS {
        return Ok(List::default());
    }
    words::take_in(shared, active).await
}

/// Keeps what it needs to go on with the session, once its answer is kept: what it knows is never ahead of what is told.
pub(crate) async fn keep(
    shared: &Shared,
    active: &mut Active,
    token: Token,
    state: Blob<STATE>,
) -> Result<(), GateError> {
    let may = active.telling.answered && !std::mem::replace(&mut active.telling.kept, true);
    let Some(engine) = active.context.agent.engine.as_ref().filter(|_| may) else {
        return Err(GateError::OutOfTurn);
    };
    let (turn, name) = (active.context.turn.id, &engine.name);
    let kept = shared.router.call(&router::method::keep_engine_state, |router, rpc| {
        let (name, token, state) = (name.clone(), token.clone(), state.clone());
        async move { router.keep_engine_state(rpc, turn, name, token, state).await }
    });
    kept.await.map_err(|_| down("router"))?.map_err(|error| refused(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds P1-28.
    #[test]
    fn an_engine_s_tool_is_never_one_of_the_host_s_own() {
        assert_eq!(name("codex", "bash").as_str(), "codex:bash");
        assert_eq!(name("codex", "a b\u{1b}[1m").as_str(), "codex:a_b_[1m");
        assert!(toolset::specs().iter().all(|spec| !spec.name.contains(':')));
    }

    // Holds B-81.
    #[test]
    fn text_between_two_tools_is_bounded_and_says_that_it_was_cut() {
        let piece = "x".repeat(16_384);
        for (told, most) in [(0, TEXT), (WHOLE - 100_000, 100_000), (WHOLE, LEAST), (WHOLE * 2, LEAST)] {
            let mut telling = Telling { told, ..Telling::default() };
            (0..100).for_each(|_| say(&mut telling, &piece));
            assert_eq!(telling.speech.bytes(), most + LEFT_OUT.len(), "{told}");
        }
    }

    #[test]
    fn text_of_earlier_attempts_counts() {
        let text = Text::clip(&"x".repeat(1000));
        let reply = Step::Reply { text, calls: List::default(), thoughts: List::default() };
        assert_eq!(Telling::after([reply.clone(), reply].iter()).told, 2000);
    }
}
