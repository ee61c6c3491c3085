//! The parts of a question that a policy reads. They are found in the policy's own structure, never in its text, where a name can
//! be written in many ways. In doubt a policy reads everything.

use serde_json::Value;
use std::collections::BTreeSet;

/// The parts of a question that are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    /// Attributes of the context; `None` where it is read as a whole, or nobody knows.
    context: Option<BTreeSet<String>>,
    /// The attributes of the principal, beyond its type.
    pub(super) principal: bool,
    /// The attributes of the resource, beyond its type.
    pub(super) resource: bool,
}

impl Reading {
    /// Nothing at all.
    pub(super) const NOTHING: Self =
        Self { context: Some(BTreeSet::new()), principal: false, resource: false };
    /// Everything.
    pub(super) const EVERYTHING: Self = Self { context: None, principal: true, resource: true };

    /// The reading of a policy in its JSON form.
    pub(super) fn of(policy: &Value) -> Self {
        let Some(conditions) = policy.get("conditions") else { return Self::EVERYTHING };
        let mut reading = Self::NOTHING;
        reading.principal = scoped(policy.get("principal"));
        reading.resource = scoped(policy.get("resource"));
        reading.gather(conditions);
        reading
    }

    /// Returns whether this attribute of the context is read.
    pub(super) fn has(&self, name: &str) -> bool {
        self.context.as_ref().is_none_or(|names| names.contains(name))
    }

    /// The union of both.
    pub(super) fn and(self, other: &Self) -> Self {
        let context = self.context.zip(other.context.as_ref()).map(|(mut names, others)| {
            names.extend(others.iter().cloned());
            names
        });
        Self {
            context,
            principal: self.principal || other.principal,
            resource: self.resource || other.resource,
        }
    }

    /// Adds the parts that are read below.
    fn gather(&mut self, value: &Value) {
        match value {
            Value::Object(fields) => {
                fields.iter().for_each(|(operator, operand)| self.operator(operator, operand))
            }
            Value::Array(values) => values.iter().for_each(|value| self.gather(value)),
            _ => {}
        }
    }

    fn operator(&mut self, operator: &str, operand: &Value) {
        let name = if matches!(operator, "." | "has") { of_context(operand) } else { None };
        match (operator, operand.as_str(), name) {
            (_, _, Some(name)) => {
                if let Some(names) = &mut self.context {
                    names.insert(name.to_owned());
                }
            }
            ("Var", Some("context"), None) => self.context = None,
            ("Var", Some("principal"), None) => self.principal = true,
            ("Var", Some("resource"), None) => self.resource = true,
            _ => self.gather(operand),
        }
    }
}

/// Returns true if a policy's scope needs more than a type: Cedar knows the type from the name alone.
fn scoped(constraint: Option<&Value>) -> bool {
    let Some(constraint) = constraint else { return true };
    let operator = constraint.get("op").and_then(Value::as_str);
    !matches!(operator, Some("All" | "is")) || constraint.get("in").is_some()
}

/// The attribute of the context that this access is to.
fn of_context(access: &Value) -> Option<&str> {
    let of_context = access.get("left")?.get("Var")? == "context";
    of_context.then(|| access.get("attr")?.as_str()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cedar_policy::Policy;

    fn reading(scope: &str, condition: &str) -> Reading {
        let text = format!("forbid ({scope}) unless {{ {condition} }};");
        let policy = Policy::parse(None, &text).unwrap();
        Reading::of(&policy.to_json().unwrap())
    }

    fn some(names: &[&str]) -> Reading {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        Reading { context: Some(names), ..Reading::NOTHING }
    }

    // Holds P5-55.
    #[test]
    fn what_a_policy_can_see_is_found_in_any_spelling() {
        let whole = Reading { context: None, ..Reading::NOTHING };
        let cases = [
            ("true", some(&[])),
            ("principal.user == \"approved\"", Reading { principal: true, ..some(&[]) }),
            ("resource has value || context.danger", Reading { resource: true, ..some(&["danger"]) }),
            (
                "context.danger && context has host && context.host like \"granted*\"",
                some(&["danger", "host"]),
            ),
            (r#"!(context["\u{61}pproved"])"#, some(&["approved"])),
            ("if context.danger then context.granted else false", some(&["danger", "granted"])),
            ("[context.level, \"x\"].contains(\"auto\")", some(&["level"])),
            ("context == {approved: true}", whole.clone()),
            ("[context].contains(context)", whole),
        ];
        for (condition, want) in cases {
            assert_eq!(reading("principal, action, resource", condition), want, "{condition}");
        }
        assert_eq!(Reading::of(&Value::Null), Reading::EVERYTHING);
    }

    // Holds P5-55.
    #[test]
    fn a_scope_that_asks_for_more_than_a_kind_reads_whom_it_asks_for() {
        let cases = [
            ("principal is Session, action, resource", [false, false]),
            ("principal, action in Action::\"change\", resource is Target", [false, false]),
            ("principal == Session::\"s\", action, resource", [true, false]),
            ("principal in Agent::\"a\", action, resource in Tool::\"t\"", [true, true]),
            ("principal, action, resource is Target in Tool::\"t\"", [false, true]),
        ];
        for (scope, want) in cases {
            let read = reading(scope, "true");
            assert_eq!([read.principal, read.resource], want, "{scope}");
        }
    }

    #[test]
    fn two_read_what_either_reads() {
        let both = some(&["a"]).and(&Reading { principal: true, ..some(&["b"]) });
        assert!(both.has("a") && both.has("b") && !both.has("c") && both.principal && !both.resource);
        assert_eq!(both.and(&Reading::EVERYTHING), Reading::EVERYTHING);
        assert!(Reading::EVERYTHING.and(&some(&["a"])).has("c"));
    }
}
