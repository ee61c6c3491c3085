//! Events for the followers of a turn. They are appended to router's ring, and sent again where a restarted router has lost them.

use crate::state::context::GateContext;
use crate::state::errors::{down, router_refusal};
use ipc_proto::List;
use ipc_proto::ids::TurnId;
use ipc_proto::router::{self, TurnEvent};
use ipc_proto::runner_gate::GateError;
use std::collections::VecDeque;

/// Events of one turn that are kept for sending again. Beyond them the oldest are dropped, and a follower sees a gap.
const RESENDABLE: usize = 16_384;

/// Bytes of text and output among them; a ring holds no more.
const BYTES: usize = 2 << 20;

/// Events in one frame: each is at most 32 KiB of output.
const FRAME: usize = 48;

/// The sender of one turn's events.
#[derive(Debug)]
pub(crate) struct EventSender {
    turn: TurnId,
    /// The number of the first kept event.
    first: u64,
    sent: VecDeque<TurnEvent>,
    /// Bytes of text and output that are kept.
    bytes: usize,
    /// The number of the event that the ring expects next.
    needed: u64,
}

impl EventSender {
    /// Asks for the number that the ring expects: an earlier attempt may have filled it.
    pub(crate) async fn begin(gate: &GateContext, turn: TurnId) -> Result<Self, GateError> {
        let mut events = Self { turn, first: 0, sent: VecDeque::new(), bytes: 0, needed: 0 };
        let needed = events.append(gate, 0, &[]).await?;
        (events.first, events.needed) = (needed, needed);
        Ok(events)
    }

    /// Sends events.
    pub(crate) async fn send(
        &mut self,
        gate: &GateContext,
        events: impl IntoIterator<Item = TurnEvent>,
    ) -> Result<(), GateError> {
        for event in events {
            self.bytes += content_bytes(&event);
            self.sent.push_back(event);
        }
        while (self.sent.len() > RESENDABLE || self.bytes > BYTES)
            && let Some(event) = self.sent.pop_front()
        {
            self.bytes -= content_bytes(&event);
            self.first += 1;
        }
        loop {
            let from = self.needed.max(self.first);
            let skip = usize::try_from(from - self.first).unwrap_or(usize::MAX);
            let events: Vec<TurnEvent> = self.sent.iter().skip(skip).take(FRAME).cloned().collect();
            if events.is_empty() {
                return Ok(());
            }
            let needed = self.append(gate, from, &events).await?;
            if needed == from {
                // The ring is full, or the turn is over; the events are dropped.
                self.needed = self.first + self.sent.len() as u64;
                return Ok(());
            }
            self.needed = needed;
        }
    }

    async fn append(&self, gate: &GateContext, from: u64, events: &[TurnEvent]) -> Result<u64, GateError> {
        let sent = gate.router.call(&router::method::emit, |router, rpc| {
            let (turn, events) = (self.turn, List::clip(events.iter().cloned()));
            async move { router.emit(rpc, turn, from, events, List::default()).await }
        });
        sent.await.map_err(|_| down("router"))?.map_err(|error| router_refusal(&error))
    }
}

/// Bytes of text or output in an event.
fn content_bytes(event: &TurnEvent) -> usize {
    match event {
        TurnEvent::Output { bytes, .. } => bytes.len(),
        TurnEvent::Text(text) => text.len(),
        _ => 0,
    }
}
