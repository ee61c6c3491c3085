//! Value parsers that several commands' arguments share.

use ipc_proto::Text;
use ipc_proto::bounded::TooLong;

/// Reads text of at most `N` bytes; the error names the bound.
///
/// # Errors
/// The text is longer.
pub(crate) fn text<const N: usize>(text: &str) -> Result<Text<N>, TooLong> {
    Text::new(text)
}
