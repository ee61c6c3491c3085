//! The description of a tool, for a model and for the code that checks a call of it. Depends on `serde_json` alone,
//! so that the gate can check by the very same rules; holds data and must never touch a file.

use crate::validate;
use serde_json::{Map, Value};

/// A tool as a model is told of it.
#[derive(Clone, Debug)]
pub struct ToolSpec {
    /// Its name, at most 64 bytes.
    pub name: &'static str,
    /// A description for the model; at most 2048 bytes.
    pub description: &'static str,
    /// JSON Schema of its arguments, within the subset of [`validate`]; at most 8192 bytes as text.
    pub schema: Value,
    /// True if it runs in the jail; the gate runs the others.
    pub in_jail: bool,
}

impl ToolSpec {
    /// Checks arguments against the schema.
    ///
    /// # Errors
    /// Text for the model: for each field what was wrong and what is valid.
    pub fn check(&self, args: &Value) -> Result<(), String> {
        validate::validate(&self.schema, args)
    }
}

/// Arguments as providers send them, JSON text, as a value. Empty text and `null` mean no arguments.
///
/// # Errors
/// Text for the model if it is not JSON; that it must be an object is left to the schema.
pub fn parse_args(text: &str) -> Result<Value, String> {
    if text.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    match serde_json::from_str(text) {
        Ok(Value::Null) => Ok(Value::Object(Map::new())),
        Ok(value) => Ok(value),
        Err(cause) => Err(format!("the arguments are not valid JSON: {cause}")),
    }
}
