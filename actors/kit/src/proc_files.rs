//! The kernel's figures of this process, from files that are opened before the seal.

use manifest::command::Measure;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Milliseconds of one tick in `/proc/PID/stat`: `USER_HZ` is 100 on every machine that this is built for.
const TICK_MS: u64 = 10;
/// Fields behind the name in `/proc/PID/stat`, `proc_pid_stat(5)`: utime, stime, and further on the number of threads.
const UTIME: usize = 11;
const STIME: usize = 12;
const THREADS: usize = 17;

/// The files.
pub(crate) struct ProcFiles {
    memory: Option<File>,
    stat: Option<File>,
}

impl ProcFiles {
    pub(crate) fn open() -> Self {
        Self { memory: File::open("/proc/self/smaps_rollup").ok(), stat: File::open("/proc/self/stat").ok() }
    }

    /// Proportional and resident set, KiB; zeros where the kernel gives none.
    pub(crate) fn memory(&self) -> (u64, u64) {
        let text = read(self.memory.as_ref());
        let value = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key))?;
            line.split_whitespace().next()?.parse().ok()
        };
        (value("Pss:").unwrap_or(0), value("Rss:").unwrap_or(0))
    }

    /// CPU time and threads; `None` where the kernel gives none.
    pub(crate) fn cpu(&self) -> Option<Measure> {
        cpu(&read(self.stat.as_ref()))
    }
}

fn read(file: Option<&File>) -> String {
    let mut buffer = [0; 1024];
    let length = file.and_then(|file| file.read_at(&mut buffer, 0).ok()).unwrap_or(0);
    String::from_utf8_lossy(buffer.get(..length).unwrap_or_default()).into_owned()
}

fn cpu(stat: &str) -> Option<Measure> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let field = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(Measure::Cpu {
        ms: (field(UTIME)? + field(STIME)?).saturating_mul(TICK_MS),
        threads: field(THREADS)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_and_threads_are_read_behind_any_name() {
        let tail = "S 1 2 3 4 5 6 7 8 9 10 250 50 0 0 20 0 3 0 99";
        for name in ["gate", "a) S 1 (b"] {
            assert_eq!(cpu(&format!("77 ({name}) {tail}")), Some(Measure::Cpu { ms: 3000, threads: 3 }));
        }
        assert_eq!(cpu(""), None);
        assert_eq!(cpu("77 (gate) S 1 2"), None);
    }

    #[test]
    fn the_kernel_says_these_of_this_process() {
        let files = ProcFiles::open();
        assert!(matches!(files.cpu(), Some(Measure::Cpu { threads: 1.., .. })));
        let (_, resident) = files.memory();
        assert!(resident > 0);
    }
}
