//! Policies and explanations as text for a person. Text of others is escaped.

use policy::{Engine, escaped};
use serde_json::Value;
use std::io::{self, Write};

/// Every policy of every file: its id and what it says of itself.
pub(crate) fn list(out: &mut impl Write, engine: &Engine) -> io::Result<()> {
    writeln!(out, "version  {}", engine.version())?;
    for file in engine.files() {
        let whose = if file.built_in { "built in" } else { "the owner's" };
        writeln!(out, "{:<12} {:>3} policies, {whose}", escaped(&file.name), file.policies)?;
    }
    Ok(())
}

/// The facts that a verdict rests on, one name and value a line.
pub(crate) fn explanation(out: &mut impl Write, answer: &Value) -> io::Result<()> {
    let text = |pointer: &str| answer.pointer(pointer).and_then(Value::as_str).map(escaped);
    row(out, "verdict", text("/verdict"))?;
    row(out, "reason", text("/reason"))?;
    for policy in answer.pointer("/policies").and_then(Value::as_array).into_iter().flatten() {
        let part = |name: &str| policy.get(name).and_then(Value::as_str).map(escaped).unwrap_or_default();
        row(out, "policy", Some(format!("{}: {}", part("id"), part("reason"))))?;
    }
    let label = ["/label/trust", "/label/class"].map(|pointer| text(pointer).unwrap_or_default()).join(", ");
    row(out, "label", Some(label))?;
    for (name, value) in answer.pointer("/args").and_then(Value::as_object).into_iter().flatten() {
        row(out, "argument", Some(format!("{}: {}", escaped(name), value.as_str().unwrap_or_default())))?;
    }
    let planned = answer.pointer("/planned").and_then(Value::as_bool);
    row(out, "planned", planned.map(|planned| if planned { "yes" } else { "no" }.to_owned()))?;
    row(out, "taint", answer.pointer("/taint").map(Value::to_string))?;
    row(out, "url", text("/url"))?;
    let judged = |what: &str| {
        let allowed = answer.pointer(&format!("/{what}/allowed"))?.as_bool()?;
        let word = if allowed { "allowed" } else { "refused" };
        Some(format!("{word}: {}", text(&format!("/{what}/reason"))?))
    };
    row(out, "path", text("/path/canonical"))?;
    row(out, "path", judged("path"))?;
    row(out, "command", judged("command"))?;
    let programs = answer.pointer("/command/programs").and_then(Value::as_array);
    let programs =
        programs.map(|all| all.iter().filter_map(Value::as_str).map(escaped).collect::<Vec<_>>().join(" "));
    row(out, "programs", programs)?;
    for line in answer.pointer("/preview").and_then(Value::as_str).unwrap_or_default().lines() {
        // The preview escapes what it shows of the call, so that only its own line breaks are left.
        row(out, "preview", Some(line.to_owned()))?;
    }
    row(out, "version", text("/version"))
}

fn row(out: &mut impl Write, name: &str, value: Option<String>) -> io::Result<()> {
    value.map_or(Ok(()), |value| writeln!(out, "{name:<9} {value}"))
}
