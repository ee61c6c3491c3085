//! The sections that `[gateway]` becomes: the process itself, and the limits that gate holds its clients to. Pure data.

use crate::config::key::{number, section, texts};

section! {
    /// The section of `gateway`.
    pub struct Gateway in "gateway", read by [Gateway] {
        /// The origins of web pages that may use the API over TCP, exactly as browsers send them. A key may allow more by
        /// `agentctl key create --origin`. Without either, no web page can use the API.
        origins: Vec<String> = texts("origin", 64),
        /// The most bytes of a request's body; a larger one is answered with 413.
        max_body: u32 = number(64 << 10..=16 << 20, 8 << 20),
        /// The most pass-through requests to a model in a minute, for one key or for one user without a key; the next is
        /// answered with 429 and the time to try again.
        requests_per_minute: u32 [Gate] = number(1..=10_000_000, 600),
        ..
        /// The TCP address: `127.0.0.1:PORT` or `[::1]:PORT`. The listener itself is agentd's.
        listen: Option<String>,
        /// The values of `Host` that a request over TCP may have, in lower case; never empty if there is an address.
        hosts: Vec<String>,
    }
}

section! {
    /// The part of `[gateway]` that gate holds clients of the API to.
    #[derive(Copy)]
    pub struct RelayLimits in "gateway", read by [Gate] {
        /// The most answers under way at once, for one key or for one user without a key.
        streams_per_key: u16 = number(1..=256, 64),
        ..
        /// Requests of one key in a minute.
        requests_per_minute: u32,
    }
}
