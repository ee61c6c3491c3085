//! The way back to the caller of a method.

/// Takes the answer to one call. A caller that waits no longer has closed it.
pub(crate) type Port<T> = ractor::RpcReplyPort<T>;
