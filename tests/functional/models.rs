//! Models as a person meets them: set up, tried, replaced when they fail, and kept from going round in circles.

use serde_json::{Value, json};
use std::fs;
use tests::{Host, Person, Setup, Upstream};

/// Looks like nothing that a scanner knows by its form.
const KEY: &str = "provider-Xh3LqZ8vTn5RkWc2-key";
/// An answer as OpenAI-compatible servers stream it.
const READY: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ready\"}}]}\n\n\
    data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\
    \"usage\":{\"prompt_tokens\":7,\"completion_tokens\":1,\"total_tokens\":8}}\n\ndata: [DONE]\n\n";

// Holds B-16.
#[test]
fn a_turn_that_repeats_the_same_call_is_refused_it_and_told_so() {
    let host = Setup::default().config("[agent.default]\nmodel = \"scripted/circles\"\n").start();
    let call = |args: Value| json!({ "pieces": [{ "call": { "tool": "glob", "args": args } }] });
    host.script(
        "circles",
        &[
            call(json!({ "pattern": "*.a" })),
            call(json!({ "pattern": "*.a" })),
            call(json!({ "pattern": "*.a" })),
            call(json!({ "pattern": "*.a" })),
            call(json!({ "pattern": "*.b" })),
            json!({ "pieces": [{ "text": "I give up" }] }),
        ],
    );
    let ended = host.json(&["chat", "--session", "s", "-m", "look"]);
    let calls = ended["calls"].as_array().cloned().unwrap_or_default();
    let verdicts: Vec<&str> = calls.iter().filter_map(|call| call["verdict"].as_str()).collect();
    assert_eq!(verdicts, ["run", "run", "run", "refused", "run"], "{ended}");
    assert!(calls[3]["reason"].as_str().unwrap_or_default().contains("exactly these arguments"), "{ended}");
    let decided = host.recorded("tool_decided");
    let blocked: Vec<&Value> = decided.iter().filter(|record| record["result"] == "blocked").collect();
    assert_eq!(blocked.len(), 1);
    assert_eq!(blocked[0]["reason"], "the same call again");
}

// Holds B-16.
#[test]
fn a_turn_that_repeats_a_call_refused_as_repeated_ends_with_the_reason() {
    let host = Setup::default().config("[agent.default]\nmodel = \"scripted/circles\"\n").start();
    let call = json!({ "call": { "tool": "glob", "args": { "pattern": "*.a" } } });
    let other = json!({ "call": { "tool": "glob", "args": { "pattern": "*.b" } } });
    let mut replies = vec![json!({ "pieces": [call] }); 4];
    replies.push(json!({ "pieces": [other, call] }));
    replies.push(json!({ "pieces": [{ "text": "nobody hears this" }] }));
    host.script("circles", &replies);
    let ended = host.ask(&["chat", "--session", "s", "-m", "look"]);
    let calls = ended["calls"].as_array().cloned().unwrap_or_default();
    let verdicts: Vec<&str> = calls.iter().filter_map(|call| call["verdict"].as_str()).collect();
    assert_eq!(verdicts, ["run", "run", "run", "refused", "refused"], "nothing else is begun: {ended}");
    assert!(ended.to_string().contains("glob with the same arguments again"), "{ended}");
    assert!(!ended.to_string().contains("nobody hears this"), "{ended}");
    let turns = host.recorded("turn_ended");
    assert_eq!((turns.len(), &turns[0]["result"]), (1, &"error".into()), "{turns:?}");
}

#[test]
fn a_task_fails_over_to_its_next_model_and_the_person_is_told() {
    let config = "[model]\nretries = 0\n[model.route]\ndefault = [\"scripted/broken\", \"scripted/good\"]\n\
                  [agent.default]\nmodel = \"default\"\n";
    let host = Setup::default().config(config).start();
    host.script("broken", &[json!({ "pieces": [{ "text": "void " }, { "error": "server" }] })]);
    host.script("good", &[json!({ "pieces": [{ "text": "here I am" }] })]);
    let ended = host.json(&["chat", "--session", "s", "-m", "hello"]);
    assert_eq!(ended["reply"], "here I am", "{ended}");
    let notices = ended["notices"].to_string();
    assert!(
        notices.contains("scripted/broken failed (LLM_SERVER_ERROR): scripted/good answers"),
        "{ended}\n{}",
        host.log()
    );
    let ends = host.recorded("model_ended");
    assert!(ends.iter().any(|record| record["subject"] == "scripted/good"), "{ends:?}");
}

