//! kill -9 at every step of a turn: each step is a fault point in the code, which ends its process in the first life.

use std::thread::sleep;
use std::time::{Duration, Instant};
use tests::{Host, Setup};

/// Every step of a turn with a tool that has an effect: process and point.
const POINTS: &[&str] = &[
    "router:router.submit.checked",
    "router:router.submit.committed",
    "router:router.queued.committed",
    "router:router.accept.recorded",
    "router:router.start.recorded",
    "router:router.start.committed",
    "router:router.start.launching",
    "router:router.start.launched",
    "router:router.take.asked",
    "router:router.emit.taken",
    "router:router.step.committed",
    "router:router.finish.decided",
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
    "model:model.answer.begun",
    "model:model.next.given",
    "memory:memory.write.recorded",
    "memory:memory.write.stored",
    "audit:audit.written",
    "audit:audit.committed",
];

fn rows(host: &Host) -> usize {
    host.json(&["memory", "list"])["memories"].as_array().map_or(0, Vec::len)
}

fn died_once(host: &Host, name: &str) -> bool {
    host.process(name)["restarts"] == 1
}

// Holds P7-01.
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
        assert_eq!(host.recorded("turn_ended").len(), 1, "{point}: its end stands on the record once");
    }
}

// Holds P7-03.
#[test]
fn an_answer_whose_end_a_crash_interrupts_is_not_cancelled_and_ends_once() {
    for point in ["router:router.finish.decided", "router:router.finish.recorded"] {
        let host = Setup::default().arguments(&["--fault", point]).start();
        let turn = host.say("s", "echo: high water");
        let deadline = Instant::now() + Duration::from_secs(60);
        while !died_once(&host, "router") {
            assert!(Instant::now() < deadline, "{point} was never reached");
            sleep(Duration::from_millis(2));
        }
        let _ = host.ask(&["stop", "--session", "s"]);
        let ended = turn.ended();
        assert_eq!(ended["end"], "answered", "{point}: {ended}");
        let ends = host.recorded("turn_ended");
        assert_eq!(ends.len(), 1, "{point}: {ends:?}");
        assert_eq!(ends[0]["result"], "success", "{point}: {ends:?}");
    }
}

/// Every step of a question to a person, and of the plan before it: process and point.
const ASKING: &[&str] = &[
    "gate:gate.plan.kept",
    "gate:gate.decided",
    "gate:gate.reply.kept",
    "router:router.step.committed",
    "router:router.ask.committed",
    "gate:gate.asked",
    "router:router.answer.committed",
    "gate:gate.approval.claimed",
    "gate:gate.result.kept",
];

/// Every command asks, in a profile that plans.
const SUPERVISED: &str = "[agent.default]\nprofile = \"standard\"\n[policy]\nautonomy = \"supervised\"\n";

#[test]
fn a_death_at_any_step_of_a_question_asks_once_and_acts_once() {
    for point in ASKING {
        let (name, _) = point.split_once(':').unwrap();
        let host = Setup::default().config(SUPERVISED).arguments(&["--fault", point]).start();
        let turn = host.say("s", "run: echo done >> ledger; cat ledger");
        let id = host.question();
        let answer = host.ask(&["approvals", "approve", &id, "--yes"]);
        // A router that died once the answer was kept is asked again by control, and says that it has one.
        assert!(answer["ok"] == true || answer["error"]["type"] == "not_pending", "{point}: {answer}");
        let ended = turn.ended();
        assert!(died_once(&host, name), "{point} was never reached: {ended}");
        assert_eq!(ended["end"], "answered", "{point}: {ended}");
        let listed = host.json(&["approvals", "list", "--all"]);
        assert_eq!(listed["approvals"].as_array().map(Vec::len), Some(1), "{point}: {listed}");
        assert_eq!(host.approval(&id)["state"], "claimed", "{point}");
        let asked = host.recorded("approval_answered").len();
        assert!((1..=2).contains(&asked), "{point}: {asked} answers on the record");
        let reply = ended["reply"].as_str().unwrap_or_default();
        let ledger = host.json(&["chat", "--session", "s", "-m", "read ledger"]).to_string();
        assert!(ledger.matches("done").count() <= 1, "{point}: it ran twice: {ledger}");
        assert!(reply.contains("done") || reply.contains("not known"), "{point}: {reply}");
        assert_eq!(host.json(&["audit", "verify"])["ok"], true, "{point}");
    }
}

