//! `redteam`: what is asked of control, what is made of its answers, and what a person is told.

use crate::canned::Canned;
use crate::host::{Host, document, stderr, stdout};
use serde_json::Value;

fn weak() -> Host {
    let host = Host::new(Canned::default());
    host.canned.set(|state| {
        state.processes = vec![("memory", 1), ("gate", 2)];
        state.weak = Some(("memory".to_owned(), "chroot-jailed".to_owned()));
    });
    host
}

#[test]
fn one_act_that_is_not_refused_makes_the_exit_status_1_and_is_named() {
    let host = weak();
    let plain = host.run(&["redteam"]);
    let output = host.run(&["redteam", "--json"]);
    let document = document(&output);
    assert_eq!((plain.status.code(), output.status.code()), (Some(1), Some(1)));
    assert_eq!(document["error"]["type"], "surprise");
    let rows = document["rows"].as_array().unwrap();
    let surprises: Vec<&Value> = rows.iter().filter(|row| row["surprise"] == true).collect();
    assert_eq!(surprises.len(), 1, "{surprises:?}");
    assert_eq!(
        (&surprises[0]["probe"], &surprises[0]["profile"]),
        (&"chroot-jailed".into(), &"memory".into())
    );
    // The rows of this host and its runners, and no other.
    let mut profiles: Vec<&str> = rows.iter().filter_map(|row| row["profile"].as_str()).collect();
    profiles.dedup();
    assert_eq!(
        profiles,
        ["memory", "gate", "runner", "runner@agent", "runner@net", "runner@mcp", "runner@browser"]
    );
    assert!(stdout(&plain).contains("1 surprises"), "{}", stdout(&plain));
    let tried = u32::try_from(rows.len()).unwrap();
    assert_eq!(host.canned.get(|state| state.probed.clone()), [(tried, 1), (tried, 1)]);
}

#[test]
fn one_row_and_one_act_are_all_that_is_tried_when_they_are_named() {
    let host = weak();
    let well = host.json(&["redteam", "--row", "gate", "--act", "chroot-jailed"]);
    assert_eq!((well["rows"].as_array().map(Vec::len), &well["summary"]["surprises"]), (Some(1), &0.into()));
    let none = host.run(&["redteam", "--row", "gate", "--act", "git-hook"]);
    assert_eq!(none.status.code(), Some(64));
    assert!(stderr(&none).contains("nothing is tried by that"), "{}", stderr(&none));
}

#[test]
fn the_acts_are_listed_without_a_host() {
    let output = crate::host::agentctl(&["redteam", "--list", "--json"]).output().unwrap();
    let document = document(&output);
    assert_eq!(document["acts"].as_array().map(Vec::len), Some(manifest::acts::ACTS.len()));
}
