//! The policy commands that need no host: simulate, explain, show. They read what they are handed and write lines;
//! files and arguments are the gate's offline mode's. The decisions are those of the live gate, by the same functions.

mod event;
mod explain;
mod simulate;

pub use explain::{Question, explain};
pub use simulate::{LINE, Problem, Simulation};

use crate::{Decision, Engine, Verdict};
use serde_json::{Map, Value, json};

/// A verdict as a JSON object, in the form that `policy simulate` documents.
#[must_use]
pub fn document(verdict: &Verdict) -> Map<String, Value> {
    let word = |vouched: bool| Value::from(if vouched { "vouched" } else { "untrusted" });
    let args: Map<String, Value> =
        verdict.why.args.iter().map(|(name, vouched)| (name.to_string(), word(*vouched))).collect();
    let fields = json!({
        "verdict": verdict.decision, "policies": verdict.why.policies, "label": verdict.why.label, "args": args,
        "reason": verdict.reason, "planned": verdict.why.planned, "taint": f64::from(verdict.why.taint) / 1000.0,
        "version": verdict.why.version,
    });
    let mut fields = fields.as_object().cloned().unwrap_or_default();
    if verdict.decision == Decision::Ask {
        fields.insert("grantable".to_owned(), verdict.grantable.into());
        fields.insert("declassifies".to_owned(), verdict.declassifies.into());
    }
    fields
}

/// Every policy file that an engine holds, as `policy show` prints them.
#[must_use]
pub fn files(engine: &Engine) -> Value {
    let files = engine.files().iter().map(|file| {
        json!({"name": file.name, "built_in": file.built_in, "policies": file.policies, "text": file.text})
    });
    json!({"ok": true, "version": engine.version(), "files": files.collect::<Vec<_>>()})
}
