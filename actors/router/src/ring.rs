//! The events of a turn for its followers, in memory: the last events, each with its own number, bounded in events and bytes. A restart
//! loses them; the gate sends again what it still has, under the same numbers.
//!
//! Numbers: attempt `a` of a turn has the numbers from `a << 32` on. The gate counts its own events of each
//! attempt from 0; what the router itself says at the start of an attempt stands right before them. So a number
//! means the same event before and after a restart, and grows from one attempt to the next.

use ipc_proto::ids::CallId;
use ipc_proto::router::{Finished, Followed, TurnEvent};
use ipc_proto::{List, Name};
use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

/// Events of a turn in its ring.
pub(crate) const EVENTS: usize = 4096;
/// Bytes of text and output of a turn in its ring, without its end.
pub(crate) const BYTES: usize = 1024 * 1024;
/// Bytes in one piece given to a follower, save for one large event.
const PIECE: usize = 1024 * 1024;
/// Events in one piece.
const PIECE_EVENTS: u16 = 64;
/// How long a follower that has not asked again is still held to be there.
const PATIENCE: Duration = Duration::from_secs(10);
/// Calls of one attempt whose tool is remembered.
const CALLS: usize = 128;

/// The events of one turn. It begins with the first attempt.
#[derive(Default)]
pub(crate) struct Ring {
    attempt: u32,
    events: VecDeque<(u64, TurnEvent)>,
    bytes: usize,
    /// The number that the gate's next event has in the gate's own count.
    needs: u32,
    /// Where the gate began after a gap, and nothing was taken.
    refused: Option<u64>,
    /// The number of the next event.
    next: u64,
    over: bool,
    /// Up to where a follower has been given events, and when it last asked.
    read: Option<(u64, Instant)>,
    tools: HashMap<CallId, Name>,
}

impl Ring {
    /// An attempt begins; `notice` says why there is another one.
    pub(crate) fn begin(&mut self, attempt: u32, notice: Option<TurnEvent>) {
        if attempt <= self.attempt || self.over {
            return;
        }
        self.attempt = attempt;
        self.needs = 0;
        self.refused = None;
        self.tools.clear();
        let first = first_number(attempt);
        self.next = first - 1 - u64::from(notice.is_some());
        for event in notice.into_iter().chain([TurnEvent::Started { attempt }]) {
            self.push(event);
        }
    }

    /// Takes the gate's events, the first of which has number `from` in the gate's count. Gives the events that
    /// are new; what is there already is passed over. After a gap nothing is taken, so that the gate can send what
    /// is missing; if it comes with the same again it has nothing older, and followers see the gap in the numbers.
    pub(crate) fn emit(&mut self, from: u64, events: List<TurnEvent, 64>) -> Vec<TurnEvent> {
        if events.is_empty() || self.over || !self.closes_up(from) {
            return Vec::new();
        }
        let needs = u64::from(self.needs);
        let seen = usize::try_from(needs - from).unwrap_or(usize::MAX);
        let mut fresh = Vec::new();
        for event in events.into_iter().skip(seen) {
            // The router itself decides how a turn ends; the number is used up nevertheless.
            let (false, Some(needs)) = (self.over, self.needs.checked_add(1)) else { break };
            self.needs = needs;
            if matches!(event, TurnEvent::Done(_)) {
                self.next += 1;
            } else {
                fresh.push(event.clone());
                self.push(event);
            }
        }
        fresh
    }

    /// Returns true if events from `from` on can be taken, leaving a gap if there is no other way.
    fn closes_up(&mut self, from: u64) -> bool {
        let gap = from.saturating_sub(u64::from(self.needs));
        if gap > 0 && self.refused.replace(from) != Some(from) {
            return false;
        }
        self.refused = None;
        let Ok(begin) = u32::try_from(from.max(u64::from(self.needs))) else { return false };
        (self.needs, self.next) = (begin, self.next + gap);
        true
    }

    /// The number that the ring needs next, in the gate's count.
    pub(crate) fn needs(&self) -> u64 {
        u64::from(self.needs)
    }

    /// The end; nothing follows.
    pub(crate) fn finish(&mut self, finished: Finished) {
        if !self.over {
            self.push(TurnEvent::Done(finished));
            self.over = true;
        }
    }

    /// Events from number `from` on, as many as a follower has credit for; `None` if there is none yet.
    pub(crate) fn read(&mut self, from: u64, credit: u16, now: Instant) -> Option<Followed> {
        self.read = Some((self.read.map_or(from, |(read, _)| read.max(from)), now));
        let credit = usize::from(credit.clamp(1, PIECE_EVENTS));
        let start = self.events.partition_point(|(number, _)| *number < from);
        let first = self.events.get(start).map(|(number, _)| *number);
        let Some(first) = first else {
            // A follower that is past the end has seen a ring that is lost: it has not seen the end.
            let end = self.events.back().filter(|_| self.over).map(|(_, event)| event.clone());
            return end.map(|end| last(from, end));
        };
        let mut bytes = 0;
        let piece =
            (first..).zip(self.events.range(start..).take(credit)).take_while(|(number, (at, event))| {
                bytes += size(event);
                number == at && (bytes <= PIECE || *at == first)
            });
        let events = List::clip(piece.map(|(_, (_, event))| event.clone()));
        let next = first + u64::try_from(events.len()).unwrap_or_default();
        self.read = Some((next, now));
        let over = matches!(events.last(), Some(TurnEvent::Done(_)));
        Some(Followed { from: first, events, next, over })
    }

