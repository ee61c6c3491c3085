//! Effects of the tools that do not run in the jail, and the results of all tools.

mod fetch;
mod memory_changes;
mod memory_reads;
mod outcome;
pub(crate) mod result;
mod rows;
pub(crate) mod run;
mod send_file;
mod server_call;
mod service_call;
