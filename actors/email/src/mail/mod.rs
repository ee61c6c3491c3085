//! Mail: headers and parts of a message that anybody may have written.

mod authentication;
mod header;
mod mime;
mod quote;
mod read;

pub(crate) use header::{Header, address};
pub(crate) use mime::file;
pub(crate) use read::{Origin, Own, Read, line, read};
