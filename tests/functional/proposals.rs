//! Jobs that agents propose: each exists once a person approved what they read, and its answers go back to where it was proposed.

use serde_json::{Value, json};
use tests::telegram::{ANN, Telegram};
use tests::{Host, Setup, text};

const CONFIG: &str = "[scheduler]\nenabled = true\n\
    [agent.default]\nmodel = \"scripted/secretary\"\nprofile = \"standard\"\nschedule = true\n\
    [agent.other]\nmodel = \"scripted/secretary\"\nprofile = \"standard\"\nschedule = true\n";

/// A model that makes one call for each of these words, and has nothing else to say.
fn secretary(host: &Host, calls: &[(&str, &str, Value)]) {
    let called = |(words, tool, args): &(&str, &str, Value)| json!({ "match": words, "pieces": [tests::call(tool, args)] });
    let plain = (0..40).map(|_| json!({ "pieces": [{ "text": "that is all" }] }));
    let lines: Vec<Value> = calls.iter().map(called).chain(plain).collect();
    host.script("secretary", &lines);
}

fn jobs(host: &Host) -> Vec<Value> {
    host.json(&["schedule", "list"])["jobs"].as_array().cloned().unwrap()
}

fn news() -> Value {
    json!({ "cron": "0 8 * * 1-5", "zone": "Europe/Berlin", "name": "news", "prompt": "Read me the news of today" })
}

// Holds P12-46.
#[test]
fn an_agent_s_job_is_there_once_a_person_approved_what_they_read() {
    let host = Setup::default().config(CONFIG).start();
    secretary(&host, &[("every morning", "scheduler_add_cron", news())]);
    for approved in [false, true] {
        let turn = host.say("s", "the news every morning, please");
        let question = host.question();
        let shown = host.approval(&question);
        let read = text(&shown, "preview");
        for part in
            ["at 08:00", "Monday", "Friday", "Europe/Berlin", " 08:00:00 CE", "Read me the news of today"]
        {
            assert!(read.contains(part), "{part}: {read}");
        }
        assert_eq!(jobs(&host), [] as [Value; 0], "it is only proposed");
        if approved {
            host.approve(&question)
        } else {
            host.deny(&question)
        }
        let ended = turn.ended();
        assert_eq!(ended["calls"][0]["verdict"], if approved { "run" } else { "refused" }, "{ended}");
        assert_eq!(jobs(&host).len(), usize::from(approved), "{ended}");
    }
    let job = host.json(&["schedule", "show", "news"])["job"].clone();
    assert_eq!(
        (&job["proposed"], &job["agent"], &job["asks"]),
        (&json!(true), &json!("default"), &json!(false))
    );
    assert_eq!(
        (text(&job, "session"), text(&job, "message")),
        ("job:news".to_owned(), text(&news(), "prompt"))
    );
    let changed = host.recorded("job_changed");
    assert!(text(&changed[0], "reason").starts_with("proposed by the agent default of "), "{changed:?}");
    let _ = host.json(&["schedule", "run", "news"]);
    host.wait_for("it is answered", || {
        host.json(&["schedule", "history", "news"])["fires"][0]["state"] == "answered"
    });
}

