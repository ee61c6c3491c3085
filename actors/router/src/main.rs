//! The router: users, keys of the API, sessions, the durable inbox, transcript and outbox, approvals and grants. It touches its own
//! folder and its edges;
//! it holds no model, no tool and no secret, and must never acknowledge what is not durable.

mod answers;
mod api;
mod approvals;
mod attached;
mod audience;
mod calls;
mod clock;
mod desk;
mod disk;
mod ending;
mod engines;
mod errands;
mod events;
mod falling;
mod history;
mod keys;
mod lanes;
mod launch;
mod lease;
mod letters;
mod listing;
mod pausing;
mod people;
mod process;
mod queue;
mod removals;
mod ring;
mod scan;
mod server;
mod state;
mod steering;
mod stopping;
mod store;
mod submit;
#[cfg(test)]
mod tests;
mod turn;
mod typing;
mod users;
mod waiting;

fn main() -> std::process::ExitCode {
    kit::run::<process::Router>()
}
