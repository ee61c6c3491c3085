//! The valid policies, parsed and validated once: invariants, those of every profile, the three profiles, the owner's files. An
//! engine is never changed: a new one replaces the old one.

mod guard;
mod reading;

use crate::context::{ACTIONS, Asked, Attribute, Attributes, Kinds, entities};
use crate::{Invalid, Profile};
use cedar_policy::{
    ActionConstraint, Authorizer, Context, Decision, Entities, Policy, PolicyId, PolicySet, Request, Schema,
    ValidationMode, Validator,
};
use guard::Guard;
use reading::Reading;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::str::FromStr;
use std::sync::{Arc, Mutex};

/// The vocabulary of policies.
const SCHEMA: &str = include_str!("../../../../deploy/policies/schema.cedarschema");
/// The policies that are part of the program.
const BUILT_IN: &[(&str, &str)] = &[
    ("invariants", include_str!("../../../../deploy/policies/invariants.cedar")),
    ("common", include_str!("../../../../deploy/policies/common.cedar")),
    ("paranoid", include_str!("../../../../deploy/policies/paranoid.cedar")),
    ("standard", include_str!("../../../../deploy/policies/standard.cedar")),
    ("power-user", include_str!("../../../../deploy/policies/power-user.cedar")),
];
/// Bytes of the version's hash that are shown.
const VERSION_BYTES: usize = 16;
/// Policy sets in the cache. Further ones are built each time.
const SETS: usize = 128;
/// Cached answers of one set.
const ANSWERS: usize = 32;
/// Policies of all files together: each is considered for each call.
const POLICIES: usize = 1024;

/// A policy file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name, without `.cedar`.
    pub name: String,
    /// It is part of the program.
    pub built_in: bool,
    /// Policies in it.
    pub policies: u16,
    /// Its text.
    pub text: String,
}

/// All valid policies.
pub struct Engine {
    authorizer: Authorizer,
    kinds: Kinds,
    /// The policies that can match, by profile and action.
    policies: [[Vec<Arc<Guarded>>; ACTIONS.len()]; Profile::ALL.len()],
    /// The cached sets.
    sets: Mutex<HashMap<Choice, Arc<Chosen>>>,
    /// Every action in its groups.
    actions: Entities,
    notes: BTreeMap<PolicyId, Note>,
    files: Vec<File>,
    version: String,
}

/// Profile and action by number, and the indices of their policies.
type Choice = (usize, usize, Vec<bool>);

/// The policies that can apply to a call, and the parts of it that they read. Cedar takes as long for an attribute as for a
/// policy, and most attributes are read by none. The outcome for equal parts is the same, so it is cached.
struct Chosen {
    policies: PolicySet,
    reading: Reading,
    said: Mutex<HashMap<Read, Outcome>>,
}

/// The parts of a question that a set of policies reads.
#[derive(PartialEq, Eq, Hash)]
struct Read {
    context: Vec<(&'static str, Attribute)>,
    principal: Option<[String; 4]>,
    resource: Option<[String; 3]>,
}

/// A policy's annotations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Note {
    pub(crate) reason: Option<String>,
    pub(crate) owner_only: bool,
    pub(crate) declassifies: bool,
    /// It reads the provenance of arguments, so those that nobody named are part of the reason.
    pub(crate) about_args: bool,
    /// It reads the approval, so its verdict may differ then.
    pub(crate) asks: bool,
}

/// A policy and its leading condition. Cedar evaluates every policy of a set, at some microseconds each; a policy whose leading
/// condition is false has no effect, and is left out of the set.
struct Guarded {
    policy: Policy,
    guards: Vec<Guard>,
    reading: Reading,
}

/// The outcome of one evaluation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) allowed: bool,
    /// The policies that determined it, in order.
    pub(crate) policies: BTreeSet<PolicyId>,
    /// A policy could not be evaluated, or the question could not be put.
    pub(crate) failed: bool,
}

impl Engine {
    /// The built-in policies alone. Must be called on the thread that decides, before it is sealed.
    ///
    /// # Errors
    /// A built-in policy is wrong, which the tests of this crate rule out.
    pub fn built_in() -> Result<Self, Invalid> {
        Self::with(&[])
    }