#[test]
fn a_model_is_tried_and_how_it_did_is_on_the_record() {
    let host = Host::start();
    host.script("one", &[json!({ "pieces": [{ "text": "ready" }] })]);
    let tried = host.json(&["model", "test", "scripted/one"]);
    assert!(tried.to_string().contains("first_ms"), "{tried}");
    let decided = host.recorded("model_decided");
    let tries: Vec<_> = decided.iter().filter(|record| record["subject"] == "scripted/one").collect();
    assert_eq!(tries.len(), 1, "{decided:?}");
    assert!(tries[0]["reason"].as_str().unwrap_or_default().starts_with("tried by "), "{tries:?}");
    host.wait_for("its end is on the record", || {
        host.recorded("model_ended").iter().any(|record| record["subject"] == "scripted/one")
    });
    let failed = host.ask(&["model", "test", "scripted/none"]);
    assert_eq!(failed["ok"], false, "{failed}");
}

/// `setup` for a server on this machine.
fn set_up(host: &Host, upstream: &Upstream, config: &std::path::Path, more: &[&str]) -> Value {
    let (url, config) = (upstream.url("/v1"), config.to_string_lossy().into_owned());
    let mut words = vec!["setup", "--provider", &url, "--name", "corp", "--model", "small", "--yes"];
    words.extend(["--config", &config]);
    words.extend(more);
    host.ask(&words)
}

