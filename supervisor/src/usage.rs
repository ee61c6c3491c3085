//! The use of a jail as a whole, as the kernel counts it for each process: memory that only processes hold, the content of its `/tmp`,
//! CPU time. It reads `/proc` of processes that agentd started, and of their descendants, and nothing else.
//!
//! The processes of a jail are the runner and its descendants: an orphan becomes the runner's child, since the runner is the first
//! process of the jail, or in mode flat a subreaper.

use crate::tasks;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2};
use nix::sys::stat::{Mode, fstat};
use nix::sys::statfs::{TMPFS_MAGIC, fstatfs};
use nix::sys::statvfs::fstatvfs;
use std::fs::{self, File};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

/// Sums over this many times a bound are not examined further: a page that is shared by many processes is read for each, and a
/// jail could make agentd read for seconds.
const CLOSELY: u64 = 4;
/// Fields of `/proc/PID/stat` behind the name, `proc_pid_stat(5)`: utime, stime, cutime, cstime.
const TIMES: std::ops::Range<usize> = 11..15;
/// Milliseconds of one tick there: `USER_HZ` is 100 on every machine that this is built for.
const TICK_MS: u64 = 10;

/// The use of a jail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Processes, as far as they were counted.
    pub(crate) processes: u32,
    /// Bytes that would be free without it. Pages that can be read from a file again do not count.
    pub(crate) memory: u64,
    /// CPU time of all that run, and of those that ended and were waited for.
    pub(crate) cpu: Duration,
}

/// Bytes that a jail has written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    /// To files on a disk, also those in its page cache. Some file systems, most of them over a network, have the kernel count
    /// none.
    pub(crate) disk: u64,
    /// To anything: pipes and files in memory too.
    pub(crate) any: u64,
}

impl Written {
    /// The bytes since then.
    pub(crate) const fn since(self, before: Self) -> Self {
        Self { disk: self.disk.saturating_sub(before.disk), any: self.any.saturating_sub(before.any) }
    }
}

/// Adds up the jail whose runner is `root`: at most `most` processes and one more, which shows that there are more. Memory that
/// processes share is counted for each, and exactly only if the sum is over `bound`.
pub(crate) fn of(root: i32, most: u32, bound: u64) -> Usage {
    let (mut open, mut seen, mut usage) = (vec![root], Vec::new(), Usage::default());
    let mut ticks = 0;
    while let Some(pid) = open.pop() {
        if usage.processes > most {
            break;
        }
        // A process that has ended meanwhile does not count.
        let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { continue };
        usage.processes += 1;
        usage.memory += held(pid);
        ticks += times(&stat);
        open.extend(tasks::children(pid));
        seen.push(pid);
    }
    usage.cpu = Duration::from_millis(ticks.saturating_mul(TICK_MS));
    let files = in_files(root);
    usage.memory += files;
    if usage.memory > bound && usage.memory < bound.saturating_mul(CLOSELY) {
        usage.memory = files + seen.iter().map(|pid| closely(*pid)).sum::<u64>();
    }
    usage
}

/// Bytes that a jail has written, as the kernel counts them: by its running processes, and by those that ended and were waited for.
/// At most `most` processes are read.
pub(crate) fn written(root: i32, most: u32) -> Written {
    let (mut open, mut seen, mut all) = (vec![root], 0, Written::default());
    while let Some(pid) = open.pop().filter(|_| seen <= most) {
        seen += 1;
        let text = fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
        let count = |name: &str| -> u64 {
            text.lines().find_map(|line| line.strip_prefix(name)?.parse().ok()).unwrap_or(0)
        };
        all.disk = all.disk.saturating_add(count("write_bytes: "));
        all.any = all.any.saturating_add(count("wchar: "));
        open.extend(tasks::children(pid));
    }
    all
}

/// Bytes of a process that no file backs.
fn held(pid: i32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    kib(&text, &["RssAnon:", "RssShmem:", "VmSwap:"])
}

/// The same, with shared pages divided among their processes; undivided for a process that cannot be examined.
fn closely(pid: i32) -> u64 {
    match fs::read_to_string(format!("/proc/{pid}/smaps_rollup")) {
        Ok(text) => kib(&text, &["Pss_Anon:", "Pss_Shmem:", "SwapPss:"]),
        Err(_) => held(pid),
    }
}

