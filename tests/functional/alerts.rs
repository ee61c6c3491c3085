//! Alerts: what is refused over and over is one alert on the record, whoever refused it, and then it is quiet for a while.

use serde_json::{Value, json};
use tests::{Host, Setup, call, free_port, get_over_tcp, script, text};

/// Alerts whose subject begins with this.
fn alerts(host: &Host, of: &str) -> usize {
    let begins = |alert: &&Value| text(alert, "subject").starts_with(of);
    host.recorded("alert").iter().filter(begins).count()
}

// Holds P6-20.
#[test]
fn wrong_keys_of_the_api_are_one_alert_from_the_fifth_on() {
    let port = free_port();
    let host = Setup::default().config(&format!("[gateway]\nlisten = \"127.0.0.1:{port}\"\n")).start();
    let wrong = || assert_eq!(get_over_tcp(port, "/v1/models", Some("cdn_none")).0, 401);
    (0..4).for_each(|_| wrong());
    host.wait_for("they are on the record", || host.recorded("api_refused").len() == 4);
    assert_eq!(alerts(&host, "auth failures: "), 0);
    (0..4).for_each(|_| wrong());
    host.wait_for("it is on the record", || alerts(&host, "auth failures: ") == 1);
    let refused = host.recorded("api_refused").len();
    wrong();
    host.wait_for("it is refused", || host.recorded("api_refused").len() > refused);
    assert_eq!(alerts(&host, "auth failures: "), 1);
}

// Holds P6-20.
#[test]
fn refused_web_calls_are_one_alert_and_one_of_the_gate_in_each_session() {
    let host = Setup::default().config("[agent.default]\nmodel = \"scripted/it\"\n").start();
    // Each another: a model that asks for the same again and again is stopped earlier.
    let fetch = |n| call("web_fetch", &json!({ "url": format!("http://elsewhere.example.com/{n}") }));
    host.script("it", &script(&(0..11).map(fetch).collect::<Vec<_>>()));
    for (session, number) in [("s", 1), ("t", 2)] {
        let _ = host.chat(session, "look it up");
        let blocked = |entry: &&Value| entry["subject"] == "web_fetch" && entry["result"] == "blocked";
        assert_eq!(host.recorded("tool_decided").iter().filter(blocked).count(), 11 * number);
        host.wait_for("they are on the record", || alerts(&host, "network refusals: web_fetch") == 1);
        assert_eq!(alerts(&host, "web_fetch"), number);
    }
}

// Holds P8-65.
#[test]
fn an_alert_leaves_the_host_once_by_a_command_and_again_after_a_failure() {
    let port = free_port();
    let host = Setup::default().config(&format!("[gateway]\nlisten = \"127.0.0.1:{port}\"\n")).start();
    let (sent, failed) = (host.dir().join("sent"), host.dir().join("failed"));
    // The first delivery fails.
    let command = format!(
        "cat > {0}.new; [ -e {1} ] || {{ touch {1}; exit 1; }}; cat {0}.new >> {0}",
        sent.display(),
        failed.display()
    );
    let position = host.dir().join("position");
    let position = position.to_str().unwrap();
    let mut child =
        host.command(&["alerts", "send", "--command", &command, "--position", position]).spawn().unwrap();
    host.wait_for("it has begun", || std::path::Path::new(position).exists());
    (0..12).for_each(|_| assert_eq!(get_over_tcp(port, "/v1/models", Some("cdn_none")).0, 401));
    let lines = || -> Vec<Value> {
        let text = std::fs::read_to_string(&sent).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    host.wait_for("it was handed on", || !lines().is_empty());
    assert!(failed.exists());
    assert!(text(&lines()[0], "alert").starts_with("auth failures: "), "{:?}", lines());
    assert_eq!(lines().len(), 1);
    child.kill().unwrap();
    drop(child.wait());
}
