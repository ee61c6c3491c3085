//! Packages that servers are installed from, each of one version, with a name that leads to no other place than its registry.

use crate::Text;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A registry of packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Registry {
    /// Python's.
    Pypi,
    /// Node's.
    Npm,
}

/// A package of one version, as `pypi:NAME==VERSION` or `npm:NAME@VERSION`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    /// The registry.
    pub registry: Registry,
    /// The name; npm's may have a scope.
    pub name: Text<214>,
    /// The version.
    pub version: Text<64>,
}

/// The text is no package of one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a package is pypi:NAME==VERSION or npm:NAME@VERSION, of one version")]
pub struct NoPackage;

impl FromStr for Package {
    type Err = NoPackage;

    fn from_str(text: &str) -> Result<Self, NoPackage> {
        let (registry, rest) = text.split_once(':').ok_or(NoPackage)?;
        let (registry, (name, version)) = match registry {
            "pypi" => (Registry::Pypi, rest.split_once("==").ok_or(NoPackage)?),
            "npm" => (Registry::Npm, rest.rsplit_once('@').ok_or(NoPackage)?),
            _ => return Err(NoPackage),
        };
        let plain = |text: &str| {
            text.starts_with(|first: char| first.is_ascii_alphanumeric())
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-+".contains(&byte))
        };
        let bare = match (registry, name.strip_prefix('@')) {
            (Registry::Npm, Some(scoped)) => {
                let (scope, bare) = scoped.split_once('/').ok_or(NoPackage)?;
                if !plain(scope) {
                    return Err(NoPackage);
                }
                bare
            }
            _ => name,
        };
        let fits = plain(bare) && plain(version) && version.contains(|digit: char| digit.is_ascii_digit());
        match (fits, Text::new(name), Text::new(version)) {
            (true, Ok(name), Ok(version)) => Ok(Self { registry, name, version }),
            _ => Err(NoPackage),
        }
    }
}

impl fmt::Display for Package {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.registry {
            Registry::Pypi => write!(out, "pypi:{}=={}", self.name, self.version),
            Registry::Npm => write!(out, "npm:{}@{}", self.name, self.version),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_has_one_version_and_a_name_that_leads_nowhere_else() {
        for text in [
            "pypi:mcp-server-time==2026.1.26",
            "npm:is-number@7.0.0",
            "npm:@modelcontextprotocol/server-everything@2026.1.26",
        ] {
            assert_eq!(text.parse::<Package>().unwrap().to_string(), text);
        }
        for text in [
            "mcp-server-time==1",
            "pypi:time",
            "pypi:time==",
            "pypi:time==latest",
            "pypi:-r==1",
            "pypi:--index-url=http://a==1",
            "pypi:a b==1",
            "npm:time",
            "npm:@time@1",
            "npm:@/time@1",
            "npm:@a/../b@1",
            "npm:a@file:../b1",
            "npm:a@latest",
            "cargo:a@1",
            "",
        ] {
            assert_eq!(text.parse::<Package>(), Err(NoPackage), "{text}");
        }
    }
}
