//! Files of the server: what persons send is kept under an id and given out by its path, and what the bot sends is read out of its form.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Bytes of a file that the Bot API gives out.
const MOST: usize = 20 * 1024 * 1024;

/// A file that a person sent.
#[derive(Clone)]
pub(super) struct StoredFile {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// True if it is given out although it is over the bound.
    pub unbounded: bool,
}

/// The path of the file of this number.
fn path(number: usize) -> String {
    format!("documents/file_{number}.bin")
}

/// The result of `getFile`.
pub(super) fn get(files: &[StoredFile], id: &str) -> Result<Value, &'static str> {
    let number: usize = id.strip_prefix("file-").and_then(|n| n.parse().ok()).unwrap_or(usize::MAX);
    let file = files.get(number).ok_or("Bad Request: invalid file_id")?;
    if file.bytes.len() > MOST && !file.unbounded {
        return Err("Bad Request: file is too big");
    }
    Ok(json!({ "file_id": id, "file_unique_id": id, "file_path": path(number) }))
}

/// The bytes at a path.
pub(super) fn at<'a>(files: &'a [StoredFile], wanted: &str) -> Option<&'a [u8]> {
    files.iter().enumerate().find(|(number, _)| path(*number) == wanted).map(|(_, file)| &*file.bytes)
}

/// The fields of a form with a file, of which the name, the length and SHA-256 are given.
pub(super) fn form(kind: &str, body: &[u8]) -> Value {
    let boundary = kind.split("boundary=").nth(1).unwrap_or_default();
    let mut fields = json!({});
    for part in split(body, format!("--{boundary}").as_bytes()) {
        let Some(at) = part.windows(4).position(|it| it == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&part[..at]).into_owned();
        let content = part[at + 4..].strip_suffix(b"\r\n").unwrap_or(&part[at + 4..]);
        let quoted = |key: &str| {
            let begin = head.split(&format!("{key}=\"")).nth(1)?;
            begin.split('"').next().map(str::to_owned)
        };
        let Some(name) = quoted("; name") else { continue };
        fields[&name] = match quoted("; filename") {
            Some(file) => {
                let hex: String = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
                json!({ "name": file, "bytes": content.len(), "sha256": hex })
            }
            None => field(&name, &String::from_utf8_lossy(content)),
        };
    }
    fields
}

/// The fields of a form without a file.
pub(super) fn query(body: &[u8]) -> Value {
    let mut fields = json!({});
    let Ok(url) = reqwest::Url::parse(&format!("http://a/?{}", String::from_utf8_lossy(body))) else {
        return fields;
    };
    for (name, text) in url.query_pairs() {
        fields[name.as_ref()] = field(&name, &text);
    }
    fields
}

/// A field of a form: JSON, unless it is a text or no JSON.
fn field(name: &str, text: &str) -> Value {
    if matches!(name, "text" | "caption") {
        return json!(text);
    }
    serde_json::from_str(text).unwrap_or_else(|_| json!(text))
}

fn split<'a>(body: &'a [u8], boundary: &[u8]) -> Vec<&'a [u8]> {
    let (mut parts, mut rest) = (Vec::new(), body);
    while let Some(at) = rest.windows(boundary.len()).position(|it| it == boundary) {
        parts.push(&rest[..at]);
        rest = &rest[at + boundary.len()..];
    }
    parts
}
