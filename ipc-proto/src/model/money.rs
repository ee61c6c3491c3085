//! Payers, budgets and usage. Pure data.

use crate::ids::{KeyId, SessionId, UserId};
use crate::{Name, Text};
use serde::{Deserialize, Serialize};

/// The account that pays for a request. The gate fills it in from its own knowledge.
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

/// The subject of a budget.
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
    /// The budget's subject.
    pub per: Per,
    /// The session, agent or key it stands for here; `*` where each has one of its own and none has spent yet.
    pub whose: Text<128>,
    /// Its bound, millionths of a US dollar.
    pub limit_micros: u64,
    /// The amount that was spent.
    pub spent_micros: u64,
    /// The amount that is reserved for answers under way.
    pub reserved_micros: u64,
    /// The behaviour at the bound: `warn`, `block` or `cheaper`.
    pub at_limit: Name,
}

/// Usage, summed by the group that the question names.
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
    /// Tokens read from the provider's cache, as a part of those read.
    pub cache_read: u64,
    /// Tokens written to the provider's cache, as a part of those read.
    pub cache_write: u64,
    /// The number of those answers that the provider did not count: their tokens, and their cost, are estimates.
    pub estimated: u64,
    /// The number of those answers whose count by the provider is impossible: they count as the nearest possible value.
    pub disbelieved: u64,
    /// The cost, millionths of a US dollar.
    pub cost_micros: u64,
    /// The cost by the providers' own counts, those included that were not believed.
    pub claimed_micros: u64,
}

/// The group that usage is summed by.
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
