//! Every decoder of a provider's reply is held to this: any bytes are read, come to the same however they are cut, and a
//! call that ends has a whole object for its arguments.

use dialect::{Reader, Stops};
use ipc_proto::config::ProviderKind;
use ipc_proto::model::{ModelError, Piece};
use std::collections::BTreeMap;

/// Reads bytes, of which the first says how the rest is cut.
pub(crate) fn hold(kind: ProviderKind, bytes: &[u8]) {
    let Some((cut, bytes)) = bytes.split_first() else { return };
    let whole = read(kind, std::iter::once(bytes));
    assert_eq!(whole, read(kind, bytes.chunks(usize::from(*cut).max(1))));
    let mut args = BTreeMap::<u16, String>::new();
    for piece in whole.into_iter().flatten() {
        match piece {
            Piece::CallDelta { index, args: part } => args.entry(index).or_default().push_str(&part),
            Piece::CallEnd { index } => {
                assert!(args.get(&index).is_some_and(|args| args.trim().starts_with('{')))
            }
            _ => {}
        }
    }
}

fn read<'a>(kind: ProviderKind, parts: impl Iterator<Item = &'a [u8]>) -> Result<Vec<Piece>, ModelError> {
    let mut reader = Reader::new(kind, 1, 1).ending_at(Stops::searched(["stop"]));
    let mut pieces = Vec::new();
    for part in parts {
        reader.feed(part)?;
        pieces.extend(reader.ready());
        if reader.is_last() {
            break;
        }
    }
    pieces.extend(reader.end()?);
    Ok(pieces)
}
