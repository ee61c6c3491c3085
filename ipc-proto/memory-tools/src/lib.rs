//! The ten tools by which an MCP client uses memory: their contract, the calls that they make, and the form of their
//! answers. A transport gives a [`Store`]; this crate opens no file, has no network, and knows no owner: the store's
//! connection does. It must never ignore a field of a client: each is honoured, or refused by its name with the valid
//! values.

mod args;
mod catalogue;
mod cursor;
mod envelope;
mod message;
mod request;
mod server;
mod shape;
mod store;
mod time;
mod tools;

pub use envelope::{Code, Fault};
pub use message::read_message;
pub use request::{Answer, Request};
pub use server::Server;
pub use store::{FolderAct, Place, SECTION, Store, Trouble};

/// The version of the contract: names of tools and fields, their bounds, and the form of answers.
pub const CONTRACT: &str = "1.1.0";