// Holds P12-46.
#[test]
fn an_agent_lists_and_removes_the_jobs_that_it_added_and_no_other() {
    let host = Setup::default().config(CONFIG).start();
    let calls = [
        ("every morning", "scheduler_add_cron", news()),
        ("what is there", "scheduler_list", json!({})),
        ("drop news", "scheduler_remove", json!({ "job": "news" })),
        ("drop mine", "scheduler_remove", json!({ "job": "mine" })),
    ];
    secretary(&host, &calls);
    let _ = host.json(&["schedule", "every", "1d", "--name", "mine", "the words of a person"]);
    let turn = host.say("s", "every morning");
    host.approve(&host.question());
    let _ = turn.ended();
    // The last words of a tool in a session.
    let output = |session: &str, agent: &str, words: &str| {
        let _ = host.say_with(&["--session", session, "--agent", agent, "-m", words]).ended();
        let shown = host.json(&["session", "show", session])["transcript"].clone();
        let said = shown.as_array().cloned().unwrap_or_default();
        said.iter().rev().find(|one| one["role"] == "tool").map(|one| text(one, "text")).unwrap_or_default()
    };
    let listed = output("s", "default", "what is there");
    assert!(listed.contains("news: cron 0 8 * * 1-5, Europe/Berlin; next: "), "{listed}");
    assert!(listed.contains("Read me the news of today") && !listed.contains("mine"), "{listed}");
    assert!(output("o", "other", "what is there").contains("there are none"));
    for (session, agent, words) in [("o", "other", "drop news"), ("s", "default", "drop mine")] {
        let refused = output(session, agent, words);
        assert!(refused.contains("you have added no job of this name"), "{words}: {refused}");
    }
    assert_eq!(jobs(&host).len(), 2);
    assert!(output("s", "default", "drop news").contains("is removed"));
    assert_eq!(jobs(&host).iter().map(|job| text(job, "name")).collect::<Vec<_>>(), ["mine"]);
}

// Holds P12-46.
#[test]
fn what_is_no_job_is_refused_before_anybody_is_asked() {
    let host = Setup::default().config(CONFIG).start();
    let at = |at: &str| json!({ "at": at, "prompt": "hello" });
    let cron = |cron: &str| json!({ "cron": cron, "prompt": "hello" });
    let cases = [
        ("first", "scheduler_run_at", at("2020-01-01T08:00"), "is over already"),
        ("second", "scheduler_add_cron", cron("*/0 * * * *"), "step cannot be zero"),
        ("third", "scheduler_add_cron", cron("0 0 30 2 *"), "no such day ever comes"),
        (
            "fourth",
            "scheduler_run_at",
            json!({ "at": "2099-01-01T08:00", "zone": "Mars", "prompt": "x" }),
            "Mars",
        ),
        (
            "fifth",
            "scheduler_run_at",
            json!({ "at": "2099-01-01T08:00", "prompt": "x".repeat(2049) }),
            "2048 bytes",
        ),
    ];
    let calls: Vec<_> = cases.iter().map(|(words, tool, args, _)| (*words, *tool, args.clone())).collect();
    secretary(&host, &calls);
    for (words, _, _, why) in &cases {
        let ended = host.say(words, words).ended();
        assert_eq!(ended["calls"][0]["verdict"], "refused", "{ended}");
        assert!(text(&ended["calls"][0], "reason").contains(why), "{words}: {ended}");
    }
    assert_eq!(host.json(&["approvals", "list"])["approvals"], json!([]));
    assert_eq!(jobs(&host), [] as [Value; 0]);
}

// Holds P12-46.
#[test]
fn a_job_proposed_in_a_chat_answers_in_that_chat() {
    let telegram = Telegram::start();
    let agent = "[agent.helper]\nmodel = \"scripted/secretary\"\nprofile = \"standard\"\nschedule = true\n";
    let setup = Setup::default().config(&format!("[scheduler]\nenabled = true\n{agent}"));
    let host = telegram.host(setup, "streaming = \"off\"\ntyping = false\nagent = \"helper\"\n");
    let call = json!({ "at": "2099-01-01T08:00", "name": "rent", "prompt": "Say that the rent is due" });
    secretary(&host, &[("of the rent", "scheduler_run_at", call)]);
    telegram.direct(ANN, "remind me of the rent");
    let question = host.question();
    assert!(text(&host.approval(&question), "preview").contains(&format!("answers: main:{ANN}")));
    host.approve(&question);
    host.wait_for("the job is there", || jobs(&host).len() == 1);
    // Another user's job is named by its id.
    let id = text(&jobs(&host)[0], "id");
    assert_eq!(host.json(&["schedule", "show", &id])["job"]["to"], format!("main:{ANN}"));
    let _ = host.json(&["schedule", "run", &id]);
    host.wait_for("the answer is sent", || {
        host.messages_by("schedule").first().is_some_and(|message| message["state"] == "delivered")
    });
}
