//! How a client says which conversation of its own it means, and which session that is. A response's id holds the
//! conversation's name, so that it can be gone on from after any restart.

use crate::fault::Fault;
use crate::ids;
use axum::http::HeaderMap;
use data_encoding::HEXLOWER_PERMISSIVE as HEX;
use ipc_proto::Text;
use ipc_proto::api::Holder;
use ipc_proto::router::SessionName;
use vendors::openai::responses::{RESPONSE, unknown};

/// The header that a client may send instead of a field.
const HEADER: &str = "x-session-id";
/// Bytes of a conversation's name that stand in a session's as they are; a longer one is hashed.
const NAME: usize = 32;
/// Digits of a turn in it.
const TURN: usize = 32;

/// The client's name for its conversation, fit to stand in a session's: printable and short.
pub(crate) fn conversation(headers: &HeaderMap, field: Option<&str>) -> Option<String> {
    let header = headers.get(HEADER).and_then(|value| value.to_str().ok());
    let name = header.or(field).map(str::trim).filter(|name| !name.is_empty())?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '@');
    if name.len() <= NAME && name.chars().all(plain) {
        return Some(name.to_owned());
    }
    Some(HEX.encode(&ids::short_hash(name.as_bytes())))
}

/// The session: one for each key and agent, or for each key, agent and conversation. Names that leave no room for each
/// other are hashed together.
pub(crate) fn session(holder: &Holder, agent: &str, conversation: Option<&str>) -> SessionName {
    let whole = match conversation {
        None => format!("{}:{agent}", holder.name),
        Some(name) => format!("{}:{agent}:{name}", holder.name),
    };
    Text::new(format!("api:{whole}"))
        .unwrap_or_else(|_| Text::clip(&format!("api:{}", HEX.encode(&ids::short_hash(whole.as_bytes())))))
}

/// The conversation that a response was of.
///
/// # Errors
/// It is no id of a response.
pub(crate) fn conversation_of(response: &str) -> Result<Option<String>, Fault> {
    let digits = response.strip_prefix(RESPONSE).and_then(|digits| digits.get(TURN..));
    let name = digits
        .filter(|digits| digits.len() <= 2 * NAME)
        .and_then(|digits| HEX.decode(digits.as_bytes()).ok());
    let name = name.and_then(|name| String::from_utf8(name).ok());
    match name {
        Some(name) if name.is_empty() => Ok(None),
        // Named anew, so that a made-up id says no more than a client may say itself.
        Some(name) => Ok(conversation(&HeaderMap::new(), Some(&name))),
        None => Err(unknown(response)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;
    use ipc_proto::Name;
    use ipc_proto::api::KeyScope;
    use ipc_proto::ids::TurnId;
    use ipc_proto::ids::UserId;
    use vendors::openai::responses::response_id;

    fn holder(name: &str) -> Holder {
        Holder {
            key: None,
            name: Name::clip(name),
            user: UserId::from_bytes([0; 16]),
            user_name: Name::default(),
            owner: false,
            scope: KeyScope::default(),
            agents: ipc_proto::List::default(),
        }
    }

    fn named(field: &str) -> Option<String> {
        conversation(&HeaderMap::new(), Some(field))
    }

    #[test]
    fn a_conversations_name_cannot_stand_for_another_session() {
        assert_eq!(conversation(&HeaderMap::new(), None), None);
        assert_eq!(named("  "), None);
        assert_eq!(named("chat-7").unwrap(), "chat-7");
        let mut headers = HeaderMap::new();
        headers.insert(HEADER, HeaderValue::from_static("one"));
        assert_eq!(conversation(&headers, Some("two")).unwrap(), "one");
        for strange in ["a:b", "a b", "a\u{e9}", &"x".repeat(33)] {
            let name = named(strange).unwrap();
            assert!(name.len() == 32 && name.chars().all(|c| c.is_ascii_hexdigit()), "{strange}: {name}");
        }
    }

    #[test]
    fn each_key_agent_and_conversation_has_a_session_of_its_own() {
        let mut seen = std::collections::HashSet::new();
        for key in ["a", "b", &"k".repeat(64)] {
            for agent in ["default", "coder", &"z".repeat(64)] {
                for name in [None, Some("one"), Some("two")] {
                    let session = session(&holder(key), agent, name);
                    assert!(
                        session.starts_with("api:") && seen.insert(session.clone()),
                        "{}",
                        session.as_str()
                    );
                }
            }
        }
    }

    // Holds P7-86.
    #[test]
    fn a_response_id_leads_to_its_conversation_and_another_to_none() {
        let turn = TurnId::random();
        for name in [None, Some("chat-7"), Some("0123456789abcdef0123456789abcdef")] {
            let id = response_id(turn, name);
            assert_eq!(conversation_of(&id).unwrap().as_deref(), name, "{id}");
        }
        for wrong in ["", "resp_", "resp_12", "chatcmpl-1", &format!("resp_{}zz", "0".repeat(32))] {
            assert!(conversation_of(wrong).is_err(), "{wrong}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_id_at_all_is_answered(id in "(resp_)?[0-9a-fé]{0,200}") {
            let _ = conversation_of(&id);
        }
    }
}
