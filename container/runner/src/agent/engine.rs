//! A turn that an engine answers: its program is started with its state of the session, asked by its standard input,
//! and its output is passed to the gate event by event. Messages that its person sends meanwhile are typed for it,
//! where it takes them. It is tried again only while no model has answered it. Its new state is stored once it has
//! answered; it must never get anything that another session left.

use super::program::{Program, clear};
use super::{LAST, LINGER, api, conversation, model, model_of, profile, way_out};
use crate::RunnerFault;
use crate::command::unrunnable;
use crate::egress;
use crate::gate::Gate;
use crate::places::Places;
use engines::{End, Parser, state};
use ipc_proto::Blob;
use ipc_proto::engine::{self, EngineEvent, Format, Input, STATE, TOKEN, Token};
use ipc_proto::router::{TYPED_CHUNK, Typed};
use ipc_proto::runner_gate::{Ending, Work};
use runner::tools::limit;
use std::cell::RefCell;
use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::path::Path;
use std::time::Duration;
use tokio::sync::mpsc::Sender;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until};

/// Programs that may fail one after another before the turn does.
const ERRORS: u32 = 3;
/// The first pause after a failure; each is twice the one before, up to the longest, and a tenth of it by chance.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);
/// How long a program that has answered may take to end.
const GOODBYE: Duration = Duration::from_secs(10);
/// The interval of asking for the person's further messages.
const LISTEN: Duration = Duration::from_secs(1);
/// Bytes at the end of its standard error that are reported if it fails.
const TAIL: usize = 1024;

/// Runs it.
pub(crate) async fn run(
    gate: &Gate,
    work: &Work,
    engine: &engine::Work,
    places: &Places,
) -> Result<Ending, RunnerFault> {
    limit::begin();
    api::open(gate.clone()).await?;
    let authority = way_out(gate, work, places).await?;
    let model = model_of(gate).await?;
    let wall = Instant::now() + Duration::from_millis(work.wall_ms.into());
    let said = RefCell::default();
    let authority = authority.as_deref();
    let turn = Turn { gate, work, engine, places, authority, model: &model, wall, said };
    let (mut known, mut errors) = (engine.kept.is_some(), 0);
    loop {
        let failed = match turn.attempt(known).await? {
            AttemptOutcome::Over(ending) => return Ok(ending),
            AttemptOutcome::Failed(failed) => failed,
        };
        errors += 1;
        if failed.for_good || failed.acted || errors >= ERRORS {
            return Ok(Ending::EngineFailed { status: failed.status });
        }
        // An unknown session is refused like this; the prompt then holds the conversation.
        known = false;
        tokio::select! {
            () = sleep(pause(errors)) => {}
            () = sleep_until(wall) => return Ok(Ending::TimedOut),
        }
    }
}

/// The parts that one turn has.
struct Turn<'a> {
    gate: &'a Gate,
    work: &'a Work,
    engine: &'a engine::Work,
    places: &'a Places,
    /// The file of the authority that its program is to believe, where the jail has a way out.
    authority: Option<&'a Path>,
    model: &'a str,
    wall: Instant,
    /// The messages that were sent into the turn: a program that is started after another one gets them as well.
    said: RefCell<Vec<String>>,
}

/// The outcome of an attempt.
enum AttemptOutcome {
    Over(Ending),
    Failed(AttemptFailure),
}

struct AttemptFailure {
    status: u8,
    /// Another try would end the same.
    for_good: bool,
    /// It used a tool, or was answered by a model and may have used one: its effects must not happen twice.
    acted: bool,
}

/// The output of a program so far.
struct Progress {
    parser: Parser,
    /// The end of its standard error.
    tail: Vec<u8>,
    spoke: bool,
    acted: bool,
    /// The number of texts that were typed for it: its question, and later messages.
    typed: u32,
    /// The last text that is being typed: the next one waits for it, or one would stand in the middle of the other.
    typing: Option<JoinHandle<()>>,
    /// Something that it left running is still there.
    left: bool,
}

impl Progress {
    /// It has ended by its own word, and nothing was typed that it has not taken in.
    fn is_over(&self) -> bool {
        match self.parser.end() {
            // One that says again nothing at all has its question, or it would not have answered.
            Some(End::Completed(_)) => self.parser.inputs_taken().max(1) >= self.typed,
            Some(End::Failed { .. }) => true,
            None => false,
        }
    }
}

