//! The section of `router`: `[router]`, and the users, agents and channels of the file. Pure data.

use crate::config::key::{number, section};
use crate::config::{Agent, ChannelRules, User};
use manifest::settings::MAX_SLOTS;
use std::collections::BTreeMap;

section! {
    /// The section of `router`.
    pub struct Router in "router", read by [Router] {
        /// The most waiting messages of one session; the next is refused before it is accepted.
        queue_per_session: u32 = number(1..=1024, 32),
        /// The most waiting messages of one user, and no more than are left to others; the owner has no such limit. At most
        /// `queue_total`.
        queue_per_user: u32 = number(1..=65_536, 1024),
        /// The most waiting messages of all users, an eighth of them kept for the owner; at least `queue_per_session`.
        queue_total: u32 = number(1..=65_536, 4096),
        /// The most turns that run at once; at most `host.runner_slots`. One of them is reserved for the owner. A turn that
        /// waits for a person does not count if `host.runner_slots` leaves a slot for its runner.
        turns_at_once: u32 = number(1..=MAX_SLOTS as u32, 8),
        /// The most turns of one user that run at once; the owner has no such limit. At most `turns_at_once`.
        turns_per_user: u32 = number(1..=MAX_SLOTS as u32, 4),
        ..
        /// `[[user]]`.
        users: Vec<User>,
        /// `[agent.NAME]`, the built-in `default` included.
        agents: BTreeMap<String, Agent>,
        /// The uid that the host belongs to: root and this uid are the owner.
        owner_uid: u32,
        /// Turns that may wait for a person and hold no place; each keeps its runner.
        turns_asking: u32,
        /// Turns that may work on tasks of other turns; 0 where no agent delegates.
        turns_delegated: u32,
        /// `[channel.NAME]`.
        channels: BTreeMap<String, ChannelRules>,
    }
}
