//! The replies of a homeserver, and what each failure says of the request. A message goes under a transaction id, so one whose reply was
//! lost is sent again and is there once: no outcome of it stays unknown.

use channel::{Lost, PollFault, refused};
use ipc_proto::Text;
use ipc_proto::channel::{Link, Outcome};
use serde::Deserialize;
use std::time::Duration;

/// The pause before a piece is tried again whose reply was lost, or that never left this machine.
const AGAIN_MS: u32 = 1_000;
/// The pause before a piece is tried again where something else than a homeserver answers.
const ASTRAY_MS: u32 = 10_000;
/// The pause while the homeserver refuses the token.
const REFUSED: Duration = Duration::from_secs(60);
/// The shortest and the longest pause for which the homeserver is believed.
const PAUSES_MS: (u32, u32) = (100, 3_600_000);

/// The reason for which a request has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    /// It has no reply.
    #[error("{0}")]
    Lost(#[from] Lost),
    /// The homeserver refused it.
    #[error("the homeserver refused it ({})", .0.status)]
    Refused(Refusal),
}

/// A refusal. The text of the homeserver is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// HTTP status.
    pub status: u16,
    /// Its kind.
    pub kind: Kind,
}

/// The kind of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The access token is none, or no longer one.
    Token,
    /// The account is deactivated, locked or suspended.
    Account,
    /// Too many requests: the milliseconds after which to try again.
    Limited(u32),
    /// The account may not do it, or is not in the room.
    Forbidden,
    /// The message is too large.
    TooLarge,
    /// The answer is not a homeserver's.
    Astray,
    /// Another one.
    Other,
}

impl Failure {
    /// Returns true if this is the kind of a refusal.
    pub(crate) fn is(&self, kind: Kind) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.kind == kind)
    }
}

#[derive(Default, Deserialize)]
struct Fault {
    #[serde(default)]
    errcode: String,
    retry_after_ms: Option<u32>,
}

/// Reads a reply of this HTTP status.
///
/// # Errors
/// [`Failure::Refused`] for a definite refusal, [`Lost::Unknown`] for everything that is none.
pub(crate) fn read(status: u16, retry_after: Option<u32>, body: Vec<u8>) -> Result<Vec<u8>, Failure> {
    if (200..300).contains(&status) {
        return Ok(body);
    }
    if status >= 500 {
        return Err(Lost::Unknown.into());
    }
    let fault: Fault = serde_json::from_slice(&body).unwrap_or_default();
    let wait = fault.retry_after_ms.or(retry_after.map(|seconds| seconds.saturating_mul(1000)));
    let kind = match (fault.errcode.as_str(), status) {
        ("M_LIMIT_EXCEEDED", _) | (_, 429) => {
            Kind::Limited(wait.unwrap_or(AGAIN_MS).clamp(PAUSES_MS.0, PAUSES_MS.1))
        }
        ("M_UNKNOWN_TOKEN" | "M_MISSING_TOKEN", _) => Kind::Token,
        ("M_USER_DEACTIVATED" | "M_USER_LOCKED" | "M_USER_SUSPENDED", _) => Kind::Account,
        ("M_FORBIDDEN", _) => Kind::Forbidden,
        ("M_TOO_LARGE", _) | (_, 413) => Kind::TooLarge,
        ("" | "M_UNRECOGNIZED", _) => Kind::Astray,
        _ => Kind::Other,
    };
    Err(Failure::Refused(Refusal { status, kind }))
}

/// The outcome of a message that was sent.
pub(crate) fn outcome(sent: Result<Text<128>, Failure>) -> Outcome {
    let refusal = match sent {
        Ok(id) => return Outcome::Sent { id },
        Err(Failure::Lost(_)) => return Outcome::Unsent { after_ms: AGAIN_MS },
        Err(Failure::Refused(refusal)) => refusal,
    };
    match refusal.kind {
        Kind::Limited(after_ms) => Outcome::Unsent { after_ms },
        // A new token, or the account's return, sends it.
        Kind::Token | Kind::Account => Outcome::Unsent { after_ms: 60_000 },
        Kind::Astray => Outcome::Unsent { after_ms: ASTRAY_MS },
        Kind::Forbidden => refused("the account is not in the room, or may not write there"),
        Kind::TooLarge => refused("the homeserver takes no message or file of this size"),
        Kind::Other => refused(&format!("the homeserver refused the message ({})", refusal.status)),
    }
}

