//! The ten tools by which an MCP client uses memory: their contract, what their arguments ask of memory, and how its
//! answers are told. Whatever carries them gives a [`Store`]; this crate opens no file, has no network, and knows no
//! owner: whose memory it is, the store's connection says. It must never pass a field over that a client gave: each is
//! honoured, or refused by its name with what is valid.

mod args;
mod catalogue;
mod cursor;
mod envelope;
mod heard;
mod server;
mod shape;
mod store;
mod time;
mod tools;

pub use envelope::{Code, Fault};
pub use heard::hear;
pub use server::Server;
pub use store::{FolderAct, Place, SECTION, Store, Trouble};

/// The version of the contract: names of tools and fields, their bounds, and the form of answers.
pub const CONTRACT: &str = "1.1.0";
