//! From the first words of an answer at the provider to their preview at the platform, as a message and as a draft.

use super::talker::{self, Talker};
use super::{call, turns};
use crate::figure::Figure;
use crate::spread::Samples;
use std::io;
use std::time::Duration;
use tests::telegram::{Call, Telegram};

/// Answers of each kind that are timed.
const TIMED: usize = 16;
/// The pause behind an answer.
const PAUSE: Duration = Duration::from_millis(100);

/// Its figures.
pub(super) fn measure() -> io::Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (streaming, method) in [("edit", "sendMessage"), ("draft", "sendMessageDraft")] {
        let samples = kit::bench::run(timed(streaming, method))??;
        let name = format!("Telegram: from an answer's first words to their preview, `{streaming}`");
        figures.push(Figure::new(name, "ms", &samples).at_most(300.0));
    }
    Ok(figures)
}

async fn timed(streaming: &str, method: &str) -> io::Result<Samples> {
    let (telegram, talker) = (Telegram::start(), Talker::start());
    let keys = format!("streaming = \"{streaming}\"\nagent = \"{}\"\n", talker::SLOW);
    let _host = turns::host(&telegram, &talker, &keys)?;
    let mut samples = Samples::default();
    for round in 0..=TIMED {
        let (token, first) = (talker::token(round), telegram.call_count());
        telegram.direct(turns::identity(round), &format!("what of {token}"));
        // The scanner may hold the last word of the beginning back.
        let chat = turns::identity(round);
        let begins = |call: &Call| call.method == method && call.chat() == Some(chat);
        let shown = call(&telegram, first, begins).await?;
        if shown.text().contains("no more") {
            return Err(io::Error::other("the whole answer was shown, and no beginning of it"));
        }
        call(&telegram, first, |call: &Call| call.text().contains("no more")).await?;
        tokio::time::sleep(PAUSE).await;
        // The first makes the pools warm.
        if round > 0 {
            samples.add_millis(shown.at.saturating_duration_since(talker.begun(&token)?));
        }
    }
    Ok(samples)
}
