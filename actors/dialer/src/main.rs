//! `dialer`: the one process with a network. It connects to addresses it has checked and passes the connection on.
//!
//! It may make sockets of IPv4 and IPv6. It holds nothing, and never reads or writes a connection it has made.

mod connect;
mod names;
mod routes;
mod rule;
mod server;

fn main() -> std::process::ExitCode {
    kit::run::<server::Dialer>()
}
