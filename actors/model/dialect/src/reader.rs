//! A reply's body, read as it comes: bytes in, pieces out, for every kind of provider. The provider's framing and the
//! first byte say which form the body has: no line of an event stream begins with a brace, and a provider that does not
//! stream gives one JSON document.

use crate::answer::{Answer, Decoder};
use crate::framing::{Lines, Sse};
use crate::stops::Stops;
use crate::table::dialect;
use crate::wire::Framing;
use ipc_proto::config::ProviderKind;
use ipc_proto::model::{ModelError, Piece, Usage};

/// Bytes of a reply of a provider that does not stream.
pub const WHOLE_BOUND: usize = 4 * 1024 * 1024;
/// The data of the last event, where a provider has one that says nothing else.
const LAST: &str = "[DONE]";

/// A reply's body that is being read.
pub struct Reader {
    form: Form,
    decoder: Box<dyn Decoder>,
    answer: Answer,
}

enum Form {
    Unknown,
    Events(Sse),
    Lines(Lines),
    Whole(Vec<u8>),
}

impl Reader {
    /// For a reply of such a provider to a question of about `asked` tokens, by a model that takes `context`.
    #[must_use]
    pub fn new(kind: ProviderKind, asked: u32, context: u32) -> Self {
        let dialect = dialect(kind);
        let form = match dialect.framing() {
            Framing::EventsOrWhole => Form::Unknown,
            Framing::Lines => Form::Lines(Lines::default()),
        };
        Self { form, decoder: dialect.decoder(), answer: Answer::new(asked, context) }
    }

    /// The same, which knows the provider's name of the model that answers.
    #[must_use]
    pub fn by(mut self, model: &str) -> Self {
        model.clone_into(&mut self.answer.by);
        self
    }

    /// The same, of an answer that ends at these texts.
    #[must_use]
    pub fn ending_at(mut self, stops: Stops) -> Self {
        self.answer.stops = stops;
        self
    }

    /// Takes bytes of the body.
    ///
    /// # Errors
    /// The error that ends the answer; pieces that were ready before it may still be given.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), ModelError> {
        if matches!(self.form, Form::Unknown) {
            match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
                None => return Ok(()),
                Some(b'{' | b'[') => self.form = Form::Whole(Vec::new()),
                Some(_) => self.form = Form::Events(Sse::default()),
            }
        }
        match &mut self.form {
            Form::Events(sse) => {
                let events = sse.feed(bytes).map_err(|_| ModelError::InvalidJson)?;
                events.iter().try_for_each(|event| self.event(event))
            }
            Form::Lines(lines) => {
                let lines = lines.feed(bytes).map_err(|_| ModelError::InvalidJson)?;
                lines.iter().try_for_each(|line| self.event(&String::from_utf8_lossy(line)))
            }
            Form::Whole(json) if json.len() + bytes.len() > WHOLE_BOUND => Err(ModelError::InvalidJson),
            Form::Whole(json) => {
                json.extend_from_slice(bytes);
                Ok(())
            }
            Form::Unknown => Ok(()),
        }
    }

    /// The pieces that are ready to be given.
    pub fn ready(&mut self) -> Vec<Piece> {
        self.answer.ready()
    }

    /// Returns whether no more can follow.
    #[must_use]
    pub const fn is_last(&self) -> bool {
        self.answer.is_last()
    }

    /// Returns true if the provider has said why the answer ended, so that a loss after it does no harm.
    #[must_use]
    pub const fn is_finished(&self) -> bool {
        self.answer.is_finished()
    }

    /// Tokens of an answer that breaks off here, as far as they are known; none if nothing of it came.
    #[must_use]
    pub fn spent(&self) -> Option<Usage> {
        self.answer.spent()
    }

    /// Ends the answer: its last pieces, its tokens, and why it ended.
    ///
    /// # Errors
    /// Why it is none.
    pub fn end(mut self) -> Result<Vec<Piece>, ModelError> {
        match std::mem::replace(&mut self.form, Form::Unknown) {
            Form::Events(sse) => {
                if let Ok(Some(event)) = sse.end() {
                    self.cut_short(&event)?;
                }
            }
            Form::Lines(lines) => self.cut_short(&String::from_utf8_lossy(&lines.end()))?,
            Form::Whole(json) => {
                let json = String::from_utf8(json).map_err(|_| ModelError::InvalidJson)?;
                self.decoder.whole(&json, &mut self.answer)?;
                self.answer.last();
                if !self.answer.has_begun() {
                    return Err(ModelError::InvalidJson);
                }
            }
            Form::Unknown => {}
        }
        self.answer.end()
    }

    /// The last event, whose line end some servers leave out. An unreadable one was cut short, which does no harm to an
    /// answer that has its end; an error that the provider sent stays what it is.
    fn cut_short(&mut self, data: &str) -> Result<(), ModelError> {
        match self.event(data) {
            Err(ModelError::InvalidJson) if self.is_finished() => Ok(()),
            Err(ModelError::InvalidJson) => Err(ModelError::Truncated),
            read => read,
        }
    }

    fn event(&mut self, data: &str) -> Result<(), ModelError> {
        let data = data.trim();
        if data == LAST {
            self.answer.last();
        }
        if data.is_empty() || self.answer.is_last() {
            return Ok(());
        }
        self.decoder.event(data, &mut self.answer)
    }
}
