//! The content and the size of pieces. Everything here is pure.

use crate::model::assembly::in_pieces;
use ipc_proto::model::{Piece, Thought};

/// Returns true if a piece is content of the answer itself.
pub(crate) const fn is_content(piece: &Piece) -> bool {
    !matches!(piece, Piece::Usage(_) | Piece::Failover { .. } | Piece::OverBudget { .. } | Piece::Failed(_))
}

/// Bytes of a piece's content.
pub(crate) fn weight(piece: &Piece) -> usize {
    match piece {
        Piece::Text(text) | Piece::Reasoning(text) => text.len(),
        Piece::Thought { part, .. } => part.len(),
        Piece::CallDelta { args, .. } => args.len(),
        _ => 0,
    }
}

/// A block of reasoning as pieces.
pub(crate) fn thought_pieces(thought: Thought) -> impl Iterator<Item = Piece> {
    let part = |seal: bool| move |part| Piece::Thought { seal, part };
    let said = in_pieces(&thought.text).into_iter().map(part(false));
    let seal = in_pieces(&thought.seal).into_iter().map(part(true));
    let Thought { by, hidden, spoken, calls, .. } = thought;
    said.chain(seal).chain([Piece::ThoughtEnd { by, hidden, spoken, calls }])
}
