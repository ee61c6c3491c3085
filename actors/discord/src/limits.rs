//! Limits of the REST API, as the headers of replies tell them: which request has to wait, and how long. Pure but for the clock that
//! its callers read.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

/// Requests of one second, as Discord bounds them for a bot; a few less, since clocks differ.
const A_SECOND: usize = 45;
/// Buckets that are remembered.
const REMEMBERED: usize = 1024;
/// The longest time that a reply is believed.
const LONGEST: Duration = Duration::from_secs(3600);

/// A kind of request, as limits tell them apart, and the channel or webhook that it is about.
pub(crate) type Route<'a> = (&'static str, &'a str);

/// The limits.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    /// The bucket of each kind of request.
    names: HashMap<&'static str, String>,
    /// The rest of each bucket, by its name and its channel.
    buckets: HashMap<(String, String), Bucket>,
    /// The end of a pause for every request.
    pause: Option<Instant>,
    /// The requests of the last second.
    sent: VecDeque<Instant>,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    left: u32,
    limit: u32,
    until: Instant,
}

/// The limits that the headers of a reply state.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Stated {
    /// The bucket's name.
    pub bucket: Option<String>,
    /// Requests of one window.
    pub limit: Option<u32>,
    /// Requests that are left in this one.
    pub left: Option<u32>,
    /// The time until the next window.
    pub reset: Option<Duration>,
}

impl Stated {
    /// Reads the headers of a reply.
    pub(crate) fn read<'a>(headers: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let mut told = Self::default();
        for (name, value) in headers {
            match name.to_ascii_lowercase().as_str() {
                "x-ratelimit-bucket" => told.bucket = Some(value.to_owned()),
                "x-ratelimit-limit" => told.limit = value.parse().ok(),
                "x-ratelimit-remaining" => told.left = value.parse().ok(),
                "x-ratelimit-reset-after" => told.reset = seconds(value.parse().unwrap_or(f64::NAN)),
                _ => {}
            }
        }
        told
    }
}

/// A time in seconds, if it is one.
pub(crate) fn seconds(value: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(value).ok().map(|time| time.min(LONGEST))
}

impl Limits {
    /// Reserves a request of this kind; or gives the time after which to ask again.
    pub(crate) fn reserve(&mut self, route: Route<'_>, now: Instant) -> Result<(), Duration> {
        if let Some(left) = self.pause.map(|until| until.saturating_duration_since(now))
            && !left.is_zero()
        {
            return Err(left);
        }
        let second = Duration::from_secs(1);
        while self.sent.front().is_some_and(|at| now.duration_since(*at) >= second) {
            self.sent.pop_front();
        }
        if self.sent.len() >= A_SECOND {
            let first = self.sent.front().copied().unwrap_or(now);
            return Err(second.saturating_sub(now.duration_since(first)));
        }
        let key = self.key(route);
        if let Some(bucket) = self.buckets.get_mut(&key) {
            if bucket.until <= now {
                *bucket =
                    Bucket { left: bucket.limit.max(1), until: now + Duration::from_secs(1), ..*bucket };
            }
            match bucket.left.checked_sub(1) {
                Some(left) => bucket.left = left,
                None => return Err(bucket.until.saturating_duration_since(now)),
            }
        }
        self.sent.push_back(now);
        Ok(())
    }

    /// Notes what a reply said.
    pub(crate) fn learn(&mut self, route: Route<'_>, told: &Stated, now: Instant) {
        if let Some(name) = &told.bucket {
            self.names.insert(route.0, name.clone());
        }
        let (Some(left), Some(reset)) = (told.left, told.reset) else { return };
        self.make_room(now);
        let key = self.key(route);
        let until = now + reset;
        // A request that left later may have been answered sooner: within one window the least holds.
        let left = match self.buckets.get(&key) {
            Some(known) if known.until > now => left.min(known.left),
            _ => left,
        };
        self.buckets.insert(key, Bucket { left, limit: told.limit.unwrap_or(1), until });
    }

