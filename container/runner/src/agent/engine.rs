//! A turn that an engine answers: its program is started with what it knows of the session, asked by its standard input,
//! and what it says is passed to the gate event by event. It is tried again only while no model has answered it. What it has
//! learned is kept once it has answered; it must never be given anything that another session left.

use super::program::Program;
use super::{LAST, LINGER, api, conversation, model, model_of, profile};
use crate::RunnerFault;
use crate::gate::Gate;
use crate::places::Places;
use engines::{End, Parser, state};
use ipc_proto::Blob;
use ipc_proto::engine::{self, EngineEvent, Format, TOKEN};
use ipc_proto::router::{TYPED_CHUNK, Typed};
use ipc_proto::runner_gate::{Ending, Work};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use runner::tools::limit;
use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher, Hasher};
use std::time::Duration;
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, sleep, sleep_until};

/// Programs that may fail one after another before the turn does.
const ERRORS: u32 = 3;
/// The first pause after a failure; each is twice the one before, up to the longest, and a tenth of it by chance.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);
/// How long a program that has answered may take to end.
const GOODBYE: Duration = Duration::from_secs(10);
/// Bytes at the end of its standard error that are told if it fails.
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
    let model = model_of(gate).await?;
    let wall = Instant::now() + Duration::from_millis(work.wall_ms.into());
    let turn = Turn { gate, work, engine, places, model: &model, wall };
    let (mut known, mut errors) = (engine.kept.is_some(), 0);
    loop {
        let failed = match turn.attempt(known).await? {
            Came::Over(ending) => return Ok(ending),
            Came::Failed(failed) => failed,
        };
        errors += 1;
        if failed.for_good || failed.acted || errors >= ERRORS {
            return Ok(Ending::EngineFailed { status: failed.status });
        }
        // A session that it does not know any more is refused like this; the conversation is told instead.
        known = false;
        tokio::select! {
            () = sleep(pause(errors)) => {}
            () = sleep_until(wall) => return Ok(Ending::TimedOut),
        }
    }
}

/// What one turn has.
struct Turn<'a> {
    gate: &'a Gate,
    work: &'a Work,
    engine: &'a engine::Work,
    places: &'a Places,
    model: &'a str,
    wall: Instant,
}

/// What an attempt came to.
enum Came {
    Over(Ending),
    Failed(Failed),
}

struct Failed {
    status: u8,
    /// Another try would come to the same.
    for_good: bool,
    /// It used a tool, or was answered by a model and may have used one: what that did is not done twice.
    acted: bool,
}

/// What a program has said.
struct Heard {
    parser: Parser,
    /// The end of its standard error.
    tail: Vec<u8>,
    spoke: bool,
    acted: bool,
}

