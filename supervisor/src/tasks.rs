//! A process's threads, as the kernel shows them: if all are stopped, the process's start time, and its children. It reads `/proc` of
//! processes that agentd started, and of their descendants, and nothing else.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::str::FromStr;

/// The index of the start time among the fields after the name, `proc_pid_stat(5)`: field 22, counted from field 3.
const BEGAN: usize = 19;

/// The state of a process.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tasks {
    /// No thread of it runs or sleeps: each is stopped, or has ended.
    pub(crate) still: bool,
    /// Its start time in the kernel's own count: together with the pid it identifies one process for good.
    pub(crate) began: u64,
    /// Its children, if it is stopped; until it continues it starts no more, and none of these pids is reused, since nobody collects
    /// them.
    pub(crate) children: Vec<i32>,
}

/// Returns true if this kernel lists the children of a process: not every one is built to.
pub(crate) fn tells_children() -> bool {
    Path::new("/proc/thread-self/children").exists()
}

/// Looks at a process; `None` if it has ended.
pub(crate) fn of(pid: i32) -> io::Result<Option<Tasks>> {
    gone(look(pid))
}

fn look(pid: i32) -> io::Result<Tasks> {
    let (_, began) = stat(&fs::read_to_string(format!("/proc/{pid}/stat"))?)?;
    let mut tasks = Tasks { still: true, began, children: Vec::new() };
    let folder = format!("/proc/{pid}/task");
    for entry in fs::read_dir(&folder)? {
        let task = entry?.path();
        let Some(text) = gone(fs::read_to_string(task.join("stat")))? else { continue };
        let (state, _) = stat(&text)?;
        tasks.still &= matches!(state, 'T' | 't' | 'Z' | 'X');
        let children = gone(fs::read_to_string(task.join("children")))?.unwrap_or_default();
        tasks.children.extend(children.split_whitespace().filter_map(|word| i32::from_str(word).ok()));
    }
    if !tasks.still {
        tasks.children.clear();
    }
    Ok(tasks)
}

/// The children of a process, as far as the kernel lists them now; one that runs may start more meanwhile.
pub(crate) fn children(pid: i32) -> Vec<i32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let told = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    told.flat_map(|text| text.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// State and start time. The name before them is the process's own to choose, and may hold anything but a line's end.
fn stat(text: &str) -> io::Result<(char, u64)> {
    let read = || {
        let (_, fields) = text.rsplit_once(") ")?;
        let state = fields.chars().next()?;
        Some((state, fields.split(' ').nth(BEGAN)?.parse().ok()?))
    };
    read().ok_or_else(|| ErrorKind::InvalidData.into())
}

/// Turns the error for a process that has ended into `None`.
fn gone<T>(read: io::Result<T>) -> io::Result<Option<T>> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) if error.raw_os_error() == Some(nix::libc::ESRCH) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_pass_for_the_state_behind_it() {
        let rest = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20";
        for name in ["sleep", ") T 1 2", "a) T", "\n) Z "] {
            assert_eq!(stat(&format!("7 ({name}) {rest}")).unwrap(), ('S', 4711), "{name}");
        }
        for broken in ["", "7 (sleep", "7 (sleep) ", "7 (sleep) S 1 2"] {
            assert!(stat(broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn this_process_runs_and_one_that_never_was_is_gone() {
        let own = of(i32::try_from(std::process::id()).unwrap()).unwrap().unwrap();
        assert!(tells_children() && !own.still && own.began > 0 && own.children.is_empty());
        assert_eq!(of(i32::MAX).unwrap(), None);
    }
}
