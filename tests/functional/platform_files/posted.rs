//! Signal, by the daemon of signal-cli, and mail.

use super::{Network, Sent};
use crate::signal::{ANN, Daemon, EVE};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::cell::Cell;
use tests::Host;
use tests::mail::Post;

pub(super) struct OnSignal {
    daemon: Daemon,
    at: Cell<u64>,
}

impl OnSignal {
    pub(super) fn start() -> Self {
        Self { daemon: Daemon::start(), at: Cell::new(1) }
    }
}

impl Network for OnSignal {
    const CHANNEL: &'static str = "signal:main";

    fn host(&self, keys: &str) -> Host {
        self.daemon.host(keys)
    }

    fn send(&self, owner: bool, text: &str, files: &[Sent]) {
        let sender = if owner { ANN } else { EVE };
        let file = |file: &Sent| {
            let id = self.daemon.keep(&file.bytes);
            json!({ "contentType": "text/plain", "filename": file.name, "id": id, "size": file.size })
        };
        let files: Vec<Value> = files.iter().map(file).collect();
        let message = json!({ "message": text, "attachments": files });
        self.at.set(self.at.get() + 1);
        let at = self.at.get();
        self.daemon.event(&json!({ "sourceUuid": sender, "timestamp": at, "dataMessage": message }));
    }

    fn asked(&self) -> Option<(usize, usize)> {
        Some((self.daemon.asked(), 0))
    }

    fn said(&self) -> Vec<String> {
        let sent = self.daemon.sent();
        sent.iter().filter_map(|one| one["message"].as_str().map(str::to_owned)).collect()
    }

    fn got(&self) -> Vec<(String, usize)> {
        let file = |one: &Value| {
            let (head, data) = one["attachments"][0].as_str()?.split_once(";base64,")?;
            let name = head.split_once(";filename=")?.1;
            Some((name.to_owned(), STANDARD.decode(data).ok()?.len()))
        };
        self.daemon.sent().iter().filter_map(file).collect()
    }
}

pub(super) struct OnMail {
    post: Post,
    number: Cell<u32>,
}

impl OnMail {
    pub(super) fn start() -> Self {
        Self { post: Post::start(), number: Cell::new(0) }
    }
}

/// The bytes in lines, as mail writes base64.
fn wrapped(bytes: &[u8]) -> String {
    let text = STANDARD.encode(bytes);
    let lines = text.as_bytes().chunks(76).map(String::from_utf8_lossy);
    lines.collect::<Vec<_>>().join("\r\n")
}

impl Network for OnMail {
    const CHANNEL: &'static str = "email:post";
    /// A subject stands beside it.
    const TEXT_ALONE: bool = false;

    fn host(&self, keys: &str) -> Host {
        self.post.host_with(keys)
    }

    fn send(&self, owner: bool, text: &str, files: &[Sent]) {
        let mut body = format!("--b\r\nContent-Type: text/plain\r\n\r\n{text}\r\n");
        for file in files {
            body.push_str(&format!(
                "--b\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename=\"{}\"\r\n\
                 Content-Transfer-Encoding: base64\r\n\r\n{}\r\n",
                file.name,
                wrapped(&file.bytes)
            ));
        }
        self.number.set(self.number.get() + 1);
        let (fields, name) = ("Content-Type: multipart/mixed; boundary=b\r\n", self.number.get().to_string());
        let body = format!("{body}--b--");
        if owner {
            self.post.proven(&name, fields, &body);
        } else {
            self.post.mail(fields, &name, &body);
        }
    }

    fn asked(&self) -> Option<(usize, usize)> {
        None
    }

    fn said(&self) -> Vec<String> {
        // A long line goes on behind an equals sign.
        self.post.sent().iter().map(|mail| mail.replace("=\r\n", "")).collect()
    }

    fn got(&self) -> Vec<(String, usize)> {
        self.post.sent().iter().filter_map(|mail| attached(mail)).collect()
    }
}

/// The name and the length of what is attached to a mail.
fn attached(mail: &str) -> Option<(String, usize)> {
    let part = mail.split("Content-Disposition: attachment").nth(1)?;
    let name = part.split("filename=\"").nth(1)?.split('"').next()?;
    let body = part.split("\r\n\r\n").nth(1)?.split("--").next()?;
    let text: String = body.split_whitespace().collect();
    Some((name.to_owned(), STANDARD.decode(text).ok()?.len()))
}
