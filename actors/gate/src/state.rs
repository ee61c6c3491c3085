//! The state that all connections share, split by its subject. Nothing here decides on a call, and nothing here uses a
//! module above it.

pub(crate) mod alerts;
pub(crate) mod blocked_on;
pub(crate) mod callers;
pub(crate) mod context;
pub(crate) mod deferred_audit;
pub(crate) mod durable_file;
pub(crate) mod elapsed;
pub(crate) mod errors;
pub(crate) mod mcp;
pub(crate) mod policy_files;
pub(crate) mod quota;
pub(crate) mod rates;
pub(crate) mod reranks;
pub(crate) mod runners;
