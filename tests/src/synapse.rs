//! A real homeserver, Synapse on loopback with SQLite, the people who use it, and a line to it on which replies are lost.

mod line;

use crate::{Host, Setup, client, free_port};
pub use line::{Failing, Line};
use reqwest::Method;
use reqwest::blocking::Client;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The longest start of the homeserver.
const PATIENCE: Duration = Duration::from_secs(90);
/// The path of the API.
const CLIENT: &str = "/_matrix/client/v3";
/// The password of everybody.
const PASSWORD: &str = "fake-Rk7Wq2-password";
/// The program that makes users; its secret is the homeserver's own.
const REGISTER: &str = "
import hashlib, hmac, sys
nonce, user, password, admin = sys.argv[1:]
print(hmac.new(b'shared', b'\\0'.join(x.encode() for x in (nonce, user, password, admin)), hashlib.sha1).hexdigest())
";

/// A homeserver; it ends with the test.
pub struct Synapse {
    /// Its port.
    pub port: u16,
    dir: TempDir,
    child: Child,
    client: Client,
}

/// Somebody with an account.
#[derive(Clone)]
pub struct User {
    /// The user's id.
    pub id: String,
    /// The access token.
    pub token: String,
    base: String,
    client: Client,
}

/// The Python that has Synapse, which `tests/conformance/run matrix` installs.
///
/// # Panics
/// It is not there.
fn python() -> PathBuf {
    let given = std::env::var_os("CORDON_SYNAPSE").map(PathBuf::from);
    let python = given.unwrap_or_else(|| {
        let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
        home.join(".cache/cordon/synapse/bin/python")
    });
    assert!(
        python.exists(),
        "{} is not there: tests/conformance/run matrix installs Synapse and runs these tests",
        python.display()
    );
    python
}

fn launched(dir: &Path) -> Child {
    let log = fs::OpenOptions::new().create(true).append(true).open(dir.join("out")).expect("its log");
    let mut command = Command::new(python());
    command.args(["-m", "synapse.app.homeserver", "-c"]).arg(dir.join("homeserver.yaml")).current_dir(dir);
    let output = log.try_clone().expect("its log");
    command.stdin(Stdio::null()).stdout(output).stderr(log).spawn().expect("Synapse starts")
}

fn configuration(dir: &Path, port: u16) -> String {
    let dir = dir.display();
    format!(
        "server_name: test\npid_file: {dir}/pid\nlisteners:\n- {{port: {port}, bind_addresses: ['127.0.0.1'], type: http, \
         tls: false, resources: [{{names: [client], compress: false}}]}}\n\
         database: {{name: sqlite3, args: {{database: {dir}/db}}}}\nmedia_store_path: {dir}/media\n\
         signing_key_path: {dir}/signing.key\nlog_config: {dir}/log.yaml\nregistration_shared_secret: shared\n\
         macaroon_secret_key: macaroon\nform_secret: form\nreport_stats: false\ntrusted_key_servers: []\n\
         suppress_key_server_warning: true\n"
    )
}

impl Synapse {
    /// Starts one, with the limits that it has by default.
    ///
    /// # Panics
    /// It cannot be had, or does not start.
    #[must_use]
    pub fn start() -> Self {
        let dir = tempfile::Builder::new().prefix("cordon-synapse-").tempdir().expect("a folder");
        let port = free_port();
        fs::write(dir.path().join("homeserver.yaml"), configuration(dir.path(), port)).expect("its file");
        let log = format!(
            "version: 1\nhandlers: {{f: {{class: logging.FileHandler, filename: {}/log}}}}\nroot: {{level: INFO, handlers: [f]}}\n",
            dir.path().display()
        );
        fs::write(dir.path().join("log.yaml"), log).expect("its log");
        let key = "ed25519 a_test zwE5Wj1bTKeeUTn8fNUoXhnTXJ7NzIFZZ0aMWm8UUrI\n";
        fs::write(dir.path().join("signing.key"), key).expect("its key");
        let child = launched(dir.path());
        let mut server = Self { port, dir, child, client: client(Client::builder()) };
        server.wait_ready();
        server
    }

