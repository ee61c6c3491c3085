//! The host's answers as JSON: ids and hashes as text, everything else by its own name.

use crate::text::hex;
use crate::turn_end;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ipc_proto::approval::{ApprovalInfo, ApprovalView, Grant};
use ipc_proto::audit::{Record, Report};
use ipc_proto::control::ProcessStatus;
use ipc_proto::credproxy::SecretInfo;
use ipc_proto::label::Label;
use ipc_proto::memory::{Area, Found, Hit, Kind, Row, Source, State};
use ipc_proto::model::ModelInfo;
use ipc_proto::router::{
    AgentInfo, CallInfo, Effect, Finished, Labelled, MessageInfo, MessageView, NamedEvent, Passed, QueueInfo,
    SessionInfo, UserInfo, WorkspaceInfo,
};
use serde_json::{Value, json};

/// The advice about a call whose effect is unknown.
pub(crate) const UNKNOWN_EFFECT: &str =
    "may have taken effect; check there, then requeue, or tell the agent the result";

/// A process as `status` shows it.
pub(crate) fn process(process: &ProcessStatus) -> Value {
    json!(process)
}

/// A session.
pub(crate) fn session(session: &SessionInfo) -> Value {
    json!({
        "id": session.id.to_string(),
        "name": session.name,
        "user": session.user,
        "agent": session.agent,
        "status": session.status,
        "label": session.label,
        "workspace": session.workspace.to_string(),
        "messages": session.messages,
        "created_ms": session.created_ms,
        "used_ms": session.used_ms,
    })
}

/// A message of a transcript.
pub(crate) fn labelled(labelled: &Labelled) -> Value {
    let message = &labelled.message;
    let calls = message.calls.iter();
    json!({
        "role": message.role,
        "text": message.text,
        "calls": calls.map(|c| json!({ "call": c.id.to_string(), "tool": c.tool, "args": c.args })).collect::<Vec<_>>(),
        "answers": message.answers.map(|id| id.to_string()),
        "label": labelled.label,
    })
}

/// A message.
pub(crate) fn message(message: &MessageInfo) -> Value {
    json!({
        "id": message.id.to_string(),
        "turn": message.turn.to_string(),
        "session": message.session,
        "user": message.user,
        "channel": message.channel,
        "state": message.state,
        "attempts": message.attempts,
        "accepted_ms": message.accepted_ms,
        "bytes": message.bytes,
    })
}

/// A state that a message went through.
pub(crate) fn passed(passed: &Passed) -> Value {
    json!(passed)
}

/// A message in full.
pub(crate) fn message_view(view: &MessageView) -> Value {
    let mut shown = message(&view.info);
    let more = json!({
        "text": view.text,
        "label": view.label,
        "states": view.states.iter().map(passed).collect::<Vec<_>>(),
        "calls": view.calls.iter().map(call).collect::<Vec<_>>(),
        "finished": view.finished.as_ref().map(finished),
        "stands_for": view.stands_for.map(|id| id.to_string()),
        "replaced_by": view.replaced_by.map(|id| id.to_string()),
    });
    if let (Some(map), Value::Object(more)) = (shown.as_object_mut(), more) {
        map.extend(more);
    }
    shown
}

fn call(call: &CallInfo) -> Value {
    json!({
        "call": call.id.to_string(),
        "tool": call.tool,
        "effect": call.effect,
        "record": call.record,
        "advice": (call.effect == Effect::Unknown).then_some(UNKNOWN_EFFECT),
    })
}

fn finished(finished: &Finished) -> Value {
    json!({
        "end": turn_end::kind(&finished.end),
        "why": turn_end::sentence(&finished.end),
        "reply": finished.text,
        "label": finished.label,
        "usage": finished.usage,
        "duration_ms": finished.duration_ms,
        "attempts": finished.attempts,
    })
}

/// The queue.
pub(crate) fn queue(queue: &QueueInfo) -> Value {
    json!(queue)
}

/// A user.
pub(crate) fn user(user: &UserInfo) -> Value {
    json!({
        "id": user.id.to_string(),
        "name": user.name,
        "role": user.role,
        "uids": user.uids,
        "identities": user.identities,
        "configured": user.configured,
    })
}

