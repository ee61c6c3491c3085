//! Keys of the API, and the two places where it listens.

use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use tests::{Host, Setup, connect, free_port, get_over_tcp};

/// A host whose API is on a port as well, and the port.
fn served() -> (Host, u16) {
    let port = free_port();
    let host = Setup::default().config(&format!("[gateway]\nlisten = \"127.0.0.1:{port}\"\n")).start();
    (host, port)
}

fn keys(host: &Host) -> Vec<Value> {
    host.json(&["key", "list"])["keys"].as_array().unwrap().clone()
}

fn create(host: &Host, words: &[&str]) -> (String, Value) {
    let made = host.json(&[&["key", "create"], words].concat());
    (made["key"].as_str().unwrap().to_owned(), made)
}

// Holds P3-09.
#[test]
fn a_key_is_shown_once_opens_the_api_and_opens_nothing_once_it_is_revoked() {
    let (host, port) = served();
    let models = |key: Option<&str>| get_over_tcp(port, "/v1/models", key).0;
    assert_eq!((models(None), models(Some("cdn_none"))), (401, 401));
    let (key, made) = create(&host, &["bar"]);
    assert!(key.starts_with("cdn_") && key.len() == 47, "{key}");
    assert_eq!((made["name"].as_str(), made["ok"].as_bool()), (Some("bar"), Some(true)));
    assert_eq!(models(Some(&key)), 200);

    let listed = keys(&host);
    assert_eq!((listed.len(), listed[0]["id"].clone()), (1, made["id"].clone()));
    assert!(!listed[0].to_string().contains(&key));
    host.wait_for("its use is noted", || keys(&host)[0]["used_ms"] != 0);

    host.kill_and_wait("router");
    host.kill_and_wait("gateway");
    assert_eq!(models(Some(&key)), 200, "it outlives both");
    assert_eq!(host.json(&["key", "revoke", "bar"])["name"], "bar");
    // Gateway lists for a second what a client it knows may list; what has an effect is looked up anew each time.
    host.wait_for("it opens nothing", || models(Some(&key)) == 401);
    assert_eq!(keys(&host)[0]["state"], "revoked");
    assert_eq!(host.ask(&["key", "revoke", "none"])["error"]["type"], "no_key");
    let actions = ["key_created", "key_revoked", "api_refused"];
    let recorded = |action: &str| host.recorded(action).len();
    host.wait_for("all is on the record", || actions.iter().all(|action| recorded(action) > 0));
    assert!(!host.log().contains(&key));
}

// Holds P3-11.
#[test]
fn a_key_reaches_what_it_is_for_and_a_name_has_one_living_key() {
    let host = Setup::default().config("[agent.helper]\n").start();
    let scoped = ["one", "--agent", "helper", "--model", "openai/*", "--day-usd", "2.5", "--expires", "1h"];
    let (_, made) = create(&host, &scoped);
    assert_eq!((&made["agents"], &made["models"]), (&json!(["helper"]), &json!(["openai/*"])));
    assert_eq!(made["day_micros"], 2_500_000);
    for (words, kind) in [
        (&["key", "create", "one"][..], "key_exists"),
        (&["key", "create", "peer"], "bad_key"),
        (&["key", "create", "a:b"], "bad_key"),
        (&["key", "create", "two", "--agent", "nobody"], "no_agent"),
    ] {
        assert_eq!(host.ask(words)["error"]["type"], kind, "{words:?}");
    }
    assert_eq!(keys(&host).len(), 1);
}

// Holds P3-09.
#[test]
fn who_is_at_the_socket_is_known_from_the_kernel_and_needs_no_key() {
    let host = Host::start();
    let mode = std::fs::metadata(host.gateway()).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, if tests::is_root() { 0o666 } else { 0o600 });
    let (status, body) = host.get("/v1/models");
    assert!(status == 200 && body.contains("agent/default"), "{status} {body}");
}

// Holds P3-13.
#[test]
fn a_client_that_connects_while_gateway_is_away_is_served_afterwards() {
    let (host, port) = served();
    let (key, _) = create(&host, &["bar"]);
    let _ = host.json(&["hold", "gateway"]);
    let mut waiting = connect(port);
    let head = "GET /healthz HTTP/1.1\r\nHost: localhost:";
    waiting.write_all(format!("{head}{port}\r\nConnection: close\r\n\r\n").as_bytes()).unwrap();
    let _ = host.json(&["release", "gateway"]);
    let mut answer = String::new();
    waiting.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(get_over_tcp(port, "/v1/models", Some(&key)).0, 200);
}

// Holds P3-12.
#[test]
fn a_used_port_and_an_address_that_others_reach_start_nothing() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap();
    let mut host = Setup::default().config(&format!("[gateway]\nlisten = \"{at}\"\n")).launch();
    assert_eq!(host.wait(), Some(69));
    assert!(host.log().contains(&format!("cannot listen on {at}: Address already in use")), "{}", host.log());

    let mut host = Setup::default().config("[gateway]\nlisten = \"0.0.0.0:8080\"\n").launch();
    assert_eq!(host.wait(), Some(78));
    let told = host.log();
    assert!(told.contains("gateway.listen: 0.0.0.0:8080 can be reached from other machines"), "{told}");
    assert!(told.contains("reverse proxy") && !host.state().exists(), "{told}");
}

// Holds P3-14.
#[test]
fn without_gateway_there_is_no_such_process_and_no_socket() {
    let host = Setup::default().config("[gateway]\nprovider = \"none\"\n").start();
    assert_eq!(host.process("gateway"), Value::Null);
    assert!(!host.gateway().exists());
    assert_eq!(host.chat("s", "echo: still here"), "still here");
}
