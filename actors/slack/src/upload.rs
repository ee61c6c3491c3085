//! A file: an address is asked for, the bytes go there, and then it is shared. Nobody has it before that.

use crate::failure::{Failure, outcome};
use crate::request::share;
use crate::web::Web;
use channel::Lost;
use ipc_proto::Text;
use ipc_proto::channel::{Claim, Outcome};
use serde_json::Value;

/// The pause before a file is tried again that was not shared yet, ms.
const AGAIN_MS: u32 = 1_000;

/// Sends a file.
pub(crate) async fn send(web: &Web, claim: &Claim, name: &str, bytes: &[u8]) -> Outcome {
    let file = match stored(web, name, bytes).await {
        Ok(file) => file,
        Err(Failure::Lost(Lost::Unknown)) => return Outcome::Unsent { after_ms: AGAIN_MS },
        Err(failure) => return outcome(&failure),
    };
    let shared = web.json("files.completeUploadExternal", &share(&claim.conversation, &file, name)).await;
    match (shared, Text::new(file)) {
        (Ok(_), Ok(id)) => Outcome::Sent { id },
        (Ok(_), Err(_)) => Outcome::Unknown,
        (Err(failure), _) => outcome(&failure),
    }
}

/// The id of a file whose bytes Slack has.
async fn stored(web: &Web, name: &str, bytes: &[u8]) -> Result<String, Failure> {
    let length = bytes.len().to_string();
    let given = web.form("files.getUploadURLExternal", &[("filename", name), ("length", &length)]).await?;
    let text = |key: &str| given.get(key).and_then(Value::as_str).ok_or_else(|| Failure::from(Lost::Unknown));
    let (url, file) = (text("upload_url")?, text("file_id")?);
    web.bytes(url, "application/octet-stream", bytes.to_vec()).await?;
    Ok(file.to_owned())
}
