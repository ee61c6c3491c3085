//! The canonical form of an action, which an approval is bound to and a grant covers. An action has one spelling: object keys
//! sorted, no space, numbers as given.

use ipc_proto::label::Label;
use provenance::EVERY;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// The canonical action as JSON, and its SHA-256. `args` are all arguments, `target` the address that was judged,
/// `version` that of the policies, `nonce` what makes two like questions two, `expires_ms` unix ms. `irreversible` is as in
/// [`crate::Verdict`].
#[must_use]
pub fn canonical(
    tool: &str,
    args: &Map<String, Value>,
    (target, irreversible): (Option<&str>, bool),
    label: &Label,
    version: &str,
    nonce: &str,
    expires_ms: u64,
) -> (String, [u8; 32]) {
    let action = json!({
        "tool": tool, "args": args, "target": target, "label": label, "policy": version, "nonce": nonce,
        "expires_ms": expires_ms, "irreversible": irreversible,
    });
    let text = sorted(&action).to_string();
    let hash = Sha256::digest(text.as_bytes()).into();
    (text, hash)
}

/// SHA-256 of a tool and of those of its arguments that are security-relevant.
#[must_use]
pub fn scope(tool: &str, relevant: &[String], args: &Map<String, Value>) -> [u8; 32] {
    let chosen: Map<String, Value> = relevant
        .iter()
        .filter_map(|name| args.get(name).map(|value| (name.clone(), value.clone())))
        .collect();
    let chosen = if relevant.iter().any(|name| name == EVERY) { args.clone() } else { chosen };
    Sha256::digest(sorted(&json!({"tool": tool, "args": chosen})).to_string().as_bytes()).into()
}

/// The same value with the keys of every object in order, whether or not the map type keeps them so.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut pairs: Vec<_> = fields.iter().collect();
            pairs.sort_by_key(|(name, _)| name.as_str());
            Value::Object(pairs.into_iter().map(|(name, value)| (name.clone(), sorted(value))).collect())
        }
        Value::Array(values) => Value::Array(values.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    // Holds P5-60.
    #[test]
    fn one_action_has_one_spelling_and_every_part_of_it_is_in_the_hash() {
        let args = map(json!({"to": "a", "body": {"z": 1, "a": [2, {"y": 0, "b": 1}]}}));
        let other = map(json!({"body": {"a": [2, {"b": 1, "y": 0}], "z": 1}, "to": "a"}));
        let label = Label::bottom();
        let (text, hash) = canonical("send", &args, (None, false), &label, "v", "n", 5);
        assert_eq!(canonical("send", &other, (None, false), &label, "v", "n", 5), (text.clone(), hash));
        assert!(
            text.starts_with(r#"{"args":{"body":{"a":[2,{"b":1,"y":0}],"z":1},"to":"a"},"expires_ms":5,"#),
            "{text}"
        );
        let changed = map(json!({"to": "b"}));
        let others = [
            canonical("sent", &args, (None, false), &label, "v", "n", 5),
            canonical("send", &changed, (None, false), &label, "v", "n", 5),
            canonical("send", &args, (Some("t"), false), &label, "v", "n", 5),
            canonical("send", &args, (None, true), &label, "v", "n", 5),
            canonical("send", &args, (None, false), &Label::default(), "v", "n", 5),
            canonical("send", &args, (None, false), &label, "w", "n", 5),
            canonical("send", &args, (None, false), &label, "v", "m", 5),
            canonical("send", &args, (None, false), &label, "v", "n", 6),
        ];
        assert!(others.iter().all(|(_, other)| *other != hash));
    }

    #[test]
    fn a_scope_is_the_tool_and_its_relevant_arguments_and_nothing_else() {
        let relevant = ["to".to_owned()];
        let scope = |tool: &str, args| scope(tool, &relevant, &map(args));
        let one = scope("send", json!({"to": "a", "body": "x"}));
        assert_eq!(one, scope("send", json!({"body": "y", "to": "a"})));
        assert_ne!(one, scope("send", json!({"to": "b", "body": "x"})));
        assert_ne!(one, scope("mail", json!({"to": "a", "body": "x"})));
    }
}
