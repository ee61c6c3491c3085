//! The output of every command, in JSON and as text, against a control server that speaks the real interface.

use crate::canned::{Canned, MEMORY, SESSION, TURN, USER, WORKSPACE, denied, done, output, said};
use crate::host::{Host, agentctl, document, stderr, stdout};
use ipc_proto::Text;
use ipc_proto::audit::Late;
use ipc_proto::control::ControlError;
use ipc_proto::router::{End, RouterError, Task};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::os::unix::process::CommandExt;

const ID: &str = "07070707-0707-0707-0707-070707070707";

fn at<'a>(document: &'a Value, pointer: &str) -> &'a Value {
    document.pointer(pointer).unwrap_or_else(|| panic!("{pointer} is missing in {document}"))
}

/// Looks whether a command is one document of success with this field, and says something as text.
pub(crate) fn says(host: &Host, words: &str, pointer: &str, expected: &Value) {
    let words: Vec<&str> = words.split(' ').collect();
    let document = host.json(&words);
    assert_eq!(at(&document, "/ok"), &json!(true), "{words:?}");
    assert_eq!(at(&document, pointer), expected, "{words:?}");
    // The same as text says something, and never prints what would steer the terminal.
    let plain = host.run(&words);
    assert!(plain.status.success() && !plain.stdout.is_empty(), "{words:?}");
    assert!(!plain.stdout.contains(&0x1b), "{words:?}: {}", stdout(&plain));
}

#[test]
fn every_listing_is_one_document_with_ok_and_its_fields() {
    let host = Host::new(Canned::default());
    host.canned.set(|state| state.records = 3);
    let id = |bytes: [u8; 16]| json!(ipc_proto::ids::TurnId::from_bytes(bytes).to_string());
    for (words, pointer, expected) in [
        ("status", "/host/state", json!("degraded")),
        ("inspect router --table", "/row/name", json!("router")),
        ("inspect router", "/calls/0/method", json!("queue")),
        ("inspect router", "/ends/0/cause", json!("sent no heartbeat for 10 s")),
        ("inspect agentd", "/name", json!("agentd")),
        ("inspect router", "/process/queue", json!(2)),
        ("inspect router", "/last_error", json!("2026-11-22T01:53:43.081866Z  WARN router: slow")),
        ("inspect router --table", "/edges/called_by/0/process", json!("channel@telegram")),
        ("manifest", "/processes/0/name", json!("audit")),
        ("manifest", "/processes/1/network", json!("client")),
        ("events", "/events/0/name", json!("tool.execution.completed")),
        ("events", "/events/0/turn", id(TURN.bytes())),
        ("logs router", "/lines/0/process", json!("router")),
        ("logs", "/lines/0/process", json!("agentd")),
        ("logs router -n 1", "/lines/0/level", json!("info")),
        ("logs router --level warn", "/lines/0/level", json!("warn")),
        ("message list --state delivered", "/messages/0/state", json!("delivered")),
        ("hold router", "/process", json!("router")),
        ("release router", "/command", json!("release")),
        ("session list", "/sessions/0/id", id(SESSION.bytes())),
        ("session list", "/sessions/0/label/trust", json!("untrusted")),
        ("session show s1", "/transcript/0/role", json!("user")),
        ("session show s1", "/session/workspace", id(WORKSPACE.bytes())),
        ("session end s1", "/session", json!("s1")),
        ("message list", "/messages/0/state", json!("delivered")),
        ("message list", "/messages/0/turn", id(TURN.bytes())),
        ("user list", "/users/0/role", json!("owner")),
        ("user add bob --role guest --uid 7 --identity chat:bob", "/user/uids/0", json!(7)),
        ("user remove bob", "/user", json!("bob")),
        ("user whoami", "/user/id", id(USER.bytes())),
        ("agent list", "/agents/0/limits/tool_calls", json!(50)),
        ("agent show default", "/agent/limits/model_calls_per_hour", json!(1000)),
        ("model list", "/models/0/name", json!("offline/reader")),
        ("model test offline/reader", "/tokens/input", json!(9)),
        ("model usage", "/usage/1/cost_micros", json!(1_500_000)),
        ("model usage --by day --since 7d", "/usage/0/group", json!("2026-11-22")),
        ("model usage", "/cost_micros", json!(3_000_000)),
        ("model budget", "/budgets/0/per", json!("day")),
        ("workspace list", "/workspaces/0/attached", json!(false)),
        ("audit tail", "/records/2/index", json!(2)),
        ("audit tail --from 1", "/records/0/action", json!("tool_decided")),
        ("audit tail", "/records/0/hash", json!("ab".repeat(32))),
        ("key list", "/keys/0/state", json!("active")),
        ("key list", "/keys/1/state", json!("revoked")),
        ("key revoke bar", "/name", json!("bar")),
        ("approvals grants", "/grants/0/scope", json!("ef".repeat(32))),
        ("approvals revoke 0808", "/id", id([8; 16])),
        ("completions bash", "/shell", json!("bash")),
    ] {
        says(&host, words, pointer, &expected);
    }
    let of_one = [["memory", "show"], ["memory", "delete"], ["message", "trace"], ["message", "show"]];
    for [what, how] in of_one.into_iter().chain([["workspace", "remove"]]) {
        let words = [what, how, ID];
        assert_eq!(at(&host.json(&words), "/ok"), &json!(true), "{words:?}");
    }
}

