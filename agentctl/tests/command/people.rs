//! Users and the setup from outside: a stranger is told so, and nobody is made who cannot be.

use crate::canned::Canned;
use crate::host::{Host, document, stderr, stdout};
use ipc_proto::Name;
use ipc_proto::config::UserRole;
use ipc_proto::control::{ControlError, Denied};
use serde_json::json;

fn stranger() -> Host {
    let host = Host::new(Canned::default());
    let denied = Denied { needs: Name::clip("guest"), uid: 4_000_000, user: None };
    host.canned.set(|state| state.refuse = Some(ControlError::NotAllowed(denied)));
    host
}

#[test]
fn a_stranger_is_told_so_and_how_to_become_a_user() {
    let host = stranger();
    let output = host.run(&["user", "whoami"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("you are no user of this host"), "{}", stdout(&output));
    assert!(stdout(&output).contains("agentctl user add NAME --uid 4000000"), "{}", stdout(&output));
    let document = host.json(&["user", "whoami"]);
    assert_eq!((&document["ok"], &document["user"]), (&json!(true), &json!(null)));
    assert_eq!(document["uid"], json!(4_000_000));
}

#[test]
fn a_user_that_nobody_could_be_is_not_made() {
    let host = Host::new(Canned::default());
    let output = host.run(&["user", "add", "no-such-login-here"]);
    assert_eq!(output.status.code(), Some(64), "{}", stderr(&output));
    assert!(stderr(&output).contains("--uid N"), "{}", stderr(&output));
    let root = host.json(&["user", "add", "root"]);
    assert_eq!(root["user"]["uids"], json!([0]), "the login of that name");
    assert!(host.run(&["user", "add", "no-such-login-here", "--uid", "4711"]).status.success());
}

#[test]
fn a_change_of_a_user_names_what_changes() {
    let host = Host::new(Canned::default());
    assert_eq!(host.run(&["user", "edit", "bob"]).status.code(), Some(64));
    let output = host.run(&["user", "edit", "bob", "--role", "guest"]);
    assert!(stdout(&output).starts_with("changed: bob, guest"), "{}", stdout(&output));
}

// Holds P8-38.
#[test]
fn setup_is_for_an_owner_of_the_running_host() {
    let host = Host::new(Canned::default());
    host.canned.set(|state| state.role = Some(UserRole::User));
    for host in [host, stranger()] {
        let folder = host.folder.path().join("cordon.toml");
        let words = ["setup", "--provider", "ollama", "--model", "m", "--yes", "--json", "--config"];
        let output = host.run(&[&words[..], &[folder.to_str().unwrap()]].concat());
        assert_eq!(output.status.code(), Some(77), "{}", stderr(&output));
        assert_eq!(document(&output)["error"]["type"], json!("not_allowed"));
        assert!(!folder.exists(), "nothing was changed");
    }
}
