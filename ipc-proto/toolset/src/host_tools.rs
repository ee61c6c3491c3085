//! What the five memory tools are called, say of themselves and accept. The gate runs them; nothing here does.
//! Depends on `serde_json` alone and must never touch a file. The bounds are those of `ipc-proto`'s memory interface.

use crate::spec::ToolSpec;
use serde_json::{Value, json};

/// Bytes of one memory's content.
pub const MAX_CONTENT: usize = 100_000;
/// Bytes of a query.
pub const MAX_QUERY: usize = 2048;
/// Tags of one memory or one query.
pub const MAX_TAGS: usize = 16;
/// Bytes of one tag.
pub const MAX_TAG: usize = 64;
/// Rows in one answer.
pub const MAX_ROWS: usize = 100;
/// Rows in one answer if the call does not say.
pub const ROWS: usize = 10;

/// The tools that the gate runs.
#[must_use]
pub fn specs() -> Vec<ToolSpec> {
    vec![
        tool(
            "memory_write",
            "Remembers something for later turns and other sessions of this user. Answers its id.",
            json!({"content": text(MAX_CONTENT, "What to remember, complete in itself"), "tags": tags(), "scope": scope()}),
            &["content"],
        ),
        tool(
            "memory_query",
            "Finds what was remembered that fits the words best, best first.",
            json!({"query": text(MAX_QUERY, "The words"), "limit": limit(), "tags": tags(), "scope": scope()}),
            &["query"],
        ),
        tool("memory_read", "Shows one memory in full.", json!({"id": id()}), &["id"]),
        tool(
            "memory_list",
            "Lists what is remembered, newest first.",
            json!({"scope": scope(), "limit": limit()}),
            &[],
        ),
        tool("memory_delete", "Forgets one memory.", json!({"id": id()}), &["id"]),
    ]
}

fn tool(name: &'static str, description: &'static str, properties: Value, required: &[&str]) -> ToolSpec {
    let schema = json!({
        "type": "object", "properties": properties, "required": required, "additionalProperties": false,
    });
    ToolSpec { name, description, schema, in_jail: false }
}

fn text(most: usize, description: &str) -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": most, "description": description})
}

fn id() -> Value {
    json!({"type": "string", "minLength": 36, "maxLength": 36, "description": "The id, a UUID, as it was answered"})
}

fn tags() -> Value {
    json!({
        "type": "array", "maxItems": MAX_TAGS, "items": text(MAX_TAG, "A word"),
        "description": "Words to find it by; a query answers only what has all of them"
    })
}

fn scope() -> Value {
    json!({
        "type": "string", "enum": ["user", "agent", "global"], "default": "user",
        "description": "user: this user's own; agent: what this agent keeps for the user; global: shared by the user's agents"
    })
}

fn limit() -> Value {
    json!({
        "type": "integer", "minimum": 1, "maximum": MAX_ROWS, "default": ROWS,
        "description": "Rows to answer at most"
    })
}
