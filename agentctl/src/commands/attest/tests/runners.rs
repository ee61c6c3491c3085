//! The same of a runner: what a real one shows, one weakness at a time, and a real process that is in no jail.

use super::super::runners::{inhabited, judge, standing};
use super::{PID, WEAKER, facts, namespaces, properties, scene, supervisor};
use crate::commands::attest::findings::Verdict;
use crate::commands::attest::scene::{Mode, Scene};
use crate::kernel::{self, ProcessFacts, own_namespaces, parse_mounts};
use manifest::Process;
use std::collections::BTreeMap;

const UID: u32 = 900_064;

const STATUS: &str = "Name:\trunner\nPid:\t4711\nPPid:\t4700\nNSpid:\t4711\t1\n\
Uid:\t900064\t900064\t900064\t900064\nGid:\t900064\t900064\t900064\t900064\nGroups:\t \nThreads:\t1\n\
CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nCapBnd:\t0000000000000000\n\
CapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t2\nCpus_allowed_list:\t1\n";

const LIMITS: &str = "Limit                     Soft Limit           Hard Limit           Units     \n\
Max cpu time              3600                 3601                 seconds   \n\
Max file size             536870912            536870912            bytes     \n\
Max data size             536870912            536870912            bytes     \n\
Max core file size        0                    0                    bytes     \n\
Max processes             128                  128                  processes \n\
Max open files            1024                 1024                 files     \n";

const MOUNTS: &str = "474 473 0:40 / / ro,nosuid,nodev,relatime - tmpfs tmpfs rw\n\
475 474 254:0 /usr /usr ro,nosuid,nodev,relatime - ext4 /dev/vda rw\n\
476 474 254:0 /etc/ssl /etc/ssl ro,nosuid,nodev,relatime - ext4 /dev/vda rw\n\
483 474 0:6 /null /dev/null rw,relatime - devtmpfs devtmpfs rw\n\
488 474 0:71 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw\n\
489 474 0:72 / /tmp rw,nosuid,nodev,relatime - tmpfs tmpfs rw,size=131072k\n";

const WORKSPACE: &str = "490 474 254:0 /w /ws/s rw,nosuid,nodev,relatime,idmapped - ext4 /dev/vda rw\n";

fn runner(status: &str, limits: &str, mounts: &str) -> ProcessFacts {
    ProcessFacts {
        namespaces: namespaces(7),
        made: Ok([].into()),
        descriptors: Ok([
            "/dev/null",
            "socket:[1]",
            "socket:[1]",
            "anon_inode:[eventpoll]",
            "anon_inode:[eventfd]",
        ]
        .map(str::to_owned)
        .to_vec()),
        program: Ok("/usr/libexec/cordon/runner".into()),
        name: Ok("runner".to_owned()),
        maps: ["1000 900064 1", "1000 900064 1"].map(|map| Ok(map.to_owned())),
        mounts: Ok(parse_mounts(mounts)),
        ..facts(status, limits)
    }
}

fn waiting() -> ProcessFacts {
    runner(STATUS, LIMITS, MOUNTS)
}

fn host(facts: &ProcessFacts) -> Scene {
    let other = ProcessFacts { namespaces: namespaces(8), ..waiting() };
    let slots = vec![UID, 900_065];
    Scene { slots, inhabited: inhabited([facts, &other].into_iter()), ..scene(Mode::System) }
}

fn different(facts: &ProcessFacts) -> Vec<&'static str> {
    let row = manifest::row(Process::Runner).unwrap();
    properties(&judge(row, PID, facts, &host(facts)), Verdict::Different)
}

#[test]
fn a_sound_runner_shows_no_difference_idle_or_busy() {
    assert!(different(&waiting()).is_empty(), "{:?}", different(&waiting()));
    let mut bound =
        runner(&STATUS.replace("Threads:\t1", "Threads:\t5"), LIMITS, &format!("{MOUNTS}{WORKSPACE}"));
    bound
        .descriptors
        .as_mut()
        .unwrap()
        .extend(["pipe:[5]", "anon_inode:[pidfd]", "/notes.md"].map(str::to_owned));
    assert!(different(&bound).is_empty(), "{:?}", different(&bound));
}

