//! The common parts of both conversational APIs of the first vendor: roles, and the choice of a tool.

use crate::chat_request;
use crate::fault::Fault;
use ipc_proto::model::{Choice, Role};
use serde_json::Value;

/// The role of a message.
///
/// # Errors
/// There is no such role.
pub(super) fn role(name: &str, at: &str) -> Result<Role, Fault> {
    match name {
        "system" | "developer" => Ok(Role::System),
        "user" => Ok(Role::User),
        "assistant" => Ok(Role::Assistant),
        "tool" => Ok(Role::Tool),
        _ => Err(no_role(at, "'system', 'developer', 'user', 'assistant' and 'tool'")),
    }
}

/// That nobody speaks there but these.
pub(super) fn no_role(at: &str, valid: &str) -> Fault {
    Fault::bad(at, format!("Invalid value: supported values are {valid}.")).coded("invalid_value")
}

/// The choice of tools: a word, or an object that names one.
///
/// # Errors
/// It is neither.
pub(super) fn choice(value: Option<&Value>) -> Result<Choice, Fault> {
    let wrong = || Fault::bad("tool_choice", "It must be 'none', 'auto', 'required' or a function.");
    match value {
        None | Some(Value::Null) => Ok(Choice::Auto),
        Some(Value::String(word)) => match word.as_str() {
            "auto" => Ok(Choice::Auto),
            "none" => Ok(Choice::Never),
            "required" => Ok(Choice::Some),
            _ => Err(wrong()),
        },
        Some(object) => {
            let name =
                object.pointer("/function/name").or_else(|| object.get("name")).and_then(Value::as_str);
            // A choice among several of the tools that were given is one.
            if object.get("type").is_some_and(|kind| kind == "allowed_tools") {
                let mode = object.get("mode").or_else(|| object.pointer("/allowed_tools/mode"));
                return Ok(if mode.is_some_and(|mode| mode == "required") {
                    Choice::Some
                } else {
                    Choice::Auto
                });
            }
            // One of a tool that the vendor would run is none: that is left out of the tools.
            let own = ["function", "custom"];
            let others = object.get("type").and_then(Value::as_str).is_some_and(|kind| !own.contains(&kind));
            if others && name.is_none() {
                return Ok(Choice::Auto);
            }
            chat_request::tool_name(name.ok_or_else(wrong)?, "tool_choice").map(Choice::This)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::Name;
    use serde_json::json;

    #[test]
    fn a_choice_of_tools_is_a_word_or_names_one() {
        let this = || Choice::This(Name::clip("read"));
        for (value, expected) in [
            (json!(null), Choice::Auto),
            (json!("auto"), Choice::Auto),
            (json!("none"), Choice::Never),
            (json!("required"), Choice::Some),
            (json!({"type": "function", "function": {"name": "read"}}), this()),
            (json!({"type": "function", "name": "read"}), this()),
            (json!({"type": "allowed_tools", "mode": "required", "tools": []}), Choice::Some),
            (json!({"type": "web_search"}), Choice::Auto),
        ] {
            assert_eq!(choice(Some(&value)).unwrap(), expected, "{value}");
        }
        for value in [json!("any"), json!({}), json!(3), json!({"function": {"name": ""}})] {
            assert!(choice(Some(&value)).is_err(), "{value}");
        }
    }
}
