//! The replies of the Bot API, and what each failure says of the request.

use channel::{Lost, NoFile, PollFault, refused};
use ipc_proto::Text;
use ipc_proto::channel::{Link, Missed, Outcome, Trouble};
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;

/// The pause while Telegram refuses the token.
const REFUSED: Duration = Duration::from_secs(60);
/// The pause while another program polls.
const RIVAL: Duration = Duration::from_secs(10);
/// The longest pause that Telegram is believed, in seconds.
const LONGEST_S: u32 = 3600;

/// The reason for which a request has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    /// It has no reply.
    #[error("{0}")]
    Lost(#[from] Lost),
    /// Telegram refused it.
    #[error("Telegram refused it ({})", .0.code)]
    Refused(Refusal),
}

/// A refusal. The text of Telegram is read and not passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The code, as of HTTP.
    pub code: u16,
    /// Seconds after which to try again.
    pub retry_after: Option<u32>,
    /// The chat that the group has become.
    pub moved_to: Option<i64>,
    /// The kind of the refusal, where it has a consequence of its own.
    pub kind: Kind,
}

/// A refusal with a consequence of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The message has this text already.
    NotModified,
    /// The message that was to be edited is gone, or cannot be edited.
    Gone,
    /// A hook is set, so that nothing can be polled.
    Hook,
    /// The file is over what the Bot API gives out.
    TooBig,
    /// Another one.
    Other,
}

#[derive(Deserialize)]
struct Reply {
    ok: bool,
    #[serde(default)]
    result: Value,
    #[serde(default)]
    error_code: u16,
    #[serde(default)]
    description: String,
    #[serde(default)]
    parameters: Parameters,
}

#[derive(Default, Deserialize)]
struct Parameters {
    retry_after: Option<u32>,
    migrate_to_chat_id: Option<i64>,
}

/// Reads a reply of this HTTP status.
///
/// # Errors
/// [`Failure::Refused`] for a definite refusal, [`Lost::Unknown`] for everything that is none.
pub(crate) fn read(status: u16, body: &[u8]) -> Result<Value, Failure> {
    let reply: Reply = serde_json::from_slice(body).map_err(|_| Lost::Unknown)?;
    if reply.ok && (200..300).contains(&status) {
        return Ok(reply.result);
    }
    let code = if reply.error_code == 0 { status } else { reply.error_code };
    if !(400..500).contains(&code) {
        return Err(Lost::Unknown.into());
    }
    let Parameters { retry_after, migrate_to_chat_id: moved_to } = reply.parameters;
    Err(Failure::Refused(Refusal { code, retry_after, moved_to, kind: kind(&reply.description) }))
}

fn kind(description: &str) -> Kind {
    let has = |text: &str| description.contains(text);
    if has("message is not modified") {
        Kind::NotModified
    } else if has("message to edit not found") || has("message can't be edited") {
        Kind::Gone
    } else if has("webhook is active") {
        Kind::Hook
    } else if has("file is too big") {
        Kind::TooBig
    } else {
        Kind::Other
    }
}

/// The outcome of a message that was sent.
pub(crate) fn outcome(reply: Result<Value, Failure>) -> Outcome {
    match reply {
        Ok(message) => match message.get("message_id").and_then(Value::as_i64) {
            Some(id) => Outcome::Sent { id: Text::clip(&id.to_string()) },
            None => Outcome::Unknown,
        },
        Err(Failure::Lost(lost)) => lost.outcome(),
        Err(Failure::Refused(refusal)) => match refusal.code {
            429 => Outcome::Unsent { after_ms: wait(refusal).saturating_mul(1000) },
            // The token is refused: nobody has the message, and a new token sends it.
            401 | 404 => Outcome::Unsent { after_ms: 60_000 },
            403 => refused("the person has blocked the bot, or the bot was removed from the group"),
            code => refused(&format!("Telegram refused the message ({code})")),
        },
    }
}

fn wait(refusal: Refusal) -> u32 {
    refusal.retry_after.unwrap_or(1).clamp(1, LONGEST_S)
}

/// The reason for which a file is not given out.
pub(crate) const fn no_file(failure: &Failure) -> NoFile {
    match failure {
        Failure::Refused(Refusal { kind: Kind::TooBig, .. }) => NoFile::Missed(Missed::TooLarge),
        Failure::Refused(Refusal { code: 429, .. }) | Failure::Lost(_) => NoFile::Later,
        Failure::Refused(_) => NoFile::Missed(Missed::Gone),
    }
}

