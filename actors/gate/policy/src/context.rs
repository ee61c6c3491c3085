//! A call as a question to Cedar: principal, action, resource, context. The names are those of the schema in
//! `deploy/policies/schema.cedarschema`.

use crate::Session;
use crate::facts::Facts;
use cedar_policy::{Entity, EntityId, EntityTypeName, EntityUid, RestrictedExpression as Value};
use ipc_proto::capability::{Effect, Level};
use ipc_proto::config::Autonomy;
use ipc_proto::label::{Class, Label, Trust};
use std::collections::{HashMap, HashSet};
use std::str::FromStr;

/// A question, put once or more.
pub(crate) struct Asked<'a> {
    pub(crate) session: Option<&'a Session>,
    /// The label that is judged.
    pub(crate) label: &'a Label,
    pub(crate) action: &'static str,
    pub(crate) tool: &'a str,
    pub(crate) facts: Option<&'a Facts>,
}

/// The label of nothing, for a question without content.
static NOTHING: std::sync::LazyLock<Label> = std::sync::LazyLock::new(Label::bottom);

impl Default for Asked<'_> {
    fn default() -> Self {
        Self { session: None, label: &NOTHING, action: "read", tool: "", facts: None }
    }
}

/// The name of an action.
pub(crate) const fn action(effect: Effect) -> &'static str {
    match effect {
        Effect::Read => "read",
        Effect::Write => "write",
        Effect::Send => "send",
        Effect::Pay => "pay",
        Effect::Delete => "delete",
    }
}

/// Principal, resource, and the entities that say what they are.
pub(crate) fn entities(asked: &Asked<'_>) -> Option<(EntityUid, EntityUid, Vec<Entity>)> {
    let nobody = Session::default();
    let session = asked.session.unwrap_or(&nobody);
    let agent = uid("Agent", &session.agent)?;
    let principal = uid("Session", &session.id)?;
    let attributes = HashMap::from([
        ("user".to_owned(), text(&session.user)),
        ("profile".to_owned(), text(session.profile.name())),
        ("autonomy".to_owned(), text(autonomy(session.autonomy))),
    ]);
    let tool = uid("Tool", asked.tool)?;
    let (kind, value) = asked.facts.map_or(("none", String::new()), |facts| facts.target.named());
    let resource = uid("Target", &format!("{}:{kind}:{value}", asked.tool))?;
    let target = HashMap::from([("kind".to_owned(), text(kind)), ("value".to_owned(), text(&value))]);
    let own = vec![
        Entity::new(principal.clone(), attributes, HashSet::from([agent.clone()])).ok()?,
        Entity::with_uid(agent),
        Entity::new(resource.clone(), target, HashSet::from([tool.clone()])).ok()?,
        Entity::with_uid(tool),
    ];
    Some((principal, resource, own))
}

fn uid(kind: &str, id: &str) -> Option<EntityUid> {
    Some(EntityUid::from_type_name_and_id(EntityTypeName::from_str(kind).ok()?, EntityId::new(id)))
}

type Pair = (String, Value);

impl Asked<'_> {
    /// The context of a request.
    pub(crate) fn attributes(&self, approved: bool, granted: bool) -> Vec<Pair> {
        let session = self.session;
        let taint = session.map_or(0, |session| session.taint.thousandths());
        let mut pairs = vec![
            pair("tool", text(self.tool)),
            pair("trust", text(trust(self.label.trust))),
            pair("distrust", Value::new_long(distrust(self.label.trust))),
            pair("class", text(class(self.label.class))),
            pair("sources", texts(self.label.sources.iter().map(|source| source.as_str()))),
            pair("taint", Value::new_long(taint.into())),
            pair("approved", Value::new_bool(approved)),
            pair("granted", Value::new_bool(granted)),
        ];
        match self.facts {
            Some(facts) => of_call(&mut pairs, facts),
            None => of_host(&mut pairs, self.action == "prompt"),
        }
        pairs
    }
}

