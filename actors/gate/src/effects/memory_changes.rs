//! The tools that change memory. Each entry carries its session's label, whatever the model says, and a revision never lowers the
//! label of a row. The owner still sees removed rows.

use crate::effects::memory_reads::{Problem, find, id, names, problem, scope, text, texts, word};
use crate::effects::outcome::{Effect, done};
use crate::memory::ask;
use crate::state::context::GateContext;
use crate::turn::context::TurnContext;
use ipc_proto::ids::MemoryId;
use ipc_proto::label::Trust;
use ipc_proto::memory::{Category, Detail, Entry, Fact, Importance, Kind, Observation, Source, SourceType};
use ipc_proto::tool::ToolCall;
use ipc_proto::{List, Name, Text};
use serde_json::Value;

/// Confidence of a fact for which the call gives none, in thousandths.
const SURE: u16 = 900;

/// Writes a row. Its id is the call's, so the same call twice is one row.
pub(crate) async fn write(
    gate: &GateContext,
    context: &TurnContext,
    call: &ToolCall,
    args: &Value,
) -> Result<Effect, Problem> {
    let detail = Detail {
        kind: kind(args)?,
        source: source(context, call),
        importance: importance(args).unwrap_or_default(),
        project: args.get("project").and_then(Value::as_str).map(Text::clip),
        expires_ms: None,
    };
    let id = MemoryId::from_bytes(call.id.bytes());
    let entry = Entry {
        tags: names(args, "tags"),
        session: Some(context.turn.session),
        detail,
        ..Entry::new(id, Text::clip(text(args, "content")), context.session.label.clone())
    };
    let id = ask::write(gate, &scope(context, args), Box::new(entry)).await.map_err(problem)?;
    Ok(done(format!("remembered as {id}"), None))
}

/// Revises a row. Fields that the call does not name stay as they are; the label is the join of both.
pub(crate) async fn revise(
    gate: &GateContext,
    context: &TurnContext,
    call: &ToolCall,
    args: &Value,
) -> Result<Effect, Problem> {
    let old = id(text(args, "id"))?;
    let (scope, row) = find(gate, context, old).await?;
    let mut entry = row.entry;
    entry.id = MemoryId::from_bytes(call.id.bytes());
    entry.label = entry.label.join(&context.session.label);
    entry.session = Some(context.turn.session);
    entry.detail.source = source(context, call);
    if args.get("content").is_some() {
        entry.content = Text::clip(text(args, "content"));
    }
    if args.get("tags").is_some() {
        entry.tags = names(args, "tags");
    }
    if let Some(importance) = importance(args) {
        entry.detail.importance = importance;
    }
    if args.get("title").is_some() {
        let Kind::Observation(seen) = &mut entry.detail.kind else {
            return Err(Problem::Unfit("only an observation has a title"));
        };
        seen.title = Text::clip(text(args, "title"));
    }
    let reason = Text::clip(text(args, "reason"));
    let id = ask::revise(gate, &scope, old, Box::new(entry), reason).await.map_err(problem)?;
    Ok(done(format!("{old} is revised; it is {id} now"), None))
}

/// Removes a row. Its owner still sees the tombstone.
pub(crate) async fn remove(
    gate: &GateContext,
    context: &TurnContext,
    args: &Value,
) -> Result<Effect, Problem> {
    let id = id(text(args, "id"))?;
    let (scope, _) = find(gate, context, id).await?;
    ask::remove(gate, &scope, id, Text::clip(text(args, "reason"))).await.map_err(problem)?;
    Ok(done(format!("forgot {id}"), None))
}

/// Returns true if a tool changes memory.
pub(crate) fn changes(tool: &str) -> bool {
    matches!(tool, "memory_write" | "memory_revise" | "memory_delete")
}

/// The kind of entry that the call names, with its own fields.
fn kind(args: &Value) -> Result<Kind, Problem> {
    let has = |key| args.get(key).is_some();
    let key = || args.get("key").and_then(Value::as_str).map(Text::clip);
    let kind = text(args, "kind");
    if kind != "observation" && (has("title") || has("type") || has("files")) {
        return Err(Problem::Unfit("title, type and files are an observation's: give kind \"observation\""));
    }
    let fact = |category| {
        let key = key().ok_or(Problem::Unfit("a fact, a preference or an instruction needs a key"))?;
        Ok(Kind::Semantic(Fact { category, key, confidence: SURE }))
    };
    match kind {
        "fact" => fact(Category::Fact),
        "preference" => fact(Category::Preference),
        "instruction" => fact(Category::Instruction),
        "episodic" if has("key") => Err(Problem::Unfit("what happened has no key")),
        "episodic" => Ok(Kind::Episodic { role: Name::clip("assistant") }),
        "observation" if has("key") => Err(Problem::Unfit("an observation has a title and no key")),
        "observation" if !has("title") => Err(Problem::Unfit("an observation needs a title")),
        "observation" => Ok(Kind::Observation(Box::new(Observation {
            r#type: word(args, "type").unwrap_or_default(),
            title: Text::clip(text(args, "title")),
            files_modified: List::clip(texts(args, "files").map(Text::clip)),
            ..Observation::default()
        }))),
        _ => Ok(Kind::Note { key: key() }),
    }
}

fn importance(args: &Value) -> Option<Importance> {
    let importance = args.get("importance").and_then(Value::as_u64)?;
    u8::try_from(importance).ok().map(Importance::of)
}

fn source(context: &TurnContext, call: &ToolCall) -> Source {
    Source {
        r#type: SourceType::AiInference,
        message: None,
        tool: Some(call.tool.clone()),
        external: context.session.label.trust > Trust::User,
        row: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_field_that_a_kind_does_not_have_is_named_and_never_dropped() {
        let good = [
            (json!({}), Kind::Note { key: None }),
            (json!({"key": "k"}), Kind::Note { key: Some(Text::clip("k")) }),
            (json!({"kind": "episodic"}), Kind::Episodic { role: Name::clip("assistant") }),
        ];
        for (args, expected) in good {
            assert_eq!(kind(&args).unwrap(), expected, "{args}");
        }
        let seen = kind(&json!({"kind": "observation", "title": "t", "type": "bugfix", "files": ["a"]}));
        let Kind::Observation(seen) = seen.unwrap() else { panic!("no observation") };
        assert_eq!((seen.title.as_str(), seen.files_modified.len()), ("t", 1));
        let fact = kind(&json!({"kind": "preference", "key": "tea"})).unwrap();
        assert!(matches!(fact, Kind::Semantic(Fact { category: Category::Preference, .. })));
        for wrong in [
            json!({"title": "t"}),
            json!({"kind": "fact"}),
            json!({"kind": "fact", "key": "k", "type": "bugfix"}),
            json!({"kind": "episodic", "key": "k"}),
            json!({"kind": "observation"}),
            json!({"kind": "observation", "title": "t", "key": "k"}),
        ] {
            assert!(matches!(kind(&wrong), Err(Problem::Unfit(_))), "{wrong}");
        }
    }
}