#[test]
fn a_death_as_a_question_ends_unanswered_leaves_it_a_no() {
    let config = format!("{SUPERVISED}approval_seconds = 10\n");
    let host =
        Setup::default().config(&config).arguments(&["--fault", "router:router.approval.expired"]).start();
    let turn = host.say("s", "run: echo done");
    let id = host.question();
    let ended = turn.ended();
    assert!(died_once(&host, "router"), "{ended}");
    assert_eq!(
        (ended["calls"][0]["verdict"].as_str(), ended["end"].as_str()),
        (Some("refused"), Some("answered"))
    );
    let state = host.approval(&id)["state"].clone();
    assert!(state == "expired" || state == "void", "{state}");
}

#[test]
fn a_death_as_a_grant_is_taken_back_leaves_it_taken_back() {
    let config = "[tool.bash]\neffect = \"write\"\nrelevant_args = [\"command\", \"cwd\"]\n\
        [tool.bash.approval]\nlevel = \"ask\"\ntrust_after_approval = true\n\
        [tool.bash.execution]\nsandbox = \"container\"\n";
    let host = Setup::default().config(config).arguments(&["--fault", "router:router.grant.revoked"]).start();
    let turn = host.say("s", "run: echo same");
    let id = host.question();
    let _ = host.json(&["approvals", "approve", &id, "--session", "--yes"]);
    let _ = turn.ended();
    // The one who asked may hear that there is no such grant any more: it was taken back before the answer.
    let _ = host.ask(&["approvals", "revoke", &id]);
    host.wait_for("the router is back", || died_once(&host, "router"));
    assert_eq!(host.json(&["approvals", "grants"])["grants"].as_array().map(Vec::len), Some(0));
    let turn = host.say("s", "run: echo same");
    host.deny(&host.question());
    assert_eq!(turn.ended()["calls"][0]["verdict"], "refused");
}

// Holds P7-02.
#[test]
fn a_resumed_turn_has_the_same_memories_and_asks_memory_no_more() {
    for point in ["gate:gate.recall.kept", "router:router.step.committed"] {
        let (name, _) = point.split_once(':').unwrap();
        let config = "[agent.default]\nmemory = true\n";
        let host = Setup::default().config(config).arguments(&["--fault", point]).start();
        let _ = host.json(&["memory", "add", "the tide turns at noon"]);
        let ended = host.json(&["chat", "--session", "s", "-m", "echo: high water"]);
        assert!(died_once(&host, name), "{point} was never reached: {ended}");
        assert_eq!((&ended["reply"], &ended["end"]), (&"high water".into(), &"answered".into()), "{point}");
        assert_eq!(host.recorded("memory_given").len(), 1, "{point}");
        assert_eq!(host.json(&["audit", "verify"])["ok"], true, "{point}");
    }
}

/// Every step of taking one memory of an export in.
const RESTORING: &[&str] = &["memory:memory.restore.recorded", "memory:memory.restore.put"];

// Holds P7-42.
#[test]
fn a_death_at_any_step_of_an_import_leaves_every_memory_there_once() {
    let from = Host::start();
    for text in ["the ferry leaves at noon", "the light is red"] {
        let _ = from.json(&["memory", "add", text]);
    }
    let file = from.dir().join("export.jsonl");
    let file = file.to_str().unwrap();
    let _ = from.json(&["memory", "export", "--force", file]);
    for point in RESTORING {
        let host = Setup::default().arguments(&["--fault", point]).start();
        let taken = host.json(&["memory", "import", file, "--mine"]);
        assert!(died_once(&host, "memory"), "{point} was never reached: {taken}");
        assert_eq!(rows(&host), 2, "{point}: {taken}");
        assert_eq!(host.json(&["memory", "import", file, "--mine"])["taken"], 0, "{point}");
        assert_eq!(host.json(&["audit", "verify"])["ok"], true, "{point}");
    }
}
