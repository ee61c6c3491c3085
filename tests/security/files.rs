//! Files after the seal: each row's own open in their mode and in no stronger one, and nothing else does.

use crate::probed::{Probed, actors, launch};
use manifest::syscalls::allows;
use manifest::{Access, Place, Process, Row};
use std::path::Path;

/// The host's files that no row lists; dialer lists two of `/etc`, and reads them before the seal.
const UNLISTED: &[&str] = &[
    "/etc/passwd",
    "/etc/shadow",
    "/etc/hostname",
    "/etc/hosts",
    "/usr/bin/env",
    "/proc/1/environ",
    "/proc/1/status",
    "/proc/self/environ",
    "/proc/self/mem",
    "/proc/self/status",
    "/proc/kallsyms",
    "/dev/kmsg",
    "/dev/null",
    "/dev/urandom",
    "/sys/kernel/uevent_seqnum",
];
const UNLISTED_FOLDERS: &[&str] = &["/", "/etc", "/usr/bin", "/proc", "/dev", "/tmp", "/root", "/home", ".."];
/// Where nothing may be made.
const UNWRITABLE: &[&str] = &["/", "/tmp", "/dev/shm", "/var/tmp", "/etc", ".."];

fn row(process: Process) -> &'static Row {
    manifest::row(process).unwrap()
}

/// Returns whether a process may open anything at all after the seal.
fn has_files(process: Process) -> bool {
    row(process).syscalls.iter().any(|group| group.calls.iter().any(|call| call.name == "openat"))
}

/// `O_CREAT`.
const CREATES: u64 = 0o100;

/// Returns whether a row has every call that an attempt takes. What it has not would end the probe, whatever the file.
fn has_calls(process: Process, item: &str) -> bool {
    let has = |name: &str, arguments: [u64; 6]| allows(row(process), name, &arguments, u32::MAX);
    let opens = has("openat", [0; 6]);
    let makes = has("openat", [0, 0, CREATES, 0o666, 0, 0]);
    let (renames, removes) = (has("rename", [0; 6]), has("unlink", [0; 6]));
    match item.split(' ').next() {
        Some("list") => opens && has("getdents64", [0; 6]),
        Some("create") => makes,
        Some("folder") => has("mkdir", [0; 6]),
        Some("remove") => removes,
        Some("rename") => renames,
        Some("keep") => makes && renames && removes && has("fsync", [0; 6]),
        _ => opens,
    }
}

fn path(place: Place) -> String {
    match place {
        Place::Own => ".".to_owned(),
        Place::State(folder) => format!("../{folder}"),
        Place::System(path) => path.to_owned(),
        // Opened before the seal alone; who lists such files may open nothing after it, and is not tried here.
        Place::Named(_) => String::new(),
    }
}

/// Launches a host in which everybody with files is a probe that tries these, and waits for them to be done.
fn tried(config: &str, items: impl Fn(Process) -> Vec<String>) -> (Probed, Vec<Process>) {
    let with_files: Vec<Process> = actors().filter(|process| has_files(*process)).collect();
    assert!(with_files.len() > 3);
    let tasks: Vec<(Process, String)> = with_files
        .iter()
        .map(|process| (*process, format!("files\n{}", items(*process).join("\n"))))
        .collect();
    let tasks: Vec<(Process, &str)> = tasks.iter().map(|(process, task)| (*process, task.as_str())).collect();
    let probed = launch(config, &tasks);
    for process in &with_files {
        probed.wait_said(*process, "done");
    }
    (probed, with_files)
}

/// How an attempt came out; each must have been made.
fn outcome(probed: &Probed, process: Process, item: &str) -> String {
    let said = probed.after(process, &format!("{item}: "));
    said.unwrap_or_else(|| panic!("{} did not try {item}: {:?}", process.name(), probed.said(process)))
}

/// Acts that the grants of a row allow or refuse: a verb and a path, with the expected result.
fn by_the_row(process: Process) -> Vec<(String, bool)> {
    row(process)
        .opens
        .iter()
        .flat_map(|open| {
            let path = path(open.place);
            let writes = open.access == Access::Write;
            let mut attempts = vec![(format!("list {path}"), true), (format!("keep {path}"), writes)];
            attempts.push((format!("create {path}/probe-created"), writes));
            if open.place == Place::Own {
                attempts.extend([("read task".to_owned(), true), ("append lives".to_owned(), writes)]);
                attempts.push(("folder probe-folder".to_owned(), writes));
            }
            if open.place == Place::State("logs") {
                let log = |verb: &str| format!("{verb} {path}/task");
                attempts.extend([(log("read"), true), (log("write"), false), (log("append"), false)]);
                attempts.extend([(log("remove"), false), (log("rename"), false)]);
            }
            attempts
        })
        .filter(|(item, _)| has_calls(process, item))
        .collect()
}

