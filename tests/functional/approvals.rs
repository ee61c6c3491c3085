//! Approvals: a call that needs a person waits for one, runs once if they say yes and never otherwise, whatever dies
//! meanwhile.

use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tests::{Host, Setup, text};

/// Every command asks.
const SUPERVISED: &str = "[policy]\nautonomy = \"supervised\"\n";
/// Every command asks, and a person may say yes for the rest of the session.
const GRANTABLE: &str = "[tool.bash]\neffect = \"write\"\nrelevant_args = [\"command\", \"cwd\"]\n\
    [tool.bash.approval]\nlevel = \"ask\"\ntrust_after_approval = true\n\
    [tool.bash.execution]\nsandbox = \"container\"\n";

fn supervised() -> Host {
    Setup::default().config(SUPERVISED).start()
}

fn reply(value: &Value) -> &str {
    value.get("reply").and_then(Value::as_str).unwrap_or_default()
}

fn refusal(host: &Host, words: &[&str]) -> String {
    let value = host.ask(words);
    assert_eq!(value.get("ok"), Some(&Value::Bool(false)), "{words:?}: {value}");
    value.pointer("/error/message").and_then(Value::as_str).unwrap_or_default().to_lowercase()
}

// Holds P5-63.
#[test]
fn a_call_that_was_approved_runs_once_and_is_what_was_shown() {
    let host = supervised();
    let turn = host.say("s", "run: echo done >> ledger; cat ledger");
    let id = host.question();
    let shown = host.approval(&id);
    assert_eq!((&shown["state"], &shown["tool"]), (&json!("pending"), &json!("bash")), "{shown}");
    let action: Value = serde_json::from_str(&text(&shown, "action")).unwrap();
    assert_eq!(action["args"]["command"], "echo done >> ledger; cat ledger");
    assert_eq!(action["nonce"], id.as_str());
    let messages = host.json(&["message", "list"]);
    assert_eq!(messages["messages"][0]["state"], "waiting_approval", "{messages}");
    host.approve(&id);
    let ended = turn.ended();
    assert_eq!(reply(&ended).matches("done").count(), 1, "{ended}");
    assert_eq!((&ended["calls"][0]["verdict"], &ended["approvals"][0]["id"]), (&json!("run"), &json!(id)));
    assert_eq!(host.approval(&id)["state"], "claimed");
    let again = refusal(&host, &["approvals", "approve", &id, "--yes"]);
    assert!(again.contains("claimed"), "{again}");
    assert!(reply(&host.json(&["chat", "--session", "s", "-m", "read ledger"])).matches("done").count() == 1);
    let (asked, answered) = (host.recorded("approval_asked"), host.recorded("approval_answered"));
    assert_eq!((asked.len(), answered.len()), (1, 1), "{asked:?} {answered:?}");
    assert!(asked[0]["index"].as_u64() < answered[0]["index"].as_u64());
}

// Holds P5-63.
#[test]
fn a_call_that_was_denied_does_not_run_and_the_model_is_told() {
    let host = supervised();
    let turn = host.say("s", "run: echo done > ledger");
    host.deny(&host.question());
    let ended = turn.ended();
    assert_eq!(
        (&ended["calls"][0]["verdict"], &ended["end"]),
        (&json!("refused"), &json!("answered")),
        "{ended}"
    );
    assert!(reply(&ended).contains("refused"), "{ended}");
    assert!(!host.chat("s", "read ledger").contains("done"));
}

