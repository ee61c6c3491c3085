//! Captured `/proc` text of a well confined process, and one weakness at a time: each must be a difference.

mod runners;

use super::findings::{Finding, Verdict};
use super::judge::{agentd, process};
use super::scene::{Mode, Scene};
use crate::kernel::{NAMESPACES, ProcessFacts, parse_limits, parse_status};
use manifest::Process;
use std::collections::BTreeMap;
use std::path::PathBuf;

const PID: u32 = 4711;
const AGENTD: u32 = 4700;
/// Base 900000 and memory's number.
const UID: u32 = 900_005;

const STATUS: &str = "Name:\tmemory\nUmask:\t0077\nState:\tS (sleeping)\nPid:\t4711\nPPid:\t4700\nTracerPid:\t0\n\
Uid:\t900005\t900005\t900005\t900005\nGid:\t900005\t900005\t900005\t900005\nFDSize:\t64\nGroups:\t \n\
Threads:\t1\nCapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n\
CapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t2\n";

const LIMITS: &str = "Limit                     Soft Limit           Hard Limit           Units     \n\
Max cpu time              unlimited            unlimited            seconds   \n\
Max file size             4294967296           4294967296           bytes     \n\
Max data size             268435456            268435456            bytes     \n\
Max core file size        0                    0                    bytes     \n\
Max open files            256                  256                  files     \n";

/// The maps of the first user namespace.
const FIRST_MAP: &str = "0 0 4294967295";

fn namespaces(number: u32) -> BTreeMap<&'static str, Result<String, String>> {
    NAMESPACES.into_iter().map(|name| (name, Ok(format!("{name}:[{number}]")))).collect()
}

fn descriptors() -> Vec<String> {
    [
        "/dev/null",
        "pipe:[11]",
        "socket:[1]",
        "socket:[2]",
        "socket:[3]",
        "socket:[4]",
        "socket:[5]",
        "socket:[6]",
        // The event loop's own pair, one end twice.
        "socket:[21]",
        "socket:[22]",
        "socket:[21]",
        "anon_inode:[eventpoll]",
        "anon_inode:[eventfd]",
        "/memfd:section (deleted)",
        "/proc/4711/smaps_rollup",
        "/var/lib/cordon/memory/memory.db",
        "/var/lib/cordon/memory/etilqs_1 (deleted)",
        "/tmp/state/memory/memory.db-wal",
    ]
    .map(str::to_owned)
    .to_vec()
}

fn facts(status: &str, limits: &str) -> ProcessFacts {
    ProcessFacts {
        status: Ok(parse_status(status)),
        limits: Ok(parse_limits(limits)),
        namespaces: namespaces(2),
        routes: Ok(vec![]),
        made: Ok(["socket:[21]", "socket:[22]"].map(str::to_owned).into()),
        descriptors: Ok(descriptors()),
        program: Ok(PathBuf::from("/usr/libexec/cordon/memory")),
        files_of: Ok(0),
        name: Ok("memory".to_owned()),
        maps: [FIRST_MAP, FIRST_MAP].map(|map| Ok(map.to_owned())),
        mounts: Ok(vec![]),
        foreign: Ok(["/dev/null".to_owned()].into()),
        cgroup: Ok("/".to_owned()),
    }
}

fn good() -> ProcessFacts {
    facts(STATUS, LIMITS)
}

fn supervisor(uid: u32) -> ProcessFacts {
    let ids = format!("{uid} {uid} {uid} {uid}");
    let status = format!("Pid:\t{AGENTD}\nUid:\t{ids}\nGid:\t{ids}\nGroups:\t27 100\nSeccomp_filters:\t0\n");
    ProcessFacts { namespaces: namespaces(1), ..facts(&status, LIMITS) }
}

fn scene(mode: Mode) -> Scene {
    let uid = if mode == Mode::System { 0 } else { 1000 };
    Scene {
        mode,
        state_dirs: vec![PathBuf::from("/var/lib/cordon"), PathBuf::from("/tmp/state")],
        agentd_pid: AGENTD,
        agentd_uid: uid,
        agentd: Some(supervisor(uid)),
        own: namespaces(1),
        uids: BTreeMap::from([
            (Process::Audit, 900_001),
            (Process::Memory, UID),
            (Process::Router, 900_007),
            (Process::Gate, 900_008),
        ]),
        installed: BTreeMap::new(),
        by_cgroup: false,
        slots: vec![],
        inhabited: BTreeMap::new(),
    }
}

