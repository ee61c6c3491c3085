//! The channels by which the host's own people send messages.

/// The channel of control: the kernel identifies the sender.
pub(crate) const CONTROL: &str = "control";

/// The channel of the API: a key or the kernel identifies the sender.
pub(crate) const API: &str = "api";