// Holds P2-33.
#[test]
fn each_fact_of_a_runner_that_is_weaker_is_a_difference_and_the_only_one() {
    let own = [
        ("NSpid:\t4711\t1", "NSpid:\t4711", "NSpid"),
        ("NSpid:\t4711\t1", "NSpid:\t4711\t2", "NSpid"),
        ("Gid:\t900064\t900064", "Gid:\t900064\t0", "Gid"),
        ("Cpus_allowed_list:\t1", "Cpus_allowed_list:\t0-1", "Cpus_allowed_list"),
        ("3600                 3601", "unlimited            unlimited", "Max cpu time"),
        ("3600                 3601", "7200                 7201", "Max cpu time"),
        ("128                  128 ", "96365                96365 ", "Max processes"),
        ("1024                 1024", "4096                 4096", "Max open files"),
        ("0                    0  ", "unlimited            unlimited", "Max core file size"),
        ("/usr ro,nosuid", "/usr rw,nosuid", "mounts"),
        ("/usr ro,nosuid", "/usr ro", "mounts"),
        ("/ ro,nosuid", "/ rw,nosuid", "mounts"),
        ("/ /tmp rw,nosuid,nodev", "/ /home rw,nosuid,nodev", "mounts"),
        ("/tmp rw,nosuid,nodev,relatime - tmpfs", "/tmp rw,nosuid,nodev,relatime - ext4", "mounts"),
        ("/etc/ssl /etc/ssl", "/root /root", "mounts"),
    ];
    for (line, weaker, property) in WEAKER.into_iter().chain(own) {
        let [status, limits, mounts] = [STATUS, LIMITS, MOUNTS].map(|text| text.replacen(line, weaker, 1));
        assert_ne!((&*status, &*limits, &*mounts), (STATUS, LIMITS, MOUNTS), "{line}");
        assert_eq!(different(&runner(&status, &limits, &mounts)), [property], "{weaker}");
    }
}

// Holds P2-33.
#[test]
fn a_runner_without_its_own_user_namespace_is_found() {
    let mut mapped = waiting();
    mapped.maps = ["0 0 4294967295", "0 0 4294967295"].map(|map| Ok(map.to_owned()));
    mapped.namespaces.insert("user", Err("withheld by the kernel".to_owned()));
    assert_eq!(different(&mapped), ["uid_map", "gid_map"]);
    mapped.namespaces.insert("user", Ok("user:[1]".to_owned()));
    assert_eq!(different(&mapped), ["user", "uid_map", "gid_map"]);
}

#[test]
fn each_shared_namespace_is_a_difference() {
    for name in kernel::NAMESPACES {
        for theirs in [1, 8] {
            let mut shared = waiting();
            shared.namespaces.insert(name, Ok(format!("{name}:[{theirs}]")));
            assert_eq!(different(&shared), [name], "{theirs}");
        }
    }
}

#[test]
fn a_uid_that_is_no_slots_is_a_difference() {
    for uid in [0_u32, 900_005, 900_065, 900_063, 900_256, 1000] {
        let (status, map) = (STATUS.replace("900064", &uid.to_string()), format!("1000 {uid} 1"));
        let mut other = runner(&status, LIMITS, MOUNTS);
        other.maps = [Ok(map.clone()), Ok(map)];
        let mut host = host(&other);
        host.slots = vec![uid, 900_065];
        let findings = judge(manifest::row(Process::Runner).unwrap(), PID, &other, &host);
        assert_eq!(properties(&findings, Verdict::Different), ["Uid"], "{uid}");
    }
}

#[test]
fn where_users_are_installed_a_slots_uid_is_any_but_roots_and_theirs() {
    for (uid, fits) in [(61_184, true), (0, false), (123, false)] {
        let other = runner(&STATUS.replace("900064", &uid.to_string()), LIMITS, MOUNTS);
        let mut host = host(&other);
        host.installed = [(Process::Memory, (123, 123))].into();
        host.slots = vec![uid, 900_065];
        let findings = judge(manifest::row(Process::Runner).unwrap(), PID, &other, &host);
        let different = properties(&findings, Verdict::Different);
        assert_eq!(!different.contains(&"Uid"), fits, "{uid}: {different:?}");
    }
}

#[test]
fn an_unmapped_runner_has_the_ids_of_its_workspaces_owner() {
    for (uid, fits) in [(UID, true), (1001, true), (0, false), (900_005, false)] {
        let facts = runner(&STATUS.replace("900064", &uid.to_string()), LIMITS, MOUNTS);
        let host = Scene { agentd_uid: 0, agentd: Some(supervisor(0)), ..scene(Mode::Flat) };
        let findings = judge(manifest::row(Process::Runner).unwrap(), PID, &facts, &host);
        let different = properties(&findings, Verdict::Different);
        assert_eq!(!different.contains(&"Uid"), fits, "{uid}: {different:?}");
        assert!(!different.contains(&"Gid") && !different.contains(&"Groups"), "{uid}: {different:?}");
    }
}

