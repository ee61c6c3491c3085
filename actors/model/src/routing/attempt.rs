//! One attempt with one model: its pieces are passed on as fast as they are taken, within the time that each may take.
//! However it ends, whoever answers is told to end as well, and has let its connection go when this returns.

use super::Answers;
use super::class::was_read;
use crate::ledger::Reservation;
use crate::streams::{Outlet, Stop};
use ipc_proto::model::{ModelError, Piece, Usage};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

/// How long a model of this process may be silent: scripts wait as long as they say.
const AT_HOME: Duration = Duration::from_secs(24 * 3600);

/// Characters that are taken for a token where a provider did not come to count them.
const LETTERS: usize = 4;

/// What an attempt came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The answer was given whole.
    Done,
    /// It failed.
    Failed(ModelError),
    /// Nobody wants it any more.
    Stopped,
}

/// What was heard until then.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Heard {
    /// Words or calls were given out.
    pub(crate) said: bool,
    usage: Option<Usage>,
    characters: usize,
}

/// An attempt that may be made.
pub(crate) struct Attempt<P> {
    /// Which of the course's models it is with.
    pub(crate) number: usize,
    /// What is asked.
    pub(crate) plan: P,
    /// It runs in this process and comes out the same each time.
    pub(crate) here: bool,
    /// The money for it.
    pub(crate) reservation: Reservation,
    /// An estimate of the tokens that are read.
    pub(crate) input: u32,
}

/// Within which times something must come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// The first piece by then.
    pub(crate) first: Instant,
    /// Each piece so long after the one before it.
    pub(crate) between: Duration,
}

impl Patience {
    /// That of a model that runs here.
    pub(crate) fn at_home() -> Self {
        Self { first: Instant::now() + AT_HOME, between: AT_HOME }
    }
}

/// Makes it.
pub(crate) async fn make<A: Answers>(
    answers: &A,
    plan: A::Plan,
    patience: Patience,
    outlet: &Outlet,
    stop: &mut Stop,
) -> (Ended, Heard) {
    let mut heard = Heard::default();
    let (inner, mut pieces) = Outlet::pair();
    let (quit, told_to_end) = oneshot::channel::<()>();
    let relay = async {
        let ended = tokio::select! {
            biased;
            _ = stop => Ended::Stopped,
            ended = pass_on(&mut pieces, outlet, patience, &mut heard) => ended,
        };
        // Whether it waits or gives, it ends by one of these.
        drop((quit, pieces));
        ended
    };
    let ((), ended) = tokio::join!(answers.answer(plan, inner, told_to_end), relay);
    (ended, heard)
}

async fn pass_on(
    pieces: &mut mpsc::Receiver<Piece>,
    outlet: &Outlet,
    patience: Patience,
    heard: &mut Heard,
) -> Ended {
    let mut until = patience.first;
    loop {
        let piece = match timeout_at(until, pieces.recv()).await {
            Err(_) => return Ended::Failed(ModelError::Timeout),
            Ok(None) => return Ended::Failed(ModelError::Truncated),
            Ok(Some(Piece::Failed(error))) => return Ended::Failed(error),
            Ok(Some(piece)) => piece,
        };
        heard.note(&piece);
        let done = matches!(piece, Piece::Done(_));
        outlet.give(piece).await;
        if done {
            return Ended::Done;
        }
        until = Instant::now() + patience.between;
    }
}

impl Heard {
    fn note(&mut self, piece: &Piece) {
        let words = match piece {
            Piece::Text(text) | Piece::Reasoning(text) => text.as_str(),
            Piece::CallStart { tool, .. } => tool.as_str(),
            Piece::CallDelta { args, .. } => args.as_str(),
            Piece::Usage(usage) => {
                self.usage = Some(*usage);
                return;
            }
            Piece::ThoughtEnd { .. } => "",
            // What a block of reasoning says was counted as it came.
            Piece::Thought { .. }
            | Piece::CallEnd { .. }
            | Piece::Failover { .. }
            | Piece::Done(_)
            | Piece::Failed(_) => return,
        };
        self.said = true;
        self.characters = self.characters.saturating_add(words.chars().count());
    }

    /// What was used: the provider's word, or an estimate. Of an answer that ended early, whichever is more.
    fn used(&self, input: u32, ended: Ended) -> Usage {
        let output = u32::try_from(self.characters.div_ceil(LETTERS)).unwrap_or(u32::MAX);
        let estimate = Usage { input, output, estimated: true, ..Usage::default() };
        match (self.usage, ended) {
            (None, _) => estimate,
            (Some(usage), Ended::Done) => usage,
            (Some(usage), _) => Usage {
                output: usage.output.max(estimate.output),
                estimated: usage.estimated || estimate.output > usage.output,
                ..usage
            },
        }
    }

    /// Settles what it cost.
    pub(crate) fn settle(&self, reservation: Reservation, input: u32, ended: Ended) {
        let heard = self.said || self.usage.is_some();
        let paid = match ended {
            Ended::Failed(error) => heard || was_read(&error),
            Ended::Done | Ended::Stopped => true,
        };
        if paid {
            reservation.settle(self.used(input, ended));
        }
    }
}
