//! The end of a turn's model call on the record.

use crate::model::stream;
use crate::state::context::GateContext;
use crate::state::elapsed::ms;
use crate::turn::context::TurnContext;
use ipc_proto::audit::Event;
use ipc_proto::model::Usage;
use ipc_proto::runner_gate::GateError;
use std::time::Instant;

/// Records the end of a model call that began at `begun`. A usage that is not believed is recorded before it.
pub(crate) async fn record(
    gate: &GateContext,
    context: &TurnContext,
    event: Event,
    (usage, begun): (Usage, Instant),
) -> Result<(), GateError> {
    let mut event = event.in_turn(context.turn.session, context.turn.id);
    event.tokens = (usage.input, usage.output);
    event.duration_ms = ms(begun.elapsed());
    if let Some(disbelieved) = stream::disbelieved(&event, usage) {
        gate.record(disbelieved).await?;
    }
    gate.record(event).await.map(drop)
}
