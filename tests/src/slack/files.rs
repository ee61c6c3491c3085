//! Files: an address, the bytes, and their sharing.

use super::messages::{self, is_member};
use super::web::Reply;
use super::{BOT, BOT_ID, State, refusal};
use serde_json::{Value, json};

/// A file.
pub(super) struct Stored {
    id: String,
    name: String,
    length: usize,
    bytes: Option<Vec<u8>>,
    channel: Option<String>,
}

/// The files that were shared in a channel.
pub(super) fn shared(state: &State, channel: &str) -> Vec<(String, Vec<u8>)> {
    let here = state.files.iter().filter(|file| file.channel.as_deref() == Some(channel));
    here.map(|file| (file.name.clone(), file.bytes.clone().unwrap_or_default())).collect()
}

/// `files.getUploadURLExternal`.
pub(super) fn address(state: &mut State, port: u16, arguments: &Value) -> Reply {
    let length = arguments["length"].as_str().and_then(|length| length.parse().ok()).unwrap_or(0_usize);
    let Some(name) = arguments["filename"].as_str().filter(|_| length > 0).map(str::to_owned) else {
        return refusal("missing_argument");
    };
    let id = format!("F{}FILE", state.fresh_number());
    state.files.push(Stored { id: id.clone(), name, length, bytes: None, channel: None });
    let url = format!("http://127.0.0.1:{port}/upload/{id}");
    Reply::of(json!({ "ok": true, "upload_url": url, "file_id": id }))
}

/// The bytes of a file, at its address.
pub(super) fn take_bytes(state: &mut State, id: &str, bytes: &[u8]) -> Reply {
    match state.files.iter_mut().find(|file| file.id == id && file.length == bytes.len()) {
        Some(file) => {
            file.bytes = Some(bytes.to_vec());
            Reply::of(json!({ "ok": true }))
        }
        None => Reply { status: 400, ..refusal("bad_upload") },
    }
}

/// `files.completeUploadExternal`.
pub(super) fn share(state: &mut State, arguments: &Value) -> Reply {
    let Some(channel) = arguments["channel_id"].as_str().filter(|id| is_member(id)).map(str::to_owned) else {
        return refusal("channel_not_found");
    };
    let id = arguments["files"][0]["id"].as_str().unwrap_or_default().to_owned();
    let ready = |file: &&mut Stored| file.id == id && file.bytes.is_some() && file.channel.is_none();
    let Some(file) = state.files.iter_mut().find(ready) else { return refusal("file_not_found") };
    file.channel = Some(channel.clone());
    let shown =
        json!({ "id": id, "name": file.name, "title": arguments["files"][0]["title"], "size": file.length });
    let ts = state.fresh_ts();
    let thread = arguments["thread_ts"].as_str().map(str::to_owned);
    let document = json!({
        "type": "message", "subtype": "file_share", "user": BOT, "bot_id": BOT_ID, "ts": ts, "text": "",
        "files": [shown],
    });
    let arguments = Value::Null;
    state.messages.push(messages::Stored { channel, ts, thread, document, arguments, edits: 0 });
    Reply::of(json!({ "ok": true, "files": [{ "id": id }] }))
}
