//! Tasks while processes die: each is one message, runs its commands once, and ends with the turn above it.

use serde_json::json;
use std::time::Duration;
use tests::{Host, Setup, call, kill, script};

/// Kills a process that is there.
fn end(host: &Host, name: &str) {
    let status = host.try_status().unwrap_or_default();
    let all = status["processes"].as_array().cloned().unwrap_or_default();
    let pid = all.iter().find(|process| process["name"] == name).and_then(|process| process["pid"].as_i64());
    kill(i32::try_from(pid.unwrap()).unwrap());
}

// Holds P7-100, P7-101.
#[test]
fn a_task_is_one_message_whoever_is_killed_while_it_runs() {
    let agent =
        |name: &str| format!("[agent.{name}]\nmodel = \"scripted/{name}\"\nprofile = \"power-user\"\n");
    let config = format!("{}delegates = [\"helper\"]\n{}", agent("lead"), agent("helper"));
    let host = Setup::default().config(&config).start();
    let task = call("delegate", &json!({ "agent": "helper", "task": "count" }));
    host.script("lead", &script(&[task]));
    let command = json!({ "command": "echo once >> count; sleep 2" });
    host.script("helper", &script(&[call("bash", &command)]));
    for victim in ["router", "gate", "model"] {
        let turn = host.say_with(&["--agent", "lead", "--session", victim, "-m", "do it"]);
        host.wait_for("the task runs", || host.runners().len() > 1);
        std::thread::sleep(Duration::from_millis(700));
        end(&host, victim);
        let ended = turn.ended();
        assert_eq!(ended["ok"], true, "{victim}: {ended}\n{}", host.log());
        let tree = host.json(&["tree", ended["turn"].as_str().unwrap()]);
        assert_eq!(tree["turns"].as_array().map(Vec::len), Some(2), "{victim}: {tree}");
        host.wait_for("nothing of it is left", || {
            let queue = host.json(&["queue"]);
            queue["queue"]["running"] == 0 && queue["queue"]["waiting"] == 0
        });
        let found = host.ctl(&["sandbox", "run", "--session", victim, "--", "cat", "count"]);
        assert_eq!(String::from_utf8_lossy(&found.stdout), "once\n", "{victim}: {tree}\n{}", host.log());
    }
}