    /// The built-in policies and the owner's files, as name (without `.cedar`) and text.
    ///
    /// # Errors
    /// The first file that does not parse or does not fit the schema, with line and Cedar's own words.
    pub fn with(own: &[(&str, &str)]) -> Result<Self, Invalid> {
        let wrong = |error: &dyn std::fmt::Display| Invalid::new("schema", 1, error);
        let (schema, _) = Schema::from_cedarschema_str(SCHEMA).map_err(|error| wrong(&error))?;
        let actions = schema.action_entities().map_err(|error| wrong(&error))?;
        let kinds = Kinds::new().map_err(|error| wrong(&error))?;
        let validator = Validator::new(schema);
        let mut engine = Self {
            authorizer: Authorizer::new(),
            kinds,
            policies: Profile::ALL.map(|_| ACTIONS.map(|_| Vec::new())),
            sets: Mutex::default(),
            actions,
            notes: BTreeMap::new(),
            files: Vec::new(),
            version: String::new(),
        };
        for (name, text) in BUILT_IN {
            engine.add(&validator, name, text, true)?;
        }
        for (name, text) in own {
            engine.add(&validator, name, text, false)?;
        }
        engine.version = engine.hash();
        // Cedar's lazy initialization happens now.
        let nothing = Asked::default();
        drop(engine.prepare(&nothing).map(|question| question.evaluate(false, false)));
        Ok(engine)
    }

    /// Hash of every file and of the schema, in order: it stands in each verdict.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Every file, the built-in ones first.
    #[must_use]
    pub fn files(&self) -> &[File] {
        &self.files
    }

    /// The reason that a policy's annotation gives.
    #[must_use]
    pub fn reason(&self, policy: &str) -> Option<&str> {
        self.notes.get(&PolicyId::new(policy)).and_then(|note| note.reason.as_deref())
    }

    fn add(&mut self, validator: &Validator, name: &str, text: &str, built_in: bool) -> Result<(), Invalid> {
        if self.files.iter().any(|file| file.name == name) {
            return Err(Invalid::new(name, 1, "there is a policy file of this name already"));
        }
        let set = PolicySet::from_str(text).map_err(|errors| Invalid::parse(name, text, &errors))?;
        if set.templates().next().is_some() {
            return Err(Invalid::new(name, 1, "templates are not used here: a policy must be whole"));
        }
        let faults = validator.validate(&set, ValidationMode::default());
        // Cedar returns them in no order; the same file is refused with the same message each time.
        let faults = faults.validation_errors().map(|error| Invalid::validation(name, text, error));
        if let Some(first) = faults.min_by(|a, b| (a.line, &a.message).cmp(&(b.line, &b.message))) {
            return Err(first);
        }
        let mut count = 0;
        for policy in set.policies() {
            self.take(name, policy, built_in)?;
            count += 1;
        }
        if self.notes.len() > POLICIES {
            return Err(Invalid::new(name, 1, format!("there are more than {POLICIES} policies in all")));
        }
        self.files.push(File { name: name.to_owned(), built_in, policies: count, text: text.to_owned() });
        Ok(())
    }

    /// Adds one policy, under a name that no other file can take.
    fn take(&mut self, file: &str, policy: &Policy, built_in: bool) -> Result<(), Invalid> {
        let own = policy.annotation("id").map_or_else(|| policy.id().to_string(), str::to_owned);
        let id = PolicyId::new(if built_in { own.clone() } else { format!("{file}.{own}") });
        let is = |key: &str| policy.annotation(key) == Some("true");
        let structure = policy.to_json().unwrap_or_default();
        let reading = Reading::of(&structure);
        let note = Note {
            reason: policy.annotation("reason").map(str::to_owned),
            owner_only: is("owner_only"),
            declassifies: is("declassifies"),
            about_args: is("about_args"),
            asks: ["approved", "granted"].into_iter().any(|answer| reading.has(answer)),
        };
        let twice = || Invalid::new(file, 1, format!("two policies have the id {own}"));
        if self.notes.insert(id.clone(), note).is_some() {
            return Err(twice());
        }
        let only = Profile::ALL.iter().position(|profile| built_in && profile.name() == file);
        let policy = policy.new_id(id);
        let fits = ACTIONS.map(|action| self.can_match(&policy, action));
        let guarded = Arc::new(Guarded { policy, guards: guard::of(&structure), reading });
        for (number, sets) in self.policies.iter_mut().enumerate() {
            if only.is_none_or(|only| only == number) {
                for (set, _) in sets.iter_mut().zip(fits).filter(|(_, fits)| *fits) {
                    set.push(Arc::clone(&guarded));
                }
            }
        }
        Ok(())
    }

