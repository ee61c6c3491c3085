//! The client's half of a conversation with a server outside: TLS, HTTP/1.1 and WebSocket over a connection that dialer made.
//!
//! It makes no socket, follows no redirect and knows no rule: where a connection leads was decided before there was
//! one. Only credproxy, egress and web may link it. Linked, it holds nothing of its own; the caller bounds body and time.

mod conversation;
mod socket;
mod tls;
mod upload;

pub use conversation::{Bytewise, Conversation, Fault, Upgraded, open, secure, send, upgrade};
pub use socket::{NoUpgrade, Received, Socket};
pub use tls::{TlsFault, client};
pub use upload::{Connection, Upload};
