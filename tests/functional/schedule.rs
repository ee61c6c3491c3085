//! Jobs: each sends its message at its times, its turn asks nobody unless the job says so, and its answers go where the job says.

use serde_json::Value;
use std::time::{SystemTime, UNIX_EPOCH};
use tests::telegram::{ANN, Telegram};
use tests::{Clock, Host, Setup, call, text};

const ON: &str = "[scheduler]\nenabled = true\n";
const DAY: i64 = 86_400_000;

/// A host with a scheduler, on a clock that is stepped.
struct Stand {
    host: Host,
    clock: Clock,
    _folder: tempfile::TempDir,
}

impl Stand {
    fn start(config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock::new(folder.path());
        let host = clock.setup().config(&format!("{ON}{config}")).start();
        Self { host, clock, _folder: folder }
    }

    /// Steps the clock to this many ms after a job's next time.
    fn pass(&self, job: &str, ms: i64) {
        let next = self.host.json(&["schedule", "show", job])["job"]["next"]["ms"].as_i64().unwrap();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
        self.clock.step(&self.host, next + ms - i64::try_from(now).unwrap());
    }
}

/// The times of a job and what became of each, latest first.
fn history(host: &Host, job: &str) -> Vec<Value> {
    host.json(&["schedule", "history", job])["fires"].as_array().cloned().unwrap()
}

/// Waits until the latest time of a job has come to this.
fn comes_to(host: &Host, job: &str, state: &str) -> Value {
    let mut last = Value::Null;
    host.wait_for(&format!("{job} is {state}"), || {
        last = history(host, job).first().cloned().unwrap_or_default();
        last["state"] == state
    });
    last
}

/// Everything that is said in a job's own session.
fn said(host: &Host, job: &str) -> String {
    host.json(&["session", "show", &format!("job:{job}")]).to_string()
}

// Holds P12-40.
#[test]
fn a_job_sends_its_message_at_its_time_in_a_session_of_its_own() {
    let stand = Stand::start("");
    let host = &stand.host;
    let words = ["schedule", "add", "0 8 * * 1-5", "--zone", "Europe/Berlin", "--name", "news"];
    let added = host.json(&[&words[..], &["echo: good morning"]].concat());
    assert!(text(&added["job"]["next"], "shown").contains(" 08:00:00 CE"), "{added}");
    assert_eq!(history(host, "news"), [] as [Value; 0]);
    for count in 1..=2 {
        let due = host.json(&["schedule", "show", "news"])["job"]["next"]["ms"].clone();
        stand.pass("news", 100);
        host.wait_for("its time is over", || {
            let last = history(host, "news").first().cloned().unwrap_or_default();
            last["due_ms"] == due && last["state"] == "answered"
        });
        assert_eq!(history(host, "news").len(), count);
    }
    assert_eq!(host.messages_by("schedule").len(), 2);
    assert_eq!(said(host, "news").matches("echo: good morning").count(), 2);
    let message = text(&history(host, "news")[0], "message");
    let label = host.json(&["message", "show", &message])["message"]["label"].to_string();
    assert!(label.contains("user"), "what a person typed is theirs: {label}");
    assert_eq!(host.recorded("job_changed").len(), 1);
    assert_eq!(host.recorded("job_fired").len(), 2);
}