    /// Returns true if a policy's scope covers an action.
    fn can_match(&self, policy: &Policy, action: &str) -> bool {
        let action = self.kinds.action(action);
        match policy.action_constraint() {
            ActionConstraint::Any => true,
            ActionConstraint::Eq(one) => one == action,
            ActionConstraint::In(groups) => {
                groups.iter().any(|group| *group == action || self.actions.is_ancestor_of(group, &action))
            }
        }
    }

    fn hash(&self) -> String {
        let mut hash = Sha256::new();
        let schema = ("schema", SCHEMA);
        let files = self.files.iter().map(|file| (file.name.as_str(), file.text.as_str()));
        for part in std::iter::once(schema).chain(files).flat_map(|(name, text)| [name, text]) {
            // The length goes first, so that no text can be moved from one part to the next.
            hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
            hash.update(part.as_bytes());
        }
        hash.finalize().iter().take(VERSION_BYTES).map(|byte| format!("{byte:02x}")).collect()
    }

    pub(crate) fn note(&self, policy: &PolicyId) -> Option<&Note> {
        self.notes.get(policy)
    }

    /// Prepares what stays the same over the evaluations of one call.
    pub(crate) fn prepare<'a>(&'a self, asked: &'a Asked<'a>) -> Option<Question<'a>> {
        let profile = asked.session.map_or(Profile::default(), |session| session.profile);
        let profile = Profile::ALL.iter().position(|one| *one == profile)?;
        let number = ACTIONS.iter().position(|one| *one == asked.action)?;
        Some(Question { engine: self, of: (profile, number), asked })
    }

    /// The policies that these attributes do not exclude.
    fn choose(&self, (profile, action): (usize, usize), asked: [&Attributes; 2]) -> Option<Arc<Chosen>> {
        let policies = self.policies.get(profile)?.get(action)?;
        let [context, principal] = asked;
        let may_hold =
            |guarded: &Arc<Guarded>| guarded.guards.iter().all(|guard| guard.may_hold(context, principal));
        let key: Choice = (profile, action, policies.iter().map(may_hold).collect());
        let mut sets = self.sets.lock().ok()?;
        if let Some(set) = sets.get(&key) {
            return Some(Arc::clone(set));
        }
        let chosen =
            || policies.iter().zip(&key.2).filter(|(_, chosen)| **chosen).map(|(guarded, _)| guarded);
        let reading = chosen().fold(Reading::NOTHING, |all, guarded| all.and(&guarded.reading));
        let policies = PolicySet::from_policies(chosen().map(|guarded| guarded.policy.clone())).ok()?;
        if sets.len() >= SETS {
            sets.clear();
        }
        Some(Arc::clone(sets.entry(key).or_insert(Arc::new(Chosen::new(policies, reading)))))
    }
}

/// A question that is evaluated once or more.
pub(crate) struct Question<'a> {
    engine: &'a Engine,
    /// Profile and action, by number.
    of: (usize, usize),
    asked: &'a Asked<'a>,
}