// Holds P5-64.
#[test]
fn an_unanswered_question_is_a_no_and_costs_no_time_of_the_turn() {
    let config = format!("{SUPERVISED}approval_seconds = 20\n[agent.default.limits]\nseconds = 5\n");
    let host = Setup::default().config(&config).start();
    let unanswered = host.say("s", "run: echo one");
    let answered = host.say("t", "run: echo two");
    let questions = host.questions(2);
    let of = |session: &str| questions.iter().find(|it| it["session"] == session).unwrap();
    host.wait_for("longer than a turn may last", || {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        now > Duration::from_millis(of("t")["asked_ms"].as_u64().unwrap() + 8000)
    });
    host.approve(&text(of("t"), "id"));
    let ended = answered.ended();
    assert!(reply(&ended).contains("two"), "{ended}");
    let ended = unanswered.ended();
    assert_eq!(
        (&ended["calls"][0]["verdict"], &ended["end"]),
        (&json!("refused"), &json!("answered")),
        "{ended}"
    );
    assert!(ended["calls"][0]["reason"].as_str().unwrap().contains("nobody answered"), "{ended}");
    let late = text(of("s"), "id");
    // Its turn goes on at once, and may have ended before the record had the end of the question.
    let state = text(&host.approval(&late), "state");
    assert!(["expired", "void"].contains(&state.as_str()), "{state}");
    assert!(refusal(&host, &["approvals", "approve", &late, "--yes"]).contains(&state));
}

// Holds P5-64.
#[test]
fn a_question_outlives_every_process_and_its_answer_has_one_effect() {
    let host = supervised();
    for name in ["router", "gate", "control", "audit", "scanner", "model"] {
        let turn = host.say(name, "run: echo done >> ledger; cat ledger");
        let id = host.question();
        host.kill_and_wait(name);
        let waiting = host.questions(1);
        assert_eq!(text(&waiting[0], "id"), id, "{name}: it was asked anew");
        host.approve(&id);
        let ended = turn.ended();
        assert_eq!(reply(&ended).matches("done").count(), 1, "{name}: {ended}");
        assert_eq!(host.approval(&id)["state"], "claimed", "{name}");
    }
    assert_eq!(host.json(&["audit", "verify"])["ok"], true);
}

