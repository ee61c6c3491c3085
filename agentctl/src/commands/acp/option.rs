//! The options of a session in an editor: the agent, and its model. A model is chosen by choosing an agent that has it.

use agent_client_protocol_schema::v1::{
    SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectOption,
};
use ipc_proto::Name;
use ipc_proto::router::AgentInfo;

/// The ids of the two options.
const AGENT: &str = "agent";
const MODEL: &str = "model";
/// The agent of a session that names none, where the host has it.
const DEFAULT: &str = "default";

/// The agent of a session: the chosen one, else the host's default.
pub(super) fn current<'a>(agents: &'a [AgentInfo], chosen: Option<&Name>) -> Option<&'a AgentInfo> {
    let named = |name: &str| agents.iter().find(|agent| agent.name.as_str() == name);
    match chosen {
        Some(chosen) => named(chosen),
        None => named(DEFAULT).or_else(|| agents.first()),
    }
}

/// The options as the editor shows them. A session that has begun keeps its agent, so it has no others to choose.
pub(super) fn options(agents: &[AgentInfo], chosen: Option<&Name>, begun: bool) -> Vec<SessionConfigOption> {
    let Some(current) = current(agents, chosen) else { return Vec::new() };
    let offered: Vec<&AgentInfo> =
        agents.iter().filter(|agent| !begun || agent.name == current.name).collect();
    let of_agent = |agent: &&AgentInfo| {
        let about = format!("{}, profile {}", agent.model, agent.profile);
        SessionConfigSelectOption::new(agent.name.to_string(), agent.name.to_string()).description(about)
    };
    let agents: Vec<_> = offered.iter().map(of_agent).collect();
    let mut models: Vec<String> = offered.iter().map(|agent| agent.model.to_string()).collect();
    models.sort();
    models.dedup();
    let models: Vec<_> =
        models.into_iter().map(|name| SessionConfigSelectOption::new(name.clone(), name)).collect();
    vec![
        SessionConfigOption::select(AGENT, "Agent", current.name.to_string(), agents)
            .description("The agent that answers; fixed with the first message".to_owned()),
        SessionConfigOption::select(MODEL, "Model", current.model.to_string(), models)
            .description("The model of the agent".to_owned())
            .category(SessionConfigOptionCategory::Model),
    ]
}

/// The agent that a choice of the editor's means; `None` if there is no such option or value.
pub(super) fn choose<'a>(
    agents: &'a [AgentInfo],
    chosen: Option<&Name>,
    (option, value): (&str, &str),
) -> Option<&'a AgentInfo> {
    let has = |agent: &&AgentInfo| agent.model.as_str() == value;
    match option {
        AGENT => agents.iter().find(|agent| agent.name.as_str() == value),
        MODEL => current(agents, chosen).filter(has).or_else(|| agents.iter().find(has)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::{List, Text};

    fn agent(name: &str, model: &str) -> AgentInfo {
        AgentInfo {
            name: Text::clip(name),
            model: Text::clip(model),
            profile: Text::clip("standard"),
            engine: Text::clip("native"),
            tools: List::default(),
            limits: Default::default(),
        }
    }

    #[test]
    fn a_model_is_chosen_by_an_agent_that_has_it() {
        let agents = [agent("a", "small"), agent("b", "large"), agent("default", "large")];
        let chosen = |chosen: Option<&str>, option, value| {
            let name = chosen.map(Text::clip);
            choose(&agents, name.as_ref(), (option, value)).map(|agent| agent.name.to_string())
        };
        assert_eq!(chosen(None, "model", "large").as_deref(), Some("default"));
        assert_eq!(chosen(Some("a"), "model", "large").as_deref(), Some("b"));
        assert_eq!(chosen(None, "agent", "a").as_deref(), Some("a"));
        assert_eq!(chosen(None, "model", "huge"), None);
        assert_eq!(chosen(None, "colour", "a"), None);
    }

    #[test]
    fn a_session_that_has_begun_offers_its_own_agent_alone() {
        let agents = [agent("a", "small"), agent("default", "large")];
        let shown = |begun| serde_json::to_value(options(&agents, None, begun)).unwrap();
        assert_eq!(shown(false)[0]["options"].as_array().unwrap().len(), 2);
        assert_eq!(shown(true)[0]["options"].as_array().unwrap().len(), 1);
        assert_eq!(shown(true)[1]["currentValue"], "large");
        assert!(options(&[], None, false).is_empty());
    }
}
