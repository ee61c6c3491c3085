//! The client's half of a conversation with a server outside: TLS and HTTP/1.1 over a connection that dialer made.
//!
//! It makes no socket, follows no redirect and knows no rule: where a connection leads was decided before there was
//! one. Only credproxy and web may link it. Linked, it holds nothing of its own; the caller bounds body and time.

mod conversation;
mod tls;

pub use conversation::{Bytewise, Conversation, Fault, open, send};
pub use tls::{TlsFault, client};
