//! Tests that the schemas and the types of the tools accept the same arguments.

use super::super::{TOOLS, prepare, typed};
use super::refused;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use toolset::{jail_tools, specs, validate};

#[test]
fn every_spec_fits_the_bus_and_is_a_schema_this_crate_can_check() {
    let specs = specs();
    let mut names: Vec<_> = specs.iter().map(|spec| spec.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), specs.len());
    for spec in &specs {
        assert!(spec.name.len() <= 64 && spec.description.len() <= 2048 && spec.description.len() >= 10);
        assert!(spec.schema.to_string().len() <= 8192, "{}", spec.name);
        assert!(!spec.check(&json!({"nonsense": 1})).unwrap_err().contains("not supported"), "{}", spec.name);
    }
}

#[test]
fn each_tool_of_the_jail_has_one_schema_and_one_implementation() {
    let schemas: Vec<_> = jail_tools::specs().iter().map(|spec| spec.name).collect();
    assert_eq!(schemas, jail_tools::NAMES);
    assert_eq!(schemas, TOOLS.each_ref().map(|listed| listed.name));
}

#[test]
fn each_tool_takes_its_smallest_call_and_names_what_is_missing() {
    let smallest = [
        ("read", json!({"path": "a"})),
        ("write", json!({"path": "a", "content": ""})),
        ("edit", json!({"path": "a", "edits": [{"oldText": "a", "newText": ""}]})),
        ("glob", json!({"pattern": "*"})),
        ("grep", json!({"pattern": "a"})),
        ("bash", json!({"command": "true"})),
        ("memory_write", json!({"content": "x"})),
        ("memory_query", json!({"query": "x"})),
        ("memory_timeline", json!({})),
        ("memory_read", json!({"ids": ["550e8400-e29b-41d4-a716-446655440000"]})),
        ("memory_list", json!({})),
        ("memory_revise", json!({"id": "550e8400-e29b-41d4-a716-446655440000", "reason": "x"})),
        ("memory_delete", json!({"id": "550e8400-e29b-41d4-a716-446655440000"})),
        ("web_fetch", json!({"url": "https://example.org/"})),
        ("web_search", json!({"query": "x"})),
        ("http_call", json!({"service": "mail", "path": "/"})),
        ("oauth_call", json!({"service": "mail", "path": "/"})),
        ("send_file", json!({"path": "a", "sha256": "0".repeat(64)})),
        ("browser_navigate", json!({"url": "https://example.org/"})),
        ("browser_snapshot", json!({})),
        ("browser_click", json!({"ref": 1})),
        ("browser_type", json!({"ref": 1, "text": "x"})),
        ("browser_select", json!({"ref": 1, "values": ["x"]})),
        ("browser_press", json!({"key": "enter"})),
        ("browser_back", json!({})),
        ("browser_screenshot", json!({})),
        ("browser_close", json!({})),
        ("scheduler_add_cron", json!({"cron": "0 8 * * *", "prompt": "x"})),
        ("scheduler_run_at", json!({"at": "2099-01-01T08:00", "prompt": "x"})),
        ("scheduler_remove", json!({"job": "x"})),
        ("scheduler_list", json!({})),
    ];
    assert_eq!(smallest.len(), specs().len());
    for (tool, args) in smallest {
        prepare(tool, &args.to_string()).unwrap();
        for field in args.as_object().unwrap().keys() {
            let mut less = args.clone();
            less.as_object_mut().unwrap().remove(field);
            assert!(refused(tool, &less).contains(&format!("`{field}`: is required")), "{tool} {field}");
        }
    }
}

