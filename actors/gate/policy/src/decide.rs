//! The decision on a call. Cedar knows permit and forbid. `ask` is made of them: a call that is refused without an approval, and
//! permitted with one.

use crate::context::{Asked, action};
use crate::engine::{Engine, Note, Outcome};
use crate::facts::Facts;
use crate::{Call, Catalogue, Decision, Handling, Session, Verdict};
use cedar_policy::PolicyId;
use ipc_proto::router::Why;
use ipc_proto::{List, Name, Text};
use std::collections::BTreeSet;

/// Bytes of a reason.
const REASON: usize = 512;
/// The name that is shown where no policy permits.
const NO_PERMIT: &str = "no-policy-permits";
/// The name that is shown where a policy could not be evaluated.
const FAILED: &str = "evaluation-failed";

/// Decides on a call. At most three evaluations: as it is, as if approved, and, where that asks, as if granted.
#[must_use]
pub fn decide(engine: &Engine, catalogue: &Catalogue, session: &Session, call: &Call<'_>) -> Verdict {
    let facts = Facts::of(catalogue, session, call);
    let asked = Asked {
        session: Some(session),
        label: &session.label,
        action: action(facts.effect),
        tool: call.tool,
        facts: Some(&facts),
    };
    let judged = judge(engine, &asked, facts.granted, facts.capability.approval.trust_after_approval);
    let notes: Vec<&Note> = judged.policies.iter().filter_map(|policy| engine.note(policy)).collect();
    let asks = judged.decision == Decision::Ask;
    Verdict {
        decision: judged.decision,
        reason: reason(engine, &judged, &facts, call),
        why: why(engine, &judged, &facts, session),
        grantable: asks && judged.grantable,
        owner_only: asks && notes.iter().any(|note| note.owner_only),
        declassifies: asks && notes.iter().any(|note| note.declassifies),
        irreversible: facts.is_final(),
        scope: facts.scope,
        target: facts.target.url(),
        handling: Handling::of(&facts.capability),
        reach: facts.rule,
    }
}

/// The policies' verdict.
pub(crate) struct Judged {
    pub(crate) decision: Decision,
    pub(crate) policies: BTreeSet<PolicyId>,
    /// The tool lets a session trust it, and with such a grant it would not be asked.
    pub(crate) grantable: bool,
}

pub(crate) fn judge(engine: &Engine, asked: &Asked<'_>, granted: bool, trusts: bool) -> Judged {
    let deny = |policies| Judged { decision: Decision::Deny, policies, grantable: false };
    let Some(question) = engine.prepare(asked) else { return deny(one(FAILED)) };
    let first = question.evaluate(false, granted);
    if first.failed {
        return deny(failed(first));
    }
    if first.allowed {
        return Judged { decision: Decision::Allow, policies: first.policies, grantable: false };
    }
    let asks = |policy: &&PolicyId| engine.note(policy).is_some_and(|note| note.asks);
    // A policy that a person's answer does not change holds in any case.
    let settled: BTreeSet<PolicyId> = first.policies.iter().filter(|policy| !asks(policy)).cloned().collect();
    if !settled.is_empty() {
        return deny(settled);
    }
    let approved = question.evaluate(true, granted);
    if approved.failed {
        return deny(failed(approved));
    }
    if !approved.allowed {
        return deny(if approved.policies.is_empty() { one(NO_PERMIT) } else { approved.policies });
    }
    // The question names the policies that forbade the call; without any, it names those that permit it once it is approved.
    let policies = if first.policies.is_empty() { approved.policies } else { first.policies };
    let grantable = trusts && question.evaluate(false, true).allowed;
    Judged { decision: Decision::Ask, policies, grantable }
}

fn one(policy: &str) -> BTreeSet<PolicyId> {
    BTreeSet::from([PolicyId::new(policy)])
}

fn failed(mut outcome: Outcome) -> BTreeSet<PolicyId> {
    outcome.policies.insert(PolicyId::new(FAILED));
    outcome.policies
}

fn why(engine: &Engine, judged: &Judged, facts: &Facts, session: &Session) -> Why {
    let target = &facts.target;
    Why {
        policies: List::clip(judged.policies.iter().map(|policy| Name::clip(policy.as_ref()))),
        version: Name::clip(engine.version()),
        label: session.label.clone(),
        args: List::clip(facts.args.iter().map(|fact| (Name::clip(&fact.name), fact.vouched))),
        planned: session.plan.is_some().then_some(facts.planned),
        taint: session.taint.thousandths(),
        path: target.path.as_ref().map(|path| Text::clip(&path.canonical)),
        command: target.command.as_ref().map(|command| Name::clip(command.danger.unwrap_or(command.reason))),
        // The caller sets the expiry of the question.
        expires_ms: 0,
    }
}

/// The reason in plain words: the policies' own reasons, and the arguments that they are about.
fn reason(engine: &Engine, judged: &Judged, facts: &Facts, call: &Call<'_>) -> String {
    let mut parts: Vec<String> = Vec::new();
    for policy in &judged.policies {
        let name: &str = policy.as_ref();
        let part = match (name, &facts.unfit) {
            ("undeclared-tool", _) => format!("{} declares no capability", call.tool),
            ("unfit-target", Some(unfit)) => unfit.clone(),
            (NO_PERMIT, _) => "no policy permits it".to_owned(),
            (FAILED, _) => "a policy could not be evaluated".to_owned(),
            _ => engine.reason(name).map_or_else(|| format!("the policy {name} says so"), str::to_owned),
        };
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    let names: Vec<&str> = facts.unvouched().collect();
    let about = judged.policies.iter().any(|policy| engine.note(policy).is_some_and(|note| note.about_args));
    if judged.decision == Decision::Ask && about && !names.is_empty() {
        parts.push(format!("not named by you: {}", names.join(", ")));
    }
    Text::<REASON>::clip(&parts.join("; ")).into_string()
}
