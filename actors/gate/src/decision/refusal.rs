//! The reasons for which a call is refused.

/// The reason for which a call is refused. The model and the person are told.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("the agent {agent} does not have the tool {tool}; it has {valid}")]
    NotListed { agent: String, tool: String, valid: String },
    #[error("[VALIDATION ERROR] {0}")]
    Schema(String),
    #[error("the turn's bound of {0} tool calls is reached")]
    TooMany(u32),
    #[error("{tool} has failed {times} times in a row; it is refused for the rest of this turn")]
    Failing { tool: String, times: u32 },
    #[error(
        "this turn has called {tool} with exactly these arguments {times} times; the same call again is refused. Go on \
         with what these calls gave back, or try something else"
    )]
    Same { tool: String, times: u32 },
    #[error("the arguments hold what must never leave the prompt")]
    Canary,
    #[error("the arguments hold a secret of the host")]
    HeldSecret,
    #[error("{reason} [{policies}]")]
    Policy { reason: String, policies: String },
    #[error("a person must be asked, and the action is too long to be shown")]
    Unshowable,
    #[error("disk: {free_mib} MiB free, {kept_mib} are kept; nothing new takes effect until there is room")]
    NoRoom { free_mib: u32, kept_mib: u32 },
}

impl Refusal {
    /// The fixed phrase for the record, without content.
    pub(crate) const fn phrase(&self) -> &'static str {
        match self {
            Self::NotListed { .. } => "not in the agent's list of tools",
            Self::Schema(_) => "arguments do not fit the schema",
            Self::TooMany(_) => "bound of tool calls reached",
            Self::Failing { .. } => "failures in a row",
            Self::Same { .. } => "the same call again",
            Self::Canary => "canary in the arguments",
            Self::HeldSecret => "a secret of the host in the arguments",
            Self::Policy { .. } => "policy",
            Self::Unshowable => "too long to be shown to a person",
            Self::NoRoom { .. } => "disk low",
        }
    }
}
