//! `policy simulate` and `policy explain`: what is read and what is answered.

use policy::Engine;
use policy::offline::{Question, Simulation, explain};
use serde_json::{Value, json};

/// The answers to these lines, and true if all of them made sense.
fn run(lines: &[&str]) -> (Vec<Value>, bool) {
    let engine = Engine::built_in().unwrap();
    let mut simulation = Simulation::new(&engine).unwrap();
    let mut sound = true;
    let mut answer = |line: &&str| {
        simulation.line(line.as_bytes()).unwrap_or_else(|problem| {
            sound = false;
            Some(json!({"error": problem.to_string()}))
        })
    };
    let answers = lines.iter().filter_map(&mut answer).collect();
    (answers, sound)
}

// Holds P5-55.
#[test]
fn each_call_gives_one_verdict_in_the_documented_form() {
    let (lines, sound) = run(&[
        r#"{"event":"tool","name":"pay","effect":"pay","relevant_args":["to"]}"#,
        r#"{"event":"session","id":"a","profile":"standard"}"#,
        r#"{"event":"user","session":"a","text":"Pay the bill in bill.txt"}"#,
        r#"{"event":"plan","session":"a","tools":["pay"]}"#,
        r#"{"event":"content","session":"a","source":"tool:read_file","trust":"external","class":"internal","text":"x"}"#,
        r#"{"event":"call","session":"a","id":"c1","tool":"pay","args":{"to":"DE00","amount":5}}"#,
        r#"{"event":"call","session":"a","id":7,"tool":"unheard_of","args":{}}"#,
    ]);
    assert!(sound);
    let [ask, deny] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!((&ask["id"], &ask["verdict"]), (&json!("c1"), &json!("ask")));
    assert_eq!(ask["args"], json!({"to": "untrusted"}));
    assert_eq!(ask["policies"], json!(["standard-ask-unvouched"]));
    assert_eq!(ask["label"]["trust"], "untrusted");
    assert_eq!(ask["label"]["sources"], json!(["tool:read_file", "user"]));
    assert!(ask["reason"].as_str().unwrap().contains("not named by you: to"));
    assert_eq!((&deny["id"], &deny["verdict"]), (&json!(7), &json!("deny")));
}

// Holds P5-55.
#[test]
fn a_line_that_makes_no_sense_is_answered_and_the_rest_goes_on() {
    let call = r#"{"event":"call","session":"a","id":"c","tool":"read","args":{"path":"a"}}"#;
    let bad = [
        "not json",
        "[]",
        r#"{"event":"nothing"}"#,
        r#"{"event":"session"}"#,
        r#"{"event":"session","id":"b","profile":"relaxed"}"#,
        r#"{"event":"tool","name":"t","relevent_args":["to"]}"#,
        r#"{"event":"tool","name":"t","capability":{"approval":{"level":"sometimes"}}}"#,
        r#"{"event":"tool","name":"t","capability":{"approval":{"danger_patterns":["("]}}}"#,
        r#"{"event":"user","session":"nobody","text":"x"}"#,
        r#"{"event":"content","session":"a","trust":"complete","text":"x"}"#,
        r#"{"event":"call","session":"a","id":1,"tool":"read","args":[]}"#,
    ];
    for line in bad {
        let (lines, sound) = run(&[r#"{"event":"session","id":"a"}"#, line, call]);
        let [error, verdict] = lines.as_slice() else { panic!("{lines:?}") };
        assert!(!sound);
        assert!(error["error"].as_str().is_some_and(|error| !error.is_empty()));
        assert_eq!(verdict["id"], "c");
    }
}

#[test]
fn a_whole_capability_is_understood_in_both_spellings() {
    for capability in [
        json!({"approval": {"askForMethods": ["POST"]}, "network": {"access": "full", "blockedPorts": [22]}}),
        json!({"approval": {"ask_for_methods": ["POST"]}, "network": {"access": "full", "blocked_ports": [22]}}),
    ] {
        let tool =
            json!({"event": "tool", "name": "http", "effect": "read", "capability": capability}).to_string();
        let call = |id: u8, url: &str, method: &str| {
            json!({"event": "call", "session": "a", "id": id, "tool": "http", "args": {"url": url, "method": method}})
                .to_string()
        };
        let (lines, sound) = run(&[
            &tool,
            r#"{"event":"session","id":"a","profile":"power-user"}"#,
            &call(1, "https://example.com/", "GET"),
            &call(2, "https://example.com/", "POST"),
            &call(3, "https://example.com:22/", "GET"),
        ]);
        let verdicts: Vec<&str> = lines.iter().filter_map(|line| line["verdict"].as_str()).collect();
        assert_eq!((verdicts, sound), (vec!["allow", "ask", "deny"], true));
    }
}

#[test]
fn a_policy_file_changes_what_is_simulated() {
    let engine =
        Engine::with(&[("own", r#"forbid (principal, action, resource in Tool::"read");"#)]).unwrap();
    let mut simulation = Simulation::new(&engine).unwrap();
    simulation.line(br#"{"event":"session","id":"a","profile":"power-user"}"#).unwrap();
    let call = br#"{"event":"call","session":"a","id":1,"tool":"read","args":{"path":"a"}}"#;
    assert_eq!(simulation.line(call).unwrap().unwrap()["verdict"], "deny");
}

#[test]
fn an_explanation_holds_the_canonical_path_and_the_commands_verdict() {
    let engine = Engine::built_in().unwrap();
    let ask = |question: Value| {
        let question: Question = serde_json::from_value(question).unwrap();
        explain(&engine, question).unwrap()
    };
    let path = ask(json!({"profile": "standard", "tool": "read", "args": {"path": "./a/./b.txt"}}));
    assert_eq!(path["path"]["canonical"], "/workspace/a/b.txt");
    assert_eq!((&path["verdict"], &path["path"]["allowed"]), (&json!("allow"), &json!(true)));
    let escape = ask(json!({"tool": "read", "args": {"path": "../../etc/passwd"}}));
    assert_eq!((&escape["verdict"], &escape["path"]["allowed"]), (&json!("deny"), &json!(false)));
    let command = ask(json!({"tool": "bash", "args": {"command": "sudo cat /etc/shadow | sh"}}));
    assert_eq!(command["verdict"], "ask");
    assert_eq!(command["command"]["understood"], false, "what comes by a pipe is not read");
    assert!(command["command"]["danger"].is_string());
    assert!(command["policies"][0]["reason"].is_string(), "{command}");
    let hidden =
        json!({"profile": "power-user", "tool": "bash", "args": {"command": "$(cat s)"}, "attached": true});
    let hidden = ask(hidden);
    assert_eq!((&hidden["verdict"], &hidden["command"]["understood"]), (&json!("ask"), &json!(false)));
    let planned = ask(json!({
        "profile": "standard", "tool": "memory_write", "args": {"content": "tea at five"}, "user": ["Remember: tea at five"],
        "content": ["something from elsewhere"], "plan": ["memory_write"],
    }));
    assert_eq!((&planned["verdict"], &planned["planned"]), (&json!("allow"), &json!(true)));
    assert_eq!(planned["args"]["content"], "vouched");
}
