//! The wait for money that is set aside. Answers under way mostly cost less than was set aside for them, so a turn that finds no
//! money waits for them to end rather than fail. It asks model again when model says so, for a bounded time; nobody else waits
//! meanwhile.

use crate::model::stream;
use crate::state::context::GateContext;
use ipc_proto::model::{ModelError, Per, Request, SET_ASIDE_S, StreamId};
use ipc_proto::runner_gate::GateError;
use std::time::{Duration, Instant};

/// The longest that an attempt of a turn waits in all. It is never longer than half of the turn's wall clock, since the work
/// needs its time as well.
const MOST: Duration = Duration::from_secs(60);

/// The time that a turn may still wait.
#[derive(Debug)]
pub(crate) struct Patience(Duration);

impl Patience {
    /// For callers that repeat a request by themselves.
    pub(crate) const NONE: Self = Self(Duration::ZERO);
    /// For a program in a jail: its runner waits half a minute for an answer to begin, and then the program is told to ask again.
    pub(crate) const PROGRAM: Self = Self(Duration::from_secs(16));

    /// The patience of a turn with this many seconds of wall clock.
    pub(crate) fn within(seconds: u32) -> Self {
        Self(MOST.min(Duration::from_secs(u64::from(seconds)) / 2))
    }

    /// Returns the wait that follows this failure, or `None` where waiting does not help or has taken long enough.
    pub(crate) fn wait(&mut self, error: ModelError) -> Option<Unpaid> {
        let ModelError::Budget { per, again_s: seconds @ 1..=SET_ASIDE_S } = error else { return None };
        let wait = Duration::from_secs(u64::from(seconds));
        self.0 = self.0.checked_sub(wait)?;
        Some(Unpaid { per, due: Instant::now() + wait })
    }
}

/// An answer that waits for money.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unpaid {
    /// The budget that is used up.
    pub(crate) per: Per,
    /// The time at which model is asked again.
    pub(crate) due: Instant,
}

/// An answer that was requested.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Begun {
    /// Its stream has begun.
    Coming(StreamId),
    /// It waits for money.
    Unpaid(Unpaid),
}

impl Begun {
    /// Cancels its stream.
    pub(crate) async fn cancel(self, gate: &GateContext) {
        if let Self::Coming(stream) = self {
            stream::cancel(gate, stream).await;
        }
    }
}

/// Requests an answer.
pub(crate) async fn start(
    gate: &GateContext,
    request: &Request,
    patience: &mut Patience,
) -> Result<Begun, GateError> {
    match stream::start(gate, request).await {
        Ok(stream) => Ok(Begun::Coming(stream)),
        Err(GateError::Model(error)) => {
            patience.wait(error).map(Begun::Unpaid).ok_or(GateError::Model(error))
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(seconds: u32, error: ModelError) -> usize {
        let mut patience = Patience::within(seconds);
        std::iter::from_fn(|| patience.wait(error)).take(1000).count()
    }

    // Holds P7-83.
    #[test]
    fn a_turn_waits_for_money_that_is_set_aside_so_long_and_for_no_other() {
        let budget = |again_s| ModelError::Budget { per: Per::Day, again_s };
        assert_eq!(waits(120, budget(SET_ASIDE_S)), 30, "a minute in all");
        assert_eq!(waits(14_400, budget(SET_ASIDE_S)), 30);
        assert_eq!(waits(20, budget(SET_ASIDE_S)), 5, "half of its time");
        for spent in
            [budget(0), budget(SET_ASIDE_S + 1), budget(86_400), ModelError::Ledger, ModelError::Busy]
        {
            assert_eq!(waits(120, spent), 0, "{spent}");
        }
    }
}
