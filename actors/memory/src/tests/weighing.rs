//! Tests of the factors of scores where they are asked for, and that nothing from outside makes itself matter.

use super::*;
use crate::weigh::Standing;
use ipc_proto::memory::{Importance, Manner, Signal, Weighed};

const HOUR_MS: u64 = 3_600_000;
const DAY_MS: u64 = 24 * HOUR_MS;

fn standing(trust: Trust, hours: u16) -> Standing {
    Standing { hours, unused: hours, trust, importance: 3, times: 0 }
}

fn near(one: f32, other: f32) -> bool {
    (one - other).abs() < 0.0005
}

// Holds P5-25.
#[test]
fn each_signal_is_what_its_formula_says() {
    let month = standing(Trust::User, 720);
    let read = Standing { unused: 0, times: 9, ..month };
    let cases = [
        (standing(Trust::User, 0), Signal::Recency, 1.0),
        (month, Signal::Recency, 0.85),
        (standing(Trust::User, u16::MAX), Signal::Recency, 0.7),
        (month, Signal::Salience, 4.0_f32.ln() / 2.0),
        (read, Signal::Salience, 11.0_f32.ln()),
        (standing(Trust::Untrusted, 0), Signal::Salience, 2.0_f32.ln()),
        (month, Signal::Trust, 1.0),
        (standing(Trust::Verified, 0), Signal::Trust, 0.85),
        (standing(Trust::Untrusted, 0), Signal::Trust, 0.7),
        (month, Signal::Importance, 1.0),
        (Standing { importance: 1, ..month }, Signal::Importance, 0.6),
        (Standing { importance: 5, ..month }, Signal::Importance, 1.4),
    ];
    for (of, signal, expected) in cases {
        let factor = of.factor(signal);
        assert!(near(factor, expected), "{signal:?} of {of:?} is {factor}, not {expected}");
    }
}

#[test]
fn newer_more_read_and_more_important_is_never_worth_less() {
    for trust in [Trust::System, Trust::User, Trust::Verified, Trust::Untrusted] {
        let one = Standing { times: 2, ..standing(trust, 500) };
        let newer = Standing { hours: 100, unused: 100, ..one };
        let more = Standing { times: 40, ..one };
        let important = Standing { importance: 4, ..one };
        for signal in Signal::ALL {
            for better in [newer, more, important] {
                assert!(better.factor(signal) >= one.factor(signal), "{signal:?} {better:?}");
            }
        }
    }
}

// Holds P5-25.
#[test]
fn content_from_outside_never_outweighs_a_persons_own_row() {
    for hours in [0, 1, 719, 720, 9000, u16::MAX] {
        let own = standing(Trust::User, hours);
        for trust in [Trust::Verified, Trust::Untrusted] {
            for (importance, times, unused) in [(1, 0, hours), (3, 1, 0), (5, 100, 0), (5, u16::MAX, 0)] {
                let outside = Standing { hours, unused, trust, importance, times };
                for signal in Signal::ALL {
                    assert!(outside.factor(signal) <= own.factor(signal), "{signal:?} {outside:?}");
                }
            }
        }
    }
}

/// Three rows with the same words: an old one of a person's, a new one from outside that says it matters most, and one of
/// a person's in between.
fn three() -> Held {
    let mut held = Held::quick();
    let mut outside = entry(2, "the harbour light is green");
    outside.label = Label::of(Trust::Untrusted, Class::Internal, "web");
    outside.detail.importance = Importance::of(5);
    let mut important = entry(3, "the harbour light is white");
    important.detail.importance = Importance::of(5);
    for (entry, day) in [(entry(1, "the harbour light is red"), 10), (outside, 100), (important, 70)] {
        held.store.insert(&user(1), &scanned(entry), day * DAY_MS).unwrap();
    }
    held
}