    /// Returns true if a follower is there and so far behind that taking more would drop what it has not read.
    pub(crate) fn is_full(&self, now: Instant) -> bool {
        let Some((read, asked)) = self.read else { return false };
        let unread = || self.events.iter().rev().take_while(|(number, _)| *number >= read);
        let bytes: usize = unread().map(|(_, event)| size(event)).sum();
        now.saturating_duration_since(asked) < PATIENCE
            && (bytes >= BYTES / 2 || unread().count() >= EVENTS / 2)
    }

    /// Remembers the tool of a call that began.
    pub(crate) fn began(&mut self, call: CallId, tool: &Name) {
        if self.tools.len() < CALLS {
            self.tools.insert(call, tool.clone());
        }
    }

    /// The tool of a call that ended, once.
    pub(crate) fn ended(&mut self, call: CallId) -> Option<Name> {
        self.tools.remove(&call)
    }

    fn push(&mut self, event: TurnEvent) {
        self.bytes += size(&event);
        self.events.push_back((self.next, event));
        self.next += 1;
        while self.events.len() > EVENTS || (self.bytes > BYTES && self.events.len() > 1) {
            let Some((_, dropped)) = self.events.pop_front() else { break };
            self.bytes -= size(&dropped);
        }
    }
}

/// The end of a turn whose ring is gone, for a follower that asks from `from` on.
pub(crate) fn end_alone(from: u64, finished: Finished) -> Followed {
    last(from, TurnEvent::Done(finished))
}

fn last(from: u64, event: TurnEvent) -> Followed {
    Followed { from, events: List::clip([event]), next: from.saturating_add(1), over: true }
}

fn first_number(attempt: u32) -> u64 {
    u64::from(attempt) << 32
}

