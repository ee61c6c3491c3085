//! Refusals of requests, and their bodies in each vendor's API. Messages are the host's own: they repeat names that a client gave, and
//! never content.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ipc_proto::gate::RelayError;
use ipc_proto::model::{BLIND, ModelError};
use ipc_proto::router::RouterError;
use serde_json::{Value, json};

/// Bytes of a message; more is cut.
const MESSAGE: usize = 1000;

/// The code of a request that shows images to a model that takes none.
const NO_VISION: &str = "model_has_no_vision";

/// The kind of a model's failure for a client, by the prefix of the host's message; the first that fits counts. A request that the provider
/// refused has the kind of the provider's status.
const FAILURES: [(&str, Kind); 11] = [
    ("LLM_UNKNOWN_MODEL", Kind::Missing),
    ("LLM_BUDGET_EXCEEDED", Kind::Spent),
    ("LLM_RATE_LIMITED", Kind::Often),
    ("LLM_TIMEOUT", Kind::Late),
    ("LLM_CONTEXT_TOO_LONG", Kind::Bad),
    (BLIND, Kind::Bad),
    ("LLM_UNAVAILABLE", Kind::Busy),
    ("LLM_ERROR: the ledger", Kind::Busy),
    (LOCKED, Kind::Busy),
    ("QUEUE_BUSY", Kind::Busy),
    ("LLM_", Kind::Upstream),
];

/// The beginning of the message for a vault that waits for a person.
const LOCKED: &str = "LLM_ERROR: the vault is locked";

/// A budget that is free again within so many seconds, of answers that are under way or of a new day, is worth waiting for.
const SOON_S: u32 = 30;

/// The provider's status in the message for a request that it refused.
fn status_in(words: &str) -> Option<u16> {
    let (_, rest) = words.strip_prefix("LLM_REQUEST_ERROR")?.split_once("(status ")?;
    rest.split_once(')')?.0.parse().ok()
}

/// The vendor's API that a request came by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `/v1/chat/completions`, `/v1/responses`, `/v1/embeddings`, and whatever is nobody's.
    OpenAi,
    /// `/v1/messages`.
    Anthropic,
}

/// The kind of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The request is not as it must be.
    Bad,
    /// No key, or none of this host.
    NoKey,
    /// It may not.
    Forbidden,
    /// No such thing.
    Missing,
    /// Not by this method.
    Method,
    /// The body came too slowly.
    Slow,
    /// Something else is under way.
    Conflict,
    /// The body is over its bound.
    Large,
    /// The body is in a coding that is not taken.
    Coded,
    /// It was meant for another host.
    Misdirected,
    /// Too many requests.
    Often,
    /// The budget is used up.
    Spent,
    /// The host failed.
    Failed,
    /// The provider failed.
    Upstream,
    /// A process is away, or there is too much to do.
    Busy,
    /// The answer took too long.
    Late,
}

/// Status and type for clients of the one and the other vendor, and the code that goes with it unless another is given.
type Shape = (u16, &'static str, Option<&'static str>, u16, &'static str);

impl Kind {
    const fn shape(self) -> Shape {
        const INVALID: &str = "invalid_request_error";
        match self {
            Self::Bad => (400, INVALID, None, 400, INVALID),
            Self::NoKey => (401, INVALID, Some("invalid_api_key"), 401, "authentication_error"),
            Self::Forbidden => (403, INVALID, Some("insufficient_permissions"), 403, "permission_error"),
            Self::Missing => (404, INVALID, None, 404, "not_found_error"),
            Self::Method => (405, INVALID, Some("method_not_supported"), 405, INVALID),
            Self::Slow => (408, INVALID, Some("request_timeout"), 408, INVALID),
            Self::Conflict => (409, INVALID, Some("conflict"), 409, INVALID),
            Self::Large => (413, INVALID, Some("request_too_large"), 413, "request_too_large"),
            Self::Coded => (415, INVALID, Some("unsupported_content_encoding"), 415, INVALID),
            Self::Misdirected => (421, INVALID, Some("misdirected_request"), 421, INVALID),
            Self::Often => (429, "requests", Some("rate_limit_exceeded"), 429, "rate_limit_error"),
            Self::Spent => (429, "insufficient_quota", Some("insufficient_quota"), 429, "rate_limit_error"),
            Self::Failed => (500, "server_error", None, 500, "api_error"),
            Self::Upstream => (502, "server_error", Some("upstream_error"), 502, "api_error"),
            Self::Busy => (503, "server_error", Some("overloaded"), 529, "overloaded_error"),
            Self::Late => (504, "server_error", Some("timeout"), 504, "timeout_error"),
        }
    }
}

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    kind: Kind,
    message: String,
    /// The field of the request that it is about.
    param: Option<String>,
    code: Option<&'static str>,
    /// Seconds after which to try again.
    retry_s: Option<u32>,
    /// True if official clients are not to try again by themselves.
    is_final: bool,
}

