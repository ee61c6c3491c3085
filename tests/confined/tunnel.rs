//! The tunnel under a real systemd, with programs that stand for the vendors': opened, confined, dead, started again, closed. One
//! machine lives through all of it, and each test reads what became of one promise.

use crate::machine::{Found, Kernel, Machine};
use serde_json::Value;
use std::sync::LazyLock;

static LIFE: LazyLock<Found> = LazyLock::new(|| {
    let machine = Machine::new();
    machine.package("1.0");
    machine.boot(Kernel::Own, include_str!("tunnel.sh"))
});

/// The document of a row that begins with an exit status.
fn document(name: &str, exit: &str) -> Value {
    let row = LIFE.row(name);
    let (status, text) = row.split_once(" {").unwrap_or_else(|| panic!("{name}: {row}"));
    assert_eq!(status, exit, "{name}: {row}");
    serde_json::from_str(&format!("{{{text}")).unwrap()
}

#[test]
#[ignore = "needs root: run by make test-confined"]
fn a_tunnel_that_cannot_be_opened_says_which_command_mends_it() {
    LIFE.says("not root", &["exit 77", "sudo agentctl tunnel up cloudflare"]);
    LIFE.says("no ingress", &["exit 78", "[ingress]", "listen = \"127.0.0.1:8787\""]);
    LIFE.says("no program", &["exit 1", "cloudflared is not in", "https://pkg.cloudflare.com"]);
    LIFE.says("another", &["exit 1", "by cloudflare", "agentctl tunnel down"]);
    LIFE.says("refused", &["exit 1", "failed to request quick Tunnel: no route", "journalctl -u"]);
    LIFE.is("refused left", "inactive disabled 0");
    assert_eq!(document("none", "exit 0")["tunnel"], Value::Null);
}

#[test]
#[ignore = "needs root: run by make test-confined"]
fn a_tunnel_shows_its_address_and_that_of_each_hook() {
    let tunnel = document("up", "exit 0")["tunnel"].clone();
    assert_eq!(tunnel["provider"], "cloudflare");
    assert_eq!(tunnel["active"], true);
    assert_eq!(tunnel["url"], "https://shy-dog-42.trycloudflare.com");
    assert_eq!(tunnel["listen"], "127.0.0.1:8787");
    assert_eq!(tunnel["hooks"][0]["channel"], "in");
    assert_eq!(tunnel["hooks"][0]["url"], "https://shy-dog-42.trycloudflare.com/hook/in");
    assert!(tunnel["since_ms"].as_u64().is_some_and(|ms| ms > 0), "{tunnel}");
    assert_eq!(tunnel["fault"], Value::Null);
    LIFE.says("status", &["exit 0", "active", "https://shy-dog-42.trycloudflare.com/hook/in"]);
    LIFE.is("enabled", "enabled");
}

#[test]
#[ignore = "needs root: run by make test-confined"]
fn the_vendors_program_has_its_own_user_and_reaches_ingress_alone() {
    LIFE.is("user", "cordon-tunnel-cloudflare");
    // The uids that systemd gives to users of units.
    assert!(
        LIFE.row("uid").parse().is_ok_and(|uid: u32| (61184..=65519).contains(&uid)),
        "{}",
        LIFE.row("uid")
    );
    LIFE.says("inside", &["NoNewPrivs: 1", "CapEff: 0000000000000000", "Seccomp: 2"]);
    LIFE.says("reached", &["HTTP/1.1 4"]);
    for place in ["/usr", "/etc", "/var/lib/cordon", "/run/cordon", "/etc/cordon", "/etc/credstore"] {
        LIFE.is(&format!("writes {place}"), "no");
    }
    for place in ["/etc/cordon/cordon.toml", "/run/cordon/control.sock", "/etc/shadow"] {
        LIFE.is(&format!("sees {place}"), "no");
    }
}

#[test]
#[ignore = "needs root: run by make test-confined"]
fn a_token_is_roots_file_and_no_argument_or_line_of_a_log() {
    LIFE.is("token", "600 root");
    LIFE.is("token given", "planted-token");
    LIFE.is("token shown", "0 0");
    let tunnel = document("named", "exit 0")["tunnel"].clone();
    assert_eq!(tunnel["url"], "https://hooks.example.com");
}

#[test]
#[ignore = "needs root: run by make test-confined"]
fn a_dead_tunnel_degrades_the_status_and_stops_nothing() {
    let tunnel = document("dead", "exit 1")["tunnel"].clone();
    assert_eq!((&tunnel["state"], &tunnel["url"]), (&"dead".into(), &Value::Null));
    let fault = tunnel["fault"].as_str().unwrap();
    assert!(fault.contains("cloudflared ended with status 3: the edge is gone"), "{fault}");
    assert!(fault.contains("systemctl restart cordon-tunnel@cloudflare"), "{fault}");
    LIFE.says("host", &["exit 0", "degraded: ", "the tunnel by cloudflare is dead"]);
    let host = document("host as json", "exit 0");
    assert_eq!(host["degraded"][0]["name"], "tunnel");
    LIFE.says("doctor", &["exit 1", "channel.tunnel", "fail"]);
    LIFE.says("answers", &["still here"]);
    let again = document("again", "exit 0")["tunnel"].clone();
    assert_eq!(again["url"], "https://shy-dog-42.trycloudflare.com");
}

#[test]
#[ignore = "needs root: run by make test-confined"]
fn a_closed_tunnel_leaves_neither_program_nor_token() {
    LIFE.says("down", &["exit 0", "the tunnel by cloudflare is closed"]);
    LIFE.is("closed", "inactive disabled 0 0");
    LIFE.says("down again", &["exit 0", "no tunnel is up"]);
}

#[test]
#[ignore = "needs root: run by make test-confined"]
fn an_address_of_a_persons_own_needs_no_program() {
    let tunnel = document("manual", "exit 0")["tunnel"].clone();
    assert_eq!((&tunnel["provider"], &tunnel["active"]), (&"manual".into(), &true.into()));
    assert_eq!(tunnel["hooks"][0]["url"], "https://own.example.com/in/hook/in");
    LIFE.says("manual down", &["exit 0", "yours to stop"]);
}

#[test]
#[ignore = "needs root: run by make test-confined"]
fn ngrok_and_tailscale_open_tunnels_of_their_own_kind() {
    let ngrok = document("ngrok", "exit 0")["tunnel"].clone();
    assert_eq!((&ngrok["url"], &ngrok["domain"]), (&"https://a.ngrok.app".into(), &"a.ngrok.app".into()));
    let tailscale = document("tailscale", "exit 0")["tunnel"].clone();
    assert_eq!(tailscale["url"], "https://cordon.tail9f3a.ts.net");
    LIFE.is("tailscale key", "planted-key");
}

#[test]
#[ignore = "needs root: run by make test-confined"]
fn removing_the_package_closes_the_tunnel() {
    LIFE.is("removed", "inactive 0 0");
    LIFE.is("purged", "0");
}
