//! The replies of the REST API and the ends of connections: what each failure says of the request, and what a person is told.

use crate::limits::seconds;
use channel::{Lost, PollFault, refused};
use ipc_proto::Text;
use ipc_proto::channel::{Link, Outcome};
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;

/// The pause while Discord refuses the token.
const REFUSED: Duration = Duration::from_secs(60);
/// The code of a message that is not there.
const UNKNOWN_MESSAGE: u64 = 10_008;

/// The reason for which a request has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    /// It has to wait.
    #[error("Discord asks to wait")]
    Wait(Duration),
    /// It has no reply.
    #[error("{0}")]
    Lost(#[from] Lost),
    /// Discord refused it.
    #[error("Discord refused it ({})", .0.status)]
    Refused(Refusal),
}

/// A refusal. The text of Discord is not passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The status of HTTP.
    pub status: u16,
    /// Discord's own code.
    pub code: u64,
}

impl Refusal {
    /// Returns true if the message that was to be changed is gone.
    pub(crate) const fn is_gone(self) -> bool {
        self.status == 404 && self.code == UNKNOWN_MESSAGE
    }
}

#[derive(Default, Deserialize)]
struct ErrorBody {
    #[serde(default)]
    code: u64,
    retry_after: Option<f64>,
    #[serde(default)]
    global: bool,
}

/// A reply that says to wait: how long, and whether everything has to.
pub(crate) fn too_many(body: &[u8], header: Option<u32>) -> (Duration, bool) {
    let said: ErrorBody = serde_json::from_slice(body).unwrap_or_default();
    let after = said.retry_after.and_then(seconds);
    let after = after.or(header.map(|header| Duration::from_secs(header.into())));
    (after.unwrap_or(Duration::from_secs(1)).max(Duration::from_millis(50)), said.global)
}

/// Reads a reply of this HTTP status, which is not 429. A reply without a body is null.
///
/// # Errors
/// [`Failure::Refused`] for a definite refusal, [`Lost::Unknown`] for everything that is none.
pub(crate) fn read(status: u16, body: &[u8]) -> Result<Value, Failure> {
    match status {
        200..300 if body.is_empty() => Ok(Value::Null),
        200..300 => serde_json::from_slice(body).map_err(|_| Lost::Unknown.into()),
        400..500 => {
            let said: ErrorBody = serde_json::from_slice(body).unwrap_or_default();
            Err(Failure::Refused(Refusal { status, code: said.code }))
        }
        _ => Err(Lost::Unknown.into()),
    }
}

/// The outcome of a message that was sent.
pub(crate) fn outcome(reply: &Result<Value, Failure>) -> Outcome {
    match reply {
        Ok(message) => match message.get("id").and_then(Value::as_str).and_then(|id| Text::new(id).ok()) {
            Some(id) => Outcome::Sent { id },
            None => Outcome::Unknown,
        },
        Err(Failure::Lost(lost)) => lost.outcome(),
        Err(Failure::Wait(after)) => {
            Outcome::Unsent { after_ms: u32::try_from(after.as_millis()).unwrap_or(u32::MAX) }
        }
        Err(Failure::Refused(refusal)) => match refusal.status {
            // The token is refused: nobody has the message, and a new token sends it.
            401 => Outcome::Unsent { after_ms: 60_000 },
            403 => refused("the person takes no messages from the bot, or the bot may not write there"),
            404 => refused("the channel is gone, or the bot is not in it"),
            status => refused(&format!("Discord refused the message ({status}, {})", refusal.code)),
        },
    }
}

/// The state of the connection after a request that failed.
pub(crate) fn poll_fault(failure: &Failure, account: &str) -> PollFault {
    let (link, reason, after) = match failure {
        Failure::Refused(Refusal { status: 401, .. }) => return token_refused(account),
        Failure::Refused(refusal) => {
            (Link::Down, format!("Discord refused a request ({})", refusal.status), None)
        }
        Failure::Wait(after) => (Link::Down, failure.to_string(), Some(*after)),
        Failure::Lost(lost) => return lost.fault("Discord"),
    };
    PollFault { link, reason, after }
}