/// Bytes in the jail's own file systems in memory; none where it has no root of its own (mode flat), since the machine's are shared.
fn in_files(root: i32) -> u64 {
    let Ok(jail) = File::open(format!("/proc/{root}/root")) else { return 0 };
    let which = |file: &File| fstat(file.as_fd()).map(|stat| (stat.st_dev, stat.st_ino));
    if File::open("/").is_ok_and(|own| which(&own) == which(&jail)) {
        return 0;
    }
    let (mut counted, mut bytes) = (Vec::new(), 0);
    for path in ["tmp", "dev/shm"] {
        let Some((device, used)) = inside(&jail, path).and_then(|folder| used(&folder)) else { continue };
        if !counted.contains(&device) {
            counted.push(device);
            bytes += used;
        }
    }
    bytes
}

/// Resolves links within the jail, whoever follows them.
fn inside(jail: &File, path: &str) -> Option<OwnedFd> {
    let how = OpenHow::new()
        .flags(OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC)
        .mode(Mode::empty())
        .resolve(ResolveFlag::RESOLVE_IN_ROOT | ResolveFlag::RESOLVE_NO_MAGICLINKS);
    openat2(jail.as_fd(), path, how).ok()
}

/// The device of a file system and its used bytes; `None` unless it is in memory.
fn used(folder: &OwnedFd) -> Option<(u64, u64)> {
    let kind = fstatfs(folder.as_fd()).ok()?.filesystem_type();
    let sizes = fstatvfs(folder.as_fd()).ok()?;
    let used = sizes.blocks().saturating_sub(sizes.blocks_free()).saturating_mul(sizes.fragment_size());
    let device = fstat(folder.as_fd()).ok()?.st_dev;
    (kind == TMPFS_MAGIC).then_some((device, used))
}

/// Ticks of CPU. The name before the fields is the process's own to choose.
fn times(stat: &str) -> u64 {
    let fields = stat.rsplit_once(") ").map(|(_, fields)| fields).unwrap_or_default();
    let wanted = fields.split(' ').enumerate().filter(|(at, _)| TIMES.contains(at));
    wanted.filter_map(|(_, word)| word.parse::<u64>().ok()).sum()
}

/// Bytes of these fields, each `NAME: NUMBER kB`.
fn kib(text: &str, names: &[&str]) -> u64 {
    names.iter().filter_map(|name| field(text, name)).sum::<u64>().saturating_mul(1024)
}

/// The number behind a word at a line's beginning.
pub(crate) fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next()? == name).then(|| words.next()?.parse().ok())?
    })
}

#[cfg(test)]
pub(crate) fn until(what: &str, done: impl Fn() -> bool) {
    let begun = std::time::Instant::now();
    while !done() {
        assert!(begun.elapsed() < Duration::from_secs(20), "not in 20 s: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    const MIB: u64 = 1 << 20;

    #[test]
    fn numbers_are_read_by_their_names_and_no_name_can_shift_them() {
        assert_eq!(
            kib("RssAnon:\t     12 kB\nRssFile:\t 9 kB\nVmSwap:\t 3 kB\n", &["RssAnon:", "VmSwap:"]),
            15 << 10
        );
        assert_eq!(field("low 1\noom 2\noom_kill 3\noom_group_kill 4\n", "oom_kill"), Some(3));
        let rest = "S 1 2 3 4 5 6 7 8 9 10 1 2 4 8 20 0 1";
        for name in ["sleep", ") S 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9", "a b"] {
            assert_eq!(times(&format!("7 ({name}) {rest}")), 15, "{name}");
        }
        assert_eq!(times("7 (sleep"), 0);
    }

    #[test]
    fn all_descendants_are_added_up_and_shared_memory_once_where_it_matters() {
        // Two copies of a shell that holds 24 MiB, whose pages they share.
        let script =
            "x=$(head -c 24M /dev/zero | tr '\\0' x); (read y; : $x) <&0 & (read y; : $x) <&0 & wait";
        #[expect(clippy::disallowed_methods, reason = "a test stands in for the jail")]
        let mut command = Command::new("/bin/bash");
        let mut child =
            command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let root = i32::try_from(child.id()).unwrap();
        let all = || of(root, 16, u64::MAX);
        until("three of them run", || all().processes == 3 && all().memory > 60 * MIB);
        let (loose, close) = (all(), of(root, 16, 50 * MIB));
        assert_eq!(loose.processes, 3);
        assert!(loose.memory > 60 * MIB && close.memory < loose.memory - 20 * MIB, "{loose:?} {close:?}");
        assert!(loose.cpu > Duration::ZERO);
        assert_eq!(of(root, 1, u64::MAX).processes, 2, "one more than the bound says that there are more");
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(of(root, 16, u64::MAX).processes, 0);
    }
}
