//! The label of a workspace is raised before a command runs that may write there, and not by its result, which may never come.

use serde_json::{Value, json};
use tests::{Chatting, Host, Setup, Upstream, call, planned};

/// A host whose agent reads a page and then runs a command that outlasts the test, and the turn in which it does.
fn reading_then_running(upstream: &Upstream, more: &str) -> (Host, Chatting) {
    let config = format!(
        "[web]\nprivate_hosts = [\"127.0.0.1:{}\"]\n\
         [agent.default]\nmodel = \"scripted/it\"\nprofile = \"standard\"\n{more}",
        upstream.port
    );
    let host = Setup::default().config(&config).start();
    let url = upstream.url("/page");
    let fetch = call("web_fetch", &json!({ "url": url, "method": "GET" }));
    let command = call("bash", &json!({ "command": "echo > started; sleep 60" }));
    host.script("it", &planned(&["web_fetch", "bash"], &[fetch, command]));
    let turn = host.say("s", &format!("open {url} and then wait a while"));
    (host, turn)
}

/// The trust of the only workspace.
fn trust(host: &Host) -> Value {
    host.json(&["workspace", "list"])["workspaces"][0]["label"]["trust"].clone()
}

/// Stops the turn while its command runs.
fn stop_running(host: &Host, turn: Chatting) {
    host.wait_for("the command runs", || {
        let folders = std::fs::read_dir(host.state().join("runner"));
        folders.is_ok_and(|all| all.flatten().any(|folder| folder.path().join("started").exists()))
    });
    assert_eq!(host.json(&["stop", "--session", "s"])["running"], 1);
    let ended = turn.ended();
    assert_eq!(ended["end"], "cancelled", "the command gave no result: {ended}");
}

// Holds P5-06.
#[test]
fn a_stopped_command_after_a_page_leaves_an_untrusted_workspace() {
    let upstream = Upstream::start("the lamp is lit at dusk");
    let (host, turn) = reading_then_running(&upstream, "");
    stop_running(&host, turn);
    assert_eq!((upstream.heard().len(), trust(&host)), (1, json!("untrusted")));
}

// Holds P5-06.
#[test]
fn a_stopped_approved_command_leaves_an_untrusted_workspace() {
    let upstream = Upstream::start("the lamp is lit at dusk");
    let (host, turn) = reading_then_running(&upstream, "[policy]\nautonomy = \"supervised\"\n");
    let id = host.question();
    assert_eq!(upstream.heard().len(), 1);
    assert_ne!(trust(&host), "untrusted", "nothing was written yet");
    host.approve(&id);
    stop_running(&host, turn);
    assert_eq!(trust(&host), "untrusted");
}
