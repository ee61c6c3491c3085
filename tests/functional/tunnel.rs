//! The process of the tunnel's unit, with a script in the place of the vendor's program and a socket in the place of systemd. The unit
//! itself is tried under a real systemd by tests/confined/tunnel.rs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// Says its arguments and its token, then the address, and ends.
const CLOUDFLARED: &str = "#!/bin/sh\necho \"2026 INF started with $*, token $TUNNEL_TOKEN, systemd $NOTIFY_SOCKET\"\n\
    echo '2026-01-01T00:00:00Z INF |  https://shy-dog-42.trycloudflare.com  |' >&2\n\
    echo '2026-01-01T00:00:00Z ERR the edge is gone' >&2\nexit 3\n";

/// Runs `agentctl tunnel run cloudflare` as the unit does, with this tunnel's file; gives its end and what systemd was sent.
#[expect(clippy::disallowed_methods, reason = "a test runs the command as systemd or a person would")]
fn run(file: &str, token: &str) -> (Output, Vec<String>) {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    for (name, text) in [("tunnel", file), ("token", token), ("cloudflared", CLOUDFLARED)] {
        fs::write(at(name), text).unwrap();
        fs::set_permissions(at(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let systemd = UnixDatagram::bind(at("notify")).unwrap();
    systemd.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let path = format!("{}:/usr/bin:/bin", folder.path().display());
    let mut command = Command::new(tests::programs().join("agentctl"));
    command.args(["tunnel", "run", "cloudflare", "--file"]).arg(at("tunnel")).env("PATH", path);
    for name in ["STATE_DIRECTORY", "RUNTIME_DIRECTORY", "CREDENTIALS_DIRECTORY"] {
        command.env(name, folder.path());
    }
    let output = command.env("NOTIFY_SOCKET", at("notify")).stdin(Stdio::null()).output().unwrap();
    let mut sent = Vec::new();
    let mut bytes = [0; 4096];
    while let Ok(read) = systemd.recv(&mut bytes) {
        sent.push(String::from_utf8_lossy(&bytes[..read]).into_owned());
    }
    (output, sent)
}

fn file(domain: &str) -> String {
    format!(
        r#"{{"provider":"cloudflare","listen":"127.0.0.1:8787","domain":{domain},"url":null,"config":"/c","started_ms":1}}"#
    )
}

#[test]
fn systemd_hears_the_address_of_a_tunnel_and_why_it_ended() {
    let (output, sent) = run(&file("null"), "");
    let address = "READY=1\nSTATUS=https://shy-dog-42.trycloudflare.com";
    let end = "STATUS=cloudflared ended with status 3: the edge is gone";
    assert_eq!(sent, [address, end], "an open tunnel keeps its address: {output:?}");
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("started with tunnel --no-autoupdate --config /"), "{said}");
    assert!(said.contains("/cloudflared.yml --url http://127.0.0.1:8787, token , systemd \n"), "{said}");
}

#[test]
fn a_tunnels_token_is_given_to_the_vendors_program_alone() {
    let (output, _) = run(&file("null"), "planted-token\n");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("/cloudflared.yml run, token planted-token, systemd \n"), "{said}");
}

#[test]
fn a_damaged_file_of_a_tunnel_names_the_command_that_removes_it() {
    let (output, sent) = run("{}", "");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("is damaged") && said.contains("agentctl tunnel down"), "{said}");
    assert!(sent.is_empty(), "{sent:?}");
}

/// `agentctl tunnel` as a user who is not root.
#[expect(clippy::disallowed_methods, reason = "a test runs the command as systemd or a person would")]
fn as_user(words: &[&str]) -> Output {
    let mut command = Command::new(tests::programs().join("agentctl"));
    if tests::is_root() {
        command.uid(64203).gid(64203);
    }
    command.arg("tunnel").args(words).current_dir(Path::new("/")).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn a_tunnel_is_opened_and_closed_by_root_alone() {
    for (words, typed) in [
        (&["up", "ngrok", "--domain", "a.ngrok.app"][..], "sudo agentctl tunnel up ngrok"),
        (&["up", "manual", "https://own.example.com"], "sudo agentctl tunnel up manual URL"),
        (&["down"], "sudo agentctl tunnel down"),
    ] {
        let output = as_user(words);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(77), "{said}");
        assert!(said.contains(typed), "{said}");
    }
}

#[test]
fn an_address_or_name_that_no_hook_can_be_sent_to_is_refused() {
    for words in [
        &["up", "manual"][..],
        &["up", "manual", "http://own.example.com"],
        &["up", "cloudflare", "https://own.example.com"],
        &["up", "ngrok", "--domain", "a/b"],
        &["up", "frp"],
    ] {
        let output = as_user(words);
        assert_eq!(output.status.code(), Some(64), "{words:?}: {output:?}");
    }
}
