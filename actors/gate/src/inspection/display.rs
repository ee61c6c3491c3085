//! Text that followers of a turn see beside its answer, without secrets: the beginning of a call, a question, a tool's progress.

use crate::inspection::scan;
use crate::state::context::GateContext;
use crate::turn::context::TurnContext;
use ipc_proto::Text;
use ipc_proto::router::{CallVerdict, Released, TurnEvent};
use ipc_proto::runner_gate::GateError;
use ipc_proto::scanner::Crossing;

/// Replaces text that holds the canary.
const WITHHELD: &str = "[withheld: it holds what must not leave the prompt]";

/// Text as it may be shown beside an answer: without secrets, and none of it if it holds the canary.
pub(crate) async fn clean(
    gate: &GateContext,
    context: &TurnContext,
    text: &str,
) -> Result<String, GateError> {
    let verdict = scan::scan(gate, context, Crossing::Record, text).await?;
    if verdict.canary_leaked {
        return Ok(WITHHELD.to_owned());
    }
    Ok(verdict.redacted.map_or_else(|| text.to_owned(), Text::into_string))
}

/// The event that a call with this verdict begins.
pub(crate) async fn start(
    gate: &GateContext,
    context: &TurnContext,
    released: &Released,
) -> Result<TurnEvent, GateError> {
    let args = clean(gate, context, &Text::<512>::clip(&released.call.args)).await?;
    let refused = match &released.verdict {
        CallVerdict::Run | CallVerdict::Asking(_) => None,
        CallVerdict::Refused(reason) => Some(reason.clone()),
    };
    let (call, tool) = (released.call.id, released.call.tool.clone());
    Ok(TurnEvent::ToolStart { call, tool, args: Text::clip(&args), refused, record: released.record })
}
