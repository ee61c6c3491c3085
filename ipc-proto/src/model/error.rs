//! Why a model gives no answer, in words that say what to do next. The words are what people and programs read.

use super::Per;
use serde::{Deserialize, Serialize};

/// The reason why there is no answer, or no more of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum ModelError {
    /// No such model.
    #[error("LLM_UNKNOWN_MODEL: no such model; `agentctl model list` shows the valid ones")]
    UnknownModel,
    /// The provider asks to slow down.
    #[error("LLM_RATE_LIMITED: the provider asks for a pause; try again in {retry_after_s} s")]
    RateLimited {
        /// Seconds to wait.
        retry_after_s: u32,
    },
    /// Nothing came for too long.
    #[error(
        "LLM_TIMEOUT: the provider did not answer in time; try again, or test it: `agentctl model test MODEL`"
    )]
    Timeout,
    /// The response does not follow the protocol.
    #[error(
        "LLM_INVALID_JSON: the provider's answer could not be read; check `kind` and `base_url` of [provider.NAME]"
    )]
    InvalidJson,
    /// The answer broke off.
    #[error("LLM_TRUNCATED: the provider's answer broke off; try again")]
    Truncated,
    /// The key was refused.
    #[error(
        "LLM_AUTH_ERROR: the provider refused the key; store another: `agentctl cred set NAME --host HOST`"
    )]
    Auth,
    /// The provider refused the request.
    #[error(
        "LLM_REQUEST_ERROR: the provider refused the request (status {status}); check the model's name (`agentctl \
         model list`) and your account there"
    )]
    Rejected {
        /// HTTP status.
        status: u16,
    },
    /// The provider failed.
    #[error("LLM_SERVER_ERROR: the provider failed (status {status}); try again later, or use another model")]
    Server {
        /// HTTP status.
        status: u16,
    },
    /// The request could not be sent.
    #[error("LLM_ERROR: {0}")]
    Credentials(crate::credproxy::CredError),
    /// A scripted model has no reply left, or its file cannot be read.
    #[error("LLM_ERROR: the script has no reply for this request; add one to the script of this model")]
    Script,
    /// No such stream.
    #[error("LLM_ERROR: no such stream; ask again")]
    NoStream,
    /// Too many answers at once.
    #[error("QUEUE_BUSY: too many answers at once; try again in a moment")]
    Busy,
    /// A budget is used up; nothing was sent.
    #[error("LLM_BUDGET_EXCEEDED: the budget per {per} is used up; {}", free_again(*per, *again_s))]
    Budget {
        /// The budget's subject.
        per: Per,
        /// Seconds until it is free again; 0 if it never is, [`SET_ASIDE_S`] where it is only set aside.
        again_s: u32,
    },
    /// The conversation is longer than the model takes.
    #[error(
        "LLM_CONTEXT_TOO_LONG: the conversation is longer than the model's {context} tokens; begin another session, \
         or use a model with a larger window"
    )]
    TooLong {
        /// The model's context window, in tokens.
        context: u32,
    },
    /// It failed too often just now and is not tried for a while.
    #[error("LLM_UNAVAILABLE: the provider failed too often; use another model, or try again in {again_s} s")]
    CoolingDown {
        /// Seconds until it is tried again.
        again_s: u32,
    },
    /// The ledger cannot be written, so nothing that costs money is sent.
    #[error(
        "LLM_ERROR: the ledger of what is spent cannot be written; make room on the disk (`agentctl doctor` says \
         what is wrong)"
    )]
    Ledger,
    /// Its price is unknown, and a budget holds.
    #[error(
        "LLM_UNPRICED: a budget holds, and what this model costs is not known; set its prices in \
         [provider.NAME.models.MODEL]"
    )]
    Unpriced,
    /// The conversation shows images to a model that takes none; nothing was sent.
    #[error("{}, and was sent nothing; `agentctl model list` shows which do", BLIND)]
    NoVision,
}

/// When a budget is free again, in words.
fn free_again(per: Per, again_s: u32) -> String {
    let (hours, minutes) = (again_s / 3600, again_s % 3600 / 60);
    let day = if per == Per::Month { " on the first of next month" } else { "" };
    match again_s {
        0 => "it does not reset by itself; raise it in [budget] of the configuration, or use another session"
            .to_owned(),
        1..=SET_ASIDE_S => format!("answers under way have reserved it; try again in {again_s} s"),
        _ => format!(
            "raise it in [budget] of the configuration, or wait until it resets at 00:00 UTC{day}, in {hours} h \
             {minutes} min ({again_s} s)"
        ),
    }
}

/// How the words of [`ModelError::NoVision`] begin.
pub const BLIND: &str = "LLM_REQUEST_ERROR: the model takes no images";

/// Seconds after which to ask again where what is set aside for answers under way, and not what was spent, fills a budget:
/// most answers are over by then, and cost less than was set aside.
pub const SET_ASIDE_S: u32 = 2;

impl ModelError {
    /// Returns whether an error in its own words is that there was no money: a budget has room again some day, or is raised.
    #[must_use]
    pub fn is_for_money(words: &str) -> bool {
        words.starts_with("LLM_BUDGET_EXCEEDED:")
    }

    /// The seconds after which to try again, of an error in its own words; none if it does not say.
    #[must_use]
    pub fn again_in(words: &str) -> Option<u32> {
        let words = words.strip_prefix("LLM_")?;
        let before = words.strip_suffix(" s").or_else(|| words.strip_suffix(" s)"))?;
        let seconds = before.rsplit([' ', '(']).next()?;
        seconds.parse().ok().filter(|seconds| *seconds > 0)
    }
}
