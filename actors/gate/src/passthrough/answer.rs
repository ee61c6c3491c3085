//! One answer of the pass-through. Text goes on as the scanner releases it. Calls go on at the end, each whole, valid and
//! scanned, and never a fragment before. Nothing goes on that the scanner has not seen, and an answer never begins again once its
//! client has had some of it.

pub(crate) mod decided;
mod pieces;
#[cfg(test)]
mod tests;

use crate::inspection::scan::consume;
use crate::model::assembly::{Assembly, Step, in_pieces};
use crate::model::stream::{Pulled, RESTARTS, disbelieved};
use crate::passthrough::answer::decided::{Decided, start_when_paid};
use crate::passthrough::answer::pieces::{is_content, thought_pieces, weight};
use crate::passthrough::deps::Dependencies;
use crate::state::elapsed::ms;
use crate::state::rates::Load;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::credproxy::CredError;
use ipc_proto::gate::RelayError;
use ipc_proto::ids::CallId;
use ipc_proto::model::{Finish, ModelError, ModelName, Piece, Request, StreamId, Thought};
use ipc_proto::scanner::{Crossing, SCAN_BOUND};
use ipc_proto::tool::ToolCall;
use ipc_proto::{Name, Text};
use serde_json::{Map, Value};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The longest that a pull waits for a piece.
const WAIT: Duration = Duration::from_secs(20);

/// Pieces in one reply: so many of the longest fit the bound of the interface.
const BATCH: usize = 56;

/// An answer under way.
#[derive(Debug)]
pub(crate) struct Answer {
    request: Request,
    /// Joins its decision and its end on the record.
    id: CallId,
    /// The client's name for the record.
    requester: Name,
    /// Room for the bytes of its request, and of the pieces held here.
    load: Load,
    stream: StreamId,
    assembly: Assembly,
    /// Text that the scanner still holds back.
    text: String,
    /// Reasoning that the scanner still holds back.
    reasoning: String,
    /// Text has begun. Later reasoning could not be put in order, and is dropped.
    spoken: bool,
    /// Pieces that can be delivered.
    ready: VecDeque<Piece>,
    /// Some of the answer was delivered, so it cannot begin again.
    delivered: bool,
    /// A pull is under way. A pull that was cancelled has lost pieces.
    pulling: bool,
    /// The fault that ended the answer, until the client is told.
    fault: Option<RelayError>,
    begun: Instant,
    restarts: u32,
    answering: Option<ModelName>,
    /// The model that the client was told of last, where that is another than was requested.
    named: Option<ModelName>,
    over: bool,
}

impl Answer {
    /// Starts an answer that was decided on. The decision is recorded while model prepares the answer and sets its money aside.
    /// No provider is asked before the first pull, which comes after both are durable.
    pub(crate) async fn begin(deps: &impl Dependencies, decided: Decided) -> Result<Self, RelayError> {
        let Decided { request, id, requester, load, patience, decision } = decided;
        let begun = Instant::now();
        let (recorded, started) =
            futures::join!(decision.recorded(deps), start_when_paid(deps, &request, patience));
        if let Err(error) = recorded {
            if let Ok(stream) = started {
                deps.cancel(stream).await;
            }
            return Err(error);
        }
        let mut answer = Self {
            request,
            id,
            requester,
            load,
            stream: StreamId(0),
            assembly: Assembly::default(),
            text: String::new(),
            reasoning: String::new(),
            spoken: false,
            ready: VecDeque::new(),
            delivered: false,
            pulling: false,
            fault: None,
            begun,
            restarts: 0,
            answering: None,
            named: None,
            over: false,
        };
        match started {
            Ok(stream) => answer.stream = stream,
            Err(error) => {
                answer.record_end(deps, Result3::Error, &error.to_string());
                return Err(error);
            }
        }
        Ok(answer)
    }

    /// Returns true if everything was delivered and nothing more comes.
    pub(crate) fn is_over(&self) -> bool {
        self.over && self.ready.is_empty()
    }

    /// The model that answers.
    pub(crate) fn model(&self) -> &str {
        self.answering.as_ref().unwrap_or(&self.request.model)
    }

    /// Waits until a piece can be delivered, or for `WAIT`. The next pull reports a fault.
    pub(crate) async fn listen(&mut self, deps: &impl Dependencies) {
        if std::mem::replace(&mut self.pulling, true) && !self.over {
            deps.cancel(self.stream).await;
            self.fail(deps, ModelError::Truncated);
        }
        let until = Instant::now() + WAIT;
        while self.ready.is_empty() && !self.over && self.fault.is_none() && Instant::now() < until {
            self.fault = self.receive(deps).await.err();
        }
        self.pulling = false;
    }

