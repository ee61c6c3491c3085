//! Answers: their size, their pace, their beginnings, and the questions that a person answers by a code.

use super::{CHANNEL, QUIET, World};
use serde_json::{Value, json};
use tests::Setup;

#[test]
fn a_long_answer_is_whole_and_each_event_is_within_its_limit() {
    let world = World::start();
    // Each character of it is more than one in JSON and in HTML.
    let code = "\\\"\t<&\n".repeat(5_000);
    world.host.answers(&[&format!("```\n{code}```"), "short"]);
    let room = world.direct();
    world.ann.say(&room, "tell me all");
    world.host.wait_for("all of it is sent", || world.host.delivery_is(CHANNEL, "sent"));
    let texts = world.ann.texts(&room, &world.bot);
    assert!(texts.len() > 1 && texts.len() <= 12, "{} messages", texts.len());
    assert_eq!(texts.join("\n").trim_end(), code.trim_end());
    for event in world.ann.messages(&room, &world.bot) {
        assert!(event["content"]["formatted_body"].as_str().unwrap().ends_with("</code></pre>"));
    }
}

#[test]
fn an_answer_that_is_too_long_is_its_beginning_and_a_file() {
    let world = World::start();
    let part = "A sentence that is said again, with **bold** in it.\n\n".repeat(200);
    let pieces: Vec<Value> = (0..32).map(|_| json!({ "text": part })).collect();
    world.host.script("answers", &[json!({ "pieces": pieces })]);
    let room = world.direct();
    world.ann.say(&room, "tell me all");
    world.answered(&room, 2);
    let file = world.ann.messages(&room, &world.bot).remove(1)["content"].clone();
    assert_eq!((&file["msgtype"], &file["filename"]), (&json!("m.file"), &json!("answer.md")));
    assert_eq!(file["info"]["size"].as_u64(), Some(32 * part.len() as u64));
    assert!(file["url"].as_str().unwrap().starts_with("mxc://test/"), "{file}");
}

#[test]
fn a_limit_delays_answers_and_loses_and_doubles_none() {
    let world = World::start();
    let texts: Vec<String> = (0..14).map(|number| format!("answer {number}")).collect();
    world.host.answers(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    world.server.unlimited(&world.ann);
    let room = world.direct();
    for number in 0..14 {
        world.ann.say(&room, &format!("question {number}"));
    }
    assert_eq!(world.answered(&room, 14), texts);
    world.host.wait_for("the last is sent", || world.host.delivery_is(CHANNEL, "sent"));
    assert_eq!(world.ann.texts(&room, &world.bot).len(), 14);
}

#[test]
fn a_beginning_is_shown_where_that_is_asked_for_and_then_replaced() {
    let world = World::with("streaming = \"edit\"\n", Setup::default());
    let pieces = json!([{ "text": "the first half, " }, { "delay_ms": 3000 }, { "text": "the second half" }]);
    world.host.script("answers", &[json!({ "pieces": pieces })]);
    let room = world.direct();
    world.ann.say(&room, "hello");
    world.host.wait_for("the answer is sent", || world.host.delivery_is(CHANNEL, "sent"));
    let sent = world.ann.messages(&room, &world.bot);
    assert_eq!(sent.len(), 2, "{sent:?}");
    let shown = sent[0]["content"]["body"].as_str().unwrap();
    assert!(!shown.is_empty() && "the first half, ".starts_with(shown), "{shown}");
    let edit = &sent[1]["content"];
    assert_eq!(edit["m.relates_to"], json!({ "rel_type": "m.replace", "event_id": sent[0]["event_id"] }));
    assert_eq!(edit["m.new_content"]["body"], "the first half, the second half");
}

// Holds P11-20.
#[test]
fn a_call_is_approved_by_the_code_of_its_person_alone() {
    let setup = Setup::default().config("[policy]\nautonomy = \"supervised\"\n");
    let world = World::with(&format!("{QUIET}approve = \"own\"\n"), setup);
    let call =
        json!({ "call": { "tool": "bash", "args": { "command": "echo done >> ledger; cat ledger" } } });
    world.host.script("answers", &tests::planned(&["bash"], &[call]));
    let room = world.direct();
    world.ann.say(&room, "write done into the ledger");
    let asked = world.answered(&room, 1).remove(0);
    assert!(asked.contains("echo done >> ledger; cat ledger"), "{asked}");
    let code: String = asked.split("!approve ").nth(1).unwrap().chars().take(8).collect();
    // The owner's code is nothing in another conversation, nor in anybody else's hands.
    let elsewhere = world.direct();
    world.ann.say(&elsewhere, &format!("!approve {code}"));
    assert_eq!(world.answered(&elsewhere, 1), ["No question waits here for this code."]);
    world.ann.say(&room, &format!("!approve {code}"));
    let texts = world.answered(&room, 3);
    assert!(
        texts.contains(&"Approved.".to_owned()) && texts.contains(&"that is all".to_owned()),
        "{texts:?}"
    );
    world.ann.say(&room, &format!("!approve {code}"));
    assert_eq!(world.answered(&room, 4).pop().unwrap(), "No question waits here for this code.");
    assert_eq!(world.host.recorded("approval_answered").len(), 1);
}
