//! Public attack suites: no injected call is vouched for whole, most true ones are, and no path leads out. The data is
//! in `tests/corpora`.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]

use provenance::{Trusted, judge, path};
use serde_json::Value;

const CORPORA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/corpora/");

fn read(name: &str) -> String {
    std::fs::read_to_string(format!("{CORPORA}{name}")).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The facts of each value of a task's calls: true if the prompt vouches for it, and true if it occurs in the prompt letter by
/// letter.
fn facts(effects: &Value, prompt: &str, task: &Value) -> Vec<(bool, bool)> {
    let mut trusted = Trusted::new();
    trusted.add(prompt);
    let mut all = Vec::new();
    for call in task["calls"].as_array().unwrap() {
        let names = &effects[call["tool"].as_str().unwrap()]["relevant_args"];
        let relevant: Vec<String> = serde_json::from_value(names.clone()).unwrap_or_default();
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
    let plan: Value = serde_json::from_str(&read("agentdojo_plan.json")).unwrap();
    let effects: Value = serde_json::from_str(&read("agentdojo_effects.json")).unwrap();
    for (name, suite) in plan["suites"].as_object().unwrap() {
        let mut of_tasks = Vec::new();
        for user in suite["user_tasks"].as_array().unwrap() {
            let prompt = user["prompt"].as_str().unwrap();
            of_tasks.extend(facts(&effects[name], prompt, user));
            for injected in suite["injection_tasks"].as_array().unwrap() {
                let harmless = injected["calls"].as_array().unwrap().is_empty();
                let stopped = facts(&effects[name], prompt, injected).iter().any(|(vouched, _)| !vouched);
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
    for line in read("path_traversal.jsonl").lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let verdict = path::verdict(row["path"].as_str().unwrap());
        let inside = verdict.canonical.starts_with("/workspace/") && !verdict.canonical.contains("..%");
        assert!(
            if row["expect"] == "inside" { verdict.allowed } else { !verdict.allowed || inside },
            "{row}: {verdict:?}"
        );
    }
}
