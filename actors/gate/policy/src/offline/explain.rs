//! `policy explain`: one call as JSON, with the facts that its verdict rests on.

use super::document;
use super::event::Content;
use crate::target::Target;
use crate::{Call, Catalogue, Engine, Profile, Session, decide, preview};
use ipc_proto::capability::Capability;
use ipc_proto::config::{Autonomy, WebReach};
use ipc_proto::label::{Class, Label, Trust};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// A call and its history. All fields but `tool` may be left out.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    #[serde(default)]
    profile: Option<String>,
    #[serde(default)]
    autonomy: Autonomy,
    tool: String,
    #[serde(default)]
    args: Map<String, Value>,
    /// The capability of a tool that is not built in.
    #[serde(default)]
    capability: Option<Capability>,
    #[serde(default)]
    user: Vec<String>,
    #[serde(default)]
    contacts: Vec<String>,
    #[serde(default)]
    content: Vec<Piece>,
    #[serde(default)]
    plan: Option<Vec<String>>,
    #[serde(default)]
    web: Option<WebReach>,
    /// The workspace is a directory of a person's own.
    #[serde(default)]
    attached: bool,
}

/// Content, or its text alone: then it is untrusted.
#[derive(Deserialize)]
#[serde(untagged)]
enum Piece {
    Text(String),
    Whole(Content),
}

/// Decides on the call and says why.
///
/// # Errors
/// The error in the question.
pub fn explain(engine: &Engine, question: Question) -> Result<Value, String> {
    let mut catalogue = Catalogue::built_in().map_err(|error| error.to_string())?;
    if let Some(capability) = question.capability.clone() {
        catalogue.declare(&question.tool, capability).map_err(|error| error.to_string())?;
    }
    let session = session(&catalogue, &question)?;
    let call = Call { tool: &question.tool, args: &question.args };
    let verdict = decide(engine, &catalogue, &session, &call);
    let mut fields = document(&verdict);
    let says = |name: &str| json!({"id": name, "reason": engine.reason(name)});
    let policies: Vec<Value> = verdict.why.policies.iter().map(|name| says(name)).collect();
    fields.insert("policies".to_owned(), policies.into());
    fields.insert("preview".to_owned(), preview(&catalogue, &call).into());
    if let Some(url) = &verdict.target {
        fields.insert("url".to_owned(), url.as_str().into());
    }
    if let Some(declared) = catalogue.declared(&question.tool) {
        let target = Target::of(declared, &question.args);
        if let Some(path) = target.path {
            let path = json!({"canonical": path.canonical, "allowed": path.allowed, "reason": path.reason});
            fields.insert("path".to_owned(), path);
        }
        if let Some(command) = target.command {
            let command = json!({
                "understood": command.understood, "reason": command.reason, "programs": command.programs,
                "danger": command.danger,
            });
            fields.insert("command".to_owned(), command);
        }
    }
    Ok(Value::Object(fields))
}

fn session(catalogue: &Catalogue, question: &Question) -> Result<Session, String> {
    let profile = question.profile.as_ref().map_or(Ok(Profile::default()), |profile| profile.parse())?;
    let mut session = Session::new("explain", profile);
    session.autonomy = question.autonomy;
    session.web = question.web.clone().unwrap_or_default();
    session.attached = question.attached;
    question.contacts.iter().for_each(|contact| session.setting(contact));
    question.user.iter().for_each(|text| session.user(text));
    if let Some(plan) = &question.plan {
        session.plan(plan.iter().cloned());
    }
    for piece in &question.content {
        match piece {
            Piece::Text(text) => {
                session.content(&Label::of(Trust::Untrusted, Class::Internal, "content"), text);
            }
            Piece::Whole(content) => match content.tool() {
                Some(tool) => session.output(catalogue, tool, &content.label(), &content.text),
                None => session.content(&content.label(), &content.text),
            },
        }
    }
    Ok(session)
}
