//! An account of Matrix, against Synapse with the limits that it has by default: people write there by its own API, and are answered
//! once. `tests/conformance/run matrix` installs Synapse and runs this.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on fails")]

mod answers;
mod files;
mod lost;
mod rooms;

use reqwest::Method;
use serde_json::json;
use tests::synapse::{Synapse, User};
use tests::{Added, Host, Setup};

/// Without signs of what is under way, so that every message of the account is an answer.
const QUIET: &str = "typing = false\n";
/// The account's channel.
const CHANNEL: &str = "matrix:main";

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

    /// The account's messages of a room, once there are so many.
    fn answered(&self, room: &str, count: usize) -> Vec<String> {
        let texts = || self.ann.texts(room, &self.bot);
        self.host.wait_for(&format!("{count} answers"), || texts().len() >= count);
        texts()
    }
}

/// The times that the host has dropped a message for this reason.
fn dropped(host: &Host, reason: &str) -> u64 {
    host.channel("main")["dropped"][reason].as_u64().unwrap_or_default()
}

#[test]
fn an_account_is_added_linked_and_answered() {
    let server = Synapse::start();
    let (bot, ann) = (server.user("bot"), server.user("ann"));
    let Added { host, code, .. } = &Added::by_command("matrix", &server.base(), &[&bot.token]);
    host.answers(&["**hello** <ann> https://a.example/x"]);
    // Nobody knows this inviter yet: the code that waits opens the door.
    let room = ann.room(&[&bot], &json!({ "is_direct": true }));
    host.wait_for("the account joins", || ann.members(&room).contains(&bot.id));
    ann.say(&room, &format!("!link {code}"));
    host.wait_for("the account is linked", || ann.texts(&room, &bot).len() == 1);
    host.becomes_linked("matrix:main:@ann:test");
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
    world.host.answers(&["one", "two"]);
    let room = world.direct();
    world.ann.say(&room, "first");
    world.answered(&room, 1);
    let next = world.bot.anew();
    world.bot.must(&Method::POST, "/logout", &json!({}));
    world.host.wait_for("it is refused", || world.host.channel("main")["link"] == "refused");
    let reason = world.host.channel("main")["reason"].as_str().unwrap_or_default().to_owned();
    assert!(reason.contains("agentctl channel add matrix main"), "{reason}");
    world.ann.say(&room, "meanwhile");
    let authority = world.server.base().trim_start_matches("http://").to_owned();
    world.host.keep("matrix", &next.token, &["--host", &authority]);
    // The refused token is tried again after a minute; a process that starts tries at once.
    world.host.kill_and_wait("channel@matrix");
    assert_eq!(world.answered(&room, 2), ["one", "two"]);
    assert_eq!(world.host.messages_by(CHANNEL).len(), 2);
}
