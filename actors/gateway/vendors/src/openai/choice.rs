//! What both conversational APIs of the first vendor have in common: who speaks, which tool is to be called, and in which
//! form the answer is wanted.

use crate::fault::Fault;
use crate::wish;
use ipc_proto::model::{Choice, Role};
use serde_json::Value;

/// Who speaks.
///
/// # Errors
/// Nobody that there is.
pub(super) fn role(name: &str, at: &str) -> Result<Role, Fault> {
    match name {
        "system" | "developer" => Ok(Role::System),
        "user" => Ok(Role::User),
        "assistant" => Ok(Role::Assistant),
        "tool" => Ok(Role::Tool),
        _ => {
            let valid = "'system', 'developer', 'user', 'assistant' and 'tool'";
            Err(Fault::bad(at, format!("Invalid value: supported values are {valid}."))
                .coded("invalid_value"))
        }
    }
}

/// Whether tools are to be asked for: a word, or an object that names one.
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
            // A choice among several of the tools that were given is a choice.
            if object.get("type").is_some_and(|kind| kind == "allowed_tools") {
                let mode = object.get("mode").or_else(|| object.pointer("/allowed_tools/mode"));
                return Ok(if mode.is_some_and(|mode| mode == "required") {
                    Choice::Some
                } else {
                    Choice::Auto
                });
            }
            wish::tool_name(name.ok_or_else(wrong)?, "tool_choice").map(Choice::This)
        }
    }
}

/// What the model is told so that its answer has the form that the client wants; nothing for text.
///
/// # Errors
/// No such form.
pub(super) fn format(value: Option<&Value>, at: &str) -> Result<Option<String>, Fault> {
    const ONLY: &str = "Answer with one JSON document and nothing else";
    let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(None) };
    match value.get("type").and_then(Value::as_str) {
        Some("text") => Ok(None),
        Some("json_object") => Ok(Some(format!("{ONLY}."))),
        Some("json_schema") => {
            let schema = value.pointer("/json_schema/schema").or_else(|| value.get("schema"));
            Ok(Some(format!("{ONLY}, of this JSON Schema: {}", schema.unwrap_or(&Value::Null))))
        }
        _ => Err(Fault::bad(at, "It must be 'text', 'json_object' or 'json_schema'.").coded("invalid_value")),
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
        ] {
            assert_eq!(choice(Some(&value)).unwrap(), expected, "{value}");
        }
        for value in [json!("any"), json!({}), json!(3), json!({"function": {"name": ""}})] {
            assert!(choice(Some(&value)).is_err(), "{value}");
        }
    }

    #[test]
    fn a_form_is_asked_for_in_words() {
        assert_eq!(format(Some(&json!({"type": "text"})), "x").unwrap(), None);
        assert!(format(Some(&json!({"type": "json_object"})), "x").unwrap().unwrap().contains("JSON"));
        let schema =
            json!({"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "integer"}}});
        assert!(format(Some(&schema), "x").unwrap().unwrap().ends_with(r#"{"type":"integer"}"#));
        assert!(format(Some(&json!({"type": "xml"})), "x").is_err());
        assert!(format(Some(&json!({})), "x").is_err());
    }
}
