//! The facts of a call, found before a policy is evaluated.

use crate::catalogue::Declared;
use crate::target::Target;
use crate::{Call, Catalogue, Session, canonical, reach, routine};
use address::{host_matches, may_go};
use ipc_proto::capability::{Access, Capability, Effect, Env, NetworkMode, Sandbox};
use ipc_proto::web::Rule;
use provenance::command::Command;
use provenance::{Fact, Kind, judge};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The tools that store what later sessions believe.
const MEMORY: [&str; 2] = ["memory_write", "memory_revise"];
/// Programs that read, print, or make a file, whatever they are told: none removes one, and none runs another program or a script.
const MILD: [&str; 31] = [
    "basename", "cat", "cd", "cmp", "cut", "date", "df", "diff", "dirname", "du", "echo", "false", "file",
    "grep", "head", "ls", "mkdir", "nl", "printf", "pwd", "realpath", "seq", "sha256sum", "sleep", "stat",
    "tail", "test", "touch", "tr", "true", "wc",
];
/// The path that is shown for a path that was refused before it could be parsed.
const UNREAD: &str = "a path that cannot be read in one way";

/// The facts that are known of a call.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is an attribute of its own that a policy may name")]
pub(crate) struct Facts {
    pub(crate) capability: Capability,
    pub(crate) declared: bool,
    pub(crate) effect: Effect,
    pub(crate) irreversible: bool,
    pub(crate) target: Target,
    pub(crate) rule: Option<Rule>,
    /// One per security-relevant argument, and per other argument with links.
    pub(crate) args: Vec<Fact>,
    /// A relevant argument is there that something could vouch for.
    pub(crate) named: bool,
    /// The reason for which the target is not permitted in any case.
    pub(crate) unfit: Option<String>,
    pub(crate) danger: bool,
    pub(crate) asks_method: bool,
    pub(crate) asks_host: bool,
    /// The program itself encrypts what leaves, and nobody of the host sees it.
    pub(crate) opaque: bool,
    /// It runs in the jail, and no data leaves by it.
    pub(crate) confined: bool,
    /// Its arguments leave the host.
    pub(crate) egress: bool,
    /// Its destination is on a list of the owner's, or the user named it.
    pub(crate) known: bool,
    pub(crate) executes: bool,
    /// True if all that decides what a command runs stands in it and was parsed; true of a call that runs no command.
    pub(crate) understood: bool,
    /// The workspace is a directory of a person's own.
    pub(crate) attached: bool,
    pub(crate) remembers: bool,
    pub(crate) planned: bool,
    pub(crate) granted: bool,
    pub(crate) canary: bool,
    pub(crate) scope: [u8; 32],
}

impl Facts {
    pub(crate) fn of(catalogue: &Catalogue, session: &Session, call: &Call<'_>) -> Self {
        let found = catalogue.declared(call.tool);
        let nothing = std::cell::LazyCell::new(Declared::default);
        let declared = found.unwrap_or_else(|| &nothing);
        let capability = &declared.capability;
        let target = Target::of(declared, call.args);
        let told = if target.reaches() { routine::without(call.args) } else { Cow::Borrowed(call.args) };
        let args = judge(&session.trusted, &capability.relevant_args, &capability.record_args, &told);
        let rule = reach::rule(session.profile, &session.web, &capability.network);
        let effect = effect(capability.effect, target.method.as_deref());
        let known = known(capability, session, call.args, &target, &args);
        let scope = canonical::scope(call.tool, &capability.relevant_args, call.args);
        let asks = |method: &String| {
            capability.approval.ask_for_methods.iter().any(|one| one.eq_ignore_ascii_case(method))
        };
        Self {
            declared: found.is_some(),
            effect,
            irreversible: capability.irreversible.unwrap_or_else(|| effect.is_irreversible()),
            named: args
                .iter()
                .any(|fact| fact.kind != Kind::Link && call.args.get(&fact.name).is_some_and(says)),
            unfit: unfit(declared, &target, rule.as_ref(), call.args),
            danger: endangers(declared, &target, call.args),
            asks_method: target.method.as_ref().is_some_and(asks),
            asks_host: capability.network.require_approval_for_unknown_hosts
                && target.address.is_some()
                && !known,
            opaque: target.method.as_deref() == Some("CONNECT"),
            confined: confined(capability),
            egress: leaves(capability, effect),
            known,
            executes: target.command.is_some(),
            understood: target.command.as_ref().is_none_or(|command| command.understood),
            attached: session.attached,
            remembers: MEMORY.contains(&call.tool),
            planned: session.plan.as_ref().is_some_and(|plan| plan.contains(call.tool)),
            granted: session.grants.contains(&scope),
            canary: !session.canary.is_empty() && holds(call.args, &session.canary),
            scope,
            capability: capability.clone(),
            target,
            rule,
            args,
        }
    }

    /// Returns whether trusted texts vouch for every relevant argument and every link.
    pub(crate) fn vouched(&self) -> bool {
        self.args.iter().all(|fact| fact.vouched)
    }