#[test]
fn everything_of_memory_is_one_document_with_ok_and_its_fields() {
    let host = Host::new(Canned::default());
    let id = |bytes: [u8; 16]| json!(ipc_proto::ids::TurnId::from_bytes(bytes).to_string());
    for (words, pointer, expected) in [
        ("memory search harbour office", "/hits/0/snippet", json!("the [harbour] office")),
        ("memory search harbour", "/hits/0/id", id(MEMORY.bytes())),
        ("memory list", "/memories/0/area", json!("user")),
        (
            "memory list --kind observation --state removed --since 2026-11-22",
            "/memories/0/kind",
            json!("note"),
        ),
        ("memory timeline", "/memories/0/state/is", json!("current")),
        ("memory sessions", "/sessions/0/client", json!("opencode")),
        ("memory stats", "/superseded", json!(0)),
        ("memory reindex", "/embedded", json!(0)),
        ("memory mute --session opencode:ses_1", "/session", json!("opencode:ses_1")),
        ("memory unmute --project ferry", "/muted", json!(false)),
        ("memory forget --topic ferry --dry-run", "/dry_run", json!(true)),
    ] {
        says(&host, words, pointer, &expected);
    }
}

#[test]
fn what_is_asked_and_signed_of_the_record_is_shown() {
    let host = Host::new(Canned::default());
    host.canned.set(|state| state.records = 3);
    for (words, pointer, expected) in [
        ("audit verify", "/head", json!("cd".repeat(32))),
        ("audit query --category tool", "/records/2/index", json!(2)),
        ("audit query --witness nobody", "/records", json!([])),
        ("audit prove 3", "/consistency/from", json!(7)),
        ("audit prove 3", "/inclusion/0", json!("ee".repeat(32))),
        ("audit checkpoint", "/size", json!(7)),
        ("audit stats", "/counts/0/today", json!(2)),
        ("audit digest 2026-11-21", "/day", json!("2026-11-21")),
        ("audit rotate-key", "/key", json!("cordon/canned+11111111+AQ==")),
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        assert_eq!(at(&host.json(&words), pointer), &expected, "{words:?}");
        let plain = host.run(&words);
        assert!(plain.status.success() && !plain.stdout.is_empty(), "{words:?}");
    }
}

// Holds P3-09.
#[test]
fn a_key_is_printed_once_and_what_leaves_is_its_hash_with_its_scope() {
    let host = Host::new(Canned::default());
    let words =
        "key create bar --agent default --model openai/* --origin https://a.b --day-usd 1.5 --expires 30d";
    let words: Vec<&str> = words.split(' ').collect();
    let made = host.json(&words);
    let key = at(&made, "/key").as_str().unwrap().to_owned();
    assert!(key.starts_with("cdn_") && key.len() == 47, "{key}");
    let presented = host.canned.get(|state| state.presented).unwrap();
    assert_eq!(presented.0, <[u8; 32]>::from(Sha256::digest(key.as_bytes())));
    assert_eq!((at(&made, "/name"), at(&made, "/agents")), (&json!("bar"), &json!(["default"])));
    assert_eq!(
        (at(&made, "/models"), at(&made, "/origins")),
        (&json!(["openai/*"]), &json!(["https://a.b"]))
    );
    assert_eq!(at(&made, "/day_micros"), &json!(1_500_000));
    assert!(at(&made, "/expires_ms").as_u64().is_some());
    let plain = host.run(&["key", "create", "bar"]);
    assert!(stdout(&plain).starts_with("cdn_") && stdout(&plain).trim_end().len() == 47);
    assert!(!stderr(&plain).contains("cdn_"));
}

