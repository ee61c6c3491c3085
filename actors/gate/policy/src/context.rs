//! A call as a question to Cedar: principal, action, resource, context. The names are those of the schema in
//! `deploy/policies/schema.cedarschema`.

use crate::facts::Facts;
use crate::{Profile, Session};
use cedar_policy::{Entity, EntityId, EntityTypeName, EntityUid, ParseErrors, RestrictedExpression as Value};
use ipc_proto::capability::{Effect, Level};
use ipc_proto::config::Autonomy;
use ipc_proto::label::{Class, Label, Trust};
use std::collections::{BTreeMap, HashMap, HashSet};
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

/// Every action that is asked about.
pub(crate) const ACTIONS: [&str; 8] = ["read", "write", "send", "pay", "delete", "prompt", "output", "log"];

/// The types of the schema's entities. Cedar parses a name each time it is read, which takes as long as judging by it.
pub(crate) struct Kinds {
    agent: EntityTypeName,
    session: EntityTypeName,
    tool: EntityTypeName,
    target: EntityTypeName,
    action: EntityTypeName,
}

impl Kinds {
    /// The names are written here, so that they are names is a matter of the tests.
    pub(crate) fn new() -> Result<Self, Box<ParseErrors>> {
        let named = |name| EntityTypeName::from_str(name).map_err(Box::new);
        Ok(Self {
            agent: named("Agent")?,
            session: named("Session")?,
            tool: named("Tool")?,
            target: named("Target")?,
            action: named("Action")?,
        })
    }

    pub(crate) fn action(&self, name: &str) -> EntityUid {
        uid(&self.action, name)
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

/// Principal and resource, each with its type and its groups. Agent and tool have no attributes, and every entity is walked for
/// each call, so they have no entities.
pub(crate) fn entities(kinds: &Kinds, asked: &Asked<'_>) -> Option<(EntityUid, EntityUid, [Entity; 2])> {
    let nobody = Session::default();
    let session = asked.session.unwrap_or(&nobody);
    let agent = uid(&kinds.agent, &session.agent);
    let principal = uid(&kinds.session, &session.id);
    let attributes = asked.principal_attributes();
    let attributes =
        attributes.iter().map(|(name, value)| ((*name).to_owned(), value.expression())).collect();
    let tool = uid(&kinds.tool, asked.tool);
    let (kind, value) = asked.target();
    let resource = uid(&kinds.target, &format!("{}:{kind}:{value}", asked.tool));
    let target = HashMap::from([("kind".to_owned(), text(kind)), ("value".to_owned(), text(&value))]);
    let own = [
        Entity::new(principal.clone(), attributes, HashSet::from([agent])).ok()?,
        Entity::new(resource.clone(), target, HashSet::from([tool])).ok()?,
    ];
    Some((principal, resource, own))
}

fn text(text: &str) -> Value {
    Value::new_string(text.to_owned())
}

fn uid(kind: &EntityTypeName, id: &str) -> EntityUid {
    EntityUid::from_type_name_and_id(kind.clone(), EntityId::new(id))
}

/// The context of a request, by name.
pub(crate) type Attributes = BTreeMap<&'static str, Attribute>;

/// The value of an attribute.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) enum Attribute {
    Flag(bool),
    Number(i64),
    Word(String),
    Words(Vec<String>),
}

impl Attribute {
    fn words<'a>(all: impl IntoIterator<Item = &'a str>) -> Self {
        Self::Words(all.into_iter().map(str::to_owned).collect())
    }

    /// As Cedar takes it.
    pub(crate) fn expression(&self) -> Value {
        match self {
            Self::Flag(flag) => Value::new_bool(*flag),
            Self::Number(number) => Value::new_long(*number),
            Self::Word(word) => text(word),
            Self::Words(words) => Value::new_set(words.iter().map(|word| text(word))),
        }
    }
}

impl From<bool> for Attribute {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<i64> for Attribute {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for Attribute {
    fn from(word: &str) -> Self {
        Self::Word(word.to_owned())
    }
}

impl Asked<'_> {
    /// The parts of the principal's entity, apart from the profile.
    pub(crate) fn principal(&self) -> [String; 4] {
        let nobody = Session::default();
        let session = self.session.unwrap_or(&nobody);
        let autonomy = autonomy(session.autonomy).to_owned();
        [session.id.clone(), session.agent.clone(), session.user.clone(), autonomy]
    }