#[test]
fn what_a_runner_holds_beyond_its_socket_and_its_jail_is_a_difference() {
    for (stranger, property) in
        [("/etc/shadow", "descriptors"), ("anon_inode:[io_uring]", "descriptors"), ("socket:[2]", "sockets")]
    {
        let mut facts = waiting();
        facts.descriptors.as_mut().unwrap().push(stranger.to_owned());
        facts.foreign.as_mut().unwrap().insert(stranger.to_owned());
        assert_eq!(different(&facts), [property], "{stranger}");
    }
}

#[test]
fn in_flat_mode_a_file_of_the_host_is_found_by_its_path() {
    for (file, is_its_own) in
        [("/var/lib/cordon/memory/memory.db", false), ("/var/lib/cordon/runner/w/x", true)]
    {
        let mut facts = ProcessFacts { foreign: Err("no mounts are its own".to_owned()), ..waiting() };
        facts.descriptors.as_mut().unwrap().push(file.to_owned());
        let findings = judge(manifest::row(Process::Runner).unwrap(), PID, &facts, &scene(Mode::Flat));
        let verdict = findings.iter().find(|it| it.property == "descriptors").map(|it| it.verdict);
        let expected = if is_its_own { Verdict::Equal } else { Verdict::Different };
        assert_eq!(verdict, Some(expected), "{file}");
    }
}

#[test]
fn another_program_or_network_in_a_runners_place_is_a_difference() {
    let mut facts = waiting();
    facts.program = Ok("/usr/bin/python3".into());
    facts.routes = Ok(vec!["eth0".to_owned()]);
    facts.files_of = Ok(UID);
    assert_eq!(different(&facts), ["routes", "program", "dumpable"]);
}

#[test]
fn a_jail_held_by_a_cgroup_is_in_the_group_of_a_slot_beside_agentds() {
    for (path, holds) in
        [("/c/runners/slot-3", true), ("/c/runners", false), ("/c/host", false), ("/d/runners/slot-3", false)]
    {
        let facts = ProcessFacts { cgroup: Ok(path.to_owned()), ..waiting() };
        let agentd = ProcessFacts { cgroup: Ok("/c/host".to_owned()), ..supervisor(0) };
        let host = Scene { by_cgroup: true, agentd: Some(agentd), ..host(&facts) };
        let found = judge(manifest::row(Process::Runner).unwrap(), PID, &facts, &host);
        let expected = if holds { vec![] } else { vec!["cgroup"] };
        assert_eq!(properties(&found, Verdict::Different), expected, "{path}");
    }
}

// Holds P2-33.
#[test]
fn a_real_process_that_is_in_no_jail_differs_in_every_layer() {
    let pid = std::process::id();
    let facts = kernel::process_facts(pid).unwrap();
    for mode in [Mode::System, Mode::User] {
        let scene = Scene {
            own: own_namespaces(),
            agentd: kernel::process_facts(pid),
            slots: vec![],
            inhabited: inhabited([&facts].into_iter()),
            ..scene(mode)
        };
        let found = judge(manifest::row(Process::Runner).unwrap(), pid, &facts, &scene);
        let found = properties(&found, Verdict::Different);
        for property in [
            "PPid", "Uid", "NoNewPrivs", "Seccomp", "Max open files", "Max processes", "Max cpu time", "net",
            "mnt", "ipc", "uts", "user", "pid", "cgroup", "NSpid", "uid_map", "gid_map", "mounts", "program",
        ] {
            assert!(found.contains(&property), "{property} in mode {mode:?}: {found:?}");
        }
    }
}

#[test]
fn a_difference_of_a_runner_stands_only_if_it_was_there_at_the_first_look() {
    let row = manifest::row(Process::Runner).unwrap();
    let unsealed = runner(&STATUS.replace("Seccomp:\t2", "Seccomp:\t0"), LIMITS, MOUNTS);
    let looked = |pid: u32, facts: &ProcessFacts| {
        let status = BTreeMap::from_iter(
            facts
                .status
                .clone()
                .unwrap()
                .into_iter()
                .map(|(name, value)| (name, value.replace(&PID.to_string(), &pid.to_string()))),
        );
        judge(row, pid, &ProcessFacts { status: Ok(status), ..facts.clone() }, &host(facts))
    };
    let first = [looked(PID, &unsealed), looked(PID + 1, &waiting())].concat();
    let second = [looked(PID, &unsealed), looked(PID + 1, &unsealed), looked(PID + 2, &unsealed)].concat();
    let stands: Vec<(Option<u32>, &str)> = standing(second, &first)
        .iter()
        .filter(|it| it.verdict == Verdict::Different)
        .map(|it| (it.pid, it.property))
        .collect();
    assert_eq!(stands, [(Some(PID), "Seccomp")]);
}
