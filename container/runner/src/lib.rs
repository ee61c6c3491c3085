//! The program inside the jail, as a library so that its parts can be tested outside one. It may touch the workspace,
//! the read-only roots and `/tmp`; it must never expect a network, a secret or an environment.

pub mod browser;
pub mod tools;
