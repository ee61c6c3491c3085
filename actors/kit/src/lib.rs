//! What the main of every actor does, once: take descriptors, open, seal, serve.
//!
//! A process that uses kit touches only what its row grants. Kit itself opens nothing but the process's own
//! memory statistics, and never makes a socket.

mod actor;
#[doc(hidden)]
pub mod bench;
mod counters;
mod descriptors;
mod edge;
#[doc(hidden)]
pub mod fault;
mod lines;
mod link;
mod log;
mod recorder;
mod run;
mod serving;
mod stubs;
mod supervisor;

pub use actor::{Actor, Host, OpenFault, Place};
pub use descriptors::{DescriptorChannel, Descriptors};
pub use edge::Edge;
pub use lines::answer_lines;
pub use link::Link;
pub use recorder::{NotRecorded, Recorder};
pub use run::run;
pub use serving::serve_calls;
pub use stubs::Stub;
pub use supervisor::Supervisor;

use std::time::{SystemTime, UNIX_EPOCH};

/// The wall clock, unix ms.
#[must_use]
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
