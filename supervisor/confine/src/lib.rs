//! Confinement in two named moments, both driven by the same row of the table: `jail` between fork and exec,
//! `seal` in the process after it opened its files. The only crate with unsafe; each block says why it is sound.
//!
//! It may change only the process it runs in and the children it makes. It never reads what they exchange.

#[doc(hidden)]
pub mod acts;
mod caps;
mod child;
mod jail;
mod landlocked;
mod limits;
mod namespaces;
pub mod passing;
pub mod probe;
mod root;
mod seal;
mod seccomp;
mod sys;
mod syscall_numbers;

pub use child::{Child, LaunchFault, Step};
pub use jail::{ActorJail, Ids, RunnerJail, launch_actor, launch_runner};
pub use namespaces::{become_root_of_own_namespace, id_mapped_tree, plain_tree};
pub use seal::{RunnerPlaces, SealFault, Sealed, harden, seal, seal_runner};
