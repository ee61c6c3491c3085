//! The kernel's word on every process of a real, running host, read from `/proc` without the help of any of them.

use crate::probed::{actors, field, launch, processes, wait_ready};
use manifest::Process;
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use tests::{Host, Setup, is_root, kill};

const NO_CAPABILITY: &str = "0000000000000000";

fn started(config: &str) -> (Host, Vec<(String, i32)>) {
    let host = Setup::default().config(config).every_process().launch();
    wait_ready(&host);
    let processes: Vec<(String, i32)> = processes(&host).into_iter().collect();
    let names: BTreeSet<&str> = processes.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, actors().map(Process::name).collect());
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

// Holds P2-04.
#[test]
fn no_process_has_a_capability_a_second_thread_or_a_way_to_new_privileges() {
    hold_no_privilege("", true);
}

// Holds P2-04.
#[test]
fn nor_has_it_without_namespaces() {
    // Emptying the bounding set takes a capability; no_new_privs leaves it without effect.
    hold_no_privilege("[host]\nmode = \"flat\"\n", is_root());
}

// Holds P2-07.
#[test]
fn every_process_has_its_own_uid_as_root_and_else_the_callers() {
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

/// A process of the same uid, with no more privilege than they have, looks into all others before its own seal.
fn cannot_be_looked_into(config: &str) {
    let probed = launch(config, &[(Process::Control, "peers")]);
    wait_ready(&probed.host);
    // In its second life all others have long done what protects them.
    kill(processes(&probed.host)["control"]);
    probed.wait_said(Process::Control, "life 2");
    for (name, pid) in processes(&probed.host).into_iter().filter(|(name, _)| name != "control") {
        for file in ["mem", "environ", "maps", "fd/3"] {
            let words = format!("peer {file} {pid}: ");
            let came = probed
                .after(Process::Control, &words)
                .unwrap_or_else(|| panic!("{name} was not looked into"));
            assert!(came == "EACCES" || came == "EPERM", "{name} {file}: {came}");
        }
    }
}

// Holds P2-07.
#[test]
fn no_process_can_be_looked_into_by_another_of_its_uid() {
    cannot_be_looked_into("");
}

#[test]
fn no_process_can_be_inspected_by_its_uid_even_without_namespaces() {
    cannot_be_looked_into("[host]\nmode = \"flat\"\n");
}

#[test]
fn no_process_can_be_dumped() {
    // Files of a process that cannot be dumped are root's: in mode user, that is the root of its own namespace.
    let (host, processes) = started("");
    let root = std::fs::metadata(format!("/proc/{}", host.agentd())).unwrap().uid();
    for (name, pid) in processes {
        for file in ["environ", "mem", "maps", "fd"] {
            let owner = std::fs::metadata(format!("/proc/{pid}/{file}")).unwrap().uid();
            assert_eq!(owner, root, "{name}: {file}");
        }
    }
}

// Holds P2-08, P4-01.
#[test]
fn every_process_has_its_own_namespaces_and_only_dialer_the_network() {
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

// Holds P2-08.
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

// Holds P2-05.
#[test]
fn what_agentd_was_started_with_open_is_in_no_jail() {
    let file = tempfile::tempfile().unwrap();
    // A copy that no exec closes, with a number that no jail gives to something of its own.
    let left = nix::fcntl::fcntl(&file, nix::fcntl::FcntlArg::F_DUPFD(100)).unwrap();
    let (host, processes) = started("");
    nix::unistd::close(left).unwrap();
    let inode = file.metadata().unwrap().ino();
    let held = |pid: i32| {
        let open = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        open.filter_map(|entry| entry.path().metadata().ok()).any(|meta| meta.ino() == inode)
    };
    // As an ordinary user agentd is root of its own namespace, and nobody may look.
    assert!(!is_root() || held(host.agentd()));
    for (name, pid) in processes {
        assert!(!held(pid), "{name}");
    }
    let tried = host.ask(&["redteam", "--row", "runner", "--act", "descriptors"]);
    assert_eq!(tried["ok"], true, "{tried}");
}
