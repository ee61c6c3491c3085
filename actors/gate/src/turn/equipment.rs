//! The tools and bounds of the agent of a turn: those of its configuration, with what its servers and its turn add or take away.

use crate::state::context::GateContext;
use crate::turn::context::RECALL_TOOL;
use ipc_proto::Name;
use ipc_proto::config::Agent;
use ipc_proto::router::{DEPTH, Task, Terms, Turn};
use ipc_proto::tool::TOOLS;
use policy::Profile;
use toolset::channel_tools::SEND_FILE;
use toolset::delegation_tools::{COLLECT, DELEGATE};
use toolset::server_tools::{MCP_READ, TOOL_FIND};

/// Gives the agent of a turn what it has in it; returns the tools that it is to find by words first.
pub(super) fn equip(gate: &GateContext, turn: &Turn, agent: &mut Agent) -> Vec<String> {
    // A file goes to a conversation, so there has to be one.
    agent.tools.retain(|tool| turn.conversation.is_some() || tool != SEND_FILE);
    let mut hidden = Vec::new();
    if agent.engine.is_none() {
        hidden = give_servers(gate, &turn.agent, &mut agent.tools);
        give_delegation(turn, agent);
    }
    if let Some(terms) = &turn.delegated {
        narrow(terms, agent, &mut hidden);
    }
    hidden
}

/// Gives an agent the tools of its servers; returns those that it is to find by words first.
fn give_servers(gate: &GateContext, agent: &Name, tools: &mut Vec<String>) -> Vec<String> {
    let granted = gate.mcp.granted(agent);
    if !gate.mcp.readable(agent).is_empty() {
        tools.push(MCP_READ.to_owned());
    }
    let room = TOOLS.saturating_sub(tools.len());
    if granted.len() <= room && !gate.mcp.are_too_many(&granted) {
        tools.extend(granted);
        return Vec::new();
    }
    tools.push(TOOL_FIND.to_owned());
    granted
}

/// Gives an agent the tools by which it hands tasks to others, where it may, and where the task that it works on may be handed on.
fn give_delegation(turn: &Turn, agent: &mut Agent) {
    let depth = turn.delegated.as_ref().map_or(0, |terms| terms.depth());
    if !agent.delegates.is_empty() && depth < DEPTH && turn.task == Task::Chat {
        agent.tools.extend([DELEGATE, COLLECT].map(str::to_owned));
    }
}

/// Takes from an agent everything beyond the bounds of the task that it works on. Finding tools by words grants none.
fn narrow(terms: &Terms, agent: &mut Agent, hidden: &mut Vec<String>) {
    let may = |tool: &String| terms.tools.iter().any(|one| **one == **tool);
    agent.tools.retain(|tool| tool == TOOL_FIND || may(tool));
    hidden.retain(may);
    agent.memory &= terms.tools.iter().any(|tool| tool.as_str() == RECALL_TOOL);
    agent.network = agent.network.take().filter(|_| terms.network);
    agent.limits.seconds = agent.limits.seconds.min(u32::from(terms.seconds));
    let profile = |name: &str| name.parse::<Profile>().unwrap_or_default();
    agent.profile = profile(&agent.profile).min(profile(&terms.profile)).name().to_owned();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turn::testing::context;
    use ipc_proto::{List, Text};

    fn terms(tools: &[&str], profile: &str, network: bool) -> Terms {
        Terms {
            chain: List::clip([Name::clip("lead")]),
            tools: List::clip(tools.iter().map(|tool| Name::clip(tool))),
            plan: List::default(),
            profile: Name::clip(profile),
            network,
            seconds: 30,
            unattended: None,
        }
    }

    // Holds P5-73.
    #[test]
    fn a_task_takes_from_its_agent_what_the_turn_above_lacks() {
        let mut agent = context(vec![]).agent;
        agent.tools = ["read", "bash", TOOL_FIND, "web_fetch"].map(str::to_owned).to_vec();
        agent.profile = "power-user".to_owned();
        agent.memory = true;
        agent.network = Some(ipc_proto::config::Network::default());
        let mut hidden = vec!["git__log".to_owned(), "git__push".to_owned()];
        narrow(&terms(&["read", "git__log", "write"], "standard", false), &mut agent, &mut hidden);
        assert_eq!(
            (agent.tools, hidden),
            (vec!["read".to_owned(), TOOL_FIND.to_owned()], vec!["git__log".to_owned()])
        );
        assert_eq!((agent.profile.as_str(), agent.memory, agent.limits.seconds), ("standard", false, 30));
        assert!(agent.network.is_none());
        let mut strict = context(vec![]).agent;
        strict.profile = "paranoid".to_owned();
        narrow(&terms(&[], "power-user", true), &mut strict, &mut Vec::new());
        assert_eq!(strict.profile, "paranoid");
    }

    // Holds P7-102.
    #[test]
    fn the_deepest_agents_of_a_tree_hand_nothing_on() {
        for (depth, may) in [(0, true), (1, true), (2, false)] {
            let mut turn = context(vec![]).turn;
            turn.task = Task::Chat;
            let mut of = terms(&[], "standard", true);
            of.chain = List::clip((0..depth).map(|_| Text::clip("lead")));
            turn.delegated = (depth > 0).then_some(Box::new(of));
            let mut agent = context(vec![]).agent;
            agent.delegates = vec!["helper".to_owned()];
            give_delegation(&turn, &mut agent);
            assert_eq!(agent.tools.iter().any(|tool| tool == DELEGATE), may, "{depth}");
        }
    }
}
