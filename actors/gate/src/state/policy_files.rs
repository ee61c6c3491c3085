//! The owner's policy files: read when the gate starts, checked together with the built-in ones, swapped at once or not at all.
//! This touches the gate's own folder and nothing else. If a file is no longer valid, after an upgrade or an edit by hand, the
//! gate must not become more lenient: then every call is refused until the files are mended.

use crate::state::durable_file;
use ipc_proto::gate::{POLICIES, POLICY_BOUND, PolicyError, PolicyInfo, PolicySet};
use ipc_proto::{List, Name, Text};
use kit::OpenFault;
use policy::{Engine, Invalid};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const ENDING: &str = "cedar";

/// Bytes of a file's name, less its ending.
const NAME: usize = 48;

/// Replaces files that are not valid: it refuses every call.
const DENY_ALL: (&str, &str) = (
    "broken-policy-files",
    "@id(\"deny-all\")\n@reason(\"a policy file of the owner's does not hold; agentctl policy list names it\")\n\
     forbid (principal, action, resource);\n",
);

/// The files, and the engine that is built of them.
pub(crate) struct Policies {
    folder: PathBuf,
    files: BTreeMap<String, String>,
    engine: Arc<Engine>,
    /// The reason for which the files are not valid, if they are not.
    pub(crate) broken: Option<Invalid>,
}

/// A change that was checked and is not written yet.
pub(crate) struct Change {
    name: String,
    text: Option<String>,
    files: BTreeMap<String, String>,
    engine: Arc<Engine>,
}

impl Change {
    /// The version that the change leads to.
    pub(crate) fn version(&self) -> Name {
        Name::clip(self.engine.version())
    }
}

impl Policies {
    /// Reads the files. This is called before the seal, so that whatever Cedar builds at first use is built here.
    pub(crate) fn open(folder: &Path) -> Result<Self, OpenFault> {
        let files = read_all(folder).map_err(|error| OpenFault::new("the owner's policies", error))?;
        let (engine, broken) = match build(&files) {
            Ok(engine) => (engine, None),
            Err(invalid) => {
                tracing::error!(%invalid, "the owner's policies do not hold: every call is refused");
                let closed = Engine::with(&[DENY_ALL]);
                (closed.map_err(|error| OpenFault::new("the built-in policies", error))?, Some(invalid))
            }
        };
        Ok(Self { folder: folder.to_owned(), files, engine: Arc::new(engine), broken })
    }

    /// The engine of the valid files.
    pub(crate) fn engine(&self) -> Arc<Engine> {
        Arc::clone(&self.engine)
    }

    /// All files, the owner's invalid ones included.
    pub(crate) fn list(&self) -> PolicySet {
        let built_in = self.engine.files().iter().filter(|file| file.built_in || self.broken.is_none());
        let listed = built_in.map(|file| PolicyInfo {
            name: Name::clip(&file.name),
            built_in: file.built_in,
            policies: file.policies,
            text: Text::clip(&file.text),
        });
        let broken = self.files.iter().filter(|_| self.broken.is_some()).map(|(name, text)| PolicyInfo {
            name: Name::clip(name),
            built_in: false,
            policies: 0,
            text: Text::clip(text),
        });
        PolicySet { version: Name::clip(self.engine.version()), files: List::clip(listed.chain(broken)) }
    }

    /// Checks the addition or replacement of a file.
    pub(crate) fn check_set(&self, name: &str, text: &str) -> Result<Change, PolicyError> {
        if !is_name(name) || self.is_built_in(name) {
            return Err(PolicyError::BadName(Name::clip(name)));
        }
        if self.files.len() >= POLICIES && !self.files.contains_key(name) {
            return Err(PolicyError::Full);
        }
        let mut files = self.files.clone();
        files.insert(name.to_owned(), text.to_owned());
        change(name, Some(text.to_owned()), files)
    }

    /// Checks the removal of a file.
    pub(crate) fn check_removal(&self, name: &str) -> Result<Change, PolicyError> {
        let mut files = self.files.clone();
        if files.remove(name).is_none() {
            let names: Vec<&str> = self.files.keys().map(String::as_str).collect();
            return Err(PolicyError::NoPolicy(Text::clip(&names.join(", "))));
        }
        change(name, None, files)
    }

    /// Writes a change durably, and only then puts it into effect.
    ///
    /// # Errors
    /// The folder could not be written; nothing has changed.
    pub(crate) fn apply(&mut self, change: Change) -> io::Result<()> {
        match &change.text {
            Some(text) => {
                let name = format!("{}.{ENDING}", change.name);
                durable_file::replace(&self.folder, &name, text.as_bytes())?;
            }
            None => {
                fs::remove_file(path(&self.folder, &change.name))?;
                File::open(&self.folder)?.sync_all()?;
            }
        }
        (self.files, self.engine, self.broken) = (change.files, change.engine, None);
        Ok(())
    }

