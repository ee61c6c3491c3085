//! kill -9 of router at every step of a message that comes by a channel and of its answer: the message is taken in once, and its
//! answer is sent once.

use serde_json::{Value, json};
use tests::telegram::{ANN, Telegram};
use tests::{Host, Setup};

/// Every step. A piece that did not reach its process before router's death is given out again.
const POINTS: [&str; 5] = [
    "router:router.channel.stored",
    "router:router.channel.committed",
    "router:router.plan.committed",
    "router:router.piece.sending",
    "router:router.piece.settled",
];

/// The deliveries of the only message.
fn deliveries(host: &Host) -> Vec<Value> {
    let listed = host.json(&["message", "list", "--channel", "telegram:main"]);
    let Some(id) = listed["messages"][0]["id"].as_str() else { return Vec::new() };
    let shown = host.json(&["message", "show", id]);
    shown["message"]["deliveries"].as_array().cloned().unwrap_or_default()
}

// Holds P11-07, P11-10.
#[test]
fn a_death_at_any_step_of_a_channel_doubles_nothing() {
    for point in POINTS {
        let telegram = Telegram::start();
        let setup = Setup::default().arguments(&["--fault", point]);
        let host = telegram.host(setup, "streaming = \"off\"\ntyping = false\n");
        host.script("answers", &[json!({ "pieces": [{ "text": "the answer" }] })]);
        telegram.direct(ANN, "hello");
        host.wait_for(&format!("{point}: the answer is sent"), || {
            deliveries(&host).first().is_some_and(|delivery| delivery["state"] == "sent")
        });
        assert_eq!(host.process("router")["restarts"], 1, "{point} was never reached");
        assert_eq!(telegram.sent(ANN).len(), 1, "{point}");
        let listed = host.json(&["message", "list"]);
        assert_eq!(listed["messages"].as_array().map(Vec::len), Some(1), "{point}: {listed}");
    }
}