/// A process as an ordinary user sees their own: the kernel withholds the rest.
fn withheld() -> ProcessFacts {
    let mut facts = facts(&STATUS.replace("900005", "1000"), LIMITS);
    let reason = || "withheld by the kernel (EACCES): the process cannot be dumped".to_owned();
    facts.namespaces = NAMESPACES.into_iter().map(|name| (name, Err(reason()))).collect();
    facts.descriptors = Err(reason());
    facts.program = Err(reason());
    facts
}

fn judged(facts: &ProcessFacts, scene: &Scene) -> Vec<Finding> {
    process(manifest::row(Process::Memory).unwrap(), PID, facts, scene)
}

fn properties(findings: &[Finding], verdict: Verdict) -> Vec<&'static str> {
    findings.iter().filter(|finding| finding.verdict == verdict).map(|finding| finding.property).collect()
}

#[test]
fn a_process_confined_as_the_table_says_shows_no_difference() {
    let findings = judged(&good(), &scene(Mode::System));
    assert!(properties(&findings, Verdict::Different).is_empty(), "{findings:?}");
    assert_eq!(properties(&findings, Verdict::Unreadable), ["landlock"]);
}

// Holds P2-34.
#[test]
fn what_the_kernel_withholds_is_unreadable_and_never_equal() {
    let findings = judged(&withheld(), &scene(Mode::User));
    assert!(properties(&findings, Verdict::Different).is_empty(), "{findings:?}");
    let hidden = properties(&findings, Verdict::Unreadable);
    for property in
        ["net", "mnt", "ipc", "uts", "user", "pid", "descriptors", "sockets", "program", "landlock"]
    {
        assert!(hidden.contains(&property), "{property}");
    }
    assert!(findings.iter().filter(|f| f.verdict == Verdict::Unreadable).all(|f| !f.reason.is_empty()));
}

/// Lines of `status` that every confined process has, each with what it is where that is weaker, and of what it is a difference.
const WEAKER: [(&str, &str, &str); 11] = [
    ("PPid:\t4700", "PPid:\t1", "PPid"),
    ("Groups:\t ", "Groups:\t27 ", "Groups"),
    ("Threads:\t1", "Threads:\t2", "Threads"),
    ("CapInh:\t0000000000000000", "CapInh:\t0000000000000001", "CapInh"),
    ("CapPrm:\t0000000000000000", "CapPrm:\t0000000000200000", "CapPrm"),
    ("CapEff:\t0000000000000000", "CapEff:\t0000000000200000", "CapEff"),
    ("CapBnd:\t0000000000000000", "CapBnd:\t000001ffffffffff", "CapBnd"),
    ("CapAmb:\t0000000000000000", "CapAmb:\t0000000000000400", "CapAmb"),
    ("NoNewPrivs:\t1", "NoNewPrivs:\t0", "NoNewPrivs"),
    ("Seccomp:\t2", "Seccomp:\t0", "Seccomp"),
    ("Seccomp_filters:\t2", "Seccomp_filters:\t1", "Seccomp_filters"),
];

#[test]
fn each_weakened_line_of_status_is_a_difference() {
    let ids = [
        ("Uid:\t900005\t900005\t900005\t900005", "Uid:\t0\t0\t0\t0", "Uid"),
        ("Uid:\t900005\t900005\t900005\t900005", "Uid:\t900005\t900005\t0\t900005", "Uid"),
        ("Gid:\t900005\t900005\t900005\t900005", "Gid:\t900005\t0\t900005\t900005", "Gid"),
    ];
    for (line, weaker, property) in WEAKER.into_iter().chain(ids) {
        assert!(STATUS.contains(line), "{line}");
        let findings = judged(&facts(&STATUS.replace(line, weaker), LIMITS), &scene(Mode::System));
        assert_eq!(properties(&findings, Verdict::Different), [property], "{weaker}");
    }
}

// Holds B-08.
#[test]
fn each_weakened_limit_is_a_difference() {
    for (value, weaker, property) in [
        ("256                  256 ", "20000                20000 ", "Max open files"),
        ("256                  256 ", "256                  20000 ", "Max open files"),
        ("268435456            268435456", "unlimited            unlimited", "Max data size"),
        ("4294967296           4294967296", "unlimited            unlimited", "Max file size"),
        ("0                    0  ", "0                    unlimited", "Max core file size"),
    ] {
        assert!(LIMITS.contains(value), "{value}");
        let findings = judged(&facts(STATUS, &LIMITS.replace(value, weaker)), &scene(Mode::System));
        assert_eq!(properties(&findings, Verdict::Different), [property], "{weaker}");
    }
}

#[test]
fn a_limit_or_field_that_is_missing_is_not_equal() {
    let findings = judged(&facts("Name:\tmemory\n", "Limit\n"), &scene(Mode::System));
    let unreadable = properties(&findings, Verdict::Unreadable);
    for property in ["Uid", "NoNewPrivs", "Seccomp", "CapEff", "Max open files"] {
        assert!(unreadable.contains(&property), "{property}");
    }
}

