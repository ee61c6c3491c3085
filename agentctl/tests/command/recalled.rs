//! The canned host's memory: the calls are recorded, and answered with one of each kind.

use crate::samples::{MEMORY, label, row};
use crate::state::Canned;
use ipc_proto::ids::MemoryId;
use ipc_proto::memory::{
    Answered, Block, BlockAsk, Capture, Entry, Forget, Forgotten, Found, Hit, Muted, RestoredSession, Why,
};
use ipc_proto::{List, Text};

/// A call to memory.
#[derive(Clone, Debug)]
pub(crate) enum MemoryCall {
    Block(Box<BlockAsk>),
    Capture(Box<Capture>),
    Revise {
        id: MemoryId,
        entry: Box<Entry>,
        reason: Text<512>,
    },
    Restore,
    RestoreSession(Box<RestoredSession>),
    Forget {
        what: Forget,
        purge: bool,
        dry_run: bool,
    },
    Mute {
        what: Muted,
        mute: bool,
    },
    /// Another one, by its name.
    Other(#[expect(dead_code, reason = "shown where a test fails")] &'static str),
}

impl Canned {
    /// Records a call.
    pub(crate) fn remember(&self, call: MemoryCall) {
        self.set(|state| state.memories.push(call));
    }

    pub(crate) fn added(&self, entry: &Entry) -> MemoryId {
        let tags = entry.tags.iter().map(ToString::to_string).collect();
        self.set(|state| state.added.push((entry.id, entry.content.to_string(), tags)));
        entry.id
    }

