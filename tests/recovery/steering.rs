//! kill -9 at every step of words that are said into a turn: they are accepted once, taken in once, and lost nowhere.

use serde_json::json;
use tests::{Setup, call, text};

const CONFIG: &str = "[agent.default]\nmodel = \"scripted/painter\"\nprofile = \"standard\"\n";

/// Every step of words: process and point.
const POINTS: &[&str] = &[
    "router:router.steer.committed",
    "router:router.step.recorded",
    "router:router.words.committed",
    "gate:gate.words.kept",
];

// Holds P7-57.
#[test]
fn a_death_at_any_step_of_words_loses_none_and_says_none_twice() {
    for point in POINTS {
        let (name, _) = point.split_once(':').unwrap();
        let host = Setup::default().config(CONFIG).arguments(&["--fault", point]).start();
        host.script(
            "painter",
            &[
                json!({"match": "in red", "pieces": [{"text": "I paint it in red."}]}),
                json!({"plan": ["bash"]}),
                json!({"pieces": [call("bash", &json!({"command": "sleep 6"}))]}),
                json!({"pieces": [{"text": "I painted it in grey."}]}),
            ],
        );
        let turn = host.say("s", "paint the boat");
        host.wait_for("its tool runs", || !host.recorded("tool_decided").is_empty());
        let said = host.ask(&["steer", "--session", "s", "in red, please"]);
        assert_eq!(said["ok"], true, "{point}: {said}");
        let ended = turn.ended();
        assert_eq!(host.process(name)["restarts"], 1, "{point} was never reached: {ended}");
        assert_eq!(ended["reply"], "I paint it in red.", "{point}: {ended}\n{}", host.log());
        let messages = host.json(&["message", "list"])["messages"].as_array().cloned().unwrap();
        assert_eq!(messages.len(), 2, "{point}: {messages:?}");
        let shown = host.json(&["message", "show", &text(&said, "message")]);
        assert_eq!(shown["message"]["state"], "taken_in", "{point}: {shown}");
        let transcript = host.json(&["session", "show", "s"]).to_string();
        assert_eq!(transcript.matches("in red, please").count(), 1, "{point}: {transcript}");
        assert_eq!(host.recorded("message_taken_in").len(), 1, "{point}: on the record once");
        assert_eq!(host.json(&["audit", "verify"])["ok"], true, "{point}");
    }
}
