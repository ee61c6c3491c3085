//! Value parsers that several commands' arguments share.

use ipc_proto::Text;
use ipc_proto::bounded::TooLong;
use serde::de::DeserializeOwned;

/// Reads text of at most `N` bytes; the error names the bound.
///
/// # Errors
/// The text is longer.
pub(crate) fn text<const N: usize>(text: &str) -> Result<Text<N>, TooLong> {
    Text::new(text)
}

/// Reads a value of a closed set by its name on the wire.
///
/// # Errors
/// There is no such name; serde's sentence lists those that there are.
pub(crate) fn named<T: DeserializeOwned>(name: &str) -> Result<T, String> {
    serde_json::from_value(name.into()).map_err(|error| error.to_string())
}
