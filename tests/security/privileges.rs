//! The kernel's word on every process of a real, running host, read from `/proc` without the help of any of them.

use crate::probed::{actors, field, processes, wait_ready};
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use tests::{Host, Setup, is_root};

const NO_CAPABILITY: &str = "0000000000000000";

fn started(config: &str) -> (Host, Vec<(String, i32)>) {
    let host = Setup::default().config(config).launch();
    wait_ready(&host);
    let processes: Vec<(String, i32)> = processes(&host).into_iter().collect();
    let names: BTreeSet<&str> = processes.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, actors().map(manifest::Process::name).collect());
    (host, processes)
}

fn hold_no_privilege(config: &str, bounding_emptied: bool) {
    let (_host, processes) = started(config);
    for (name, pid) in processes {
        for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
            assert_eq!(field(pid, set), NO_CAPABILITY, "{name} {set}");
        }
        assert!(!bounding_emptied || field(pid, "CapBnd") == NO_CAPABILITY, "{name} CapBnd");
        assert_eq!(field(pid, "NoNewPrivs"), "1", "{name}");
        assert_eq!(field(pid, "Seccomp"), "2", "{name}");
        assert_eq!(field(pid, "Threads"), "1", "{name}");
    }
}

#[test]
fn no_process_has_a_capability_a_second_thread_or_a_way_to_new_privileges() {
    hold_no_privilege("", true);
}

#[test]
fn nor_has_it_without_namespaces() {
    // Emptying the bounding set takes a capability; no_new_privs leaves it without effect.
    hold_no_privilege("[host]\nmode = \"flat\"\n", is_root());
}

#[test]
fn as_root_every_process_has_a_uid_of_its_own_and_no_group_but_its_own() {
    let (host, processes) = started("");
    let mut uids = BTreeSet::new();
    for (name, pid) in &processes {
        let (uid, gid) = (field(*pid, "Uid"), field(*pid, "Gid"));
        let same = |ids: &str| ids.split(' ').collect::<BTreeSet<_>>().len() == 1;
        assert!(same(&uid) && same(&gid), "{name}: {uid} {gid}");
        if is_root() {
            assert!(!uid.starts_with("0 ") && !gid.starts_with("0 "), "{name} is root");
            assert_eq!(field(*pid, "Groups"), "", "{name}");
        } else {
            assert_eq!(uid, field(host.agentd(), "Uid"), "{name}");
        }
        uids.insert(uid);
    }
    assert_eq!(uids.len(), if is_root() { processes.len() } else { 1 });
}

#[test]
fn as_root_no_process_can_be_dumped() {
    // In a user namespace of its owner's the files of both kinds are that owner's, so nothing can be told by them.
    let (_host, processes) = started("");
    for (name, pid) in processes.iter().filter(|_| is_root()) {
        for file in ["environ", "mem", "maps", "fd"] {
            let owner = std::fs::metadata(format!("/proc/{pid}/{file}")).unwrap().uid();
            assert_eq!(owner, 0, "{name}: {file}");
        }
    }
}

#[test]
fn every_process_is_in_namespaces_of_its_own_and_only_dialer_in_the_host_s_network() {
    let (host, processes) = started("");
    // As an ordinary user agentd has a user namespace of its own, and nobody outside may ask where it is.
    let namespace = |pid: i32, name: &str| std::fs::read_link(format!("/proc/{pid}/ns/{name}")).ok();
    let mut seen = BTreeSet::new();
    for (name, pid) in &processes {
        for kind in ["mnt", "ipc", "uts"] {
            let Some(own) = namespace(*pid, kind) else { continue };
            assert!(seen.insert(own), "{name} shares its {kind} namespace");
        }
        let (Some(own), Some(hosts)) = (namespace(*pid, "net"), namespace(host.agentd(), "net")) else {
            continue;
        };
        assert_eq!(own == hosts, name == "dialer", "{name}");
        let routes = std::fs::read_to_string(format!("/proc/{pid}/net/dev")).unwrap_or_default();
        assert!(name == "dialer" || routes.lines().count() <= 3, "{name} sees a network: {routes}");
    }
    assert!(!is_root() || seen.len() == 3 * processes.len());
}

#[test]
fn nobody_s_environment_or_command_line_says_anything() {
    let (_host, processes) = started("");
    for (name, pid) in processes {
        assert_eq!(std::fs::read(format!("/proc/{pid}/cmdline")).unwrap(), format!("{name}\0").into_bytes());
        if let Ok(environment) = std::fs::read(format!("/proc/{pid}/environ")) {
            assert!(environment.is_empty(), "{name}");
        }
    }
}
