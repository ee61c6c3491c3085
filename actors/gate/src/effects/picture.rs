//! A picture of a page on its way to the model, if that sees images, and to the conversation that the turn answers.

use crate::decision::record;
use crate::state::context::GateContext;
use crate::turn::context::TurnContext;
use ipc_proto::browser::PICTURE;
use ipc_proto::router;
use ipc_proto::runner_gate::GateError;
use ipc_proto::tool::ToolCall;
use ipc_proto::{Blob, Text};

/// Pictures of one turn that its model is shown; the oldest go first.
const SHOWN: usize = 4;

/// Keeps a picture for the next request to the model, and sends it by the channel that the message came by, if it came by one.
///
/// # Errors
/// Audit is away: the model is not shown what is not on the record.
pub(super) async fn show(
    gate: &GateContext,
    context: &mut TurnContext,
    call: &ToolCall,
    (media, name): (&str, &str),
    bytes: Blob<PICTURE>,
) -> Result<(), GateError> {
    // A message that came by no channel has no conversation that files can be sent to.
    if context.turn.conversation.is_some() {
        let turn = context.turn.id;
        let sent = gate.router.call(&router::method::send_file, |router, rpc| {
            let (id, name, bytes) = (call.id, Text::clip(name), Blob::new(&*bytes).unwrap_or_default());
            async move { router.send_file(rpc, turn, id, name, Text::default(), bytes).await }
        });
        if !matches!(sent.await, Ok(Ok(()))) {
            tracing::warn!("a picture was not sent to the conversation");
        }
    }
    if context.agent.sees {
        record::image(gate, context, media, &bytes).await?;
        context.pictures.push((call.id, Text::clip(media), bytes));
        let old = context.pictures.len().saturating_sub(SHOWN);
        context.pictures.drain(..old);
    }
    Ok(())
}
