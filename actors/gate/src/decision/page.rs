//! Calls that act on a page of the browser: the gate itself says which site and which element they are about, so that policy and
//! people decide on what is there and not on what a model says is there.

use crate::state::context::GateContext;
use crate::turn::context::TurnContext;
use ipc_proto::Text;
use ipc_proto::tool::ToolCall;
use serde_json::{Map, Value};

/// Returns true if a tool can have the page send something.
pub(crate) fn acts(tool: &str) -> bool {
    matches!(tool, "browser_click" | "browser_type" | "browser_select" | "browser_press")
}

/// The reference of a call's element.
pub(crate) fn reference(args: &Map<String, Value>) -> Option<u32> {
    args.get("ref").and_then(Value::as_u64).and_then(|number| number.try_into().ok())
}

/// The call with its site and element; a model's own words on them are replaced. A call of another tool is left as it is.
///
/// # Errors
/// The reason for which nothing can be done on the page, with the next step.
pub(crate) fn completed(
    gate: &GateContext,
    context: &TurnContext,
    call: ToolCall,
    mut args: Map<String, Value>,
) -> Result<ToolCall, String> {
    if !acts(&call.tool) {
        return Ok(call);
    }
    let why = |why: &str| format!("{}: {why}", call.tool);
    let browser = gate.mcp.open_browser(context.turn.session);
    let browser = browser.ok_or_else(|| why("no page is open; call browser_navigate first"))?;
    let act = browser.browsing.act(reference(&args)).map_err(why)?;
    args.insert("url".to_owned(), act.site.into());
    args.insert("element".to_owned(), act.element.into());
    let args = Text::new(Value::Object(args).to_string()).map_err(|_| why("the arguments are too long"))?;
    Ok(ToolCall { args, ..call })
}
