//! Confinement in two named moments, both driven by the same row of the table: `jail` between fork and exec,
//! `seal` in the process after it opened its files. The only crate with unsafe; each block says why it is sound.
//!
//! It may change only the process it runs in and the children it makes. It never reads what they exchange.

#[doc(hidden)]
pub mod acts;
mod alone;
mod apart;
mod aside;
mod caps;
mod cell;
mod child;
mod copying;
mod descriptor_slots;
mod entry;
mod filters;
mod flush;
mod jail;
#[doc(hidden)]
pub mod jail_probe;
mod landlocked;
mod limits;
mod namespaces;
pub mod notices;
mod pages;
pub mod passing;
mod places;
pub mod probe;
mod root;
mod seal;
mod seccomp;
pub mod secret;
mod sys;
mod syscall_numbers;
mod template;
#[cfg(test)]
mod testing;
mod tree;

pub use alone::compute_alone;
pub use aside::aside;
pub use cell::Cell;
pub use child::{Child, LaunchFault, Step};
pub use copying::{Way, copied, copy_aside, take_copy};
#[doc(hidden)]
pub use entry::begin;
pub use flush::{Flush, Flushed, Flusher};
pub use jail::{ActorJail, Home, Ids, RunnerJail, launch_actor, launch_runner, limit_cpu};
pub use namespaces::become_root_of_own_namespace;
pub use pages::give_back;
pub use seal::{RunnerPlaces, SealFault, Sealed, Watch, harden, seal, seal_runner};
pub use template::{Mountpoint, Template};
