//! The installed files: users for exactly the rows of the table, and a unit that does not stand in the way of the
//! confinement that `agentd` makes itself.

use crate::source;
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::{Command, Stdio};

/// Directives of systemd that would refuse a layer: namespaces, landlock, seccomp, uids, or programs in a jail.
const IN_THE_WAY: &[&str] = &[
    "SystemCallFilter=@system-service",
    "RestrictNamespaces=",
    "RestrictSUIDSGID=",
    "MemoryDenyWriteExecute=",
    "ProtectHostname=",
    "PrivateUsers=",
    "PrivateNetwork=",
    "User=",
    "DynamicUser=",
    "RootDirectory=",
];

/// Directives that the unit must have.
const NEEDED: &[&str] = &[
    "Type=notify",
    "RestartPreventExitStatus=77 78",
    "Delegate=yes",
    "StateDirectoryMode=0711",
    "ExecStart=/usr/bin/agentd run",
];

/// The mark at or below which the unit must be, in tenths, as the tool prints it.
const MOST: u32 = 40;
const UNIT: &str = "deploy/cordon.service";
const TABLE: &str = "docs/reference/unit.md";

#[test]
fn the_users_that_are_installed_are_those_of_the_table() {
    let mut users = String::new();
    manifest::users::write(&mut users).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(source::read("deploy/sysusers.conf"), users, "run `make lists`");
}

// Holds P2-24.
#[test]
fn the_unit_stands_in_the_way_of_no_layer() {
    let text = source::read("deploy/cordon.service");
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    for directive in IN_THE_WAY {
        let found = lines.iter().find(|line| line.starts_with(directive));
        assert!(found.is_none(), "{found:?}");
    }
    for directive in NEEDED {
        assert!(lines.contains(directive), "the unit lacks {directive}");
    }
    assert!(lines.iter().any(|line| line.starts_with("WatchdogSec=")), "the unit lacks a watchdog");
}

#[expect(clippy::disallowed_methods, reason = "systemd's own tool reads the unit")]
fn analyze(words: &[&str]) -> String {
    let mut command = Command::new("systemd-analyze");
    command.args(["security", "--offline=true", "--no-pager"]).args(words).arg(UNIT);
    let output = command.current_dir(tests::repository()).stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("systemd-analyze: {error}; apt-get install systemd"));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

// Holds P2-24.
#[test]
fn the_unit_exposes_at_most_what_it_must() {
    let said = analyze(&[]);
    let level =
        said.split("Overall exposure level for").nth(1).and_then(|rest| rest.split_whitespace().nth(1));
    let tenths = level.and_then(|level| level.replace('.', "").parse::<u32>().ok());
    assert!(tenths.is_some_and(|tenths| tenths <= MOST), "{level:?}");
}

/// Both ways: a mark without a reason is one that nobody thought about, and a reason without a mark is out of date.
// Holds P2-24.
#[test]
fn every_mark_that_the_unit_keeps_has_its_reason_in_the_table() {
    let rows: Vec<Value> = serde_json::from_str(&analyze(&["--json=short"])).unwrap_or_default();
    let text = |row: &Value, key: &str| row.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let exposed = |row: &&Value| text(row, "exposure").parse::<f64>().is_ok_and(|exposure| exposure > 0.0);
    let marks: BTreeSet<String> = rows.iter().filter(exposed).map(|row| text(row, "name")).collect();
    assert!(marks.len() > 10, "{marks:?}");
    let document = source::read(TABLE);
    let table = document.split("| mark | why it is left |").nth(1).unwrap_or_default();
    let lines = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let reasons: Vec<(String, String)> = lines
        .filter_map(|line| {
            line.trim_matches('|').replace("\\|", "\u{1}").split_once('|').map(|(mark, why)| {
                (mark.trim().trim_matches('`').replace('\u{1}', "|"), why.trim().to_owned())
            })
        })
        .collect();
    let named: BTreeSet<String> = reasons.iter().map(|(mark, _)| mark.clone()).collect();
    assert_eq!(named, marks, "{TABLE}");
    assert!(reasons.iter().all(|(_, why)| why.len() > 5), "{TABLE}: a mark without a reason");
}

/// A tag of an action can be moved to other code; a commit cannot.
// Holds P2-36.
#[test]
fn every_action_of_the_release_is_pinned_by_its_commit() {
    let text = source::read(".github/workflows/release.yml");
    let actions: Vec<&str> = text.lines().filter_map(|line| line.split("uses: ").nth(1)).collect();
    assert!(actions.len() > 3, "{actions:?}");
    for action in actions {
        let commit = action.split(['@', ' ']).nth(1).unwrap_or_default();
        assert!(commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()), "{action}");
    }
}
