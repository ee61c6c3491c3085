//! `agentctl tree TURN`: a turn and those that work on the tasks that it handed to other agents.

use crate::app::{App, Outcome};
use crate::view;
use ipc_proto::control::method;
use ipc_proto::ids::TurnId;
use ipc_proto::router::Node;
use serde_json::{Value, json};
use std::process::ExitCode;

/// The turn whose tree is shown.
#[derive(clap::Args)]
pub(crate) struct Tree {
    /// The turn's id, as `agentctl message list` shows it
    turn: TurnId,
}

/// Shows a turn and those below it.
pub(crate) async fn tree(app: &App, arguments: Tree) -> Outcome {
    let turn = arguments.turn;
    let nodes = app.link.ask(&method::tree, async |c, cx| c.tree(cx, turn).await).await?;
    if app.out.json {
        let turns: Vec<Value> = nodes.iter().map(document).collect();
        app.out.document(json!({ "turns": turns }))?;
    } else {
        let rows = nodes.iter().map(|node| {
            let indent = "  ".repeat(usize::from(node.depth));
            vec![format!("{indent}{}", node.turn), node.agent.to_string(), view::word(node.state)]
        });
        app.out.table(&["TURN", "AGENT", "STATE"], rows.collect())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn document(node: &Node) -> Value {
    json!({
        "turn": node.turn.to_string(),
        "parent": node.parent.map(|turn| turn.to_string()),
        "depth": node.depth,
        "agent": node.agent,
        "session": node.session,
        "state": view::word(node.state),
    })
}
