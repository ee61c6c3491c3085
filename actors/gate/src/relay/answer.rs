//! One answer that is passed through to a client of the API. Text goes on as the scanner lets it; the calls that it asks
//! for go on at its end, each whole, valid and scanned, and never a fragment before. It must never give out anything
//! that the scanner has not seen, nor begin again once somebody has heard some of it.

mod decided;
mod pieces;

use decided::paid;
pub(crate) use decided::{Decided, Decision};

use super::around::Around;
use super::rates::Load;
use crate::assemble::{Assembly, Step, in_pieces};
use crate::scan::consume;
use crate::source::{AGAIN, Pulled, untrue};
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::credproxy::CredError;
use ipc_proto::gate::RelayError;
use ipc_proto::ids::CallId;
use ipc_proto::model::{Finish, ModelError, ModelName, Piece, Request, StreamId, Thought};
use ipc_proto::scanner::{Crossing, SCAN_BOUND};
use ipc_proto::tool::ToolCall;
use ipc_proto::{Name, Text};
use pieces::{is_said, thought_pieces, weight};
use serde_json::{Map, Value};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// How long a pull waits for something to give out.
const WAIT: Duration = Duration::from_secs(20);
/// Pieces given out at once: of the longest, so many fit the bound of an answer of the interface.
const BATCH: usize = 56;

/// An answer under way.
#[derive(Debug)]
pub(crate) struct Answer {
    request: Request,
    /// Joins its decision and its end on the record.
    id: CallId,
    /// Who asked for it, for the record.
    whose: Name,
    /// Room for its bytes: its request's, and those of the answer that are here.
    load: Load,
    stream: StreamId,
    assembly: Assembly,
    /// Text that the scanner has not let go yet.
    text: String,
    /// Reasoning that it has not let go yet.
    reasoning: String,
    /// Text has begun; reasoning that comes after it could not be told in order, and is dropped.
    spoken: bool,
    /// What can be given out.
    ready: VecDeque<Piece>,
    /// Some of the answer was given out: it cannot begin again.
    given: bool,
    /// A pull is under way. One that was given up in the middle has lost pieces.
    pulling: bool,
    /// Why nothing more can be heard, until somebody is told.
    fault: Option<RelayError>,
    begun: Instant,
    again: u32,
    answering: Option<ModelName>,
    /// The model that whoever pulls was told last to answer, where that is another than was asked for.
    named: Option<ModelName>,
    over: bool,
}

impl Answer {
    /// Begins an answer that was decided on. The decision is put on the record while model makes the answer ready and sets
    /// its money aside: no provider hears of one before its first pull, and that is not before both are durable.
    pub(crate) async fn begin(around: &impl Around, decided: Decided) -> Result<Self, RelayError> {
        let Decided { request, id, whose, load, patience, decision } = decided;
        let begun = Instant::now();
        let (recorded, started) = futures::join!(decision.recorded(around), paid(around, &request, patience));
        if let Err(error) = recorded {
            if let Ok(stream) = started {
                around.cancel(stream).await;
            }
            return Err(error);
        }
        let mut answer = Self {
            request,
            id,
            whose,
            load,
            stream: StreamId(0),
            assembly: Assembly::default(),
            text: String::new(),
            reasoning: String::new(),
            spoken: false,
            ready: VecDeque::new(),
            given: false,
            pulling: false,
            fault: None,
            begun,
            again: 0,
            answering: None,
            named: None,
            over: false,
        };
        match started {
            Ok(stream) => answer.stream = stream,
            Err(error) => {
                answer.ended(around, Result3::Error, &error.to_string());
                return Err(error);
            }
        }
        Ok(answer)
    }

    /// Nothing comes any more, and everything was given out.
    pub(crate) fn is_over(&self) -> bool {
        self.over && self.ready.is_empty()
    }

    /// Which model answers.
    pub(crate) fn model(&self) -> &str {
        self.answering.as_ref().unwrap_or(&self.request.model)
    }

    /// Waits until there is something to give out, or for a while. What went wrong is told by the next pull.
    pub(crate) async fn listen(&mut self, around: &impl Around) {
        if std::mem::replace(&mut self.pulling, true) && !self.over {
            around.cancel(self.stream).await;
            self.fail(around, ModelError::Truncated);
        }
        let until = Instant::now() + WAIT;
        while self.ready.is_empty() && !self.over && self.fault.is_none() && Instant::now() < until {
            self.fault = self.hear(around).await.err();
        }
        self.pulling = false;
    }

