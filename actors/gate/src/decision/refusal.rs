//! The reasons for which a call is refused.

use crate::jobs::Unfit;

/// The reason for which a call is refused. The model and the person are told.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error(
        "the agent {agent} does not have the tool {tool}; use one of: {valid}; the owner adds it in [agent.{agent}] \
         tools"
    )]
    NotListed { agent: String, tool: String, valid: String },
    #[error("{tool} is not listed yet; use tool_find with words of what it does, and call it then")]
    NotFound { tool: String },
    #[error("[VALIDATION ERROR] {0}; correct the arguments and call it again")]
    Schema(String),
    #[error("{0}")]
    Page(String),
    #[error(transparent)]
    Job(#[from] Unfit),
    #[error(
        "the turn's bound of {0} tool calls is reached; answer with what there is, or have limits.tool_calls of the \
         agent raised"
    )]
    TooMany(u32),
    #[error(
        "{tool} has failed {times} times in a row and is refused for the rest of this turn; use another tool, or \
         answer with what there is"
    )]
    Failing { tool: String, times: u32 },
    #[error(
        "this turn has called {tool} with exactly these arguments {times} times; the same call again is refused. Go on \
         with what these calls gave back, or try something else"
    )]
    Same { tool: String, times: u32 },
    #[error("the arguments hold what must never leave the prompt; leave it out")]
    Canary,
    #[error("the arguments hold a secret of the host; use http_call or oauth_call with the secret's name")]
    HeldSecret,
    #[error("{reason} [{policies}]; {remedy}")]
    Policy { reason: String, policies: String, remedy: String },
    #[error("a person must be asked, and the action is too long to be shown; do it in smaller steps")]
    Unshowable,
    #[error(
        "{0}: a person would be asked, and this is the message of a job, before which nobody sits; do without it and say so in the \
         answer, or have the job added with --ask wait"
    )]
    Unattended(String),
    #[error(
        "disk: {free_mib} MiB free, {kept_mib} are kept; nothing new takes effect; make room, and it goes on by \
         itself"
    )]
    NoRoom { free_mib: u32, kept_mib: u32 },
}

impl Refusal {
    /// Returns true if one such refusal is ordinary, so that only a repeated one is an alert: a model tried a tool, an address or
    /// arguments that it may not have. A canary or a secret of the host in the arguments never is.
    pub(crate) const fn is_ordinary(&self) -> bool {
        !matches!(self, Self::Canary | Self::HeldSecret)
    }

    /// The fixed phrase for the record, without content.
    pub(crate) const fn phrase(&self) -> &'static str {
        match self {
            Self::NotListed { .. } => "not in the agent's list of tools",
            Self::NotFound { .. } => "a tool that was not found before",
            Self::Schema(_) => "arguments do not fit the schema",
            Self::Page(_) => "not on the page that the browser shows",
            Self::Job(Unfit::Unattended(_)) => "a job that would add a job",
            Self::Job(_) => "no job that can be",
            Self::TooMany(_) => "bound of tool calls reached",
            Self::Failing { .. } => "failures in a row",
            Self::Same { .. } => "the same call again",
            Self::Canary => "canary in the arguments",
            Self::HeldSecret => "a secret of the host in the arguments",
            Self::Policy { .. } => "policy",
            Self::Unshowable => "too long to be shown to a person",
            Self::Unattended(_) => "nobody to ask",
            Self::NoRoom { .. } => "disk low",
        }
    }
}