#[test]
fn status_has_exactly_the_fields_that_are_promised() {
    let host = Host::new(Canned::default());
    let document = host.json(&["status"]);
    let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(names(&document), set(&["degraded", "host", "ok", "processes"]));
    let host_fields = [
        "config", "limits", "mode", "pid", "reason", "self_check", "state", "state_dir", "uptime_ms",
        "version",
    ];
    assert_eq!(names(at(&document, "/host")), set(&host_fields));
    let promised = [
        "name", "state", "pid", "uid", "generation", "restarts", "uptime_ms", "pss_kib", "rss_kib", "calls",
        "refused", "p50_us", "p99_us", "in_flight", "queue",
    ];
    assert_eq!(names(at(&document, "/processes/0")), set(&promised));
    assert_eq!(at(&document, "/degraded"), &json!([{ "name": "gate", "state": "held" }]));
    assert_eq!(at(&document, "/host/reason"), &json!("disk: 3 MiB free, 64 are kept"));
}

#[test]
fn a_failure_is_a_document_with_a_type_and_a_matching_exit_status() {
    let router = ControlError::Router;
    for (refusal, kind, exit) in [
        (ControlError::NotAllowed(denied("owner")), "not_allowed", 77),
        (router(RouterError::NoUser), "not_allowed", 77),
        (ControlError::NoProcess(Text::clip("router")), "no_process", 1),
        (router(RouterError::NoSession(Text::clip("s1"))), "no_session", 1),
        (router(RouterError::NotDurable), "not_durable", 1),
        (router(RouterError::Busy { waiting: 3, retry_s: 1 }), "busy", 1),
        (ControlError::NoModel(Text::clip("offline/reader")), "no_model", 1),
    ] {
        let host = Host::new(Canned::default());
        let message = refusal.to_string();
        host.canned.set(|state| state.refuse = Some(refusal));
        let output = host.run(&["session", "list", "--json"]);
        let document = document(&output);
        assert_eq!(at(&document, "/ok"), &json!(false));
        assert_eq!(at(&document, "/error/type"), kind);
        assert_eq!(at(&document, "/error/message").as_str(), Some(message.as_str()));
        assert_eq!(output.status.code(), Some(exit), "{kind}");
        let plain = host.run(&["session", "list"]);
        assert_eq!((plain.status.code(), stdout(&plain)), (Some(exit), String::new()));
        assert!(stderr(&plain).contains(&message), "{kind}");
    }
}

#[test]
fn valid_names_are_listed_when_a_name_is_wrong() {
    let host = Host::new(Canned::default());
    for (words, kind, listed) in [
        (["session", "show", "gone"], "no_session", "s1"),
        (["model", "test", "none/x"], "no_model", "offline/reader"),
        (["agent", "show", "other"], "no_agent", "default"),
        (["inspect", "nobody", "--json"], "no_process", "credproxy"),
        (["restart", "nobody", "--json"], "no_process", "router"),
    ] {
        let document = host.json(&words.into_iter().filter(|word| *word != "--json").collect::<Vec<_>>());
        assert_eq!(at(&document, "/error/type"), kind);
        assert!(at(&document, "/error/message").as_str().unwrap().contains(listed), "{kind}");
    }
    let removed = host.run(&["user", "remove", "nobody", "--json"]);
    assert_eq!((removed.status.code(), at(&document(&removed), "/error/type")), (Some(1), &json!("no_user")));
}

#[test]
fn usage_errors_exit_64_also_as_json_and_help_exits_0() {
    for words in [&["nothing"][..], &["restart"], &["cred", "set", "k"], &[]] {
        let plain = agentctl(words).output().unwrap();
        assert_eq!(plain.status.code(), Some(64), "{words:?}");
        assert!(stdout(&plain).is_empty() && !plain.stderr.is_empty(), "{words:?}");
        let json = agentctl(&[words, &["--json"]].concat()).output().unwrap();
        assert_eq!((json.status.code(), at(&document(&json), "/error/type")), (Some(64), &json!("usage")));
    }
    let help = agentctl(&["--help"]).output().unwrap();
    assert!(help.status.success() && stdout(&help).contains("attest"));
}