/// The state of the connection after a poll that failed.
pub(crate) fn poll_fault(failure: &Failure, account: &str) -> PollFault {
    let (link, reason, after) = match failure {
        Failure::Refused(Refusal { code: 401 | 404, .. }) => (
            Link::Refused,
            format!("Telegram refuses the token; give it again: agentctl channel add telegram {account}"),
            Some(REFUSED),
        ),
        Failure::Refused(Refusal { kind: Kind::Hook, .. }) => (
            Link::Refused,
            "a webhook is set for this bot, so its messages cannot be polled; delete the webhook, or make a new bot".to_owned(),
            Some(REFUSED),
        ),
        Failure::Refused(Refusal { code: 409, .. }) => (
            Link::Refused,
            "another program polls with the same token; end it, or have @BotFather make a new token".to_owned(),
            Some(RIVAL),
        ),
        Failure::Refused(refusal) if refusal.code == 429 => {
            let after = Duration::from_secs(wait(*refusal).into());
            (Link::Down, "Telegram asks to wait".to_owned(), Some(after))
        }
        Failure::Refused(refusal) => (Link::Down, format!("Telegram refused the poll ({})", refusal.code), None),
        Failure::Lost(lost) => return lost.fault("Telegram"),
    };
    PollFault { link, reason, after }
}

/// The trouble that a failure is.
pub(crate) fn trouble(failure: &Failure) -> Trouble {
    match failure {
        Failure::Refused(Refusal { code: 401 | 404, .. }) => Trouble::Token,
        Failure::Refused(Refusal { kind: Kind::Hook, .. }) => Trouble::Hook,
        Failure::Refused(Refusal { code: 409, .. }) => Trouble::Rival,
        Failure::Refused(_) => Trouble::None,
        Failure::Lost(lost) if lost.needs_person() => Trouble::Secret,
        Failure::Lost(_) => Trouble::Network,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::credproxy::CredError;
    use serde_json::json;

    fn read(status: u16, body: &Value) -> Result<Value, Failure> {
        super::read(status, body.to_string().as_bytes())
    }

    #[test]
    fn a_message_that_was_sent_has_its_id() {
        let reply = read(200, &json!({ "ok": true, "result": { "message_id": 7, "new_field": {} } }));
        assert_eq!(outcome(reply), Outcome::Sent { id: Text::clip("7") });
    }

    #[test]
    fn a_definite_refusal_is_known_and_a_server_error_is_not() {
        let answered =
            |code: u16| outcome(read(code, &json!({ "ok": false, "error_code": code, "description": "x" })));
        assert!(matches!(answered(400), Outcome::Refused { finally: true, .. }));
        assert!(matches!(answered(403), Outcome::Refused { finally: true, .. }));
        assert_eq!(answered(500), Outcome::Unknown);
        assert_eq!(outcome(super::read(502, b"<html>")), Outcome::Unknown);
        assert_eq!(outcome(Err(Failure::from(Lost::from(CredError::Stalled)))), Outcome::Unknown);
        assert_eq!(
            outcome(Err(Failure::from(Lost::from(CredError::Unsent)))),
            Outcome::Unsent { after_ms: 1000 }
        );
    }

    #[test]
    fn too_many_requests_wait_as_long_as_telegram_says() {
        let body =
            json!({ "ok": false, "error_code": 429, "description": "", "parameters": { "retry_after": 14 } });
        assert_eq!(outcome(read(429, &body)), Outcome::Unsent { after_ms: 14_000 });
        let Err(failure) = read(429, &body) else { panic!("a refusal") };
        assert_eq!(poll_fault(&failure, "main").after, Some(Duration::from_secs(14)));
    }

    // Holds P11-18.
    #[test]
    fn a_second_poller_and_a_refused_token_say_how_they_are_mended() {
        let failure = |code: u16, text: &str| {
            let body = json!({ "ok": false, "error_code": code, "description": text });
            let Err(failure) = read(code, &body) else { panic!("a refusal") };
            failure
        };
        let reason = |code: u16, text: &str| poll_fault(&failure(code, text), "main").reason;
        let troubles =
            [failure(409, "x"), failure(409, "webhook is active"), failure(401, "x"), Lost::Unknown.into()];
        assert_eq!(
            troubles.map(|failure| trouble(&failure)),
            [Trouble::Rival, Trouble::Hook, Trouble::Token, Trouble::Network]
        );
        assert_eq!(trouble(&Lost::Unsent(CredError::NotBound).into()), Trouble::Secret);
        assert!(reason(409, "terminated by other getUpdates request").contains("another program polls"));
        assert!(reason(409, "can't use getUpdates method while webhook is active").contains("webhook"));
        assert!(reason(401, "Unauthorized").contains("agentctl channel add telegram main"));
    }
}
