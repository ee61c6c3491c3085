//! The meaning of a provider's refusal: by its HTTP status and by the class that its body names, since providers use
//! one status for several things. The text of a body decides and is never passed on.

use ipc_proto::model::ModelError;
use serde_json::Value;

/// Bytes of a refusal's body that are read.
pub const REFUSAL_BOUND: usize = 16 * 1024;
/// Seconds to wait if a provider that limits the rate does not say how long.
pub(crate) const RETRY_AFTER: u32 = 60;
/// The same of one that is overloaded.
const OVERLOADED_FOR: u32 = 30;
/// Anthropic's status of an overload.
const OVERLOADED: u16 = 529;
/// HTTP's word for an account without money. Some say it with 400 or 429, which would look as if waiting helped.
const PAYMENT_REQUIRED: u16 = 402;

/// The meaning of an answer with this status, which is no success. `wait` is the time that it asks to wait, and
/// `context` the tokens that the model takes.
#[must_use]
pub fn refused(status: u16, wait: Option<u32>, body: &[u8], context: u32) -> ModelError {
    let text = ErrorText::of(body);
    if text.is_too_long() {
        return ModelError::TooLong { context };
    }
    match status {
        401 | 403 => ModelError::Auth,
        408 => ModelError::Timeout,
        404 if text.is_of_the_model() => ModelError::UnknownModel,
        400 | 402 | 429 if text.is_unpaid() => ModelError::Rejected { status: PAYMENT_REQUIRED },
        400 if text.is_auth() => ModelError::Auth,
        429 => ModelError::RateLimited { retry_after_s: wait.unwrap_or(RETRY_AFTER) },
        OVERLOADED => ModelError::RateLimited { retry_after_s: wait.unwrap_or(OVERLOADED_FOR) },
        500.. => ModelError::Server { status },
        _ => ModelError::Rejected { status },
    }
}

/// The meaning of an error inside a stream: by its number if it has one, else by its kind.
pub(crate) fn stream_error(error: &Value, context: u32) -> ModelError {
    let text = ErrorText::in_value(error);
    let number = |value: &Value| value.as_u64().or_else(|| value.as_str()?.parse().ok());
    let status = KINDS.iter().filter_map(|key| number(error.get(key)?)).find_map(|n| u16::try_from(n).ok());
    if let Some(status) = status.filter(|status| *status >= 400) {
        return refused(status, None, error.to_string().as_bytes(), context);
    }
    if text.is_too_long() {
        ModelError::TooLong { context }
    } else if text.is_unpaid() {
        ModelError::Rejected { status: PAYMENT_REQUIRED }
    } else if text.is(&["overloaded"]) {
        ModelError::RateLimited { retry_after_s: OVERLOADED_FOR }
    } else if text.is(&["rate_limit", "too_many_requests", "resource_exhausted"]) {
        ModelError::RateLimited { retry_after_s: RETRY_AFTER }
    } else if text.is_auth() {
        ModelError::Auth
    } else if text.is(&["invalid_request", "invalid_prompt", "not_found"]) {
        ModelError::Rejected { status: 400 }
    } else {
        ModelError::Server { status: 500 }
    }
}

/// Where providers put the class of an error.
const KINDS: [&str; 3] = ["status", "code", "type"];

/// The text of an error's body, in lower case.
#[derive(Default)]
struct ErrorText {
    kinds: String,
    words: String,
}

impl ErrorText {
    /// An error stands under `error`, or is the whole; without JSON its text is all there is.
    fn of(body: &[u8]) -> Self {
        let body = body.get(..REFUSAL_BOUND).unwrap_or(body);
        match serde_json::from_slice::<Value>(body) {
            Ok(Value::Array(list)) => list.first().map(Self::in_value).unwrap_or_default(),
            Ok(value) => Self::in_value(&value),
            Err(_) => {
                Self { kinds: String::new(), words: String::from_utf8_lossy(body).to_ascii_lowercase() }
            }
        }
    }

    fn in_value(value: &Value) -> Self {
        let inner = value.get("error").filter(|error| !error.is_null()).unwrap_or(value);
        let text = |key: &str| inner.get(key).and_then(Value::as_str);
        let kinds: Vec<&str> = KINDS.iter().filter_map(|key| text(key)).collect();
        let words = inner.as_str().or_else(|| text("message")).or_else(|| text("detail"));
        Self {
            kinds: kinds.join(" ").to_ascii_lowercase(),
            words: words.unwrap_or_default().to_ascii_lowercase(),
        }
    }

    fn is(&self, kinds: &[&str]) -> bool {
        kinds.iter().any(|kind| self.kinds.contains(kind))
    }

