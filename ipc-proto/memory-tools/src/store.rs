//! The connection between the tools and memory, which knows the owner of the memory and the place that a client works
//! in.

use crate::envelope::Fault;
use crate::request::{Answer, Request};
use ipc_proto::memory::{MemoryError, Project};
use serde_json::Value;
use std::future::Future;

/// The comments around the section in a folder's files, as open-mem writes them.
pub const SECTION: (&str, &str) = ("<!-- open-mem-context -->", "<!-- /open-mem-context -->");

/// The place that a client works in.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// The project that scope `project` means; there is no such scope without one.
    pub project: Option<Project>,
}

/// The operation on the section that is kept in a folder's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FolderAct {
    /// Only report the changes that writing this section would make.
    DryRun(String),
    /// Write it.
    Rebuild(String),
    /// Take it out.
    Clean,
    /// Take it out, and remove files that nothing else is in.
    Purge,
}

/// The reason why memory gave no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Memory refused.
    Memory(MemoryError),
    /// This client lacks the permission; the text is the host's.
    Locked(String),
    /// A process that is needed is not available or busy; the seconds after which to try again, if known.
    Away(String, Option<u32>),
}

/// A connection to one owner's memory.
pub trait Store: Send + Sync + 'static {
    /// The place that the client works in.
    fn place(&self) -> &Place;

    /// Calls memory, in the user's own area.
    fn ask(&self, ask: Request) -> impl Future<Output = Result<Answer, Trouble>> + Send;

    /// Changes the files of the client's folder.
    ///
    /// # Errors
    /// There is no folder, or a file cannot be written.
    fn folder(&self, act: FolderAct) -> Result<Value, Fault>;
}
