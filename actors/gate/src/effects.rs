//! Effects of the tools that do not run in the jail, and the results of all tools.

mod browser_call;
pub(crate) mod delegation;
mod fetch;
mod job_call;
mod memory_changes;
mod memory_reads;
mod outcome;
mod picture;
pub(crate) mod result;
mod rows;
pub(crate) mod run;
mod send_file;
pub(crate) mod server_call;
mod server_form;
mod server_question;
mod service_call;
pub(crate) mod tool_find;