#[test]
fn without_a_host_every_command_that_needs_one_exits_69_at_once() {
    for words in [&["status"][..], &["chat", "-m", "hello"], &["sandbox", "run", "--", "true"], &["shutdown"]]
    {
        let began = std::time::Instant::now();
        let mut command = agentctl(&[&["--json"], words].concat());
        let output = command.env("CORDON_SOCKET", "/nonexistent/control.sock").output().unwrap();
        assert_eq!(
            (output.status.code(), at(&document(&output), "/error/type")),
            (Some(69), &json!("unreachable"))
        );
        assert!(began.elapsed().as_secs() < 3, "{words:?}");
    }
    for words in [&["manifest", "--dot"][..], &["completions", "zsh"]] {
        assert!(agentctl(words).output().unwrap().status.success(), "{words:?}");
    }
}

#[test]
fn another_protocol_version_is_told_apart() {
    let host = Host::new(Canned::default());
    host.canned.set(|state| state.version = Some(77));
    let output = host.run(&["status", "--json"]);
    assert_eq!(
        (output.status.code(), at(&document(&output), "/error/type")),
        (Some(69), &json!("wrong_version"))
    );
}

#[test]
fn a_record_that_does_not_hold_exits_1_and_says_where() {
    let host = Host::new(Canned::default());
    host.canned.set(|state| state.broken = true);
    let output = host.run(&["audit", "verify", "--json"]);
    let document = document(&output);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(at(&document, "/broken_at"), &json!(7));
    assert_eq!(at(&document, "/error/type"), "broken");
}

// Holds P6-30.
#[test]
fn a_record_with_late_signatures_holds_and_warns() {
    let host = Host::new(Canned::default());
    host.canned.set(|state| state.late = Some(Late { entries: 3, since_ms: 20_000 * 86_400_000 }));
    let output = host.run(&["audit", "verify"]);
    assert_eq!(output.status.code(), Some(0));
    let warning = "3 entries since 2024-10-04 00:00:00Z wait for a signature, longer than the 60 s they may";
    assert!(stdout(&output).contains(warning), "{}", stdout(&output));
    assert_eq!(at(&host.json(&["audit", "verify"]), "/late/entries"), &json!(3));
}

#[test]
fn the_latest_entries_are_found_in_a_record_of_any_length() {
    for records in [0, 1, 2, 19, 20, 21, 1000, 4096] {
        let host = Host::new(Canned::default());
        host.canned.set(|state| state.records = records);
        let document = host.json(&["audit", "tail"]);
        let shown: Vec<u64> = at(&document, "/records")
            .as_array()
            .unwrap()
            .iter()
            .map(|r| r["index"].as_u64().unwrap())
            .collect();
        assert_eq!(shown, (records.saturating_sub(20)..records).collect::<Vec<_>>(), "{records}");
    }
}

#[test]
fn a_memory_is_added_under_one_id_with_its_tags() {
    let host = Host::new(Canned::default());
    let document = host.json(&["memory", "add", "opens at 07:40", "--tag", "harbour"]);
    let (id, content, tags) = host.canned.get(|state| state.added[0].clone());
    assert_eq!(at(&document, "/id"), &json!(id.to_string()));
    assert_eq!((content.as_str(), tags), ("opens at 07:40", vec!["harbour".to_owned()]));
}

