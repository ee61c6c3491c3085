//! A messenger's channel through the real processes, against the server that stands for Telegram's Bot API: what it accepts, what
//! it adds to a turn, how soon an answer and its beginning are shown, what it weighs, and how soon it is back.

mod back;
mod load;
mod previews;
mod talker;
mod turns;

use crate::figure::Figure;
use std::io;
use std::time::{Duration, Instant};
use tests::telegram::{Call, Telegram};

/// The longest wait for something of the host.
const PATIENCE: Duration = Duration::from_secs(30);
/// The time between two looks at the server.
const LOOK: Duration = Duration::from_millis(2);

/// A part of the figures.
type Part = (&'static str, fn() -> io::Result<Vec<Figure>>);

const PARTS: [Part; 4] = [
    ("load", load::measure),
    ("turns", turns::measure),
    ("previews", previews::measure),
    ("back", back::measure),
];

/// Its figures.
pub(crate) fn measure() -> io::Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (name, measure) in PARTS {
        let measured = measure().map_err(|error| io::Error::other(format!("{name}: {error}")))?;
        figures.extend(measured);
    }
    Ok(figures)
}

/// The first call from this one on that is looked for, once it was made.
async fn call(telegram: &Telegram, first: usize, is: impl Fn(&Call) -> bool) -> io::Result<Call> {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = telegram.calls_from(first).into_iter().find(&is) {
            return Ok(found);
        }
        if Instant::now() > until {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "a call of the Bot API was not made"));
        }
        tokio::time::sleep(LOOK).await;
    }
}
