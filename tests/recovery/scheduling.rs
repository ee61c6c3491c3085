//! Jobs whose times come while processes die: each time is one message, whoever is killed around it.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tests::{Clock, Host, Setup, kill, text};

const ON: &str = "[scheduler]\nenabled = true\n";
const MINUTE: i64 = 60_000;

fn now() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

fn fires(host: &Host) -> Vec<Value> {
    host.json(&["schedule", "history"])["fires"].as_array().cloned().unwrap()
}

fn is_over(fire: &Value) -> bool {
    !["due", "running"].contains(&fire["state"].as_str().unwrap())
}

/// Kills a process, if it is there.
fn end(host: &Host, name: &str) {
    let status = host.try_status().unwrap_or_default();
    let all = status["processes"].as_array().cloned().unwrap_or_default();
    let pid = all.iter().find(|process| process["name"] == name).and_then(|process| process["pid"].as_i64());
    if let Some(pid) = pid.filter(|pid| *pid > 0) {
        kill(i32::try_from(pid).unwrap());
    }
}

/// The state of a process, as far as control answers.
fn state(host: &Host, name: &str) -> String {
    let status = host.try_status().unwrap_or_default();
    let all = status["processes"].as_array().cloned().unwrap_or_default();
    let found = all.iter().find(|process| process["name"] == name).and_then(|it| it["state"].as_str());
    found.unwrap_or_default().to_owned()
}

/// Holds these processes and releases them, so that agentd forgets their many ends.
fn renew(host: &Host, names: &[&str]) {
    for name in names {
        let _ = host.ask(&["hold", name]);
        host.wait_for("it is held", || state(host, name) == "held");
        let _ = host.ask(&["release", name]);
    }
    host.wait_for("they are back", || names.iter().all(|name| state(host, name) == "ready"));
}

/// Rounds of the test below: `CORDON_KILLS` by hand.
fn rounds() -> u32 {
    std::env::var("CORDON_KILLS").ok().and_then(|number| number.parse().ok()).unwrap_or(20)
}

// Holds P12-40.
#[test]
fn each_time_is_one_message_whoever_is_killed_around_it() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Clock::new(folder.path());
    let host = clock.setup().config(ON).start();
    let added =
        host.json(&["schedule", "add", "* * * * *", "--name", "tick", "--missed", "all", "echo: tick"]);
    let first = added["job"]["next"]["ms"].as_i64().unwrap();
    let victims = [&["scheduler"][..], &["router"], &["scheduler", "router"], &["audit", "scheduler"]];
    let mut expected = BTreeMap::new();
    for round in 0..rounds() {
        let due = first + i64::from(round) * MINUTE;
        clock.put(due - now() - 300);
        // From before the time has come to after its message is over.
        std::thread::sleep(Duration::from_millis(u64::from(round % 12) * 120));
        let victims = victims[usize::try_from(round / 12).unwrap() % victims.len()];
        victims.iter().for_each(|name| end(&host, name));
        host.wait_for("the time is over", || {
            let ask = host.ask(&["schedule", "history", "tick"]);
            let all = ask["fires"].as_array().cloned().unwrap_or_default();
            all.iter().any(|fire| fire["due_ms"] == due && is_over(fire))
        });
        expected.insert(due, ());
        renew(&host, victims);
    }
    let listed = host.json(&["schedule", "history", "tick"])["fires"].as_array().cloned().unwrap();
    for fire in &listed {
        assert_eq!(fire["state"], "answered", "{fire}");
    }
    let dues: Vec<i64> = listed.iter().rev().map(|fire| fire["due_ms"].as_i64().unwrap()).collect();
    let last: Vec<i64> = expected.into_keys().rev().take(listed.len()).collect();
    assert!(dues.iter().rev().eq(&last), "each time is there once: {dues:?}");
    let messages = host.json(&["session", "show", "job:tick"])["session"]["messages"].as_u64().unwrap();
    assert_eq!(messages, u64::from(rounds()), "each time is one message");
}

// Holds P12-40.
#[test]
fn a_death_at_any_step_of_a_time_repeats_no_message() {
    for point in [
        "scheduler:scheduler.add.recorded",
        "scheduler:scheduler.add.committed",
        "scheduler:scheduler.due.recorded",
        "scheduler:scheduler.due.committed",
        "scheduler:scheduler.submitted",
        "router:router.submit.checked",
        "router:router.submit.committed",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock::new(folder.path());
        let host = clock.setup().config(ON).arguments(&["--fault", point]).start();
        let added = host.json(&["schedule", "every", "60s", "--name", "tick", "echo: tick"]);
        clock.step(&host, added["job"]["next"]["ms"].as_i64().unwrap() - now() + 100);
        host.wait_for(point, || fires(&host).first().is_some_and(is_over));
        assert_eq!(text(&fires(&host)[0], "state"), "answered", "{point}");
        assert_eq!((fires(&host).len(), host.messages_by("schedule").len()), (1, 1), "{point}");
        let (name, _) = point.split_once(':').unwrap();
        assert_eq!(host.process(name)["restarts"], 1, "{point} was never reached");
    }
}

