//! Asking memory on the command line and by hooks: any text is a question, every field can be given, and what makes no
//! sense is said and costs nobody else anything.

use serde_json::{Value, json};
use std::io::Write;
use std::process::{Command, Output, Stdio};
use tests::{Host, Setup, hook_of, programs, script, text};

/// A question far over the bound, whose first word is in one memory.
fn long() -> String {
    format!("quince {}", "nobody says this ".repeat(400))
}

fn kept(host: &Host) -> String {
    text(&host.json(&["memory", "add", "the quince lamp is lit at dusk"]), "id")
}

fn told(child: &mut Command, input: &[u8]) -> Output {
    let pipes = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = pipes.spawn().unwrap();
    // A program that refuses its command line reads no input.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

fn hook(host: &Host, words: &[&str], input: &[u8]) -> Output {
    let mut command = host.command(&[&["hook"], words].concat());
    told(command.env("XDG_STATE_HOME", host.dir()), input)
}

// Holds P3-26.
#[test]
fn any_text_at_all_is_a_question_by_every_way_to_ask() {
    let host = Setup::default().config("[agent.default]\nmodel = \"scripted/asker\"\n").start();
    let id = kept(&host);
    let long = long();
    let found = host.json(&["memory", "search", &long]);
    assert_eq!(found["hits"][0]["id"], id, "{found}");
    assert!(found["notes"][0].as_str().unwrap().contains("2048 bytes"), "{found}");
    let block = host.json(&["memory", "context", "--words", &long]);
    assert!(block["context"]["text"].as_str().unwrap().contains("quince"), "{block}");
    let asked = json!({ "session_id": "s", "cwd": "/nowhere", "hook_event_name": "UserPromptSubmit", "prompt": long });
    let given = hook_of(&host, &["claude-code"], &asked);
    assert!(String::from_utf8_lossy(&given.stdout).contains("lit at dusk"), "{given:?}");
    host.script(
        "asker",
        &script(&[json!({ "call": { "tool": "memory_query", "args": { "query": long } } })]),
    );
    let _ = host.chat("s", "look");
    let ended = host.recorded("tool_ended");
    let asked = ended.iter().find(|it| it["subject"] == "memory_query").unwrap();
    assert_eq!(asked["result"], "success", "an agent's tool takes it too: {ended:?}");
    for strange in
        ["x".repeat(9000), "灯".repeat(3000), "\" OR 1=1 -- *(".repeat(300), " ".repeat(5000) + "dusk"]
    {
        let found = host.json(&["memory", "search", &strange]);
        assert!(found["hits"].is_array(), "{found}");
    }
}

// Holds P7-32.
#[test]
fn what_a_hook_tells_with_half_a_character_is_taken_down() {
    let host = Host::start();
    let told = r#"{"session_id":"s","cwd":"/nowhere","hook_event_name":"UserPromptSubmit","prompt_id":"p","prompt":"the medlar is ripe in \ud83d November"}"#;
    let output = hook(&host, &["claude-code", "--timeout", "30000"], told.as_bytes());
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let found = host.json(&["memory", "search", "medlar"]);
    assert_eq!(found["hits"][0]["content"], "the medlar is ripe in \u{fffd} November", "{found}");
}

// Holds P7-32.
#[test]
fn a_hook_with_a_wrong_command_line_succeeds_and_reports_on_stderr() {
    let host = Host::start();
    for words in [
        &["bogus"][..],
        &["claude-code", "--timeout", "x"],
        &["opencode", "event", "--newer"],
        &[],
        &["bogus", "--json"],
    ] {
        let output = hook(&host, words, b"{}");
        assert_eq!(output.status.code(), Some(0), "{words:?}: {output:?}");
        assert!(
            output.stdout.is_empty(),
            "{words:?}: a client takes what is there for an answer: {output:?}"
        );
        assert!(String::from_utf8_lossy(&output.stderr).contains("error"), "{words:?}: {output:?}");
    }
    let log = std::fs::read_to_string(host.dir().join("cordon/hook.log")).unwrap();
    assert!(log.contains("--newer"), "{log}");
    assert_eq!(host.ctl(&["hok", "claude-code"]).status.code(), Some(64), "nothing else is let off");
}

// Holds P3-27.
#[test]
fn a_search_continues_and_by_options_alone_finds_the_newest() {
    let host = Host::start();
    for at in 0..7 {
        let tag = if at % 2 == 0 { "even" } else { "odd" };
        let _ = host.json(&["memory", "add", &format!("the ferry number {at} leaves at noon"), "--tag", tag]);
    }
    let page = |words: &[&str]| -> Vec<String> {
        let found = host.json(&[&["memory", "search"], words].concat());
        found["hits"].as_array().unwrap().iter().map(|hit| text(hit, "content")).collect()
    };
    let whole = page(&["ferry noon"]);
    assert_eq!(whole.len(), 7);
    let parts: Vec<String> = ["0", "3", "6"]
        .into_iter()
        .flat_map(|offset| page(&["ferry noon", "--limit", "3", "--offset", offset]))
        .collect();
    assert_eq!(parts, whole, "each stands in one part");
    assert_eq!(page(&["ferry noon", "--offset", "99"]), Vec::<String>::new());
    let odd = page(&["--tag", "odd"]);
    assert_eq!(odd.len(), 3, "{odd:?}");
    assert!(odd[0].contains("number 5"), "the newest first: {odd:?}");
    assert_eq!(page(&["--tag", "odd", "--limit", "1", "--offset", "1"]), odd[1..2]);
    for wrong in [&["--limit", "3"][..], &["  "], &["ferry", "--tag", ""], &["ferry", "--offset", "100"]] {
        let refused = host.ctl(&[&["memory", "search"], wrong].concat());
        assert_eq!(refused.status.code(), Some(64), "{wrong:?}: {refused:?}");
    }
}

// Holds P3-28.
#[test]
fn every_field_of_an_observation_can_be_set_and_the_same_is_no_revision() {
    let host = Host::start();
    let made = ["memory", "add", "the lamp was wired the wrong way", "--kind", "bugfix"];
    let fields = [
        "--subtitle", "at the pier", "--fact", "red is live", "--fact", "blue is not", "--file",
        "src/lamp.rs", "--read", "docs/pier.md",
    ];
    let id = text(&host.json(&[&made[..], &fields].concat()), "id");
    let shown = host.json(&["memory", "show", &id])["memory"].clone();
    let said = shown.to_string();
    for part in ["at the pier", "red is live", "blue is not", "src/lamp.rs", "docs/pier.md"] {
        assert!(said.contains(part), "{part}: {shown}");
    }
    for same in [&[][..], &["the lamp was wired the wrong way"], &["--subtitle", "at the pier"]] {
        let left = host.json(&[&["memory", "revise", &id], same].concat());
        assert_eq!(left["revised"], false, "{same:?}: {left}");
    }
    let other = host.json(&["memory", "revise", &id, "--fact", "red is live", "--subtitle", "at the quay"]);
    assert_eq!(other["revised"], true, "{other}");
    let now = host.json(&["memory", "show", &text(&other, "id")])["memory"].to_string();
    assert!(
        now.contains("at the quay") && !now.contains("blue is not") && now.contains("src/lamp.rs"),
        "{now}"
    );
    let note = text(&host.json(&["memory", "add", "a note"]), "id");
    for wrong in [
        &["add", "a note", "--subtitle", "x"][..],
        &["add", "a note", "--tag", " "],
        &["revise", &note, "--fact", "x"],
        &["revise", &note, "--type", "bugfix"],
    ] {
        let refused = host.ctl(&[&["memory"], wrong].concat());
        assert_eq!(refused.status.code(), Some(64), "{wrong:?}: {refused:?}");
    }
}

// Holds P3-29.
#[test]
fn an_evaluation_clips_long_texts_and_says_so_on_standard_error() {
    let lines = [
        json!({ "op": "add", "id": "t1", "text": format!("the quince {}", "x".repeat(900_000)) }).to_string(),
        r#"{"op":"add","id":"t2","text":"the medlar \ud83d is ripe"}"#.to_owned(),
        json!({ "op": "ask", "id": "q", "question": long(), "evidence": ["t1"] }).to_string(),
        r#"{"op":"ask","id":"r","question":"medlar \udfff","evidence":["t2"]}"#.to_owned(),
    ];
    for (options, named) in [(&[][..], "line 1: "), (&["--json"], "\"line\":1")] {
        #[expect(clippy::disallowed_methods, reason = "a test runs the command as a person would")]
        let mut command = Command::new(programs().join("agentctl"));
        command.args(["--socket", "/nowhere", "memory", "eval"]).args(options);
        let output = told(&mut command, lines.join("\n").as_bytes());
        assert!(output.status.success(), "{output:?}");
        let out = String::from_utf8(output.stdout).unwrap();
        let figures: Value = serde_json::from_str(out.lines().last().unwrap()).unwrap();
        assert_eq!(figures["figures"]["mrr"], 1.0, "{out}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(named) && said.lines().count() == 1 && !said.contains("quince"), "{said}");
    }
}