fn token_refused(account: &str) -> PollFault {
    let reason = format!("Discord refuses the token; give it again: agentctl channel add discord {account}");
    PollFault { link: Link::Refused, reason, after: Some(REFUSED) }
}

/// The fault of a connection that Discord closed with this code, where connecting again does not help.
pub(crate) fn final_close(code: u16, account: &str) -> Option<PollFault> {
    let reason = match code {
        4004 => return Some(token_refused(account)),
        4010 | 4011 => {
            "the bot is in more than 2,500 servers, which one connection cannot serve; make a bot of this \
                        host's own"
                .to_owned()
        }
        4012 | 4013 => {
            format!("Discord knows this release's API no longer ({code}); install a newer release of Cordon")
        }
        4014 => format!(
            "the bot may not read messages; switch on `Message Content Intent` of the bot at \
             discord.com/developers/applications, then agentctl channel test {account}"
        ),
        _ => return None,
    };
    Some(PollFault { link: Link::Refused, reason, after: Some(REFUSED) })
}

/// The note on a connection by which no text of others is read.
pub(crate) const UNREAD: &str = "in servers only messages that mention the bot can be read; switch on `Message Content Intent` of \
                                 the bot at discord.com/developers/applications to read all";

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::credproxy::CredError;
    use serde_json::json;

    fn answered(status: u16, body: &Value) -> Outcome {
        outcome(&read(status, body.to_string().as_bytes()))
    }

    #[test]
    fn a_message_that_was_sent_has_its_id() {
        assert_eq!(
            answered(200, &json!({ "id": "7", "new_field": {} })),
            Outcome::Sent { id: Text::clip("7") }
        );
        assert_eq!(answered(200, &json!({ "id": 7 })), Outcome::Unknown);
        assert_eq!(read(204, b""), Ok(Value::Null));
    }

    #[test]
    fn a_definite_refusal_is_known_and_a_server_error_is_not() {
        let refused = |status: u16| answered(status, &json!({ "code": 50_035, "message": "x" }));
        assert!(matches!(refused(400), Outcome::Refused { finally: true, .. }));
        assert!(matches!(refused(403), Outcome::Refused { finally: true, .. }));
        assert_eq!(refused(401), Outcome::Unsent { after_ms: 60_000 });
        assert_eq!(refused(500), Outcome::Unknown);
        assert_eq!(outcome(&read(502, b"<html>")), Outcome::Unknown);
        assert_eq!(outcome(&Err(Lost::Unsent(CredError::Unsent).into())), Outcome::Unsent { after_ms: 1000 });
    }

    #[test]
    fn too_many_requests_wait_as_long_as_discord_says() {
        let body = json!({ "message": "x", "retry_after": 64.57, "global": true }).to_string();
        assert_eq!(too_many(body.as_bytes(), Some(65)), (Duration::from_millis(64_570), true));
        assert_eq!(too_many(b"<html>", Some(3)), (Duration::from_secs(3), false));
        assert_eq!(too_many(b"{\"retry_after\":-1}", None), (Duration::from_secs(1), false));
        let waited = Failure::Wait(Duration::from_millis(1_500));
        assert_eq!(outcome(&Err(waited)), Outcome::Unsent { after_ms: 1_500 });
    }

    // Holds P11-34.
    #[test]
    fn a_final_close_says_how_it_is_mended_and_another_is_tried_again() {
        for code in [4004, 4010, 4011, 4012, 4013, 4014] {
            let fault = final_close(code, "main").unwrap();
            assert_eq!(fault.link, Link::Refused, "{code}");
            assert!(Text::<256>::new(fault.reason).is_ok(), "{code}: the reason is shown whole");
        }
        assert!(final_close(4004, "main").unwrap().reason.contains("agentctl channel add discord main"));
        assert!([1000, 1006, 4000, 4007, 4009].iter().all(|code| final_close(*code, "main").is_none()));
        assert!(Text::<256>::new(UNREAD).is_ok());
        let revoked = Failure::Refused(Refusal { status: 401, code: 0 });
        assert!(poll_fault(&revoked, "main").reason.contains("agentctl channel add discord main"));
    }
}
