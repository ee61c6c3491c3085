//! The sums that a request counts to, and their bounds. Pure functions of the payer, the time and `[budget]`.

use super::calendar;
use ipc_proto::config::{AtLimit, Budget};
use ipc_proto::model::{Payer, Per};

/// The owner of the whole host's sum, and a listing's entry for each owner that has none yet.
pub(crate) const EVERYBODY: &str = "*";

/// The owner of the money that a request spends, as it is stored; '' is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Account {
    /// The user.
    pub(crate) user: String,
    /// The session.
    pub(crate) session: String,
    /// The agent.
    pub(crate) agent: String,
    /// The key of the API.
    pub(crate) key: String,
    /// The daily budget of that key.
    pub(crate) key_day: Option<u64>,
}

impl From<&Payer> for Account {
    fn from(payer: &Payer) -> Self {
        Self {
            user: payer.user.to_string(),
            session: payer.session.map(|id| id.to_string()).unwrap_or_default(),
            agent: payer.agent.as_ref().map(|name| name.to_string()).unwrap_or_default(),
            key: payer.key.map(|id| id.to_string()).unwrap_or_default(),
            key_day: payer.key_day_micros,
        }
    }
}

/// One sum of money: of an owner, over a time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Scope {
    /// Over which time, and whose kind.
    pub(crate) per: Per,
    /// Whose.
    pub(crate) whose: String,
    /// The number of the day or month; 0 for no end.
    pub(crate) period: u64,
}

impl Scope {
    /// A sum at this time.
    pub(crate) fn new(per: Per, whose: impl Into<String>, now_ms: u64) -> Self {
        let period = match per {
            Per::Day | Per::Agent | Per::Key => calendar::day(now_ms),
            Per::Month => calendar::month(now_ms),
            Per::Session => 0,
        };
        Self { per, whose: whose.into(), period }
    }

    /// Seconds until the next begins; 0 if none does.
    pub(crate) fn again_s(&self, now_ms: u64) -> u32 {
        match self.per {
            Per::Day | Per::Agent | Per::Key => calendar::to_next_day_s(now_ms),
            Per::Month => calendar::to_next_month_s(now_ms),
            Per::Session => 0,
        }
    }
}

/// The sums to which this account's spending counts.
pub(crate) fn scopes(account: &Account, now_ms: u64) -> Vec<Scope> {
    let Account { session, agent, key, .. } = account;
    let named = [
        (Per::Day, EVERYBODY),
        (Per::Month, EVERYBODY),
        (Per::Session, session.as_str()),
        (Per::Agent, agent.as_str()),
        (Per::Key, key.as_str()),
    ];
    let some = named.into_iter().filter(|(_, whose)| !whose.is_empty());
    some.map(|(per, whose)| Scope::new(per, whose, now_ms)).collect()
}

/// Returns true if this account's spending at that time counts to that sum.
pub(crate) fn counts_to(account: &Account, at_ms: u64, scope: &Scope) -> bool {
    let Account { session, agent, key, .. } = account;
    let (whose, period) = match scope.per {
        Per::Day => (EVERYBODY, calendar::day(at_ms)),
        Per::Month => (EVERYBODY, calendar::month(at_ms)),
        Per::Session => (session.as_str(), 0),
        Per::Agent => (agent.as_str(), calendar::day(at_ms)),
        Per::Key => (key.as_str(), calendar::day(at_ms)),
    };
    !whose.is_empty() && whose == scope.whose && period == scope.period
}

/// The bound of such a sum, and the behaviour there. That of a key was granted by its owner to another, so it is never
/// only a warning.
pub(crate) fn bound(budget: &Budget, account: &Account, scope: &Scope) -> Option<(u64, AtLimit)> {
    let own = budget.at_limit;
    match scope.per {
        Per::Day => budget.day.map(|bound| (bound, own)),
        Per::Month => budget.month.map(|bound| (bound, own)),
        Per::Session => budget.session.map(|bound| (bound, own)),
        Per::Agent => of_agent(budget, &scope.whose).map(|bound| (bound, own)),
        Per::Key => account.key_day.map(|bound| (bound, AtLimit::Block)),
    }
}

/// The daily budget of this agent.
pub(crate) fn of_agent(budget: &Budget, name: &str) -> Option<u64> {
    budget.agents.get(name).copied().or(budget.agent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::Name;
    use ipc_proto::ids::{KeyId, SessionId, UserId};

    fn account() -> Account {
        let payer = Payer {
            user: UserId::from_bytes([1; 16]),
            session: Some(SessionId::from_bytes([2; 16])),
            agent: Some(Name::clip("helper")),
            key: Some(KeyId::from_bytes([3; 16])),
            key_day_micros: Some(5),
        };
        Account::from(&payer)
    }

    #[test]
    fn a_request_counts_to_the_host_its_session_its_agent_and_its_key() {
        let pers = |account: &Account| scopes(account, 0).into_iter().map(|it| it.per).collect::<Vec<_>>();
        assert_eq!(pers(&account()), [Per::Day, Per::Month, Per::Session, Per::Agent, Per::Key]);
        assert_eq!(pers(&Account::default()), [Per::Day, Per::Month]);
        let noon = 20_779 * calendar::DAY_MS + calendar::DAY_MS / 2;
        for scope in scopes(&account(), noon) {
            assert!(counts_to(&account(), noon, &scope), "{scope:?}");
            let later = counts_to(&account(), noon + 31 * calendar::DAY_MS, &scope);
            assert_eq!(later, scope.per == Per::Session, "{scope:?}");
            let others = counts_to(&Account::default(), noon, &scope);
            assert_eq!(others, matches!(scope.per, Per::Day | Per::Month), "{scope:?}");
        }
    }

    #[test]
    fn each_sum_has_its_own_bound_and_a_keys_always_blocks() {
        let budget = Budget {
            day: Some(1),
            month: Some(2),
            session: Some(3),
            agent: Some(4),
            at_limit: AtLimit::Warn,
            ..Budget::default()
        };
        let bounds = |budget: &Budget| -> Vec<_> {
            scopes(&account(), 0).iter().map(|scope| bound(budget, &account(), scope)).collect()
        };
        let warn = |bound| Some((bound, AtLimit::Warn));
        assert_eq!(bounds(&budget), [warn(1), warn(2), warn(3), warn(4), Some((5, AtLimit::Block))]);
        let own = Budget { agents: [("helper".to_owned(), 9)].into(), ..Budget::default() };
        assert_eq!(bounds(&own), [None, None, None, Some((9, AtLimit::Block)), Some((5, AtLimit::Block))]);
    }
}