    /// Returns whether its effect cannot be taken back: it says so, moves money, destroys, leaves the host, or nobody can tell. A
    /// change of a file can be.
    pub(crate) fn is_final(&self) -> bool {
        let command = self.target.command.as_ref();
        let mild = |command: &Command| {
            !command.programs.is_empty() && command.programs.iter().all(|it| MILD.contains(&it.as_str()))
        };
        self.irreversible
            || self.effect >= Effect::Pay
            || self.egress
            || self.opaque
            || self.danger
            || !self.declared
            || !self.understood
            || command.is_some_and(|command| !mild(command))
    }

    /// The names of the arguments that nobody vouches for.
    pub(crate) fn unvouched(&self) -> impl Iterator<Item = &str> {
        self.args.iter().filter(|fact| !fact.vouched).map(|fact| fact.name.as_str())
    }
}

/// A fetch that does more than read sends, whatever its tool declares.
fn effect(declared: Effect, method: Option<&str>) -> Effect {
    match method {
        Some("DELETE") => declared.max(Effect::Delete),
        Some(method) if !routine::reads(method) => declared.max(Effect::Send),
        _ => declared,
    }
}

/// Returns true if a value is not empty: an empty one needs nobody to vouch for it.
fn says(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(values) => values.iter().any(says),
        Value::Object(fields) => fields.values().any(says),
        Value::Bool(_) | Value::Number(_) => true,
    }
}

fn confined(capability: &Capability) -> bool {
    capability.execution.sandbox == Sandbox::Container && !leaves(capability, Effect::Read)
}

/// A sandbox that would have a network counts as having it, although none is given.
fn leaves(capability: &Capability, effect: Effect) -> bool {
    capability.network.access != Access::None
        || capability.execution.network_mode != NetworkMode::None
        || capability.data.can_leak_data
        || effect == Effect::Send
}

/// Returns true if a list of the owner's has the host, or the user named its whole address; for a tool without an address, every
/// target must have been named.
fn known(
    capability: &Capability,
    session: &Session,
    args: &Map<String, Value>,
    target: &Target,
    facts: &[Fact],
) -> bool {
    let Some(address) = &target.address else {
        // A tool that reaches but is told no address goes where the owner configured it to go.
        return capability.network.access == Access::Limited || facts.iter().all(|fact| fact.vouched);
    };
    let Ok(address) = address else { return false };
    let lists = capability.network.allowed_hosts.iter().flatten().chain(&session.web.allow);
    let listed = lists.filter(|glob| *glob != "*").any(|glob| host_matches(glob, &address.host));
    listed
        || args.values().any(|value| {
            value.as_str().is_some_and(|text| {
                address::parse(text).as_ref() == Ok(address) && session.trusted.vouches(value)
            })
        })
}

fn unfit(
    declared: &Declared,
    target: &Target,
    rule: Option<&Rule>,
    args: &Map<String, Value>,
) -> Option<String> {
    if let Some(address) = &target.address {
        let judged = address.as_ref().map_err(|unfit| *unfit);
        let judged = judged.and_then(|address| may_go(address, &rule.cloned().unwrap_or_default()));
        if let Err(unfit) = judged {
            return Some(unfit.phrase().to_owned());
        }
    }
    if target.service.as_ref().is_some_and(|(_, path)| !address::reads_one_way(path)) {
        return Some("a path that servers could read in two ways".to_owned());
    }
    if let Some(path) = &target.path {
        let inside = declared.allowed_paths.as_ref().is_none_or(|paths| paths.is_match(&path.canonical));
        if !path.allowed {
            return Some(if path.reason.is_empty() { UNREAD } else { path.reason }.to_owned());
        }
        if !inside || declared.blocked_paths.is_match(&path.canonical) {
            return Some("a path that the tool may not name".to_owned());
        }
    }
    let explicit = declared.capability.execution.env == Env::Explicit;
    let names = args.get("env").and_then(Value::as_object).into_iter().flat_map(Map::keys);
    let allowed = &declared.capability.execution.allowed_env_vars;
    (explicit && names.clone().any(|name| !allowed.contains(name)))
        .then(|| "a variable that the tool's environment does not have".to_owned())
}

/// Returns true if a danger pattern matches an argument, or the command is dangerous.
fn endangers(declared: &Declared, target: &Target, args: &Map<String, Value>) -> bool {
    let dangerous = target.command.as_ref().is_some_and(|command| command.danger.is_some());
    dangerous
        || (!declared.danger.is_empty()
            && args.values().any(|value| any_text(value, &|text| declared.danger.is_match(text))))
}

fn holds(args: &Map<String, Value>, needle: &str) -> bool {
    args.iter().any(|(name, value)| name.contains(needle) || any_text(value, &|text| text.contains(needle)))
}

/// Returns true if a text within a value matches. Parsed JSON is at most 128 deep.
fn any_text(value: &Value, such: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => such(text),
        Value::Array(values) => values.iter().any(|value| any_text(value, such)),
        Value::Object(fields) => fields.iter().any(|(name, value)| such(name) || any_text(value, such)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
