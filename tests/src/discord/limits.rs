//! The limits of the REST API: bodies of messages, and the buckets of requests.

use serde_json::Value;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Characters of a text.
const TEXT: usize = 2000;
/// Characters of a mark.
const MARK: usize = 25;
/// Requests of a window, and its length.
const WINDOW: (u32, Duration) = (5, Duration::from_secs(5));
/// Requests of a second, of one bot.
const A_SECOND: usize = 50;

/// Checks the body of a message, and gives the reason of the refusal.
pub(super) fn message(body: &Value, has_file: bool) -> Result<(), &'static str> {
    let text = body["content"].as_str().unwrap_or_default();
    if text.chars().count() > TEXT {
        return Err("Must be 2000 or fewer in length.");
    }
    if text.trim().is_empty() && !has_file {
        return Err("Cannot send an empty message");
    }
    if body["nonce"].as_str().is_some_and(|mark| mark.chars().count() > MARK) {
        return Err("nonce: must be 25 or fewer in length.");
    }
    if body["flags"].as_u64().is_some_and(|flags| flags & !(1 << 2 | 1 << 12) != 0) {
        return Err("flags: cannot be set");
    }
    let rows = body["components"].as_array().map_or(&[][..], Vec::as_slice);
    let fits = |button: &Value| {
        button["type"] == 2
            && button["label"].as_str().is_some_and(|label| (1..=80).contains(&label.chars().count()))
            && button["custom_id"].as_str().is_some_and(|data| (1..=100).contains(&data.chars().count()))
    };
    let whole = |row: &Value| {
        let buttons = row["components"].as_array().map_or(&[][..], Vec::as_slice);
        row["type"] == 1 && (1..=5).contains(&buttons.len()) && buttons.iter().all(fits)
    };
    if rows.len() > 5 || !rows.iter().all(whole) {
        return Err("components: invalid form body");
    }
    Ok(())
}

struct Bucket {
    left: u32,
    until: Instant,
}

/// The buckets.
#[derive(Default)]
pub(super) struct Rates {
    buckets: HashMap<(String, u64), Bucket>,
    sent: Vec<Instant>,
    /// Requests that were over a limit.
    pub exceeded: u32,
}

impl Rates {
    /// Counts a request: the headers of its reply, or the seconds after which it may be made.
    pub(super) fn admit(&mut self, kind: &str, channel: u64) -> Result<String, (f64, bool)> {
        let now = Instant::now();
        self.sent.retain(|at| now.duration_since(*at) < Duration::from_secs(1));
        if self.sent.len() >= A_SECOND {
            self.exceeded += 1;
            return Err((1.0, true));
        }
        self.sent.push(now);
        let fresh = || Bucket { left: WINDOW.0, until: now + WINDOW.1 };
        let bucket = self.buckets.entry((kind.to_owned(), channel)).or_insert_with(fresh);
        if bucket.until <= now {
            *bucket = fresh();
        }
        let reset = bucket.until.duration_since(now).as_secs_f64();
        if bucket.left == 0 {
            self.exceeded += 1;
            return Err((reset, false));
        }
        bucket.left -= 1;
        Ok(format!(
            "X-RateLimit-Limit: {}\r\nX-RateLimit-Remaining: {}\r\nX-RateLimit-Reset-After: {reset:.3}\r\n\
             X-RateLimit-Bucket: bucket-{}\r\n",
            WINDOW.0,
            bucket.left,
            kind.replace(' ', "-")
        ))
    }
}
