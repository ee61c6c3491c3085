//! A long list, page by page: each begins after the last row of the one before. If that row went meanwhile, the list is read
//! again from its start, a bounded number of times. Pure: the caller asks the host.

use crate::failure::Failure;
use ipc_proto::List;
use ipc_proto::control::ControlError;
use ipc_proto::memory::{BEHIND, MemoryError, Start};

/// Rows or sessions of one answer.
pub(super) const PAGE: u16 = 100;
/// The number of times that a list is read again at most.
const AGAIN: u8 = 16;

/// The position in a list.
pub(super) struct Pages<R, I> {
    id: fn(&R) -> I,
    /// The ids of the last page.
    known: Vec<I>,
    /// The number of times that the list may still be read again.
    again: u8,
    /// True if its rows went once more after that, so that others may be missing.
    pub(super) may_lack: bool,
    ended: bool,
}

impl<R, I: Copy> Pages<R, I> {
    /// The start of a list.
    pub(super) const fn new(id: fn(&R) -> I) -> Self {
        Self { id, known: Vec::new(), again: AGAIN, may_lack: false, ended: false }
    }

    /// The start of the next page; `None` after the last.
    pub(super) fn start(&self) -> Option<Start<I>> {
        (!self.ended).then(|| Start::Behind(List::clip(self.known.iter().copied())))
    }

    /// The rows of a page by the host's answer. A row may repeat one of an earlier page if the listing began again.
    ///
    /// # Errors
    /// The page cannot be read.
    pub(super) fn took<const N: usize>(
        &mut self,
        answered: Result<List<R, N>, Failure>,
    ) -> Result<Vec<R>, Failure> {
        let rows = match answered {
            Err(Failure::Control(ControlError::Memory(MemoryError::NotFound))) => {
                // The list ends even if rows go all the time.
                (self.may_lack, self.ended) = (self.again == 0, self.again == 0);
                self.again = self.again.saturating_sub(1);
                self.known.clear();
                return Ok(Vec::new());
            }
            rows => rows?.into_vec(),
        };
        self.ended = rows.len() < usize::from(PAGE);
        self.known = rows.iter().rev().take(BEHIND).map(self.id).collect();
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gone() -> Result<List<u32, 100>, Failure> {
        Err(Failure::Control(ControlError::Memory(MemoryError::NotFound)))
    }

    // Holds P7-43.
    #[test]
    fn a_list_whose_last_rows_keep_going_still_ends() {
        let (mut pages, mut read, mut asked) = (Pages::new(|n: &u32| *n), Vec::new(), 0);
        while let Some(start) = pages.start() {
            let answered = match start {
                Start::Behind(known) if known.is_empty() => Ok(List::clip(0..u32::from(PAGE))),
                _ => gone(),
            };
            read.extend(pages.took(answered).unwrap());
            asked += 1;
        }
        assert_eq!(asked, 2 * (u32::from(AGAIN) + 1));
        assert!(pages.may_lack && read.contains(&0));
    }

    #[test]
    fn a_page_begins_after_the_last_row_and_a_short_page_is_the_last() {
        let mut pages = Pages::new(|n: &u32| *n);
        pages.took::<100>(Ok(List::clip(0..u32::from(PAGE)))).unwrap();
        let Some(Start::Behind(known)) = pages.start() else { panic!("it goes on") };
        assert_eq!(known.into_vec(), (92..100).rev().collect::<Vec<u32>>());
        pages.took::<100>(Ok(List::clip([100]))).unwrap();
        assert!(pages.start().is_none() && !pages.may_lack);
    }
}
