//! The ten tools as a client lists them: name, description, fields. Data alone; clients rely on it as a contract, and a
//! test compares it with a copy beside.

use crate::args::{SCOPES, TYPES};
use crate::tools;
use serde_json::{Map, Value, json};

/// A tool as a client lists it.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    /// It changes nothing.
    pub(crate) reads: bool,
    /// The call may lose the data that it changes.
    pub(crate) destroys: bool,
    /// Fields that must be there.
    pub(crate) needs: &'static [&'static str],
    /// Every field, as a schema.
    pub(crate) properties: fn() -> Value,
}

/// Every tool.
pub(crate) const TOOLS: [Tool; 10] = [
    tools::find::TOOL,
    tools::history::TOOL,
    tools::get::TOOL,
    tools::create::TOOL,
    tools::revise::TOOL,
    tools::remove::TOOL,
    tools::export::TOOL,
    tools::import::TOOL,
    tools::maintenance::TOOL,
    tools::help::TOOL,
];

impl Tool {
    /// The names of its fields.
    pub(crate) fn fields(&self) -> Vec<String> {
        (self.properties)().as_object().map(|fields| fields.keys().cloned().collect()).unwrap_or_default()
    }

    /// The schema of its arguments.
    pub(crate) fn schema(&self) -> Map<String, Value> {
        let mut schema = Map::new();
        schema.insert("type".to_owned(), "object".into());
        schema.insert("properties".to_owned(), (self.properties)());
        schema.insert("required".to_owned(), json!(self.needs));
        schema.insert("additionalProperties".to_owned(), false.into());
        schema
    }
}

/// A field that is a text of at most this many bytes. A schema can bound characters alone, so the description names the
/// bound.
pub(crate) fn text(most: usize, says: &str) -> Value {
    let says = format!("{says} At most {most} bytes of UTF-8.");
    json!({ "type": "string", "description": says })
}

/// A field that is a text of any length.
pub(crate) fn any_text(says: &str) -> Value {
    json!({ "type": "string", "description": says })
}

/// A field that is a whole number.
pub(crate) fn number(least: u64, most: u64, default: Option<u64>, says: &str) -> Value {
    let mut schema = json!({ "type": "integer", "minimum": least, "maximum": most, "description": says });
    if let (Some(default), Some(schema)) = (default, schema.as_object_mut()) {
        schema.insert("default".to_owned(), default.into());
    }
    schema
}

/// A field that is a list of texts.
pub(crate) fn texts(most: usize, longest: usize, says: &str) -> Value {
    let says = format!("{says} Each of at most {longest} bytes of UTF-8.");
    json!({ "type": "array", "maxItems": most, "items": { "type": "string" }, "description": says })
}

/// A field that is one of several names.
pub(crate) fn choice<T>(among: &[(&str, T)], says: &str) -> Value {
    let names: Vec<&str> = among.iter().map(|(name, _)| *name).collect();
    json!({ "type": "string", "enum": names, "description": says })
}

/// The field `scope` of tools that read.
pub(crate) fn scope() -> Value {
    let says = "Which memories: of the project that the client works in, about no project, or all. The project's where \
                there is one, else all.";
    choice(&SCOPES, says)
}

/// The field `cursor`.
pub(crate) fn cursor() -> Value {
    text(256, "The meta.nextCursor of the answer before, to go on with the same question.")
}

/// The field `types`.
pub(crate) fn types() -> Value {
    let names = TYPES.map(|(name, _)| name);
    let says = "Only observations of one of these types; memories of every kind without it.";
    json!({ "type": "array", "items": { "type": "string", "enum": names }, "description": says })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CONTRACT, Code};

    const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/contract.json");

    /// The contract as it is now.
    fn contract() -> Value {
        let tools = TOOLS.iter().map(|tool| {
            json!({ "name": tool.name, "description": tool.description, "readOnly": tool.reads,
                    "destructive": tool.destroys, "inputSchema": tool.schema() })
        });
        let codes = Code::ALL.map(Code::name);
        json!({ "version": CONTRACT, "tools": tools.collect::<Vec<_>>(), "codes": codes,
                "envelope": ["data", "error", "meta"] })
    }

    /// A change of the contract is made on purpose: in this file too, and with another version.
    // Holds P3-21.
    #[test]
    fn the_tools_are_those_of_the_golden_contract() {
        let golden: Value = serde_json::from_str(&std::fs::read_to_string(FILE).unwrap()).unwrap();
        let now = contract();
        assert_eq!(now, golden, "the contract has changed; it would be:\n{now:#}");
    }

    // Holds P3-21.
    #[test]
    fn every_tool_and_every_field_says_what_it_is_in_ten_characters_or_more() {
        for tool in &TOOLS {
            assert!(tool.description.len() >= 10, "{}", tool.name);
            for (name, field) in (tool.properties)().as_object().unwrap() {
                let says = field["description"].as_str().unwrap_or_default();
                assert!(says.len() >= 10, "{}: {name}", tool.name);
            }
            assert!(tool.needs.iter().all(|need| tool.fields().iter().any(|field| field == need)));
            assert!(!(tool.reads && tool.destroys), "{}", tool.name);
        }
    }
}