/// The state of the connection after a poll that failed.
pub(crate) fn poll_fault(failure: &Failure, account: &str) -> PollFault {
    match failure {
        Failure::Refused(refusal) => refused_poll(*refusal, account),
        Failure::Lost(lost) => lost.fault("the homeserver"),
    }
}

fn refused_poll(refusal: Refusal, account: &str) -> PollFault {
    let (link, reason, after) = match refusal.kind {
        Kind::Token => (
            Link::Refused,
            format!(
                "the homeserver refuses the access token; give another: agentctl channel add matrix {account} --base-url URL"
            ),
            Some(REFUSED),
        ),
        Kind::Account => (
            Link::Refused,
            "the homeserver has locked or deactivated the account; ask those who run it".to_owned(),
            Some(REFUSED),
        ),
        Kind::Limited(wait) => {
            (Link::Down, "the homeserver asks to wait".to_owned(), Some(Duration::from_millis(wait.into())))
        }
        Kind::Astray => (
            Link::Down,
            format!("base_url does not answer as a homeserver ({}); check it", refusal.status),
            None,
        ),
        Kind::Forbidden | Kind::TooLarge | Kind::Other => {
            (Link::Down, format!("the homeserver refused the poll ({})", refusal.status), None)
        }
    };
    PollFault { link, reason, after }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::credproxy::CredError;
    use serde_json::json;

    fn failure(status: u16, code: &str) -> Failure {
        let body = json!({ "errcode": code, "error": "x", "retry_after_ms": 3866 });
        read(status, None, body.to_string().into_bytes()).unwrap_err()
    }

    fn sent(status: u16, code: &str) -> Outcome {
        outcome(Err(failure(status, code)))
    }

    #[test]
    fn a_lost_reply_is_sent_again_and_never_unknown() {
        for lost in [Lost::Unknown, Lost::NotAsked, Lost::Unsent(CredError::Unsent)] {
            assert_eq!(outcome(Err(lost.into())), Outcome::Unsent { after_ms: AGAIN_MS });
        }
        assert_eq!(read(502, None, b"<html>".to_vec()), Err(Lost::Unknown.into()));
    }

    #[test]
    fn a_limit_waits_as_long_as_the_homeserver_says() {
        assert_eq!(sent(429, "M_LIMIT_EXCEEDED"), Outcome::Unsent { after_ms: 3866 });
        let wait = poll_fault(&failure(429, "M_LIMIT_EXCEEDED"), "main").after;
        assert_eq!(wait, Some(Duration::from_millis(3866)));
        let by_header = read(429, Some(4), b"{}".to_vec());
        assert_eq!(by_header, Err(Failure::Refused(Refusal { status: 429, kind: Kind::Limited(4000) })));
    }

    #[test]
    fn a_refusal_is_final_only_where_nothing_mends_it() {
        for (status, code) in [(403, "M_FORBIDDEN"), (413, "M_TOO_LARGE"), (400, "M_BAD_JSON")] {
            assert!(matches!(sent(status, code), Outcome::Refused { finally: true, .. }), "{code}");
        }
        for (status, code) in [(401, "M_UNKNOWN_TOKEN"), (404, "M_UNRECOGNIZED"), (404, "")] {
            assert!(matches!(sent(status, code), Outcome::Unsent { .. }), "{code}");
        }
    }

    #[test]
    fn a_refused_token_is_named_with_the_command_that_mends_it() {
        let fault = poll_fault(&failure(401, "M_UNKNOWN_TOKEN"), "main");
        assert_eq!(fault.link, Link::Refused);
        assert!(fault.reason.contains("agentctl channel add matrix main"), "{}", fault.reason);
        let fault = poll_fault(&read(404, None, b"not found".to_vec()).unwrap_err(), "main");
        assert!(fault.link == Link::Down && fault.reason.contains("base_url"), "{}", fault.reason);
    }
}
