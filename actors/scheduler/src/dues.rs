//! The times of a job that have come, and what is to become of each. Pure: it is given the rule, the time that was dealt with last,
//! and the clock.

use crate::rule::Rule;
use ipc_proto::scheduler::{CATCH_UP, LATE_MS, Missed};
use std::collections::VecDeque;

/// How far back the last times are looked for, ms: the first span that holds enough of them.
const SPANS: [u64; 4] = [3_600_000, 86_400_000, 31 * 86_400_000, 1100 * 86_400_000];

/// The fate of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Its message is submitted.
    Fires,
    /// It is over a minute late, and is not made up for.
    Missed,
    /// It is the first of times that are so long past that they are one entry.
    Missing,
}

/// The times of a rule that have come: those after `last_ms`, oldest first, with the fate of each.
pub(crate) fn dues(rule: &Rule, last_ms: u64, now_ms: u64, missed: Missed) -> Vec<(u64, Fate)> {
    let Some(first) = rule.next(last_ms).filter(|first| *first <= now_ms) else { return Vec::new() };
    let times = last_times(rule, last_ms, now_ms);
    let earlier = times.front().is_none_or(|time| first < *time).then_some((first, Fate::Missing));
    let is_late = |time: u64| now_ms - time > LATE_MS;
    let latest = times.back().copied();
    let fate = |time: u64| match missed {
        Missed::All => Fate::Fires,
        _ if !is_late(time) => Fate::Fires,
        Missed::Once if Some(time) == latest => Fate::Fires,
        Missed::Once | Missed::Skip => Fate::Missed,
    };
    earlier.into_iter().chain(times.iter().map(|time| (*time, fate(*time)))).collect()
}

/// The last times up to now, at most as many as are made up for.
fn last_times(rule: &Rule, last_ms: u64, now_ms: u64) -> VecDeque<u64> {
    let mut times = VecDeque::new();
    for span in SPANS {
        let from = last_ms.max(now_ms.saturating_sub(span));
        times.clear();
        let mut after = from;
        while let Some(time) = rule.next(after).filter(|time| *time <= now_ms) {
            if times.len() == CATCH_UP {
                times.pop_front();
            }
            times.push_back(time);
            after = time;
        }
        if times.len() == CATCH_UP || from == last_ms {
            break;
        }
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::Text;
    use ipc_proto::scheduler::When;

    const MINUTE: u64 = 60_000;
    const HOUR: u64 = 60 * MINUTE;

    fn every_minute() -> Rule {
        Rule::of(&When::Cron(Text::clip("* * * * *")), "UTC", 0).unwrap()
    }

    fn fates(last: u64, now: u64, missed: Missed) -> Vec<(u64, Fate)> {
        let dues = dues(&every_minute(), last, now, missed);
        dues.into_iter().map(|(time, fate)| (time / MINUTE, fate)).collect()
    }

    #[test]
    fn a_time_fires_when_it_has_come_and_not_before() {
        for missed in [Missed::Skip, Missed::Once, Missed::All] {
            assert_eq!(fates(10 * MINUTE, 11 * MINUTE - 1, missed), []);
            assert_eq!(fates(10 * MINUTE, 11 * MINUTE, missed), [(11, Fate::Fires)]);
            assert_eq!(fates(10 * MINUTE, 12 * MINUTE - 1, missed), [(11, Fate::Fires)]);
        }
    }

    // Holds P12-41.
    #[test]
    fn a_clock_set_back_fires_nothing() {
        for missed in [Missed::Skip, Missed::Once, Missed::All] {
            for now in [10 * MINUTE, 9 * MINUTE, 0] {
                assert_eq!(fates(10 * MINUTE, now, missed), [], "{now}");
            }
        }
    }

    #[test]
    fn missed_times_are_left_or_made_up_for_once_or_all() {
        let now = 14 * MINUTE + MINUTE / 2;
        let [one, two, three, four] = [11, 12, 13, 14];
        let late = Fate::Missed;
        assert_eq!(
            fates(10 * MINUTE, now, Missed::Skip),
            [(one, late), (two, late), (three, late), (four, Fate::Fires)]
        );
        assert_eq!(
            fates(10 * MINUTE, now, Missed::Once),
            [(one, late), (two, late), (three, late), (four, Fate::Fires)]
        );
        assert!(fates(10 * MINUTE, now, Missed::All).iter().all(|(_, fate)| *fate == Fate::Fires));
        let daily = Rule::of(&When::Cron(Text::clip("0 0 * * *")), "UTC", 0).unwrap();
        let once = dues(&daily, 0, 75 * HOUR, Missed::Once);
        assert_eq!(once, [(24 * HOUR, late), (48 * HOUR, late), (72 * HOUR, Fate::Fires)]);
        assert!(dues(&daily, 0, 75 * HOUR, Missed::Skip).iter().all(|(_, fate)| *fate == late));
    }

    // Holds B-242.
    #[test]
    fn no_more_than_24_are_made_up_for_and_the_rest_is_one_entry() {
        for minutes in [100, 10_000, 1_000_000] {
            let all = fates(0, minutes * MINUTE, Missed::All);
            assert_eq!(all.first(), Some(&(1, Fate::Missing)));
            assert_eq!(all.len(), CATCH_UP + 1);
            assert_eq!(all.last(), Some(&(minutes, Fate::Fires)));
        }
        assert_eq!(fates(0, 24 * MINUTE, Missed::All).len(), CATCH_UP);
    }
}