impl Turn<'_> {
    /// One program, from its start to its end. `known`: it goes on with the session that it was in before.
    async fn attempt(&self, known: bool) -> Result<Came, RunnerFault> {
        let engine = &self.engine.engine;
        let known = self.lay_out(known)?;
        let mut environment = profile::prepare(engine.profile, self.model, self.places)?;
        if let Some((_, path)) = environment.iter_mut().find(|(name, _)| *name == "PATH") {
            // Behind those of the machine: where npm puts the programs of a folder.
            path.push_str(":/workspace/node_modules/.bin");
        }
        let rules = conversation::rules(&self.work.prompt);
        let told = profile::instruct(engine.profile, &rules, self.places)?;
        self.gate.engine(vec![EngineEvent::Started]).await?;
        let Some(program) = Program::start(&self.argv(known), None, &environment, self.places)? else {
            return Ok(Came::Over(Ending::NotStarted));
        };
        let question = conversation::question(self.work, self.engine, known, told);
        tokio::task::spawn_local(ask(program.input.clone(), question));
        let mut heard =
            Heard { parser: Parser::new(engine.format), tail: Vec::new(), spoke: false, acted: false };
        let status = match self.listen(program, &mut heard).await? {
            Ok(status) => status,
            Err(ending) => return Ok(Came::Over(ending)),
        };
        let last = heard.parser.finish();
        self.tell(&mut heard, last).await?;
        // What it left running would go on writing to what is kept of it.
        let _ = kill(Pid::from_raw(-1), Signal::SIGKILL);
        self.settle(&heard, status).await
    }

    /// Makes its home anew, with what it knows of the session; false if it is to know nothing.
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

    /// Passes on what it says until it has ended, and gives its status; or how the turn ends instead.
    async fn listen(&self, program: Program, heard: &mut Heard) -> Result<Result<u8, Ending>, RunnerFault> {
        let Program { mut output, input: _input, mut ended } = program;
        let idle = Duration::from_secs(self.engine.engine.idle_seconds.into());
        let (mut status, mut open, mut left) = (None, true, LAST);
        let (mut quiet, mut over) = (Instant::now() + idle, false);
        while status.is_none() || open {
            tokio::select! {
                piece = output.recv(), if open => match piece {
                    Some((error, piece)) => {
                        left = if status.is_some() { left.saturating_sub(piece.len()) } else { left };
                        open = left > 0;
                        self.hear(heard, error, &piece).await?;
                        // Once it has ended by its own word, what it goes on saying keeps nobody waiting.
                        if status.is_none() && !over {
                            over = heard.parser.end().is_some();
                            quiet = Instant::now() + if over { GOODBYE } else { idle };
                        }
                    }
                    None => open = false,
                },
                code = &mut ended, if status.is_none() => {
                    status = Some(code.unwrap_or(u8::MAX));
                    quiet = Instant::now() + LINGER;
                }
                () = sleep_until(quiet) => match (status, heard.parser.end()) {
                    (None, None) => return Ok(Err(Ending::EngineIdle)),
                    // It has said all that it has to say.
                    (status, _) => return Ok(Ok(status.unwrap_or_default())),
                },
                () = sleep_until(self.wall) => return Ok(Err(Ending::TimedOut)),
            }
        }
        Ok(Ok(status.unwrap_or_default()))
    }

    async fn hear(&self, heard: &mut Heard, error: bool, piece: &[u8]) -> Result<(), RunnerFault> {
        if error {
            heard.tail.extend_from_slice(piece);
            let over = heard.tail.len().saturating_sub(TAIL);
            heard.tail.drain(..over);
            return Ok(());
        }
        let events = heard.parser.push(piece);
        self.tell(heard, events).await
    }

    async fn tell(&self, heard: &mut Heard, events: Vec<EngineEvent>) -> Result<(), RunnerFault> {
        heard.spoke |= events.iter().any(|event| matches!(event, EngineEvent::Text(_)));
        heard.acted |= events.iter().any(|event| matches!(event, EngineEvent::ToolStart { .. }));
        self.gate.engine(events).await
    }

    /// The end of a program: its answer, with what it has learned; or why there is none.
    async fn settle(&self, heard: &Heard, status: u8) -> Result<Came, RunnerFault> {
        // Some formats have no word for the end, and with any an end in peace after some text is an answer.
        let silent = matches!(self.engine.engine.format, Format::Opencode | Format::Text);
        let (why, for_good) = match heard.parser.end() {
            Some(End::Completed(text)) => return self.answered(heard, text).await,
            None if status == 0 && (silent || heard.spoke) => return self.answered(heard, "").await,
            Some(End::Failed { why, for_good }) => (why.to_string(), *for_good),
            None => (self.reason(heard, status), matches!(status, 126 | 127)),
        };
        self.gate.engine(vec![EngineEvent::Error(ipc_proto::Text::clip(&why))]).await?;
        let acted = heard.acted || model::begun() > 0;
        Ok(Came::Failed(Failed { status, for_good, acted }))
    }

    fn reason(&self, heard: &Heard, status: u8) -> String {
        if let Some(reached) = limit::reached(status.into()) {
            return format!("ended because {}", reached.sentence());
        }
        let tail = String::from_utf8_lossy(&heard.tail);
        match heard.parser.trouble().unwrap_or_else(|| tail.trim()) {
            "" => format!("status {status}, and no word of why"),
            why => why.to_owned(),
        }
    }

    async fn answered(&self, heard: &Heard, text: &str) -> Result<Came, RunnerFault> {
        let text = ipc_proto::Text::clip(text);
        self.gate.engine(vec![EngineEvent::Completed { text }]).await?;
        let engine = &self.engine.engine;
        if let Some(token) = heard.parser.token().filter(|_| !engine.resume.is_empty()) {
            let keeps = engine.keeps.iter().map(|path| path.as_str());
            if let Some(state) = state::pack(&profile::home(self.places), keeps) {
                self.gate.keep(token.clone(), state).await?;
            }
        }
        Ok(Came::Over(Ending::Answered))
    }
}

/// Types the question, and that there is no more.
async fn ask(input: Sender<Typed>, question: String) {
    for piece in question.as_bytes().chunks(TYPED_CHUNK) {
        let Ok(piece) = Blob::new(piece) else { return };
        if input.send(Typed::Bytes(piece)).await.is_err() {
            return;
        }
    }
    drop(input.send(Typed::End).await);
}

fn pause(errors: u32) -> Duration {
    let pause = PAUSE.saturating_mul(1 << errors.saturating_sub(1).min(8)).min(LONGEST);
    let chance = u32::try_from(RandomState::new().build_hasher().finish() % 100).unwrap_or_default();
    pause + pause * chance / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_with_a_tenth_by_chance() {
        for (errors, seconds) in [(1, 1), (2, 2), (3, 4), (6, 30), (40, 30)] {
            let least = Duration::from_secs(seconds);
            let pause = pause(errors);
            assert!(pause >= least && pause < least + least / 10, "{errors}: {pause:?}");
        }
    }
}