// Holds P12-40.
#[test]
fn weekdays_at_eight_are_one_answer_a_day_over_a_month_with_kills() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Clock::new(folder.path());
    let host = clock.setup().config(ON).start();
    let words = ["schedule", "add", "0 8 * * 1-5", "--zone", "Europe/Berlin", "--name", "notes"];
    let _ = host.json(&[&words[..], &["echo: my notes"]].concat());
    let mut shown = Vec::new();
    for day in 0..22 {
        let next = host.json(&["schedule", "show", "notes"])["job"]["next"].clone();
        shown.push(text(&next, "shown"));
        clock.put(next["ms"].as_i64().unwrap() - now() - 200);
        std::thread::sleep(Duration::from_millis(day * 30));
        let victim = ["scheduler", "router"][usize::try_from(day % 2).unwrap()];
        end(&host, victim);
        host.wait_for("the day is over", || {
            let ask = host.ask(&["schedule", "history", "notes"]);
            let all = ask["fires"].as_array().cloned().unwrap_or_default();
            all.iter().any(|fire| fire["due_ms"] == next["ms"] && is_over(fire))
        });
        renew(&host, &[victim]);
    }
    assert!(shown.iter().all(|shown| shown.contains(" 08:00:00 CE")), "{shown:?}");
    assert!(!shown.iter().any(|shown| shown.starts_with("Sat") || shown.starts_with("Sun")), "{shown:?}");
    assert!(fires(&host).iter().all(|fire| fire["state"] == "answered"));
    assert_eq!((fires(&host).len(), host.messages_by("schedule").len()), (22, 22));
}

// Holds P12-41.
#[test]
fn times_that_come_while_the_host_is_down_are_made_up_for_once() {
    let folder = tempfile::tempdir().unwrap();
    let (clock, state) = (Clock::new(folder.path()), folder.path().join("state"));
    std::fs::create_dir(&state).unwrap();
    let start = || -> Setup { clock.setup().config(ON).state(&state) };
    let mut host = start().start();
    let added = host.json(&["schedule", "every", "1h", "--name", "tick", "echo: tick"]);
    let next = added["job"]["next"]["ms"].as_i64().unwrap();
    host.stop();
    clock.put(next - now() + 5 * 60 * MINUTE + 5 * MINUTE);
    let host = start().start();
    host.wait_for("it is made up for", || {
        fires(&host).first().is_some_and(|fire| fire["state"] == "answered")
    });
    let states: Vec<String> = fires(&host).iter().map(|fire| text(fire, "state")).collect();
    assert_eq!(states, ["answered", "missed", "missed", "missed", "missed", "missed"]);
    assert_eq!(host.messages_by("schedule").len(), 1);
}

// Holds P12-46.
#[test]
fn an_approved_proposal_is_one_job_whoever_dies_meanwhile() {
    let config = format!(
        "{ON}[agent.default]\nmodel = \"scripted/secretary\"\nprofile = \"standard\"\nschedule = true\n"
    );
    let call = json!({ "at": "2099-01-01T08:00", "name": "rent", "prompt": "Say that the rent is due" });
    let mut lines =
        vec![json!({ "match": "of the rent", "pieces": [tests::call("scheduler_run_at", &call)] })];
    lines.extend((0..40).map(|_| json!({ "pieces": [{ "text": "that is all" }] })));
    for (point, added) in [
        ("scheduler:scheduler.add.recorded", Some(1)),
        ("scheduler:scheduler.add.committed", Some(1)),
        ("gate:gate.asked", Some(1)),
        ("gate:gate.approval.claimed", None),
        ("gate:gate.effect.done", Some(1)),
    ] {
        let host = Setup::default().config(&config).arguments(&["--fault", point]).start();
        host.script("secretary", &lines);
        let turn = host.say("s", "remind me of the rent");
        let question = host.question();
        host.approve(&question);
        let ended = turn.ended();
        assert_eq!(ended["end"], "answered", "{point}: {ended}");
        let jobs = host.json(&["schedule", "list"])["jobs"].as_array().map(Vec::len).unwrap();
        // A call that was released to a gate that died may not have run, and then never runs.
        assert!(added.map_or(jobs <= 1, |added| jobs == added), "{point}: {jobs} jobs: {ended}");
        let (name, _) = point.split_once(':').unwrap();
        assert_eq!(host.process(name)["restarts"], 1, "{point} was never reached");
    }
}
