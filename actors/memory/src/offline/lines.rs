//! The input lines of an evaluation: turns to store and questions to answer. It reads and stores nothing else; an error
//! about a bad line holds nothing of it. A text that a host would not store whole is cut, and that is reported.

use ipc_proto::memory::{CONTENT_BOUND, EVALUATION_LINE, Manner, WORDS, words};
use ipc_proto::{Text, json};
use serde::Deserialize;
use serde_json::Value;
use std::io::{self, BufRead, Read};

/// A number of seconds would be later than this only in the year 5138; milliseconds are since 1973.
const SECONDS: f64 = 1e11;

/// A line.
#[derive(Debug)]
pub(super) enum Line {
    Add(Add),
    Ask(Asked),
}

/// A turn of a conversation.
#[derive(Debug)]
pub(super) struct Add {
    /// As it was given: a text or a number.
    pub(super) id: Value,
    pub(super) session: Option<String>,
    /// Unix ms; none if it was not told, or not in a way that is understood.
    pub(super) time_ms: Option<u64>,
    pub(super) speaker: Option<String>,
    pub(super) text: Text<CONTENT_BOUND>,
    /// The number of its line and the bytes that its text had, if it is cut.
    pub(super) cut: Option<(u64, usize)>,
    /// The embedder's vector of its text.
    pub(super) vector: Option<Vec<f32>>,
}

/// A question.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) id: Value,
    pub(super) question: Text<WORDS>,
    pub(super) evidence: Vec<Value>,
    /// The manner in which it is answered, if not as all are.
    pub(super) manner: Option<Manner>,
    /// The embedder's vector of its words.
    pub(super) vector: Option<Vec<f32>>,
}

/// Why there is no further line.
#[derive(Debug, thiserror::Error)]
pub(super) enum LineFault {
    #[error("line {line}: {why}")]
    Malformed { line: u64, why: String },
    #[error("the lines cannot be read: {0}")]
    Input(#[from] io::Error),
}

/// A line as it is written. Further members are passed over.
#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
enum Written {
    Add {
        id: Value,
        #[serde(default)]
        session: Value,
        #[serde(default)]
        time: Value,
        #[serde(default)]
        speaker: Option<String>,
        text: String,
        #[serde(default)]
        vector: Option<Vec<f32>>,
    },
    Ask {
        id: Value,
        question: String,
        #[serde(default)]
        evidence: Vec<Value>,
        #[serde(default)]
        manner: Option<Manner>,
        #[serde(default)]
        vector: Option<Vec<f32>>,
    },
}

/// The lines of an input, each read when it is asked for.
pub(super) struct Lines<R> {
    from: R,
    line: u64,
}

impl<R: BufRead> Lines<R> {
    pub(super) const fn of(from: R) -> Self {
        Self { from, line: 0 }
    }

    /// The next line that is not empty.
    fn read(&mut self) -> Result<Option<Line>, LineFault> {
        loop {
            let mut text = Vec::new();
            self.line += 1;
            // One byte more than may be, and the break, so that a line that is too long is seen to be.
            let bound = u64::try_from(EVALUATION_LINE + 2).unwrap_or(u64::MAX);
            if self.from.by_ref().take(bound).read_until(b'\n', &mut text)? == 0 {
                return Ok(None);
            }
            if self.line == 1 {
                text = json::unmarked(&text).to_vec();
            }
            if !text.trim_ascii().is_empty() {
                let malformed = |why| LineFault::Malformed { line: self.line, why };
                return line(text, self.line).map(Some).map_err(malformed);
            }
        }
    }
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = Result<Line, LineFault>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

fn line(mut bytes: Vec<u8>, number: u64) -> Result<Line, String> {
    if bytes.trim_ascii().len() > EVALUATION_LINE {
        return Err(format!("longer than {EVALUATION_LINE} bytes"));
    }
    json::mend(&mut bytes);
    match serde_json::from_slice(&bytes).map_err(|error| wrong(&error))? {
        Written::Add { id, session, time, speaker, text, vector } => Ok(Line::Add(Add {
            id: named(id, "id")?,
            session: if session.is_null() { None } else { Some(named(session, "session")?.to_string()) },
            time_ms: time_ms(&time)?,
            speaker,
            cut: (text.len() > CONTENT_BOUND).then_some((number, text.len())),
            text: Text::clip(&text),
            vector,
        })),
        Written::Ask { id, question, evidence, manner, vector } => {
            let evidence = evidence.into_iter().map(|id| named(id, "evidence"));
            Ok(Line::Ask(Asked {
                id: named(id, "id")?,
                question: words(&question),
                evidence: evidence.collect::<Result<_, _>>()?,
                manner,
                vector,
            }))
        }
    }
}

/// The fault of a line, in words that hold nothing of it.
fn wrong(error: &serde_json::Error) -> String {
    match error.classify() {
        serde_json::error::Category::Data => {
            "not {\"op\":\"add\",\"id\":…,\"session\":…,\"time\":…,\"speaker\":…,\"text\":…} nor \
             {\"op\":\"ask\",\"id\":…,\"question\":…,\"evidence\":[…]}"
                .to_owned()
        }
        _ => format!("not JSON, at column {}", error.column()),
    }
}

/// A name is a text or a number.
fn named(value: Value, what: &str) -> Result<Value, String> {
    if value.is_string() || value.is_number() {
        Ok(value)
    } else {
        Err(format!("{what} is no text and no number"))
    }
}

/// A time: seconds or milliseconds since 1970, or a text with a date in it. Of a text that is not understood there is no
/// time, since people write dates in many ways.
fn time_ms(time: &Value) -> Result<Option<u64>, String> {
    match time {
        Value::Null => Ok(None),
        Value::Number(number) => Ok(number.as_f64().and_then(ms)),
        Value::String(text) => {
            let number = || text.trim().parse::<f64>().ok().and_then(ms);
            Ok(finding::date_in(text).or_else(number))
        }
        _ => Err("time is no text and no number".to_owned()),
    }
}

fn ms(number: f64) -> Option<u64> {
    let ms = if number.abs() < SECONDS { number * 1000.0 } else { number };
    // As whole digits, so that no cast cuts it.
    (0.0..1e15).contains(&ms).then(|| format!("{ms:.0}").parse().ok()).flatten()
}