    fn is_built_in(&self, name: &str) -> bool {
        self.engine.files().iter().any(|file| file.built_in && file.name == name) || name == DENY_ALL.0
    }
}

fn change(name: &str, text: Option<String>, files: BTreeMap<String, String>) -> Result<Change, PolicyError> {
    let engine = build(&files).map_err(|invalid| PolicyError::Invalid {
        name: Name::clip(&invalid.name),
        line: invalid.line,
        message: Text::clip(&invalid.message),
    })?;
    Ok(Change { name: name.to_owned(), text, files, engine: Arc::new(engine) })
}

fn build(files: &BTreeMap<String, String>) -> Result<Engine, Invalid> {
    let own: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    Engine::with(&own)
}

/// Returns true for letters, digits, `-` and `_`: such a name leads to no other folder.
fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    !name.is_empty() && name.len() <= NAME && name.bytes().all(fits)
}

fn path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.{ENDING}"))
}

fn read_all(folder: &Path) -> io::Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_none_or(|ending| ending != ENDING) {
            continue;
        }
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        let bound = u64::try_from(POLICY_BOUND).unwrap_or(u64::MAX) + 1;
        let mut text = String::new();
        File::open(&path)?.take(bound).read_to_string(&mut text)?;
        if !is_name(&name) || text.len() > POLICY_BOUND || files.len() >= POLICIES {
            return Err(io::Error::other(format!("{name}: not a name, too long, or one file too many")));
        }
        files.insert(name, text);
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORBID: &str = "@id(\"no-bash\")\n@reason(\"no\")\nforbid (principal, action, resource);\n";

    fn made(policies: &mut Policies, name: &str, text: &str) {
        let change = policies.check_set(name, text).unwrap();
        policies.apply(change).unwrap();
    }

    // Holds P5-53.
    #[test]
    fn a_valid_policy_file_survives_a_restart_and_changes_the_version() {
        let folder = tempfile::tempdir().unwrap();
        let mut policies = Policies::open(folder.path()).unwrap();
        let built_in = policies.engine().version().to_owned();
        made(&mut policies, "mine", FORBID);
        let version = policies.engine().version().to_owned();
        assert_ne!(version, built_in);
        let mut policies = Policies::open(folder.path()).unwrap();
        assert_eq!(policies.engine().version(), version);
        let change = policies.check_removal("mine").unwrap();
        policies.apply(change).unwrap();
        assert_eq!(policies.engine().version(), built_in);
        assert_eq!(Policies::open(folder.path()).unwrap().engine().version(), built_in);
    }

    // Holds P5-52.
    #[test]
    fn an_invalid_policy_file_is_refused_with_its_line_and_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut policies = Policies::open(folder.path()).unwrap();
        made(&mut policies, "mine", FORBID);
        let version = policies.engine().version().to_owned();
        let bad = policies.check_set("mine", "\n\nforbid (principal, action resource);").err();
        assert!(matches!(bad, Some(PolicyError::Invalid { line: 3, .. })), "{bad:?}");
        assert_eq!(policies.engine().version(), version);
        assert_eq!(Policies::open(folder.path()).unwrap().engine().version(), version);
    }

    #[test]
    fn names_that_are_built_in_or_lead_elsewhere_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let policies = Policies::open(folder.path()).unwrap();
        for name in ["standard", "invariants", "../mine", "", "a.b", "a/b", "ä"] {
            assert!(matches!(policies.check_set(name, FORBID), Err(PolicyError::BadName(_))), "{name}");
        }
        assert!(matches!(policies.check_removal("mine"), Err(PolicyError::NoPolicy(_))));
    }

    // Holds P5-52.
    #[test]
    fn files_that_hold_no_more_refuse_every_call_until_they_are_mended() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(
            folder.path().join("old.cedar"),
            "permit (principal, action, resource) when { context.gone };",
        )
        .unwrap();
        let mut policies = Policies::open(folder.path()).unwrap();
        assert!(policies.broken.is_some());
        let catalogue = policy::Catalogue::built_in().unwrap();
        let args = serde_json::Map::from_iter([("path".to_owned(), "a".into())]);
        let call = policy::Call { tool: "read", args: &args };
        let session = policy::Session::new("s", policy::Profile::PowerUser);
        let decided =
            |policies: &Policies| policy::decide(&policies.engine(), &catalogue, &session, &call).decision;
        assert_eq!(decided(&policies), policy::Decision::Deny);
        assert!(policies.list().files.iter().any(|file| file.name.as_str() == "old"));
        let change = policies.check_removal("old").unwrap();
        policies.apply(change).unwrap();
        assert_eq!(decided(&policies), policy::Decision::Allow);
        assert!(policies.broken.is_none());
    }
}
