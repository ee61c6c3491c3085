//! Loops: conversations that go back and forth faster than people write. A message counts where it comes within two seconds of the
//! host's own answer: a person has not read that by then, and a program that answers every message has.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

/// The time after an answer within which the next message counts.
const QUICK: Duration = Duration::from_secs(2);
/// Such messages of one peer within this time; one more pauses the conversation.
const MOST: (usize, Duration) = (5, Duration::from_secs(60));
/// The pause of a conversation.
pub(crate) const PAUSE: Duration = Duration::from_secs(300);
/// Conversations that are remembered. With more, those that were quiet longest are forgotten.
const CONVERSATIONS: usize = 4096;

/// The consequence of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// It goes on.
    GoesOn,
    /// It is one too many, and the conversation is paused from now on.
    Pauses,
    /// The conversation is paused.
    Paused,
}

/// A conversation.
struct Talk {
    /// When it was answered last, if nothing came since.
    answered: Option<Instant>,
    /// Messages that came too soon after an answer, with their senders.
    quick: VecDeque<(Instant, String)>,
    /// The end of its pause.
    until: Option<Instant>,
    /// When it was heard of last.
    last: Instant,
}

/// The conversations of all accounts.
#[derive(Default)]
pub(crate) struct Loops(HashMap<String, Talk>);

impl Loops {
    /// Notes that an answer was sent to a conversation.
    pub(crate) fn answered(&mut self, conversation: &str, now: Instant) {
        self.talk(conversation, now).answered = Some(now);
    }

    /// Takes a message of this sender into account.
    pub(crate) fn heard(&mut self, conversation: &str, sender: &str, now: Instant) -> Heard {
        let talk = self.talk(conversation, now);
        if talk.until.is_some_and(|until| now < until) {
            return Heard::Paused;
        }
        let answered = talk.answered.take();
        if answered.is_none_or(|at| now.saturating_duration_since(at) > QUICK) {
            return Heard::GoesOn;
        }
        talk.quick.retain(|(at, _)| now.saturating_duration_since(*at) < MOST.1);
        talk.quick.push_back((now, sender.to_owned()));
        if talk.quick.iter().filter(|(_, other)| other == sender).count() <= MOST.0 {
            return Heard::GoesOn;
        }
        talk.quick.clear();
        talk.until = Some(now + PAUSE);
        Heard::Pauses
    }

    fn talk(&mut self, conversation: &str, now: Instant) -> &mut Talk {
        if self.0.len() >= CONVERSATIONS && !self.0.contains_key(conversation) {
            let quietest = self.0.iter().min_by_key(|(_, talk)| talk.last).map(|(name, _)| name.clone());
            quietest.and_then(|name| self.0.remove(&name));
        }
        let fresh = || Talk { answered: None, quick: VecDeque::new(), until: None, last: now };
        let talk = self.0.entry(conversation.to_owned()).or_insert_with(fresh);
        talk.last = now;
        talk
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Exchanges whose next message comes this long after each answer; gives the first that does not go on.
    fn talked(exchanges: usize, after: Duration) -> Option<usize> {
        let (mut loops, mut now) = (Loops::default(), Instant::now());
        (0..exchanges).find(|_| {
            loops.answered("c", now);
            now += after;
            loops.heard("c", "7", now) != Heard::GoesOn
        })
    }

    // Holds P11-40.
    #[test]
    fn over_five_messages_within_two_seconds_of_an_answer_pause() {
        assert_eq!(talked(40, Duration::from_millis(300)), Some(5));
        assert_eq!(talked(40, Duration::from_secs(2)), Some(5));
    }

    // Holds P11-40.
    #[test]
    fn a_person_who_types_quickly_is_not_paused() {
        assert_eq!(talked(400, Duration::from_millis(2100)), None);
        // Many messages for one answer are one exchange.
        let (mut loops, mut now) = (Loops::default(), Instant::now());
        for _ in 0..5 {
            loops.answered("c", now);
            for _ in 0..20 {
                now += Duration::from_millis(100);
                assert_eq!(loops.heard("c", "7", now), Heard::GoesOn);
            }
        }
    }

    // Holds P11-40.
    #[test]
    fn a_pause_is_of_one_conversation_and_ends() {
        let (mut loops, now) = (Loops::default(), Instant::now());
        for number in 0..6 {
            loops.answered("c", now);
            let expected = if number < 5 { Heard::GoesOn } else { Heard::Pauses };
            assert_eq!(loops.heard("c", "7", now), expected);
        }
        assert_eq!(loops.heard("c", "8", now), Heard::Paused, "whoever writes there");
        assert_eq!(loops.heard("d", "7", now), Heard::GoesOn);
        assert_eq!(loops.heard("c", "7", now + PAUSE), Heard::GoesOn);
    }

    #[test]
    fn conversations_are_bounded_and_peers_of_a_group_count_by_themselves() {
        let (mut loops, now) = (Loops::default(), Instant::now());
        for number in 0..10 {
            loops.answered("group", now);
            assert_eq!(loops.heard("group", &(number % 2).to_string(), now), Heard::GoesOn);
        }
        for number in 0..2 * CONVERSATIONS {
            loops.answered(&number.to_string(), now);
        }
        assert!(loops.0.len() <= CONVERSATIONS);
    }
}
