//! Files both ways: what the owner sends stands in the inbox of the workspace, and what an agent sends is there to be had.

use super::{CHANNEL, QUIET, World};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tests::{Setup, call, script};

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

// Holds P11-51, P11-55.
#[test]
fn a_file_of_the_owner_arrives_and_one_without_a_proper_address_does_not() {
    let world = World::start();
    world.host.answers(&["I see"]);
    let room = world.direct();
    let picture = [b"\x89PNG\r\n\x1a\n".as_slice(), &[7; 600_000]].concat();
    let file =
        |name: &str, url: &str| json!({ "msgtype": "m.file", "body": name, "filename": name, "url": url });
    world.ann.send(&room, &file("../../p.png", &world.ann.upload(&picture)));
    world.ann.send(&room, &file("away.txt", "mxc://test/../../v3/account/whoami"));
    world.host.wait_for("both are taken in", || world.host.messages_by(CHANNEL).len() == 2);
    let shown: Vec<Value> = world.host.messages_by(CHANNEL);
    let text = |message: &Value| {
        let id = message["id"].as_str().unwrap();
        world.host.json(&["message", "show", id])["message"]["text"].as_str().unwrap().to_owned()
    };
    let place = format!("/workspace/inbox/{}/p.png", sha256(&picture));
    assert!(text(&shown[1]).contains("p.png, image/png, 600008 bytes") && text(&shown[1]).contains(&place));
    assert!(text(&shown[0]).contains("not taken"), "{}", text(&shown[0]));
    let told = |text: &String| text.contains("I did not take") && text.contains("away.txt");
    world.host.wait_for("the owner reads so", || world.ann.texts(&room, &world.bot).iter().any(told));
}

// Holds P11-53.
#[test]
fn a_file_of_an_agent_arrives() {
    let keys = format!(
        "{QUIET}agent = \"sender\"\n[agent.sender]\nmodel = \"scripted/answers\"\nprofile = \"standard\"\n"
    );
    let world = World::with(&keys, Setup::default());
    let words = "a,b\n1,2\n";
    let calls = [
        call("write", &json!({ "path": "t.csv", "content": words })),
        call("send_file", &json!({ "path": "t.csv", "sha256": sha256(words.as_bytes()) })),
    ];
    world.host.script("answers", &script(&calls));
    let room = world.direct();
    world.ann.say(&room, "make me a table");
    world.answered(&room, 3);
    let file = world.ann.messages(&room, &world.bot).remove(1)["content"].clone();
    assert_eq!((&file["msgtype"], &file["filename"]), (&json!("m.file"), &json!("t.csv")), "{file}");
    assert_eq!(world.ann.download(file["url"].as_str().unwrap()), words.as_bytes());
}
