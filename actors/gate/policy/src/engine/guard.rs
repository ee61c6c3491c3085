//! The leading conditions of a policy on the context or the principal that are as simple as a flag. They are found in the
//! policy's own structure, never in its text. An error is only possible to one side: in doubt a policy is evaluated.
//!
//! Cedar evaluates conditions from left to right and ends with the first that is false, before anything behind it can
//! err. So a policy whose leading condition is false neither applies nor errs, and need not be evaluated to know it.

use crate::context::{Attribute, Attributes};
use serde_json::Value;

/// A condition that an attribute has a value, or has it not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Guard {
    of: Subject,
    attribute: String,
    value: Wanted,
    /// True if it must be that value.
    is: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    Context,
    Principal,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Wanted {
    Flag,
    Word(String),
}

impl Guard {
    /// Returns true if the condition can be true. A value that is missing or of another type is left to Cedar.
    pub(super) fn may_hold(&self, context: &Attributes, principal: &Attributes) -> bool {
        let attributes = match self.of {
            Subject::Context => context,
            Subject::Principal => principal,
        };
        match (attributes.get(self.attribute.as_str()), &self.value) {
            (Some(Attribute::Flag(flag)), Wanted::Flag) => *flag == self.is,
            (Some(Attribute::Word(word)), Wanted::Word(wanted)) => (word == wanted) == self.is,
            _ => true,
        }
    }
}

/// The leading conditions of a policy in its JSON form, in the order in which they are evaluated.
pub(super) fn of(policy: &Value) -> Vec<Guard> {
    let mut guards = Vec::new();
    let clauses = policy.get("conditions").and_then(Value::as_array);
    for clause in clauses.into_iter().flatten() {
        let is = clause.get("kind").is_some_and(|kind| kind == "when");
        if !clause.get("body").is_some_and(|body| lead(body, is, &mut guards)) {
            break;
        }
    }
    guards
}

/// Collects the conditions that must hold for `body` to be `is`; returns true if that was all of it.
fn lead(body: &Value, is: bool, guards: &mut Vec<Guard>) -> bool {
    // «Both» is true and «either» false only if each of the two is; the right one is evaluated last.
    let both = body.get(if is { "&&" } else { "||" });
    if let Some((left, right)) = both.and_then(sides) {
        return lead(left, is, guards) && lead(right, is, guards);
    }
    if let Some(inner) = body.get("!").and_then(|not| not.get("arg")) {
        return lead(inner, !is, guards);
    }
    let guard = simple(body).map(|((of, attribute), value)| Guard { of, attribute, value, is });
    let found = guard.is_some();
    guards.extend(guard);
    found
}

/// `context.flag`, or `context.word == "…"`; or of the principal.
fn simple(body: &Value) -> Option<((Subject, String), Wanted)> {
    if let Some(flag) = attribute(body) {
        return Some((flag, Wanted::Flag));
    }
    let (left, right) = sides(body.get("==")?)?;
    let word = right.get("Value")?.as_str()?;
    Some((attribute(left)?, Wanted::Word(word.to_owned())))
}

fn attribute(body: &Value) -> Option<(Subject, String)> {
    let access = body.get(".")?;
    let of = match access.get("left")?.get("Var")?.as_str()? {
        "context" => Subject::Context,
        "principal" => Subject::Principal,
        _ => return None,
    };
    Some((of, access.get("attr")?.as_str()?.to_owned()))
}

fn sides(operator: &Value) -> Option<(&Value, &Value)> {
    Some((operator.get("left")?, operator.get("right")?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cedar_policy::Policy;

    fn guards(conditions: &str) -> Vec<String> {
        let policy =
            Policy::parse(None, format!("forbid (principal, action, resource) {conditions};")).unwrap();
        let shown = |guard: &Guard| {
            let word = match &guard.value {
                Wanted::Flag => String::new(),
                Wanted::Word(word) => format!("={word}"),
            };
            let of = if guard.of == Subject::Principal { "principal." } else { "" };
            format!("{}{of}{}{word}", if guard.is { "" } else { "!" }, guard.attribute)
        };
        of(&policy.to_json().unwrap()).iter().map(shown).collect()
    }

    #[test]
    fn what_is_asked_first_is_found_up_to_the_first_thing_that_is_not_simple() {
        let cases: &[(&str, &[&str])] = &[
            ("", &[]),
            ("when { context.a }", &["a"]),
            ("unless { context.a }", &["!a"]),
            (
                "when { context.a && !context.b && context.c == \"x\" } unless { context.d || context.e }",
                &["a", "!b", "c=x", "!d", "!e"],
            ),
            ("when { context.a || context.b } unless { context.c }", &[]),
            ("unless { context.a && context.b }", &[]),
            ("when { context.a && context.n > 3 && context.b }", &["a"]),
            ("when { context.a && (context.b || context.c) } unless { context.d }", &["a"]),
            ("when { !(context.a || context.b) && context.d }", &["!a", "!b", "d"]),
            ("when { !(context.a && context.b) }", &[]),
            ("when { principal.a == \"x\" && context.b }", &["principal.a=x", "b"]),
            ("when { principal.a.c && context.b }", &[]),
            ("when { resource.a && context.b }", &[]),
            ("when { resource == context.a && context.b }", &[]),
            (r#"when { context["\u{61}"] && context.c != "x" }"#, &["a"]),
            ("unless { context.c == \"x\" }", &["!c=x"]),
        ];
        for (conditions, want) in cases {
            assert_eq!(guards(conditions), *want, "{conditions}");
        }
    }

    #[test]
    fn what_is_missing_or_of_another_kind_is_left_to_cedar() {
        let attributes = Attributes::from([("a", true.into()), ("w", "x".into()), ("n", 3.into())]);
        let holds = |attribute: &str, value: Wanted, is: bool| {
            let guard = |of| Guard { of, attribute: attribute.to_owned(), value: value.clone(), is };
            let none = Attributes::new();
            let context = guard(Subject::Context).may_hold(&attributes, &none);
            assert_eq!(guard(Subject::Principal).may_hold(&none, &attributes), context);
            assert!(guard(Subject::Principal).may_hold(&attributes, &none));
            context
        };
        let x = || Wanted::Word("x".to_owned());
        assert_eq!([holds("a", Wanted::Flag, true), holds("a", Wanted::Flag, false)], [true, false]);
        assert_eq!([holds("w", x(), true), holds("w", x(), false)], [true, false]);
        for other in [("gone", Wanted::Flag), ("n", Wanted::Flag), ("w", Wanted::Flag), ("a", x())] {
            assert!(holds(other.0, other.1.clone(), true) && holds(other.0, other.1, false));
        }
    }
}