/// An agent.
pub(crate) fn agent(agent: &AgentInfo) -> Value {
    let (tool_calls, tool_failures, seconds, cpu_seconds, output_tokens, model_calls_per_hour, same_call) =
        agent.limits;
    json!({
        "name": agent.name,
        "model": agent.model,
        "profile": agent.profile,
        "engine": agent.engine,
        "tools": agent.tools,
        "limits": {
            "tool_calls": tool_calls,
            "tool_failures": tool_failures,
            "seconds": seconds,
            "cpu_seconds": cpu_seconds,
            "output_tokens": output_tokens,
            "model_calls_per_hour": model_calls_per_hour,
            "same_call": same_call,
        },
    })
}

/// A model.
pub(crate) fn model(model: &ModelInfo) -> Value {
    json!(model)
}

/// A workspace.
pub(crate) fn workspace(workspace: &WorkspaceInfo) -> Value {
    json!({
        "id": workspace.id.to_string(),
        "session": workspace.session,
        "user": workspace.user,
        "attached": workspace.attached,
        "label": workspace.label,
    })
}

/// A memory.
pub(crate) fn memory(row: &Row) -> Value {
    json!({
        "id": row.entry.id.to_string(),
        "area": area(&row.area),
        "content": row.entry.content,
        "tags": row.entry.tags,
        "label": row.entry.label,
        "session": row.entry.session.map(|id| id.to_string()),
        "created_ms": row.created_ms,
        "kind": kind(&row.entry.detail.kind),
        "of_kind": row.entry.detail.kind,
        "source": source(&row.entry.detail.source),
        "importance": row.entry.detail.importance,
        "project": row.entry.detail.project,
        "expires_ms": row.entry.detail.expires_ms,
        "tokens": row.tokens,
        "state": state(row.state),
        "revises": row.revises.map(|id| id.to_string()),
        "reason": row.reason,
    })
}

/// Where a memory came from.
fn source(source: &Source) -> Value {
    let mut shown = json!(source);
    if let Some(fields) = shown.as_object_mut() {
        fields.insert("row".to_owned(), json!(source.row.map(|id| id.to_string())));
    }
    shown
}

