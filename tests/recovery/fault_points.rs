//! kill -9 at every step of a turn: each step is a fault point in the code, which ends its process in the first life.

use tests::{Host, Setup};

/// Every step of a turn with a tool that has an effect: process and point.
const POINTS: &[&str] = &[
    "router:router.submit.checked",
    "router:router.submit.committed",
    "router:router.queued.committed",
    "router:router.accept.recorded",
    "router:router.start.recorded",
    "router:router.start.committed",
    "router:router.start.launched",
    "router:router.take.asked",
    "router:router.emit.taken",
    "router:router.step.committed",
    "router:router.finish.recorded",
    "router:router.finish.committed",
    "router:router.delivered.committed",
    "gate:gate.think.recorded",
    "gate:gate.decided",
    "gate:gate.reply.kept",
    "gate:gate.effect.done",
    "gate:gate.result.kept",
    "gate:gate.finish.recorded",
    "model:model.start.taken",
    "model:model.next.given",
    "memory:memory.write.recorded",
    "memory:memory.write.stored",
    "audit:audit.committed",
];

fn rows(host: &Host) -> usize {
    host.json(&["memory", "list"])["memories"].as_array().map_or(0, Vec::len)
}

fn died_once(host: &Host, name: &str) -> bool {
    host.process(name)["restarts"] == 1
}

#[test]
fn a_death_at_any_step_loses_no_message_and_repeats_no_effect() {
    for point in POINTS {
        let (name, _) = point.split_once(':').unwrap();
        let host = Setup::default().arguments(&["--fault", point]).start();
        let value = host.ask(&["chat", "--session", "s", "-m", "remember: the tide turns at noon"]);
        assert!(died_once(&host, name), "{point} was never reached: {value}");
        assert_eq!(value["ok"], true, "{point}: {value}");
        let reply = value["reply"].as_str().unwrap_or_default();
        assert!(reply.contains("tide turns at noon") || reply.contains("not known"), "{point}: {reply}");
        assert!(rows(&host) <= 1, "{point}: remembered twice");
        assert!(
            rows(&host) == 1 || reply.contains("not known"),
            "{point}: said to be remembered, and is not"
        );
        let messages = host.json(&["message", "list"]);
        assert_eq!(messages["messages"].as_array().map(Vec::len), Some(1), "{point}: {messages}");
        assert!(host.json(&["audit", "verify"])["ok"] == true, "{point}");
    }
}
