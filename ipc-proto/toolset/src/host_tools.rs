//! Names, descriptions and schemas of the seven memory tools. The gate runs them; nothing here does. Depends on
//! `serde_json` alone and must never touch a file. The bounds are those of `ipc-proto`'s memory interface.

use crate::spec::ToolSpec;
use serde_json::{Value, json};

/// Bytes of one memory's content.
pub const MAX_CONTENT: usize = 100_000;
/// Tags of one memory or one query.
pub const MAX_TAGS: usize = 16;
/// Bytes of one tag.
pub const MAX_TAG: usize = 64;
/// Rows in one answer.
pub const MAX_ROWS: usize = 100;
/// Rows in one answer if the call does not say.
pub const ROWS: usize = 10;
/// Ids in one call.
pub const MAX_IDS: usize = 50;
/// Rows on either side of an anchor.
pub const MAX_BESIDE: usize = 20;
/// Files of one memory.
pub const MAX_FILES: usize = 16;
/// Bytes of a reason.
pub const MAX_REASON: usize = 512;
/// The last time that can be asked for, unix ms: the year 2100.
const LAST_MS: u64 = 4_102_444_800_000;

/// The tools that the gate runs.
#[must_use]
pub fn specs() -> Vec<ToolSpec> {
    let mut specs = vec![query(), timeline(), read(), list()];
    specs.extend([write(), revise(), delete()]);
    specs
}

fn query() -> ToolSpec {
    let mut fields = filters();
    fields.extend([
        ("query", text(MAX_CONTENT, "The words; of a longer text its first 2048 bytes")),
        ("limit", limit()),
        ("scope", scope()),
        (
            "by",
            json!({
                "type": "string", "enum": ["usual", "words", "meaning", "fused", "weighted", "plain"],
                "default": "usual",
                "description": "By what memories are ranked; usual: by words, and by meaning too where a model for that is \
                    configured"
            }),
        ),
        (
            "varied",
            json!({"type": "boolean", "default": false, "description": "Put what repeats a better one behind what says something else"}),
        ),
        (
            "weigh",
            json!({
                "type": "array", "maxItems": 4,
                "items": {"type": "string", "enum": ["recency", "salience", "trust", "importance"]},
                "description": "Multiply how well each fits by how new it is, how often and lately it was read, how far it is \
                    trusted, how much it matters"
            }),
        ),
    ]);
    tool(
        "memory_query",
        "Finds what was remembered that fits the words best, best first: short memories whole, of long ones the words \
         around and what the rest costs in tokens. memory_timeline shows what was around one, memory_read shows them whole.",
        fields,
        &["query"],
    )
}

fn timeline() -> ToolSpec {
    let mut fields = filters();
    let beside = |what| json!({"type": "integer", "minimum": 0, "maximum": MAX_BESIDE, "default": 5, "description": what});
    fields.extend([
        ("anchor", id("The id of a memory; the newest without one")),
        ("before", beside("So many before it")),
        ("after", beside("So many after it")),
        ("scope", scope()),
    ]);
    tool("memory_timeline", "Shows what was remembered around one memory in time, oldest first.", fields, &[])
}

fn read() -> ToolSpec {
    let ids = json!({
        "type": "array", "minItems": 1, "maxItems": MAX_IDS, "items": id("An id"), "description": "The ids, as they were answered"
    });
    tool("memory_read", "Shows memories in full.", vec![("ids", ids)], &["ids"])
}

fn list() -> ToolSpec {
    let mut fields = filters();
    let offset = json!({
        "type": "integer", "minimum": 0, "maximum": 1_000_000, "default": 0, "description": "Leave out so many of the newest"
    });
    fields.extend([("scope", scope()), ("limit", limit()), ("offset", offset)]);
    tool("memory_list", "Lists what is remembered, newest first.", fields, &[])
}

fn write() -> ToolSpec {
    let kinds = ["note", "episodic", "fact", "preference", "instruction", "observation"];
    let fields = vec![
        ("content", text(MAX_CONTENT, "What to remember, complete in itself")),
        (
            "kind",
            json!({
                "type": "string", "enum": kinds, "default": "note",
                "description": "note; episodic: what happened, kept for 90 days; fact, preference, instruction: what the \
                    person themselves said holds; observation: what was learned while working"
            }),
        ),
        (
            "key",
            text(
                256,
                "Of a note, a fact, a preference or an instruction: another with the same key takes its place",
            ),
        ),
        ("title", text(200, "Of an observation, in a few words")),
        ("type", one_type()),
        ("files", files("Files that an observation is about")),
        ("importance", importance("How much it matters")),
        ("project", project()),
        ("tags", tags()),
        ("scope", scope()),
    ];
    tool(
        "memory_write",
        "Remembers something for later turns and other sessions of this user. Answers its id.",
        fields,
        &["content"],
    )
}

fn revise() -> ToolSpec {
    let fields = vec![
        ("id", id("The id, a UUID, as it was answered")),
        ("content", text(MAX_CONTENT, "What it says now; as before without it")),
        ("title", text(200, "What an observation is called now")),
        ("importance", importance("How much it matters now")),
        ("tags", tags()),
        ("reason", text(MAX_REASON, "Why")),
    ];
    tool(
        "memory_revise",
        "Puts a new version in the place of one memory; the old one stays in its history. Answers the new id.",
        fields,
        &["id", "reason"],
    )
}

fn delete() -> ToolSpec {
    let fields = vec![("id", id("The id, a UUID, as it was answered")), ("reason", text(MAX_REASON, "Why"))];
    tool("memory_delete", "Forgets one memory; its owner can still see that it was there.", fields, &["id"])
}

/// Arguments that narrow a question.
fn filters() -> Vec<(&'static str, Value)> {
    let kinds = ["note", "episodic", "semantic", "observation", "summary", "entity"];
    let time = |what| json!({"type": "integer", "minimum": 0, "maximum": LAST_MS, "description": what});
    vec![
        ("tags", tags()),
        ("kinds", list_of(6, json!({"type": "string", "enum": kinds}), "Only of these kinds")),
        ("types", list_of(6, one_type(), "Only observations of these types")),
        ("files", files("Only what touched a file whose path holds one of these")),
        ("project", project()),
        ("importance", importance("Only what matters at least so much")),
        ("since_ms", time("Only of this time or later, unix ms")),
        ("until_ms", time("Only of before this time, unix ms")),
    ]
}

fn tool(
    name: &'static str,
    description: &'static str,
    fields: Vec<(&str, Value)>,
    required: &[&str],
) -> ToolSpec {
    let properties: serde_json::Map<String, Value> =
        fields.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    let schema = json!({
        "type": "object", "properties": properties, "required": required, "additionalProperties": false,
    });
    ToolSpec { name, description, schema, in_jail: false }
}

fn text(most: usize, description: &str) -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": most, "description": description})
}

fn id(what: &str) -> Value {
    json!({"type": "string", "minLength": 36, "maxLength": 36, "description": what})
}

fn list_of(most: usize, items: Value, what: &str) -> Value {
    json!({"type": "array", "maxItems": most, "items": items, "description": what})
}

fn one_type() -> Value {
    json!({
        "type": "string", "enum": ["decision", "bugfix", "feature", "refactor", "discovery", "change"],
        "description": "The type of an observation"
    })
}

fn files(what: &str) -> Value {
    list_of(MAX_FILES, text(256, "A path"), what)
}

fn importance(what: &str) -> Value {
    json!({"type": "integer", "minimum": 1, "maximum": 5, "description": what})
}

fn project() -> Value {
    text(512, "The project that it is about, by the path of its directory or a name")
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
