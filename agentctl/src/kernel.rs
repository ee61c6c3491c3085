//! Facts of a process, read from `/proc/PID` by this program itself. Nothing is judged here; a fact that the kernel
//! withholds is an error with the reason.

mod descriptors;
mod jailed;

pub(crate) use jailed::{Mount, children, parse_map, parse_mounts};

use nix::libc;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The namespaces that are looked at.
pub(crate) const NAMESPACES: [&str; 7] = ["net", "mnt", "ipc", "uts", "user", "pid", "cgroup"];

/// A value from the kernel, or the reason why it could not be read.
pub(crate) type Reading<T> = Result<T, String>;

/// The suffix to the name of a file that was unlinked.
pub(crate) const DELETED: &str = " (deleted)";

/// The fields of a `status` file by name.
pub(crate) type Status = BTreeMap<String, String>;
/// Soft and hard limits by name.
pub(crate) type Limits = BTreeMap<String, (String, String)>;

/// The kernel's facts of one process.
#[derive(Clone, Debug)]
pub(crate) struct ProcessFacts {
    /// `/proc/PID/status`.
    pub(crate) status: Reading<Status>,
    /// `/proc/PID/limits`.
    pub(crate) limits: Reading<Limits>,
    /// The targets of `/proc/PID/ns/NAME`, by name.
    pub(crate) namespaces: BTreeMap<&'static str, Reading<String>>,
    /// Interfaces other than `lo` that have a route in its network namespace.
    pub(crate) routes: Reading<Vec<String>>,
    /// The Unix sockets of its network namespace. If the namespace is its own, it made these itself; every other socket that
    /// it holds was handed to it.
    pub(crate) made: Reading<BTreeSet<String>>,
    /// The target of each of its descriptors.
    pub(crate) descriptors: Reading<Vec<String>>,
    /// The program it executes.
    pub(crate) program: Reading<PathBuf>,
    /// The uid that owns its files under `/proc`: root's if it cannot be dumped.
    pub(crate) files_of: Reading<u32>,
    /// Its own name.
    pub(crate) name: Reading<String>,
    /// The uid and gid maps of its user namespace.
    pub(crate) maps: [Reading<String>; 2],
    /// The mounts that it sees.
    pub(crate) mounts: Reading<Vec<Mount>>,
    /// The targets of those descriptors that were opened on none of these mounts.
    pub(crate) foreign: Reading<BTreeSet<String>>,
    /// Its cgroup of version 2.
    pub(crate) cgroup: Reading<String>,
}

/// The kernel's facts of `pid`; `None` if it is gone, or became another process meanwhile.
pub(crate) fn process_facts(pid: u32) -> Option<ProcessFacts> {
    of_one(pid, |folder| {
        let mounts = text(&folder.join("mountinfo")).map(|text| parse_mounts(&text));
        let opened = descriptors::opened(folder);
        ProcessFacts {
            status: text(&folder.join("status")).map(|text| parse_status(&text)),
            limits: text(&folder.join("limits")).map(|text| parse_limits(&text)),
            namespaces: namespaces(folder),
            routes: routes(folder),
            made: text(&folder.join("net/unix")).map(|text| parse_sockets(&text)),
            foreign: descriptors::foreign(&opened, &mounts),
            descriptors: opened.map(|opened| opened.into_iter().map(|(target, _)| target).collect()),
            program: link(&folder.join("exe")),
            files_of: folder.join("status").metadata().map(|stat| stat.uid()).map_err(reason),
            name: jailed::name(folder),
            maps: ["uid_map", "gid_map"].map(|name| text(&folder.join(name)).map(|text| parse_map(&text))),
            mounts,
            cgroup: jailed::cgroup(folder),
        }
    })
}

/// The target of each descriptor of `pid`; `None` if it is gone, or became another process meanwhile.
pub(crate) fn descriptors(pid: u32) -> Option<Reading<Vec<String>>> {
    of_one(pid, descriptors::targets)
}

/// Reads facts of `pid`; `None` if it is gone, or became another process meanwhile.
fn of_one<T>(pid: u32, read: impl FnOnce(&Path) -> T) -> Option<T> {
    let folder = PathBuf::from(format!("/proc/{pid}"));
    let before = started(&folder)?;
    let found = read(&folder);
    (started(&folder)? == before).then_some(found)
}

/// The namespaces of this process.
pub(crate) fn own_namespaces() -> BTreeMap<&'static str, Reading<String>> {
    namespaces(Path::new("/proc/self"))
}

fn namespaces(folder: &Path) -> BTreeMap<&'static str, Reading<String>> {
    let read = |name: &'static str| {
        let target = link(&folder.join("ns").join(name));
        (name, target.map(|target| target.to_string_lossy().into_owned()))
    };
    NAMESPACES.into_iter().map(read).collect()
}

/// Its start time in ticks since boot, which distinguishes a process from a later one with the same pid.
fn started(folder: &Path) -> Option<String> {
    facts(folder, [19]).map(|[started]| started)
}

