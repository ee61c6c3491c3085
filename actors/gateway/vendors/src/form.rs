//! The form in which an answer is wanted. No model is forced to keep to it: it gets an instruction. Pure.

use crate::chat_request;
use crate::fault::Fault;
use serde_json::Value;

/// The instruction to the model for the form that the client wants; `None` for text.
///
/// # Errors
/// No such form, or one of a schema without it.
pub(crate) fn instruction(value: Option<&Value>, at: &str) -> Result<Option<String>, Fault> {
    const ONLY: &str = "Answer with one JSON document and nothing else";
    let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(None) };
    match value.get("type").and_then(Value::as_str) {
        Some("text") => Ok(None),
        Some("json_object") => Ok(Some(format!("{ONLY}."))),
        Some("json_schema") => match value.pointer("/json_schema/schema").or_else(|| value.get("schema")) {
            Some(schema) if schema.is_object() => Ok(Some(format!("{ONLY}, of this JSON Schema: {schema}"))),
            Some(Value::Null) | None => Err(chat_request::missing(&place(at))),
            Some(_) => Err(chat_request::invalid_type(&place(at), "it must be an object, a JSON Schema")),
        },
        _ => Err(Fault::bad(at, "It must be 'text', 'json_object' or 'json_schema'.").coded("invalid_value")),
    }
}

/// Where the schema stands, by the API that the form is of.
fn place(at: &str) -> String {
    if at == "response_format" { format!("{at}.json_schema.schema") } else { format!("{at}.schema") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_form_is_asked_for_in_words() {
        assert_eq!(instruction(Some(&json!({"type": "text"})), "x").unwrap(), None);
        assert!(instruction(Some(&json!({"type": "json_object"})), "x").unwrap().unwrap().contains("JSON"));
        let schema =
            json!({"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "integer"}}});
        assert!(instruction(Some(&schema), "x").unwrap().unwrap().ends_with(r#"{"type":"integer"}"#));
        for wrong in [
            json!({"type": "xml"}),
            json!({}),
            json!({"type": "json_schema"}),
            json!({"type": "json_schema", "schema": 3}),
            json!({"type": "json_schema", "json_schema": {"name": "n"}}),
        ] {
            assert!(instruction(Some(&wrong), "x").is_err(), "{wrong}");
        }
    }
}
