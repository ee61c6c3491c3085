//! WhatsApp, by the Cloud API, and webhooks.

use super::{Network, Sent};
use crate::hooks::{client, hmac};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::cell::Cell;
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};
use tests::{Host, SentFiles, Setup, Upstream, free_port, http};

const KEY: &[u8] = b"0123456789abcdef0123456789abcdef";
const TOKEN: &str = "a-token-of-the-tests";
const APP_SECRET: &str = "an-app-secret-of-the-tests";

#[derive(Default)]
struct Cloud {
    given: SentFiles,
    /// The addresses and the sizes of files, by id.
    media: Mutex<Vec<(String, usize)>>,
    /// Files that were stored: names and bytes.
    stored: Mutex<Vec<(String, usize)>>,
    sent: Mutex<Vec<Value>>,
}

pub(super) struct OnWhatsapp {
    /// The port of the API, and that of ingress.
    ports: (u16, u16),
    cloud: Arc<Cloud>,
    number: Cell<u32>,
}

impl OnWhatsapp {
    pub(super) fn start() -> Self {
        let (listener, port) = http::listener();
        let cloud = Arc::<Cloud>::default();
        let serving = Arc::clone(&cloud);
        http::serve_each(listener, move |stream| serve(&serving, &stream));
        Self { ports: (port, free_port()), cloud, number: Cell::new(0) }
    }

    fn notify(&self, message: &Value) {
        let value = json!({ "metadata": { "phone_number_id": "1055" }, "messages": [message] });
        let body = json!({ "entry": [{ "changes": [{ "value": value }] }] }).to_string();
        let signature = hmac(APP_SECRET.as_bytes(), body.as_bytes());
        let hex: String = signature.iter().map(|byte| format!("{byte:02x}")).collect();
        let request = client().post(format!("http://127.0.0.1:{}/hook/wa", self.ports.1)).body(body);
        let reply = request.header("x-hub-signature-256", format!("sha256={hex}")).send().unwrap();
        assert_eq!(reply.status(), 200);
    }
}

fn serve(cloud: &Cloud, stream: &TcpStream) {
    let Some(request) = http::Request::read(stream) else { return };
    if request.header("authorization") != format!("Bearer {TOKEN}") {
        return http::document(stream, 401, "", &json!({ "error": { "code": 190 } }));
    }
    if cloud.given.answers(stream, &request.path) {
        return;
    }
    let answer = match request.path.strip_prefix("/v23.0/") {
        Some("1055/media") => {
            let text = String::from_utf8_lossy(&request.body).into_owned();
            let name = text.split("filename=\"").nth(1).and_then(|rest| rest.split('"').next());
            let begin = request.body.windows(4).rposition(|window| window == b"\r\n\r\n").unwrap() + 4;
            let end = request.body.windows(4).rposition(|window| window == b"\r\n--").unwrap();
            let mut stored = cloud.stored.lock().unwrap();
            stored.push((name.unwrap_or_default().to_owned(), end - begin));
            json!({ "id": (stored.len() - 1).to_string() })
        }
        Some("1055/messages") => {
            cloud.sent.lock().unwrap().push(serde_json::from_slice(&request.body).unwrap());
            json!({ "messages": [{ "id": "wamid.answer" }] })
        }
        Some(media) => {
            let number = media.split('?').next().and_then(|id| id.parse::<usize>().ok()).unwrap();
            let (url, size) = cloud.media.lock().unwrap()[number].clone();
            json!({ "messaging_product": "whatsapp", "url": url, "file_size": size, "id": media })
        }
        None => json!({}),
    };
    http::document(stream, 200, "", &answer);
}

impl Network for OnWhatsapp {
    const CHANNEL: &'static str = "whatsapp:wa";

    fn host(&self, keys: &str) -> Host {
        let (api, ingress) = self.ports;
        let config = format!(
            "[credproxy]\nplain_http = [\"127.0.0.1:{api}\"]\n[ingress]\nlisten = \"127.0.0.1:{ingress}\"\n\
             [agent.default]\nmodel = \"scripted/answers\"\n\
             [channel.wa]\nplatform = \"whatsapp\"\nsecret = \"wa\"\napp_secret = \"wa-app\"\nverify_secret = \"wa-verify\"\n\
             number = \"1055\"\nbase_url = \"http://127.0.0.1:{api}\"\n{keys}"
        );
        let host = Setup::default().config(&config).start();
        let at = format!("127.0.0.1:{api}");
        host.keep("wa", TOKEN, &["--host", &at, "--header", "authorization=Bearer "]);
        host.keep("wa-app", APP_SECRET, &["--host", "hooks.invalid", "--field", "never"]);
        host.keep(
            "wa-verify",
            "a-verify-token-of-the-tests",
            &["--host", "hooks.invalid", "--field", "never"],
        );
        let identity = ["user", "add", "ann", "--role", "owner", "--identity", "whatsapp:wa:4670"];
        assert_eq!(host.json(&identity)["user"]["name"], "ann");
        host.wait_for("the channel is up", || host.channel("wa")["link"] == "up");
        host
    }

