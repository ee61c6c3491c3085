//! Watches the memory of the whole jail from within. The runner is the first process of the jail, so it can see all of
//! it, end all of it, and must reap orphans. agentd or the kernel holds the jail to the same bound from outside; a
//! process that is ended here ends a tool and not the turn.

use manifest::Row;
use manifest::command::Mode;
use nix::sys::signal::{Signal, kill};
use nix::sys::statvfs::statvfs;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use runner::tools::limit;
use std::fs;
use std::time::Duration;

/// How often the sum is taken.
const EVERY: Duration = Duration::from_millis(100);
/// Sums over this many times the bound are not looked at more closely, which costs a look at every page.
const CLOSELY: u64 = 4;

/// Watches from now on, by a thread of its own: not before there is work that starts programs, since one that waits is to
/// have one thread, which is all that its filter was bound to. In flat mode there is no `/proc` to see: agentd's watch is
/// all.
pub(crate) fn begin(mode: Mode, row: &Row) {
    if mode == Mode::Flat {
        return;
    }
    let most = u64::from(row.limits.memory_mib) << 20;
    // Where it cannot be made, agentd's own watch remains.
    drop(std::thread::Builder::new().name("watch".into()).spawn(move || {
        loop {
            std::thread::sleep(EVERY);
            if is_over(most) {
                limit::memory_reached();
                // From the first process of a pid namespace, -1 is everybody in it but itself.
                let _ = kill(Pid::from_raw(-1), Signal::SIGKILL);
            }
        }
    }));
}

/// Returns true if all processes here hold more than `most` bytes. Shared pages are counted for each at first, and
/// divided among them only where it matters.
fn is_over(most: u64) -> bool {
    let (pids, files) = (pids(), in_files());
    let sum = |held: fn(u32) -> u64| files + pids.iter().map(|pid| held(*pid)).sum::<u64>();
    let loosely = sum(loosely);
    loosely > most && (loosely > most.saturating_mul(CLOSELY) || sum(closely) > most)
}

/// Every process but this one.
fn pids() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(|pid| *pid != 1).collect()
}

/// Bytes of a process that no file backs.
fn loosely(pid: u32) -> u64 {
    held(pid, "status", &["RssAnon:", "RssShmem:", "VmSwap:"]).unwrap_or_default()
}

/// The same, with shared pages divided among the processes; undivided where a process cannot be inspected.
fn closely(pid: u32) -> u64 {
    held(pid, "smaps_rollup", &["Pss_Anon:", "Pss_Shmem:", "SwapPss:"]).unwrap_or_else(|| loosely(pid))
}

/// Bytes in these fields of a file under `/proc`, each `NAME: NUMBER kB`.
fn held(pid: u32, file: &str, names: &[&str]) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/{file}")).ok()?;
    let field = |line: &str| {
        let mut words = line.split_whitespace();
        let wanted = words.next().is_some_and(|name| names.contains(&name));
        words.next().filter(|_| wanted)?.parse::<u64>().ok()
    };
    Some(text.lines().filter_map(field).sum::<u64>().saturating_mul(1024))
}

/// Bytes that lie in `/tmp`, which is memory here.
fn in_files() -> u64 {
    statvfs("/tmp").map_or(0, |sizes| {
        sizes.blocks().saturating_sub(sizes.blocks_free()).saturating_mul(sizes.fragment_size())
    })
}

/// Reaps orphans; only between tools, when nothing else waits.
pub(crate) fn reap() {
    while matches!(
        waitpid(None, Some(WaitPidFlag::WNOHANG)),
        Ok(WaitStatus::Exited(..) | WaitStatus::Signaled(..))
    ) {}
}
