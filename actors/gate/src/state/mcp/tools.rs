//! The tools of servers as agents have them: their names, what models are told of them, and what they are taken to do.

use ipc_proto::capability::{Capability, Effect, Sandbox};
use ipc_proto::config::{McpServer, McpStart};
use ipc_proto::mcp::{SEPARATOR, TOOL_NAME, Tool};
use ipc_proto::tool::ToolSpec;
use ipc_proto::{Name, Text};
use toolset::server_tools::MCP_READ;

/// The name of a server's tool among an agent's tools; none if it is longer than models take.
pub(crate) fn full_name(server: &str, tool: &str) -> Option<String> {
    let name = format!("{server}{SEPARATOR}{tool}");
    (name.len() <= TOOL_NAME).then_some(name)
}

/// The server and its own name of a tool.
pub(crate) fn parts(tool: &str) -> Option<(&str, &str)> {
    tool.split_once(SEPARATOR)
}

/// Returns true for a tool of a server.
pub(crate) fn is_foreign(tool: &str) -> bool {
    tool.contains(SEPARATOR)
}

/// Returns true for a tool by which an agent asks a server.
pub(crate) fn calls_server(tool: &str) -> bool {
    is_foreign(tool) || tool == MCP_READ
}

/// The names that an answer of `tool_find` lists.
pub(crate) fn found_in(output: &str) -> impl Iterator<Item = &str> {
    output.lines().filter_map(|line| line.strip_prefix("- ")?.split(':').next())
}

/// The servers of tools, by name.
pub(crate) fn servers_of(tools: &[String]) -> String {
    let mut servers: Vec<&str> =
        tools.iter().filter_map(|tool| parts(tool)).map(|(server, _)| server).collect();
    servers.dedup();
    servers.join(", ")
}

/// A tool as a model is told of it.
pub(super) fn spec(name: &str, tool: &Tool) -> ToolSpec {
    let title = if tool.title.is_empty() { String::new() } else { format!("{}. ", tool.title) };
    ToolSpec {
        name: Name::clip(name),
        description: Text::clip(&format!("{title}{}", tool.description)),
        schema: Text::clip(&tool.input),
        in_jail: false,
    }
}

/// The capability of a tool where the configuration does not say. A server's own hints can only make it stricter: a tool that is said
/// to read still counts as one that writes.
pub(super) fn capability(server: &McpServer, tool: &Tool) -> Capability {
    let effect = if tool.hints.destructive == Some(true) { Effect::Delete } else { Effect::Write };
    of_server(server, effect)
}

/// The capability of reading resources: one tool for all servers, judged as a call of the strictest of them.
pub(super) fn reading<'a>(servers: impl Iterator<Item = &'a McpServer>) -> Capability {
    let all: Vec<Capability> = servers.map(|server| of_server(server, Effect::Write)).collect();
    let strictest = all.iter().find(|one| one.data.can_leak_data).or(all.first());
    strictest.cloned().unwrap_or_default()
}

fn of_server(server: &McpServer, effect: Effect) -> Capability {
    let reaches = !server.network.is_empty() || !server.opaque.is_empty();
    let goes_out = reaches || matches!(server.start, McpStart::Url { .. });
    let mut capability =
        Capability { effect, relevant_args: vec![policy::EVERY.to_owned()], ..Capability::default() };
    capability.data.can_leak_data = goes_out;
    capability.execution.sandbox = Sandbox::Container;
    capability.execution.timeout = u32::from(server.seconds).saturating_mul(1000);
    capability
}
