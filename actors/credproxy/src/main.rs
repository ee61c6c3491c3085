//! `credproxy`: keeps secrets, and puts one into a request on its way to a host that the secret is bound to.
//!
//! It may open its own folder, and speak over connections that dialer made. It makes no socket, parses nothing of a
//! reply beyond HTTP, and gives a value to nobody: it goes out in a request, and is cut out of every reply.

mod address;
mod binding;
mod changes;
mod door;
mod draft;
mod envelope;
mod escape;
mod format;
mod given;
mod headers;
mod keeper;
mod locker;
mod login;
mod needles;
mod pool;
mod prints;
mod proxy;
mod redact;
mod replies;
mod reply;
mod secret;
mod server;
mod shown;
mod store;
#[cfg(test)]
mod testing;
mod tls;
mod upstream;
mod uses;
mod vault;

fn main() -> std::process::ExitCode {
    kit::run::<server::Credproxy>()
}
