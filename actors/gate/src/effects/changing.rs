//! The tools that change memory. What they write is labelled as its session is, whatever the model says of it, and no
//! row's label falls by being revised; what they remove its owner can still see.

use super::memories::{Problem, ask, find, id, names, scope, text, texts, word};
use super::{Effect, done};
use crate::context::TurnContext;
use crate::host::Shared;
use ipc_proto::ids::MemoryId;
use ipc_proto::label::Trust;
use ipc_proto::memory::{
    Ask, Category, Detail, Entry, Fact, Importance, Kind, Observation, Source, SourceType,
};
use ipc_proto::tool::{Outcome, ToolCall};
use ipc_proto::{List, Name, Text};
use serde_json::Value;

/// How sure a fact is of which nobody says how sure, in thousandths.
const SURE: u16 = 900;

/// The same call twice is one row: its id follows from the call's.
pub(super) async fn write(
    shared: &Shared,
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
    let id = ask(shared, scope(context, args), Ask::Write(Box::new(entry))).await?.id()?;
    Ok(done(format!("remembered as {id}"), None))
}

/// What is not said anew stays as it was; the label is that of both.
pub(super) async fn revise(
    shared: &Shared,
    context: &TurnContext,
    call: &ToolCall,
    args: &Value,
) -> Result<Effect, Problem> {
    let old = id(text(args, "id"))?;
    let (scope, row) = find(shared, context, old).await?;
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
    let revise = Ask::Revise { id: old, entry: Box::new(entry), reason: Text::clip(text(args, "reason")) };
    let id = ask(shared, scope, revise).await?.id()?;
    Ok(done(format!("{old} is revised; it is {id} now"), None))
}

/// A tombstone stays, which its owner can see.
pub(super) async fn remove(shared: &Shared, context: &TurnContext, args: &Value) -> Result<Effect, Problem> {
    let id = id(text(args, "id"))?;
    let (scope, _) = find(shared, context, id).await?;
    ask(shared, scope, Ask::Remove { id, reason: Text::clip(text(args, "reason")) }).await?;
    Ok(done(format!("forgot {id}"), None))
}

/// Returns whether a tool changes memory.
pub(super) fn changes(tool: &str) -> bool {
    matches!(tool, "memory_write" | "memory_revise" | "memory_delete")
}

/// A change took longer than its tool may: memory carries through what it began, so that nobody knows here what came of it.
pub(super) fn late() -> Effect {
    Effect { outcome: Outcome::Unknown, ..done(crate::replay::UNKNOWN.to_owned(), None) }
}

/// The kind that is asked for, with what only it has.
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
