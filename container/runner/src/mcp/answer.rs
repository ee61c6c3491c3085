//! Answers of a server as text within a bound. Pictures and other bytes are named and not shown.

use ipc_proto::mcp::{ITEMS, Item, Reply};
use ipc_proto::{List, Text};
use rmcp::model::{
    CallToolResult, ContentBlock, GetPromptResult, Prompt, ReadResourceResult, Resource, ResourceContents,
    Role,
};
use rmcp::service::ServiceError;

/// The answer to a call of a tool.
pub(super) fn of_call(result: &CallToolResult) -> Reply {
    let mut parts: Vec<String> = result.content.iter().map(block).collect();
    // A server gives a structured answer besides its text; alone, it is the answer.
    if let (true, Some(value)) = (parts.is_empty(), &result.structured_content) {
        parts.push(value.to_string());
    }
    Reply::Done { text: Text::clip(&parts.join("\n")), failed: result.is_error.unwrap_or_default() }
}

/// The content of a resource.
pub(super) fn of_resource(result: &ReadResourceResult) -> Reply {
    let parts: Vec<String> = result.contents.iter().map(contents).collect();
    Reply::Done { text: Text::clip(&parts.join("\n")), failed: false }
}

/// The messages of a prompt.
pub(super) fn of_prompt(result: &GetPromptResult) -> Reply {
    let said = result.messages.iter().map(|message| match message.role {
        Role::User => block(&message.content),
        Role::Assistant => format!("[assistant] {}", block(&message.content)),
    });
    Reply::Done { text: Text::clip(&said.collect::<Vec<_>>().join("\n\n")), failed: false }
}

/// A list of resources.
pub(super) fn resources(listed: &[Resource]) -> Reply {
    items(listed.iter().map(|resource| {
        let said = [Some(resource.name.as_str()), resource.title.as_deref(), resource.description.as_deref()];
        (resource.uri.as_str(), said.into_iter().flatten().collect::<Vec<_>>().join(". "))
    }))
}

/// A list of prompts.
pub(super) fn prompts(listed: &[Prompt]) -> Reply {
    items(listed.iter().map(|prompt| {
        let arguments = prompt.arguments.iter().flatten().map(|argument| argument.name.as_str());
        let arguments = arguments.collect::<Vec<_>>().join(", ");
        let said = prompt.description.as_deref().unwrap_or_default();
        let said =
            if arguments.is_empty() { said.to_owned() } else { format!("{said} Arguments: {arguments}") };
        (prompt.name.as_str(), said)
    }))
}

fn items<'a>(all: impl Iterator<Item = (&'a str, String)>) -> Reply {
    let item = |(name, said): (&str, String)| Item { name: Text::clip(name), description: Text::clip(&said) };
    Reply::Items(List::clip(all.take(ITEMS).map(item)))
}

/// The failure of a request.
pub(super) fn failed(error: &ServiceError) -> Reply {
    match error {
        ServiceError::McpError(error) => Reply::Refused(Text::clip(&error.message)),
        ServiceError::Timeout { .. } => Reply::TimedOut,
        ServiceError::TransportSend(_) | ServiceError::TransportClosed | ServiceError::Cancelled { .. } => {
            Reply::Gone
        }
        other => Reply::Refused(Text::clip(&other.to_string())),
    }
}

fn block(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => unseen(&image.mime_type, image.data.len()),
        ContentBlock::Audio(audio) => unseen(&audio.mime_type, audio.data.len()),
        ContentBlock::Resource(resource) => contents(&resource.resource),
        ContentBlock::ResourceLink(link) => format!("[{} {}]", link.name, link.uri),
        _ => "[content of a kind that is not known]".to_owned(),
    }
}

fn contents(contents: &ResourceContents) -> String {
    match contents {
        ResourceContents::TextResourceContents { text, .. } => text.clone(),
        ResourceContents::BlobResourceContents { mime_type, blob, .. } => {
            unseen(mime_type.as_deref().unwrap_or("bytes"), blob.len())
        }
        _ => "[content of a kind that is not known]".to_owned(),
    }
}

/// `encoded` are the bytes in base64.
fn unseen(kind: &str, encoded: usize) -> String {
    format!("[{kind}, {} bytes, not shown]", encoded / 4 * 3)
}