impl Fault {
    /// A refusal of this kind, with a message that is cut at its bound.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        let mut message = message.into();
        let end = message.floor_char_boundary(MESSAGE);
        message.truncate(end);
        Self { kind, message, param: None, code: None, retry_s: None, is_final: false }
    }

    /// A field of the request is not as it must be.
    pub fn bad(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Kind::Bad, message).about(param)
    }

    /// Names the field that it is about.
    pub fn about(mut self, param: impl Into<String>) -> Self {
        self.param = Some(param.into());
        self
    }

    /// With this code instead of the kind's own.
    pub const fn coded(mut self, code: &'static str) -> Self {
        self.code = Some(code);
        self
    }

    /// To be tried again after so long.
    pub const fn after(mut self, seconds: u32) -> Self {
        self.retry_s = Some(seconds);
        self
    }

    /// Not to be tried again by the client's own library.
    pub const fn never_by_itself(mut self) -> Self {
        self.is_final = true;
        self
    }

    /// No such model; the valid names are said.
    pub fn no_model(model: &str, valid: &str) -> Self {
        let there_are =
            if valid.is_empty() { "there are none".to_owned() } else { format!("there are: {valid}") };
        let message =
            format!("The model `{model}` does not exist or you do not have access to it; {there_are}");
        Self::new(Kind::Missing, message).about("model").coded("model_not_found")
    }

    /// The conversation shows images to a model that takes none.
    pub fn no_vision(model: &str) -> Self {
        let message = format!(
            "The model `{model}` takes no images (it has no vision), and was sent nothing; `agentctl model list` shows which do."
        );
        Self::bad("messages", message).coded(NO_VISION)
    }

    /// A model's failure, by the beginning of its message: a model's answer and an agent's turn give the same refusal.
    pub fn of_model(words: impl Into<String>) -> Self {
        let words = words.into();
        let kind = match status_in(&words) {
            Some(200) => return Self::filtered(),
            Some(400..=499) => Kind::Bad,
            _ => FAILURES
                .iter()
                .find(|(begin, _)| words.starts_with(begin))
                .map_or(Kind::Failed, |(_, kind)| *kind),
        };
        let begins = |word: &str| words.starts_with(word);
        let (is_unknown, is_long) = (begins("LLM_UNKNOWN_MODEL"), begins("LLM_CONTEXT_TOO_LONG"));
        let (is_blind, is_locked) = (begins(BLIND), begins(LOCKED));
        let again = ModelError::again_in(&words).or(begins("QUEUE_BUSY").then_some(1));
        let fault = match kind {
            Kind::Spent if again.is_some_and(|seconds| seconds <= SOON_S) => {
                let taken = "is used up, or set aside for answers that are under way";
                Self::new(Kind::Often, words.replacen("is used up", taken, 1))
            }
            _ => Self::new(kind, words),
        };
        let fault = again.into_iter().fold(fault, Self::after);
        match (is_unknown, is_long, is_blind) {
            _ if is_locked => fault.coded("vault_locked").never_by_itself(),
            (true, ..) => fault.about("model").coded("model_not_found"),
            (_, true, _) => fault.about("messages").coded("context_length_exceeded"),
            (.., true) => fault.about("messages").coded(NO_VISION),
            _ => fault,
        }
    }

    /// The provider's filter took its answer back, or its model would give none. Clients ask again after a 502, which is paid
    /// for each time and ends the same.
    fn filtered() -> Self {
        let words = "LLM_REQUEST_ERROR: the provider's own filter took its answer back";
        Self::new(Kind::Bad, words).coded("content_filter")
    }

    /// A process of the host does not answer.
    pub fn down(process: &'static str, fault: ipc_proto::Fault) -> Self {
        tracing::warn!(peer = process, %fault, "no answer");
        Self::new(Kind::Busy, format!("{process} is not there: {fault}; nothing goes on without it")).after(2)
    }

    /// Its kind.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The message.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The code for clients of the first vendor.
    pub fn code(&self) -> &'static str {
        self.code.or(self.kind.shape().2).unwrap_or("server_error")
    }

    /// The body, as the vendor's API gives it.
    pub fn json(&self, dialect: Dialect, request_id: &str) -> Value {
        let (_, first, code, _, second) = self.kind.shape();
        match dialect {
            Dialect::OpenAi => json!({"error": {
                "message": self.message, "type": first, "param": self.param, "code": self.code.or(code),
            }}),
            Dialect::Anthropic => json!({
                "type": "error",
                "error": {"type": second, "message": self.placed()},
                "request_id": request_id,
            }),
        }
    }

    /// The message with the field that it is about, which the second vendor's API has nowhere else.
    fn placed(&self) -> String {
        let Some(param) = &self.param else { return self.message.clone() };
        // The first vendor writes a place as `a[0].b`, and the second as `a.0.b`.
        let place = param.replace('[', ".").replace(']', "");
        if self.code == Some("missing_required_parameter") {
            return format!("{place}: Field required");
        }
        let message = self.message.replace(param.as_str(), &place);
        if message.contains(&place) {
            return message;
        }
        // A part of the place, where the message begins by it, is said by the whole.
        let part = message.split_once(": ").filter(|(begin, _)| place.starts_with(begin));
        format!("{place}: {}", part.map_or(message.as_str(), |(_, rest)| rest))
    }

    /// The response, as the vendor's API gives it.
    pub fn render(&self, dialect: Dialect, request_id: &str) -> Response {
        let mut response = Response::new(Body::from(self.json(dialect, request_id).to_string()));
        *response.status_mut() = self.status(dialect);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(seconds) = self.retry_s {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        // Official clients try again by themselves otherwise, which no budget is raised by.
        if self.is_final || self.kind == Kind::Spent {
            headers.insert("x-should-retry", HeaderValue::from_static("false"));
        }
        match self.kind {
            Kind::NoKey => drop(headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))),
            // The rest of the body is not waited for.
            Kind::Large | Kind::Slow | Kind::Coded => {
                drop(headers.insert(header::CONNECTION, HeaderValue::from_static("close")))
            }
            _ => {}
        }
        response
    }

    fn status(&self, dialect: Dialect) -> StatusCode {
        let (first, _, _, second, _) = self.kind.shape();
        let status = if dialect == Dialect::OpenAi { first } else { second };
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

/// A response that says nothing yet: whose client it is for is known further out.
impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        response.extensions_mut().insert(self);
        response
    }
}

