//! The form of a question that a server of the Model Context Protocol asks: its fields, as the approved action has them, and the values that
//! a person gives. The gate checks them again.

use crate::failure::Failure;
use crate::text;
use ipc_proto::Text;
use ipc_proto::approval::{FORM, Question, SERVER_ASKS};
use serde_json::{Map, Value};

/// A form.
pub(crate) struct Form {
    fields: Vec<Field>,
}

struct Field {
    name: String,
    kind: String,
    required: bool,
    choices: Vec<String>,
    default: Option<Value>,
    description: String,
}

/// The values of a form, by field.
pub(crate) type Values = Map<String, Value>;

impl Form {
    /// The form of a question; none if it has none.
    pub(crate) fn of(question: &Question) -> Option<Self> {
        if question.tool.as_str() != SERVER_ASKS {
            return None;
        }
        let action: Value = serde_json::from_str(&question.action).ok()?;
        let fields: Vec<Field> =
            action.get("args")?.get("fields")?.as_array()?.iter().filter_map(field).collect();
        (!fields.is_empty()).then_some(Self { fields })
    }

    /// How many fields it has.
    pub(crate) fn len(&self) -> usize {
        self.fields.len()
    }

    /// The values that were given as NAME=VALUE.
    ///
    /// # Errors
    /// There is no such field, or the value does not fit.
    pub(crate) fn given(&self, words: &[String]) -> Result<Values, Failure> {
        let mut values = Values::new();
        for word in words {
            let (name, value) = word
                .split_once('=')
                .ok_or_else(|| Failure::Usage(format!("--set {word}: give NAME=VALUE")))?;
            let Some(at) = self.fields.iter().position(|field| field.name == name) else {
                let names: Vec<String> = self.fields.iter().map(|field| text::exact(&field.name)).collect();
                return Err(Failure::Usage(format!(
                    "the form has no field {name}; it has: {}",
                    names.join(", ")
                )));
            };
            self.put(&mut values, at, value).map_err(Failure::Usage)?;
        }
        Ok(values)
    }

    /// The first field from `at` on that has no value yet.
    pub(crate) fn open(&self, values: &Values, at: usize) -> Option<usize> {
        (at..self.len())
            .find(|at| self.fields.get(*at).is_some_and(|field| !values.contains_key(&field.name)))
    }

    /// The line that asks for a field.
    pub(crate) fn prompt(&self, at: usize) -> String {
        let Some(field) = self.fields.get(at) else { return String::new() };
        let kind = match field.choices.as_slice() {
            [] => field.kind.clone(),
            choices => format!("{} {}", field.kind, choices.join(", ")),
        };
        let need = match (&field.default, field.required) {
            (Some(default), _) => format!(", else {default}"),
            (None, true) => ", needed".to_owned(),
            (None, false) => String::new(),
        };
        let said =
            if field.description.is_empty() { String::new() } else { format!(": {}", field.description) };
        format!(
            "  {} ({}{}){}> ",
            text::exact(&field.name),
            text::exact(&kind),
            text::exact(&need),
            text::exact(&said)
        )
    }

    /// Takes a typed value; an empty one leaves the field to its default. The error says what is missing.
    pub(crate) fn put(&self, values: &mut Values, at: usize, typed: &str) -> Result<(), String> {
        let Some(field) = self.fields.get(at) else { return Ok(()) };
        let typed = typed.trim_end_matches(['\n', '\r']);
        let value = match (typed, &field.default) {
            ("", Some(default)) => default.clone(),
            ("", None) if field.required => {
                return Err(format!("{} needs a value", text::exact(&field.name)));
            }
            ("", None) => return Ok(()),
            (typed, _) => field
                .value(typed)
                .ok_or_else(|| format!("{}: {}", text::exact(&field.name), field.expected()))?,
        };
        drop(values.insert(field.name.clone(), value));
        Ok(())
    }