impl Turn<'_> {
    /// One program, from its start to its end. `known`: it goes on with the session that it was in before.
    async fn attempt(&self, known: bool) -> Result<AttemptOutcome, RunnerFault> {
        let engine = &self.engine.engine;
        let known = self.lay_out(known)?;
        let mut environment: Vec<(&str, String)> =
            profile::prepare(engine.profile, self.model, self.places, self.authority)?;
        if let Some((_, path)) = environment.iter_mut().find(|(name, _)| *name == "PATH") {
            // Behind those of the machine: where npm puts the programs of a folder.
            path.push_str(":/workspace/node_modules/.bin");
        }
        environment.extend(egress::placeholders(self.work));
        let rules = conversation::rules(&self.work.prompt);
        let told = profile::instruct(engine.profile, &rules, self.places)?;
        self.gate.engine(vec![EngineEvent::Started]).await?;
        let argv = self.argv(known);
        let program = match Program::start(&argv, None, &environment, self.places)? {
            Ok(program) => program,
            Err(cause) => return self.not_run(argv.first().map_or("", String::as_str), &cause).await,
        };
        let question = conversation::question(self.work, self.engine, (known, told), &self.said.borrow());
        let (question, typed) = match engine.input {
            Input::Text => (question, 0),
            Input::StreamJson => (conversation::line(&question), 1),
        };
        let typing = Some(tokio::task::spawn_local(ask(None, program.input.clone(), question, engine.input)));
        let parser = Parser::new(engine.format);
        let mut progress =
            Progress { parser, tail: Vec::new(), spoke: false, acted: false, typed, typing, left: false };
        let status = match self.listen(program, &mut progress).await? {
            Ok(status) => status,
            Err(ending) => return Ok(AttemptOutcome::Over(ending)),
        };
        let last = progress.parser.finish();
        self.send_events(&mut progress, last).await?;
        progress.left = !clear().await;
        self.settle(&progress, status).await
    }

    /// Says which program could not be run and why; another try would find the same.
    async fn not_run(&self, program: &str, cause: &io::Error) -> Result<AttemptOutcome, RunnerFault> {
        let Some((status, why)) = unrunnable(cause) else {
            return Ok(AttemptOutcome::Over(Ending::NotStarted));
        };
        let why = ipc_proto::Text::clip(&format!("{program}: {why}"));
        self.gate.engine(vec![EngineEvent::Error(why)]).await?;
        Ok(AttemptOutcome::Failed(AttemptFailure { status, for_good: true, acted: false }))
    }

    /// Makes its home anew, with its state of the session; false if it is to have none.
    fn lay_out(&self, known: bool) -> Result<bool, RunnerFault> {
        let home = profile::home(self.places);
        drop(fs::remove_dir_all(&home));
        fs::create_dir_all(&home)?;
        let Some(kept) = self.engine.kept.as_ref().filter(|_| known) else { return Ok(false) };
        if state::unpack(&home, &kept.state).is_ok() {
            return Ok(true);
        }
        drop(fs::remove_dir_all(&home));
        fs::create_dir_all(&home)?;
        Ok(false)
    }

    fn argv(&self, known: bool) -> Vec<String> {
        let engine = &self.engine.engine;
        let mut argv: Vec<String> = engine.command.iter().map(ToString::to_string).collect();
        if let Some(kept) = self.engine.kept.as_ref().filter(|_| known) {
            // A dash at the end says that the question comes by standard input, and stands behind everything.
            let dash = if argv.last().is_some_and(|word| word == "-") { argv.pop() } else { None };
            argv.extend(engine.resume.iter().map(|word| word.replace(TOKEN, &kept.token)));
            argv.extend(dash);
        }
        argv
    }

    /// Passes its output on until it has ended, and returns its status; or how the turn ends instead.
    async fn listen(
        &self,
        program: Program,
        progress: &mut Progress,
    ) -> Result<Result<u8, Ending>, RunnerFault> {
        let Program { mut output, input, mut ended } = program;
        // Closed once it has answered all that was typed.
        let mut input = (self.engine.engine.input == Input::StreamJson).then_some(input);
        let idle = Duration::from_secs(self.engine.engine.idle_seconds.into());
        let (mut status, mut open, mut left) = (None, true, LAST);
        let (mut quiet, mut over) = (Instant::now() + idle, false);
        let mut listen = Instant::now() + LISTEN;
        while status.is_none() || open {
            tokio::select! {
                piece = output.recv(), if open => match piece {
                    Some((error, piece)) => {
                        left = if status.is_some() { left.saturating_sub(piece.len()) } else { left };
                        open = left > 0;
                        self.take_output(progress, error, &piece).await?;
                        // Once it has ended by its own word, further output keeps nobody waiting.
                        if status.is_none() && !over {
                            over = progress.is_over() && !self.pass_on(progress, &mut input, true).await?;
                            quiet = Instant::now() + if over { GOODBYE } else { idle };
                        }
                    }
                    None => open = false,
                },
                code = &mut ended, if status.is_none() => {
                    status = Some(code.unwrap_or(u8::MAX));
                    quiet = Instant::now() + LINGER;
                }
                () = sleep_until(listen), if input.is_some() && status.is_none() => {
                    self.pass_on(progress, &mut input, false).await?;
                    listen = Instant::now() + LISTEN;
                }
                () = sleep_until(quiet) => match (status, progress.parser.end()) {
                    (None, None) => return Ok(Err(Ending::EngineIdle)),
                    // It has said all that it has to say.
                    (status, _) => return Ok(Ok(status.unwrap_or_default())),
                },
                () = sleep_until(self.wall) => return Ok(Err(Ending::TimedOut)),
            }
        }
        Ok(Ok(status.unwrap_or_default()))
    }

    /// Types the messages that were sent into the turn; returns true if there were any. If there were none, and the
    /// program is `over`, no more is typed: later messages are the session's next.
    async fn pass_on(
        &self,
        progress: &mut Progress,
        input: &mut Option<Sender<Typed>>,
        over: bool,
    ) -> Result<bool, RunnerFault> {
        let Some(to) = input.clone() else { return Ok(false) };
        let messages = self.gate.messages().await?;
        if messages.is_empty() {
            if over {
                *input = None;
                let before = progress.typing.take();
                progress.typing = Some(tokio::task::spawn_local(async move {
                    ended(before).await;
                    drop(to.send(Typed::End).await);
                }));
            }
            return Ok(false);
        }
        let said: Vec<String> = messages.iter().map(ToString::to_string).collect();
        let lines: String = said.iter().map(|text| conversation::line(text)).collect();
        progress.typed = progress.typed.saturating_add(u32::try_from(said.len()).unwrap_or(u32::MAX));
        self.said.borrow_mut().extend(said);
        let before = progress.typing.take();
        progress.typing = Some(tokio::task::spawn_local(ask(before, to, lines, Input::StreamJson)));
        Ok(true)
    }

    async fn take_output(
        &self,
        progress: &mut Progress,
        error: bool,
        piece: &[u8],
    ) -> Result<(), RunnerFault> {
        if error {
            progress.tail.extend_from_slice(piece);
            let over = progress.tail.len().saturating_sub(TAIL);
            progress.tail.drain(..over);
            return Ok(());
        }
        let events = progress.parser.push(piece);
        self.send_events(progress, events).await
    }

    async fn send_events(
        &self,
        progress: &mut Progress,
        events: Vec<EngineEvent>,
    ) -> Result<(), RunnerFault> {
        progress.spoke |= events.iter().any(|event| matches!(event, EngineEvent::Text(_)));
        progress.acted |= events.iter().any(|event| matches!(event, EngineEvent::ToolStart { .. }));
        self.gate.engine(events).await
    }

    /// The end of a program: its answer, with its new state; or why there is none.
    async fn settle(&self, progress: &Progress, status: u8) -> Result<AttemptOutcome, RunnerFault> {
        // Some formats have no word for the end, and with any an end in peace after some text is an answer.
        let silent = matches!(self.engine.engine.format, Format::Opencode | Format::Text);
        let (why, for_good) = match progress.parser.end() {
            Some(End::Completed(text)) if progress.is_over() => return self.answered(progress, text).await,
            None if status == 0 && (silent || progress.spoke) => return self.answered(progress, "").await,
            Some(End::Failed { why, for_good }) if why.trim().is_empty() => {
                (self.reason(progress, status), *for_good)
            }
            Some(End::Failed { why, for_good }) => (why.to_string(), *for_good),
            Some(End::Completed(_)) => {
                ("it ended before it took in what was said meanwhile".to_owned(), false)
            }
            None => (self.reason(progress, status), matches!(status, 126 | 127)),
        };
        self.gate.engine(vec![EngineEvent::Error(ipc_proto::Text::clip(&why))]).await?;
        let acted = progress.acted || model::begun() > 0;
        Ok(AttemptOutcome::Failed(AttemptFailure { status, for_good, acted }))
    }

    fn reason(&self, progress: &Progress, status: u8) -> String {
        if let Some(reached) = limit::reached(status.into()) {
            return format!("ended because {}", reached.sentence());
        }
        let tail = String::from_utf8_lossy(&progress.tail);
        match progress.parser.trouble().unwrap_or_else(|| tail.trim()) {
            "" => format!("status {status}, and no word of why"),
            why => why.to_owned(),
        }
    }

    async fn answered(&self, progress: &Progress, text: &str) -> Result<AttemptOutcome, RunnerFault> {
        let text = ipc_proto::Text::clip(text);
        self.gate.engine(vec![EngineEvent::Completed { text }]).await?;
        match self.learned(progress) {
            Some((token, state)) => self.gate.save_engine_state(token, state).await?,
            // The state of an earlier turn is dropped; else it would be laid out each time for less and less.
            None if self.engine.kept.is_some() => {
                self.gate.save_engine_state(Token::default(), Blob::default()).await?;
            }
            None => {}
        }
        Ok(AttemptOutcome::Over(Ending::Answered))
    }

    /// The state that the engine needs to go on with the session; none where it cannot be had whole.
    fn learned(&self, progress: &Progress) -> Option<(Token, Blob<STATE>)> {
        let engine = &self.engine.engine;
        let token = progress.parser.token().filter(|_| !engine.resume.is_empty() && !progress.left)?;
        let keeps = engine.keeps.iter().map(|path| path.as_str());
        Some((token.clone(), state::pack(&profile::home(self.places), keeps)?))
    }
}

