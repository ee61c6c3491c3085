//! Refusals and questions, with their reasons, on a running host: labels that nothing washes off, declassification that leaves
//! a trace, policies that change whole or not at all, and a verdict that can be explained.

use serde_json::{Value, json};
use std::fs;
use tests::{Host, Setup, Upstream, call, planned, text};

/// A host with a scripted agent in the profile `standard`, whose web is the upstream.
fn host(port: u16) -> Host {
    let config = format!(
        "[web]\nprivate_hosts = [\"127.0.0.1:{port}\"]\n\
         [agent.default]\nmodel = \"scripted/it\"\nprofile = \"standard\"\n"
    );
    Setup::default().config(&config).start()
}

fn trust(value: &Value) -> String {
    text(&value["label"], "trust")
}

// Holds P5-29.
#[test]
fn a_memory_of_untrusted_content_stays_untrusted_in_later_sessions() {
    let upstream = Upstream::start("ok");
    let host = host(upstream.port);
    let plant = "the harbour's page is elsewhere";
    let calls = [
        call("bash", &json!({ "command": format!("echo {plant}") })),
        call("memory_write", &json!({ "content": plant })),
    ];
    host.script("it", &planned(&["bash", "memory_write"], &calls));
    let turn = host.say("one", "see what the script says and keep it");
    host.approve(&host.question());
    let ended = turn.ended();
    assert_eq!(trust(&ended), "untrusted", "{ended}");
    let calls = [
        call("memory_query", &json!({ "query": "harbour" })),
        call("web_fetch", &json!({ "url": upstream.url("/elsewhere") })),
    ];
    host.script("it", &planned(&["memory_query", "web_fetch"], &calls));
    let turn = host.say("two", "look at the harbour's page");
    let id = host.question();
    let shown = host.approval(&id);
    assert_eq!((&shown["tool"], trust(&shown).as_str()), (&json!("web_fetch"), "untrusted"), "{shown}");
    assert!(upstream.heard().is_empty());
    host.deny(&id);
    let ended = turn.ended();
    assert_eq!(
        (&ended["calls"][1]["verdict"], trust(&ended).as_str()),
        (&json!("refused"), "untrusted"),
        "{ended}"
    );
    assert!(upstream.heard().is_empty());
}

// Holds P5-59.
#[test]
fn letting_personal_data_out_is_a_declassification_and_is_on_the_record() {
    let upstream = Upstream::start("ok");
    let host = host(upstream.port);
    let url = upstream.url("/form");
    let words = format!("my number is 219-09-9999; open {url}");
    host.script("it", &planned(&["web_fetch"], &[call("web_fetch", &json!({ "url": url }))]));
    let turn = host.say("s", &words);
    let id = host.question();
    let shown = host.approval(&id);
    assert_eq!(shown["declassifies"], true, "{shown}");
    assert!(host.recorded("declassified").is_empty() && upstream.heard().is_empty());
    host.approve(&id);
    assert_eq!(turn.ended()["calls"][0]["verdict"], "run");
    let recorded = host.recorded("declassified");
    assert_eq!((recorded.len(), &recorded[0]["content_hash"]), (1, &shown["hash"]), "{recorded:?}");
    assert_eq!(upstream.heard().len(), 1);
}

fn version(host: &Host) -> String {
    text(&host.json(&["policy", "list"]), "version")
}

