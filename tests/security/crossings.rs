//! Every crossing of text is judged where it happens, seen on real turns; and without the scanner nothing crosses: it
//! waits, and goes on by itself once the scanner is back.

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::thread;
use std::time::Duration;
use tests::{Host, Setup, Upstream, call, signal};

/// Every place where text crosses, as the scanner names it.
const CROSSINGS: &[&str] = &[
    "OwnWords", "Arguments", "Record", "MemoryWrite", "ToolOutput", "MemoryRecall", "Web", "ModelStream",
    "Answer",
];

fn config(agents: &[&str], port: u16) -> String {
    let agents: String = agents
        .iter()
        .map(|name| format!("[agent.{name}]\nmodel = \"scripted/{name}\"\nprofile = \"standard\"\n"))
        .collect();
    format!("[log]\nlevel = \"debug\"\n[web]\nprivate_hosts = [\"127.0.0.1:{port}\"]\n{agents}")
}

// Holds P8-01.
#[test]
fn every_crossing_of_a_real_turn_is_judged_and_no_log_holds_what_crossed() {
    let upstream = Upstream::start("the lamp is lit at dusk");
    let host = Setup::default().config(&config(&["all"], upstream.port)).start();
    let script = [
        json!({ "plan": ["memory_write", "memory_query", "bash", "web_fetch"] }),
        json!({ "pieces": [call("memory_write", &json!({ "content": "the tide turns at noon" }))] }),
        json!({ "pieces": [call("memory_query", &json!({ "query": "tide" }))] }),
        json!({ "pieces": [call("bash", &json!({ "command": "echo the gull has landed" }))] }),
        json!({ "pieces": [call("web_fetch", &json!({ "url": upstream.url("/page") }))] }),
        json!({ "pieces": [{ "text": "all is well" }] }),
    ];
    host.script("all", &script);
    let words = format!("remember that the tide turns at noon, then look at {}", upstream.url("/page"));
    let ended = host.json(&["chat", "--agent", "all", "-m", &words]);
    assert_eq!(
        (&ended["reply"], ended["calls"].as_array().map(Vec::len)),
        (&json!("all is well"), Some(4)),
        "{ended}"
    );
    assert_eq!(upstream.heard().len(), 1);
    // Lines of the log come through agentd, and may come after the answer.
    let is_judged = |log: &str, crossing: &str| log.contains(&format!("scanned crossing={crossing} "));
    host.wait_for("every crossing is judged", || {
        let log = host.log();
        CROSSINGS.iter().all(|crossing| is_judged(&log, crossing))
    });
    let log = host.log();
    for words in ["tide", "gull", "lamp", "all is well"] {
        assert!(!log.contains(words), "{words:?} is in the log\n{log}");
    }
}

// Holds P8-02.
#[test]
fn without_the_scanner_a_message_waits_and_a_memory_is_refused() {
    let host = Host::start();
    let _ = host.json(&["hold", "scanner"]);
    let turn = host.say("s", "echo: at last");
    let state = |host: &Host| host.json(&["message", "list"])["messages"][0]["state"].clone();
    host.wait_for("the message is accepted", || state(&host) == "accepted");
    assert_eq!(host.ask(&["memory", "add", "the tide turns at noon"])["ok"], false);
    assert_eq!(state(&host), "accepted");
    let _ = host.json(&["release", "scanner"]);
    assert_eq!(turn.ended()["reply"], "at last");
    assert_eq!(host.json(&["memory", "list"])["memories"], json!([]));
    let _ = host.json(&["memory", "add", "the tide turns at noon"]);
}

/// A turn that comes to one crossing after a second and a half, in which the scanner is taken away.
struct Late {
    crossing: &'static str,
    agent: &'static str,
    script: Vec<Value>,
    /// Requests to the upstream so far.
    before: usize,
    /// How often `came` rises before the scanner is taken away.
    steps: usize,
}