/// Fields of its `stat` file. The name before them may hold any character, so they are counted from the last parenthesis.
fn facts<const N: usize>(folder: &Path, fields: [usize; N]) -> Option<[String; N]> {
    let stat = std::fs::read_to_string(folder.join("stat")).ok()?;
    let words: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let found: Option<Vec<String>> =
        fields.iter().map(|at| words.get(*at).map(|it| (*it).to_owned())).collect();
    found?.try_into().ok()
}

fn text(path: &Path) -> Reading<String> {
    std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).map_err(reason)
}

fn link(path: &Path) -> Reading<PathBuf> {
    std::fs::read_link(path).map_err(reason)
}

fn reason(error: io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EACCES) => "withheld by the kernel (EACCES): the process cannot be dumped".to_owned(),
        Some(libc::EPERM) => "withheld by the kernel (EPERM)".to_owned(),
        _ => format!("cannot be read: {error}"),
    }
}

fn routes(folder: &Path) -> Reading<Vec<String>> {
    let four = text(&folder.join("net/route"))?;
    // A kernel without IPv6 has no such file, and no such route.
    let six = text(&folder.join("net/ipv6_route")).unwrap_or_default();
    Ok(parse_routes(&four, &six))
}

/// `Name:<tab>value` lines; white space inside a value becomes one space.
pub(crate) fn parse_status(text: &str) -> Status {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    lines
        .map(|(name, value)| (name.to_owned(), value.split_whitespace().collect::<Vec<_>>().join(" ")))
        .collect()
}

/// Lines of a name of up to 25 characters, a soft and a hard limit.
pub(crate) fn parse_limits(text: &str) -> Limits {
    let lines = text.lines().skip(1).filter_map(|line| {
        let (name, rest) = line.split_at_checked(25)?;
        let mut words = rest.split_whitespace();
        Some((name.trim().to_owned(), (words.next()?.to_owned(), words.next()?.to_owned())))
    });
    lines.collect()
}

/// The interfaces other than `lo` that `/proc/net/route` (first column) and `ipv6_route` (last column) name.
pub(crate) fn parse_routes(four: &str, six: &str) -> Vec<String> {
    let four = four.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    let six = six.lines().filter_map(|line| line.split_whitespace().next_back());
    let mut names: Vec<String> = four.chain(six).filter(|name| *name != "lo").map(str::to_owned).collect();
    names.sort();
    names.dedup();
    names
}

/// The sockets that `/proc/net/unix` names, as descriptors point to them.
pub(crate) fn parse_sockets(text: &str) -> BTreeSet<String> {
    let lines = text.lines().skip(1);
    let inodes = lines.filter_map(|line| line.split_whitespace().nth(6)).filter(|inode| *inode != "0");
    inodes.map(|inode| format!("socket:[{inode}]")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_seen_as_it_is() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let opened = file.path().to_string_lossy().into_owned();
        let facts = process_facts(std::process::id()).unwrap();
        let status = facts.status.unwrap();
        assert_eq!(status.get("Pid"), Some(&std::process::id().to_string()));
        assert!(facts.limits.unwrap().contains_key("Max open files"));
        assert_eq!(facts.namespaces.get("net"), own_namespaces().get("net"));
        assert!(facts.descriptors.unwrap().contains(&opened));
        assert!(descriptors(std::process::id()).unwrap().unwrap().contains(&opened));
        assert_eq!(facts.program.unwrap(), std::env::current_exe().unwrap());
    }

    #[test]
    fn a_pid_that_nobody_has_is_gone() {
        assert!(process_facts(u32::MAX).is_none() && descriptors(u32::MAX).is_none());
    }

    #[test]
    fn a_network_with_only_a_loopback_has_no_routes() {
        let head = "Iface\tDestination\tGateway\n";
        let lo = "0000 00 0000 00 0000 ffffffff 00000001 00000000 00200200       lo\n";
        assert!(parse_routes(head, lo).is_empty());
        let four = format!("{head}eth0\t00000000\t0100A8C0\n");
        assert_eq!(parse_routes(&four, &lo.replace("      lo", "    wg0")), ["eth0", "wg0"]);
    }

    #[test]
    fn the_sockets_of_a_namespace_are_named_as_descriptors_point_to_them() {
        let text = "Num       RefCount Protocol Flags    Type St Inode Path\n\
            00000000421879bb: 00000003 00000000 00000000 0001 03 168761\n\
            00000000a119480b: 00000003 00000000 00010000 0001 01 168762 /run/x\n";
        let found: Vec<_> = parse_sockets(text).into_iter().collect();
        assert_eq!(found, ["socket:[168761]", "socket:[168762]"]);
    }

    proptest::proptest! {
        #[test]
        fn any_text_at_all_is_parsed_without_panic(text: String) {
            let _ = (parse_status(&text), parse_limits(&text), parse_routes(&text, &text), parse_sockets(&text));
        }
    }
}
