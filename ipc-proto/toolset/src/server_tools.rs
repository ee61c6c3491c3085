//! Names, descriptions and schemas of the tools that an agent gets besides those of its servers of the Model Context Protocol. The gate
//! runs them and gives them where they are of use; no configuration lists them.

use crate::spec::ToolSpec;
use serde_json::json;

/// Finds tools of servers.
pub const TOOL_FIND: &str = "tool_find";
/// Reads a resource of a server.
pub const MCP_READ: &str = "mcp_read";
/// Tools in one answer.
pub const MAX_FOUND: usize = 20;
/// Tools in one answer if the call does not say.
pub const FOUND: usize = 8;

/// Both tools.
#[must_use]
pub fn specs() -> Vec<ToolSpec> {
    vec![
        ToolSpec {
            name: TOOL_FIND,
            description: "Finds tools by words. You have more tools than are listed: those that this finds can be called from then on \
                in this turn, and their arguments are described to you with the next step.",
            schema: json!({
                "type": "object",
                "properties": {
                    "words": {
                        "type": "string", "minLength": 1, "maxLength": 256,
                        "description": "Words of what the tool does, or its name"
                    },
                    "limit": {
                        "type": "integer", "minimum": 1, "maximum": MAX_FOUND, "default": FOUND,
                        "description": "Tools to answer at most"
                    },
                },
                "required": ["words"],
                "additionalProperties": false,
            }),
            in_jail: false,
        },
        ToolSpec {
            name: MCP_READ,
            description: "Reads a resource of a server whose tools you have, or lists the resources of that server.",
            schema: json!({
                "type": "object",
                "properties": {
                    "server": {
                        "type": "string", "minLength": 1, "maxLength": 64,
                        "description": "The server: what stands before __ in the names of its tools"
                    },
                    "uri": {
                        "type": "string", "minLength": 1, "maxLength": 2048,
                        "description": "The address of the resource; the list of them without it"
                    },
                },
                "required": ["server"],
                "additionalProperties": false,
            }),
            in_jail: false,
        },
    ]
}
