//! The common main of every actor: takes descriptors, opens, seals, serves.
//!
//! A process that uses kit touches only the resources that its row grants. Kit itself opens nothing but the process's
//! own memory statistics, and never makes a socket. Where a process cannot open its own files, kit looks at their
//! owners.

mod actor;
#[doc(hidden)]
pub mod bench;
mod clock;
mod connections;
mod counters;
mod descriptors;
mod dial;
mod edge;
#[doc(hidden)]
pub mod fault;
mod lines;
mod link;
mod listeners;
mod log;
mod mailbox;
mod outcome;
mod own;
mod proc_files;
mod pull;
mod recorder;
mod run;
mod seldom;
mod serving;
mod stubs;
mod supervisor;
mod tally;
mod times;

pub use actor::{Actor, Host, OpenFault, Place};
pub use clock::now_ms;
pub use confine::compute_alone;
pub use confine::secret::Mapped as KeyPage;
pub use confine::{Flush, Flushed, Flusher};
pub use connections::{Connections, NoPlace, Room, Slot};
pub use descriptors::{DescriptorChannel, Descriptors};
pub use dial::Dial;
pub use edge::Edge;
pub use lines::answer_lines;
pub use link::Link;
pub use listeners::{Listeners, NoListener};
pub use mailbox::{Mailbox, Working};
pub use pull::Pull;
pub use recorder::{NotRecorded, Recorder};
pub use run::run;
pub use seldom::Seldom;
pub use serving::serve_calls;
pub use stubs::Stub;
pub use supervisor::Supervisor;
