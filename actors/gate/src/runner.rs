//! One runner: its connection, the replies of its model or engine, and the messages that steer its turn.

mod active;
mod begin;
pub(crate) mod connection;
mod engine;
mod obstacle;
mod progress;
mod replies;
pub(crate) mod server;
mod server_jail;
mod steering;
