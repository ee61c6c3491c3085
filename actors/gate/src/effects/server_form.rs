//! The values of a server's form as a person gave them, checked and completed with the form's own.

use ipc_proto::Text;
use ipc_proto::approval::FORM;
use ipc_proto::mcp::{Field, FieldKind};
use serde_json::{Map, Value};

/// The values, a JSON object. A field that was left out has its default. The error says which field is wrong.
pub(crate) fn filled(fields: &[Field], form: &str) -> Result<Text<FORM>, String> {
    let given = match form {
        "" => Value::Object(Map::new()),
        form => serde_json::from_str(form).unwrap_or_default(),
    };
    let Value::Object(mut given) = given else { return Err("the values are no JSON object".to_owned()) };
    let mut values = Map::new();
    for field in fields {
        let name = field.name.as_str();
        match given.remove(name).or_else(|| serde_json::from_str(&field.default).ok()) {
            Some(value) if fits(&field.kind, &value) => drop(values.insert(name.to_owned(), value)),
            Some(_) => return Err(format!("the value of {name} does not fit")),
            None if field.required => return Err(format!("{name} has no value")),
            None => {}
        }
    }
    if let Some(name) = given.keys().next() {
        return Err(format!("the form has no field {name}"));
    }
    Text::new(Value::Object(values).to_string()).map_err(|_| "the values are over 16 KiB".to_owned())
}

fn fits(kind: &FieldKind, value: &Value) -> bool {
    let is_in = |choices: &[Text<128>], value: &Value| {
        value.as_str().is_some_and(|text| choices.iter().any(|choice| choice.as_str() == text))
    };
    match kind {
        FieldKind::Text => value.is_string(),
        FieldKind::Integer => value.is_i64() || value.is_u64(),
        FieldKind::Number => value.is_number(),
        FieldKind::Boolean => value.is_boolean(),
        FieldKind::One(choices) => is_in(choices, value),
        FieldKind::Several(choices) => {
            value.as_array().is_some_and(|values| values.iter().all(|value| is_in(choices, value)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::List;

    fn field(name: &str, kind: FieldKind, required: bool, default: &str) -> Field {
        Field {
            name: Text::clip(name),
            description: Text::default(),
            required,
            kind,
            default: Text::clip(default),
        }
    }

    #[test]
    fn a_form_takes_what_fits_its_fields_and_has_its_defaults() {
        let some = || List::clip([Text::clip("a"), Text::clip("b")]);
        let fields = [
            field("who", FieldKind::Text, true, ""),
            field("seats", FieldKind::Integer, false, "2"),
            field("class", FieldKind::One(some()), false, ""),
            field("extras", FieldKind::Several(some()), false, ""),
        ];
        for (form, values) in [
            (r#"{"who":"Ada"}"#, Ok(r#"{"seats":2,"who":"Ada"}"#)),
            (
                r#"{"who":"Ada","seats":3,"class":"b","extras":["a"]}"#,
                Ok(r#"{"class":"b","extras":["a"],"seats":3,"who":"Ada"}"#),
            ),
            ("", Err("who has no value")),
            ("[]", Err("the values are no JSON object")),
            (r#"{"who":"Ada","seats":"3"}"#, Err("the value of seats does not fit")),
            (r#"{"who":"Ada","class":"c"}"#, Err("the value of class does not fit")),
            (r#"{"who":"Ada","extras":["c"]}"#, Err("the value of extras does not fit")),
            (r#"{"who":"Ada","more":1}"#, Err("the form has no field more")),
        ] {
            let filled = filled(&fields, form);
            let sorted = |text: &str| serde_json::from_str::<Value>(text).unwrap();
            match values {
                Ok(values) => assert_eq!(sorted(&filled.unwrap()), sorted(values), "{form}"),
                Err(why) => assert_eq!(filled.unwrap_err(), why, "{form}"),
            }
        }
    }
}
