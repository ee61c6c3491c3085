//! Messages of sockets: a secret put into one at its place, and every live secret cut out of one. Pure.

use crate::redact::Redactor;
use crate::secret::Secret;
use crate::secret_patterns::SecretPatterns;
use ipc_proto::Name;
use ipc_proto::credproxy::{At, CredError, Insertion, PLACEHOLDER};
use serde_json::Value;

/// The place of a secret in a message, as its binding names it: the field of the last name in the pointer.
pub(crate) fn place(insertion: &Insertion) -> Result<At, CredError> {
    let (_, last) = insertion.pointer.rsplit_once('/').ok_or(CredError::Misplaced)?;
    let name = last.replace("~1", "/").replace("~0", "~");
    Name::new(name).map(|name| At::Field { name }).map_err(|_| CredError::Misplaced)
}

/// Finds out whether the mark is the whole of the string at this place.
pub(crate) fn check(text: &str, pointer: &str) -> Result<(), CredError> {
    let message: Value = serde_json::from_str(text).map_err(|_| CredError::Misplaced)?;
    let found = message.pointer(pointer).and_then(Value::as_str);
    if found == Some(PLACEHOLDER) { Ok(()) } else { Err(CredError::Misplaced) }
}

/// The message with the secret in the place of the mark there. A mark elsewhere is text.
pub(crate) fn fill(text: &str, pointer: &str, secret: &Secret) -> Result<String, CredError> {
    let mut message: Value = serde_json::from_str(text).map_err(|_| CredError::Misplaced)?;
    let place = message.pointer_mut(pointer).filter(|place| place.as_str() == Some(PLACEHOLDER));
    let value = std::str::from_utf8(secret.reveal()).map_err(|_| CredError::BadValue)?;
    *place.ok_or(CredError::Misplaced)? = Value::from(value);
    serde_json::to_string(&message).map_err(|_| CredError::Misplaced)
}

/// The message without the secrets of these sets, and how many were cut out.
pub(crate) fn clean(message: &[u8], sets: &[&SecretPatterns]) -> (Vec<u8>, u64) {
    let (mut redactor, mut out) = (Redactor::default(), Vec::with_capacity(message.len()));
    redactor.push(message, sets, &mut out);
    redactor.finish(sets, &mut out);
    (out, redactor.cut_out())
}

/// The string at this pointer of a JSON text.
pub(crate) fn string_at(text: &[u8], pointer: &str) -> Option<String> {
    let reply: Value = serde_json::from_slice(text).ok()?;
    reply.pointer(pointer)?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::Text;
    use proptest::prelude::*;
    use zeroize::Zeroizing;

    const VALUE: &str = r#"sk-"live"\0123"#;

    fn secret() -> Secret {
        Secret::new(Zeroizing::new(VALUE.as_bytes().to_vec())).unwrap()
    }

    fn at(pointer: &str) -> Result<At, CredError> {
        place(&Insertion { secret: Name::clip("token"), pointer: Text::clip(pointer) })
    }

    // Holds P4-40.
    #[test]
    fn a_secret_goes_to_its_place_in_a_message_and_to_no_other() {
        let text = r#"{"op":2,"d":{"token":"__cordon_secret__","note":"__cordon_secret__"}}"#;
        let filled = fill(text, "/d/token", &secret()).unwrap();
        assert_eq!(filled, r#"{"op":2,"d":{"token":"sk-\"live\"\\0123","note":"__cordon_secret__"}}"#);
        for (text, pointer) in [
            (text, "/d"),
            (text, "/token"),
            (text, ""),
            (r#"{"d":{"token":"x __cordon_secret__"}}"#, "/d/token"),
            (r#"{"d":{"token":1}}"#, "/d/token"),
            (r#"{"d":{"token":"__cordon_secret__"}"#, "/d/token"),
            ("", "/d/token"),
        ] {
            assert_eq!(fill(text, pointer, &secret()), Err(CredError::Misplaced), "{text} {pointer}");
            assert_eq!(check(text, pointer), Err(CredError::Misplaced), "{text} {pointer}");
        }
    }

    #[test]
    fn the_field_of_a_pointer_is_its_last_name() {
        let field = |name: &str| Ok(At::Field { name: Name::clip(name) });
        assert_eq!(at("/d/token"), field("token"));
        assert_eq!(at("/a~1b~01"), field("a/b~1"));
        assert_eq!(at("token"), Err(CredError::Misplaced));
    }

    proptest! {
        // Holds P4-40.
        #[test]
        fn a_message_is_whole_json_after_it_was_filled_and_cleaned(
            note in "\\PC{0,20}", number in 0..=u64::MAX, pointer in "(/[a-z~01]{0,4}){0,3}",
        ) {
            let text = serde_json::json!({"a": {"b": PLACEHOLDER}, "note": note, "n": number}).to_string();
            let known = check(&text, &pointer).is_ok();
            prop_assert_eq!(fill(&text, &pointer, &secret()).is_ok(), known);
            let filled = fill(&text, "/a/b", &secret()).unwrap();
            let held: Value = serde_json::from_str(&filled).unwrap();
            prop_assert_eq!(held.pointer("/a/b").unwrap().as_str(), Some(VALUE));
            prop_assert_eq!(held.pointer("/n").unwrap().as_u64(), Some(number));
            let (clean, cut_out) = clean(filled.as_bytes(), &[&SecretPatterns::new(&[secret()])]);
            prop_assert_eq!(cut_out, 1);
            prop_assert!(serde_json::from_slice::<Value>(&clean).is_ok());
        }
    }
}