    fn says(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.words.contains(word))
    }

    fn is_too_long(&self) -> bool {
        self.is(&["context_length", "exceed_context_size"])
            || self.says(&[
                "prompt is too long",
                "input is too long",
                "maximum context length",
                "context length exceeded",
                "exceeds the context window",
                "exceeds the available context size",
                "exceeds the maximum number of tokens",
                "exceeds the context length",
            ])
    }

    fn is_unpaid(&self) -> bool {
        self.is(&["insufficient_quota", "billing", "insufficient_balance", "payment_required"])
            || self.says(&["credit balance is too low", "insufficient balance"])
    }

    fn is_auth(&self) -> bool {
        self.is(&["authentication", "permission", "invalid_api_key", "unauthorized"])
            || self.says(&["api key not valid", "invalid api key", "incorrect api key"])
    }

    fn is_of_the_model(&self) -> bool {
        self.is(&["model_not_found"]) || self.says(&["model"])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: ModelError = ModelError::RateLimited { retry_after_s: 60 };
    const UNPAID: ModelError = ModelError::Rejected { status: 402 };
    const LONG: ModelError = ModelError::TooLong { context: 8 };

    const fn rejected(status: u16) -> ModelError {
        ModelError::Rejected { status }
    }

    #[test]
    fn each_status_has_its_meaning() {
        for (status, wait, expected) in [
            (401, None, ModelError::Auth),
            (403, None, ModelError::Auth),
            (400, None, rejected(400)),
            (402, None, UNPAID),
            (404, None, rejected(404)),
            (413, None, rejected(413)),
            (422, None, rejected(422)),
            (302, None, rejected(302)),
            (408, None, ModelError::Timeout),
            (429, None, RATE),
            (429, Some(7), ModelError::RateLimited { retry_after_s: 7 }),
            (529, None, ModelError::RateLimited { retry_after_s: 30 }),
            (529, Some(2), ModelError::RateLimited { retry_after_s: 2 }),
            (500, None, ModelError::Server { status: 500 }),
            (503, Some(9), ModelError::Server { status: 503 }),
        ] {
            assert_eq!(refused(status, wait, b"<html>secret words</html>", 8), expected, "{status}");
        }
    }

    #[test]
    fn one_status_means_what_its_body_says() {
        for (status, body, expected) in [
            (400, r#"{"error":{"code":"context_length_exceeded","message":"m"}}"#, LONG),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}"#,
                LONG,
            ),
            (400, r#"{"error":{"type":"exceed_context_size_error","n_ctx":8}}"#, LONG),
            (400, r#"{"object":"error","message":"This model's maximum context length is 8 tokens."}"#, LONG),
            (500, r#"{"error":"the input exceeds the available context size"}"#, LONG),
            (400, r#"{"error":{"type":"invalid_request_error","message":"bad"}}"#, rejected(400)),
            (
                400,
                r#"{"error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}"#,
                UNPAID,
            ),
            (429, r#"{"error":{"code":"insufficient_quota"}}"#, UNPAID),
            (429, r#"{"error":{"code":"rate_limit_exceeded"}}"#, RATE),
            (404, r#"{"error":{"code":"model_not_found"}}"#, ModelError::UnknownModel),
            (404, r#"{"error":"model \"x\" not found, try pulling it first"}"#, ModelError::UnknownModel),
            (404, r#"{"error":{"type":"not_found_error","message":"model: x"}}"#, ModelError::UnknownModel),
            (404, "404 page not found", rejected(404)),
            (400, r#"[{"error":{"code":400,"message":"API key not valid."}}]"#, ModelError::Auth),
            (422, r#"{"detail":[{"loc":["body"]}]}"#, rejected(422)),
        ] {
            assert_eq!(refused(status, None, body.as_bytes(), 8), expected, "{body}");
        }
    }

    #[test]
    fn each_error_inside_a_stream_has_its_meaning() {
        for (error, expected) in [
            (r#"{"message":"m","code":429}"#, RATE),
            (r#"{"code":"rate_limit_exceeded"}"#, RATE),
            (r#"{"type":"authentication_error"}"#, ModelError::Auth),
            (r#"{"type":"invalid_request_error","code":null}"#, rejected(400)),
            (r#"{"code":"502"}"#, ModelError::Server { status: 502 }),
            (r#"{"type":"overloaded_error"}"#, ModelError::RateLimited { retry_after_s: 30 }),
            (r#"{"type":"error","code":"context_length_exceeded"}"#, LONG),
            (r#"{"code":"insufficient_quota"}"#, UNPAID),
            (r#""words""#, ModelError::Server { status: 500 }),
            ("3", ModelError::Server { status: 500 }),
        ] {
            let error: Value = serde_json::from_str(error).unwrap();
            assert_eq!(stream_error(&error, 8), expected, "{error}");
        }
    }
}