// Holds P12-41.
#[test]
fn missed_times_are_made_up_for_and_a_clock_set_back_is_silent() {
    let stand = Stand::start("");
    let host = &stand.host;
    for missed in ["skip", "once", "all"] {
        let words = ["schedule", "add", "0 8 * * *", "--name", missed, "--missed", missed, "echo: hello"];
        let _ = host.json(&words);
    }
    stand.pass("all", 3 * DAY + 3_600_000);
    comes_to(host, "once", "answered");
    comes_to(host, "skip", "missed");
    let states = |job| history(host, job).iter().map(|fire| text(fire, "state")).collect::<Vec<_>>();
    host.wait_for("four are made up for", || {
        states("all").iter().filter(|it| *it == "answered").count() == 4
    });
    assert_eq!(states("once"), ["answered", "missed", "missed", "missed"]);
    assert_eq!(states("skip"), ["missed"; 4]);
    let before = host.messages_by("schedule").len();
    assert_eq!(before, 5);
    for days in [-1, 0, 2] {
        stand.clock.step(host, days * DAY);
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
    assert_eq!(host.messages_by("schedule").len(), before, "these days were dealt with");
}

// Holds P12-41.
#[test]
fn a_time_is_skipped_while_the_message_before_is_not_over() {
    let stand = Stand::start("");
    let host = &stand.host;
    let _ = host.json(&["schedule", "every", "60s", "--name", "slow", "run: sleep 6; echo done"]);
    stand.pass("slow", 100);
    comes_to(host, "slow", "running");
    stand.pass("slow", 100);
    let skipped = comes_to(host, "slow", "skipped");
    assert_eq!(text(&skipped, "reason"), "the message before is not over");
    host.wait_for("the first is answered", || history(host, "slow")[1]["state"] == "answered");
    assert_eq!(host.messages_by("schedule").len(), 1);
    let busy = host.recorded("job_fired").iter().filter(|it| it["result"] == "blocked").count();
    assert_eq!(busy, 1, "it is on the record");
}

// Holds P12-43.
#[test]
fn a_call_that_would_ask_is_refused_and_told_or_waits_if_the_job_says_so() {
    let stand = Stand::start("[policy]\nautonomy = \"supervised\"\n");
    let host = &stand.host;
    let _ = host.json(&["schedule", "every", "1d", "--name", "alone", "run: echo done"]);
    let _ = host.json(&["schedule", "run", "alone"]);
    comes_to(host, "alone", "answered");
    assert!(said(host, "alone").contains("before which nobody sits"), "{}", said(host, "alone"));
    assert_eq!(host.json(&["approvals", "list"])["approvals"].as_array().map(Vec::len), Some(0));
    let words = ["schedule", "every", "1d", "--name", "asks", "--ask", "wait", "run: echo done"];
    let _ = host.json(&words);
    let _ = host.json(&["schedule", "run", "asks"]);
    let again = host.ask(&["schedule", "run", "asks"]);
    assert_eq!(again["error"]["type"], "still_runs", "{again}");
    let question = host.question();
    let expires = host.approval(&question)["expires_ms"].as_i64().unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    assert!(expires - i64::try_from(now).unwrap() > DAY - 60_000, "it waits for a day");
    host.approve(&question);
    comes_to(host, "asks", "answered");
}

// Holds P12-43.
#[test]
fn a_message_that_has_used_its_tokens_fails_and_asks_no_model_any_more() {
    let stand = Stand::start("[agent.default]\nmodel = \"scripted/many\"\n");
    let host = &stand.host;
    let used = serde_json::json!({ "usage": { "input": 900, "output": 200 } });
    let line = serde_json::json!({ "pieces": [call("glob", &serde_json::json!({ "pattern": "*" })), used] });
    host.script("many", &[line.clone(), line]);
    let _ = host.json(&["schedule", "every", "1d", "--name", "dear", "--tokens", "1000", "go"]);
    let _ = host.json(&["schedule", "run", "dear"]);
    let fire = comes_to(host, "dear", "failed");
    assert!(text(&fire, "reason").contains("the 1000 tokens of the job's message are used up"), "{fire}");
}

// Holds P12-44.
#[test]
fn failures_hold_a_job_back_reach_the_owner_and_pause_it_after_eight() {
    let stand = Stand::start("[agent.default]\nmodel = \"scripted/missing\"\n");
    let host = &stand.host;
    let _ = host.json(&["schedule", "every", "60s", "--name", "bad", "hello"]);
    stand.pass("bad", 100);
    comes_to(host, "bad", "failed");
    let shown = |job| host.json(&["schedule", "show", job])["job"].clone();
    assert!(text(&shown("bad"), "why").starts_with("held back for 1 min"), "{}", shown("bad"));
    assert_eq!(host.recorded("alert").iter().filter(|it| it.to_string().contains("job failed")).count(), 1);
    stand.pass("bad", 100);
    comes_to(host, "bad", "skipped");
    for failures in 2..=8 {
        let _ = host.json(&["schedule", "run", "bad"]);
        host.wait_for("one more failure", || shown("bad")["failures"] == failures);
    }
    assert_eq!(shown("bad")["state"], "paused");
    let resumed = host.json(&["schedule", "resume", "bad"]);
    assert_eq!(
        (resumed["job"]["state"].clone(), resumed["job"]["failures"].clone()),
        ("active".into(), 0.into())
    );
}

// Holds P12-44.
#[test]
fn answers_and_failures_go_to_the_conversation_that_a_job_names() {
    let telegram = Telegram::start();
    let host = telegram.host(Setup::default().config(ON), "streaming = \"off\"\ntyping = false\n");
    host.answers(&["the news of today"]);
    let words = ["schedule", "every", "1d", "--name", "news", "--to"];
    let strange = host.ask(&[&words[..], &["main:7", "tell me"]].concat());
    assert_eq!(strange["error"]["type"], "no_target", "{strange}");
    let _ = host.json(&[&words[..], &[&format!("main:{ANN}"), "tell me"]].concat());
    for (count, begin) in
        [(1, "the news of today"), (2, "The message of the job in session job:news was not")]
    {
        let _ = host.json(&["schedule", "run", "news"]);
        host.wait_for("it is sent", || telegram.sent(ANN).len() == count);
        assert!(telegram.sent(ANN)[count - 1].text().starts_with(begin), "{:?}", telegram.sent(ANN));
        let over = if count == 1 { "answered" } else { "failed" };
        comes_to(&host, "news", over);
    }
}

// Holds P12-42.
#[test]
fn what_is_no_job_is_refused_with_its_place() {
    let stand = Stand::start("");
    let host = &stand.host;
    for (words, kind, says) in [
        (&["add", "*/0 * * * *", "x"][..], "bad_expression", "field 1 (minute), `*/0`: step cannot be zero"),
        (&["add", "0 0 30 2 *", "x"], "bad_expression", "no such day ever comes"),
        (&["add", "* * * * * *", "x"], "bad_expression", "has 6 fields"),
        (
            &["add", "0 8 * * *", "--zone", "Europe/Berln", "x"],
            "no_zone",
            "the nearest name is Europe/Berlin",
        ),
        (&["at", "2020-01-01T08:00", "x"], "past", "2020-01-01T08:00 is over already"),
        (&["at", "soon", "x"], "bad_time", "`soon`"),
        (&["every", "59s", "x"], "bad_interval", "an interval of 59 s"),
        (&["every", "1h", " "], "no_prompt", "the message is empty"),
        (&["every", "1h", "--agent", "nobody", "x"], "no_agent", "no such agent"),
        (&["every", "1h", "--name", "a b", "x"], "bad_name", "letters, digits"),
        (&["every", "1h", "--to", "none:1", "x"], "no_target", "none:1"),
        (&["show", "nothing"], "no_job", "agentctl schedule list"),
    ] {
        let refused = host.ask(&[&["schedule"], words].concat());
        assert_eq!(refused["error"]["type"], kind, "{words:?}: {refused}");
        assert!(text(&refused["error"], "message").contains(says), "{words:?}: {refused}");
    }
    let long = "1,".repeat(70);
    assert!(!host.ctl(&["schedule", "add", &format!("{long}1 * * * *"), "x"]).status.success());
    assert_eq!(host.json(&["schedule", "list"])["jobs"].as_array().map(Vec::len), Some(0));
}

// Holds P12-41.
#[test]
fn a_job_is_paused_resumed_and_removed_with_its_history() {
    let stand = Stand::start("");
    let host = &stand.host;
    let _ = host.json(&["schedule", "every", "60s", "echo: hello"]);
    let taken = host.ask(&["schedule", "every", "60s", "--name", "job-1", "echo: hello"]);
    assert_eq!(taken["error"]["type"], "name_taken", "{taken}");
    let due = host.json(&["schedule", "show", "job-1"])["job"]["next"]["ms"].as_i64().unwrap();
    let _ = host.json(&["schedule", "pause", "job-1"]);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    stand.clock.step(host, due + 30_000 - i64::try_from(now).unwrap());
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert_eq!(history(host, "job-1"), [] as [Value; 0], "nothing is missed while it is paused");
    let _ = host.json(&["schedule", "resume", "job-1"]);
    stand.pass("job-1", 100);
    comes_to(host, "job-1", "answered");
    let _ = host.json(&["schedule", "remove", "job-1"]);
    assert_eq!(host.ask(&["schedule", "history", "job-1"])["error"]["type"], "no_job");
    assert_eq!(host.json(&["schedule", "history"])["fires"].as_array().map(Vec::len), Some(0));
}

// Holds P12-42.
#[test]
fn a_host_without_a_scheduler_says_how_to_get_one() {
    let host = Host::start();
    let refused = host.ask(&["schedule", "list"]);
    assert_eq!(refused["error"]["type"], "no_scheduler", "{refused}");
    assert!(text(&refused["error"], "message").contains("enabled = true"), "{refused}");
    assert_eq!(host.process("scheduler"), Value::Null, "it costs an idle host nothing");
}