    /// The next pieces, at most `credit`: waits for the first, and may come back empty.
    pub(crate) async fn pull(&mut self, around: &impl Around, credit: u16) -> Result<Vec<Piece>, RelayError> {
        if credit > 0 {
            self.listen(around).await;
        }
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        let most = usize::from(credit).min(BATCH).min(self.ready.len());
        let pieces: Vec<Piece> = self.ready.drain(..most).collect();
        self.load.shrink(pieces.iter().map(weight).sum());
        self.given = self.given || pieces.iter().any(is_said);
        let named = pieces.iter().rev().find_map(|piece| match piece {
            Piece::Failover { to, .. } => Some(to.clone()),
            _ => None,
        });
        self.named = named.or(self.named.take());
        Ok(pieces)
    }

    async fn hear(&mut self, around: &impl Around) -> Result<(), RelayError> {
        match around.next(self.model(), self.stream).await? {
            Pulled::Lost => return Box::pin(self.begin_again(around)).await,
            Pulled::Failed(error) => self.fail(around, error),
            Pulled::Pieces(pieces) => {
                for piece in pieces {
                    if self.over {
                        break;
                    }
                    self.take(around, piece).await?;
                }
            }
        }
        if self.over { Ok(()) } else { self.let_go(around, false).await }
    }

    // What comes once an answer, or seldom, is boxed: what follows an answer is moved whole when it begins.
    async fn take(&mut self, around: &impl Around, piece: Piece) -> Result<(), RelayError> {
        if let Piece::Usage(usage) = &piece {
            self.ready.push_back(Piece::Usage(*usage));
        }
        if !self.load.grow(weight(&piece)) {
            around.cancel(self.stream).await;
            self.fail(around, ModelError::Busy);
            return Ok(());
        }
        match self.assembly.take(piece) {
            Step::Nothing => {}
            Step::Reasoning(text) if !self.spoken => self.reasoning.push_str(&text),
            Step::Reasoning(_) => {}
            Step::Thought => Box::pin(self.thought(around)).await?,
            Step::Text(text) => {
                if !std::mem::replace(&mut self.spoken, true) {
                    self.let_go_reasoning(around, true).await?;
                }
                self.text.push_str(&text);
            }
            Step::Again { from, why, to } => {
                self.void();
                self.answering = Some(to.clone());
                self.ready.push_back(Piece::Failover { from, why, to });
            }
            Step::OverBudget(per) => self.ready.push_back(Piece::OverBudget { per }),
            Step::Failed(ModelError::Credentials(CredError::NoReply))
                if !self.given && self.again < AGAIN =>
            {
                return Box::pin(self.begin_again(around)).await;
            }
            Step::Failed(error) => self.fail(around, error),
            Step::Done(finish) => return Box::pin(self.finish(around, finish)).await,
        }
        Ok(())
    }

    /// Puts what the scanner lets go among what can be given out.
    async fn let_go(&mut self, around: &impl Around, last: bool) -> Result<(), RelayError> {
        self.let_go_reasoning(around, last).await?;
        let text = let_go(around, self.id, &mut self.text, last).await?;
        self.ready.extend(in_pieces(&text).into_iter().map(Piece::Text));
        Ok(())
    }

    async fn let_go_reasoning(&mut self, around: &impl Around, last: bool) -> Result<(), RelayError> {
        let text = let_go(around, self.id, &mut self.reasoning, last).await?;
        self.ready.extend(in_pieces(&text).into_iter().map(Piece::Reasoning));
        Ok(())
    }

    /// A block of reasoning that the client is to hand back unchanged: so it is given out whole as it is, or not at all.
    async fn thought(&mut self, around: &impl Around) -> Result<(), RelayError> {
        let Some(thought) = self.assembly.thoughts().pop() else { return Ok(()) };
        if !shows_nothing(around, self.id, &thought).await? {
            return Ok(());
        }
        if thought.spoken || thought.calls > 0 {
            // Its place is told once what stands before it is.
            self.assembly.thoughts().push(thought);
        } else {
            self.ready.extend(thought_pieces(thought));
        }
        Ok(())
    }

    /// The model's end: the rest of the text, then the calls.
    async fn finish(&mut self, around: &impl Around, finish: Finish) -> Result<(), RelayError> {
        self.let_go(around, true).await?;
        let assembly = std::mem::take(&mut self.assembly);
        let usage = assembly.usage;
        let (calls, mut thoughts) = assembly.into_parts();
        for (index, call) in (0_u16..).zip(calls) {
            let here = thoughts.extract_if(.., |thought| thought.calls <= index);
            self.ready.extend(here.flat_map(thought_pieces));
            let Some(args) = Box::pin(whole(around, self.id, &call)).await? else {
                self.assembly.usage = usage;
                self.fail(around, ModelError::InvalidJson);
                return Ok(());
            };
            self.ready.push_back(Piece::CallStart { index, tool: call.tool });
            let pieces = in_pieces(&args).into_iter().map(|args| Piece::CallDelta { index, args });
            self.ready.extend(pieces);
            self.ready.push_back(Piece::CallEnd { index });
        }
        self.over = true;
        self.assembly.usage = usage;
        self.ready.push_back(Piece::Done(finish));
        self.ended(around, Result3::Success, "");
        Ok(())
    }

