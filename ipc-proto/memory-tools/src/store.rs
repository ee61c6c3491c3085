//! What carries the tools to memory: a connection that knows whose memory it is, and the place that a client works in.

use crate::envelope::Fault;
use ipc_proto::memory::{Ask, MemoryError, Project, Said};
use serde_json::Value;
use std::future::Future;

/// The comments that stand around what is kept in a folder's files, as open-mem writes them.
pub const SECTION: (&str, &str) = ("<!-- open-mem-context -->", "<!-- /open-mem-context -->");

/// Where a client works.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// The project that scope `project` means; there is no such scope without one.
    pub project: Option<Project>,
}

/// What is to become of the section that is kept in a folder's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FolderAct {
    /// Only say what writing this section would change.
    DryRun(String),
    /// Write it.
    Rebuild(String),
    /// Take it out.
    Clean,
    /// Take it out, and remove files that nothing else is in.
    Purge,
}

/// Why memory gave no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Memory refused.
    Memory(MemoryError),
    /// This client may not, in the host's words.
    Locked(String),
    /// Somebody who is needed is away or busy; seconds after which to try again, if they are known.
    Away(String, Option<u32>),
}

/// A connection to one owner's memory.
pub trait Store: Send + Sync + 'static {
    /// Where the client works.
    fn place(&self) -> &Place;

    /// Asks memory, in the area that is the user's own.
    fn ask(&self, ask: Ask) -> impl Future<Output = Result<Said, Trouble>> + Send;

    /// Does something to the files of the client's folder.
    ///
    /// # Errors
    /// There is no folder, or a file cannot be written.
    fn folder(&self, act: FolderAct) -> Result<Value, Fault>;
}