/// Waits until the text before is typed.
async fn ended(before: Option<JoinHandle<()>>) {
    if let Some(before) = before {
        drop(before.await);
    }
}

/// Types the question once the text `before` it is typed, and closes the input where no more can come.
async fn ask(before: Option<JoinHandle<()>>, input: Sender<Typed>, question: String, form: Input) {
    ended(before).await;
    for piece in question.as_bytes().chunks(TYPED_CHUNK) {
        let Ok(piece) = Blob::new(piece) else { return };
        if input.send(Typed::Bytes(piece)).await.is_err() {
            return;
        }
    }
    if form == Input::Text {
        drop(input.send(Typed::End).await);
    }
}

fn pause(errors: u32) -> Duration {
    let pause = PAUSE.saturating_mul(1 << errors.saturating_sub(1).min(8)).min(LONGEST);
    let chance = u32::try_from(RandomState::new().build_hasher().finish() % 100).unwrap_or_default();
    pause + pause * chance / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_typed_next_does_not_stand_in_the_middle_of_what_is_typed_still() {
        let (input, mut typed) = tokio::sync::mpsc::channel(1);
        let typing = async move {
            let long = "a".repeat(3 * TYPED_CHUNK);
            let first = tokio::task::spawn_local(ask(None, input.clone(), long, Input::StreamJson));
            let next = tokio::task::spawn_local(ask(Some(first), input, "b".to_owned(), Input::StreamJson));
            let mut said = Vec::new();
            while let Some(Typed::Bytes(bytes)) = typed.recv().await {
                said.extend_from_slice(&bytes);
            }
            next.await.unwrap();
            assert_eq!(said.len(), 3 * TYPED_CHUNK + 1);
            assert!(said.ends_with(b"ab"));
        };
        tokio::task::LocalSet::new().run_until(typing).await;
    }

    // Holds B-79.
    #[test]
    fn pauses_double_up_to_the_longest_with_a_tenth_by_chance() {
        for (errors, seconds) in [(1, 1), (2, 2), (3, 4), (6, 30), (40, 30)] {
            let least = Duration::from_secs(seconds);
            let pause = pause(errors);
            assert!(pause >= least && pause < least + least / 10, "{errors}: {pause:?}");
        }
    }
}
