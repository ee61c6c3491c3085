//! What is installed: users for exactly the rows of the table, and a unit that does not stand in the way of the
//! confinement that `agentd` makes itself.

use crate::source;

/// Directives of systemd that would refuse a layer: namespaces, landlock, seccomp, uids, or programs in a jail.
const IN_THE_WAY: &[&str] = &[
    "SystemCallFilter",
    "RestrictNamespaces",
    "MemoryDenyWriteExecute",
    "PrivateUsers",
    "User",
    "DynamicUser",
    "CapabilityBoundingSet",
    "RestrictAddressFamilies",
    "NoNewPrivileges",
    "RootDirectory",
    "ProtectProc",
];

/// Directives that the unit must have.
const NEEDED: &[&str] = &[
    "Type=notify",
    "RestartPreventExitStatus=78",
    "Delegate=yes",
    "StateDirectoryMode=0711",
    "ExecStart=/usr/bin/agentd run",
];

#[test]
fn the_users_that_are_installed_are_those_of_the_table() {
    let text = source::read("deploy/sysusers.conf");
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let users: Vec<&str> =
        lines.filter_map(|line| line.strip_prefix('u')?.split_whitespace().next()).collect();
    let rows: Vec<&str> = manifest::TABLE.iter().map(|row| row.user).collect();
    assert_eq!(users, rows);
}

#[test]
fn the_unit_stands_in_the_way_of_no_layer() {
    let text = source::read("deploy/cordon.service");
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    for directive in IN_THE_WAY {
        let found =
            lines.iter().find(|line| line.strip_prefix(directive).is_some_and(|rest| rest.starts_with('=')));
        assert!(found.is_none(), "{found:?}");
    }
    for directive in NEEDED {
        assert!(lines.contains(directive), "the unit lacks {directive}");
    }
    assert!(lines.iter().any(|line| line.starts_with("WatchdogSec=")), "the unit lacks a watchdog");
}