    /// The model's end, by an error. What the scanner still held is not given out.
    fn fail(&mut self, around: &impl Around, error: ModelError) {
        self.over = true;
        self.ready.push_back(Piece::Failed(error));
        self.ended(around, Result3::Error, &error.to_string());
    }

    /// Nothing of the answer so far stands; what is known of a budget does.
    fn void(&mut self) {
        self.assembly = Assembly::default();
        self.text.clear();
        self.reasoning.clear();
        self.ready.retain(|piece| matches!(piece, Piece::OverBudget { .. }));
        self.load.shrink(usize::MAX);
        self.spoken = false;
    }

    /// Begins again, unless somebody has heard some of it.
    async fn begin_again(&mut self, around: &impl Around) -> Result<(), RelayError> {
        if self.given || self.again >= AGAIN {
            self.fail(around, ModelError::Truncated);
            return Ok(());
        }
        self.again += 1;
        self.void();
        self.answering = None;
        let to = self.request.model.clone();
        if let Some(from) = self.named.clone().filter(|named| *named != to) {
            // Who answers is found anew, and whoever was named before need not be the one.
            self.ready.push_back(Piece::Failover { from, why: ModelError::Truncated, to });
        }
        match around.start(&self.request).await {
            Ok(stream) => self.stream = stream,
            Err(RelayError::Model(error)) => self.fail(around, error),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Ends it for a client that does not wait for it, or that cannot be given what the scanner has not seen.
    pub(crate) async fn give_up(&mut self, around: &impl Around) {
        if !std::mem::replace(&mut self.over, true) {
            self.ready.clear();
            around.cancel(self.stream).await;
            self.ended(around, Result3::Error, "given up: nobody waits for it");
        }
    }

    fn ended(&self, around: &impl Around, result: Result3, why: &str) {
        let event = Event::new(Action::ModelEnded, result).about(self.model());
        let mut event = event.because(if why.is_empty() { self.whose.as_str() } else { why });
        event.call = Some(self.id);
        let usage = self.assembly.usage;
        event.tokens = (usage.input, usage.output);
        event.duration_ms = u32::try_from(self.begun.elapsed().as_millis()).unwrap_or(u32::MAX);
        if let Some(untrue) = untrue(&event, usage) {
            around.note(untrue);
        }
        around.note(event);
    }
}

/// Returns whether a block of reasoning shows no secret; that one was kept back for it is on the record. In its seal, which
/// nobody can read, only what is surely one of the host's own counts.
async fn shows_nothing(around: &impl Around, id: CallId, thought: &Thought) -> Result<bool, RelayError> {
    let mut clean = true;
    if !thought.text.is_empty() {
        clean = around.judge(Crossing::Answer, &thought.text).await?.redacted.is_none();
    }
    if clean && !thought.seal.is_empty() {
        clean = !around.judge(Crossing::Answer, &thought.seal).await?.held_secret;
    }
    if !clean {
        around.record(redacted(id)).await?;
    }
    Ok(clean)
}

/// What of pending text may go on; that secrets were cut out of it is on the record first.
async fn let_go(
    around: &impl Around,
    id: CallId,
    pending: &mut String,
    last: bool,
) -> Result<String, RelayError> {
    if pending.is_empty() {
        return Ok(String::new());
    }
    let mut text = String::new();
    loop {
        let all = pending.len() <= SCAN_BOUND;
        let release = around.hold_back(pending, last && all).await?;
        if release.redactions > 0 {
            around.record(redacted(id)).await?;
        }
        consume(pending, &release);
        text.push_str(&release.text);
        if all || release.consumed == 0 {
            return Ok(text);
        }
    }
}

fn redacted(id: CallId) -> Event {
    let mut event = Event::new(Action::SecretRedacted, Result3::Success);
    event.call = Some(id);
    event
}

/// A call's arguments as the client may have them: a JSON object, secrets cut out. `None` if they are none.
async fn whole(around: &impl Around, id: CallId, call: &ToolCall) -> Result<Option<Text<ARGS>>, RelayError> {
    let args = if call.args.trim().is_empty() { "{}" } else { call.args.as_str() };
    if !is_object(args) {
        return Ok(None);
    }
    let verdict = around.judge(Crossing::Arguments, args).await?;
    let Some(clean) = verdict.redacted else { return Ok(Some(Text::clip(args))) };
    around.record(redacted(id).about(&call.tool)).await?;
    Ok(is_object(&clean).then(|| Text::clip(&clean)))
}

/// Bytes of one call's arguments.
const ARGS: usize = ipc_proto::tool::ARGS_BOUND;

fn is_object(text: &str) -> bool {
    serde_json::from_str::<Map<String, Value>>(text).is_ok()
}

#[cfg(test)]
mod tests;
