//! The limits of the jail, and the report of a command that exceeded one. Pure but for one mark, which the watch on the
//! jail's memory sets and the next command to end takes.

use std::sync::atomic::{AtomicBool, Ordering};

/// 128 and SIGXCPU, as a shell says it.
const OUT_OF_CPU: i32 = 152;
/// 128 and SIGXFSZ.
const FILE_TOO_LARGE: i32 = 153;
/// 128 and SIGKILL, which the watch sends.
const KILLED: i32 = 137;

static MEMORY: AtomicBool = AtomicBool::new(false);

/// A limit that ends a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// The programs in the jail together held more memory than they may.
    Memory,
    /// Its CPU time is used up.
    Cpu,
    /// It wrote more into one file than it may.
    FileSize,
}

/// The watch has ended everything in the jail but the runner, for its memory.
pub fn memory_reached() {
    MEMORY.store(true, Ordering::Release);
}

/// A command begins: earlier marks of the watch were not about it.
pub fn begin() {
    MEMORY.store(false, Ordering::Release);
}

/// The limit by which a command with this exit code ended. A command can choose its code and lie about itself alone.
#[must_use]
pub fn reached(code: i32) -> Option<Reached> {
    let memory = MEMORY.swap(false, Ordering::AcqRel);
    match code {
        KILLED if memory => Some(Reached::Memory),
        OUT_OF_CPU => Some(Reached::Cpu),
        FILE_TOO_LARGE => Some(Reached::FileSize),
        _ => None,
    }
}

impl Reached {
    /// A short name that does not change.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory_limit",
            Self::Cpu => "cpu_limit",
            Self::FileSize => "file_limit",
        }
    }

    /// A sentence about the event, for the model or the person.
    #[must_use]
    pub fn sentence(self) -> String {
        let limits = manifest::row(manifest::Process::Runner).map(|row| row.limits);
        let (memory, file) = limits.map_or((0, 0), |limits| (limits.memory_mib, limits.file_mib));
        match self {
            Self::Memory => format!("everything in the jail together held more than {memory} MiB of memory"),
            Self::Cpu => "its CPU time was used up".to_owned(),
            Self::FileSize => format!("it wrote a file of more than {file} MiB"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_killed_command_is_put_down_to_memory() {
        memory_reached();
        begin();
        assert_eq!(reached(137), None);
        memory_reached();
        assert_eq!(reached(0), None, "it ended by itself before the watch came");
        assert_eq!(reached(137), None, "the mark was the one before");
        memory_reached();
        assert_eq!(reached(137), Some(Reached::Memory));
        assert_eq!((reached(152), reached(153)), (Some(Reached::Cpu), Some(Reached::FileSize)));
        assert!(Reached::Memory.sentence().contains("512 MiB"));
    }
}
