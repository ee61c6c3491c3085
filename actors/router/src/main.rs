//! The router: users, keys of the API, sessions, the durable inbox, transcript and outbox, approvals and grants. It touches its own folder
//! and its edges, holds no model, tool or secret, and must never acknowledge anything that is not durable.
//!
//! The modules are layered: plain data and the store, then `state`, then the rules, then `schedule`, `recorded` and `interface`, then the
//! actor with its server, its peers and the process.

mod actor;
mod answers;
mod api;
mod approvals;
mod attached;
mod blocked_on;
mod calls;
mod channel_accept;
mod channel_accounts;
mod channel_approvals;
mod channel_commands;
mod channel_files;
mod channel_moves;
mod channel_outbox;
mod channel_people;
mod channel_replies;
mod channel_requests;
mod channel_sending;
mod channel_sessions;
mod channel_taking;
mod channel_testing;
mod channels;
mod clock;
mod dead_letters;
mod delegating;
mod ending;
mod engines;
mod events;
mod firing;
mod follow;
mod gauges;
mod history;
mod interface;
mod keys;
mod labels;
mod lanes;
mod launch;
mod leases;
mod listing;
mod lookup;
mod message_state;
mod pausing;
mod peers;
mod port;
mod postponing;
mod process;
mod publish;
mod recorded;
mod removals;
mod retry;
mod ring;
mod runners;
mod scan;
mod schedule;
mod server;
mod state;
mod steering;
mod stopping;
mod store;
mod submit;
mod tasks;
mod terminal;
#[cfg(test)]
mod tests;
mod transcript;
mod turn;
mod users;

fn main() -> std::process::ExitCode {
    kit::run::<process::Router>()
}
