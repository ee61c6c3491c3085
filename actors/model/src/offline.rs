//! The models that need no key and no network. Each is a function from a request to a reply, as a model is: it sees
//! the request's messages and nothing else, asks for tools in its reply, and finds their results in the next
//! request. Nothing here opens, waits or keeps anything between two requests.

pub(crate) mod hijackable;
pub(crate) mod plan;
pub(crate) mod reader;
#[cfg(test)]
pub(crate) mod testing;

/// The default model.
pub(crate) const READER: &str = "reader";
/// The worst case, for tests.
pub(crate) const HIJACKABLE: &str = "hijackable";