#[test]
fn the_hosts_own_namespaces_and_routes_are_a_difference_save_in_flat() {
    let mut shared = good();
    shared.namespaces = namespaces(1);
    shared.routes = Ok(vec!["eth0".to_owned()]);
    let findings = judged(&shared, &scene(Mode::System));
    assert_eq!(properties(&findings, Verdict::Different), ["net", "mnt", "ipc", "uts", "routes"]);
    shared.status = Ok(parse_status(&STATUS.replace("900005", "1000")));
    let findings = judged(&shared, &scene(Mode::Flat));
    assert!(properties(&findings, Verdict::Different).is_empty(), "{findings:?}");
}

#[test]
fn a_user_namespace_that_maps_others_than_agentds_is_a_difference() {
    let mut facts = good();
    facts.maps[0] = Ok("0 1000 1".to_owned());
    assert_eq!(properties(&judged(&facts, &scene(Mode::System)), Verdict::Different), ["uid_map"]);
}

#[test]
fn filters_that_agentd_was_started_under_are_everybodys() {
    let mut scene = scene(Mode::System);
    let supervisors = scene.agentd.as_mut().unwrap().status.as_mut().unwrap();
    supervisors.insert("Seccomp_filters".to_owned(), "3".to_owned());
    assert_eq!(properties(&judged(&good(), &scene), Verdict::Different), ["Seccomp_filters"]);
    let more = facts(&STATUS.replace("Seccomp_filters:\t2", "Seccomp_filters:\t5"), LIMITS);
    assert!(properties(&judged(&more, &scene), Verdict::Different).is_empty());
}

#[test]
fn only_the_dialer_may_share_the_hosts_network() {
    let row = manifest::row(Process::Dialer).unwrap();
    let mut facts = good();
    facts.namespaces.insert("net", Ok("net:[1]".to_owned()));
    facts.routes = Ok(vec!["eth0".to_owned()]);
    let findings = process(row, PID, &facts, &scene(Mode::System));
    let different = properties(&findings, Verdict::Different);
    assert!(!different.contains(&"net") && !different.contains(&"routes"), "{different:?}");
}

#[test]
fn a_descriptor_that_the_row_does_not_explain_is_a_difference() {
    for stranger in [
        "/etc/shadow",
        "/var/lib/cordon/audit/log",
        "/var/lib/cordon/memory-of-others/x",
        "/dev/mem",
        "/proc/1/mem",
        "anon_inode:bpf-prog",
        "anon_inode:[io_uring]",
        "anon_inode:[pidfd]",
    ] {
        let mut facts = good();
        facts.descriptors.as_mut().unwrap().push(stranger.to_owned());
        let findings = judged(&facts, &scene(Mode::System));
        assert_eq!(properties(&findings, Verdict::Different), ["descriptors"], "{stranger}");
        assert!(findings.iter().any(|finding| finding.found.contains(stranger)), "{stranger}");
    }
}

#[test]
fn a_granted_file_below_proc_self_is_that_of_the_process_alone() {
    let row = manifest::row(Process::Dialer).unwrap();
    let differs = |target: &str| {
        let facts = ProcessFacts { descriptors: Ok(vec![target.to_owned()]), ..good() };
        properties(&process(row, PID, &facts, &scene(Mode::System)), Verdict::Different)
            .contains(&"descriptors")
    };
    assert!(!differs("/proc/4711/net/fib_trie (deleted)"));
    assert!(differs("/proc/4712/net/fib_trie") && differs("/proc/4711/net/route"));
}

#[test]
fn a_socket_more_than_the_table_has_edges_is_a_difference() {
    let mut facts = good();
    facts.descriptors.as_mut().unwrap().push("socket:[7]".to_owned());
    assert_eq!(properties(&judged(&facts, &scene(Mode::System)), Verdict::Different), ["sockets"]);
}

#[test]
fn a_socket_more_that_it_made_itself_is_a_difference() {
    let mut facts = good();
    facts.descriptors.as_mut().unwrap().push("socket:[23]".to_owned());
    facts.made.as_mut().unwrap().insert("socket:[23]".to_owned());
    assert_eq!(properties(&judged(&facts, &scene(Mode::System)), Verdict::Different), ["sockets"]);
}

#[test]
fn in_flat_the_sockets_of_the_whole_host_excuse_none() {
    let mut facts = facts(&STATUS.replace("900005", "1000"), LIMITS);
    let everybodys = facts.descriptors.as_ref().unwrap().iter().cloned().collect();
    facts.made = Ok(everybodys);
    assert!(properties(&judged(&facts, &scene(Mode::Flat)), Verdict::Different).is_empty());
    facts.descriptors.as_mut().unwrap().push("socket:[7]".to_owned());
    assert_eq!(properties(&judged(&facts, &scene(Mode::Flat)), Verdict::Different), ["sockets"]);
}