impl From<RouterError> for Fault {
    fn from(error: RouterError) -> Self {
        let message = error.to_string();
        match error {
            RouterError::NoKey | RouterError::NoUser => Self::new(Kind::NoKey, message),
            RouterError::NotInScope(_) => Self::new(Kind::Forbidden, message).about("model"),
            RouterError::NoAgent(names) => Self::no_model("agent/", &names),
            RouterError::BadMessage => Self::bad("messages", message),
            RouterError::NoVision(_) => Self::bad("messages", message).coded(NO_VISION),
            RouterError::KeyReused => Self::bad("Idempotency-Key", message).coded("idempotency_key_reused"),
            RouterError::SessionOver | RouterError::Taken => Self::new(Kind::Conflict, message),
            RouterError::NoSession(_) | RouterError::NotUnderWay => {
                Self::new(Kind::Conflict, "Nothing is under way in this conversation; send it as a message.")
                    .coded("not_under_way")
            }
            RouterError::NotSteered(_) => Self::new(Kind::Conflict, message).coded("not_steered"),
            RouterError::BadWords => Self::bad("text", message),
            RouterError::TooManyRuns { .. } => Self::new(Kind::Often, message).after(5),
            RouterError::Busy { retry_s, .. } => Self::new(Kind::Often, message).after(retry_s),
            RouterError::NoRoom { .. } | RouterError::NotDurable => Self::new(Kind::Busy, message).after(5),
            _ => Self::new(Kind::Failed, message),
        }
    }
}

