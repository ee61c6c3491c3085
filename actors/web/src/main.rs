//! `web`: fetches and searches the public web for the gate, over connections that dialer made.
//!
//! It opens no file, makes no socket and holds no secret: a search that needs a key goes through credproxy, which puts
//! it in. It reads hostile bytes and nothing else; what it gives back is untrusted, whatever it says of itself.

mod ask;
mod decode;
mod fetch;
mod found;
mod offline;
mod page;
mod readable;
mod search;
mod server;
#[cfg(test)]
mod testing;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    match words.next().as_deref() {
        Some("--offline") => offline::run(words),
        _ => kit::run::<server::Actor>(),
    }
}
