//! Names, descriptions and schemas of the tools that hand tasks to other agents. The gate runs them, and gives them to agents that may
//! delegate; no configuration lists them. The bounds are those of `ipc-proto`'s router interface.

use crate::spec::ToolSpec;
use serde_json::json;

/// Hands a task to an agent.
pub const DELEGATE: &str = "delegate";
/// Waits for the answers to tasks that were handed out.
pub const COLLECT: &str = "collect";
/// Bytes of a task.
pub const MAX_TASK: usize = 50 * 1024;
/// Seconds of a task: at least, at most, and if the call does not say.
pub const SECONDS: [u64; 3] = [5, 600, 120];
/// Tasks of one call of `collect`.
pub const MAX_HANDLES: usize = 8;

/// Both tools.
#[must_use]
pub fn specs() -> Vec<ToolSpec> {
    let [least, most, usual] = SECONDS;
    vec![
        ToolSpec {
            name: DELEGATE,
            description: "Hands a task to another agent, which works on it in the same workspace and knows nothing of this conversation. \
                Without `wait` it waits for the answer. With `wait` false it answers a handle at once, for `collect`, so that up to 3 \
                tasks run at once. Tasks that are not collected end with this turn.",
            schema: json!({
                "type": "object",
                "properties": {
                    "agent": {"type": "string", "minLength": 1, "maxLength": 64, "description": "The agent"},
                    "task": {
                        "type": "string", "minLength": 1, "maxLength": MAX_TASK,
                        "description": "The task, with everything that the agent must know"
                    },
                    "tools": {
                        "type": "array", "maxItems": 64, "items": {"type": "string", "minLength": 1, "maxLength": 64},
                        "description": "The tools that it may use; without this, those that you and it both have"
                    },
                    "wait": {"type": "boolean", "default": true, "description": "Wait for the answer"},
                    "seconds": {
                        "type": "integer", "minimum": least, "maximum": most, "default": usual,
                        "description": "Seconds that it may take"
                    },
                },
                "required": ["agent", "task"],
                "additionalProperties": false,
            }),
            in_jail: false,
        },
        ToolSpec {
            name: COLLECT,
            description: "Waits for the answers to tasks that `delegate` handed out in this turn.",
            schema: json!({
                "type": "object",
                "properties": {
                    "handles": {
                        "type": "array", "minItems": 1, "maxItems": MAX_HANDLES,
                        "items": {"type": "string", "minLength": 36, "maxLength": 36},
                        "description": "The handles"
                    },
                },
                "required": ["handles"],
                "additionalProperties": false,
            }),
            in_jail: false,
        },
    ]
}