impl Late {
    /// A count that tells when the turn is on its way to the crossing, and nothing but it is left to be judged.
    fn came(&self, host: &Host, upstream: &Upstream) -> usize {
        match self.crossing {
            "Web" => upstream.heard().len(),
            "ToolOutput" => host.log().matches("gate::inspection::scan: scanned crossing=Record").count(),
            _ => host.recorded("model_decided").len(),
        }
    }
}

fn late(upstream: &Upstream) -> Vec<Late> {
    let url = json!({ "url": upstream.url("/page") });
    let wait = json!({ "delay_ms": 1500 });
    let plan = json!({ "plan": ["bash", "web_fetch", "memory_query"] });
    let done = json!({ "pieces": [{ "text": "all is well" }] });
    let script = |pieces: Value| vec![plan.clone(), json!({ "pieces": pieces }), done.clone()];
    let slow = json!({ "command": "sleep 1.5; echo out" });
    let late = |crossing, agent, script, (before, steps)| Late { crossing, agent, script, before, steps };
    vec![
        late("Arguments", "args", script(json!([wait, call("web_fetch", &url)])), (0, 2)),
        late("ToolOutput", "output", script(json!([call("bash", &slow)])), (0, 1)),
        late("Web", "web", script(json!([call("web_fetch", &url)])), (1, 1)),
        late(
            "ModelStream",
            "stream",
            vec![plan.clone(), json!({ "pieces": [wait, { "text": "all is well" }] })],
            (0, 2),
        ),
    ]
}

// Holds P8-02.
#[test]
fn a_turn_without_a_scanner_stops_at_the_crossing_and_goes_on_with_it() {
    let upstream = Upstream::answering("text/plain", |_| {
        thread::sleep(Duration::from_millis(1500));
        "the lamp is lit at dusk".to_owned()
    });
    let rows = late(&upstream);
    let agents: Vec<&str> = rows.iter().map(|row| row.agent).collect();
    let host = Setup::default().config(&config(&agents, upstream.port)).start();
    for row in rows {
        host.script(row.agent, &row.script);
        let (came, heard) = (row.came(&host, &upstream), upstream.heard().len());
        let words = format!("look at {}", upstream.url("/page"));
        let turn = host.say_with(&["--session", row.agent, "--agent", row.agent, "-m", &words]);
        host.wait_for(row.crossing, || row.came(&host, &upstream) == came + row.steps);
        let _ = host.json(&["hold", "scanner"]);
        thread::sleep(Duration::from_secs(3));
        let shown = host.json(&["message", "list"]);
        assert_eq!(shown["messages"][0]["state"], "running", "{}: {shown}", row.crossing);
        assert_eq!(upstream.heard().len(), heard + row.before, "{}: it crossed", row.crossing);
        let _ = host.json(&["release", "scanner"]);
        let ended = turn.ended();
        assert_eq!(ended["reply"], "all is well", "{}: {ended}", row.crossing);
    }
}

// Holds P8-02.
#[test]
fn what_memory_gives_back_does_not_reach_a_model_unjudged() {
    let host = Setup::default().config(&config(&["recall"], 9)).start();
    let _ = host.json(&["memory", "add", "the tide turns at noon"]);
    let query = call("memory_query", &json!({ "query": "tide" }));
    host.script("recall", &[json!({ "pieces": [query] }), json!({ "pieces": [{ "text": "all is well" }] })]);
    let memory = host.pid("memory");
    signal(memory, Signal::SIGSTOP);
    let turn = host.say_with(&["--agent", "recall", "-m", "when does the tide turn?"]);
    host.wait_for("the call waits for memory", || host.log().contains("crossing=Record"));
    let _ = host.json(&["hold", "scanner"]);
    signal(memory, Signal::SIGCONT);
    thread::sleep(Duration::from_secs(1));
    assert_eq!(host.json(&["message", "list"])["messages"][0]["state"], "running");
    assert_eq!(
        host.recorded("model_decided").len(),
        2,
        "the plan and one request: the model was asked again"
    );
    let _ = host.json(&["release", "scanner"]);
    assert_eq!(turn.ended()["reply"], "all is well");
    assert!(host.log().contains("crossing=MemoryRecall"));
}