/// The kind of a memory; for an observation its type, and for a fact its category.
pub(crate) fn kind(kind: &Kind) -> String {
    match kind {
        Kind::Observation(seen) => word(seen.r#type),
        Kind::Semantic(fact) => word(fact.category),
        kind => word(kind.name()),
    }
}

/// The state of a memory.
fn state(state: State) -> Value {
    match state {
        State::Current => json!({ "is": "current" }),
        State::Superseded { by, at_ms } => {
            json!({ "is": "superseded", "by": by.to_string(), "at_ms": at_ms })
        }
        State::Removed { at_ms } => json!({ "is": "removed", "at_ms": at_ms }),
        State::Proposed { at_ms } => json!({ "is": "proposed", "at_ms": at_ms }),
    }
}

/// A memory that was found.
pub(crate) fn hit(hit: &Hit) -> Value {
    let mut found = memory(&hit.row);
    if let Some(map) = found.as_object_mut() {
        map.insert("snippet".to_owned(), json!(hit.snippet));
        map.insert("score".to_owned(), json!(hit.score));
    }
    found
}

/// A memory that was found, and why.
pub(crate) fn found(found: &Found) -> Value {
    let mut shown = hit(&found.hit);
    if let Some(map) = shown.as_object_mut() {
        map.insert("why".to_owned(), json!(found.why));
    }
    shown
}

/// An area of memory, as it is written on the command line.
pub(crate) fn area(area: &Area) -> String {
    match area {
        Area::User => "user".to_owned(),
        Area::Global => "global".to_owned(),
        Area::Agent(name) => format!("agent:{name}"),
    }
}

/// A secret, without its value.
pub(crate) fn secret(secret: &SecretInfo) -> Value {
    let SecretInfo { name, binding, lease, revoked, set_ms, uses, used_ms, login } = secret;
    json!({
        "name": name, "hosts": binding.hosts, "verbs": binding.verbs, "paths": binding.paths, "at": binding.at,
        "until_ms": lease.until_ms, "uses_left": lease.uses, "revoked": revoked, "set_ms": set_ms, "uses": uses,
        "used_ms": used_ms, "login": login,
    })
}

/// An entry of the record.
pub(crate) fn record(record: &Record) -> Value {
    let event = &record.event;
    let (tokens_in, tokens_out) = event.tokens;
    json!({
        "index": record.index,
        "time_ms": record.time_ms,
        "witness": record.witness,
        "serial": { "life": record.serial.life.to_string(), "number": record.serial.number },
        "action": event.action,
        "result": event.result,
        "category": event.action.category(),
        "severity": event.action.severity(event.result),
        "session": event.session.map(|id| id.to_string()),
        "turn": event.turn.map(|id| id.to_string()),
        "call": event.call.map(|id| id.to_string()),
        "subject": event.subject,
        "reason": event.reason,
        "content_hash": event.hash.map(|hash| hex(&hash)),
        "bytes": event.bytes,
        "duration_ms": event.duration_ms,
        "tokens": { "input": tokens_in, "output": tokens_out },
        "label": event.label,
        "hash": hex(&record.hash),
    })
}

/// The result of a verification.
pub(crate) fn report(report: &Report) -> Value {
    json!({
        "entries": report.entries,
        "broken_at": report.broken_at,
        "fault": report.fault,
        "head": hex(&report.head),
        "late": report.late,
    })
}

/// A named event.
pub(crate) fn event(event: &NamedEvent) -> Value {
    json!({
        "number": event.number,
        "at_ms": event.at_ms,
        "name": event.name,
        "session": event.session.map(|id| id.to_string()),
        "turn": event.turn.map(|id| id.to_string()),
        "message": event.message.map(|id| id.to_string()),
        "subject": event.subject,
        "detail": event.detail,
    })
}

/// An approval, listed.
pub(crate) fn approval(info: &ApprovalInfo) -> Value {
    json!({
        "id": info.id.to_string(),
        "state": info.state,
        "turn": info.turn.to_string(),
        "session": info.session,
        "user": info.user,
        "tool": info.tool,
        "hash": hex(&info.hash),
        "reason": info.reason,
        "asked_ms": info.asked_ms,
        "expires_ms": info.expires_ms,
        "answered_by": info.answered_by,
    })
}

/// The same in full.
pub(crate) fn approval_view(view: &ApprovalView) -> Value {
    let (mut shown, question) = (approval(&view.info), &view.question);
    let more = json!({
        "call": question.call.to_string(),
        "action": question.action,
        "scope": hex(&question.scope),
        "preview": question.preview,
        "policies": question.policies,
        "label": question.label,
        "declassifies": question.declassifies,
        "grantable": question.grantable,
        "owner_only": question.owner_only,
    });
    if let (Some(map), Value::Object(more)) = (shown.as_object_mut(), more) {
        map.extend(more);
    }
    shown
}

/// A grant.
pub(crate) fn grant(grant: &Grant) -> Value {
    json!({
        "id": grant.id.to_string(),
        "session": grant.session.to_string(),
        "tool": grant.tool,
        "scope": hex(&grant.scope),
        "given_by": grant.given_by,
        "given_ms": grant.given_ms,
    })
}

/// A label in one cell.
pub(crate) fn label(label: &Label) -> String {
    let sources = label.sources.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(",");
    format!("{}/{} {sources}", word(label.trust), word(label.class)).trim_end().to_owned()
}

/// The word that a value of a closed set has in JSON.
pub(crate) fn word(value: impl serde::Serialize) -> String {
    json!(value).as_str().unwrap_or_default().to_owned()
}

/// Adds bytes to a document: as text where they are UTF-8, else under `KEY_base64`.
pub(crate) fn add_bytes(document: &mut Value, key: &str, bytes: &[u8]) {
    let Some(map) = document.as_object_mut() else { return };
    match std::str::from_utf8(bytes) {
        Ok(text) => map.insert(key.to_owned(), json!(text)),
        Err(_) => map.insert(format!("{key}_base64"), json!(STANDARD.encode(bytes))),
    };
}
