//! The jail's sum: everything that runs here together may use 512 MiB. The runner is the first process of the
//! jail, so it can see all of it, end all of it, and must collect what nobody waits for.

use manifest::command::Mode;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::fs;
use std::time::Duration;

/// How often the sum is taken.
const EVERY: Duration = Duration::from_millis(100);
/// Bytes of a page, as `statm` counts.
const PAGE: u64 = 4096;

/// Watches from a thread of its own. In flat mode there is no `/proc` to see: the limit of each process is all.
pub(crate) fn begin(mode: Mode) {
    if mode == Mode::Flat {
        return;
    }
    let most =
        manifest::row(manifest::Process::Runner).map_or(0, |row| u64::from(row.limits.memory_mib) << 20);
    drop(std::thread::Builder::new().name("watch".into()).spawn(move || {
        loop {
            std::thread::sleep(EVERY);
            if resident() > most {
                // From the first process of a pid namespace, -1 is everybody in it but itself.
                let _ = kill(Pid::from_raw(-1), Signal::SIGKILL);
            }
        }
    }));
}

/// Bytes resident of every process but this one; pages that several share count for each.
fn resident() -> u64 {
    let Ok(entries) = fs::read_dir("/proc") else { return 0 };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| *pid != 1).filter_map(pages).map(|pages| pages * PAGE).sum()
}

fn pages(pid: u32) -> Option<u64> {
    fs::read_to_string(format!("/proc/{pid}/statm")).ok()?.split_whitespace().nth(1)?.parse().ok()
}

/// Collects children that were left behind; only between tools, when nobody else waits.
pub(crate) fn reap() {
    while matches!(
        waitpid(None, Some(WaitPidFlag::WNOHANG)),
        Ok(WaitStatus::Exited(..) | WaitStatus::Signaled(..))
    ) {}
}
