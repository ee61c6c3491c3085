//! Checks a JSON value against the subset of JSON Schema that tools use, and says what is wrong so that a model can
//! correct itself. Depends on `serde_json` alone; must never accept a value because a schema says something it does
//! not know: an unknown keyword refuses every value.
//!
//! Two rules are stricter than the standard, never laxer: `maxLength` counts bytes (a bound on what is carried), and
//! an object without `additionalProperties` takes no field but its own.

use serde_json::{Map, Value};

/// Problems told at once; a model that made more mistakes than this has misunderstood the tool.
const MAX_PROBLEMS: usize = 8;
/// Levels of nesting a schema may have.
const MAX_DEPTH: usize = 16;
/// Characters of a wrong value that are quoted back.
const QUOTED: usize = 60;

/// Checks `value` against `schema`.
///
/// # Errors
/// The problems, one a line, each with the field's path, what was wrong and what is valid; at most eight.
pub fn validate(schema: &Value, value: &Value) -> Result<(), String> {
    let mut report = Report::default();
    report.value("", schema, value, 0);
    if report.problems.is_empty() {
        return Ok(());
    }
    Err(match report.problems.as_slice() {
        [one] => one.clone(),
        many => format!("{} problems with the arguments\n- {}", many.len(), many.join("\n- ")),
    })
}

/// A text quoted as JSON and cut to 60 characters, safe to show in an error.
#[must_use]
pub fn show(text: &str) -> String {
    let quoted = Value::from(text.chars().take(QUOTED).collect::<String>()).to_string();
    if text.chars().nth(QUOTED).is_some() { format!("{quoted}...") } else { quoted }
}

#[derive(Default)]
struct Report {
    problems: Vec<String>,
}

impl Report {
    fn add(&mut self, at: &str, what: impl AsRef<str>) {
        if self.problems.len() < MAX_PROBLEMS {
            let at = if at.is_empty() { "the arguments" } else { at };
            self.problems.push(format!("`{at}`: {}", what.as_ref()));
        }
    }

    fn value(&mut self, at: &str, schema: &Value, value: &Value, depth: usize) {
        let Some(schema) = schema.as_object() else {
            return self.add(at, "has no schema, so nothing is valid");
        };
        if depth > MAX_DEPTH {
            return self.add(at, "is nested too deeply");
        }
        if let Some(keyword) = schema.keys().find(|key| !KEYWORDS.contains(&key.as_str())) {
            return self.add(
                at,
                format!("its schema uses `{keyword}`, which is not supported, so nothing is valid"),
            );
        }
        let expected = schema.get("type").and_then(Value::as_str).unwrap_or_default();
        match (expected, value) {
            ("string", Value::String(text)) => self.string(at, schema, text),
            ("integer", Value::Number(number)) if number.is_i64() || number.is_u64() => {
                self.number(at, schema, number);
            }
            ("number", Value::Number(number)) => self.number(at, schema, number),
            ("boolean", Value::Bool(_)) => {}
            ("array", Value::Array(items)) => self.array(at, schema, items, depth),
            ("object", Value::Object(fields)) => self.object(at, schema, fields, depth),
            _ => return self.add(at, format!("must be {}, got {}", a_kind(expected), describe(value))),
        }
        self.among(at, schema, value);
    }

    fn among(&mut self, at: &str, schema: &Map<String, Value>, value: &Value) {
        let Some(valid) = schema.get("enum").and_then(Value::as_array) else { return };
        if !valid.contains(value) {
            let valid: Vec<_> = valid.iter().map(Value::to_string).collect();
            self.add(at, format!("must be one of {}, got {}", valid.join(", "), describe(value)));
        }
    }

    fn string(&mut self, at: &str, schema: &Map<String, Value>, text: &str) {
        if text.contains('\0') {
            self.add(at, "must not contain a NUL character");
        }
        self.size(at, schema, ["minLength", "maxLength"], text.len(), "bytes");
    }

