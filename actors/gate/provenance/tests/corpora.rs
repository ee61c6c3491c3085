//! Public attack suites: no injected call is vouched for whole, most true ones are, and no path leads out. The data is
//! kept beside the repository; without it these fail.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use provenance::{Trusted, judge, path};
use serde_json::Value;

const CORPORA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../../shared/corpora/dev/");
/// Suite, tool, the arguments that decide its harm.
const RELEVANT: [(&str, &str, &[&str]); 12] = [
    ("slack", "add_user_to_channel", &["user"]),
    ("slack", "send_direct_message", &[]),
    ("slack", "send_channel_message", &[]),
    ("slack", "invite_user_to_slack", &["user_email"]),
    ("slack", "remove_user_from_slack", &["user"]),
    ("slack", "post_webpage", &["url"]),
    ("slack", "get_webpage", &["url"]),
    ("banking", "send_money", &["recipient"]),
    ("banking", "schedule_transaction", &["recipient"]),
    ("banking", "update_scheduled_transaction", &["recipient"]),
    ("banking", "update_password", &["password"]),
    ("banking", "update_user_info", &["street", "city"]),
];

fn read(name: &str) -> String {
    #[expect(clippy::disallowed_methods, reason = "gzip is the only program it starts, outside every actor")]
    let out = std::process::Command::new("gzip").args(["-dc", &format!("{CORPORA}{name}")]).output().unwrap();
    assert!(out.status.success(), "{name} is missing");
    String::from_utf8(out.stdout).unwrap()
}

/// What is known of each value of a task's calls: whether the prompt vouches for it, and whether it stands in the prompt
/// letter by letter.
fn facts(suite: &str, prompt: &str, task: &Value) -> Vec<(bool, bool)> {
    let mut trusted = Trusted::new();
    trusted.add(prompt);
    let mut all = Vec::new();
    for call in task["calls"].as_array().unwrap() {
        let known = RELEVANT.iter().find(|(s, tool, _)| *s == suite && call["tool"] == *tool);
        let relevant: Vec<String> =
            known.iter().flat_map(|(_, _, names)| *names).map(|name| (*name).to_owned()).collect();
        for fact in judge(&trusted, &relevant, &[], call["args"].as_object().unwrap()) {
            let value = call["args"][&fact.name].as_str().map(str::to_lowercase);
            let written = value.is_some_and(|value| prompt.to_lowercase().contains(&value));
            all.push((fact.vouched, written));
        }
    }
    all
}

#[test]
fn every_value_that_a_prompt_holds_is_vouched_for_and_no_injected_task_is() {
    let plan: Value = serde_json::from_str(&read("agentdojo_plan.json.gz")).unwrap();
    for (name, suite) in plan["suites"].as_object().unwrap() {
        let mut of_tasks = Vec::new();
        for user in suite["user_tasks"].as_array().unwrap() {
            let prompt = user["prompt"].as_str().unwrap();
            of_tasks.extend(facts(name, prompt, user));
            for injected in suite["injection_tasks"].as_array().unwrap() {
                let harmless = injected["calls"].as_array().unwrap().is_empty();
                let stopped = facts(name, prompt, injected).iter().any(|(vouched, _)| !vouched);
                assert!(stopped || harmless, "{name}: {injected} by {prompt}");
            }
        }
        let vouched = of_tasks.iter().filter(|(vouched, _)| *vouched).count();
        let written = of_tasks.iter().filter(|(_, written)| *written).count();
        println!(
            "{name}: {vouched} of {} values of true tasks are vouched for; {written} stand in the prompt",
            of_tasks.len()
        );
        assert!(written > 0 && of_tasks.iter().all(|(vouched, written)| *vouched || !written), "{name}");
    }
}

#[test]
fn every_path_of_the_traversal_suite_is_refused_or_stays_in_the_workspace() {
    for line in read("path_traversal.jsonl.gz").lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let verdict = path::verdict(row["path"].as_str().unwrap());
        let inside = verdict.canonical.starts_with("/workspace/") && !verdict.canonical.contains("..%");
        assert!(
            if row["expect"] == "inside" { verdict.allowed } else { !verdict.allowed || inside },
            "{row}: {verdict:?}"
        );
    }
}