#[test]
fn a_file_is_put_and_got_by_a_turn_of_its_session() {
    let host = Host::new(Canned::with(vec![done(End::Exited { status: 0 }, "")]));
    let put = host.run_with(&["workspace", "put", "s1", "a/b.txt"], b"hello");
    assert!(put.status.success(), "{}", stderr(&put));
    let ask = host.canned.get(|state| state.asks[0].clone());
    assert_eq!(ask.session.as_str(), "s1");
    let Task::Put { path, bytes } = ask.task else { panic!("not a put") };
    assert_eq!((path.as_str(), &bytes[..]), ("a/b.txt", &b"hello"[..]));

    let host =
        Host::new(Canned::with(vec![output(false, b"bytes \xff"), done(End::Exited { status: 0 }, "")]));
    assert_eq!(host.run(&["workspace", "get", "s1", "a"]).stdout, b"bytes \xff");
    assert_eq!(at(&host.json(&["workspace", "get", "s1", "a"]), "/content_base64"), "Ynl0ZXMg/w==");

    let no_file = vec![output(true, b"no such file\n"), done(End::Exited { status: 1 }, "")];
    let host = Host::new(Canned::with(no_file));
    let output = host.run(&["workspace", "get", "s1", "a", "--json"]);
    assert_eq!(
        (output.status.code(), at(&document(&output), "/error/message")),
        (Some(1), &json!("no such file"))
    );
}

#[test]
fn a_file_over_the_bound_is_refused_before_it_is_sent() {
    let host = Host::new(Canned::with(vec![said("never")]));
    let big = host.folder.path().join("big");
    std::fs::write(&big, vec![0; ipc_proto::router::FILE_BOUND + 1]).unwrap();
    let output = host.run(&["workspace", "put", "s1", "big", big.to_str().unwrap(), "--json"]);
    let document = document(&output);
    assert_eq!(at(&document, "/error/type"), "too_long");
    assert!(at(&document, "/error/message").as_str().unwrap().contains("2097152"));
    assert!(host.canned.get(|state| state.asks.is_empty()));
}

#[test]
fn attest_of_unconfined_processes_exits_1_and_names_the_differences() {
    #[expect(clippy::disallowed_methods, reason = "an unconfined process to look at")]
    let mut idle = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let host = Host::new(Canned::default());
    host.canned.set(|state| state.processes = vec![("memory", idle.id())]);
    let output = host.run(&["attest", "--json"]);
    let plain = host.run(&["attest"]);
    idle.kill().unwrap();
    idle.wait().unwrap();
    let document = document(&output);
    assert_eq!((output.status.code(), plain.status.code()), (Some(1), Some(1)));
    assert_eq!(at(&document, "/error/type"), "different");
    let rows = at(&document, "/rows").as_array().unwrap();
    let verdict = |property: &str| {
        let row = rows.iter().find(|row| row["process"] == "memory" && row["property"] == property);
        row.unwrap_or_else(|| panic!("{property}"))["verdict"].as_str().unwrap().to_owned()
    };
    for property in ["NoNewPrivs", "Seccomp", "Max open files"] {
        assert_eq!(verdict(property), "different", "{property}");
    }
    assert_eq!(verdict("landlock"), "unreadable");
    assert!(stdout(&plain).contains("NoNewPrivs") && stdout(&plain).contains("differences"));
    assert_eq!(at(&document, "/not_recorded"), &Value::Null);
    let drifts = host.canned.get(|state| state.drifts.clone());
    let told = drifts.iter().filter(|(name, properties)| name == "memory" && *properties >= 3).count();
    assert_eq!(told, 2, "once a run: {drifts:?}");
}

// Holds P2-33.
#[test]
fn an_unlisted_child_of_the_host_is_judged_as_a_runner() {
    for name in ["runner", "runner@agent", "anything"] {
        #[expect(clippy::disallowed_methods, reason = "an unconfined process to look at")]
        let mut idle = std::process::Command::new("sleep").arg0(name).arg("60").spawn().unwrap();
        let host = Host::new(Canned::default());
        host.canned.set(|state| state.processes = vec![("memory", 1)]);
        let output = host.run(&["attest", "--json"]);
        idle.kill().unwrap();
        idle.wait().unwrap();
        let document = document(&output);
        assert_eq!(output.status.code(), Some(1), "{document}");
        let rows = at(&document, "/rows").as_array().unwrap();
        for property in ["uid_map", "NSpid", "Seccomp", "NoNewPrivs", "Max processes", "mounts", "program"] {
            let row = rows.iter().find(|row| row["pid"] == idle.id() && row["property"] == property);
            let row = row.unwrap_or_else(|| panic!("{property} of {name}: {document}"));
            let row_name = if name == "runner@agent" { name } else { "runner" };
            assert_eq!((&row["process"], &row["verdict"]), (&row_name.into(), &"different".into()), "{row}");
        }
    }
}