impl From<RelayError> for Fault {
    fn from(error: RelayError) -> Self {
        let message = error.to_string();
        match error {
            RelayError::NoKey => Self::new(Kind::NoKey, message),
            RelayError::NotInScope => Self::new(Kind::Forbidden, message).about("model"),
            RelayError::Policy(_) => Self::new(Kind::Forbidden, message).coded("policy_denied"),
            RelayError::Blocked(_) => Self::new(Kind::Bad, message).coded("content_filter"),
            RelayError::Busy { retry_s } => Self::new(Kind::Often, message).after(retry_s),
            RelayError::Model(error) => error.into(),
            RelayError::Down(_) => Self::new(Kind::Busy, message).after(2),
            RelayError::NoMemory => Self::new(Kind::Forbidden, message),
            RelayError::NoAgent(names) => Self::no_model("agent/", &names),
            RelayError::Memory(_) | RelayError::Embedder(_) => Self::new(Kind::Failed, message),
        }
    }
}

impl From<ModelError> for Fault {
    fn from(error: ModelError) -> Self {
        Self::of_model(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::Text;
    use ipc_proto::credproxy::CredError;
    use ipc_proto::model::Per;

    #[test]
    fn each_vendor_s_clients_get_the_body_and_status_of_their_own_api() {
        let fault = Fault::bad("messages[0].role", "no such role");
        let first = fault.json(Dialect::OpenAi, "req_1");
        let expected = json!({"error": {"message": "no such role", "type": "invalid_request_error",
            "param": "messages[0].role", "code": null}});
        assert_eq!(first, expected);
        let second = fault.json(Dialect::Anthropic, "req_1");
        let expected = json!({"type": "error", "request_id": "req_1",
            "error": {"type": "invalid_request_error", "message": "messages.0.role: no such role"}});
        assert_eq!(second, expected);
        let missing = Fault::bad("messages[0].content", "Missing required parameter: 'messages[0].content'.");
        let missing = missing.coded("missing_required_parameter").json(Dialect::Anthropic, "");
        assert_eq!(missing["error"]["message"], "messages.0.content: Field required");
        let nested = Fault::bad("messages.0.content.0.type", "messages.0.content.0: no such content");
        let nested = nested.json(Dialect::Anthropic, "")["error"]["message"].clone();
        assert_eq!(nested, "messages.0.content.0.type: no such content", "the place is said once");
        let busy = Fault::new(Kind::Busy, "x").after(3);
        for (dialect, status) in [(Dialect::OpenAi, 503), (Dialect::Anthropic, 529)] {
            let response = busy.render(dialect, "r");
            assert_eq!(response.status().as_u16(), status);
            assert_eq!(response.headers()["retry-after"], "3");
        }
    }

    // Holds P3-19.
    #[test]
    fn every_reason_of_a_peer_has_its_status() {
        let status = |fault: Fault| fault.status(Dialect::OpenAi).as_u16();
        for (error, expected) in [
            (RouterError::NoKey, 401),
            (RouterError::NotInScope(Text::default()), 403),
            (RouterError::NoAgent(Text::clip("default")), 404),
            (RouterError::BadMessage, 400),
            (RouterError::NoVision(Text::clip("a")), 400),
            (RouterError::KeyReused, 400),
            (RouterError::Taken, 409),
            (RouterError::Busy { waiting: 1, retry_s: 2 }, 429),
            (RouterError::NotDurable, 503),
            (RouterError::NoTurn, 500),
        ] {
            assert_eq!(status(error.clone().into()), expected, "{error}");
        }
        for (error, expected) in [
            (ModelError::UnknownModel, 404),
            (ModelError::RateLimited { retry_after_s: 1 }, 429),
            (ModelError::TooLong { context: 8 }, 400),
            (ModelError::Budget { per: Per::Key, again_s: 9 }, 429),
            (ModelError::Timeout, 504),
            (ModelError::CoolingDown { again_s: 1 }, 503),
            (ModelError::Rejected { status: 422 }, 400),
            (ModelError::Rejected { status: 200 }, 400),
            (ModelError::NoVision, 400),
            (ModelError::Ledger, 503),
            (ModelError::Busy, 503),
            (ModelError::Script, 502),
            (ModelError::Credentials(CredError::Compressed), 502),
            (ModelError::Credentials(CredError::Locked), 503),
            (ModelError::Server { status: 500 }, 502),
            (ModelError::Auth, 502),
        ] {
            let (direct, of_turn): (Fault, _) =
                (RelayError::Model(error).into(), Fault::of_model(error.to_string()));
            assert_eq!((status(direct.clone()), direct), (expected, of_turn), "{error}");
        }
        let spent = Fault::from(ModelError::Budget { per: Per::Day, again_s: 60 });
        let response = spent.render(Dialect::OpenAi, "r");
        assert_eq!(
            (&response.headers()["x-should-retry"], &response.headers()["retry-after"]),
            (&HeaderValue::from_static("false"), &HeaderValue::from_static("60"),)
        );
    }

    // Holds P7-85.
    #[test]
    fn a_client_retries_only_what_is_free_again_in_seconds() {
        let told = |error: ModelError| {
            let fault = Fault::from(error);
            let response = fault.render(Dialect::OpenAi, "r");
            let word =
                |name: &str| response.headers().get(name).map(|word| word.to_str().unwrap().to_owned());
            (response.status().as_u16(), fault.code(), word("retry-after"), word("x-should-retry"))
        };
        let (two, day) = (Some("2".to_owned()), Some("64903".to_owned()));
        let never = Some("false".to_owned());
        let budget = |again_s| ModelError::Budget { per: Per::Day, again_s };
        assert_eq!(told(budget(2)), (429, "rate_limit_exceeded", two, None));
        assert_eq!(told(budget(64_903)), (429, "insufficient_quota", day, never.clone()));
        assert_eq!(
            told(budget(0)),
            (429, "insufficient_quota", None, never.clone()),
            "it is never free again"
        );
        let locked = ModelError::Credentials(CredError::Locked);
        assert_eq!(told(locked), (503, "vault_locked", None, never));
        assert!(Fault::from(locked).message().contains("agentctl cred unlock"));
    }

    #[test]
    fn an_error_names_what_a_model_lacks_or_that_it_is_missing() {
        let told = Fault::no_vision("acme/small").json(Dialect::OpenAi, "")["error"].clone();
        assert!(told["message"].as_str().unwrap().contains("`acme/small` takes no images"), "{told}");
        assert_eq!((&told["param"], &told["code"]), (&json!("messages"), &json!(NO_VISION)));
        assert!(Fault::no_model("a/b", "").message().ends_with("; there are none"));
        assert!(Fault::no_model("a/b", "c/d").message().ends_with("; there are: c/d"));
    }

    #[test]
    fn a_message_is_bounded() {
        assert!(Fault::new(Kind::Bad, "é".repeat(4000)).message().len() <= MESSAGE);
    }
}