    fn number(&mut self, at: &str, schema: &Map<String, Value>, number: &serde_json::Number) {
        let Some(given) = number.as_f64() else {
            return self.add(at, "is not a number that can be compared");
        };
        if let Some(least) = schema.get("minimum").and_then(Value::as_f64)
            && given < least
        {
            self.add(at, format!("must be at least {least}, got {number}"));
        }
        if let Some(most) = schema.get("maximum").and_then(Value::as_f64)
            && given > most
        {
            self.add(at, format!("must be at most {most}, got {number}"));
        }
    }

    fn size(&mut self, at: &str, schema: &Map<String, Value>, keys: [&str; 2], given: usize, what: &str) {
        let [least, most] = keys.map(|key| schema.get(key).and_then(Value::as_u64));
        let given = u64::try_from(given).unwrap_or(u64::MAX);
        if least.is_some_and(|least| given < least) {
            self.add(at, format!("must have at least {} {what}, has {given}", least.unwrap_or_default()));
        }
        if most.is_some_and(|most| given > most) {
            self.add(at, format!("must have at most {} {what}, has {given}", most.unwrap_or_default()));
        }
    }

    fn array(&mut self, at: &str, schema: &Map<String, Value>, items: &[Value], depth: usize) {
        self.size(at, schema, ["minItems", "maxItems"], items.len(), "items");
        let Some(of) = schema.get("items") else {
            return self.add(at, "its schema says nothing of its items");
        };
        for (index, item) in items.iter().enumerate() {
            if self.problems.len() >= MAX_PROBLEMS {
                return;
            }
            self.value(&format!("{at}[{index}]"), of, item, depth + 1);
        }
    }

    fn object(&mut self, at: &str, schema: &Map<String, Value>, fields: &Map<String, Value>, depth: usize) {
        let none = Map::new();
        let known = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
        self.required(at, schema, fields);
        self.size(at, schema, ["minProperties", "maxProperties"], fields.len(), "fields");
        for (name, value) in fields {
            let inner = if at.is_empty() { cut(name) } else { format!("{at}.{}", cut(name)) };
            match (known.get(name), schema.get("additionalProperties")) {
                (Some(of), _) => self.value(&inner, of, value, depth + 1),
                (None, Some(Value::Bool(true))) => {}
                (None, Some(of @ Value::Object(_))) => self.value(&inner, of, value, depth + 1),
                (None, _) => self.add(&inner, format!("unknown field; {}", fields_of(known))),
            }
        }
    }

    fn required(&mut self, at: &str, schema: &Map<String, Value>, fields: &Map<String, Value>) {
        let required = schema.get("required").and_then(Value::as_array);
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            if !fields.contains_key(name) {
                let inner = if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
                self.add(&inner, "is required and missing");
            }
        }
    }
}

/// Keywords that a schema may contain. `description`, `title` and `default` are for the model.
const KEYWORDS: &[&str] = &[
    "type",
    "title",
    "description",
    "default",
    "enum",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "items",
    "minItems",
    "maxItems",
    "properties",
    "required",
    "additionalProperties",
    "minProperties",
    "maxProperties",
];

fn fields_of(known: &Map<String, Value>) -> String {
    // The order of a map's keys is another one where some crate of the build has maps keep it.
    let mut names: Vec<_> = known.keys().map(|name| format!("`{name}`")).collect();
    names.sort();
    if names.is_empty() {
        "there are no fields".to_owned()
    } else {
        format!("valid are {}", names.join(", "))
    }
}

fn a_kind(expected: &str) -> &'static str {
    match expected {
        "string" => "a string",
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "an array",
        "object" => "an object",
        _ => "of a type that its schema does not say",
    }
}

fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => format!("the string {}", show(text)),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// A field's name as it may be shown: a hostile one is neither long nor able to break a line.
fn cut(name: &str) -> String {
    name.chars().take(QUOTED).map(|c| if c.is_control() || c == '`' { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn problem(schema: &Value, value: &Value) -> String {
        validate(schema, value).unwrap_err()
    }

    // Holds B-42.
    #[test]
    fn each_bound_is_named_with_its_value_and_holds_at_its_edge() {
        let text = json!({"type": "string", "minLength": 2, "maxLength": 3});
        let number = json!({"type": "integer", "minimum": 1, "maximum": 9});
        let array = json!({"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 2});
        let choice = json!({"type": "string", "enum": ["a", "b"]});
        let map = json!({"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 1});
        let cases = [
            (&text, json!("ab"), None),
            (&text, json!("abc"), None),
            (&text, json!("a"), Some("at least 2 bytes")),
            (&text, json!("abcd"), Some("at most 3 bytes")),
            (&text, json!("äö"), Some("at most 3 bytes")),
            (&text, json!("a\u{0}"), Some("NUL")),
            (&text, json!(5), Some("must be a string, got 5")),
            (&text, json!(null), Some("must be a string, got null")),
            (&number, json!(1), None),
            (&number, json!(9), None),
            (&number, json!(0), Some("at least 1, got 0")),
            (&number, json!(10), Some("at most 9, got 10")),
            (&number, json!(1.5), Some("whole number, got 1.5")),
            (&number, json!("5"), Some("got the string \"5\"")),
            (&array, json!([true]), None),
            (&array, json!([]), Some("at least 1 items")),
            (&array, json!([true, true, true]), Some("at most 2 items")),
            (&array, json!([true, 3]), Some("[1]`: must be true or false, got 3")),
            (&choice, json!("a"), None),
            (&choice, json!("c"), Some("one of \"a\", \"b\", got the string \"c\"")),
            (&map, json!({"x": "y"}), None),
            (&map, json!({"x": 1}), Some("`x`: must be a string")),
            (&map, json!({"x": "y", "z": ""}), Some("at most 1 fields")),
        ];
        for (schema, value, expected) in cases {
            match expected {
                None => assert_eq!(validate(schema, &value), Ok(()), "{value}"),
                Some(part) => {
                    assert!(problem(schema, &value).contains(part), "{value}: {}", problem(schema, &value))
                }
            }
        }
    }

    #[test]
    fn an_unknown_field_is_refused_with_the_valid_ones() {
        let schema =
            json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
        let said = problem(&schema, &json!({"pth": "x"}));
        assert!(said.contains("`path`: is required and missing"), "{said}");
        assert!(said.contains("`pth`: unknown field; valid are `path`"), "{said}");
    }

    #[test]
    fn a_keyword_that_is_not_known_accepts_nothing() {
        let schema = json!({"type": "string", "pattern": "^a"});
        assert!(problem(&schema, &json!("a")).contains("`pattern`"));
        assert!(validate(&json!({}), &json!("a")).is_err());
        assert!(validate(&json!(true), &json!("a")).is_err());
    }

    #[test]
    fn a_hostile_value_makes_a_short_answer() {
        let many: Map<String, Value> = (0..1000).map(|n| (format!("x\n{n}").repeat(40), json!(n))).collect();
        let said = problem(&json!({"type": "object"}), &Value::Object(many));
        assert!(said.len() < 2000 && said.lines().count() <= 1 + MAX_PROBLEMS, "{said}");
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::hash_map("type|items|properties|required|enum|[a-z]{1,4}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_value_against_any_schema_is_answered(schema in any_json(), value in any_json()) {
            let _ = validate(&schema, &value);
        }

        #[test]
        fn only_what_json_says_is_an_object_passes_an_empty_object_schema(value in any_json()) {
            let schema = json!({"type": "object", "additionalProperties": true});
            prop_assert_eq!(validate(&schema, &value).is_ok(), value.is_object());
        }
    }
}
