//! What a policy reads of the context. It looks at the policy's own structure, never at its text: there, a name can be
//! written in many ways. In doubt a policy reads everything.

use serde_json::Value;
use std::collections::BTreeSet;

/// Attributes of the context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// These.
    Of(BTreeSet<String>),
    /// The context as a whole, or nobody knows.
    Everything,
}

impl Default for Reading {
    fn default() -> Self {
        Self::Of(BTreeSet::new())
    }
}

impl Reading {
    /// What a policy in its JSON form reads.
    pub(super) fn of(policy: &Value) -> Self {
        let mut names = BTreeSet::new();
        let known = policy.is_object() && gather(policy, &mut names);
        if known { Self::Of(names) } else { Self::Everything }
    }

    /// Whether this attribute is among them.
    pub(super) fn has(&self, name: &str) -> bool {
        match self {
            Self::Of(names) => names.contains(name),
            Self::Everything => true,
        }
    }

    /// This and the other.
    pub(super) fn and(self, other: &Self) -> Self {
        match (self, other) {
            (Self::Of(mut names), Self::Of(others)) => {
                names.extend(others.iter().cloned());
                Self::Of(names)
            }
            _ => Self::Everything,
        }
    }
}

/// Takes every attribute of the context that is read or looked for below; whether nothing but attributes is.
fn gather(value: &Value, names: &mut BTreeSet<String>) -> bool {
    match value {
        Value::Object(fields) => fields.iter().all(|(operator, operand)| {
            let name = if matches!(operator.as_str(), "." | "has") { of_context(operand) } else { None };
            names.extend(name.map(str::to_owned));
            name.is_some() || !(operator == "Var" && operand == "context") && gather(operand, names)
        }),
        Value::Array(values) => values.iter().all(|value| gather(value, names)),
        _ => true,
    }
}

/// The attribute of the context that this access is to.
pub(super) fn of_context(access: &Value) -> Option<&str> {
    let of_context = access.get("left")?.get("Var")? == "context";
    of_context.then(|| access.get("attr")?.as_str()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cedar_policy::Policy;

    #[test]
    fn what_a_policy_can_see_is_found_in_any_spelling() {
        let some = |names: &[&str]| Reading::Of(names.iter().map(|name| (*name).to_owned()).collect());
        let cases = [
            ("true", some(&[])),
            ("principal.user == \"approved\"", some(&[])),
            (
                "context.danger && context has host && context.host like \"granted*\"",
                some(&["danger", "host"]),
            ),
            (r#"!(context["\u{61}pproved"])"#, some(&["approved"])),
            ("if context.danger then context.granted else false", some(&["danger", "granted"])),
            ("[context.level, \"x\"].contains(\"auto\")", some(&["level"])),
            ("context == {approved: true}", Reading::Everything),
            ("[context].contains(context)", Reading::Everything),
        ];
        for (condition, want) in cases {
            let text = format!("forbid (principal, action, resource) unless {{ {condition} }};");
            let policy = Policy::parse(None, &text).unwrap();
            assert_eq!(Reading::of(&policy.to_json().unwrap()), want, "{condition}");
        }
        assert_eq!(Reading::of(&Value::Null), Reading::Everything);
    }

    #[test]
    fn two_read_what_either_reads() {
        let one = |name: &str| Reading::Of(BTreeSet::from([name.to_owned()]));
        let both = one("a").and(&one("b"));
        assert!(both.has("a") && both.has("b") && !both.has("c"));
        assert_eq!(both.and(&Reading::Everything), Reading::Everything);
        assert_eq!(Reading::Everything.and(&one("a")), Reading::Everything);
    }
}