fn of_call(pairs: &mut Vec<Pair>, facts: &Facts) {
    let capability = &facts.capability;
    let flags = [
        ("vouched", facts.vouched()),
        ("named", facts.named),
        ("judged", !capability.relevant_args.is_empty()),
        ("planned", facts.planned),
        ("irreversible", facts.irreversible),
        ("egress", facts.egress),
        ("known", facts.known),
        ("confined", facts.confined),
        ("executes", facts.executes),
        ("remembers", facts.remembers),
        ("declared", facts.declared),
        ("danger", facts.danger),
        ("asks_method", facts.asks_method),
        ("asks_host", facts.asks_host),
        ("accepts_untrusted", capability.labels.accepts_untrusted),
        ("reads_secrets", capability.data.can_read_secrets),
        ("leaks", capability.data.can_leak_data),
        ("sanitizes", capability.data.sanitize_output),
        ("fit", facts.unfit.is_none()),
        ("canary", facts.canary),
    ];
    pairs.extend(flags.map(|(name, value)| pair(name, Value::new_bool(value))));
    pairs.push(pair("unvouched", texts(facts.unvouched())));
    pairs.push(pair("level", text(level(capability.approval.level))));
    let target = &facts.target;
    pairs.extend(target.host().map(|host| pair("host", text(&host))));
    pairs.extend(target.method.as_deref().map(|method| pair("method", text(method))));
    pairs.extend(target.path.as_ref().map(|path| pair("path", text(&path.canonical))));
    let programs = target.command.as_ref().map(|command| texts(command.programs.iter().map(String::as_str)));
    pairs.extend(programs.map(|programs| pair("programs", programs)));
    pairs.extend(target.amount.map(|amount| pair("amount", Value::new_long(amount))));
}

/// An act of the host itself: what it gives to a model leaves the host, to where the owner configured.
fn of_host(pairs: &mut Vec<Pair>, egress: bool) {
    const YES: [&str; 8] =
        ["vouched", "judged", "known", "declared", "accepts_untrusted", "reads_secrets", "sanitizes", "fit"];
    const NO: [&str; 11] = [
        "named",
        "planned",
        "irreversible",
        "confined",
        "executes",
        "remembers",
        "danger",
        "asks_method",
        "asks_host",
        "leaks",
        "canary",
    ];
    pairs.extend(YES.map(|name| pair(name, Value::new_bool(true))));
    pairs.extend(NO.map(|name| pair(name, Value::new_bool(false))));
    pairs.push(pair("egress", Value::new_bool(egress)));
    pairs.push(pair("unvouched", texts([])));
    pairs.push(pair("level", text("auto")));
}

fn pair(name: &str, value: Value) -> Pair {
    (name.to_owned(), value)
}

fn text(text: &str) -> Value {
    Value::new_string(text.to_owned())
}

fn texts<'a>(all: impl IntoIterator<Item = &'a str>) -> Value {
    Value::new_set(all.into_iter().map(text))
}

const fn trust(trust: Trust) -> &'static str {
    match trust {
        Trust::System => "system",
        Trust::User => "user",
        Trust::Verified => "verified",
        Trust::Untrusted => "untrusted",
    }
}

const fn distrust(trust: Trust) -> i64 {
    match trust {
        Trust::System => 0,
        Trust::User => 1,
        Trust::Verified => 2,
        Trust::Untrusted => 3,
    }
}

const fn class(class: Class) -> &'static str {
    match class {
        Class::Public => "public",
        Class::Internal => "internal",
        Class::Sensitive => "sensitive",
        Class::Secret => "secret",
    }
}

const fn level(level: Level) -> &'static str {
    match level {
        Level::Auto => "auto",
        Level::Ask => "ask",
        Level::Always => "always",
    }
}

const fn autonomy(autonomy: Autonomy) -> &'static str {
    match autonomy {
        Autonomy::Readonly => "readonly",
        Autonomy::Supervised => "supervised",
        Autonomy::Full => "full",
    }
}