impl Question<'_> {
    /// One evaluation. Any error is a refusal: Cedar skips a policy that errs, and a forbid that is skipped would
    /// let through what it is there to stop.
    pub(crate) fn evaluate(&self, approved: bool, granted: bool) -> Outcome {
        self.answer(approved, granted).unwrap_or(Outcome { failed: true, ..Outcome::default() })
    }

    fn answer(&self, approved: bool, granted: bool) -> Option<Outcome> {
        let attributes = self.asked.attributes(approved, granted);
        let chosen = self.engine.choose(self.of, [&attributes, &self.asked.principal_attributes()])?;
        let read = chosen.read(self.asked, attributes);
        if let Some(said) = chosen.said.lock().ok()?.get(&read) {
            return Some(said.clone());
        }
        let outcome = self.put(&read, &chosen)?;
        chosen.keep(read, &outcome);
        Some(outcome)
    }

    fn put(&self, read: &Read, chosen: &Chosen) -> Option<Outcome> {
        let (engine, kinds) = (self.engine, &self.engine.kinds);
        let pairs = read.context.iter().map(|(name, value)| ((*name).to_owned(), value.expression()));
        let context = Context::from_pairs(pairs).ok()?;
        let (principal, resource, own) = entities(kinds, self.asked)?;
        let action = kinds.action(self.asked.action);
        let made;
        // Building entities takes as long as evaluating them; those that nobody reads are left out.
        let entities = if read.principal.is_some() || read.resource.is_some() {
            let all = own.into_iter().chain(engine.actions.get(&action).cloned());
            made = Entities::from_entities(all, None).ok()?;
            &made
        } else {
            &engine.actions
        };
        let request = Request::new(principal, action, resource, context, None).ok()?;
        let response = engine.authorizer.is_authorized(&request, &chosen.policies, entities);
        let failed = response.diagnostics().errors().next().is_some();
        Some(Outcome {
            allowed: response.decision() == Decision::Allow && !failed,
            policies: response.diagnostics().reason().cloned().collect(),
            failed,
        })
    }
}

impl Chosen {
    fn new(policies: PolicySet, reading: Reading) -> Self {
        Self { policies, reading, said: Mutex::default() }
    }

    /// The parts of a question that these policies read.
    fn read(&self, asked: &Asked<'_>, attributes: Attributes) -> Read {
        let reading = &self.reading;
        Read {
            context: attributes.into_iter().filter(|(name, _)| reading.has(name)).collect(),
            principal: reading.principal.then(|| asked.principal()),
            resource: reading.resource.then(|| asked.resource()),
        }
    }

    fn keep(&self, read: Read, outcome: &Outcome) {
        if let Ok(mut said) = self.said.lock() {
            if said.len() >= ANSWERS {
                said.clear();
            }
            said.insert(read, outcome.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Session;
    use proptest::prelude::*;
    use std::sync::LazyLock;

    static ENGINE: LazyLock<Engine> = LazyLock::new(|| Engine::built_in().unwrap());

    /// Attributes as a call might have them, the flags at will.
    fn attributes(asked: &Asked<'_>, flags: u64, words: [&str; 3], taint: i64) -> Attributes {
        let mut all = asked.attributes(false, false);
        for (bit, value) in all.values_mut().filter(|value| matches!(value, Attribute::Flag(_))).enumerate() {
            *value = (flags >> bit & 1 == 1).into();
        }
        all.extend(["trust", "class", "level"].into_iter().zip(words.map(Attribute::from)));
        all.extend([("taint", taint.into()), ("distrust", (flags >> 60 & 3).cast_signed().into())]);
        all
    }

    proptest! {
        // Holds P5-55.
        #[test]
        fn a_policy_or_an_attribute_that_is_left_out_would_have_changed_no_answer(
            flags in any::<u64>(),
            trust in prop::sample::select(vec!["system", "user", "verified", "untrusted"]),
            class in prop::sample::select(vec!["public", "internal", "sensitive", "secret"]),
            level in prop::sample::select(vec!["auto", "ask", "always"]),
            taint in 0..1000i64,
        ) {
            for (profile, action) in Profile::ALL.into_iter().flat_map(|one| ACTIONS.map(|action| (one, action))) {
                let session = Session::new("s", profile);
                let asked = Asked { session: Some(&session), action, ..Asked::default() };
                let question = ENGINE.prepare(&asked).unwrap();
                let attributes = || attributes(&asked, flags, [trust, class, level], taint);
                let chosen = ENGINE.choose(question.of, [&attributes(), &asked.principal_attributes()]).unwrap();
                let (profile, action) = question.of;
                let every = ENGINE.policies[profile][action].iter().map(|guarded| guarded.policy.clone());
                let policies = PolicySet::from_policies(every).unwrap();
                let every = Chosen::new(policies, Reading::EVERYTHING);
                let put = |chosen: &Chosen| question.put(&chosen.read(&asked, attributes()), chosen);
                prop_assert_eq!(put(&chosen), put(&every));
            }
        }
    }
}
