//! One attempt with one model: its pieces are passed on as fast as they are taken, within the time that each may take.
//! However it ends, the model is told to end as well, and has closed its connection when this returns.

use super::belief::believed;
use super::{Answers, Worth};
use crate::failure_class::was_read;
use crate::ledger::{Reservation, cost};
use crate::streams::{Outlet, Stop};
use dialect::count::Counter;
use ipc_proto::model::{ModelError, Piece, Usage};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

/// How long a model of this process may be silent: scripts wait as long as they say.
const AT_HOME: Duration = Duration::from_secs(24 * 3600);

/// The end of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The answer was given whole.
    Done,
    /// It failed.
    Failed(ModelError),
    /// The caller stopped it.
    Stopped,
}

/// The pieces received so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received {
    /// Words or calls were given out.
    pub(crate) said: bool,
    usage: Option<Usage>,
    came: Counter,
    worth: Worth,
    /// The provider's count costs money.
    costs: bool,
}

/// An attempt that may be made.
pub(crate) struct Attempt<P> {
    /// The place of its model in the course.
    pub(crate) number: usize,
    /// The plan of the request.
    pub(crate) plan: P,
    /// It runs in this process and comes out the same each time.
    pub(crate) here: bool,
    /// The money for it.
    pub(crate) reservation: Reservation,
    /// The most that it may cost.
    pub(crate) worth: Worth,
}

/// Within which times something must come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// The first piece by then.
    pub(crate) first: Instant,
    /// The longest time between two pieces.
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
    (outlet, received): (&Outlet, &mut Received),
    stop: &mut Stop,
) -> Ended {
    let (inner, mut pieces) = Outlet::pair();
    let (quit, told_to_end) = oneshot::channel::<()>();
    let relay = async {
        let ended = tokio::select! {
            biased;
            _ = stop => Ended::Stopped,
            ended = pass_on(&mut pieces, outlet, patience, received) => ended,
        };
        // If it waits or gives, it ends by one of these.
        drop((quit, pieces));
        ended
    };
    let ((), ended) = tokio::join!(answers.answer(plan, inner, told_to_end), relay);
    ended
}

async fn pass_on(
    pieces: &mut mpsc::Receiver<Piece>,
    outlet: &Outlet,
    patience: Patience,
    received: &mut Received,
) -> Ended {
    let mut until = patience.first;
    loop {
        let piece = match timeout_at(until, pieces.recv()).await {
            Err(_) => return Ended::Failed(ModelError::Timeout),
            Ok(None) => return Ended::Failed(ModelError::Truncated),
            Ok(Some(Piece::Failed(error))) => return Ended::Failed(error),
            Ok(Some(piece)) => piece,
        };
        let piece = received.note(piece);
        let done = matches!(piece, Piece::Done(_));
        outlet.give(piece).await;
        if done {
            return Ended::Done;
        }
        until = Instant::now() + patience.between;
    }
}

impl Received {
    /// Nothing yet of an answer with this bound, which costs money or does not.
    pub(crate) fn of(worth: Worth, costs: bool) -> Self {
        Self { said: false, usage: None, came: Counter::default(), worth, costs }
    }

    /// Takes note of a piece. A count of tokens goes on as it is believed, so that all who hear of it hear the same.
    fn note(&mut self, piece: Piece) -> Piece {
        let words = match &piece {
            Piece::Text(text) | Piece::Reasoning(text) => text.as_str(),
            Piece::CallStart { tool, .. } => tool.as_str(),
            Piece::CallDelta { args, .. } => args.as_str(),
            Piece::Usage(usage) => {
                let mut usage = if self.costs { believed(*usage, self.worth, self.came) } else { *usage };
                usage.cost_micros = self.worth.tariff.map_or(0, |tariff| cost(tariff, usage));
                self.usage = Some(usage);
                return Piece::Usage(usage);
            }
            Piece::ThoughtEnd { .. } => "",
            // The text of a block of reasoning was counted as it came.
            Piece::Thought { .. }
            | Piece::CallEnd { .. }
            | Piece::Failover { .. }
            | Piece::OverBudget { .. }
            | Piece::Done(_)
            | Piece::Failed(_) => return piece,
        };
        self.said = true;
        self.came.add(words);
        piece
    }

    /// The usage: the provider's word, or an estimate. If the answer ended early, the larger of the two.
    fn used(&self, ended: Ended) -> Usage {
        let (input, output) = (self.worth.input, self.came.tokens());
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

    /// Settles its cost.
    pub(crate) fn settle(&self, reservation: Reservation, ended: Ended) {
        let received = self.said || self.usage.is_some();
        let paid = match ended {
            Ended::Failed(error) => received || was_read(&error),
            Ended::Done | Ended::Stopped => true,
        };
        if paid {
            reservation.settle(self.used(ended));
        }
    }
}