// Holds P5-64.
#[test]
fn a_question_outlives_the_host_itself() {
    let state = tempfile::tempdir().unwrap();
    std::fs::set_permissions(state.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let mut first = Setup::default().config(SUPERVISED).state(state.path()).start();
    let turn = first.say("s", "run: echo done >> ledger; cat ledger");
    let id = first.question();
    let _ = first.stop();
    drop(turn);
    let second = Setup::default().config(SUPERVISED).state(state.path()).start();
    assert_eq!(second.question(), id);
    second.approve(&id);
    second.wait_for("its turn ends", || second.recorded("turn_ended").len() == 1);
    assert_eq!(second.approval(&id)["state"], "claimed");
    assert_eq!(second.chat("s", "read ledger").matches("done").count(), 1);
}

// Holds P5-62.
#[test]
fn of_many_answers_at_once_one_wins() {
    let host = supervised();
    let turn = host.say("s", "run: echo done");
    let id = host.question();
    let answers: Vec<Value> = thread::scope(|scope| {
        let answer = |number: usize| {
            let (host, id) = (&host, id.as_str());
            scope.spawn(move || {
                let yes = number.is_multiple_of(2);
                if yes {
                    host.ask(&["approvals", "approve", id, "--yes"])
                } else {
                    host.ask(&["approvals", "deny", id])
                }
            })
        };
        let running: Vec<_> = (0..8).map(answer).collect();
        running.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let won = (0..8_usize).filter(|at| answers[*at]["ok"] == true).map(|at| at.is_multiple_of(2));
    let won: Vec<bool> = won.collect();
    // The same answer again is confirmed; a different one is refused.
    assert!(!won.is_empty() && won.iter().all(|yes| *yes == won[0]), "{answers:?}");
    let verdict = if won[0] { "run" } else { "refused" };
    assert_eq!(turn.ended()["calls"][0]["verdict"], verdict);
}

// Holds P5-67.
#[test]
fn a_grant_covers_the_same_arguments_in_its_session_until_revoked() {
    let host = Setup::default().config(GRANTABLE).start();
    let turn = host.say("s", "run: echo same");
    let id = host.question();
    let _ = host.json(&["approvals", "approve", &id, "--session", "--yes"]);
    let _ = turn.ended();
    let covered = host.json(&["chat", "--session", "s", "-m", "run: echo same"]);
    assert_eq!(
        (&covered["approvals"], &covered["calls"][0]["verdict"]),
        (&json!([]), &json!("run")),
        "{covered}"
    );
    for (session, command) in [("s", "run: echo other"), ("t", "run: echo same")] {
        let turn = host.say(session, command);
        host.deny(&host.question());
        assert_eq!(turn.ended()["calls"][0]["verdict"], "refused", "{session} {command}");
    }
    let grants = host.json(&["approvals", "grants"]);
    let _ = host.json(&["approvals", "revoke", &text(&grants["grants"][0], "id")]);
    let turn = host.say("s", "run: echo same");
    host.deny(&host.question());
    assert_eq!(turn.ended()["calls"][0]["verdict"], "refused");
    assert_eq!(host.json(&["approvals", "grants"])["grants"], json!([]));
}

// Holds P5-68.
#[test]
fn a_grant_is_not_given_where_policy_wants_each_act_approved() {
    let host = supervised();
    let turn = host.say("s", "run: echo done");
    let id = host.question();
    let _ = refusal(&host, &["approvals", "approve", &id, "--session", "--yes"]);
    assert_eq!(host.approval(&id)["state"], "pending");
    host.deny(&id);
    let _ = turn.ended();
}

// Holds P5-66.
#[test]
fn a_question_ends_with_its_session() {
    let host = supervised();
    let turn = host.say("s", "run: echo done");
    let id = host.question();
    let _ = host.json(&["session", "end", "s"]);
    let ended = turn.ended();
    assert_eq!(ended["ok"], false, "{ended}");
    host.wait_for("it is void", || host.approval(&id)["state"] == "void");
    assert!(refusal(&host, &["approvals", "approve", &id, "--yes"]).contains("void"));
}

#[test]
fn questions_of_one_reply_are_asked_together_and_answered_one_by_one() {
    let config = format!("{SUPERVISED}[agent.default]\nmodel = \"scripted/two\"\n");
    let host = Setup::default().config(&config).start();
    let call = |command: &str| json!({ "call": { "tool": "bash", "args": { "command": command } } });
    let calls = [call("echo first >> ledger"), call("echo second >> ledger")];
    host.script("two", &[json!({ "pieces": calls }), json!({ "pieces": [{ "text": "that is all" }] })]);
    let turn = host.say("s", "do both");
    let questions = host.questions(2);
    for question in &questions {
        let id = text(question, "id");
        if text(&host.approval(&id), "action").contains("first") {
            host.deny(&id);
        } else {
            host.approve(&id);
        }
    }
    let ended = turn.ended();
    assert_eq!(reply(&ended), "that is all");
    let verdicts: Vec<_> = ended["calls"].as_array().unwrap().iter().map(|call| &call["verdict"]).collect();
    assert_eq!(verdicts, ["refused", "run"], "{ended}");
}

// Holds P5-61.
#[test]
fn what_a_question_shows_hides_nothing_by_the_way_it_is_written() {
    let config = format!("{SUPERVISED}[agent.default]\nmodel = \"scripted/bidi\"\n");
    let host = Setup::default().config(&config).start();
    let call =
        json!({ "call": { "tool": "bash", "args": { "command": "echo \u{202e}\u{200b}\u{1b}[2J x" } } });
    host.script("bidi", &[json!({ "pieces": [call] }), json!({ "pieces": [{ "text": "done" }] })]);
    let turn = host.say("s", "go on");
    let id = host.question();
    let shown = String::from_utf8(host.ctl(&["approvals", "show", &id]).stdout).unwrap();
    assert!(shown.contains("\\u{202e}") && shown.contains("\\u{200b}"), "{shown}");
    assert!(!shown.contains(['\u{202e}', '\u{200b}', '\u{1b}']), "{shown}");
    host.deny(&id);
    let _ = turn.ended();
}
