//! What the gate tells operators, and the owner's policies. What it does for runners is in `runner_gate`.

use crate::model::ModelInfo;
use crate::service::service;
use crate::{List, Name, Text};
use serde::{Deserialize, Serialize};

/// Bytes of one policy file.
pub const POLICY_BOUND: usize = 64 * 1024;
/// Policy files of the owner.
pub const POLICIES: usize = 32;

/// A policy file, listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyInfo {
    /// Its name; the built-in ones are `invariants`, `paranoid`, `standard` and `power-user`.
    pub name: Name,
    /// It is part of the program.
    pub built_in: bool,
    /// Policies in it.
    pub policies: u16,
    /// Its text.
    pub text: Text<POLICY_BOUND>,
}

/// Every policy file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicySet {
    /// Hash of all of them: it stands in every verdict.
    pub version: Name,
    /// The files.
    pub files: List<PolicyInfo, 40>,
}

/// Why a policy file was refused. The running ones stay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum PolicyError {
    /// It does not parse, or does not fit the schema; Cedar's own words.
    #[error("{name}:{line}: {message}")]
    Invalid {
        /// The file.
        name: Name,
        /// Where.
        line: u32,
        /// Cedar's words.
        message: Text<2048>,
    },
    /// The name is built in, or is not one of letters, digits, `-` and `_`.
    #[error(
        "{0}: not a name for a policy file of your own: letters, digits, `-` and `_`, and none that is built in"
    )]
    BadName(Name),
    /// No such file; the valid names are listed.
    #[error("no such policy file; there are: {0}")]
    NoPolicy(Text<1024>),
    /// There are as many as there may be.
    #[error("there are {POLICIES} policy files already; remove one first")]
    Full,
    /// It could not be made durable or recorded; nothing was changed.
    #[error("the change could not be made durable or recorded; nothing was changed")]
    NotDurable,
}

service! {
    /// The gate's listings and the owner's policies.
    pub trait Gate {
        /// The models that can be used.
        [idempotent, 256, 10]
        async fn models() -> List<ModelInfo, 256>;
        /// Every policy file that holds.
        [idempotent, 2700, 10]
        async fn policies() -> PolicySet;
        /// Adds or replaces a policy file of the owner: checked whole with the others, swapped at once or not at all.
        [idempotent, 128, 20]
        async fn set_policy(name: Name, text: Text<POLICY_BOUND>, by: Name) -> Result<Name, PolicyError>;
        /// Removes one; gives back the version that holds now.
        [idempotent, 4, 20]
        async fn remove_policy(name: Name, by: Name) -> Result<Name, PolicyError>;
    }
}