#[test]
fn in_flat_as_root_every_process_has_its_own_uid_all_the_same() {
    let mut scene = scene(Mode::Flat);
    scene.agentd_uid = 0;
    assert!(properties(&judged(&good(), &scene), Verdict::Different).is_empty());
    scene.uids.insert(Process::Router, UID);
    scene.installed.insert(Process::Memory, (UID, UID));
    assert_eq!(properties(&judged(&good(), &scene), Verdict::Different), ["Uid"]);
}

#[test]
fn another_program_and_a_dumpable_process_are_differences() {
    let mut facts = good();
    facts.program = Ok(PathBuf::from("/usr/bin/python3"));
    facts.files_of = Ok(UID);
    let findings = judged(&facts, &scene(Mode::System));
    assert_eq!(properties(&findings, Verdict::Different), ["program", "dumpable"]);
    facts.program = Ok(PathBuf::from("/usr/libexec/cordon/memory (deleted)"));
    facts.files_of = Ok(0);
    let findings = judged(&facts, &scene(Mode::System));
    assert!(properties(&findings, Verdict::Different).is_empty());
    assert!(
        findings.iter().any(|finding| finding.property == "program" && finding.reason.contains("replaced"))
    );
}

#[test]
fn whether_a_process_can_be_dumped_is_judged_only_where_it_shows() {
    let mut mine = facts(&STATUS.replace("900005", "1000"), LIMITS);
    mine.files_of = Ok(1000);
    let verdict = |facts: &ProcessFacts, mode| {
        judged(facts, &scene(mode))
            .into_iter()
            .find(|finding| finding.property == "dumpable")
            .map(|it| it.verdict)
    };
    assert_eq!(verdict(&mine, Mode::Flat), Some(Verdict::Different));
    assert_eq!(verdict(&mine, Mode::User), Some(Verdict::Unreadable));
    mine.files_of = Ok(0);
    assert_eq!(verdict(&mine, Mode::Flat), Some(Verdict::Equal));
    let roots = facts(&STATUS.replace("900005", "0"), LIMITS);
    assert_eq!(verdict(&roots, Mode::Flat), Some(Verdict::Unreadable));
}

#[test]
fn two_processes_with_one_uid_are_a_difference_in_system_mode() {
    let mut scene = scene(Mode::System);
    scene.installed.insert(Process::Memory, (UID, UID));
    scene.uids.insert(Process::Router, UID);
    let findings = judged(&good(), &scene);
    assert_eq!(properties(&findings, Verdict::Different), ["Uid"]);
    assert!(findings.iter().any(|finding| finding.reason == "shared with router"));
}

#[test]
fn an_installed_user_is_held_to_its_own_uid() {
    let mut scene = scene(Mode::System);
    scene.installed.insert(Process::Memory, (123, 124));
    assert_eq!(properties(&judged(&good(), &scene), Verdict::Different), ["Uid", "Gid"]);
}

#[test]
fn the_bounding_set_may_be_full_in_flat_mode_only() {
    let full =
        STATUS.replace("900005", "1000").replace("CapBnd:\t0000000000000000", "CapBnd:\t000001ffffffffff");
    let findings = judged(&facts(&full, LIMITS), &scene(Mode::Flat));
    let bounding = findings.iter().find(|finding| finding.property == "CapBnd").unwrap();
    assert!(bounding.verdict == Verdict::Equal && bounding.reason.contains("flat gives this up"));
    let findings = judged(&facts(&full, LIMITS), &scene(Mode::User));
    assert_eq!(properties(&findings, Verdict::Different), ["CapBnd"]);
}

#[test]
fn agentd_is_root_in_system_mode_and_who_made_the_socket() {
    assert!(properties(&agentd(&scene(Mode::System), AGENTD), Verdict::Different).is_empty());
    assert_eq!(properties(&agentd(&scene(Mode::System), 1), Verdict::Different), ["pid"]);
    let mut weak = scene(Mode::System);
    weak.agentd = Some(supervisor(1000));
    assert_eq!(properties(&agentd(&weak, AGENTD), Verdict::Different), ["Uid"]);
    assert!(properties(&agentd(&scene(Mode::User), AGENTD), Verdict::Different).is_empty());
}

#[test]
fn an_unknown_mode_is_held_to_the_strictest() {
    assert_eq!(Mode::named("flat"), Mode::Flat);
    assert_eq!(Mode::named("something"), Mode::System);
}
