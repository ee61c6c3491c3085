//! `egress`: makes the requests that programs in jails send out, over connections that dialer made.
//!
//! It opens no file, makes no socket and holds no secret. Which requests may go out was decided by the gate; egress builds each anew
//! from the gate's fields, so that nothing that a jail writes reaches a server as it was written.

mod connections;
mod exchange;
mod greeting;
mod request;
mod server;
mod tunnel;

use std::process::ExitCode;

fn main() -> ExitCode {
    kit::run::<server::Actor>()
}
