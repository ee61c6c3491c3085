//! The offer of a server, within bounds: its tools in one canonical form, and for each that is left out the reason.

use ipc_proto::mcp::{DESCRIPTION, Hints, LISTED, Offer, SCHEMA, SERVER_TOOLS, Tool, Trouble};
use ipc_proto::{List, Text};
use rmcp::RoleClient;
use rmcp::model::{JsonObject, PaginatedRequestParams, Tool as Listed};
use rmcp::service::{Peer, ServiceError};
use serde_json::{Map, Value};

/// Pages of a list: one that has no end is cut.
const PAGES: usize = 256;

/// Asks a server for all of it.
pub(super) async fn of(peer: &Peer<RoleClient>) -> Result<Offer, Trouble> {
    let info = peer.peer_info().ok_or_else(|| broken("it said nothing of itself"))?;
    let named = info.server_info.as_ref().map(|own| format!("{} {}", own.name, own.version));
    let mut offer = Offer {
        calls_itself: Text::clip(&named.unwrap_or_default()),
        protocol: Text::clip(info.protocol_version.as_str()),
        instructions: Text::clip(info.instructions.as_deref().unwrap_or_default()),
        resources: info.capabilities.resources.is_some(),
        prompts: info.capabilities.prompts.is_some(),
        ..Offer::default()
    };
    if info.capabilities.tools.is_some() {
        (offer.tools, offer.left_out) = sorted(list(peer).await.map_err(|error| broken(&error.to_string()))?);
    }
    Ok(offer)
}

async fn list(peer: &Peer<RoleClient>) -> Result<Vec<Listed>, ServiceError> {
    let (mut tools, mut cursor) = (Vec::new(), None);
    for _ in 0..PAGES {
        let mut params = PaginatedRequestParams::default();
        params.cursor = cursor;
        let page = peer.list_tools(Some(params)).await?;
        tools.extend(page.tools.into_iter().take(SERVER_TOOLS * 2 - tools.len()));
        cursor = page.next_cursor;
        if cursor.is_none() || tools.len() >= SERVER_TOOLS * 2 {
            break;
        }
    }
    Ok(tools)
}

/// The tools that can be offered, and those that cannot.
fn sorted(listed: Vec<Listed>) -> (List<Tool, SERVER_TOOLS>, List<Text<256>, 64>) {
    let (mut tools, mut left_out): (Vec<Tool>, Vec<Text<256>>) = (Vec::new(), Vec::new());
    let mut bytes = 0;
    for one in listed {
        let name = one.name.to_string();
        let judged = tool(&one).and_then(|tool| {
            bytes += tool.input.len() + tool.output.len() + tool.description.len();
            match () {
                () if tools.iter().any(|known| known.name == tool.name) => Err("a second tool of this name"),
                () if tools.len() >= SERVER_TOOLS => Err("a server has at most 256 tools"),
                () if bytes > LISTED / 2 => Err("the schemas of a server have at most 1 MiB together"),
                () => Ok(tool),
            }
        });
        match judged {
            Ok(tool) => tools.push(tool),
            Err(why) => left_out.push(Text::clip(&format!("{name}: {why}"))),
        }
    }
    (List::clip(tools), List::clip(left_out))
}

fn tool(listed: &Listed) -> Result<Tool, &'static str> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let name = Text::new(listed.name.as_ref()).map_err(|_| "its name is over 64 bytes")?;
    if name.is_empty() || !name.bytes().all(plain) {
        return Err("its name has other signs than letters, digits, - and _");
    }
    let annotations = listed.annotations.as_ref();
    let title = listed.title.as_deref().or_else(|| annotations.and_then(|known| known.title.as_deref()));
    let description: Text<DESCRIPTION> = Text::clip(listed.description.as_deref().unwrap_or_default());
    Ok(Tool {
        name,
        title: Text::clip(title.unwrap_or_default()),
        description,
        input: schema(&listed.input_schema)?,
        output: listed.output_schema.as_ref().map_or_else(|| Ok(Text::default()), |output| schema(output))?,
        hints: Hints {
            read_only: annotations.and_then(|known| known.read_only_hint),
            destructive: annotations.and_then(|known| known.destructive_hint),
            idempotent: annotations.and_then(|known| known.idempotent_hint),
            open_world: annotations.and_then(|known| known.open_world_hint),
        },
    })
}

fn schema(schema: &JsonObject) -> Result<Text<SCHEMA>, &'static str> {
    let value = Value::Object(schema.clone());
    if refers_elsewhere(&value) {
        return Err("its schema refers to another document");
    }
    Text::new(canonical(value).to_string()).map_err(|_| "its schema is over 64 KiB")
}

/// Returns true if a schema has a `$ref` that leads out of it.
fn refers_elsewhere(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.iter().any(|(name, value)| {
            let leads = |text: &str| !text.starts_with('#');
            (matches!(name.as_str(), "$ref" | "$dynamicRef") && value.as_str().is_some_and(leads))
                || refers_elsewhere(value)
        }),
        Value::Array(values) => values.iter().any(refers_elsewhere),
        _ => false,
    }
}

/// The same value with the fields of every object in the order of their names.
fn canonical(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut sorted: Vec<(String, Value)> =
                fields.into_iter().map(|(name, value)| (name, canonical(value))).collect();
            sorted.sort_by(|(a, _), (b, _)| a.cmp(b));
            Value::Object(Map::from_iter(sorted))
        }
        Value::Array(values) => Value::Array(values.into_iter().map(canonical).collect()),
        other => other,
    }
}

fn broken(why: &str) -> Trouble {
    Trouble::Protocol(Text::clip(why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn listed(value: Value) -> Listed {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn tools_that_cannot_be_offered_are_left_out_with_the_reason() {
        let plain = json!({"type": "object"});
        let remote = json!({"type": "object", "properties": {"a": {"$ref": "https://example.com/a.json"}}});
        let all = [
            json!({"name": "good", "inputSchema": {"type": "object", "b": 1, "a": {"z": 1, "y": 2}}}),
            json!({"name": "good", "inputSchema": plain}),
            json!({"name": "a b", "inputSchema": plain}),
            json!({"name": "", "inputSchema": plain}),
            json!({"name": "x".repeat(65), "inputSchema": plain}),
            json!({"name": "remote", "inputSchema": remote}),
            json!({"name": "long", "inputSchema": {"title": "x".repeat(SCHEMA)}}),
        ];
        let (tools, left_out) = sorted(all.into_iter().map(listed).collect());
        assert_eq!(tools.len(), 1);
        assert_eq!(tools[0].input.as_str(), r#"{"a":{"y":2,"z":1},"b":1,"type":"object"}"#);
        assert_eq!(left_out.len(), 6);
        assert!(left_out[4].as_str().contains("another document"), "{left_out:?}");
    }

    #[test]
    fn a_flood_of_tools_is_cut_at_its_bound() {
        let many = (0..400).map(|n| json!({"name": format!("t{n}"), "inputSchema": {"type": "object"}}));
        let (tools, left_out) = sorted(many.map(listed).collect());
        assert_eq!((tools.len(), left_out.len()), (SERVER_TOOLS, 64));
    }
}