    fn wait_ready(&mut self) {
        let until = Instant::now() + PATIENCE;
        let versions = format!("{}/_matrix/client/versions", self.base());
        while self.client.get(&versions).send().is_err() {
            let ended = self.child.try_wait().ok().flatten();
            assert!(ended.is_none() && Instant::now() < until, "Synapse does not start:\n{}", self.said());
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Everything it has written so far.
    fn said(&self) -> String {
        let read = |name: &str| fs::read_to_string(self.dir.path().join(name)).unwrap_or_default();
        read("out") + &read("log")
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }

    /// Starts it again, on the same port and with what it had made durable.
    pub fn restart(&mut self) {
        self.child = launched(self.dir.path());
        self.wait_ready();
    }

    /// Its address.
    #[must_use]
    pub fn base(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Makes an account, by the homeserver's shared secret.
    ///
    /// # Panics
    /// The homeserver refuses.
    #[must_use]
    pub fn user(&self, name: &str) -> User {
        self.registered(name, false)
    }

    fn registered(&self, name: &str, admin: bool) -> User {
        let nobody =
            User { id: String::new(), token: String::new(), base: self.base(), client: self.client.clone() };
        let path = "/_synapse/admin/v1/register";
        let nonce = nobody.at(&Method::GET, path, None).1["nonce"].as_str().expect("a nonce").to_owned();
        let role = if admin { "admin" } else { "notadmin" };
        let mac = Command::new(python()).args(["-c", REGISTER, &nonce, name, PASSWORD, role]).output();
        let mac = String::from_utf8(mac.expect("Python runs").stdout).expect("a digest");
        let body = json!({
            "nonce": nonce, "username": name, "password": PASSWORD, "admin": admin, "mac": mac.trim(),
        });
        let (status, made) = nobody.at(&Method::POST, path, Some(&body));
        assert_eq!(status, 200, "{made}");
        let text = |key: &str| made[key].as_str().expect("a text").to_owned();
        User { id: text("user_id"), token: text("access_token"), ..nobody }
    }

    /// Lets a user send as fast as they like.
    ///
    /// # Panics
    /// The homeserver refuses.
    pub fn unlimited(&self, user: &User) {
        let admin = self.registered("admin", true);
        let path = format!("/_synapse/admin/v1/users/{}/override_ratelimit", user.id);
        let (status, reply) = admin.at(&Method::POST, &path, Some(&json!({})));
        assert_eq!(status, 200, "{reply}");
    }

    /// A host with the account `main`, which is `bot`'s at this address, and with the owner `ann`, once the channel is up.
    /// `keys` are further lines of the channel's table.
    ///
    /// # Panics
    /// The channel does not come up.
    #[must_use]
    pub fn host(&self, at: &str, bot: &User, setup: Setup, keys: &str) -> Host {
        let host = setup.config(&config(at, keys)).start();
        let authority = at.trim_start_matches("http://");
        host.keep("matrix", &bot.token, &["--host", authority]);
        let added =
            host.json(&["user", "add", "ann", "--role", "owner", "--identity", "matrix:main:@ann:test"]);
        assert_eq!(added["user"]["name"], "ann");
        host.wait_for("the channel is up", || host.channel("main")["link"] == "up");
        host
    }
}

/// The configuration of a host with the account `main` at this address.
#[must_use]
pub fn config(at: &str, keys: &str) -> String {
    let authority = at.trim_start_matches("http://");
    format!(
        "[credproxy]\nplain_http = [\"{authority}\"]\n[agent.default]\nmodel = \"scripted/answers\"\n\
         [channel.main]\nplatform = \"matrix\"\nsecret = \"matrix\"\nbase_url = \"{at}\"\n{keys}"
    )
}

impl Drop for Synapse {
    fn drop(&mut self) {
        self.kill();
    }
}

impl User {
    /// Calls the API, below its path; gives status and document.
    ///
    /// # Panics
    /// The homeserver does not answer.
    #[must_use]
    pub fn call(&self, method: &Method, path: &str, body: Option<&Value>) -> (u16, Value) {
        self.at(method, &format!("{CLIENT}{path}"), body)
    }

    fn at(&self, method: &Method, path: &str, body: Option<&Value>) -> (u16, Value) {
        let url = format!("{}{path}", self.base);
        let mut request = self.client.request(method.clone(), url).bearer_auth(&self.token);
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let reply = request.send().expect("the homeserver answers");
        let status = reply.status().as_u16();
        (status, serde_json::from_str(&reply.text().expect("its text")).expect("its document"))
    }

    /// The same, which must be well; a limit is waited out.
    ///
    /// # Panics
    /// The homeserver refuses.
    pub fn must(&self, method: &Method, path: &str, body: &Value) -> Value {
        loop {
            let (status, reply) = self.call(method, path, Some(body).filter(|_| method != Method::GET));
            if status == 429 {
                let wait = reply["retry_after_ms"].as_u64().unwrap_or(1000);
                std::thread::sleep(Duration::from_millis(wait));
                continue;
            }
            assert_eq!(status, 200, "{path}: {reply}");
            return reply;
        }
    }

    /// Makes a room and invites these users; further fields are those of `createRoom`. Returns its id.
    ///
    /// # Panics
    /// As [`Self::must`].
    #[must_use]
    pub fn room(&self, invited: &[&User], more: &Value) -> String {
        let ids: Vec<&str> = invited.iter().map(|user| user.id.as_str()).collect();
        let mut body = json!({ "preset": "private_chat", "invite": ids });
        for (key, value) in more.as_object().into_iter().flatten() {
            body[key] = value.clone();
        }
        let made = self.must(&Method::POST, "/createRoom", &body);
        made["room_id"].as_str().expect("an id").to_owned()
    }

    /// Joins a room.
    pub fn join(&self, room: &str) {
        self.must(&Method::POST, &format!("/rooms/{room}/join"), &json!({}));
    }

    /// Writes a text. Returns its event's id.
    pub fn say(&self, room: &str, text: &str) -> String {
        self.send(room, &json!({ "msgtype": "m.text", "body": text }))
    }

    /// Sends a message. Returns its event's id.
    ///
    /// # Panics
    /// As [`Self::must`].
    pub fn send(&self, room: &str, content: &Value) -> String {
        let unique = crate::synapse::line::unique();
        let path = format!("/rooms/{room}/send/m.room.message/test-{unique}");
        let sent = self.must(&Method::PUT, &path, content);
        sent["event_id"].as_str().expect("an id").to_owned()
    }

    /// Stores a file. Returns its address.
    ///
    /// # Panics
    /// The homeserver refuses.
    #[must_use]
    pub fn upload(&self, bytes: &[u8]) -> String {
        let request =
            self.client.post(format!("{}/_matrix/media/v3/upload", self.base)).bearer_auth(&self.token);
        let reply = request.body(bytes.to_vec()).send().expect("the homeserver answers");
        let stored: Value = serde_json::from_str(&reply.text().expect("its text")).expect("its document");
        stored["content_uri"].as_str().expect("an address").to_owned()
    }

    /// The file at an address.
    ///
    /// # Panics
    /// The homeserver does not answer.
    #[must_use]
    pub fn download(&self, address: &str) -> Vec<u8> {
        let path = address.trim_start_matches("mxc://");
        let url = format!("{}/_matrix/client/v1/media/download/{path}", self.base);
        let reply = self.client.get(url).bearer_auth(&self.token).send().expect("the homeserver answers");
        reply.bytes().expect("a file").to_vec()
    }

    /// The users in a room.
    #[must_use]
    pub fn members(&self, room: &str) -> Vec<String> {
        let (_, found) = self.call(&Method::GET, &format!("/rooms/{room}/joined_members"), None);
        found["joined"].as_object().into_iter().flatten().map(|(user, _)| user.clone()).collect()
    }

    /// The messages of a sender in a room, oldest first, each as its event.
    #[must_use]
    pub fn messages(&self, room: &str, sender: &User) -> Vec<Value> {
        let path = format!("/rooms/{room}/messages?dir=b&limit=500");
        let (_, page) = self.call(&Method::GET, &path, None);
        let mut found = page["chunk"].as_array().cloned().unwrap_or_default();
        found.reverse();
        found.retain(|event| event["type"] == "m.room.message" && event["sender"] == *sender.id);
        found
    }

    /// Their texts.
    #[must_use]
    pub fn texts(&self, room: &str, sender: &User) -> Vec<String> {
        let body = |event: &Value| event["content"]["body"].as_str().unwrap_or_default().to_owned();
        self.messages(room, sender).iter().map(body).collect()
    }

    /// The same user on another device.
    ///
    /// # Panics
    /// As [`Self::must`].
    #[must_use]
    pub fn anew(&self) -> Self {
        let body = json!({
            "type": "m.login.password", "identifier": { "type": "m.id.user", "user": self.id }, "password": PASSWORD,
        });
        let made = self.must(&Method::POST, "/login", &body);
        Self { token: made["access_token"].as_str().expect("a token").to_owned(), ..self.clone() }
    }
}
