//! Counts each client's requests within the minute, for the rate-limit headers of its answers. The counts are approximate: the gate counts
//! by itself, and decides.

use crate::fault::Dialect;
use crate::lock::lock;
use axum::http::{HeaderMap, HeaderValue};
use ipc_proto::api::Caller;
use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

const MINUTE: Duration = Duration::from_secs(60);
/// Clients that are counted.
const CLIENTS: usize = 512;

/// Requests per client and minute.
pub(crate) struct Pace {
    limit: u32,
    asked: Mutex<HashMap<Caller, (Instant, u32)>>,
}

/// The rate limit of a client at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    limit: u32,
    remaining: u32,
    /// Seconds until it is all free again.
    reset_s: u64,
}

impl Pace {
    pub(crate) fn new(limit: u32) -> Self {
        Self { limit, asked: Mutex::default() }
    }

    /// Counts a request.
    pub(crate) fn count(&self, caller: Caller, now: Instant) -> Standing {
        let mut asked = lock(&self.asked);
        let over = |since: Instant| now.saturating_duration_since(since) >= MINUTE;
        if asked.len() >= CLIENTS && !asked.contains_key(&caller) {
            asked.retain(|_, (since, _)| !over(*since));
            if asked.len() >= CLIENTS {
                asked.clear();
            }
        }
        let (since, count) = asked.entry(caller).or_insert((now, 0));
        if over(*since) {
            (*since, *count) = (now, 0);
        }
        *count = count.saturating_add(1);
        let left = MINUTE.saturating_sub(now.saturating_duration_since(*since));
        Standing {
            limit: self.limit,
            remaining: self.limit.saturating_sub(*count),
            reset_s: left.as_secs() + u64::from(left.subsec_nanos() > 0),
        }
    }
}

impl Standing {
    /// Writes the headers of the vendor's API.
    pub(crate) fn write(self, dialect: Dialect, headers: &mut HeaderMap) {
        let [limit, remaining, reset] = match dialect {
            Dialect::OpenAi => {
                ["x-ratelimit-limit-requests", "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"]
            }
            Dialect::Anthropic => [
                "anthropic-ratelimit-requests-limit",
                "anthropic-ratelimit-requests-remaining",
                "anthropic-ratelimit-requests-reset",
            ],
        };
        headers.insert(limit, HeaderValue::from(self.limit));
        headers.insert(remaining, HeaderValue::from(self.remaining));
        let until = match dialect {
            Dialect::OpenAi => format!("{}s", self.reset_s),
            Dialect::Anthropic => utc(kit::now_ms() / 1000 + self.reset_s),
        };
        if let Ok(until) = HeaderValue::try_from(until) {
            headers.insert(reset, until);
        }
    }
}

/// A time in seconds since 1970 as RFC 3339 writes it. Days are counted from the first of March, so that the day that is
/// not in every year is the last of its year.
pub(crate) fn utc(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, year) =
        if month < 10 { (month + 3, era * 400 + year) } else { (month - 9, era * 400 + year + 1) };
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_remains_falls_with_each_request_and_is_whole_again_after_a_minute() {
        let (pace, now, me) = (Pace::new(2), Instant::now(), Caller::Peer(1));
        let remaining = |now| pace.count(me, now).remaining;
        assert_eq!([remaining(now), remaining(now), remaining(now)], [1, 0, 0]);
        assert_eq!(pace.count(Caller::Peer(2), now).remaining, 1);
        assert_eq!(pace.count(me, now + MINUTE / 2).reset_s, 30);
        assert_eq!(remaining(now + MINUTE), 1);
    }

    #[test]
    fn each_vendor_s_clients_are_told_by_the_headers_of_their_own_api() {
        let standing = Standing { limit: 600, remaining: 599, reset_s: 60 };
        for (dialect, limit) in [
            (Dialect::OpenAi, "x-ratelimit-limit-requests"),
            (Dialect::Anthropic, "anthropic-ratelimit-requests-limit"),
        ] {
            let mut headers = HeaderMap::new();
            standing.write(dialect, &mut headers);
            assert_eq!((headers.len(), &headers[limit]), (3, &HeaderValue::from_static("600")));
        }
    }

    #[test]
    fn a_time_is_written_as_it_is() {
        for (seconds, written) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_795_345_445, "2026-11-22T11:04:05Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
        ] {
            assert_eq!(utc(seconds), written);
        }
    }
}