#[test]
fn a_mistake_is_answered_with_the_field_and_what_is_valid() {
    let cases = [
        (
            "read",
            json!({"path": "a", "encoding": "utf-8"}),
            "`encoding`: must be one of \"utf8\", \"base64\", \"binary\"",
        ),
        ("read", json!({"path": ""}), "`path`: must have at least 1 bytes"),
        ("read", json!({"path": "a", "maxSize": 1_000_001}), "`maxSize`: must be at most 1000000"),
        ("read", json!({"file": "a"}), "`file`: unknown field; valid are `encoding`, `maxSize`, `path`"),
        ("read", json!({"path": "a\u{0}b"}), "NUL"),
        ("write", json!({"path": "a/", "content": ""}), "`path`: names a folder"),
        (
            "write",
            json!({"path": "a", "content": "?", "encoding": "base64"}),
            "`content`: is not standard base64",
        ),
        ("edit", json!({"path": "a", "edits": []}), "`edits`: must have at least 1 items"),
        ("edit", json!({"path": "a", "edits": [{"oldText": "", "newText": ""}]}), "`edits[0].oldText`"),
        (
            "edit",
            json!({"path": "a", "edits": [{"oldText": "x", "newText": "x"}]}),
            "`edits[0]`: oldText and newText",
        ),
        ("glob", json!({"pattern": "/etc/*"}), "`pattern`: is matched against paths below"),
        ("glob", json!({"pattern": "../*"}), "`pattern`"),
        ("glob", json!({"pattern": "a[b"}), "`pattern`: is not a pattern"),
        ("grep", json!({"pattern": "(a"}), "`pattern`: is not a regular expression"),
        ("grep", json!({"pattern": "(a)\\1"}), "`pattern`: is not a regular expression"),
        ("grep", json!({"pattern": "(?:a{1000}){1000}"}), "`pattern`: is not a regular expression"),
        ("grep", json!({"pattern": "a", "maxResults": 501}), "`maxResults`: must be at most 500"),
        ("bash", json!({"command": "a", "timeout": 600_001}), "`timeout`: must be at most 600000"),
        ("bash", json!({"command": "a", "env": {"A=B": "c"}}), "`env`: \"A=B\" is not a variable's name"),
        ("bash", json!({"command": "a", "env": {"A": 1}}), "`env.A`: must be a string"),
        (
            "memory_write",
            json!({"content": "x", "scope": "all"}),
            "`scope`: must be one of \"user\", \"agent\", \"global\"",
        ),
        ("memory_query", json!({"query": "x", "limit": 101}), "`limit`: must be at most 100"),
        ("memory_query", json!({"query": "x", "limit": 0}), "`limit`: must be at least 1"),
        ("memory_read", json!({"ids": ["1"]}), "`ids[0]`: must have at least 36"),
        ("memory_query", json!({"query": "x", "kinds": ["fact"]}), "`kinds[0]`: must be one of \"note\""),
        ("memory_timeline", json!({"before": 21}), "`before`: must be at most 20"),
        ("web_fetch", json!({"url": "a", "method": "get"}), "`method`: must be one of \"GET\""),
        ("web_fetch", json!({"url": "a".repeat(2049)}), "`url`: must have at most 2048 bytes"),
        ("web_fetch", json!({"url": "a", "timeout": 30_001}), "`timeout`: must be at most 30000"),
        ("web_search", json!({"query": ""}), "`query`: must have at least 1 bytes"),
        ("web_search", json!({"query": "x", "maxResults": 21}), "`maxResults`: must be at most 20"),
        (
            "http_call",
            json!({"service": "m", "path": "/", "query": {"a": 1}}),
            "`query.a`: must be a string, got 1",
        ),
        ("oauth_call", json!({"service": "m", "path": "/", "url": "x"}), "`url`: unknown field"),
        ("reed", json!({}), "there is no tool named \"reed\"; there are read, write"),
        ("read", json!([1]), "`the arguments`: must be an object, got an array"),
    ];
    for (tool, args, part) in cases {
        let said = refused(tool, &args);
        assert!(said.starts_with("[VALIDATION ERROR] ") && said.contains(part), "{tool} {args}: {said}");
    }
}

#[test]
fn no_arguments_at_all_are_an_empty_object_and_broken_json_is_named() {
    for text in ["", "  ", "null", "{}"] {
        prepare("memory_list", text).unwrap();
    }
    assert!(prepare("memory_list", "{\"limit\":").unwrap_err().contains("not valid JSON"));
    assert!(prepare("memory_list", &"[".repeat(100_000)).unwrap_err().contains("not valid JSON"));
}

fn pool() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!("a")),
        Just(json!("utf8")),
        Just(json!("base64")),
        Just(json!("")),
        Just(json!(true)),
        Just(json!(null)),
        Just(json!(1)),
        Just(json!(1.0)),
        Just(json!(-1)),
        Just(json!(u64::MAX)),
        Just(json!([])),
        Just(json!([{"oldText": "a", "newText": "b"}])),
        Just(json!({"A": "b"})),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
    ]
}

proptest! {
    #[test]
    fn what_a_schema_accepts_its_tool_can_read(index in 0usize..6, given in prop::collection::vec(prop::option::of(pool()), 6)) {
        let spec = &specs()[index];
        let fields = spec.schema["properties"].as_object().unwrap().keys();
        let args: Map<String, Value> =
            fields.zip(given).filter_map(|(name, value)| Some((name.clone(), value?))).collect();
        let args = Value::Object(args);
        if validate::validate(&spec.schema, &args).is_ok()
            && let Err(said) = typed(spec.name, args)
        {
            // Faults that the types add beyond the schema name the field; an error of serde would not.
            prop_assert!(said.starts_with('`'), "{}", said);
        }
    }

    #[test]
    fn any_text_at_all_is_answered(tool in "read|write|edit|glob|grep|bash|memory_query|\\PC{0,8}", args in "\\PC{0,60}") {
        let _ = prepare(&tool, &args);
    }
}