/// The size of an event: its bytes and a little for itself. The end of a turn always stays, so it counts for nothing here.
fn size(event: &TurnEvent) -> usize {
    64 + match event {
        TurnEvent::Text(text) => text.len(),
        TurnEvent::Output { bytes, .. } => bytes.len(),
        TurnEvent::ToolStart { args, refused, .. } => {
            args.len() + refused.as_ref().map_or(0, |text| text.len())
        }
        TurnEvent::ToolProgress { line, .. } => line.len(),
        TurnEvent::Approval { preview, action, reason, .. } => preview.len() + action.len() + reason.len(),
        TurnEvent::Answered { note, .. } => note.len(),
        TurnEvent::Notice(text) => text.len(),
        TurnEvent::Started { .. } | TurnEvent::Again | TurnEvent::ToolEnd { .. } | TurnEvent::Done(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::label::Label;
    use ipc_proto::model::Usage;
    use ipc_proto::router::End;
    use ipc_proto::{Blob, Text};
    use proptest::prelude::*;

    fn begun(attempt: u32) -> Ring {
        let mut ring = Ring::default();
        ring.begin(attempt, None);
        ring
    }

    fn text(n: usize) -> TurnEvent {
        TurnEvent::Text(Text::clip(&format!("{n}")))
    }

    fn texts(from: usize, to: usize) -> List<TurnEvent, 64> {
        List::clip((from..to).map(text))
    }

    fn finished() -> Finished {
        Finished {
            end: End::Answered,
            text: Text::clip("all"),
            label: Label::bottom(),
            usage: Usage::default(),
            duration_ms: 1,
            attempts: 1,
        }
    }

    /// Everything a follower is given from `from` on.
    fn follow(ring: &mut Ring, mut from: u64, credit: u16) -> Vec<(u64, TurnEvent)> {
        let mut all = vec![];
        while let Some(piece) = ring.read(from, credit, Instant::now()) {
            all.extend((piece.from..).zip(piece.events.clone()));
            from = piece.next;
            if piece.over {
                break;
            }
        }
        all
    }

    proptest! {
        #[test]
        fn events_sent_again_from_anywhere_appear_once_and_in_order(
            pieces in prop::collection::vec((0usize..80, 0usize..20), 1..40), credit in 1u16..70,
        ) {
            let mut ring = begun(1);
            let (mut expected, mut taken, mut refused) = (0, vec![], None);
            for (from, len) in pieces {
                let fresh = ring.emit(from as u64, texts(from, from + len));
                if len > 0 && (from <= expected || refused == Some(from)) {
                    taken.extend(expected.max(from)..from + len);
                    prop_assert_eq!(fresh.len(), (from + len).saturating_sub(expected.max(from)));
                    expected = expected.max(from + len);
                    refused = None;
                } else {
                    prop_assert!(fresh.is_empty(), "after a gap nothing is taken at first");
                    refused = if len > 0 { Some(from) } else { refused };
                }
                prop_assert_eq!(ring.needs(), expected as u64);
            }
            ring.finish(finished());
            let all = follow(&mut ring, 0, credit);
            prop_assert_eq!(&all[0].1, &TurnEvent::Started { attempt: 1 });
            prop_assert_eq!(all.last().unwrap().1.clone(), TurnEvent::Done(finished()));
            let seen: Vec<_> = all[1..all.len() - 1].to_vec();
            let numbered = taken.into_iter().map(|n| (first_number(1) + n as u64, text(n)));
            prop_assert_eq!(seen, numbered.collect::<Vec<_>>());
            prop_assert!(all.windows(2).all(|pair| pair[0].0 < pair[1].0));
        }

        // Holds B-21.
        #[test]
        fn a_ring_never_holds_more_than_its_bounds_and_always_its_end(
            sizes in prop::collection::vec(0usize..32768, 0..200),
        ) {
            let mut ring = begun(1);
            for (from, size) in (0..).zip(&sizes) {
                let event = TurnEvent::Output { error: false, bytes: Blob::new(vec![0; *size]).unwrap() };
                ring.emit(from, List::clip([event]));
                let held: usize = ring.events.iter().map(|(_, event)| super::size(event)).sum();
                prop_assert_eq!(held, ring.bytes);
                prop_assert!(held <= BYTES && ring.events.len() <= EVENTS);
            }
            ring.finish(finished());
            let numbers = follow(&mut ring, 0, 64);
            prop_assert!(matches!(numbers.last(), Some((_, TurnEvent::Done(_)))));
        }
    }

    #[test]
    fn a_number_means_the_same_event_after_the_ring_was_lost_and_sent_again() {
        let mut before = begun(2);
        before.emit(0, texts(0, 9));
        let seen = follow(&mut before, 0, 5);
        let mut after = begun(2);
        assert_eq!(after.emit(9, texts(9, 10)), []);
        assert_eq!(after.needs(), 0, "the gate is told where to begin");
        after.emit(0, texts(0, 10));
        let again = follow(&mut after, 0, 64);
        assert_eq!(again[..seen.len()], seen);
        let next = seen.last().unwrap().0 + 1;
        assert_eq!(follow(&mut after, next, 64), [(next, text(9))], "a follower goes on where it was");
    }

    #[test]
    fn event_numbers_grow_from_one_attempt_to_the_next() {
        let mut ring = begun(1);
        ring.emit(0, texts(0, 3));
        let next = follow(&mut ring, 0, 64).last().unwrap().0 + 1;
        assert!(ring.read(next, 64, Instant::now()).is_none());
        ring.begin(2, Some(TurnEvent::Notice(Text::clip("again"))));
        assert_eq!(ring.needs(), 0, "the gate counts anew");
        ring.emit(0, texts(7, 8));
        let seen: Vec<_> = follow(&mut ring, next, 64).into_iter().map(|(_, event)| event).collect();
        assert_eq!(
            seen,
            [TurnEvent::Notice(Text::clip("again")), TurnEvent::Started { attempt: 2 }, text(7)]
        );
    }

    #[test]
    fn one_piece_is_contiguous_and_bounded_in_bytes() {
        let mut ring = begun(1);
        let large = || TurnEvent::Output { error: true, bytes: Blob::new(vec![7; 32768]).unwrap() };
        ring.emit(0, List::clip((0..30).map(|_| large())));
        ring.begin(2, None);
        let piece = ring.read(0, 64, Instant::now()).unwrap();
        assert_eq!((piece.from, piece.next), ((1 << 32) - 1, (1 << 32) + 30));
        let piece = ring.read(piece.next, 64, Instant::now()).unwrap();
        assert_eq!((piece.from, piece.events.len()), ((2 << 32) - 1, 1));
    }

    #[test]
    fn the_end_is_the_routers_word_and_comes_once() {
        let mut ring = begun(1);
        assert_eq!(ring.emit(0, List::clip([TurnEvent::Done(finished()), text(1)])), [text(1)]);
        ring.finish(finished());
        ring.finish(finished());
        assert!(ring.emit(2, texts(2, 3)).is_empty(), "nothing follows the end");
        let all = follow(&mut ring, 0, 64);
        assert_eq!(all.iter().filter(|(_, event)| matches!(event, TurnEvent::Done(_))).count(), 1);
        let past = ring.read(all.last().unwrap().0 + 60, 64, Instant::now()).unwrap();
        assert!(past.over, "who saw more of a ring that is lost is told the end all the same");
        assert_eq!(past.events.to_vec(), [TurnEvent::Done(finished())]);
    }

    #[test]
    fn a_follower_that_is_behind_holds_the_gate_up_until_it_leaves() {
        let mut ring = begun(1);
        let now = Instant::now();
        ring.read(0, 64, now);
        for from in 0..20 {
            let event = TurnEvent::Output { error: false, bytes: Blob::new(vec![0; 32768]).unwrap() };
            ring.emit(from, List::clip([event]));
        }
        assert!(ring.is_full(now));
        assert!(!ring.is_full(now + PATIENCE));
        while ring.read(ring.read.unwrap().0, 64, now).is_some() {}
        assert!(!ring.is_full(now), "what was read makes room");
    }
}
