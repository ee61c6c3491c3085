//! The context of a tool call besides its arguments: the directories it may reach, the time it has, the sign to stop
//! and a way to report progress. Holds descriptors of directories and nothing else; must never hold a secret.

use super::fault::ToolFault;
use super::output::{self, MAX_OUTPUT};
use super::path::{Place, Root, relative};
use super::way_out::WayOut;
use nix::fcntl::OFlag;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Told how far a call is: one short line without content, at most about once a second. Called on the tool's thread.
pub type Progress = Box<dyn Fn(&str) + Send + Sync>;

/// A sign to stop that any thread may give; once given it stays. A command sees it within about 20 ms, a search at the
/// next entry or file.
#[derive(Clone, Debug, Default)]
pub struct Abort(Arc<AtomicBool>);

impl Abort {
    /// Gives the sign.
    pub fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Returns whether it was given.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Everything a tool may use. One for a whole turn, shared by its calls.
pub struct Context {
    /// The workspace first, then the readable roots.
    pub(super) roots: Vec<Root>,
    /// A directory for programs' own litter: `HOME` and `TMPDIR` of commands. `/tmp` in a jail.
    pub scratch: PathBuf,
    /// The turn's end: every tool has returned by then.
    pub deadline: Instant,
    /// The sign to stop.
    pub abort: Abort,
    /// Bytes of output one call may give; [`MAX_OUTPUT`] unless set lower.
    pub max_output: usize,
    /// Told how far a call is.
    pub progress: Progress,
    /// The way out of the jail; none where programs have no network.
    pub way_out: Option<WayOut>,
}

impl Context {
    /// Opens the workspace, and those of the readable roots that exist. From then on a tool reaches files only through
    /// these descriptors, so that renaming or replacing the directories changes nothing.
    ///
    /// # Errors
    /// If the workspace is not a directory that can be opened, or a readable root is there but cannot be opened.
    pub fn open(
        workspace: &Path,
        readable: &[&Path],
        scratch: &Path,
        deadline: Instant,
    ) -> Result<Self, ToolFault> {
        let mut roots = vec![Root::open(workspace)?];
        for path in readable {
            match Root::open(path) {
                Ok(root) => roots.push(root),
                Err(ToolFault::NotFound { .. }) => {}
                Err(fault) => return Err(fault),
            }
        }
        Ok(Self {
            roots,
            scratch: scratch.to_owned(),
            deadline,
            abort: Abort::default(),
            max_output: MAX_OUTPUT,
            progress: Box::new(|_| {}),
            way_out: None,
        })
    }

    /// The root and the rest of a path: a relative one is in the workspace, an absolute one in the root it begins with.
    pub(super) fn locate(&self, given: &str) -> Result<Place<'_>, ToolFault> {
        let path = Path::new(given);
        let found = self.roots.iter().enumerate().find_map(|(index, root)| {
            let rest = if path.is_relative() { Some(path.to_owned()) } else { root.rest_of(path) };
            rest.map(|rest| (index == 0, root, rest))
        });
        let Some((writable, root, rest)) = found else { return Err(self.outside(given)) };
        let rel = relative(&rest);
        let shown = output::shown(if writable { &rel } else { path });
        Ok(Place { root, rel, shown, writable })
    }

    /// The workspace itself, or the folder or file named.
    pub(super) fn locate_or_workspace(&self, given: Option<&str>) -> Result<Place<'_>, ToolFault> {
        self.locate(given.unwrap_or("."))
    }

    /// The workspace's name, for a program's working directory.
    pub(super) fn workspace(&self) -> &Path {
        self.roots.first().and_then(|root| root.names.first()).map_or(Path::new("/"), PathBuf::as_path)
    }

    fn outside(&self, given: &str) -> ToolFault {
        let others = self.roots.iter().skip(1).filter_map(|root| root.names.first());
        let others: Vec<_> = others.map(|name| output::shown(name)).collect();
        let roots = if others.is_empty() {
            String::new()
        } else {
            format!(" and the readable {}", others.join(", "))
        };
        ToolFault::Outside { path: output::shown(Path::new(given)), roots }
    }

    /// The bytes of a regular file, and one more where it has more than `most`.
    ///
    /// # Errors
    /// It is outside, not there, no regular file, or cannot be read.
    pub fn file(&self, path: &str, most: usize) -> Result<Vec<u8>, ToolFault> {
        let place = self.locate(path)?;
        let (file, _) = place.open_file(OFlag::empty())?;
        let (mut bytes, more) = (Vec::new(), u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1));
        let read = file.take(more).read_to_end(&mut bytes);
        read.map_err(|cause| ToolFault::from_io(&place.shown, "read it", cause))?;
        Ok(bytes)
    }

    /// The time for which a person was asked so far: it is not the call's.
    pub(super) fn waited(&self) -> Duration {
        self.way_out.as_ref().map_or(Duration::ZERO, |way_out| way_out.events.waited())
    }

    /// Returns whether a tool may go on; asked between steps of whatever may take long.
    pub(super) fn go_on(&self) -> Result<(), ToolFault> {
        if self.abort.is_set() {
            Err(ToolFault::Aborted)
        } else if Instant::now() >= self.deadline {
            Err(ToolFault::TurnOver)
        } else {
            Ok(())
        }
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("roots", &self.roots).finish_non_exhaustive()
    }
}
