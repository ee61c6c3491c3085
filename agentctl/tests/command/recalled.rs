//! What the canned host answers of memory.

use crate::samples::{MEMORY, client_session, label, row};
use crate::state::Canned;
use ipc_proto::memory::{Answered, Ask, Block, Forgotten, Found, Hit, Raw, Said, Stats, Unread, Why};
use ipc_proto::{List, Text};

/// One of each kind; what was asked is kept.
pub(crate) fn recalled(canned: &Canned, ask: Ask) -> Said {
    if matches!(ask, Ask::Unread { .. }) {
        return Said::Unread(Unread::default());
    }
    canned.set(|state| state.memories.push(ask.clone()));
    match ask {
        Ask::Write(entry) => {
            let tags = entry.tags.iter().map(ToString::to_string).collect();
            canned.set(|state| state.added.push((entry.id, entry.content.to_string(), tags)));
            Said::Id(entry.id)
        }
        Ask::Find(_) => {
            let hit = Hit { row: row(), snippet: Text::clip("the [harbour] office"), score: 900 };
            let why = Why { by_words: Some(1), own: 900, named: true, ..Why::default() };
            Said::Found(Box::new(Answered::of([Found { hit, why }])))
        }
        Ask::Forget { dry_run, .. } => {
            let (rows, more) = canned.get(|state| state.forgets).unwrap_or((1, 0));
            if !dry_run {
                canned.set(|state| state.forgets = Some((rows, more.saturating_sub(1))));
            }
            Said::Forgotten(Forgotten { rows, more: more > 0, ..Forgotten::default() })
        }
        Ask::Capture(_) => Said::Taken(Some(MEMORY)),
        Ask::Block(asked) => Said::Block(Box::new(Block {
            text: Text::clip("what is remembered"),
            label: Some(label()),
            tokens: asked.tokens.unwrap_or_default(),
            rows: List::clip([MEMORY]),
            ..Block::default()
        })),
        Ask::Revise { entry, .. } => Said::Id(entry.id),
        Ask::Restore { row, .. } => Said::Taken(Some(row.entry.id)),
        Ask::RestoreSession { .. } => Said::Session(true),
        Ask::Raw(_) => Said::Raw(Raw { text: Text::clip("raw"), label: label() }),
        Ask::Remove { .. } | Ask::Mute { .. } | Ask::Accept(_) | Ask::Unremove(_) => Said::Done,
        Ask::Stats | Ask::Reindex => Said::Stats(Stats::default()),
        Ask::Sessions { .. } => Said::Sessions(List::clip([client_session()])),
        _ => Said::Rows(List::clip([row()])),
    }
}