fn listed(config: &str) {
    let items = |process| by_the_row(process).into_iter().map(|(item, _)| item).collect();
    let (probed, processes) = tried(config, items);
    for process in processes {
        for (item, allowed) in by_the_row(process) {
            let came = outcome(&probed, process, &item);
            let refused = matches!(came.as_str(), "EACCES" | "EPERM");
            assert!(if allowed { came == "ok" } else { refused }, "{}: {item}: {came}", process.name());
        }
    }
}

// Holds P2-09.
#[test]
fn every_listed_file_opens_in_its_mode_and_in_no_stronger_one() {
    listed("");
}

#[test]
fn every_listed_file_opens_in_its_mode_without_namespaces_too() {
    listed("[host]\nmode = \"flat\"\n");
}

/// Paths that no row lists, with other processes' folders, each of which has a file of a known name in it.
fn beyond_the_row(process: Process) -> Vec<String> {
    let granted = |path: &str| row(process).opens.iter().any(|open| self::path(open.place) == path);
    let mut items = vec!["read ../lock".to_owned(), "write ../lock".to_owned(), "remove ../lock".to_owned()];
    items.extend(UNLISTED.iter().filter(|path| Path::new(path).exists()).map(|path| format!("read {path}")));
    items.extend(["/etc/passwd", "/dev/null"].map(|path| format!("write {path}")));
    items.extend(
        UNLISTED_FOLDERS.iter().filter(|path| Path::new(path).exists()).map(|path| format!("list {path}")),
    );
    let unwritable = UNWRITABLE.iter().filter(|path| Path::new(path).exists());
    items.extend(
        unwritable.flat_map(|path| [format!("create {path}/probe"), format!("folder {path}/probe-folder")]),
    );
    let others =
        actors().map(Process::name).filter(|name| *name != process.name()).chain(["logs", "stage", "runner"]);
    for other in others.map(|name| format!("../{name}")).filter(|path| !granted(path)) {
        items.extend([
            format!("list {other}"),
            format!("create {other}/probe"),
            format!("rename {other}/task"),
        ]);
        items.extend(["read", "write", "remove"].map(|verb| format!("{verb} {other}/task")));
    }
    if !granted(".") {
        items.extend(["list .", "read task", "create probe"].map(str::to_owned));
    }
    items.retain(|item| has_calls(process, item));
    items
}

fn unlisted(config: &str) {
    let (probed, processes) = tried(config, beyond_the_row);
    for process in processes {
        for item in beyond_the_row(process) {
            let came = outcome(&probed, process, &item);
            // A path that is not there for this process is as good as refused; but most must have
            // been there to be refused, or this would prove nothing.
            assert!(
                matches!(came.as_str(), "EACCES" | "EPERM" | "ENOENT"),
                "{}: {item}: {came}",
                process.name()
            );
        }
        let said = probed.said(process);
        let refused = said.iter().filter(|line| line.ends_with("EACCES") || line.ends_with("EPERM")).count();
        let absent = said.iter().filter(|line| line.ends_with("ENOENT")).count();
        assert!(refused > 3 * absent, "{}: {refused} refused, {absent} absent", process.name());
    }
}

// Holds P10-01, P2-09.
#[test]
fn no_unlisted_file_opens_after_the_seal() {
    unlisted("");
}

// Holds P2-09.
#[test]
fn no_unlisted_file_opens_without_namespaces_either() {
    unlisted("[host]\nmode = \"flat\"\n");
}

#[test]
fn what_a_process_lists_and_reads_before_the_seal_is_there_for_its_uid() {
    let lists_system =
        |process: &Process| row(*process).opens.iter().any(|open| matches!(open.place, Place::System(_)));
    let processes: Vec<Process> = actors().filter(lists_system).collect();
    assert!(!processes.is_empty());
    let tasks: Vec<(Process, &str)> = processes.iter().map(|process| (*process, "files")).collect();
    let probed = launch("", &tasks);
    for process in processes {
        probed.wait_said(process, "done");
        for open in row(process).opens {
            let path = path(open.place);
            if Path::new(&path).exists() {
                assert_eq!(outcome(&probed, process, &format!("before the seal {path}")), "ok");
            }
        }
    }
}

#[test]
fn a_process_that_keeps_no_files_dies_by_opening_one_after_the_seal() {
    let without: Vec<Process> = actors().filter(|process| !has_files(*process)).collect();
    assert!(without.contains(&Process::Scanner) && without.contains(&Process::Web));
    let tasks: Vec<(Process, &str)> = without.iter().map(|process| (*process, "acts\nopenat")).collect();
    let probed = launch("", &tasks);
    for process in without {
        probed.wait_said(process, "life 2");
        let ended =
            format!("agentd: {} is ended: it may not call openat with these arguments", process.name());
        assert_eq!(probed.host.log().lines().filter(|line| line.ends_with(&ended)).count(), 1);
    }
}
