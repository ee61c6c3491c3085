//! The acts of a probe: those of the table's catalogue, performed for real by a process in the jail of a row. Each is prepared before
//! the seal, so that after it only the act itself is left to be refused.
//!
//! No act does harm if nothing stops it: an ingredient is left out, it is undone, or it is bounded. It must run in a process that
//! ends with it and that holds nothing.

mod bounds;
mod calls;
mod files;
mod peers;
mod programs;
mod sockets;
mod spaces;

use manifest::Row;
use manifest::acts::{Act, status};
use manifest::command::Mode;
use std::io;

/// The circumstances of an act.
#[derive(Clone, Copy, Debug)]
pub struct Scene {
    /// The row whose jail this is.
    pub row: &'static Row,
    /// The host's mode.
    pub mode: Mode,
    /// agentd's pid, as agentd sees it.
    pub agentd: i32,
    /// The pid of the row's running process; 0 if there is none.
    pub peer: i32,
}

/// A prepared act. `Ok` means that it succeeded; an error is the kernel's refusal.
pub type ProbeFn = Box<dyn FnOnce() -> io::Result<()>>;

/// The reason why an act cannot be performed.
#[derive(Debug, thiserror::Error)]
pub enum NotReady {
    /// This kernel or this system has nothing to try it on.
    #[error("there is nothing here to try it on")]
    NotHere,
    /// No act of this name is implemented.
    #[error("nobody performs this act")]
    Unknown,
    /// Its preparation failed.
    #[error("it could not be made ready: {0}")]
    Failed(#[from] io::Error),
}

impl NotReady {
    /// The exit status for it.
    #[must_use]
    pub const fn status(&self) -> u8 {
        match self {
            Self::NotHere => status::NOT_HERE,
            Self::Unknown | Self::Failed(_) => status::UNPREPARED,
        }
    }
}

type Ready = Result<ProbeFn, NotReady>;

/// Prepares an act, in the jail and before the seal.
///
/// # Errors
/// [`NotReady`].
pub fn prepare(act: &Act, scene: &Scene) -> Ready {
    let families = [
        files::prepare,
        programs::prepare,
        sockets::prepare,
        peers::prepare,
        spaces::prepare,
        calls::prepare,
        bounds::prepare,
    ];
    families.into_iter().find_map(|family| family(act.id, scene)).unwrap_or(Err(NotReady::Unknown))
}

/// The exit status for the outcome of the `n`th act of a process: the errno of a refusal, or which act succeeded.
#[must_use]
pub fn outcome(n: usize, done: &io::Result<()>) -> u8 {
    match done {
        Ok(()) => status::SUCCEEDED.saturating_add(u8::try_from(n).unwrap_or(0)),
        Err(error) => {
            let errno = error.raw_os_error().and_then(|errno| u8::try_from(errno).ok());
            errno.filter(|errno| (1..status::SUCCEEDED).contains(errno)).unwrap_or(status::UNPREPARED)
        }
    }
}

fn probe(act: impl FnOnce() -> io::Result<()> + 'static) -> Option<Ready> {
    Some(Ok(Box::new(act)))
}

fn errno(errno: i32) -> io::Error {
    io::Error::from_raw_os_error(errno)
}

/// Errnos of a layer's refusal. Any other errno is the kernel's own answer, so that the call has come through.
const REFUSALS: [i32; 4] = [libc::EPERM, libc::EACCES, libc::ENOSYS, libc::EAFNOSUPPORT];

/// Separates a refusal from an answer of the call itself; `also` are further errnos of a refusal of this call.
fn refused<T>(answer: io::Result<T>, also: &[i32]) -> io::Result<()> {
    match answer {
        Err(error) if error.raw_os_error().is_some_and(|it| REFUSALS.contains(&it) || also.contains(&it)) => {
            Err(error)
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use manifest::acts::{ACTS, Moment};
    use manifest::{Process, TABLE};
    use std::os::unix::fs::MetadataExt as _;

    #[test]
    fn every_act_of_the_catalogue_has_somebody_who_performs_it() {
        let _there = There::new();
        let peer = i32::try_from(std::process::id()).unwrap();
        for row in TABLE.iter().filter(|row| row.process.is_runner() || row.process == Process::Audit) {
            for act in ACTS {
                let scene = Scene { row, mode: Mode::User, agentd: peer, peer };
                let ready = prepare(act, &scene);
                assert!(!matches!(ready, Err(NotReady::Unknown)), "{}", act.id);
            }
        }
    }

    #[test]
    fn no_act_writes_through_what_another_left_under_its_name() {
        let there = There::new();
        let victim = there.folder.path().join("victim");
        std::fs::write(&victim, "whole").unwrap();
        let row = manifest::row(Process::Runner).unwrap();
        let peer = i32::try_from(std::process::id()).unwrap();
        let scene = Scene { row, mode: Mode::User, agentd: peer, peer };
        let left: [fn(&std::path::Path) -> io::Result<()>; 2] = [
            |victim| std::os::unix::fs::symlink(victim, "cordon-probe"),
            |victim| std::fs::hard_link(victim, "cordon-probe"),
        ];
        for leave in left {
            for id in ["rename-out", "link-race", "link-out", "setuid-file"] {
                let before = std::fs::metadata(&victim).unwrap().mode();
                drop(std::fs::remove_file("cordon-probe"));
                leave(&victim).unwrap();
                let ready = files::prepare(id, &scene).unwrap().unwrap();
                if id == "setuid-file" {
                    // The only one of these that stays in its folder.
                    ready().unwrap();
                }
                assert_eq!(std::fs::read_to_string(&victim).unwrap(), "whole", "{id}");
                assert_eq!(std::fs::metadata(&victim).unwrap().mode(), before, "{id}");
            }
        }
    }

    /// Serializes the tests that depend on the working directory.
    static WHERE: std::sync::Mutex<()> = std::sync::Mutex::new(());

    /// In a folder of its own until it is dropped.
    struct There {
        folder: tempfile::TempDir,
        before: std::path::PathBuf,
        _alone: std::sync::MutexGuard<'static, ()>,
    }

    impl There {
        fn new() -> Self {
            let alone = WHERE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let before = std::env::current_dir().unwrap();
            let folder = tempfile::tempdir().unwrap();
            std::env::set_current_dir(folder.path()).unwrap();
            Self { folder, before, _alone: alone }
        }
    }

    impl Drop for There {
        fn drop(&mut self) {
            std::env::set_current_dir(&self.before).unwrap();
        }
    }

    // Holds P2-30.
    #[test]
    fn an_answer_of_the_call_itself_is_no_refusal() {
        let answer = |errno: i32| refused::<()>(Err(super::errno(errno)), &[libc::ESRCH]).is_err();
        for (errno, is_refusal) in [
            (libc::EPERM, true),
            (libc::ENOSYS, true),
            (libc::ESRCH, true),
            (libc::EINVAL, false),
            (libc::EFAULT, false),
        ] {
            assert_eq!(answer(errno), is_refusal, "{errno}");
        }
        assert!(refused(Ok(7), &[]).is_ok());
    }

    #[test]
    fn an_exit_status_says_which_act_succeeded_or_why_the_last_was_refused() {
        assert_eq!((outcome(0, &Ok(())), outcome(3, &Ok(()))), (status::SUCCEEDED, status::SUCCEEDED + 3));
        assert_eq!(outcome(2, &Err(errno(libc::EACCES))), 13);
        assert_eq!(outcome(0, &Err(io::ErrorKind::Other.into())), status::UNPREPARED);
    }

    #[test]
    fn acts_before_the_seal_leave_no_name_behind() {
        for act in ACTS.iter().filter(|act| act.moment != Moment::Sealed) {
            assert!(
                act.id.ends_with("-jailed")
                    || act.id.ends_with("-apart")
                    || act.id == "environment"
                    || act.id == "full-tmp",
                "{}",
                act.id
            );
        }
    }
}