    /// The values as they are sent.
    ///
    /// # Errors
    /// A field that needs a value has none, or all of them are too long.
    pub(crate) fn sent(&self, values: &Values) -> Result<Text<FORM>, Failure> {
        let needs =
            |field: &&Field| field.required && field.default.is_none() && !values.contains_key(&field.name);
        if let Some(field) = self.fields.iter().find(needs) {
            let name = text::exact(&field.name);
            return Err(Failure::Usage(format!("the form needs {name}: --set {name}=VALUE")));
        }
        let sent = Value::Object(values.clone()).to_string();
        Text::new(sent).map_err(|_| Failure::Usage("the values are over 16 KiB".to_owned()))
    }
}

impl Field {
    fn value(&self, typed: &str) -> Option<Value> {
        let is_choice = |typed: &str| self.choices.iter().any(|choice| choice == typed);
        match self.kind.as_str() {
            "integer" => typed.trim().parse::<i64>().ok().map(Value::from),
            "number" => typed.trim().parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::from),
            "boolean" => match typed.trim() {
                "y" | "yes" | "true" => Some(Value::from(true)),
                "n" | "no" | "false" => Some(Value::from(false)),
                _ => None,
            },
            "one of" => is_choice(typed).then(|| Value::from(typed)),
            "any of" => {
                let chosen: Vec<&str> = typed.split(',').map(str::trim).collect();
                chosen.iter().all(|one| is_choice(one)).then(|| Value::from(chosen))
            }
            _ => Some(Value::from(typed)),
        }
    }

    fn expected(&self) -> String {
        match self.kind.as_str() {
            "one of" => format!("give one of {}", text::exact(&self.choices.join(", "))),
            "any of" => {
                format!("give some of {}, with commas between", text::exact(&self.choices.join(", ")))
            }
            "boolean" => "give yes or no".to_owned(),
            _ => "give a number".to_owned(),
        }
    }
}

fn field(shown: &Value) -> Option<Field> {
    let text = |name: &str| shown.get(name).and_then(Value::as_str).map(str::to_owned);
    let choices = shown.get("choices").and_then(Value::as_array).into_iter().flatten();
    Some(Field {
        name: text("name")?,
        kind: text("kind")?,
        required: shown.get("required").and_then(Value::as_bool).unwrap_or_default(),
        choices: choices.filter_map(Value::as_str).map(str::to_owned).collect(),
        default: shown.get("default").cloned(),
        description: text("description").unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn typed_values_become_those_of_their_fields() {
        let fields = json!([
            {"name": "who", "kind": "text", "required": true},
            {"name": "seats", "kind": "integer", "required": false, "default": 2},
            {"name": "window", "kind": "boolean", "required": false},
            {"name": "extras", "kind": "any of", "required": false, "choices": ["a", "b"]}
        ]);
        let form = Form { fields: fields.as_array().unwrap().iter().filter_map(field).collect() };
        let given =
            |words: &[&str]| form.given(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        let values = given(&["who=Ada=B", "seats=3", "window=yes", "extras=a, b"]).unwrap();
        assert_eq!(
            Value::Object(values.clone()),
            json!({"who": "Ada=B", "seats": 3, "window": true, "extras": ["a", "b"]})
        );
        assert_eq!(form.open(&values, 0), None);
        assert_eq!(form.open(&given(&["who=Ada"]).unwrap(), 0), Some(1));
        for wrong in ["seats=many", "extras=c", "window=maybe", "other=1", "who"] {
            assert!(given(&[wrong]).is_err(), "{wrong}");
        }
        assert!(form.sent(&given(&["seats=3"]).unwrap()).is_err(), "who needs a value");
        let mut values = Values::new();
        form.put(&mut values, 1, "\n").unwrap();
        assert_eq!(values.get("seats"), Some(&json!(2)));
        assert!(form.prompt(1).contains("seats (integer, else 2)"), "{}", form.prompt(1));
    }
}
