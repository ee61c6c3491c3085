//! The replies of the Cloud API, and what each failure says of the message.

use channel::{Lost, Reply};
use ipc_proto::Text;
use ipc_proto::channel::Outcome;
use serde::Deserialize;

/// The pause after a limit of the platform: one message in 6 s to one person.
const LIMITED_MS: u32 = 6_000;
/// The pause while the token is refused.
const REFUSED_MS: u32 = 60_000;
/// More than 24 hours since the person's last message: free text is refused.
const WINDOW_CLOSED: u64 = 131_047;
/// Codes of limits: of the app, of the account, of the pair.
const LIMITS: [u64; 4] = [4, 80_007, 130_429, 131_056];
/// Codes of a token that is not accepted.
const TOKEN: [u64; 2] = [0, 190];

#[derive(Deserialize)]
struct Sent {
    messages: Vec<Id>,
}

#[derive(Deserialize)]
struct Id {
    id: String,
}

#[derive(Deserialize)]
struct Refusal {
    error: Code,
}

#[derive(Deserialize)]
struct Code {
    code: u64,
}

/// The outcome of a message that was sent.
pub(crate) fn outcome(reply: &Result<Reply, Lost>) -> Outcome {
    let reply = match reply {
        Ok(reply) => reply,
        Err(lost) => return lost.outcome(),
    };
    if (200..300).contains(&reply.status) {
        let sent = serde_json::from_slice::<Sent>(&reply.body).ok();
        let id = sent.and_then(|sent| Text::new(sent.messages.into_iter().next()?.id).ok());
        return id.map_or(Outcome::Unknown, |id| Outcome::Sent { id });
    }
    failure(reply).unwrap_or(Outcome::Unknown)
}

/// The outcome that a definite refusal says; none for any other reply.
pub(crate) fn failure(reply: &Reply) -> Option<Outcome> {
    if !(400..500).contains(&reply.status) {
        return None;
    }
    let code = serde_json::from_slice::<Refusal>(&reply.body).map_or(1, |refusal| refusal.error.code);
    if reply.status == 429 || LIMITS.contains(&code) {
        let wait =
            reply.retry_after.map_or(LIMITED_MS, |seconds| seconds.clamp(1, 3600).saturating_mul(1000));
        return Some(Outcome::Unsent { after_ms: wait });
    }
    if reply.status == 401 || TOKEN.contains(&code) {
        return Some(Outcome::Unsent { after_ms: REFUSED_MS });
    }
    let why = if code == WINDOW_CLOSED {
        "window_closed: the person's last message is over 24 hours old".to_owned()
    } else {
        format!("WhatsApp refused the message ({code})")
    };
    Some(Outcome::Refused { why: Text::clip(&why), finally: true })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::List;
    use serde_json::{Value, json};

    fn of(status: u16, body: &Value) -> Outcome {
        let body = body.to_string().into_bytes();
        outcome(&Ok(Reply { status, retry_after: None, headers: List::default(), body }))
    }

    #[test]
    fn each_reply_says_if_the_person_has_the_message() {
        let sent = json!({ "messages": [{ "id": "wamid.1" }] });
        assert_eq!(of(200, &sent), Outcome::Sent { id: Text::clip("wamid.1") });
        assert_eq!(of(200, &json!({})), Outcome::Unknown);
        assert_eq!(of(500, &json!({})), Outcome::Unknown);
        let refused = |code: u64| of(400, &json!({ "error": { "code": code } }));
        assert_eq!(refused(131_056), Outcome::Unsent { after_ms: 6000 });
        assert_eq!(refused(190), Outcome::Unsent { after_ms: 60_000 });
        let Outcome::Refused { why, finally: true } = refused(131_047) else { panic!("refused") };
        assert!(why.starts_with("window_closed"));
        assert!(matches!(refused(100), Outcome::Refused { .. }));
        assert_eq!(outcome(&Err(Lost::Unknown)), Outcome::Unknown);
    }
}
