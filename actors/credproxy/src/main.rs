//! `credproxy`: keeps secrets, and puts one into a request on its way to a host that the secret is bound to.
//!
//! It may open its own folder, and speak over connections that dialer made. It makes no socket, parses nothing of a
//! reply beyond HTTP, and gives a value to nobody: it goes out in a request, and is cut out of every reply.

mod accounts;
mod address;
mod binding;
mod blank;
mod changes;
mod draft;
mod envelope;
mod escape;
mod fingerprints;
mod folding;
mod format;
mod headers;
mod line_login;
mod line_stream;
mod lines;
mod login;
mod login_turns;
mod login_value;
mod master_key;
mod poll_leases;
mod pool;
mod proxy;
mod redact;
mod replies;
mod reply;
mod response_headers;
mod sealing_key;
mod secret;
mod secret_patterns;
mod server;
mod shown;
mod socket_message;
mod socket_stream;
mod store;
mod stream_table;
mod streams;
#[cfg(test)]
mod testing;
mod tls;
mod upstream;
mod uses;
mod vault;
mod vault_actor;
mod verify;

fn main() -> std::process::ExitCode {
    kit::run::<server::Credproxy>()
}
