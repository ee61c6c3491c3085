//! `scheduler`: the jobs of people and their times. It touches its own folder, router and audit; it must never decide what a message
//! may do, and sees no answer.

mod changes;
mod cron;
mod dues;
mod firing;
mod jobs;
mod listing;
mod proposals;
mod rule;
mod server;
mod store;
mod timer;
mod zone;

fn main() -> std::process::ExitCode {
    kit::run::<server::Process>()
}
