//! An account of Matrix, against Synapse with the limits that it has by default: people write there by its own API, and are answered
//! once. `tests/conformance/run matrix` installs Synapse and runs this.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on fails")]

mod answers;
mod lost;
mod rooms;

use reqwest::Method;
use serde_json::{Value, json};
use tests::synapse::{Synapse, User, state};
use tests::{Host, Setup};

/// Without signs of what is under way, so that every message of the account is an answer.
const QUIET: &str = "typing = false\n";

/// A homeserver, the account of the host, its owner, and the host.
struct World {
    server: Synapse,
    bot: User,
    ann: User,
    host: Host,
}

impl World {
    /// With further lines of the channel's table, and of the configuration.
    fn with(keys: &str, setup: Setup) -> Self {
        let server = Synapse::start();
        let (bot, ann) = (server.user("bot"), server.user("ann"));
        let host = server.host(&server.base(), &bot, setup, keys);
        Self { server, bot, ann, host }
    }

    fn start() -> Self {
        Self::with(QUIET, Setup::default())
    }

    /// A room of the owner and the account, which has joined it.
    fn direct(&self) -> String {
        let room = self.ann.room(&[&self.bot], &json!({ "is_direct": true }));
        self.joins(&room);
        room
    }

    fn joins(&self, room: &str) {
        self.host.wait_for("the account joins", || self.ann.members(room).contains(&self.bot.id));
    }

    /// The model answers with these texts.
    fn script(&self, texts: &[&str]) {
        let lines: Vec<Value> = texts.iter().map(|text| json!({ "pieces": [{ "text": text }] })).collect();
        self.host.script("answers", &lines);
    }

    /// The account's messages of a room, once there are so many.
    fn answered(&self, room: &str, count: usize) -> Vec<String> {
        let texts = || self.ann.texts(room, &self.bot);
        self.host.wait_for(&format!("{count} answers"), || texts().len() >= count);
        texts()
    }
}

/// The messages of the host that came by the channel, newest first.
fn messages(host: &Host) -> Vec<Value> {
    let listed = host.json(&["message", "list", "--channel", "matrix:main", "--limit", "100"]);
    listed["messages"].as_array().cloned().unwrap_or_default()
}

/// The first delivery of the newest message.
fn delivery(host: &Host) -> Value {
    let Some(id) = messages(host).first().and_then(|one| one["id"].as_str().map(str::to_owned)) else {
        return Value::Null;
    };
    host.json(&["message", "show", &id])["message"]["deliveries"][0].clone()
}

/// The times that the host has dropped a message for this reason.
fn dropped(host: &Host, reason: &str) -> u64 {
    state(host)["dropped"][reason].as_u64().unwrap_or_default()
}

#[test]
fn an_account_is_added_linked_and_answered() {
    let server = Synapse::start();
    let (bot, ann) = (server.user("bot"), server.user("ann"));
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let (state_dir, config) = (folder.path().join("state"), folder.path().join("mine.toml"));
    std::fs::write(&config, "[agent.default]\nmodel = \"scripted/answers\"\n").unwrap();
    let mut host = Setup::default().state(&state_dir).start();
    let file = config.to_string_lossy().into_owned();
    let words = ["channel", "add", "matrix", "--base-url", &server.base(), "--config", &file];
    let added = host.ask_with(&words, &format!("{}\n", bot.token));
    assert_eq!(added["ok"], true, "{added}\n{}", host.log());
    host.stop();
    let host = Setup::default().config(&std::fs::read_to_string(&config).unwrap()).state(&state_dir).start();
    let tested = host.ask(&["channel", "test", "main"]);
    assert_eq!(tested["accepted"], true, "{tested}\n{}", host.log());
    host.script("answers", &[json!({ "pieces": [{ "text": "**hello** <ann> https://a.example/x" }] })]);
    // Nobody knows this inviter yet: the code that waits opens the door.
    let room = ann.room(&[&bot], &json!({ "is_direct": true }));
    host.wait_for("the account joins", || ann.members(&room).contains(&bot.id));
    ann.say(&room, &format!("!link {}", added["link"].as_str().unwrap()));
    host.wait_for("the account is linked", || ann.texts(&room, &bot).len() == 1);
    let identities = host.json(&["user", "whoami"])["user"]["identities"].to_string();
    assert!(identities.contains("matrix:main:@ann:test"), "{identities}");
    ann.say(&room, "hello");
    host.wait_for("it is answered", || ann.texts(&room, &bot).len() == 2);
    let answer = ann.messages(&room, &bot).remove(1)["content"].clone();
    assert_eq!(answer["body"], "hello <ann> https://a.example/x");
    let html = "<strong>hello</strong> &lt;ann&gt; <code>https://a.example/x</code>";
    assert_eq!((&answer["formatted_body"], &answer["m.mentions"]), (&json!(html), &json!({})));
    assert!(!host.log().contains(&bot.token), "no token in a log");
    assert!(
        !host.json(&["audit", "tail", "--from", "0"]).to_string().contains(&bot.token),
        "none on the record"
    );
}

#[test]
fn a_refused_token_is_named_and_a_new_one_loses_nothing() {
    let world = World::start();
    world.script(&["one", "two"]);
    let room = world.direct();
    world.ann.say(&room, "first");
    world.answered(&room, 1);
    let next = world.bot.anew();
    world.bot.must(&Method::POST, "/logout", &json!({}));
    world.host.wait_for("it is refused", || state(&world.host)["link"] == "refused");
    let reason = state(&world.host)["reason"].as_str().unwrap_or_default().to_owned();
    assert!(reason.contains("agentctl channel add matrix main"), "{reason}");
    world.ann.say(&room, "meanwhile");
    let authority = world.server.base().trim_start_matches("http://").to_owned();
    world.host.keep("matrix", &next.token, &["--host", &authority]);
    // The refused token is tried again after a minute; a process that starts tries at once.
    world.host.kill_and_wait("channel@matrix");
    assert_eq!(world.answered(&room, 2), ["one", "two"]);
    assert_eq!(messages(&world.host).len(), 2);
}
