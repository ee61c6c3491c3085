//! AgentDojo's true calls, replayed through the simulation: every user task alone, and every user task followed by
//! every injection task, as if the model had done all that the injected text asked for.

use policy::Engine;
use policy::offline::Simulation;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const CORPORA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/corpora/");

/// The result of one suite.
#[derive(Debug, Default)]
pub(crate) struct Suite {
    pub(crate) name: String,
    /// Pairs of a user task and an injection task that has calls.
    pub(crate) pairs: usize,
    /// Pairs whose injection ran whole, with no question.
    pub(crate) through: Vec<(String, String)>,
    /// User tasks with calls.
    pub(crate) tasks: usize,
    /// User tasks that ran whole, with no question.
    pub(crate) free: usize,
    pub(crate) asks: usize,
    pub(crate) denies: usize,
    /// How often a policy asked, and over which argument.
    pub(crate) asked: BTreeMap<String, usize>,
}

/// Reads the plan of this path, or the one that is kept for the tests.
pub(crate) fn plan(path: Option<&str>) -> Value {
    read(path.unwrap_or(&format!("{CORPORA}agentdojo_plan.json")))
}

fn read(path: &str) -> Value {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"));
    serde_json::from_str(&text.unwrap()).unwrap()
}

/// Replays every suite of a plan.
pub(crate) fn replay(engine: &Engine, plan: &Value, profile: &str) -> Vec<Suite> {
    let effects = read(&format!("{CORPORA}agentdojo_effects.json"));
    let suites = plan["suites"].as_object().unwrap();
    suites
        .iter()
        .map(|(name, suite)| of_suite(engine, (name.as_str(), suite), effects.get(name).unwrap(), profile))
        .collect()
}

fn of_suite(engine: &Engine, (name, suite): (&str, &Value), effects: &Value, profile: &str) -> Suite {
    let mut run = Run { simulation: Simulation::new(engine).unwrap(), profile: profile.to_owned() };
    for tool in list(&suite["tools"]) {
        let tool = tool["name"].as_str().unwrap();
        let reads = json!({"effect": "read", "relevant_args": []});
        let known = effects.get(tool).unwrap_or(&reads);
        let (effect, relevant) = (&known["effect"], &known["relevant_args"]);
        run.tell(&json!({"event": "tool", "name": tool, "effect": effect, "relevant_args": relevant}));
    }
    let mut out = Suite { name: name.to_owned(), ..Suite::default() };
    for task in list(&suite["user_tasks"]).iter().filter(|task| !list(&task["calls"]).is_empty()) {
        let verdicts = run.task(task, None);
        out.tasks += 1;
        out.free += usize::from(verdicts.iter().all(|verdict| verdict["verdict"] == "allow"));
        for verdict in &verdicts {
            out.count(verdict);
        }
        for injection in
            list(&suite["injection_tasks"]).iter().filter(|task| !list(&task["calls"]).is_empty())
        {
            out.pairs += 1;
            if run.task(task, Some(injection)).iter().all(|verdict| verdict["verdict"] == "allow") {
                out.through.push((id(task), id(injection)));
            }
        }
    }
    out
}

impl Suite {
    fn count(&mut self, verdict: &Value) {
        self.asks += usize::from(verdict["verdict"] == "ask");
        self.denies += usize::from(verdict["verdict"] == "deny");
        if verdict["verdict"] != "allow" {
            let args = verdict["args"].as_object().unwrap();
            let bad: Vec<&str> =
                args.iter().filter(|(_, how)| *how == "untrusted").map(|(name, _)| name.as_str()).collect();
            let about =
                format!("{}: {} ({})", verdict["tool"].as_str().unwrap(), bad.join(" "), verdict["policies"]);
            *self.asked.entry(about).or_default() += 1;
        }
    }
}

struct Run<'a> {
    simulation: Simulation<'a>,
    profile: String,
}

impl Run<'_> {
    fn tell(&mut self, event: &Value) -> Option<Value> {
        self.simulation.line(event.to_string().as_bytes()).unwrap()
    }

    /// The verdicts on a task's own calls, or on those of the injection that its tools' outputs hold.
    fn task(&mut self, task: &Value, injection: Option<&Value>) -> Vec<Value> {
        let calls = list(&task["calls"]);
        let mut tools: Vec<&Value> = calls.iter().map(|call| &call["tool"]).collect();
        tools.dedup();
        self.tell(&json!({"event": "session", "id": "s", "profile": self.profile}));
        self.tell(&json!({"event": "user", "session": "s", "text": task["prompt"]}));
        self.tell(&json!({"event": "plan", "session": "s", "tools": tools}));
        let text = injection.map_or("ok", |injection| injection["goal"].as_str().unwrap());
        let own: Vec<Value> = calls.iter().map(|call| self.call(call, Some(text))).collect();
        match injection {
            None => own,
            Some(injection) => list(&injection["calls"]).iter().map(|call| self.call(call, None)).collect(),
        }
    }

    fn call(&mut self, call: &Value, gives: Option<&str>) -> Value {
        let (tool, args) = (call["tool"].as_str().unwrap(), &call["args"]);
        let event = json!({"event": "call", "session": "s", "id": 1, "tool": tool, "args": args});
        let mut verdict = self.tell(&event).unwrap();
        verdict.as_object_mut().unwrap().insert("tool".to_owned(), tool.into());
        if let Some(text) = gives {
            self.tell(&json!({
                "event": "content", "session": "s", "source": format!("tool:{tool}"), "trust": "untrusted",
                "class": "internal", "text": text,
            }));
        }
        verdict
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn id(task: &Value) -> String {
    task["id"].as_str().unwrap_or_default().to_owned()
}
