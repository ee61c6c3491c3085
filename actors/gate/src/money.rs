//! Money that is only set aside: answers that are under way mostly cost less than was set aside for them, so a turn that finds
//! none waits for these to end rather than fail. It asks model again when that says, so often and no longer; nobody else waits
//! meanwhile.

use crate::host::Shared;
use crate::source;
use ipc_proto::model::{ModelError, Per, Request, SET_ASIDE_S, StreamId};
use ipc_proto::runner_gate::GateError;
use std::time::{Duration, Instant};

/// How long an attempt of a turn waits in all; and never longer than half of its wall clock, since what it waits for is to have
/// its time as well.
const MOST: Duration = Duration::from_secs(60);

/// How long a turn may still wait.
#[derive(Debug)]
pub(crate) struct Patience(Duration);

impl Patience {
    /// Of who repeats a request by themselves.
    pub(crate) const NONE: Self = Self(Duration::ZERO);
    /// Of a program in a jail: its runner waits half a minute for an answer to begin, and then the program is told to ask again.
    pub(crate) const OF_A_PROGRAM: Self = Self(Duration::from_secs(16));

    /// That of a turn with so many seconds.
    pub(crate) fn within(seconds: u32) -> Self {
        Self(MOST.min(Duration::from_secs(u64::from(seconds)) / 2))
    }

    /// For what to wait after this failure; nothing where waiting does not help, or it was waited for long enough.
    pub(crate) fn wait(&mut self, error: ModelError) -> Option<Unpaid> {
        let ModelError::Budget { per, again_s: seconds @ 1..=SET_ASIDE_S } = error else { return None };
        let wait = Duration::from_secs(u64::from(seconds));
        self.0 = self.0.checked_sub(wait)?;
        Some(Unpaid { per, due: Instant::now() + wait })
    }
}

/// An answer for which there is no money yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unpaid {
    /// Of which budget.
    pub(crate) per: Per,
    /// When it is asked for again.
    pub(crate) due: Instant,
}

/// An answer that was asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Begun {
    /// It comes.
    Coming(StreamId),
    /// It waits for money.
    Unpaid(Unpaid),
}

impl Begun {
    /// Lets it go.
    pub(crate) async fn cancel(self, shared: &Shared) {
        if let Self::Coming(stream) = self {
            source::cancel(shared, stream).await;
        }
    }
}

/// Asks for an answer.
pub(crate) async fn start(
    shared: &Shared,
    request: &Request,
    patience: &mut Patience,
) -> Result<Begun, GateError> {
    match source::start(shared, request).await {
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
