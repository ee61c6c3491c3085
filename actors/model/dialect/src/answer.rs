//! One answer that is being read, from the events of any provider. A call's arguments are passed on as they come, and
//! its end is given only when they are a whole JSON object: nothing may run on part of one.
//!
//! It never waits and fails only by a `ModelError`; any bytes at all may come.

use crate::count;
use crate::halves::without_halves;
use crate::stops::Stops;
use crate::text::{PIECE, chunks};
use ipc_proto::model::{Finish, ModelError, Piece, THOUGHT_BOUND, THOUGHTS, THOUGHTS_BOUND, Usage};
use ipc_proto::tool::{ALL_ARGS_BOUND, ARGS_BOUND, OUTPUT_BOUND};
use ipc_proto::{Name, Text};
use serde::de::{DeserializeOwned, IgnoredAny};
use std::collections::BTreeMap;

/// Calls of one answer: the bound of a message.
pub(crate) const CALLS: usize = 32;

/// A call that is coming.
#[derive(Default)]
struct Call {
    tool: Option<Name>,
    args: String,
}

/// A block of reasoning that is coming.
#[derive(Default)]
struct Thought {
    text: String,
    seal: String,
}

/// One answer that is being read.
pub(crate) struct Answer {
    /// The provider's name of the model that answers.
    pub(crate) by: String,
    /// Tokens that the model takes, for the error that says it was too much.
    pub(crate) context: u32,
    /// An estimate of the tokens that were asked, for providers that do not count.
    asked: u32,
    out: Vec<Piece>,
    calls: Vec<Call>,
    /// Bytes of all calls' arguments.
    args: usize,
    thought: Thought,
    /// Blocks of reasoning that were given, and bytes of all that came.
    thoughts: (usize, usize),
    /// Where it is to end.
    pub(crate) stops: Stops,
    finish: Option<Finish>,
    usage: Option<Usage>,
    /// Bytes of text and of reasoning; the gate takes as much of text.
    said: usize,
    /// Tokens of everything that came, estimated.
    came: u32,
    begun: bool,
    /// Text of the answer was given.
    spoken: bool,
    last: bool,
}

impl Answer {
    /// An answer to a question of about `asked` tokens, by a model that takes `context`.
    pub(crate) fn new(asked: u32, context: u32) -> Self {
        Self {
            by: String::new(),
            context,
            asked,
            out: Vec::new(),
            calls: Vec::new(),
            args: 0,
            thought: Thought::default(),
            thoughts: (0, 0),
            stops: Stops::default(),
            finish: None,
            usage: None,
            said: 0,
            came: 0,
            begun: false,
            spoken: false,
            last: false,
        }
    }

    /// Some part of an answer has come, were it empty.
    pub(crate) const fn begin(&mut self) {
        self.begun = true;
    }

    /// Returns whether some part of an answer has come.
    pub(crate) const fn has_begun(&self) -> bool {
        self.begun
    }

