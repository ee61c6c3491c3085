//! Finds a piece again whose outcome is unknown, by its metadata or its file in the history of its conversation.

use crate::cursor::{Me, Ts};
use crate::failure::Failure;
use crate::request::metadata;
use crate::web::Web;
use channel::{Found, Lost};
use ipc_proto::Text;
use ipc_proto::channel::{Body, Claim};
use serde_json::Value;

/// Pages that are looked through; of more the outcome stays unknown.
const PAGES: usize = 10;
const PAGE: &str = "200";

/// Looks for a piece among the messages since this time.
///
/// # Errors
/// [`Failure`]: the history cannot be read now.
pub(crate) async fn look(web: &Web, me: &Me, claim: &Claim, since: Ts) -> Result<Found, Failure> {
    let since = since.to_string();
    let mut next = String::new();
    for _ in 0..PAGES {
        let mut arguments = vec![
            ("channel", claim.conversation.id.as_str()),
            ("oldest", since.as_str()),
            ("include_all_metadata", "true"),
            ("limit", PAGE),
            ("cursor", next.as_str()),
        ];
        let method = match &claim.conversation.thread {
            None => "conversations.history",
            Some(thread) => {
                arguments.push(("ts", thread.as_str()));
                "conversations.replies"
            }
        };
        let page = web.form(method, &arguments).await?;
        let messages = page.get("messages").and_then(Value::as_array).ok_or(Lost::Unknown)?;
        if let Some(id) = messages.iter().find_map(|message| trace(message, me, claim)) {
            return Ok(Found::Sent(id));
        }
        match next_page(&page) {
            Some(cursor) => next = cursor,
            None => return Ok(Found::Missing),
        }
    }
    Ok(Found::Cannot)
}

/// The cursor of the next page.
pub(crate) fn next_page(page: &Value) -> Option<String> {
    let cursor = page.pointer("/response_metadata/next_cursor").and_then(Value::as_str);
    cursor.filter(|cursor| !cursor.is_empty()).map(str::to_owned)
}

/// The id of a message if it is this piece. Only a message of the account itself is believed.
fn trace(message: &Value, me: &Me, claim: &Claim) -> Option<Text<128>> {
    let is = |key: &str, own: &str| !own.is_empty() && message.get(key).and_then(Value::as_str) == Some(own);
    if !is("user", &me.user) && !is("bot_id", &me.bot) {
        return None;
    }
    match &claim.content.body {
        Body::Text(text) => {
            let (sent, own) = (message.get("metadata")?, metadata(claim.piece, text));
            let same = |pointer: &str| sent.pointer(pointer) == own.pointer(pointer);
            if !["/event_type", "/event_payload/piece", "/event_payload/text"].into_iter().all(same) {
                return None;
            }
            let ts = message.get("ts").and_then(Value::as_str).and_then(Ts::parse)?;
            Some(Text::clip(&ts.to_string()))
        }
        Body::File { name, bytes } => {
            let files = message.get("files").and_then(Value::as_array)?;
            let same = |file: &&Value| {
                let size = u64::try_from(bytes.len()).ok();
                file.get("size").and_then(Value::as_u64) == size
                    && file.get("name").and_then(Value::as_str) == Some(name.as_str())
            };
            let id = files.iter().find(same)?.get("id").and_then(Value::as_str)?;
            Text::new(id).ok()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::tests::claim;
    use ipc_proto::Blob;
    use serde_json::json;

    fn me() -> Me {
        Me { team: "T1".into(), user: "U0".into(), bot: "B0".into() }
    }

    #[test]
    fn a_piece_is_found_by_its_metadata_in_a_message_of_the_account() {
        let claim = claim("hi");
        let mut message =
            json!({ "ts": "1700000001.000100", "bot_id": "B0", "metadata": metadata(claim.piece, "hi") });
        assert_eq!(trace(&message, &me(), &claim).as_deref(), Some("1700000001.000100"));
        message["bot_id"] = json!("B9");
        assert_eq!(trace(&message, &me(), &claim), None, "anybody may copy it");
        message["user"] = json!("U0");
        message["metadata"] = metadata(claim.piece, "another answer");
        assert_eq!(trace(&message, &me(), &claim), None);
    }

    #[test]
    fn a_file_is_found_by_its_name_and_size() {
        let mut claim = claim("hi");
        claim.content.body =
            Body::File { name: Text::clip("answer.md"), bytes: Blob::new(*b"four").unwrap() };
        let file = |size: u64| json!({ "ts": "1.000000", "user": "U0", "files": [{ "id": "F1", "name": "answer.md", "size": size }] });
        assert_eq!(trace(&file(4), &me(), &claim).as_deref(), Some("F1"));
        assert_eq!(trace(&file(5), &me(), &claim), None);
    }
}