    /// Returns the next pieces, at most `credit`. It waits for the first one, and may return none.
    pub(crate) async fn pull(
        &mut self,
        deps: &impl Dependencies,
        credit: u16,
    ) -> Result<Vec<Piece>, RelayError> {
        if credit > 0 {
            self.listen(deps).await;
        }
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        let most = usize::from(credit).min(BATCH).min(self.ready.len());
        let pieces: Vec<Piece> = self.ready.drain(..most).collect();
        self.load.shrink(pieces.iter().map(weight).sum());
        self.delivered = self.delivered || pieces.iter().any(is_content);
        let named = pieces.iter().rev().find_map(|piece| match piece {
            Piece::Failover { to, .. } => Some(to.clone()),
            _ => None,
        });
        self.named = named.or(self.named.take());
        Ok(pieces)
    }

    async fn receive(&mut self, deps: &impl Dependencies) -> Result<(), RelayError> {
        match deps.next(self.model(), self.stream).await? {
            Pulled::Lost => return Box::pin(self.restart(deps)).await,
            Pulled::Failed(error) => self.fail(deps, error),
            Pulled::Pieces(pieces) => {
                for piece in pieces {
                    if self.over {
                        break;
                    }
                    self.handle(deps, piece).await?;
                }
            }
        }
        if self.over { Ok(()) } else { self.release(deps, false).await }
    }

    // Rare work is boxed: the future is moved whole when it begins.
    async fn handle(&mut self, deps: &impl Dependencies, piece: Piece) -> Result<(), RelayError> {
        if let Piece::Usage(usage) = &piece {
            self.ready.push_back(Piece::Usage(*usage));
        }
        if !self.load.grow(weight(&piece)) {
            deps.cancel(self.stream).await;
            self.fail(deps, ModelError::Busy);
            return Ok(());
        }
        match self.assembly.take(piece) {
            Step::Nothing => {}
            Step::Reasoning(text) if !self.spoken => self.reasoning.push_str(&text),
            Step::Reasoning(_) => {}
            Step::Thought => Box::pin(self.thought(deps)).await?,
            Step::Text(text) => {
                if !std::mem::replace(&mut self.spoken, true) {
                    self.release_reasoning(deps, true).await?;
                }
                self.text.push_str(&text);
            }
            Step::Again { from, why, to } => {
                self.discard();
                self.answering = Some(to.clone());
                self.ready.push_back(Piece::Failover { from, why, to });
            }
            Step::OverBudget(per) => self.ready.push_back(Piece::OverBudget { per }),
            Step::Failed(ModelError::Credentials(CredError::NoReply))
                if !self.delivered && self.restarts < RESTARTS =>
            {
                return Box::pin(self.restart(deps)).await;
            }
            Step::Failed(error) => self.fail(deps, error),
            Step::Done(finish) => return Box::pin(self.finish(deps, finish)).await,
        }
        Ok(())
    }

    /// Adds the text that the scanner releases to the pieces.
    async fn release(&mut self, deps: &impl Dependencies, last: bool) -> Result<(), RelayError> {
        self.release_reasoning(deps, last).await?;
        let text = release(deps, self.id, &mut self.text, last).await?;
        self.ready.extend(in_pieces(&text).into_iter().map(Piece::Text));
        Ok(())
    }

    async fn release_reasoning(&mut self, deps: &impl Dependencies, last: bool) -> Result<(), RelayError> {
        let text = release(deps, self.id, &mut self.reasoning, last).await?;
        self.ready.extend(in_pieces(&text).into_iter().map(Piece::Reasoning));
        Ok(())
    }

    /// A block of reasoning that the client hands back unchanged: it is delivered whole and as it is, or not at all.
    async fn thought(&mut self, deps: &impl Dependencies) -> Result<(), RelayError> {
        let Some(thought) = self.assembly.thoughts().pop() else { return Ok(()) };
        if !is_clean(deps, self.id, &thought).await? {
            return Ok(());
        }
        if thought.spoken || thought.calls > 0 {
            // Its place is known once the pieces before it are.
            self.assembly.thoughts().push(thought);
        } else {
            self.ready.extend(thought_pieces(thought));
        }
        Ok(())
    }

