//! A description of the page, made by a walk with a budget in each of its frames.

use super::protocol::{CallFault, Client};
use ipc_proto::Text;
use ipc_proto::browser::{SNAPSHOT, SNAPSHOT_LINES};
use serde::Deserialize;
use serde_json::json;
use std::ops::Range;
use std::time::Duration;

/// Reads one document.
const WALK: &str = include_str!("walk.js");
/// Frames that are described.
const FRAMES: usize = 32;
/// Milliseconds of walking in one frame.
const WALKING_MS: u32 = 400;
/// The time of a call that runs in the page.
pub(super) const TIME: Duration = Duration::from_secs(5);
/// Bytes of a frame's address that are shown.
const SHOWN: usize = 200;

/// The elements of one frame that have a number.
#[derive(Clone, Debug)]
pub(super) struct Numbered {
    /// The frame.
    pub(super) frame: String,
    /// The world in which they are kept.
    pub(super) world: u64,
    /// Their numbers.
    pub(super) numbers: Range<u32>,
}

/// A description.
pub(super) struct Described {
    pub(super) text: Text<SNAPSHOT>,
    pub(super) numbered: Vec<Numbered>,
    pub(super) next: u32,
    pub(super) cut: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tree {
    pub(super) frame_tree: Node,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Node {
    pub(super) frame: Frame,
    #[serde(default)]
    child_frames: Vec<Node>,
}

#[derive(Deserialize)]
pub(super) struct Frame {
    pub(super) id: String,
    #[serde(default)]
    url: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct World {
    execution_context_id: u64,
}

#[derive(Deserialize)]
struct Returned {
    result: Object,
}

#[derive(Deserialize)]
struct Object {
    value: Option<Walked>,
}

#[derive(Deserialize)]
struct Walked {
    text: String,
    lines: u32,
    next: u32,
    cut: bool,
}

/// The frames of the page, outermost first.
pub(super) async fn frames(client: &Client) -> Result<Vec<Frame>, CallFault> {
    let tree: Tree = client.call("Page.getFrameTree", json!({}), TIME).await?;
    let mut all = Vec::new();
    let mut waiting = vec![tree.frame_tree];
    while let Some(node) = waiting.pop() {
        all.push(node.frame);
        waiting.extend(node.child_frames.into_iter().rev());
    }
    Ok(all)
}

/// Describes the page, with numbers from `first` on.
pub(super) async fn describe(client: &Client, first: u32) -> Result<Described, CallFault> {
    let frames = frames(client).await?;
    let mut text = String::new();
    let mut numbered = Vec::new();
    let (mut next, mut lines) = (first, SNAPSHOT_LINES);
    let mut cut = frames.len() > FRAMES;
    for (place, frame) in frames.iter().take(FRAMES).enumerate() {
        let room = SNAPSHOT.saturating_sub(text.len() + SHOWN + 64);
        if lines == 0 || room == 0 {
            cut = true;
            break;
        }
        // A frame that went away meanwhile has nothing to describe; without the first there is no page.
        let (world, walked) = match walk(client, frame, next, lines, room).await {
            Ok(walked) => walked,
            Err(CallFault::Refused) if place > 0 => continue,
            Err(fault) => return Err(fault),
        };
        if place > 0 && !walked.text.is_empty() {
            let url = Text::<SHOWN>::clip(&frame.url);
            text.push_str(&format!("\nframe of {url}:\n"));
        }
        text.push_str(&walked.text);
        numbered.push(Numbered { frame: frame.id.clone(), world, numbers: next..walked.next });
        (next, lines) = (walked.next, lines.saturating_sub(walked.lines));
        cut |= walked.cut;
    }
    cut |= text.len() > SNAPSHOT;
    Ok(Described { text: Text::clip(whole_lines(&text)), numbered, next, cut })
}

/// As many whole lines as fit: a line that is cut could end within the quotes of the page's own words.
fn whole_lines(text: &str) -> &str {
    if text.len() <= SNAPSHOT {
        return text;
    }
    let end = text.as_bytes().iter().take(SNAPSHOT).rposition(|byte| *byte == b'\n');
    text.get(..end.unwrap_or_default()).unwrap_or_default()
}

async fn walk(
    client: &Client,
    frame: &Frame,
    first: u32,
    lines: u32,
    room: usize,
) -> Result<(u64, Walked), CallFault> {
    let params = json!({"frameId": frame.id, "worldName": "cordon"});
    let world: World = client.call("Page.createIsolatedWorld", params, TIME).await?;
    let world = world.execution_context_id;
    let arguments = json!([{"value": first}, {"value": lines}, {"value": room}, {"value": WALKING_MS}]);
    let params = json!({"functionDeclaration": WALK, "executionContextId": world, "arguments": arguments,
        "returnByValue": true});
    let returned: Returned = client.call("Runtime.callFunctionOn", params, TIME).await?;
    let walked = returned.result.value.ok_or(CallFault::Refused)?;
    if walked.next < first || walked.next - first > lines {
        return Err(CallFault::Refused);
    }
    Ok((world, walked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_description_ends_with_a_whole_line() {
        assert_eq!(whole_lines("a\nb"), "a\nb");
        let long = "text \"é\"\n".repeat(SNAPSHOT / 8);
        let cut = whole_lines(&long);
        assert!(cut.len() <= SNAPSHOT && cut.len() > SNAPSHOT - 32 && cut.ends_with('"'));
    }
}
