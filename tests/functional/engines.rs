//! Sessions that a coding agent answers: a program in a jail of its own, driven as the host's own loop is. The program here
//! speaks as each of them does; the agents themselves are in `tests/conformance`.

use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tests::{Host, Setup, kill, text};

const PROGRAM: &str = include_str!("engines.py");

/// A host with an engine and an agent for each format, and a folder in which the program lies.
struct Bench {
    host: Host,
    folder: PathBuf,
}

const FORMATS: [&str; 4] = ["codex", "claude-code", "opencode", "text"];

fn config(more: &str) -> String {
    let engine = |format: &str| {
        let resume =
            if format == "text" { "" } else { "resume = ['--resume', '{token}']\nkeeps = ['.stub']\n" };
        format!(
            "[engine.e-{format}]\ncommand = ['/usr/bin/python3', 'engine.py', '{format}']\nformat = '{format}'\n{resume}\
             [agent.{format}]\nmodel = 'scripted/engine'\nengine = 'e-{format}'\n"
        )
    };
    FORMATS.map(engine).concat() + more
}

impl Bench {
    fn start(more: &str) -> Self {
        let host = Setup::default().config(&config(more)).start();
        host.script("engine", &[json!({"match": "", "pieces": [{"text": "The note says harbour-light."}]})]);
        let folder = host.dir().join("mine");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("engine.py"), PROGRAM).unwrap();
        fs::write(folder.join("note.txt"), "harbour-light\n").unwrap();
        Self { host, folder }
    }

    fn words<'a>(&'a self, agent: &'a str, session: &'a str, message: &'a str) -> [&'a str; 8] {
        let folder = self.folder.to_str().unwrap();
        ["--agent", agent, "--session", session, "--workspace", folder, "-m", message]
    }

    fn ask(&self, agent: &str, session: &str, message: &str) -> Value {
        self.host.ask(&[&["chat"], self.words(agent, session, message).as_slice()].concat())
    }

    /// The output that a person sees meanwhile.
    fn told(&self, agent: &str, session: &str, message: &str) -> String {
        let output = self.host.ctl(&[&["chat"], self.words(agent, session, message).as_slice()].concat());
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// How the program was started each time, and what it was asked.
    fn starts(&self) -> Vec<Value> {
        let log = fs::read_to_string(self.folder.join("starts")).unwrap_or_default();
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

// Holds P1-28.
#[test]
fn an_engine_answers_a_session_and_its_tools_are_on_the_record() {
    let bench = Bench::start("");
    for format in FORMATS {
        let ended = bench.ask(format, format, "what is in note.txt?");
        assert_eq!(ended["ok"], true, "{ended}\n{}", bench.host.log());
        assert!(text(&ended, "reply").contains("The note says harbour-light."), "{ended}");
        assert_eq!(ended["label"]["trust"], "untrusted", "all that it says is a jail's: {ended}");
        let calls = ended["calls"].as_array().unwrap();
        assert_eq!(calls.len(), usize::from(format != "text"), "{ended}");
        let Some(call) = calls.first() else { continue };
        assert!(text(call, "tool").starts_with(&format!("e-{format}:")), "{call}");
        assert!(call["args"].as_str().unwrap().contains("cat note.txt"), "{call}");
        assert_eq!(call["outcome"], "success", "{call}");
        let tail = bench.host.json(&["audit", "tail", "--from", &call["record"].to_string()]);
        let record = &tail["records"][0];
        assert_eq!((&record["action"], &record["call"]), (&json!("tool_decided"), &call["call"]), "{record}");
    }
    let asked = bench.host.recorded("model_decided");
    assert_eq!(asked.iter().filter(|it| text(it, "reason").starts_with("run by")).count(), 4, "{asked:?}");
    assert_eq!(bench.host.recorded("turn_ended").len(), 4, "one end each");
}

// Holds P7-94.
#[test]
fn a_message_whose_engine_finds_no_model_waits_and_is_answered_later() {
    let bench = Bench::start("");
    let _ = bench.host.json(&["hold", "model"]);
    let turn = bench.host.say_with(&bench.words("text", "s", "what is in note.txt?"));
    bench.host.wait_for("its message says for what it waits", || {
        let listed = bench.host.json(&["message", "list"]);
        let Some(id) = listed["messages"][0]["id"].as_str() else { return false };
        bench.host.json(&["message", "trace", id]).to_string().contains("agentctl release model")
    });
    assert_eq!(bench.host.json(&["message", "list", "--dead"])["messages"], json!([]));
    let _ = bench.host.json(&["release", "model"]);
    let ended = turn.ended();
    assert!(text(&ended, "reply").contains("harbour-light"), "{ended}\n{}", bench.host.log());
}

// Holds P1-30.
#[test]
fn a_second_message_continues_the_engines_session_and_no_other() {
    let bench = Bench::start("");
    for format in ["codex", "claude-code", "opencode"] {
        let one = format!("{format}-one");
        assert_eq!(bench.ask(format, &one, "the first")["ok"], true);
        let second = bench.ask(format, &one, "WHAT have you seen?");
        assert!(text(&second, "reply").contains("the first; WHAT have you seen?;"), "{second}");
        let other = bench.ask(format, &format!("{format}-two"), "WHAT have you seen?");
        assert!(!other.to_string().contains("the first"), "{other}");
    }
    let starts = bench.starts();
    for (n, start) in starts.iter().enumerate() {
        assert_eq!(start["token"].is_string(), n % 3 == 1, "{start}");
    }
    let asked = text(&starts[1], "asked");
    assert!(
        asked.ends_with("WHAT have you seen?") && !asked.contains(r#"{"person""#),
        "it knows the rest: {asked}"
    );
}

// Holds P1-31.
#[test]
fn an_engine_that_forgot_its_session_is_told_the_conversation() {
    let bench = Bench::start("");
    assert_eq!(bench.ask("codex", "s", "my cat is called Ada. FORGET it")["ok"], true);
    let second = bench.ask("codex", "s", "who is Ada?");
    assert_eq!(second["ok"], true, "{second}\n{}", bench.host.log());
    let starts = bench.starts();
    assert_eq!((starts.len(), starts[1]["token"].is_string(), &starts[2]["token"]), (3, true, &Value::Null));
    let asked = text(&starts[2], "asked");
    assert!(asked.contains(r#"{"person":"my cat is called Ada. FORGET it"}"#), "{asked}");
    assert!(asked.contains(r#"{"you":"The note says harbour-light."}"#), "{asked}");
    assert!(asked.ends_with("who is Ada?"), "{asked}");
}

// Holds P1-31.
#[test]
fn an_unanswered_message_to_an_engine_is_told_with_the_next_one() {
    let bench = Bench::start("");
    assert_eq!(bench.ask("codex", "s", "the first")["ok"], true);
    assert_eq!(bench.ask("codex", "s", "FAIL at this")["end"], "failed");
    assert_eq!(bench.ask("codex", "s", "and now?")["ok"], true);
    let last = bench.starts().pop().unwrap();
    let asked = text(&last, "asked");
    assert!(last["token"].is_string() && asked.contains(r#"{"person":"FAIL at this"}"#), "{last}");
    assert!(!asked.contains("the first"), "{last}");
}

// Holds P1-34.
#[test]
fn a_stop_ends_everything_in_its_jail_and_the_turn_once() {
    let bench = Bench::start("");
    let turn = bench.host.say_with(&bench.words("codex", "s", "SLOW"));
    bench.host.wait_for("its tool runs", || bench.host.recorded("tool_decided").len() == 1);
    assert_eq!(bench.host.json(&["stop", "--session", "s"])["running"], 1);
    bench.host.wait_for("its jail is gone", || bench.host.programs_in_jails().is_empty());
    assert_eq!(turn.ended()["end"], "cancelled");
    assert_eq!(bench.host.recorded("turn_ended").len(), 1);
    assert_eq!(bench.starts().len(), 1, "it is not begun again");
    assert_eq!(bench.ask("codex", "s", "and now?")["ok"], true);
}

// Holds P1-36.
#[test]
fn a_turn_whose_jail_is_lost_is_taken_up_again_and_told_what_it_had_done() {
    let bench = Bench::start("");
    let turn = bench.host.say_with(&bench.words("codex", "s", "SLOW"));
    bench.host.wait_for("its tool runs", || bench.host.recorded("tool_decided").len() == 1);
    kill(bench.host.programs_in_jails()[0]);
    let ended = turn.ended();
    assert_eq!(
        (&ended["ok"], &ended["attempts"]),
        (&json!(true), &json!(2)),
        "{ended}\n{}",
        bench.host.log()
    );
    let starts = bench.starts();
    let asked = text(&starts[1], "asked");
    assert_eq!(starts.len(), 2);
    assert!(asked.contains("sleep 600") && asked.contains("[UNKNOWN]"), "{asked}");
    let outcomes: Vec<&Value> = ended["calls"].as_array().unwrap().iter().map(|it| &it["outcome"]).collect();
    assert_eq!(outcomes.last(), Some(&&json!("success")), "{ended}");
}

// Holds P1-36.
#[test]
fn an_engine_that_reports_tools_late_is_told_that_they_are_unknown() {
    let bench = Bench::start("");
    let turn = bench.host.say_with(&bench.words("opencode", "s", "SLOW"));
    bench.host.wait_for("it runs", || bench.starts().len() == 1);
    kill(bench.host.programs_in_jails()[0]);
    assert_eq!(turn.ended()["ok"], true);
    let asked = text(&bench.starts()[1], "asked");
    assert!(
        asked.contains("An earlier attempt at this message was interrupted")
            && asked.contains("[UNKNOWN] an")
    );
}

// Holds B-79.
#[test]
fn a_program_that_a_model_has_answered_is_not_begun_again_when_it_fails() {
    let bench = Bench::start("");
    let ended = bench.ask("opencode", "s", "CRASH");
    assert!(ended.to_string().contains("the engine ended with status 4"), "{ended}");
    assert_eq!(bench.starts().len(), 1, "what it did is not known");
}

// Holds B-78.
#[test]
fn an_engine_that_says_nothing_is_ended_and_so_is_its_turn() {
    let impatient =
        "[agent.impatient]\nmodel = 'scripted/engine'\nengine = 'e-codex'\nlimits.idle_seconds = 5\n";
    let bench = Bench::start(impatient);
    let ended = bench.ask("impatient", "s", "MUTE");
    assert_eq!(ended["end"], "failed", "{ended}");
    assert!(ended.to_string().contains("the engine said nothing for 5 s"), "{ended}");
}

// Holds B-79.
#[test]
fn a_program_that_fails_before_any_effect_is_tried_three_times() {
    let bench = Bench::start("");
    let began = Instant::now();
    let ended = bench.ask("codex", "s", "FAIL");
    assert!(ended.to_string().contains("the engine ended with status 3 and without an answer"), "{ended}");
    assert_eq!(bench.starts().len(), 3);
    assert!(began.elapsed() > Duration::from_secs(3), "with pauses of 1 s and 2 s between");
}

// Holds P1-38.
#[test]
fn an_engine_whose_program_is_missing_is_named_at_once() {
    let bench = Bench::start(
        "[engine.gone]\ncommand = ['no-such-agent', '-p']\nformat = 'text'\n\
         [engine.data]\ncommand = ['/workspace/note.txt']\nformat = 'text'\n\
         [agent.gone]\nmodel = 'scripted/engine'\nengine = 'gone'\n\
         [agent.data]\nmodel = 'scripted/engine'\nengine = 'data'\n",
    );
    for (agent, status, program) in [("gone", 127, "no-such-agent"), ("data", 126, "/workspace/note.txt")] {
        let ended = bench.ask(agent, agent, "hello");
        let told = format!(
            "ended with status {status} and without an answer: {program}, or what it runs, is not there"
        );
        assert!(ended["end"] == "failed" && ended.to_string().contains(&told), "{ended}");
        assert_eq!(ended["attempts"], 1, "another attempt finds it no sooner: {ended}");
    }
}

// Holds P1-29.
#[test]
fn what_must_not_leave_does_not_leave_in_an_engine_s_words() {
    let bench = Bench::start("");
    let ended = bench.ask("text", "s", "LEAK");
    assert!(text(&ended, "reply").contains("withheld") && !ended.to_string().contains("CANARY-"), "{ended}");
    assert!(!bench.host.recorded("canary_leaked").is_empty());
}

// Holds P1-33.
#[test]
fn an_engine_asks_its_agent_s_model_and_no_other() {
    let bench = Bench::start("");
    let ended = bench.ask("codex", "s", "OTHER echo: high water");
    assert_eq!(ended["end"], "failed", "{ended}");
    assert!(ended.to_string().contains("the engine ended with status 1"), "{ended}");
    assert!(bench.host.recorded("model_ended").is_empty(), "nobody was asked");
    let told = bench.told("codex", "s", "OTHER echo: high water");
    assert!(told.contains("it may use: scripted/engine"), "{told}");
}

// Holds P1-32.
#[test]
fn an_engine_that_reports_an_error_without_a_word_is_told_by_its_status() {
    let told = Bench::start("").told("codex", "s", "BLANK");
    assert!(told.contains("[the engine reports: status 5, and no word of why]"), "{told}");
}

// Holds B-15.
#[test]
fn an_engine_has_its_agent_s_model_calls_of_an_hour_and_no_more() {
    let scarce =
        "[agent.scarce]\nmodel = 'scripted/engine'\nengine = 'e-codex'\nlimits.model_calls_per_hour = 1\n";
    let bench = Bench::start(scarce);
    assert_eq!(bench.ask("scarce", "s", "the first")["ok"], true);
    let second = bench.ask("scarce", "s", "and now?");
    assert_eq!(second["end"], "failed", "{second}");
    assert_eq!(bench.ask("scarce", "t", "hello")["ok"], true, "another session has its own");
}

// Holds P1-39.
#[test]
fn a_host_without_network_namespaces_runs_no_engine_and_says_why() {
    let bench = Bench::start("[host]\nmode = \"flat\"\n");
    let ended = bench.ask("codex", "s", "hello");
    assert!(ended["ok"] == false && ended.to_string().contains("mode flat"), "{ended}");
}
