//! The decision on a call: capabilities, flow of labels and Cedar. The crate is pure: the live gate and its offline mode call the
//! same functions. It never reads a clock, and decides by its arguments alone.
//!
//! Cedar parses and evaluates lazily in places (tables of its grammar, the size of the stack, read from
//! `/proc/self/maps` on a main thread). [`Engine::built_in`] goes through all of it once, on the thread that decides
//! later, so it must be called before the process is sealed.

mod browser;
mod builtin;
mod canonical;
mod catalogue;
mod context;
mod decide;
mod engine;
mod facts;
mod handling;
mod invalid;
pub mod offline;
mod passage;
mod preview;
mod reach;
mod routine;
mod session;
mod target;
mod verdict;

pub use canonical::{canonical, scope};
pub use catalogue::{BadCapability, Catalogue};
pub use decide::decide;
pub use engine::{Engine, File};
pub use handling::{Handling, result_label};
pub use invalid::Invalid;
pub use passage::{Passage, passes};
pub use preview::{escaped, preview};
pub use provenance::EVERY;
pub use session::{Profile, Session};
pub use verdict::{Call, Decision, Verdict};