// Holds P8-26.
#[test]
fn a_provider_is_set_up_by_flags_and_tried_once_the_host_has_read_it() {
    let upstream = Upstream::answering("text/event-stream", |_| READY.to_owned());
    let state = tempfile::tempdir().unwrap();
    fs::set_permissions(state.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut host = Setup::default().state(&state.path().join("state")).start();
    let (config, key) = (host.dir().join("mine.toml"), host.dir().join("key"));
    fs::write(&config, "# Mine.\n[log]\nlevel = \"debug\" # for now\n").unwrap();
    fs::write(&key, format!("{KEY}\n")).unwrap();
    let done = set_up(&host, &upstream, &config, &["--secret-file", &key.to_string_lossy()]);
    assert_eq!((&done["ok"], &done["stored"]), (&true.into(), &true.into()), "{done}\n{}", host.log());
    assert_eq!((&done["model"], &done["test"]), (&"corp/small".into(), &Value::Null), "{done}");
    assert_eq!(done["reaches"][0], format!("127.0.0.1:{}", upstream.port));
    assert_eq!(done["host_reads"], host.json(&["status"])["host"]["config"], "another file is said to be");
    assert_eq!(done["restart"], format!("agentd run --config {}", config.display()), "{done}");
    let doctor = host.ask(&["doctor", "--config", &config.to_string_lossy()]);
    let row = doctor["rows"].as_array().unwrap().iter().find(|row| row["id"] == "host.config").unwrap();
    assert_eq!(row["status"], "warn", "{row}");
    let text = fs::read_to_string(&config).unwrap();
    assert!(text.starts_with("# Mine.\n") && text.contains("# for now") && !text.contains(KEY), "{text}");
    let backup = fs::read_to_string(done["backup"].as_str().unwrap()).unwrap();
    assert_eq!(backup, "# Mine.\n[log]\nlevel = \"debug\" # for now\n");
    assert_eq!(host.stop(), Some(0));
    let host = Setup::default().state(&state.path().join("state")).config(&text).start();
    // Without a word about the file, it is the one that the host reads.
    let read = host.json(&["status"])["host"]["config"].clone();
    let url = upstream.url("/v1");
    let words = ["setup", "--provider", &url, "--name", "corp", "--model", "small", "--yes"];
    let tried = host.ask(&words);
    assert_eq!((&tried["ok"], &tried["stored"]), (&true.into(), &true.into()), "{tried}\n{}", host.log());
    assert_eq!((&tried["config"], &tried["host_reads"]), (&read, &Value::Null), "{tried}");
    assert_eq!(tried["test"]["tokens"], json!([7, 1]), "{tried}");
    assert_eq!(tried["backup"], Value::Null, "nothing was to be changed: {tried}");
    let heard = upstream.heard();
    assert!(heard.iter().any(|request| request.contains(&format!("Bearer {KEY}"))), "{heard:?}");
    assert_eq!(host.chat("s", "hello"), "ready");
}

// Holds P4-19.
#[test]
fn setup_asks_three_questions_and_says_whether_the_key_works() {
    let upstream = Upstream::answering("text/event-stream", |request| {
        if request.contains(&format!("Bearer {KEY}\n")) {
            return READY.to_owned();
        }
        let body = r#"{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}"#;
        let head = "HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\nconnection: close";
        format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
    });
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("cordon.toml").to_string_lossy().into_owned();
    let url = upstream.url("/v1");
    let nowhere = Host::start();
    let words = ["setup", "--provider", &url, "--model", "small", "--yes", "--config", &config];
    assert_eq!(nowhere.ask(&words)["ok"], true);
    drop(nowhere);
    let host = Setup::default().config(&fs::read_to_string(&config).unwrap()).start();
    let asked = |key: &str| {
        let mut person = Person::with(host.command(&["setup", "--config", &config]));
        person.sees("Provider, by its name or a base URL [openai]: ");
        person.types(&url);
        person.sees("Model, by the server's own name: ");
        person.types("small");
        person.sees("Key of local (not shown; empty to give it later): ");
        assert!(!person.is_echoed());
        person.types(key);
        let code = person.ended().code();
        person.sees("It ");
        let shown = person.shown();
        assert!(!shown.contains(key) && person.is_echoed(), "{shown}");
        (code, shown.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let (code, said) = asked("wrong-key-of-somebody-else");
    let advice = format!(
        "It does not work yet: local refused the key. Store the right one: agentctl cred set local --host 127.0.0.1:{}",
        upstream.port
    );
    assert!(code == Some(1) && said.contains(&advice), "{said}\n{}", host.log());
    let (code, said) = asked(KEY);
    assert!(
        code == Some(0) && said.contains("It works: local/small answered after "),
        "{said}\n{}",
        host.log()
    );
    let reach = format!("The key is the secret local: it goes to 127.0.0.1:{} alone", upstream.port);
    assert!(said.contains(&reach) && said.contains("7 tokens read and 1 written"), "{said}");
    assert_eq!(host.chat("s", "hello"), "ready");
    let mut person = Person::with(host.command(&["setup", "--config", &config]));
    person.sees("[openai]: ");
    person.types("opnai");
    assert_eq!(person.ended().code(), Some(64));
    person.sees("agentctl: ");
}

// Holds P8-26.
#[test]
fn a_setup_without_a_host_writes_what_it_can_and_says_what_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let host = Host::start();
    let (config, nowhere) = (folder.path().join("cordon.toml"), folder.path().join("no.sock"));
    let config = config.to_string_lossy().into_owned();
    let output = host
        .command(&[
            "setup", "--provider", "anthropic", "--secret-stdin", "--yes", "--json", "--config", &config,
        ])
        .arg("--socket")
        .arg(&nowhere)
        .stdin(key_file(folder.path()))
        .output()
        .unwrap();
    let done: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&done["ok"], &done["stored"]), (&true.into(), &false.into()), "{done}");
    let text = fs::read_to_string(&config).unwrap();
    assert!(text.contains("[provider.anthropic]") && !text.contains(KEY), "{text}");
}

fn key_file(folder: &std::path::Path) -> std::process::Stdio {
    let path = folder.join("key");
    fs::write(&path, KEY).unwrap();
    fs::File::open(&path).unwrap().into()
}

// Holds P8-26.
#[test]
fn a_setup_that_would_not_hold_changes_nothing() {
    let host = Host::start();
    let config = host.dir().join("broken.toml");
    fs::write(&config, "[log]\nlevel = \"loud\"\n").unwrap();
    let upstream = Upstream::start("unused");
    let refused = set_up(&host, &upstream, &config, &[]);
    assert_eq!(
        (&refused["ok"], &refused["error"]["type"]),
        (&false.into(), &"configuration".into()),
        "{refused}"
    );
    assert_eq!(fs::read_to_string(&config).unwrap(), "[log]\nlevel = \"loud\"\n");
    let left: Vec<_> = fs::read_dir(host.dir())
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.contains(".cordon-") || name.ends_with(".bak"))
        .collect();
    assert_eq!(left, Vec::<String>::new());
}
