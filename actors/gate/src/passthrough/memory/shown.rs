//! Memory's answers as a client is shown them: every text with its label. Pure.

use ipc_proto::List;
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::memory::{Answered, Block, HITS, Raw, Row, SessionRow, State, Unread};

/// An answer of memory.
pub(super) trait Shown: Sized {
    /// Shows every text with its label, in the order in which they are read.
    fn texts(&self, show: &mut dyn FnMut(&str, &Label));

    /// The label of the rows that a model read to order the answer, if one did.
    fn read_by_model(&self) -> Option<&Label> {
        None
    }

    /// The answer without proposed rows: until the person accepts one, only the person sees it.
    fn without_proposed(self) -> Self {
        self
    }
}

fn show_row(row: &Row, show: &mut dyn FnMut(&str, &Label)) {
    row.entry.texts().for_each(|text| show(text, &row.entry.label));
}

const fn is_proposed(row: &Row) -> bool {
    matches!(row.state, State::Proposed { .. })
}

impl Shown for List<Row, HITS> {
    fn texts(&self, show: &mut dyn FnMut(&str, &Label)) {
        self.iter().for_each(|row| show_row(row, show));
    }

    fn without_proposed(self) -> Self {
        Self::clip(self.into_vec().into_iter().filter(|row| !is_proposed(row)))
    }
}

impl Shown for Box<Answered> {
    fn texts(&self, show: &mut dyn FnMut(&str, &Label)) {
        self.rows.iter().for_each(|found| show_row(&found.hit.row, show));
    }

    fn read_by_model(&self) -> Option<&Label> {
        self.read.as_ref()
    }

    fn without_proposed(mut self) -> Self {
        let rows = std::mem::take(&mut self.rows).into_iter();
        self.rows = List::clip(rows.filter(|found| !is_proposed(&found.hit.row)));
        self
    }
}

impl Shown for Raw {
    fn texts(&self, show: &mut dyn FnMut(&str, &Label)) {
        show(&self.text, &self.label);
    }
}

impl Shown for Box<Block> {
    fn texts(&self, show: &mut dyn FnMut(&str, &Label)) {
        show(&self.text, self.label.as_ref().unwrap_or(&Label::bottom()));
    }
}

impl Shown for List<SessionRow, HITS> {
    fn texts(&self, show: &mut dyn FnMut(&str, &Label)) {
        let label = Label::of(Trust::Untrusted, Class::Internal, "memory");
        self.iter().for_each(|session| show(&session.name, &label));
    }
}

impl Shown for Unread {
    fn texts(&self, _: &mut dyn FnMut(&str, &Label)) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::Text;
    use ipc_proto::ids::MemoryId;
    use ipc_proto::memory::{Area, Entry};

    #[test]
    fn a_proposed_row_is_in_no_answer_to_a_client() {
        let entry = || Entry::new(MemoryId::random(), Text::clip("a"), Label::bottom());
        let row = |state| Row { state, ..Row::new(entry(), Area::User, 1) };
        let rows = [row(State::Proposed { at_ms: 1 }), row(State::Current), row(State::Removed { at_ms: 1 })];
        let shown = List::<Row, HITS>::clip(rows).without_proposed();
        assert_eq!(shown.len(), 2);
        assert!(!shown.iter().any(is_proposed));
    }
}
