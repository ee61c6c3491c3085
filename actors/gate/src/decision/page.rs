//! Calls that act on a page of the browser: the gate itself says which site and which element they are about, so that policy and
//! people decide on what is there and not on what a model says is there.

use crate::state::context::GateContext;
use crate::state::mcp::NO_PAGE;
use crate::turn::context::TurnContext;
use ipc_proto::Text;
use ipc_proto::tool::ToolCall;
use serde_json::{Map, Value};
use toolset::browser_tools::ACTING;

/// Returns true if a tool can have the page send something.
pub(crate) fn acts(tool: &str) -> bool {
    ACTING.contains(&tool)
}

/// The reference of a call's element.
pub(crate) fn reference(args: &Map<String, Value>) -> Option<u32> {
    args.get("ref").and_then(Value::as_u64).and_then(|number| number.try_into().ok())
}

/// Sets the site and the element of a call and of its arguments, in place of a model's own words on them. A call of another tool is
/// left as it is.
///
/// # Errors
/// The reason for which nothing can be done on the page, with the next step.
pub(crate) fn complete(
    gate: &GateContext,
    context: &TurnContext,
    call: &mut ToolCall,
    args: &mut Map<String, Value>,
) -> Result<(), String> {
    if !acts(&call.tool) {
        return Ok(());
    }
    let why = |why: &str| format!("{}: {why}", call.tool);
    let browser = gate.mcp.open_browser(context.turn.session).ok_or_else(|| why(NO_PAGE))?;
    let act = browser.browsing.act(reference(args)).map_err(why)?;
    args.insert("url".to_owned(), act.site.into());
    args.insert("element".to_owned(), act.element.into());
    let text = Value::Object(args.clone()).to_string();
    call.args = Text::new(text).map_err(|_| why("the arguments are too long"))?;
    Ok(())
}
