//! Hooks: a message that comes signed to ingress is taken in once and answered, signed, where the account says; everything else is
//! refused at the door.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use std::time::{SystemTime, UNIX_EPOCH};
use tests::{Host, Setup, Upstream, free_port};

/// The key of the webhook's secret, and the secret as Standard Webhooks writes it.
const KEY: &[u8] = b"0123456789abcdef0123456789abcdef";
/// The secrets of WhatsApp's account.
const APP_SECRET: &str = "an-app-secret-of-the-tests";
const VERIFY: &str = "a-verify-token-of-the-tests";
/// The platform's id of the number.
const NUMBER: &str = "1055";

fn secret() -> String {
    format!("whsec_{}", STANDARD.encode(KEY))
}

pub(crate) fn hmac(key: &[u8], bytes: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(bytes);
    mac.finalize().into_bytes().to_vec()
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// A host with a webhook and a number of WhatsApp, whose owner is known on both.
struct Hooked {
    host: Host,
    port: u16,
    /// Takes the webhook's answers.
    receiver: Upstream,
    /// Stands for the Cloud API.
    graph: Upstream,
}

impl Hooked {
    fn start() -> Self {
        let port = free_port();
        let receiver = Upstream::start("");
        let sent = r#"{"messages":[{"id":"wamid.answer"}]}"#;
        let graph = Upstream::answering("application/json", move |_| sent.to_owned());
        let config = format!(
            "[credproxy]\nplain_http = [\"127.0.0.1:{}\", \"127.0.0.1:{}\"]\n[ingress]\nlisten = \"127.0.0.1:{port}\"\n\
             [agent.default]\nmodel = \"scripted/answers\"\n\
             [channel.in]\nplatform = \"webhook\"\nsecret = \"hook\"\nbase_url = \"{}\"\n\
             [channel.wa]\nplatform = \"whatsapp\"\nsecret = \"wa\"\napp_secret = \"wa-app\"\nverify_secret = \"wa-verify\"\n\
             number = \"{NUMBER}\"\nbase_url = \"{}\"\ntyping = false\n",
            receiver.port,
            graph.port,
            receiver.url("/answers"),
            graph.url(""),
        );
        let host = Setup::default().config(&config).start();
        let at = format!("127.0.0.1:{}", graph.port);
        host.keep("hook", &secret(), &["--host", "hooks.invalid", "--field", "never"]);
        host.keep("wa", "a-token-of-the-tests", &["--host", &at, "--header", "authorization=Bearer "]);
        host.keep("wa-app", APP_SECRET, &["--host", "hooks.invalid", "--field", "never"]);
        host.keep("wa-verify", VERIFY, &["--host", "hooks.invalid", "--field", "never"]);
        let added = host.json(&["user", "add", "ann", "--role", "owner", "--identity", "webhook:in:u1"]);
        assert_eq!(added["user"]["name"], "ann");
        drop(host.json(&["user", "link", "ann", "whatsapp:wa:4670"]));
        for name in ["in", "wa"] {
            host.wait_for("the channel is up", || host.channel(name)["link"] == "up");
        }
        Self { host, port, receiver, graph }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Posts a hook to the webhook's account; gives the status.
    fn post(&self, id: &str, at: u64, key: &[u8], body: &str) -> u16 {
        let signature = STANDARD.encode(hmac(key, format!("{id}.{at}.{body}").as_bytes()));
        let request = client().post(self.url("/hook/in")).body(body.to_owned());
        let request = request.header("webhook-id", id).header("webhook-timestamp", at.to_string());
        request.header("webhook-signature", format!("v1,{signature}")).send().unwrap().status().as_u16()
    }

    /// Posts a hook of WhatsApp's with this signature; gives the status.
    fn notify(&self, body: &str, signature: &[u8]) -> u16 {
        let hex: String = signature.iter().map(|byte| format!("{byte:02x}")).collect();
        let request = client().post(self.url("/hook/wa")).body(body.to_owned());
        request.header("x-hub-signature-256", format!("sha256={hex}")).send().unwrap().status().as_u16()
    }

    fn messages(&self, channel: &str) -> usize {
        self.host.messages_by(channel).len()
    }
}

pub(crate) fn client() -> reqwest::blocking::Client {
    reqwest::blocking::Client::builder().no_proxy().build().unwrap()
}

/// A message to the webhook.
fn said(sender: &str, text: &str) -> String {
    json!({ "conversation": sender, "sender": { "id": sender, "name": "Ann" }, "text": text }).to_string()
}

/// A text message to the number of this id.
fn whatsapp(number: &str, id: &str, from: &str) -> String {
    let message =
        json!({ "from": from, "id": id, "timestamp": "1", "type": "text", "text": { "body": "hello" } });
    let value = json!({ "metadata": { "phone_number_id": number }, "messages": [message] });
    json!({ "entry": [{ "changes": [{ "value": value }] }] }).to_string()
}

#[test]
fn a_signed_hook_is_answered_once_by_a_signed_hook() {
    let hooked = Hooked::start();
    hooked.host.answers(&["**hello** ann"]);
    let body = said("u1", "hello");
    assert_eq!(hooked.post("msg_1", now(), KEY, &body), 200);
    assert_eq!(hooked.post("msg_1", now(), KEY, &body), 200, "a repeated hook is taken in before");
    hooked.host.wait_for("the answer is posted", || !hooked.receiver.heard().is_empty());
    assert_eq!(hooked.messages("webhook:in"), 1);
    let heard = hooked.receiver.heard();
    assert_eq!(heard.len(), 1);
    let header = |name: &str| {
        let line = heard[0].lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
        line.unwrap_or_else(|| panic!("{name} in {}", heard[0])).to_owned()
    };
    let sent = heard[0].lines().last().unwrap();
    let signed = format!("{}.{}.{sent}", header("webhook-id"), header("webhook-timestamp"));
    let signature = format!("v1,{}", STANDARD.encode(hmac(KEY, signed.as_bytes())));
    assert_eq!(header("webhook-signature"), signature);
    let document: Value = serde_json::from_str(sent).unwrap();
    assert_eq!((&document["text"], &document["reply_to"]), (&json!("hello ann"), &json!("msg_1")));
}

// Holds P11-60.
#[test]
fn a_hook_without_a_proof_brings_no_message() {
    let hooked = Hooked::start();
    hooked.host.answers(&["never"]);
    let body = said("u1", "hello");
    assert_eq!(hooked.post("f1", now(), b"another key, of the same length!", &body), 401, "forged");
    assert_eq!(hooked.post("f2", now() - 400, KEY, &body), 400, "old");
    assert_eq!(hooked.post("f3", now() + 400, KEY, &body), 400, "from the future");
    assert_eq!(hooked.post("f4", now(), KEY, "{}"), 400, "no message");
    let bare = client().post(hooked.url("/hook/in")).body(body.clone()).send().unwrap();
    assert_eq!(bare.status(), 400, "unsigned");
    let forged = whatsapp(NUMBER, "w1", "4670");
    assert_eq!(hooked.notify(&forged, &hmac(b"another", forged.as_bytes())), 401);
    assert_eq!(hooked.notify(&forged, b""), 401);
    assert_eq!(hooked.messages("webhook:in") + hooked.messages("whatsapp:wa"), 0);
    assert_eq!(
        hooked.post("s1", now(), KEY, &said("eve", "let me in")),
        200,
        "a stranger is dropped, and hears nothing"
    );
    assert_eq!(hooked.messages("webhook:in"), 0);
    assert!(hooked.receiver.heard().is_empty());
}

// Holds P11-61, B-193.
#[test]
fn ingress_serves_the_hooks_of_its_channels_and_nothing_else() {
    let hooked = Hooked::start();
    for path in ["/", "/hook/", "/hook/none", "/hook/in/x", "/v1/models", "/healthz", "/metrics", "//hook/in"]
    {
        assert_eq!(client().get(hooked.url(path)).send().unwrap().status(), 404, "{path}");
    }
    let put = client().put(hooked.url("/hook/in")).send().unwrap();
    assert_eq!(put.status(), 405);
    let large = "x".repeat((3 << 20) + 1);
    let refused = client().post(hooked.url("/hook/in")).body(large).send();
    assert!(refused.is_err() || refused.is_ok_and(|reply| reply.status() == 413));
    let log = hooked.host.log();
    assert!(!log.contains(&secret()) && !log.contains(APP_SECRET) && !log.contains(VERIFY));
}

#[test]
fn whatsapp_tries_the_address_and_its_messages_are_answered() {
    let hooked = Hooked::start();
    hooked.host.answers(&["hello ann"]);
    let tried = |token: &str| {
        let query = format!("/hook/wa?hub.mode=subscribe&hub.verify_token={token}&hub.challenge=1158201444");
        let reply = client().get(hooked.url(&query)).send().unwrap();
        (reply.status().as_u16(), reply.text().unwrap())
    };
    assert_eq!(tried(VERIFY), (200, "1158201444".to_owned()));
    assert_eq!(tried("another-token"), (403, String::new()));
    let body = whatsapp(NUMBER, "wamid.1", "4670");
    for _ in 0..2 {
        assert_eq!(hooked.notify(&body, &hmac(APP_SECRET.as_bytes(), body.as_bytes())), 200);
    }
    hooked.host.wait_for("the answer is sent", || !hooked.graph.heard().is_empty());
    let sent = hooked.graph.heard();
    assert_eq!((sent.len(), hooked.messages("whatsapp:wa")), (1, 1));
    assert!(
        sent[0].contains(&format!("/{NUMBER}/messages")) && sent[0].contains("Bearer a-token-of-the-tests")
    );
    let document: Value = serde_json::from_str(sent[0].lines().last().unwrap()).unwrap();
    assert_eq!((&document["to"], &document["text"]["body"]), (&json!("4670"), &json!("hello ann")));
    let other = whatsapp("9", "wamid.2", "4670");
    assert_eq!(hooked.notify(&other, &hmac(APP_SECRET.as_bytes(), other.as_bytes())), 200);
    assert_eq!(hooked.messages("whatsapp:wa"), 1, "a hook for another number brings nothing");
}