fn asked(held: &Held, manner: Manner, weigh: &[Signal], limit: u16) -> Vec<(MemoryId, Vec<Weighed>)> {
    let weigh = List::clip(weigh.iter().copied());
    let question = Question { manner, weigh, ..question("harbour light", &[], limit) };
    let found = held.store.find(&user(1), &question, 100 * DAY_MS).unwrap();
    found.into_iter().map(|found| (found.hit.row.entry.id, found.why.weighed.into_vec())).collect()
}

fn order(held: &Held, manner: Manner, weigh: &[Signal]) -> Vec<MemoryId> {
    asked(held, manner, weigh, 9).into_iter().map(|(id, _)| id).collect()
}

const MANNERS: [Manner; 5] = [Manner::Usual, Manner::Meaning, Manner::Fused, Manner::Weighted, Manner::Plain];

// Holds P5-25.
#[test]
fn the_order_is_by_the_signals_that_are_named_and_by_none_without_a_name() {
    let held = three();
    for manner in [Manner::Usual, Manner::Plain] {
        assert_eq!(order(&held, manner, &[Signal::Recency]), [id(2), id(3), id(1)], "{manner:?}");
        assert_eq!(order(&held, manner, &[Signal::Trust])[2], id(2), "{manner:?}");
        assert_eq!(order(&held, manner, &[Signal::Importance])[0], id(3), "{manner:?}");
        // The best by a signal is found also where it was not among the first by words.
        assert_eq!(asked(&held, manner, &[Signal::Importance], 1)[0].0, id(3), "{manner:?}");
    }
    for manner in MANNERS {
        for (_, weighed) in asked(&held, manner, &[], 9) {
            assert!(weighed.is_empty(), "{manner:?}");
        }
    }
}

// Holds P5-25.
#[test]
fn it_is_said_of_each_row_what_each_signal_came_to_and_each_counts_once() {
    let held = three();
    for manner in MANNERS {
        let twice = [Signal::Trust, Signal::Importance, Signal::Trust];
        let found = asked(&held, manner, &twice, 9);
        let outside = found.iter().find(|(found, _)| *found == id(2)).unwrap();
        let told = [(Signal::Trust, 700), (Signal::Importance, 1000)];
        assert_eq!(outside.1, told.map(|(signal, factor)| Weighed { signal, factor }), "{manner:?}");
    }
}

/// Reads a row whole, and has the next change written.
fn read(held: &mut Held, number: u8, at_ms: u64) {
    held.store.now_ms = at_ms;
    let rows = held.store.read_all(&user(1), &[id(number)]).unwrap();
    held.store.were_read(&user(1), &rows).unwrap();
}

fn times(held: &Held) -> Vec<(i64, i64)> {
    let mut rows = held.store.db.prepare("SELECT n, times FROM used ORDER BY n").unwrap();
    let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

// Holds B-124.
#[test]
fn what_is_read_is_counted_with_the_next_change_and_once_in_an_hour() {
    let mut held = three();
    let start = 100 * DAY_MS;
    for at in [0, 1, HOUR_MS / 2] {
        read(&mut held, 1, start + at);
    }
    assert_eq!(times(&held), [], "a read writes nothing");
    held.write(&user(1), entry(7, "a change"));
    assert_eq!(times(&held), [(1, 1)]);
    read(&mut held, 1, start + HOUR_MS);
    held.write(&user(1), entry(8, "another within the hour"));
    assert_eq!(times(&held), [(1, 1)]);
    for hours in 2..130 {
        read(&mut held, 1, start + hours * HOUR_MS);
        held.store.remove(&user(1), id(8), "", start).unwrap();
    }
    assert_eq!(times(&held), [(1, 100)], "there are at most so many");
    assert_eq!(order(&held, Manner::Usual, &[Signal::Salience])[0], id(1), "it was read of late");
}

#[test]
fn a_row_that_goes_takes_its_count_with_it_and_leaves_none_to_the_next() {
    let mut held = three();
    read(&mut held, 3, 100 * DAY_MS);
    held.write(&user(1), entry(7, "a change"));
    read(&mut held, 7, 100 * DAY_MS);
    held.purge(&user(1), id(7));
    held.purge(&user(1), id(3));
    assert_eq!(times(&held), []);
}
