//! What followers of a turn are shown: appended to router's ring, sent again from where a restarted router's ring
//! needs it.

use crate::host::{Shared, down, refused};
use ipc_proto::List;
use ipc_proto::ids::TurnId;
use ipc_proto::router::{self, TurnEvent};
use ipc_proto::runner_gate::GateError;
use std::collections::VecDeque;

/// Events of one turn that are kept for sending again; the oldest are let go, and a follower sees a gap.
const KEPT: usize = 16_384;
/// Bytes of text and output among them: no ring takes more.
const BYTES: usize = 2 << 20;
/// Events in one frame: each is at most 32 KiB of output.
const FRAME: usize = 48;

/// The teller of one turn.
#[derive(Debug)]
pub(crate) struct Teller {
    turn: TurnId,
    /// The number of the first kept event.
    first: u64,
    kept: VecDeque<TurnEvent>,
    /// Bytes of text and output that are kept.
    bytes: usize,
    /// The number that the ring needs next.
    needed: u64,
}

impl Teller {
    /// Asks the ring where it is: an earlier attempt may have filled it.
    pub(crate) async fn begin(shared: &Shared, turn: TurnId) -> Result<Self, GateError> {
        let mut teller = Self { turn, first: 0, kept: VecDeque::new(), bytes: 0, needed: 0 };
        let needed = teller.send(shared, 0, &[]).await?;
        (teller.first, teller.needed) = (needed, needed);
        Ok(teller)
    }

    /// Shows events.
    pub(crate) async fn tell(
        &mut self,
        shared: &Shared,
        events: impl IntoIterator<Item = TurnEvent>,
    ) -> Result<(), GateError> {
        for event in events {
            self.bytes += said(&event);
            self.kept.push_back(event);
        }
        while (self.kept.len() > KEPT || self.bytes > BYTES)
            && let Some(event) = self.kept.pop_front()
        {
            self.bytes -= said(&event);
            self.first += 1;
        }
        loop {
            let from = self.needed.max(self.first);
            let skip = usize::try_from(from - self.first).unwrap_or(usize::MAX);
            let events: Vec<TurnEvent> = self.kept.iter().skip(skip).take(FRAME).cloned().collect();
            if events.is_empty() {
                return Ok(());
            }
            let needed = self.send(shared, from, &events).await?;
            if needed == from {
                // A ring that takes nothing is full or over: what it shows is its own affair.
                self.needed = self.first + self.kept.len() as u64;
                return Ok(());
            }
            self.needed = needed;
        }
    }

    async fn send(&self, shared: &Shared, from: u64, events: &[TurnEvent]) -> Result<u64, GateError> {
        let sent = shared.router.call(&router::method::emit, |router, rpc| {
            let (turn, events) = (self.turn, List::clip(events.iter().cloned()));
            async move { router.emit(rpc, turn, from, events, List::default()).await }
        });
        sent.await.map_err(|_| down("router"))?.map_err(|error| refused(&error))
    }
}

/// Bytes of text or output in an event.
fn said(event: &TurnEvent) -> usize {
    match event {
        TurnEvent::Output { bytes, .. } => bytes.len(),
        TurnEvent::Text(text) => text.len(),
        _ => 0,
    }
}