    /// The attributes of the principal.
    pub(crate) fn principal_attributes(&self) -> Attributes {
        let (user, profile, level) = self.session.map_or_else(
            || ("", Profile::default(), Autonomy::default()),
            |session| (session.user.as_str(), session.profile, session.autonomy),
        );
        Attributes::from([
            ("user", user.into()),
            ("profile", profile.name().into()),
            ("autonomy", autonomy(level).into()),
        ])
    }

    /// The parts of the resource's entity.
    pub(crate) fn resource(&self) -> [String; 3] {
        let (kind, value) = self.target();
        [self.tool.to_owned(), kind.to_owned(), value]
    }

    fn target(&self) -> (&'static str, String) {
        self.facts.map_or(("none", String::new()), |facts| facts.target.named())
    }

    /// The context of a request.
    pub(crate) fn attributes(&self, approved: bool, granted: bool) -> Attributes {
        let taint = self.session.map_or(0, |session| session.taint.thousandths());
        let sources = self.label.sources.iter().map(|source| source.as_str());
        let mut all = Attributes::from([
            ("tool", self.tool.into()),
            ("trust", trust(self.label.trust).into()),
            ("distrust", distrust(self.label.trust).into()),
            ("class", class(self.label.class).into()),
            ("sources", Attribute::words(sources)),
            ("taint", i64::from(taint).into()),
            ("approved", approved.into()),
            ("granted", granted.into()),
            ("unattended", self.session.is_some_and(|session| session.unattended).into()),
        ]);
        match self.facts {
            Some(facts) => of_call(&mut all, facts),
            None => of_host(&mut all, self.action == "prompt"),
        }
        all
    }
}

fn of_call(all: &mut Attributes, facts: &Facts) {
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
        ("understood", facts.understood),
        ("attached", facts.attached),
        ("remembers", facts.remembers),
        ("declared", facts.declared),
        ("danger", facts.danger),
        ("asks_method", facts.asks_method),
        ("asks_host", facts.asks_host),
        ("opaque", facts.opaque),
        ("accepts_untrusted", capability.labels.accepts_untrusted),
        ("reads_secrets", capability.data.can_read_secrets),
        ("leaks", capability.data.can_leak_data),
        ("sanitizes", capability.data.sanitize_output),
        ("fit", facts.unfit.is_none()),
        ("canary", facts.canary),
    ];
    all.extend(flags.map(|(name, flag)| (name, flag.into())));
    all.insert("unvouched", Attribute::words(facts.unvouched()));
    all.insert("level", level(capability.approval.level).into());
    let target = &facts.target;
    all.extend(target.host().map(|host| ("host", host.as_str().into())));
    all.extend(target.method.as_deref().map(|method| ("method", method.into())));
    all.extend(target.path.as_ref().map(|path| ("path", path.canonical.as_str().into())));
    all.extend(target.service.as_ref().map(|(_, path)| ("path", path.as_str().into())));
    let programs = target.command.as_ref().map(|command| command.programs.iter().map(String::as_str));
    all.extend(programs.map(|programs| ("programs", Attribute::words(programs))));
    all.extend(target.amount.map(|amount| ("amount", amount.into())));
}

/// Sets the facts of an act of the host itself: content for a model leaves the host, to the place that the owner configured.
fn of_host(all: &mut Attributes, egress: bool) {
    const YES: [&str; 9] = [
        "vouched",
        "judged",
        "known",
        "declared",
        "accepts_untrusted",
        "reads_secrets",
        "sanitizes",
        "fit",
        "understood",
    ];
    const NO: [&str; 13] = [
        "attached", "named", "planned", "irreversible", "confined", "executes", "remembers", "danger",
        "asks_method", "asks_host", "opaque", "leaks", "canary",
    ];
    all.extend(YES.map(|name| (name, true.into())));
    all.extend(NO.map(|name| (name, false.into())));
    all.insert("egress", egress.into());
    all.insert("unvouched", Attribute::words([]));
    all.insert("level", "auto".into());
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
