//! Whatever a file holds, it is answered: by a plan that can be written down, or by a report.

use crate::common::{check_in, machine};
use agentd_config::keys;
use proptest::prelude::{Strategy, any, prop_oneof, proptest};

/// Either a document that agentd takes, or lines that all begin as they should.
fn is_answered(text: &[u8]) {
    match check_in("/nonexistent".as_ref(), text, &machine()) {
        Ok(plan) => {
            let document = plan.document().unwrap();
            assert_eq!(manifest::settings::decode(&document).unwrap().0, plan.settings());
        }
        Err(report) => {
            assert!(!report.is_empty());
            for line in report.lines() {
                let rest = line.strip_prefix("f:").unwrap();
                let number = rest.split(':').next().unwrap();
                assert!(number.parse::<usize>().is_ok_and(|n| n >= 1) || line.ends_with(" more"), "{line}");
                assert!(!line.chars().any(char::is_control), "{line:?}");
            }
        }
    }
}

/// A value that could stand somewhere.
fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        (0..300_i64).prop_map(|n| n.to_string()),
        "'[a-z/:.0-9 -]{0,24}'",
        "\"[a-z\\\\\"u0-9]{0,12}\"",
        "\\[('[a-z.:0-9]{0,12}'(, )?){0,4}\\]",
        "\\{[a-z]{0,6} ?= ?[0-9]{0,3}\\}",
        prop_oneof![
            "'none'",
            "'flat'",
            "'owner'",
            "'openai'",
            "'offline/reader'",
            "'https://a.b/v1'",
            "\\['localhost:80'\\]"
        ],
        "\\PC{0,10}",
    ]
}

/// A line that is nearly right: a key of the table, or nearly, and some value.
fn line() -> impl Strategy<Value = String> {
    let paths: Vec<_> = keys::all().map(|key| key.path).collect();
    let path = proptest::sample::select(paths);
    (path, "[a-z]{1,3}", value(), 0..8_u8).prop_map(|(path, name, value, how)| {
        let path =
            path.replace("NAME", &name).replace("MODEL", "m").replace("TOOL", "t").replace("PROCESS", "gate");
        match (how, path.strip_prefix("user[].")) {
            (0, _) => format!("[{}]", path.replace("[]", "")),
            (1, _) => "[[user]]".to_owned(),
            (_, Some(key)) => format!("{key} = {value}"),
            (2, None) => format!("{path}x = {value}"),
            (_, None) => format!("{path} = {value}"),
        }
    })
}

proptest! {
    #[test]
    fn any_bytes_give_a_plan_or_a_report_and_never_a_panic(bytes: Vec<u8>) {
        is_answered(&bytes);
    }

    #[test]
    fn any_text_gives_a_plan_or_a_report(text in "([a-z\\[\\]{}='\",.#\n 0-9_-]|\\PC){0,200}") {
        is_answered(text.as_bytes());
    }

    #[test]
    fn any_lines_that_are_nearly_right_give_a_plan_or_a_report(lines in proptest::collection::vec(line(), 0..12)) {
        is_answered(lines.join("\n").as_bytes());
    }
}

#[test]
fn deep_and_long_files_are_answered() {
    for text in [
        "[".repeat(100_000),
        format!("a = {}", "[".repeat(100_000)),
        format!("a{} = 1", ".a".repeat(100_000)),
        format!("a = {}", "{a=".repeat(50_000)),
        "x = 1\n".repeat(50_000),
        "[[user]]\n".repeat(50_000),
    ] {
        is_answered(text.as_bytes());
    }
}
