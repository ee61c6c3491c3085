//! The channels by which messages come: the host's own four, and the accounts of messaging platforms. Rules as plain functions of what
//! they are given.

pub(crate) mod admission;
pub(crate) mod codes;
pub(crate) mod commands;
pub(crate) mod loops;
pub(crate) mod question;
pub(crate) mod rates;

/// The channel of control: the kernel identifies the sender.
pub(crate) const CONTROL: &str = "control";

/// The channel of the API: a key or the kernel identifies the sender.
pub(crate) const API: &str = "api";

/// The channel of the scheduler: control knew who added the job.
pub(crate) const SCHEDULE: &str = "schedule";

/// The channel of tasks that turns hand to agents: a model wrote them.
pub(crate) const DELEGATION: &str = "delegation";

/// The account of a channel of a messaging platform, which is named `PLATFORM:NAME`. The host's own channels are no platform's.
pub(crate) fn account(channel: &str) -> Option<&str> {
    channel.split_once(':').map(|(_, account)| account)
}
