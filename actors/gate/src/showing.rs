//! What followers of a turn see of a call: its beginning, with secrets cut out.

use crate::context::TurnContext;
use crate::host::Shared;
use crate::scan;
use ipc_proto::Text;
use ipc_proto::router::{CallVerdict, Released, TurnEvent};
use ipc_proto::runner_gate::GateError;
use ipc_proto::scanner::Crossing;

/// Stands for what holds the canary.
const WITHHELD: &str = "[withheld: it holds what must not leave the prompt]";

/// Text as it may be shown beside an answer: secrets cut out, and nothing of it if it holds the canary.
pub(crate) async fn clean(shared: &Shared, context: &TurnContext, text: &str) -> Result<String, GateError> {
    let verdict = scan::scan(shared, context, Crossing::Record, text).await?;
    if verdict.canary_leaked {
        return Ok(WITHHELD.to_owned());
    }
    Ok(verdict.redacted.map_or_else(|| text.to_owned(), Text::into_string))
}

/// A call with the gate's verdict.
pub(crate) async fn start(
    shared: &Shared,
    context: &TurnContext,
    released: &Released,
) -> Result<TurnEvent, GateError> {
    let args = clean(shared, context, &Text::<512>::clip(&released.call.args)).await?;
    let refused = match &released.verdict {
        CallVerdict::Run | CallVerdict::Asking(_) => None,
        CallVerdict::Refused(reason) => Some(reason.clone()),
    };
    let (call, tool) = (released.call.id, released.call.tool.clone());
    Ok(TurnEvent::ToolStart { call, tool, args: Text::clip(&args), refused, record: released.record })
}