    /// Text of the answer; none that comes after its end.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), ModelError> {
        if self.last {
            return Ok(());
        }
        let passed = self.stops.feed(text);
        self.spoken |= !text.is_empty();
        self.words(&passed.text, Piece::Text)?;
        if let Some(index) = passed.ends {
            self.finish(Finish::StoppedAt(index));
            self.last();
        }
        Ok(())
    }

    /// Text of its reasoning.
    pub(crate) fn reasoning(&mut self, text: &str) -> Result<(), ModelError> {
        self.words(text, Piece::Reasoning)
    }

    /// Adds to a block of reasoning that the provider wants back: to its text, and to its seal.
    pub(crate) fn think(&mut self, text: &str, seal: &str) -> Result<(), ModelError> {
        self.thoughts.1 += text.len() + seal.len();
        if self.thoughts.1 <= THOUGHTS_BOUND {
            self.thought.text.push_str(text);
            self.thought.seal.push_str(seal);
        }
        self.reasoning(text)
    }

    /// Such a block is whole. Beyond the bounds all of the answer's are dropped: half of them are no use.
    pub(crate) fn thought(&mut self, hidden: bool) {
        let Thought { text, seal } = std::mem::take(&mut self.thought);
        let (given, bytes) = self.thoughts;
        let fits = given < THOUGHTS && bytes <= THOUGHTS_BOUND && text.len().max(seal.len()) <= THOUGHT_BOUND;
        if !fits || (text.is_empty() && seal.is_empty()) {
            return;
        }
        self.begin();
        self.thoughts.0 += 1;
        for (seal, whole) in [(false, &text), (true, &seal)] {
            self.out.extend(chunks(whole, PIECE).map(|part| Piece::Thought { seal, part: Text::clip(part) }));
        }
        let calls = u16::try_from(self.calls.len()).unwrap_or(u16::MAX);
        self.out.push(Piece::ThoughtEnd { by: Text::clip(&self.by), hidden, spoken: self.spoken, calls });
    }

    /// A call begins; returns the number by which its parts are added.
    pub(crate) fn open(&mut self) -> Result<usize, ModelError> {
        self.begin();
        if self.calls.len() >= CALLS {
            return Err(ModelError::InvalidJson);
        }
        self.calls.push(Call::default());
        Ok(self.calls.len() - 1)
    }

    /// The tool of a call. Its first name counts; fragments of arguments that came before are given with it.
    pub(crate) fn name(&mut self, call: usize, name: &str) -> Result<(), ModelError> {
        let (index, at) = self.call(call)?;
        if at.tool.is_some() || name.is_empty() {
            return Ok(());
        }
        let tool = Name::new(name).map_err(|_| ModelError::InvalidJson)?;
        at.tool = Some(tool.clone());
        let waiting = at.args.clone();
        self.count(name);
        self.out.push(Piece::CallStart { index, tool });
        self.give(index, &waiting);
        Ok(())
    }

    /// A fragment of a call's arguments.
    pub(crate) fn args(&mut self, call: usize, args: &str) -> Result<(), ModelError> {
        self.args += args.len();
        let all = self.args;
        let (index, at) = self.call(call)?;
        if at.args.len() + args.len() > ARGS_BOUND || all > ALL_ARGS_BOUND {
            return Err(ModelError::InvalidJson);
        }
        at.args.push_str(args);
        let named = at.tool.is_some();
        self.count(args);
        if named {
            self.give(index, args);
        }
        Ok(())
    }

    /// Returns whether nothing of a call's arguments has come.
    pub(crate) fn is_bare(&self, call: usize) -> bool {
        self.calls.get(call).is_none_or(|call| call.args.is_empty())
    }

    /// Why the answer ended.
    pub(crate) fn finish(&mut self, finish: Finish) {
        self.begin();
        // An answer that was ended here stays so, whatever the provider goes on to say.
        if !self.last {
            self.finish = Some(finish);
        }
    }

    /// The provider says that the answer ended at this text. A text that the request does not name is no stop.
    pub(crate) fn stopped_at(&mut self, text: &str) {
        self.finish(self.stops.which(text).map_or(Finish::Stop, Finish::StoppedAt));
    }

    /// Tokens so far.
    pub(crate) const fn usage(&mut self, usage: Usage) {
        self.usage = Some(usage);
    }

    /// No more can follow.
    pub(crate) const fn last(&mut self) {
        self.last = true;
    }

    /// Returns whether no more can follow.
    pub(crate) const fn is_last(&self) -> bool {
        self.last
    }

    /// Returns true if the provider has said why the answer ended, so that a loss after it does no harm.
    pub(crate) const fn is_finished(&self) -> bool {
        self.last || self.finish.is_some()
    }

    /// The pieces that are ready to be given.
    pub(crate) fn ready(&mut self) -> Vec<Piece> {
        std::mem::take(&mut self.out)
    }

    /// Tokens of an answer that breaks off here, as far as they are known; none if nothing of it came.
    pub(crate) fn spent(&self) -> Option<Usage> {
        let counted = self.counted();
        let output = counted.output.max(self.came);
        let estimated = counted.estimated || output > counted.output;
        self.begun.then_some(Usage { output, estimated, ..counted })
    }

    /// The provider's count, and an estimate of the parts that it does not count: a question has words, and so has an
    /// answer.
    fn counted(&self) -> Usage {
        let mut usage = self.usage.unwrap_or_default();
        if usage.input == 0 && self.asked > 0 {
            (usage.input, usage.estimated) = (self.asked, true);
        }
        if usage.output == 0 && self.came > 0 {
            (usage.output, usage.estimated) = (self.came, true);
        }
        usage
    }

    /// Ends the answer: the ends of its calls, its tokens, and why.
    pub(crate) fn end(mut self) -> Result<Vec<Piece>, ModelError> {
        let finish = self.finish.or(self.last.then_some(Finish::Stop)).ok_or(ModelError::Truncated)?;
        let held = self.stops.rest();
        self.words(&held, Piece::Text)?;
        let mut whole = 0;
        for (index, call) in (0..).zip(&mut self.calls) {
            if call.tool.is_none() {
                return Err(ModelError::InvalidJson);
            }
            if call.args.trim().is_empty() && finish != Finish::MaxTokens {
                call.args = "{}".to_owned();
                self.out.push(Piece::CallDelta { index, args: Text::clip(&call.args) });
            }
            if serde_json::from_str::<BTreeMap<String, IgnoredAny>>(&call.args).is_ok() {
                self.out.push(Piece::CallEnd { index });
                whole += 1;
            } else if finish != Finish::MaxTokens {
                return Err(ModelError::InvalidJson);
            }
        }
        self.out.push(Piece::Usage(self.counted()));
        // Some say `stop` of an answer with calls, or `tool_calls` of one without.
        self.out.push(Piece::Done(match finish {
            Finish::MaxTokens => Finish::MaxTokens,
            _ if whole > 0 => Finish::ToolUse,
            Finish::StoppedAt(index) => Finish::StoppedAt(index),
            Finish::Stop | Finish::ToolUse => Finish::Stop,
        }));
        Ok(self.out)
    }

    fn words(&mut self, text: &str, piece: fn(Text<16384>) -> Piece) -> Result<(), ModelError> {
        self.begin();
        self.said += text.len();
        self.count(text);
        if self.said > OUTPUT_BOUND {
            return Err(ModelError::Truncated);
        }
        self.out.extend(chunks(text, PIECE).map(|part| piece(Text::clip(part))));
        Ok(())
    }

    fn call(&mut self, call: usize) -> Result<(u16, &mut Call), ModelError> {
        let index = u16::try_from(call).map_err(|_| ModelError::InvalidJson)?;
        self.calls.get_mut(call).map(|at| (index, at)).ok_or(ModelError::InvalidJson)
    }

    fn give(&mut self, index: u16, args: &str) {
        self.out.extend(chunks(args, PIECE).map(|part| Piece::CallDelta { index, args: Text::clip(part) }));
    }

    fn count(&mut self, text: &str) {
        self.came = self.came.saturating_add(count::text(text));
    }
}

/// The decoder of one provider's events.
pub(crate) trait Decoder {
    /// Takes one event.
    fn event(&mut self, json: &str, answer: &mut Answer) -> Result<(), ModelError>;

    /// Takes the whole reply of a provider that does not stream.
    fn whole(&mut self, json: &str, answer: &mut Answer) -> Result<(), ModelError> {
        self.event(json, answer)
    }
}

/// Reads a JSON object.
///
/// To serde a list is a struct whose fields have no names, so the brace is required. Servers that cut text within a
/// character send halves, which are no text: they are read as replacement characters.
pub(crate) fn object<T: DeserializeOwned>(json: &str) -> Result<T, ModelError> {
    let json = json.trim_start();
    if !json.starts_with('{') {
        return Err(ModelError::InvalidJson);
    }
    serde_json::from_str(json)
        .or_else(|error| serde_json::from_str(&without_halves(json).ok_or(error)?))
        .map_err(|_| ModelError::InvalidJson)
}
