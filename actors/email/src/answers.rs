//! The answers of the last hour: so many of an account, and so many of one thread, so that two programs that answer each other come to
//! rest. The message ids in the mailbox of sent mail say what was answered before this process started.

use std::time::Duration;

/// Answers of an account within an hour.
const ACCOUNT: usize = 30;
/// Answers of a thread within an hour.
const THREAD: usize = 5;
/// Seconds of an hour.
const HOUR_S: i64 = 3600;

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answered {
    /// Its thread.
    pub(crate) thread: String,
    /// Its delivery.
    pub(crate) delivery: u64,
    /// When it was sent, unix seconds.
    pub(crate) at: i64,
}

/// The answers of an account.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    all: Vec<Answered>,
    /// True once those of earlier processes are among them.
    pub(crate) complete: bool,
}

impl Answers {
    /// Adds answers that were sent before.
    pub(crate) fn add(&mut self, answers: impl IntoIterator<Item = Answered>) {
        for answer in answers {
            if !self.all.iter().any(|one| one.delivery == answer.delivery) {
                self.all.push(answer);
            }
        }
    }

    /// Takes a place for an answer. Returns true if it is a new one: a further piece of an answer needs none.
    ///
    /// # Errors
    /// The time after which there is a place.
    pub(crate) fn take(&mut self, answer: Answered) -> Result<bool, Duration> {
        let now = answer.at;
        self.all.retain(|one| one.at > now - HOUR_S);
        if self.all.iter().any(|one| one.delivery == answer.delivery) {
            return Ok(false);
        }
        let of_thread = self.all.iter().filter(|one| one.thread == answer.thread);
        let wait = wait(of_thread, THREAD, now).max(wait(self.all.iter(), ACCOUNT, now));
        if wait > 0 {
            return Err(Duration::from_secs(wait.unsigned_abs()));
        }
        self.all.push(answer);
        Ok(true)
    }

    /// Gives back the place of an answer that was not sent.
    pub(crate) fn give_back(&mut self, delivery: u64) {
        self.all.retain(|one| one.delivery != delivery);
    }
}

/// Seconds until fewer than so many of these are of the last hour.
fn wait<'a>(answers: impl Iterator<Item = &'a Answered>, most: usize, now: i64) -> i64 {
    let mut times: Vec<i64> = answers.map(|one| one.at).collect();
    times.sort_unstable_by(|a, b| b.cmp(a));
    times.get(most - 1).map_or(0, |at| (at + HOUR_S - now).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(thread: &str, delivery: u64, at: i64) -> Answered {
        Answered { thread: thread.to_owned(), delivery, at }
    }

    // Holds P11-94.
    #[test]
    fn a_thread_has_five_answers_an_hour_and_an_account_thirty() {
        let mut answers = Answers::default();
        for delivery in 0..5 {
            assert_eq!(answers.take(answer("a", delivery, 1000)), Ok(true));
        }
        assert_eq!(answers.take(answer("a", 5, 1600)), Err(Duration::from_secs(3000)));
        assert_eq!(answers.take(answer("a", 4, 1600)), Ok(false), "a further piece of an answer");
        for delivery in 10..35 {
            assert_eq!(answers.take(answer(&delivery.to_string(), delivery, 2000)), Ok(true));
        }
        assert_eq!(answers.take(answer("b", 40, 2000)), Err(Duration::from_secs(2600)));
        answers.give_back(34);
        assert_eq!(answers.take(answer("b", 40, 2000)), Ok(true));
        assert_eq!(answers.take(answer("a", 41, 4600)), Ok(true), "an hour later");
    }

    // Holds P11-94.
    #[test]
    fn answers_of_an_earlier_process_count_once() {
        let mut answers = Answers::default();
        answers.add((0..5).map(|delivery| answer("a", delivery, 10)));
        answers.add([answer("a", 4, 10)]);
        assert!(answers.take(answer("a", 9, 20)).is_err());
    }
}
