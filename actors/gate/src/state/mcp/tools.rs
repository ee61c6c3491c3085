//! The tools of servers as agents have them: their names, what models are told of them, and what they are taken to do.

use ipc_proto::capability::{Capability, Effect, Sandbox};
use ipc_proto::config::{McpServer, McpStart};
use ipc_proto::mcp::{SEPARATOR, TOOL_NAME, Tool};
use ipc_proto::tool::ToolSpec;
use ipc_proto::{Name, Text};

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
    let goes_out = !server.network.is_empty() || matches!(server.start, McpStart::Url { .. });
    let mut capability = Capability {
        effect: if tool.hints.destructive == Some(true) { Effect::Delete } else { Effect::Write },
        relevant_args: vec![policy::EVERY.to_owned()],
        ..Capability::default()
    };
    capability.data.can_leak_data = goes_out;
    capability.execution.sandbox = Sandbox::Container;
    capability.execution.timeout = u32::from(server.seconds).saturating_mul(1000);
    capability
}
