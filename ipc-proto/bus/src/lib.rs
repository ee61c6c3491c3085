//! tarpc as the interfaces use it, with one part exchanged: who keeps the calls that a client has made.
//!
//! `ipc-proto` imports this crate under the name `tarpc`, which is the name that tarpc's macro writes into what it
//! generates. So every generated client is driven by [`client`], while traits, messages and their form on the wire are
//! tarpc's own. It opens nothing, and must never change what crosses the wire.

pub mod client;

pub use tarpc::{
    ClientMessage, Request, RequestName, Response, ServerError, Transport, context, serde, server, service,
};
