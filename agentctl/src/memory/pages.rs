//! A long list, page by page: each begins behind the last of the one before. Where these went meanwhile, all is gone through
//! again, and in the end what was read is given. It asks nobody itself, and never begins anew without end.

use crate::failure::Failure;
use ipc_proto::List;
use ipc_proto::control::ControlError;
use ipc_proto::memory::{BEHIND, MemoryError, Start};

/// Rows or sessions of one answer.
pub(super) const PAGE: u16 = 100;
/// How often all are gone through again at most.
const AGAIN: u8 = 16;

/// How far a list was read.
pub(super) struct Pages<R, I> {
    id: fn(&R) -> I,
    /// The last that were read.
    known: Vec<I>,
    /// How often it is gone through again at most.
    again: u8,
    /// They went once more after that: others may have been passed over.
    pub(super) may_lack: bool,
    ended: bool,
}

impl<R, I: Copy> Pages<R, I> {
    /// The beginning of a list of what has such ids.
    pub(super) const fn new(id: fn(&R) -> I) -> Self {
        Self { id, known: Vec::new(), again: AGAIN, may_lack: false, ended: false }
    }

    /// Where the next page begins; nowhere after the last.
    pub(super) fn start(&self) -> Option<Start<I>> {
        (!self.ended).then(|| Start::Behind(List::clip(self.known.iter().copied())))
    }

    /// What is on a page, by what was answered. It may have been on one before, where all is gone through again.
    ///
    /// # Errors
    /// The page cannot be read.
    pub(super) fn took<const N: usize>(
        &mut self,
        answered: Result<List<R, N>, Failure>,
    ) -> Result<Vec<R>, Failure> {
        let rows = match answered {
            Err(Failure::Control(ControlError::Memory(MemoryError::NotFound))) => {
                // A list ends also where rows go all the while.
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
    fn a_list_of_which_the_last_go_all_the_while_ends_with_what_was_read() {
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
    fn a_page_begins_behind_the_last_of_the_one_before_and_one_that_is_not_full_is_the_last() {
        let mut pages = Pages::new(|n: &u32| *n);
        pages.took::<100>(Ok(List::clip(0..u32::from(PAGE)))).unwrap();
        let Some(Start::Behind(known)) = pages.start() else { panic!("it goes on") };
        assert_eq!(known.into_vec(), (92..100).rev().collect::<Vec<u32>>());
        pages.took::<100>(Ok(List::clip([100]))).unwrap();
        assert!(pages.start().is_none() && !pages.may_lack);
    }
}