    /// WhatsApp sends each file as a message.
    fn send(&self, owner: bool, text: &str, files: &[Sent]) {
        let message = |kind: &str, content: Value| {
            self.number.set(self.number.get() + 1);
            let (from, id) = (if owner { "4670" } else { "4671" }, format!("wamid.{}", self.number.get()));
            self.notify(&json!({ "from": from, "id": id, "timestamp": "1", "type": kind, kind: content }));
        };
        if files.is_empty() {
            message("text", json!({ "body": text }));
        }
        for file in files {
            let id = {
                let mut media = self.cloud.media.lock().unwrap();
                media.push((self.cloud.given.add(self.ports.0, &file.bytes, file.way), file.size));
                (media.len() - 1).to_string()
            };
            let content =
                json!({ "id": id, "mime_type": "application/pdf", "filename": file.name, "caption": text });
            message("document", content);
        }
    }

    fn asked(&self) -> Option<(usize, usize)> {
        Some((self.cloud.given.asked().len(), self.cloud.given.elsewhere()))
    }

    fn said(&self) -> Vec<String> {
        let sent = self.cloud.sent.lock().unwrap();
        sent.iter().filter_map(|one| one["text"]["body"].as_str().map(str::to_owned)).collect()
    }

    fn got(&self) -> Vec<(String, usize)> {
        let (sent, stored) = (self.cloud.sent.lock().unwrap(), self.cloud.stored.lock().unwrap());
        let id = |one: &Value| {
            let kind = one["type"].as_str()?;
            one[kind]["id"].as_str()?.parse::<usize>().ok()
        };
        sent.iter().filter_map(id).map(|id| stored[id].clone()).collect()
    }
}

pub(super) struct OnWebhook {
    receiver: Upstream,
    ingress: u16,
    number: Cell<u32>,
}

impl OnWebhook {
    pub(super) fn start() -> Self {
        Self { receiver: Upstream::start(""), ingress: free_port(), number: Cell::new(0) }
    }

    /// The documents that the receiver was sent.
    fn heard(&self) -> Vec<Value> {
        let heard = self.receiver.heard();
        heard.iter().filter_map(|request| serde_json::from_str(request.lines().last()?).ok()).collect()
    }
}

impl Network for OnWebhook {
    const CHANNEL: &'static str = "webhook:in";

    fn host(&self, keys: &str) -> Host {
        let config = format!(
            "[credproxy]\nplain_http = [\"127.0.0.1:{}\"]\n[ingress]\nlisten = \"127.0.0.1:{}\"\n\
             [agent.default]\nmodel = \"scripted/answers\"\n\
             [channel.in]\nplatform = \"webhook\"\nsecret = \"hook\"\nbase_url = \"{}\"\n{keys}",
            self.receiver.port,
            self.ingress,
            self.receiver.url("/answers"),
        );
        let host = Setup::default().config(&config).start();
        let secret = format!("whsec_{}", STANDARD.encode(KEY));
        host.keep("hook", &secret, &["--host", "hooks.invalid", "--field", "never"]);
        let identity = ["user", "add", "ann", "--role", "owner", "--identity", "webhook:in:u1"];
        assert_eq!(host.json(&identity)["user"]["name"], "ann");
        host.wait_for("the channel is up", || host.channel("in")["link"] == "up");
        host
    }

    fn send(&self, owner: bool, text: &str, files: &[Sent]) {
        self.number.set(self.number.get() + 1);
        let (sender, id) = (if owner { "u1" } else { "u2" }, format!("msg_{}", self.number.get()));
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let file = |file: &Sent| json!({ "name": file.name, "data": STANDARD.encode(&file.bytes) });
        let files: Vec<Value> = files.iter().map(file).collect();
        let body =
            json!({ "conversation": sender, "sender": { "id": sender }, "text": text, "files": files });
        let body = body.to_string();
        let signature = STANDARD.encode(hmac(KEY, format!("{id}.{at}.{body}").as_bytes()));
        let request = client().post(format!("http://127.0.0.1:{}/hook/in", self.ingress)).body(body);
        let request = request.header("webhook-id", &id).header("webhook-timestamp", at.to_string());
        let reply = request.header("webhook-signature", format!("v1,{signature}")).send().unwrap();
        assert_eq!(reply.status(), 200);
    }

    fn asked(&self) -> Option<(usize, usize)> {
        None
    }

    fn said(&self) -> Vec<String> {
        self.heard().iter().filter_map(|one| one["text"].as_str().map(str::to_owned)).collect()
    }

    fn got(&self) -> Vec<(String, usize)> {
        let file = |one: &Value| {
            let file = one.get("file")?;
            let data = STANDARD.decode(file["data"].as_str()?).ok()?;
            Some((file["name"].as_str()?.to_owned(), data.len()))
        };
        self.heard().iter().filter_map(file).collect()
    }
}
