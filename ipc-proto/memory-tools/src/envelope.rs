//! The form of every answer: `{data, error, meta}`, with an error of one of five codes or none. Content of memory stands
//! in `data` alone.

use crate::CONTRACT;
use crate::store::Trouble;
use ipc_proto::memory::{MemoryError, Refusal};
use serde_json::{Map, Value, json};

/// The reason why there is no data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// An argument is invalid.
    Validation,
    /// There is no such row or tool.
    NotFound,
    /// The row to be changed is in another state, or there is no room.
    Conflict,
    /// The server's configuration, its place, or a key's scope does not permit the call.
    Locked,
    /// The host failed, or one of its processes is not available.
    Internal,
}

impl Code {
    /// Every code.
    pub const ALL: [Self; 5] =
        [Self::Validation, Self::NotFound, Self::Conflict, Self::Locked, Self::Internal];

    /// As clients read it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Validation => "VALIDATION_ERROR",
            Self::NotFound => "NOT_FOUND",
            Self::Conflict => "CONFLICT",
            Self::Locked => "LOCKED_BY_ENV",
            Self::Internal => "INTERNAL_ERROR",
        }
    }
}

/// A refusal in the host's own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kind of the failure.
    pub code: Code,
    /// For a person or a model.
    pub message: String,
    /// For a program: the field, what is valid, an id.
    pub details: Value,
}

impl Fault {
    /// A refusal without details.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: json!({}) }
    }

    /// With these details.
    #[must_use]
    pub fn with(self, details: Value) -> Self {
        Self { details, ..self }
    }

    /// A field is invalid; the valid values are named.
    #[must_use]
    pub fn field(field: &str, must: &str, valid: Value) -> Self {
        let message = format!("`{field}` {must}");
        Self::new(Code::Validation, message).with(json!({ "field": field, "valid": valid }))
    }

    /// There is no row with this id.
    #[must_use]
    pub fn no_row(id: &str) -> Self {
        Self::new(Code::NotFound, "There is no such memory; mem-find and mem-history give ids.")
            .with(json!({ "id": id }))
    }
}

impl From<MemoryError> for Fault {
    fn from(error: MemoryError) -> Self {
        let code = match error {
            MemoryError::NotFound => Code::NotFound,
            MemoryError::Refused(_) | MemoryError::NeedsPerson => Code::Validation,
            MemoryError::NotCurrent(_) | MemoryError::Full | MemoryError::ShareFull => Code::Conflict,
            MemoryError::ReadOnly => Code::Locked,
            MemoryError::ScannerDown
            | MemoryError::NotRecorded
            | MemoryError::OtherEmbedder
            | MemoryError::Damaged
            | MemoryError::Storage => Code::Internal,
        };
        let fault = Self::new(code, error.to_string());
        match error {
            MemoryError::NotCurrent(id) => fault.with(json!({ "current": id.to_string() })),
            MemoryError::Refused(why) => fault.with(json!({ "reason": why.name(), "valid": mended(why) })),
            MemoryError::NeedsPerson => fault.with(json!({ "reason": "needs_person" })),
            MemoryError::Full => fault.with(json!({ "reason": "full" })),
            MemoryError::ShareFull => fault.with(json!({ "reason": "share_full" })),
            _ => fault,
        }
    }
}

/// Text that would be stored in the place of the refused one.
const fn mended(why: Refusal) -> &'static str {
    match why {
        Refusal::Empty => "text outside of <private>",
        Refusal::Injection => "the same told in your own words, without instructions to whoever reads it",
        Refusal::Secret => "the same without the secret",
        Refusal::Name => "concepts, keys and files that hold no secret and no instruction",
        Refusal::TooLong => "less text",
        Refusal::IdInUse => "another id",
        Refusal::Purged => "nothing under this id",
        Refusal::LessTrusted => "mode skip or merge",
        Refusal::Expired => "what is not over its own time",
        Refusal::OwnClient => "another client",
        Refusal::NotDone => "nothing: the person's own command does this",
    }
}

impl From<Trouble> for Fault {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Memory(error) => error.into(),
            Trouble::Locked(why) => Self::new(Code::Locked, why),
            Trouble::Away(why, None) => Self::new(Code::Internal, why),
            Trouble::Away(why, Some(seconds)) => {
                Self::new(Code::Internal, why).with(json!({ "retryAfterSeconds": seconds }))
            }
        }
    }
}

/// A tool's answer after success.
#[derive(Clone, Debug, Default)]
pub(crate) struct Done {
    data: Value,
    meta: Map<String, Value>,
}

impl Done {
    pub(crate) fn new(data: Value) -> Self {
        Self { data, meta: Map::new() }
    }

    /// Something about the answer.
    pub(crate) fn meta(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.meta.insert(name.to_owned(), value.into());
        self
    }
}

/// The whole answer of a tool.
pub(crate) fn envelope(tool: &str, answer: Result<Done, Fault>) -> Value {
    let (data, error, mut meta) = match answer {
        Ok(done) => (done.data, Value::Null, done.meta),
        Err(fault) => {
            let error =
                json!({ "code": fault.code.name(), "message": fault.message, "details": fault.details });
            (Value::Null, error, Map::new())
        }
    };
    meta.insert("tool".to_owned(), tool.into());
    meta.insert("contractVersion".to_owned(), CONTRACT.into());
    json!({ "data": data, "error": error, "meta": meta })
}
