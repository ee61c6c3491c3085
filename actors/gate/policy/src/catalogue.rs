//! The capabilities of all tools, with their patterns compiled once. A tool that is not here declares nothing.

use crate::{builtin, handling};
use globset::{Glob, GlobSet, GlobSetBuilder};
use ipc_proto::capability::{Capability, Effect};
use regex::{RegexSet, RegexSetBuilder};
use std::collections::BTreeMap;

/// Bytes that the compiled danger patterns of one tool may take: a pattern of a foreign tool must not eat the gate.
const PATTERNS_BOUND: usize = 1024 * 1024;
/// Patterns and globs of one list.
const LIST_BOUND: usize = 64;

/// An invalid capability.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("tool {tool}: {field}: {why}")]
pub struct BadCapability {
    /// The tool.
    pub tool: String,
    /// The field of its capability.
    pub field: &'static str,
    /// The error.
    pub why: String,
}

/// The capabilities by tool.
#[derive(Clone)]
pub struct Catalogue {
    tools: BTreeMap<String, Declared>,
}

/// A capability with its compiled patterns.
#[derive(Clone, Default)]
pub(crate) struct Declared {
    pub(crate) capability: Capability,
    /// True if this declaration, or one that it replaced, says that the tool does more than read.
    acts: bool,
    /// True if one of them says that data can leak by it.
    leaks: bool,
    pub(crate) danger: RegexSet,
    pub(crate) allowed_paths: Option<GlobSet>,
    pub(crate) blocked_paths: GlobSet,
}

impl Catalogue {
    /// The catalogue of the built-in tools.
    ///
    /// # Errors
    /// A built-in capability is wrong, which the tests of this crate rule out.
    pub fn built_in() -> Result<Self, BadCapability> {
        let empty = Self { tools: BTreeMap::new() };
        builtin::capabilities()
            .into_iter()
            .try_fold(empty, |all, (name, capability)| all.with(name, capability))
    }

    /// This catalogue with one tool added or replaced.
    ///
    /// # Errors
    /// A pattern, a glob or a word of it is not valid.
    pub fn with(mut self, tool: &str, capability: Capability) -> Result<Self, BadCapability> {
        self.declare(tool, capability)?;
        Ok(self)
    }

    /// Adds or replaces one tool.
    ///
    /// # Errors
    /// As [`Catalogue::with`]; nothing is changed then.
    pub fn declare(&mut self, tool: &str, capability: Capability) -> Result<(), BadCapability> {
        let declared = Declared::new(capability);
        let mut declared =
            declared.map_err(|(field, why)| BadCapability { tool: tool.to_owned(), field, why })?;
        if let Some(before) = self.tools.get(tool) {
            declared.acts |= before.acts;
            declared.leaks |= before.leaks;
        }
        self.tools.insert(tool.to_owned(), declared);
        Ok(())
    }

    /// Returns true if every declaration of a tool says that it does nothing but read. A later one can only be stricter.
    #[must_use]
    pub fn only_reads(&self, tool: &str) -> bool {
        self.tools.get(tool).is_some_and(|declared| !declared.acts)
    }

    /// Returns true if a tool does more than read, or data can leak by it, by any declaration of it.
    #[must_use]
    pub fn can_harm(&self, tool: &str) -> bool {
        self.tools.get(tool).is_some_and(|declared| declared.acts || declared.leaks)
    }

    /// The capability of a tool.
    #[must_use]
    pub fn get(&self, tool: &str) -> Option<&Capability> {
        self.tools.get(tool).map(|declared| &declared.capability)
    }

    /// The names of all tools.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(String::as_str)
    }

    pub(crate) fn declared(&self, tool: &str) -> Option<&Declared> {
        self.tools.get(tool)
    }
}

type Problem = (&'static str, String);

impl Declared {
    fn new(capability: Capability) -> Result<Self, Problem> {
        let danger = patterns(&capability.approval.danger_patterns)?;
        let execution = &capability.execution;
        let allowed_paths = execution
            .allowed_paths
            .as_ref()
            .map(|paths| globs("execution.allowed_paths", paths))
            .transpose()?;
        let blocked_paths = globs("execution.blocked_paths", &execution.blocked_paths)?;
        bounded("network.blocked_hosts", &capability.network.blocked_hosts)?;
        bounded("network.allowed_hosts", capability.network.allowed_hosts.as_deref().unwrap_or_default())?;
        for word in &capability.audit.alert_on {
            if !handling::OUTCOMES.contains(&word.as_str()) {
                return Err(("audit.alert_on", format!("valid are {}", handling::OUTCOMES.join(", "))));
            }
        }
        if let Some(name) =
            capability.record_args.iter().find(|name| !capability.relevant_args.contains(name))
        {
            return Err(("record_args", format!("{name} is not among relevant_args")));
        }
        let (acts, leaks) = (capability.effect != Effect::Read, capability.data.can_leak_data);
        Ok(Self { danger, allowed_paths, blocked_paths, capability, acts, leaks })
    }
}

fn patterns(patterns: &[String]) -> Result<RegexSet, Problem> {
    const FIELD: &str = "approval.danger_patterns";
    bounded(FIELD, patterns)?;
    let set = RegexSetBuilder::new(patterns).case_insensitive(true).size_limit(PATTERNS_BOUND).build();
    set.map_err(|error| (FIELD, error.to_string()))
}

fn globs(field: &'static str, paths: &[String]) -> Result<GlobSet, Problem> {
    bounded(field, paths)?;
    let mut set = GlobSetBuilder::new();
    for path in paths {
        // A path is compared in its canonical form, which begins with the workspace's own place.
        let path = path.replace("$WORKSPACE", "/workspace");
        set.add(Glob::new(&path).map_err(|error| (field, error.to_string()))?);
    }
    set.build().map_err(|error| (field, error.to_string()))
}

fn bounded(field: &'static str, list: &[String]) -> Result<(), Problem> {
    if list.len() > LIST_BOUND { Err((field, format!("more than {LIST_BOUND} entries"))) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds P5-72.
    #[test]
    fn a_later_declaration_of_a_tool_makes_it_no_more_harmless() {
        let reads = || Capability { effect: Effect::Read, ..Capability::default() };
        let mut catalogue = Catalogue::built_in().unwrap();
        assert!(catalogue.only_reads("read") && !catalogue.can_harm("read"));
        for tool in ["bash", "write", "memory_delete"] {
            catalogue.declare(tool, reads()).unwrap();
            assert!(!catalogue.only_reads(tool) && catalogue.can_harm(tool), "{tool}");
        }
        let mut leaks = reads();
        leaks.data.can_leak_data = true;
        catalogue.declare("read", leaks).unwrap();
        catalogue.declare("read", reads()).unwrap();
        assert!(catalogue.only_reads("read") && catalogue.can_harm("read"));
        assert!(!catalogue.only_reads("none") && !catalogue.can_harm("none"));
    }
}