    pub(crate) fn forgotten(&self, dry_run: bool) -> Forgotten {
        let (rows, more) = self.get(|state| state.forgets).unwrap_or((1, 0));
        if !dry_run {
            self.set(|state| state.forgets = Some((rows, more.saturating_sub(1))));
        }
        Forgotten { rows, more: more > 0, ..Forgotten::default() }
    }
}

pub(crate) fn found() -> Box<Answered> {
    let hit = Hit { row: row(), snippet: Text::clip("the [harbour] office"), score: 900 };
    let why = Why { by_words: Some(1), own: 900, named: true, ..Why::default() };
    Box::new(Answered::of([Found { hit, why }]))
}

pub(crate) fn block(ask: &BlockAsk) -> Box<Block> {
    Box::new(Block {
        text: Text::clip("what is remembered"),
        label: Some(label()),
        tokens: ask.tokens.unwrap_or_default(),
        rows: List::clip([MEMORY]),
        ..Block::default()
    })
}

/// The methods of control for memory.
macro_rules! memory_methods {
    () => {
        async fn memory_read(
            self,
            _: Context,
            _: ipc_proto::memory::Area,
            _: ipc_proto::List<ipc_proto::ids::MemoryId, { ipc_proto::memory::MOST_IDS }>,
        ) -> Answer<ipc_proto::List<ipc_proto::memory::Row, { ipc_proto::memory::HITS }>> {
            self.guard()?;
            self.remember(crate::recalled::MemoryCall::Other("read"));
            Ok(ipc_proto::List::clip([crate::samples::row()]))
        }

        async fn memory_raw(
            self,
            _: Context,
            _: ipc_proto::memory::Area,
            _: ipc_proto::ids::MemoryId,
        ) -> Answer<ipc_proto::memory::Raw> {
            self.guard()?;
            self.remember(crate::recalled::MemoryCall::Other("raw"));
            Ok(ipc_proto::memory::Raw { text: ipc_proto::Text::clip("raw"), label: crate::samples::label() })
        }

        async fn memory_list(
            self,
            _: Context,
            _: ipc_proto::memory::Area,
            _: ipc_proto::memory::Filter,
            _: u16,
            _: ipc_proto::memory::Start,
        ) -> Answer<ipc_proto::List<ipc_proto::memory::Row, { ipc_proto::memory::HITS }>> {
            self.guard()?;
            self.remember(crate::recalled::MemoryCall::Other("list"));
            Ok(ipc_proto::List::clip([crate::samples::row()]))
        }

        async fn memory_find(
            self,
            _: Context,
            _: ipc_proto::memory::Area,
            _: Box<ipc_proto::memory::Question>,
        ) -> Answer<Box<ipc_proto::memory::Answered>> {
            self.guard()?;
            self.remember(crate::recalled::MemoryCall::Other("find"));
            Ok(crate::recalled::found())
        }

        async fn memory_timeline(
            self,
            _: Context,
            _: ipc_proto::memory::Area,
            _: ipc_proto::memory::Neighbourhood,
        ) -> Answer<ipc_proto::List<ipc_proto::memory::Row, { ipc_proto::memory::HITS }>> {
            self.guard()?;
            self.remember(crate::recalled::MemoryCall::Other("timeline"));
            Ok(ipc_proto::List::clip([crate::samples::row()]))
        }

        async fn memory_history(
            self,
            _: Context,
            _: ipc_proto::memory::Area,
            _: ipc_proto::ids::MemoryId,
        ) -> Answer<ipc_proto::List<ipc_proto::memory::Row, { ipc_proto::memory::HITS }>> {
            self.guard()?;
            self.remember(crate::recalled::MemoryCall::Other("history"));
            Ok(ipc_proto::List::clip([crate::samples::row()]))
        }

        async fn memory_sessions(
            self,
            _: Context,
            _: ipc_proto::memory::Area,
            _: Option<ipc_proto::memory::Project>,
            _: u16,
            _: ipc_proto::memory::Start<ipc_proto::ids::SessionId>,
        ) -> Answer<ipc_proto::List<ipc_proto::memory::SessionRow, { ipc_proto::memory::HITS }>> {
            self.guard()?;
            self.remember(crate::recalled::MemoryCall::Other("sessions"));
            Ok(ipc_proto::List::clip([crate::samples::client_session()]))
        }

        async fn memory_block(
            self,
            _: Context,
            _: ipc_proto::memory::Area,
            ask: Box<ipc_proto::memory::BlockAsk>,
        ) -> Answer<Box<ipc_proto::memory::Block>> {
            self.guard()?;
            self.remember(crate::recalled::MemoryCall::Block(ask.clone()));
            Ok(crate::recalled::block(&ask))
        }

        async fn memory_stats(
            self,
            _: Context,
            _: ipc_proto::memory::Area,
        ) -> Answer<ipc_proto::memory::Stats> {
            self.guard()?;
            self.remember(crate::recalled::MemoryCall::Other("stats"));
            Ok(ipc_proto::memory::Stats::default())
        }

        async fn memory_write(
            self,
            _: Context,
            _: ipc_proto::memory::Area,
            entry: Box<ipc_proto::memory::Entry>,
        ) -> Answer<ipc_proto::ids::MemoryId> {
            self.guard()?;
            self.remember(crate::recalled::MemoryCall::Other("write"));
            Ok(self.added(&entry))
        }

        async fn memory_revise(
            self,
            _: Context,
            _: ipc_proto::memory::Area,
            id: ipc_proto::ids::MemoryId,
            entry: Box<ipc_proto::memory::Entry>,
            reason: ipc_proto::Text<512>,
        ) -> Answer<ipc_proto::ids::MemoryId> {
            self.guard()?;
            self.remember(crate::recalled::MemoryCall::Revise { id, entry: entry.clone(), reason });
            Ok(entry.id)
        }

        async fn memory_remove(
            self,
            _: Context,
            _: ipc_proto::memory::Area,
            _: ipc_proto::ids::MemoryId,
            _: ipc_proto::Text<512>,
        ) -> Answer<()> {
            self.guard()?;
            self.remember(crate::recalled::MemoryCall::Other("remove"));
            Ok(())
        }

        async fn memory_restore(
            self,
            _: Context,
            _: ipc_proto::memory::Area,
            row: Box<ipc_proto::memory::Restored>,
        ) -> Answer<Option<ipc_proto::ids::MemoryId>> {
            self.guard()?;
            self.remember(crate::recalled::MemoryCall::Restore);
            Ok(Some(row.row.entry.id))
        }

        async fn memory_capture(
            self,
            _: Context,
            _: ipc_proto::memory::Area,
            capture: Box<ipc_proto::memory::Capture>,
        ) -> Answer<Option<ipc_proto::ids::MemoryId>> {
            self.guard()?;
            self.remember(crate::recalled::MemoryCall::Capture(capture));
            Ok(Some(crate::samples::MEMORY))
        }

        async fn memory_judge(
            self,
            _: Context,
            _: ipc_proto::memory::Area,
            _: Box<ipc_proto::memory::Entry>,
        ) -> Answer<()> {
            self.guard()?;
            self.remember(crate::recalled::MemoryCall::Other("judge"));
            Ok(())
        }

        async fn memory_unremove(
            self,
            _: Context,
            _: ipc_proto::memory::Area,
            _: ipc_proto::ids::MemoryId,
        ) -> Answer<()> {
            self.guard()?;
            self.remember(crate::recalled::MemoryCall::Other("unremove"));
            Ok(())
        }

        async fn memory_accept(
            self,
            _: Context,
            _: ipc_proto::memory::Area,
            _: ipc_proto::ids::MemoryId,
        ) -> Answer<()> {
            self.guard()?;
            self.remember(crate::recalled::MemoryCall::Other("accept"));
            Ok(())
        }

        async fn memory_forget(
            self,
            _: Context,
            _: ipc_proto::memory::Area,
            what: ipc_proto::memory::Forget,
            purge: bool,
            dry_run: bool,
        ) -> Answer<ipc_proto::memory::Forgotten> {
            self.guard()?;
            self.remember(crate::recalled::MemoryCall::Forget { what, purge, dry_run });
            Ok(self.forgotten(dry_run))
        }

        async fn memory_restore_session(
            self,
            _: Context,
            _: ipc_proto::memory::Area,
            session: Box<ipc_proto::memory::RestoredSession>,
        ) -> Answer<bool> {
            self.guard()?;
            self.remember(crate::recalled::MemoryCall::RestoreSession(session));
            Ok(true)
        }

        async fn memory_mute(
            self,
            _: Context,
            _: ipc_proto::memory::Area,
            what: ipc_proto::memory::Muted,
            mute: bool,
        ) -> Answer<()> {
            self.guard()?;
            self.remember(crate::recalled::MemoryCall::Mute { what, mute });
            Ok(())
        }

        async fn memory_reindex(
            self,
            _: Context,
            _: ipc_proto::memory::Area,
        ) -> Answer<ipc_proto::memory::Stats> {
            self.guard()?;
            self.remember(crate::recalled::MemoryCall::Other("reindex"));
            Ok(ipc_proto::memory::Stats::default())
        }

        async fn memory_unread(
            self,
            _: Context,
            _: ipc_proto::memory::Area,
            _: bool,
        ) -> Answer<ipc_proto::memory::Unread> {
            self.guard().map(|()| ipc_proto::memory::Unread::default())
        }
    };
}
pub(crate) use memory_methods;
