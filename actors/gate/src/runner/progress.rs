//! The progress of an engine: its open tools and its text so far.

use crate::inspection::reply_text::ReplyText;
use ipc_proto::router::{Released, Step};
use std::collections::HashMap;
use std::time::Instant;

/// The progress of an engine in one turn.
#[derive(Debug, Default)]
pub(crate) struct EngineProgress {
    pub(crate) reply_text: ReplyText,
    /// Tools that are under way.
    pub(crate) open: HashMap<u32, (Released, Instant)>,
    /// Followers were told that further tools are not reported.
    pub(crate) announced_limit: bool,
    pub(crate) answered: bool,
    /// The engine's state was saved, which happens once a turn.
    pub(crate) state_saved: bool,
    /// Bytes of text that are saved of the turn.
    pub(crate) text_bytes: usize,
}

impl EngineProgress {
    /// The progress after the steps of earlier attempts.
    pub(crate) fn after<'a>(steps: impl Iterator<Item = &'a Step>) -> Self {
        let bytes = |step: &Step| if let Step::Reply { text, .. } = step { text.len() } else { 0 };
        Self { text_bytes: steps.map(bytes).sum(), ..Self::default() }
    }
}
