//! kill -9 at every step of a change of the vault: the vault is the old one or the new one, a key opens it, and the
//! change can be asked again.

use std::fs;
use tests::{Host, Setup, Upstream};

/// Looks like nothing that a scanner knows by its form.
const KEY: &str = "rotated-Wq7ZtVx2Kc9LmRb4HsYd-value";
const PASSPHRASE: &str = "correct horse battery";

/// Every step at which a vault goes under another key.
const STEPS: &[&str] = &[
    "credproxy.rekey.recorded",
    "credproxy.rekey.sealed",
    "credproxy.rekey.key.written",
    "credproxy.rekey.key.kept",
    "credproxy.rekey.vault.written",
    "credproxy.rekey.key.current",
    "credproxy.rekey.settled",
];

fn start(upstream: &Upstream, key: &str, point: &str) -> Host {
    let config = format!("[credproxy]\nplain_http = [\"127.0.0.1:{}\"]\nkey = \"{key}\"\n", upstream.port);
    Setup::default().config(&config).arguments(&["--fault", &format!("credproxy:{point}")]).launch()
}

fn answers(host: &Host, what: &str) {
    host.wait_for(what, || {
        host.try_status().is_some_and(|status| {
            let processes = status["processes"].as_array().cloned().unwrap_or_default();
            !processes.is_empty() && processes.iter().all(|process| process["state"] == "ready")
        })
    });
}

fn keep(host: &Host, upstream: &Upstream) {
    host.keep("key", KEY, &["--host", &format!("127.0.0.1:{}", upstream.port)]);
}

fn is_whole(host: &Host, upstream: &Upstream, point: &str) {
    let tested = host.ask(&["cred", "test", "key", &upstream.url("/")]);
    assert_eq!(tested["status"], 200, "{point}: {tested}\n{}", host.log());
    assert!(upstream.heard().last().unwrap().contains(KEY), "{point}");
}

// Holds P7-48.
#[test]
fn a_crash_at_any_step_of_a_rotation_loses_no_secret() {
    let upstream = Upstream::start("hello");
    for point in STEPS {
        let mut host = start(&upstream, "file", point);
        host.wait_ready();
        keep(&host, &upstream);
        let key = fs::read(host.state().join("credproxy/vault.key")).unwrap();
        // agentctl asks again while credproxy is away, so it comes to an end in the next life.
        let rotated = host.ask(&["cred", "rotate"]);
        answers(&host, point);
        assert_eq!(host.process("credproxy")["restarts"], 1, "{point} was never reached: {rotated}");
        is_whole(&host, &upstream, point);
        assert_eq!(rotated["ok"], true, "{point}: {rotated}");
        assert_ne!(fs::read(host.state().join("credproxy/vault.key")).unwrap(), key, "{point}");
        assert!(!host.state().join("credproxy/vault.key.next").exists(), "{point}");
        host.kill_and_wait("credproxy");
        is_whole(&host, &upstream, point);
        assert_eq!(host.json(&["audit", "verify"])["ok"], true, "{point}");
    }
}

// Holds P7-48.
#[test]
fn a_crash_at_any_step_of_a_change_of_passphrase_loses_no_secret() {
    const ANOTHER: &str = "a second passphrase";
    let upstream = Upstream::start("hello");
    for point in STEPS {
        let host = start(&upstream, "passphrase", point);
        answers(&host, point);
        assert_eq!(host.ask_with(&["cred", "unlock"], PASSPHRASE)["ok"], true, "{point}");
        keep(&host, &upstream);
        // agentctl asks again while credproxy is away; what is done already is not done again.
        let changed = host.ask_with(&["cred", "passphrase"], &format!("{PASSPHRASE}\n{ANOTHER}\n"));
        answers(&host, point);
        assert_eq!(host.process("credproxy")["restarts"], 1, "{point} was never reached: {changed}");
        assert_eq!(changed["ok"], true, "{point}: {changed}");
        is_whole(&host, &upstream, point);
        let opens = |passphrase| host.ask_with(&["cred", "unlock"], passphrase)["ok"] == true;
        assert!(!opens(PASSPHRASE) && opens(ANOTHER), "{point}");
        host.kill_and_wait("credproxy");
        is_whole(&host, &upstream, point);
    }
}

#[test]
fn a_death_as_the_vault_is_opened_leaves_it_to_be_opened() {
    let upstream = Upstream::start("hello");
    let host = start(&upstream, "passphrase", "credproxy.unlock.recorded");
    answers(&host, "it waits");
    let unlocked = host.ask_with(&["cred", "unlock"], PASSPHRASE);
    answers(&host, "it is back");
    assert_eq!(host.process("credproxy")["restarts"], 1, "never reached: {unlocked}");
    assert_eq!(host.ask_with(&["cred", "unlock"], PASSPHRASE)["ok"], true, "{unlocked}");
    keep(&host, &upstream);
    is_whole(&host, &upstream, "credproxy.unlock.recorded");
}