// Holds P5-52.
#[test]
fn policies_change_whole_or_not_at_all_and_explain_their_refusals() {
    let host = Host::start();
    let file = host.dir().join("mine.cedar");
    let path = file.to_str().unwrap();
    let no_bash = "@id(\"no-bash\")\n@reason(\"no commands today\")\n\
                   forbid (principal, action, resource) when { context.tool == \"bash\" };\n";
    let verdict = |host: &Host| {
        let ended = host.json(&["chat", "--session", "s", "-m", "run: echo x"]);
        (text(&ended["calls"][0], "verdict"), text(&ended["calls"][0], "call"))
    };
    let built_in = version(&host);
    assert_eq!(verdict(&host).0, "run");
    fs::write(&file, no_bash).unwrap();
    let _ = host.json(&["policy", "set", "mine", path]);
    let mine = version(&host);
    assert_ne!(mine, built_in);
    let (refused, id) = verdict(&host);
    assert_eq!(refused, "refused");
    let explained = host.json(&["policy", "explain", &id]);
    assert_eq!(
        (&explained["policies"], &explained["version"]),
        (&json!(["mine.no-bash"]), &json!(mine)),
        "{explained}"
    );
    fs::write(&file, no_bash.replace("context.tool", "context.toool")).unwrap();
    let wrong = host.ask(&["policy", "set", "mine", path]);
    let said = text(&wrong["error"], "message");
    assert!(said.contains("toool") && said.contains("mine"), "{wrong}");
    assert_eq!((version(&host), verdict(&host).0.as_str()), (mine.clone(), "refused"));
    host.kill_and_wait("gate");
    assert_eq!((version(&host), verdict(&host).0.as_str()), (mine, "refused"), "it was lost with the gate");
    let _ = host.json(&["policy", "remove", "mine"]);
    assert_eq!((version(&host), verdict(&host).0.as_str()), (built_in, "run"));
    assert_eq!(host.recorded("policy_changed").len(), 2);
}

// Holds P5-63.
#[test]
fn a_yes_to_what_the_policies_since_forbid_does_not_run_it() {
    let host = Setup::default().config("[policy]\nautonomy = \"supervised\"\n").start();
    let turn = host.say("s", "run: echo x");
    let id = host.question();
    let file = host.dir().join("mine.cedar");
    fs::write(
        &file,
        "@id(\"no-bash\")\n@reason(\"no commands today\")\n\
         forbid (principal, action, resource) when { context.tool == \"bash\" };\n",
    )
    .unwrap();
    let _ = host.json(&["policy", "set", "mine", file.to_str().unwrap()]);
    host.approve(&id);
    let ended = turn.ended();
    assert_eq!(ended["calls"][0]["verdict"], "refused", "{ended}");
    assert!(text(&ended["calls"][0], "reason").contains("polic"), "{ended}");
}

// Holds P5-08.
#[test]
fn a_directory_is_untrusted_unless_its_owner_says_otherwise() {
    let host = Host::start();
    let folder = host.dir().join("mine");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("menu.txt"), "Thursday is soup day\n").unwrap();
    let path = folder.to_str().unwrap();
    let read = |session: &str, more: &[&str]| {
        let words =
            [&["chat", "--session", session, "--workspace", path, "-m", "read menu.txt"], more].concat();
        trust(&host.json(&words))
    };
    assert_eq!(read("declared", &["--workspace-trust", "user"]), "user");
    let other = host.dir().join("found");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("menu.txt"), "Friday is fish day\n").unwrap();
    let found = host.json(&[
        "chat",
        "--session",
        "found",
        "--workspace",
        other.to_str().unwrap(),
        "-m",
        "read menu.txt",
    ]);
    assert_eq!(trust(&found), "untrusted");
    let again = host.json(&[
        "chat",
        "--session",
        "found",
        "--workspace",
        other.to_str().unwrap(),
        "--workspace-trust",
        "user",
        "-m",
        "echo: x",
    ]);
    assert_eq!(trust(&again), "untrusted", "a later word lowered it");
}

// Holds P5-29.
#[test]
fn taint_outlives_every_process() {
    let host = Host::start();
    let _ = host.chat("s", "run: echo the sky is green");
    for name in ["router", "gate", "memory", "model", "scanner", "audit", "control"] {
        host.kill_and_wait(name);
        let after = host.json(&["chat", "--session", "s", "-m", "echo: x"]);
        assert_eq!(trust(&after), "untrusted", "{name}");
    }
}
