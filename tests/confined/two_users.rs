//! Two people of one host, each with a uid of their own: nothing that one asks memory tells of the other's, changes it, or tells
//! that it is there, over the command and over MCP.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use tests::{Host, Setup, text};

const CONFIG: &str = "[[user]]\nname = \"ines\"\nrole = \"user\"\nuids = [64201]\n\
    [[user]]\nname = \"omar\"\nrole = \"user\"\nuids = [64202]\n";
const INES: u32 = 64_201;
const OMAR: u32 = 64_202;
/// An id of nobody's.
const NOBODY: &str = "0f8fad5b-d9cb-469f-a165-70867728950e";
/// A word that is in all that one of them has, and in nothing of the other's.
const WORD: &str = "lighthouse";

/// The document that a command of this person prints, also on failure.
fn by(host: &Host, uid: u32, words: &[&str]) -> Value {
    let output = host.command(words).arg("--json").uid(uid).gid(uid).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{words:?}: {error}: {output:?}"))
}

/// The answer of a tool to a client that this person runs.
fn tool(host: &Host, uid: u32, name: &str, arguments: &Value) -> Value {
    let mut command = host.command(&["mcp", "--project", host.dir().to_str().unwrap()]);
    let mut child = command.uid(uid).gid(uid).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let hello = json!({ "protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    for message in [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": name, "arguments": arguments } }),
    ] {
        writeln!(input, "{message}").unwrap();
    }
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let answer = lines.find_map(|line| {
        let answer: Value = serde_json::from_str(&line.unwrap()).unwrap();
        (answer["id"] == 2).then_some(answer)
    });
    drop(input);
    let _ = child.wait().unwrap();
    answer.unwrap()["result"]["structuredContent"].clone()
}

/// All that this person has.
fn all(host: &Host, uid: u32) -> String {
    let exported = host.command(&["memory", "export"]).uid(uid).gid(uid).output().unwrap();
    String::from_utf8(exported.stdout).unwrap()
}

/// Reports a prompt of this person through their client's hook.
fn said_to_claude_code(host: &Host, uid: u32, prompt: &str) {
    let told =
        json!({ "session_id": "s1", "cwd": "/", "hook_event_name": "UserPromptSubmit", "prompt": prompt });
    let mut hook = host.command(&["hook", "claude-code", "--timeout", "30000"]);
    let hook = hook.uid(uid).gid(uid).env("XDG_STATE_HOME", "/nonexistent").stdin(Stdio::piped());
    let mut hook = hook.spawn().unwrap();
    hook.stdin.take().unwrap().write_all(told.to_string().as_bytes()).unwrap();
    assert!(hook.wait().unwrap().success());
}

// Holds P5-10.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn nothing_that_one_person_asks_memory_tells_of_another_s_or_changes_it() {
    assert!(tests::is_root(), "make test-confined needs root");
    let host = Setup::default().config(CONFIG).start();
    let add = |words: &[&str]| text(&by(&host, INES, &[&["memory", "add"], words].concat()), "id");
    let note = add(&["the lighthouse is painted red", "--tag", WORD, "--project", WORD]);
    let fact = add(&["lighthouse keeper", "--kind", "fact", "--key", WORD]);
    let removed = add(&["the lighthouse was sold", "--kind", "decision"]);
    let _ = by(&host, INES, &["memory", "remove", &removed]);
    said_to_claude_code(&host, INES, "please paint the lighthouse red and green");
    let _ = by(&host, OMAR, &["memory", "add", "the ferry leaves at noon"]);
    let file = host.dir().join("all.jsonl");
    let (hers, his) = (all(&host, INES), all(&host, OMAR));
    assert!(hers.matches(WORD).count() >= 5 && !his.contains(WORD), "{hers}\n{his}");
    std::fs::write(&file, &hers).unwrap();

    let session = by(&host, INES, &["memory", "sessions"])["sessions"][0]["id"].as_str().unwrap().to_owned();
    // An id of another person's row is answered as one that does not exist.
    for words in [
        &["memory", "search", WORD][..],
        &["memory", "search", "lighthouse", "--tag", WORD],
        &["memory", "list", "--tag", WORD],
        &["memory", "list", "--project", WORD],
        &["memory", "list", "--session", &session],
        &["memory", "list", "--state", "removed"],
        &["memory", "sessions"],
        &["memory", "context", "--words", WORD],
        &["memory", "stats"],
        &["memory", "show", &note, "--raw"],
        &["memory", "history", &fact],
        &["memory", "timeline", &note],
        &["memory", "revise", &note, "mine"],
        &["memory", "remove", &fact],
        &["memory", "restore", &removed],
        &["memory", "accept", &fact],
        &["memory", "delete", &note],
        &["memory", "forget", &note, "--purge", "--yes"],
        &["memory", "forget", "--session", &session, "--purge", "--yes"],
        &["memory", "forget", "--session", "claude-code:s1", "--purge", "--yes"],
        &["memory", "forget", "--project", WORD, "--purge", "--yes"],
        &["memory", "forget", "--topic", WORD, "--purge", "--yes"],
    ] {
        let answer = by(&host, OMAR, words).to_string();
        assert!(!answer.contains("painted") && !answer.contains("keeper"), "{words:?}: {answer}");
        let is_hers = |word: &str| [&note, &fact, &removed, &session].iter().any(|id| *id == word);
        let of_nobody = words.iter().map(|word| if is_hers(word) { NOBODY } else { word });
        let of_nothing = by(&host, OMAR, &of_nobody.collect::<Vec<_>>()).to_string();
        assert_eq!(answer, of_nothing, "{words:?}: an id of hers is told apart from one of nobody's");
    }
    by_tool_nothing_is_told(&host, &note, &fact, &session);
    assert_eq!(all(&host, INES), hers, "nothing of hers was changed");

    // Each may take in the same file; what one deletes for good stays the other's.
    let import = ["memory", "import", file.to_str().unwrap(), "--mine"];
    let came = by(&host, OMAR, &import);
    assert_eq!((&came["taken"], &came["refused"]), (&json!(4), &json!([])), "{came}");
    let _ = by(&host, OMAR, &["memory", "forget", "--topic", WORD, "--purge", "--yes"]);
    assert_eq!(by(&host, OMAR, &["memory", "search", WORD])["hits"], json!([]));
    assert_eq!(all(&host, INES), hers);
}

fn by_tool_nothing_is_told(host: &Host, note: &str, fact: &str, session: &str) {
    for (name, arguments) in [
        ("mem-find", json!({ "query": WORD, "scope": "all" })),
        ("mem-get", json!({ "ids": [note], "includeHistory": true })),
        ("mem-history", json!({ "sessionId": session })),
        ("mem-revise", json!({ "id": note, "narrative": "mine" })),
        ("mem-remove", json!({ "id": fact })),
        ("mem-export", json!({ "scope": "all" })),
    ] {
        let answer = tool(host, OMAR, name, &arguments).to_string();
        assert!(!answer.contains("painted") && !answer.contains("keeper"), "{name}: {answer}");
    }
}
