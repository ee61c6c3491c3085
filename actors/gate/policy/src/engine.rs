//! The policies that hold, parsed and validated once: invariants, what every profile shares, the three profiles, the
//! owner's files. Swapped whole or not at all: an engine is made anew and put in the place of the old one.

use crate::context::{Asked, entities};
use crate::{Invalid, Profile};
use cedar_policy::{
    Authorizer, Context, Decision, Entities, Entity, EntityUid, Policy, PolicyId, PolicySet, Request, Schema,
    ValidationMode, Validator,
};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

/// What policies can speak of.
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
/// Policies of all files together: each is evaluated for each call.
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

/// Every policy that holds.
pub struct Engine {
    authorizer: Authorizer,
    /// What holds in each profile. The built-in policies of the other profiles would not match, and cost their time.
    policies: [PolicySet; Profile::ALL.len()],
    actions: Vec<Entity>,
    notes: BTreeMap<PolicyId, Note>,
    files: Vec<File>,
    version: String,
}

/// What a policy says of itself, in annotations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Note {
    pub(crate) reason: Option<String>,
    pub(crate) owner_only: bool,
    pub(crate) declassifies: bool,
    /// It looks at where arguments came from, so those that nobody named are part of the reason.
    pub(crate) about_args: bool,
}

/// What one evaluation gave.
#[derive(Debug, Default)]
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
        let (schema, _) =
            Schema::from_cedarschema_str(SCHEMA).map_err(|error| Invalid::new("schema", 1, error))?;
        let actions = schema.action_entities().map_err(|error| Invalid::new("schema", 1, error))?;
        let validator = Validator::new(schema);
        let mut engine = Self {
            authorizer: Authorizer::new(),
            policies: Profile::ALL.map(|_| PolicySet::new()),
            actions: actions.into_iter().collect(),
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
        // Whatever Cedar does once and lazily is done now.
        engine.ask(&Asked::default());
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

    /// The reason that a policy gives for itself.
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
        // Cedar gives them in no order; the same file is to be refused with the same words each time.
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

    /// Takes one policy, under a name that no other file can take.
    fn take(&mut self, file: &str, policy: &Policy, built_in: bool) -> Result<(), Invalid> {
        let own = policy.annotation("id").map_or_else(|| policy.id().to_string(), str::to_owned);
        let id = PolicyId::new(if built_in { own.clone() } else { format!("{file}.{own}") });
        let is = |key: &str| policy.annotation(key) == Some("true");
        let note = Note {
            reason: policy.annotation("reason").map(str::to_owned),
            owner_only: is("owner_only"),
            declassifies: is("declassifies"),
            about_args: is("about_args"),
        };
        let twice = || Invalid::new(file, 1, format!("two policies have the id {own}"));
        if self.notes.insert(id.clone(), note).is_some() {
            return Err(twice());
        }
        let only = Profile::ALL.iter().position(|profile| built_in && profile.name() == file);
        for (number, set) in self.policies.iter_mut().enumerate() {
            if only.is_none_or(|only| only == number) {
                set.add(policy.new_id(id.clone())).map_err(|error| Invalid::set(file, &error))?;
            }
        }
        Ok(())
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
    pub(crate) fn ask(&self, asked: &Asked<'_>) -> Outcome {
        self.prepare(asked)
            .map_or_else(Outcome::failed, |prepared| self.evaluate(&prepared, asked, false, false))
    }

    pub(crate) fn prepare(&self, asked: &Asked<'_>) -> Option<Prepared> {
        let (principal, resource, own) = entities(asked)?;
        let all = own.into_iter().chain(self.actions.iter().cloned());
        let entities = Entities::from_entities(all, None).ok()?;
        let action = EntityUid::from_str(&format!("Action::\"{}\"", asked.action)).ok()?;
        Some(Prepared { principal, action, resource, entities })
    }

    /// One evaluation. Any error is a refusal: Cedar skips a policy that errs, and a forbid that is skipped would
    /// let through what it is there to stop.
    pub(crate) fn evaluate(
        &self,
        prepared: &Prepared,
        asked: &Asked<'_>,
        approved: bool,
        granted: bool,
    ) -> Outcome {
        let Ok(context) = Context::from_pairs(asked.attributes(approved, granted)) else {
            return Outcome::failed();
        };
        let (principal, action) = (prepared.principal.clone(), prepared.action.clone());
        let Ok(request) = Request::new(principal, action, prepared.resource.clone(), context, None) else {
            return Outcome::failed();
        };
        let profile = asked.session.map_or(Profile::default(), |session| session.profile);
        let [paranoid, standard, power_user] = &self.policies;
        let policies = match profile {
            Profile::Paranoid => paranoid,
            Profile::Standard => standard,
            Profile::PowerUser => power_user,
        };
        let response = self.authorizer.is_authorized(&request, policies, &prepared.entities);
        let failed = response.diagnostics().errors().next().is_some();
        Outcome {
            allowed: response.decision() == Decision::Allow && !failed,
            policies: response.diagnostics().reason().cloned().collect(),
            failed,
        }
    }
}

/// What stays the same over the evaluations of one call.
pub(crate) struct Prepared {
    principal: EntityUid,
    action: EntityUid,
    resource: EntityUid,
    entities: Entities,
}

impl Outcome {
    fn failed() -> Self {
        Self { failed: true, ..Self::default() }
    }
}