    /// The end of the answer: the rest of the text, then the calls.
    async fn finish(&mut self, deps: &impl Dependencies, finish: Finish) -> Result<(), RelayError> {
        self.release(deps, true).await?;
        let assembly = std::mem::take(&mut self.assembly);
        let usage = assembly.usage;
        let (calls, mut thoughts) = assembly.into_parts();
        for (index, call) in (0_u16..).zip(calls) {
            let here = thoughts.extract_if(.., |thought| thought.calls <= index);
            self.ready.extend(here.flat_map(thought_pieces));
            let Some(args) = Box::pin(clean_args(deps, self.id, &call)).await? else {
                self.assembly.usage = usage;
                self.fail(deps, ModelError::InvalidJson);
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
        self.record_end(deps, Result3::Success, "");
        Ok(())
    }

    /// The end of the answer by an error. Text that the scanner still held back is dropped.
    fn fail(&mut self, deps: &impl Dependencies, error: ModelError) {
        self.over = true;
        self.ready.push_back(Piece::Failed(error));
        self.record_end(deps, Result3::Error, &error.to_string());
    }

    /// Discards the answer so far, but not the notice of a budget.
    fn discard(&mut self) {
        self.assembly = Assembly::default();
        self.text.clear();
        self.reasoning.clear();
        self.ready.retain(|piece| matches!(piece, Piece::OverBudget { .. }));
        self.load.shrink(usize::MAX);
        self.spoken = false;
    }

    /// Starts the answer again, unless some of it was delivered.
    async fn restart(&mut self, deps: &impl Dependencies) -> Result<(), RelayError> {
        if self.delivered || self.restarts >= RESTARTS {
            self.fail(deps, ModelError::Truncated);
            return Ok(());
        }
        self.restarts += 1;
        self.discard();
        self.answering = None;
        let to = self.request.model.clone();
        if let Some(from) = self.named.clone().filter(|named| *named != to) {
            // Model chooses again which model answers, and that need not be the one that was named last.
            self.ready.push_back(Piece::Failover { from, why: ModelError::Truncated, to });
        }
        match deps.start(&self.request).await {
            Ok(stream) => self.stream = stream,
            Err(RelayError::Model(error)) => self.fail(deps, error),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Cancels the answer of a client that is gone, or that cannot be given text which the scanner has not seen.
    pub(crate) async fn give_up(&mut self, deps: &impl Dependencies) {
        if !std::mem::replace(&mut self.over, true) {
            self.ready.clear();
            deps.cancel(self.stream).await;
            self.record_end(deps, Result3::Error, "given up: nobody waits for it");
        }
    }

    fn record_end(&self, deps: &impl Dependencies, result: Result3, why: &str) {
        let event = Event::new(Action::ModelEnded, result).about(self.model());
        let mut event = event.because(if why.is_empty() { self.requester.as_str() } else { why });
        event.call = Some(self.id);
        let usage = self.assembly.usage;
        event.tokens = (usage.input, usage.output);
        event.duration_ms = ms(self.begun.elapsed());
        if let Some(disbelieved) = disbelieved(&event, usage) {
            deps.record_later(disbelieved);
        }
        deps.record_later(event);
    }
}

/// Returns true if a block of reasoning shows no secret; a block that is kept back is on the record. Nobody can read a seal, so
/// there only a certain secret of the host counts.
async fn is_clean(deps: &impl Dependencies, id: CallId, thought: &Thought) -> Result<bool, RelayError> {
    let mut clean = true;
    if !thought.text.is_empty() {
        clean = deps.judge(Crossing::Answer, &thought.text).await?.redacted.is_none();
    }
    if clean && !thought.seal.is_empty() {
        clean = !deps.judge(Crossing::Answer, &thought.seal).await?.held_secret;
    }
    if !clean {
        deps.record(redacted(id)).await?;
    }
    Ok(clean)
}

/// The part of pending text that may go on. Redactions are recorded first.
async fn release(
    deps: &impl Dependencies,
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
        let release = deps.hold_back(pending, last && all).await?;
        if release.redactions > 0 {
            deps.record(redacted(id)).await?;
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

/// A call's arguments without secrets; `None` if they are not a JSON object.
async fn clean_args(
    deps: &impl Dependencies,
    id: CallId,
    call: &ToolCall,
) -> Result<Option<Text<ARGS>>, RelayError> {
    let args = if call.args.trim().is_empty() { "{}" } else { call.args.as_str() };
    if !is_object(args) {
        return Ok(None);
    }
    let verdict = deps.judge(Crossing::Arguments, args).await?;
    let Some(clean) = verdict.redacted else { return Ok(Some(Text::clip(args))) };
    deps.record(redacted(id).about(&call.tool)).await?;
    Ok(is_object(&clean).then(|| Text::clip(&clean)))
}

/// Bytes of one call's arguments.
const ARGS: usize = ipc_proto::tool::ARGS_BOUND;

fn is_object(text: &str) -> bool {
    serde_json::from_str::<Map<String, Value>>(text).is_ok()
}