    /// Notes that a request was too much: its bucket, or everything, waits.
    pub(crate) fn refused(&mut self, route: Route<'_>, everything: bool, after: Duration, now: Instant) {
        let until = now + after.min(LONGEST);
        if everything {
            self.pause = Some(until);
            return;
        }
        self.make_room(now);
        let key = self.key(route);
        let limit = self.buckets.get(&key).map_or(1, |bucket| bucket.limit);
        self.buckets.insert(key, Bucket { left: 0, limit, until });
    }

    fn key(&self, (kind, about): Route<'_>) -> (String, String) {
        let name = self.names.get(kind).map_or(kind, String::as_str);
        (name.to_owned(), about.to_owned())
    }

    fn make_room(&mut self, now: Instant) {
        if self.buckets.len() >= REMEMBERED {
            self.buckets.retain(|_, bucket| bucket.until > now);
        }
        if self.buckets.len() >= REMEMBERED {
            self.buckets.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEND: Route<'_> = ("send", "1");

    fn told(bucket: &str, left: u32, reset: f64) -> Stated {
        let (left, reset) = (left.to_string(), reset.to_string());
        let headers = [
            ("X-RateLimit-Bucket", bucket),
            ("x-ratelimit-limit", "5"),
            ("X-RateLimit-Remaining", left.as_str()),
            ("X-RateLimit-Reset-After", reset.as_str()),
            ("x-ratelimit-reset", "1470173023.123"),
        ];
        Stated::read(headers.into_iter())
    }

    // Holds P11-33.
    #[test]
    fn an_empty_bucket_waits_for_its_reset_and_no_other_channel_does() {
        let (mut limits, now) = (Limits::default(), Instant::now());
        assert_eq!(limits.reserve(SEND, now), Ok(()));
        limits.learn(SEND, &told("abcd", 0, 1.5), now);
        assert_eq!(limits.reserve(SEND, now), Err(Duration::from_millis(1500)));
        assert_eq!(limits.reserve(("send", "2"), now), Ok(()));
        let later = now + Duration::from_millis(1500);
        for _ in 0..5 {
            assert_eq!(limits.reserve(SEND, later), Ok(()));
        }
        assert!(limits.reserve(SEND, later).is_err(), "the next window has five requests as well");
    }

    #[test]
    fn kinds_of_requests_with_one_bucket_share_it() {
        let (mut limits, now) = (Limits::default(), Instant::now());
        limits.learn(("edit", "1"), &told("abcd", 3, 1.0), now);
        limits.learn(SEND, &told("abcd", 0, 1.0), now);
        assert!(limits.reserve(("edit", "1"), now).is_err());
    }

    // Holds P11-33.
    #[test]
    fn a_refusal_holds_its_bucket_or_everything() {
        let (mut limits, now) = (Limits::default(), Instant::now());
        limits.refused(SEND, false, Duration::from_secs(2), now);
        assert_eq!(limits.reserve(SEND, now), Err(Duration::from_secs(2)));
        assert_eq!(limits.reserve(("edit", "1"), now), Ok(()));
        limits.refused(SEND, true, Duration::from_secs(3), now);
        assert_eq!(limits.reserve(("edit", "1"), now), Err(Duration::from_secs(3)));
    }

    #[test]
    fn a_second_has_a_bounded_number_of_requests() {
        let (mut limits, now) = (Limits::default(), Instant::now());
        let sent = (0..100).filter(|_| limits.reserve(SEND, now).is_ok()).count();
        assert_eq!(sent, A_SECOND);
        assert_eq!(limits.reserve(SEND, now + Duration::from_secs(1)), Ok(()));
    }

    #[test]
    fn headers_that_are_no_numbers_say_nothing() {
        let told =
            Stated::read([("x-ratelimit-remaining", "-1"), ("x-ratelimit-reset-after", "NaN")].into_iter());
        assert_eq!(told, Stated::default());
        assert_eq!(seconds(-1.0), None);
        assert_eq!(seconds(1e300), None);
        assert_eq!(seconds(1e9), Some(LONGEST));
    }
}
