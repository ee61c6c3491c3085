//! One turn: its context, its steps, the events that its followers see, and its beginning and end. Nothing here decides on a call.

pub(crate) mod attempt;
pub(crate) mod calls;
pub(crate) mod claim;
pub(crate) mod context;
pub(crate) mod end;
mod equipment;
pub(crate) mod events;
pub(crate) mod heartbeat;
pub(crate) mod labels;
pub(crate) mod pending_reply;
pub(crate) mod reasoning;
pub(crate) mod replay;
pub(crate) mod requester;
pub(crate) mod steps;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod today;
pub(crate) mod work;
