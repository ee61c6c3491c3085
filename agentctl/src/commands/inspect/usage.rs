//! The kernel's figures of a process, as far as it shows them to this user.

use std::fs;

/// Milliseconds of one tick in `/proc/PID/stat`: `USER_HZ` is 100 on every machine that this is built for.
const TICK_MS: u64 = 10;

/// CPU time, threads and open descriptors.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) cpu_ms: Option<u64>,
    pub(super) threads: Option<u64>,
    /// None where only its own user may list them.
    pub(super) descriptors: Option<u64>,
}

impl Usage {
    /// The figures of the process with this pid; nothing for 0.
    pub(super) fn of(pid: u32) -> Self {
        if pid == 0 {
            return Self::default();
        }
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // utime, stime and the number of threads, as fields behind the name: proc_pid_stat(5).
        let fields: Vec<&str> =
            stat.rsplit_once(") ").map(|(_, rest)| rest.split(' ').collect()).unwrap_or_default();
        let field = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok());
        let ticks = field(11).zip(field(12)).map(|(user, system)| user.saturating_add(system));
        let listed = fs::read_dir(format!("/proc/{pid}/fd")).ok();
        Self {
            cpu_ms: ticks.map(|ticks| ticks.saturating_mul(TICK_MS)),
            threads: field(17),
            descriptors: listed.and_then(|entries| u64::try_from(entries.count()).ok()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_seen_and_none_is_not() {
        let own = Usage::of(std::process::id());
        assert!(own.cpu_ms.is_some() && own.threads > Some(0) && own.descriptors > Some(2), "{own:?}");
        assert_eq!(Usage::of(0), Usage::default());
    }
}
