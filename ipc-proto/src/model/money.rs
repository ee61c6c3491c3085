//! Whose money a request spends, what may be spent, and what was. Pure data.

use crate::ids::{KeyId, SessionId, UserId};
use crate::{Name, Text};
use serde::{Deserialize, Serialize};

/// Whose money a request spends. The gate fills it in from what it knows itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payer {
    /// The user.
    pub user: UserId,
    /// The session, unless it is a pass-through.
    pub session: Option<SessionId>,
    /// The agent, unless it is a pass-through.
    pub agent: Option<Name>,
    /// The key of the API that it came by.
    pub key: Option<KeyId>,
    /// Most that this key may spend in a day, millionths of a US dollar.
    pub key_day_micros: Option<u64>,
}

impl Payer {
    /// A user, with no session, agent or key that a budget of its own could hold.
    #[must_use]
    pub const fn of(user: UserId) -> Self {
        Self { user, session: None, agent: None, key: None, key_day_micros: None }
    }
}

/// What a budget is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Per {
    /// The whole host, each day (UTC).
    Day,
    /// The whole host, each month (UTC).
    Month,
    /// One session, for its whole life.
    Session,
    /// One agent, each day.
    Agent,
    /// One key of the API, each day.
    Key,
}

impl std::fmt::Display for Per {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Day => "day",
            Self::Month => "month",
            Self::Session => "session",
            Self::Agent => "agent",
            Self::Key => "key",
        })
    }
}

/// A budget and how it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetInfo {
    /// What it is for.
    pub per: Per,
    /// The session, agent or key it stands for here; `*` where each has one of its own and none has spent yet.
    pub whose: Text<128>,
    /// Its bound, millionths of a US dollar.
    pub limit_micros: u64,
    /// What was spent of it.
    pub spent_micros: u64,
    /// What is set aside for answers that are coming.
    pub reserved_micros: u64,
    /// What happens at the bound: `warn`, `block` or `cheaper`.
    pub at_limit: Name,
}

/// What was used, summed by what the question groups by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageRow {
    /// The day (`2026-11-22`), model, agent, session, key or user it is the sum of.
    pub group: Text<128>,
    /// Answers.
    pub answers: u64,
    /// Tokens.
    pub input: u64,
    /// Tokens.
    pub output: u64,
    /// Of those read, from the provider's cache.
    pub cache_read: u64,
    /// Of those read, put into the provider's cache.
    pub cache_write: u64,
    /// Of those answers, how many the provider did not count: their tokens, and what they cost, are estimates.
    pub estimated: u64,
    /// Of those answers, of how many the provider's count cannot be: they count as the nearest that can.
    pub disbelieved: u64,
    /// What it cost, millionths of a US dollar.
    pub cost_micros: u64,
    /// What it would have cost by the providers' own counts, those included that were not believed.
    pub claimed_micros: u64,
}

/// What usage is summed by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GroupBy {
    /// By model.
    #[default]
    Model,
    /// By day (UTC).
    Day,
    /// By agent.
    Agent,
    /// By session.
    Session,
    /// By key of the API.
    Key,
    /// By user.
    User,
}
