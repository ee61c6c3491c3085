//! IMAP4rev1 (RFC 9051, RFC 3501), as far as a mailbox is read with it.

mod response;
mod session;
mod values;

pub(crate) use response::Fetched;
pub(crate) use session::{Fault, Mailbox, PIECE, Session, quoted};
