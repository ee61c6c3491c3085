//! The accounts of channels: which hosts a request of one may go to, which secrets it may carry, and which of its requests only wait
//! for news. A channel whose process is taken over reaches its own accounts' hosts with their secrets, and nothing else. Pure.

use ipc_proto::Name;
use ipc_proto::config::ChannelReach;
use ipc_proto::dialer::{HostPattern, HostPort, NoHost};
use manifest::Process;
use std::collections::{BTreeMap, BTreeSet};

/// The accounts by process and name.
#[derive(Default)]
pub(crate) struct Accounts(BTreeMap<(Process, String), Account>);

/// One account.
struct Account {
    secrets: BTreeSet<String>,
    hosts: Vec<HostPattern>,
    polls: BTreeSet<String>,
}

/// An account cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BadAccount {
    /// Its process is none of this host.
    #[error("`{0}` is no process")]
    Process(String),
    /// One of its hosts is none.
    #[error("`{0}` is not host:port")]
    Host(String),
}

impl Accounts {
    /// The accounts of the configuration.
    pub(crate) fn new(config: &[ChannelReach]) -> Result<Self, BadAccount> {
        config.iter().map(account).collect::<Result<_, _>>().map(Self)
    }

    /// Returns true if the account of this process may have a request sent there with this secret, or with none.
    pub(crate) fn admits(
        &self,
        caller: Process,
        account: &Name,
        target: &HostPort,
        secret: Option<&Name>,
    ) -> bool {
        self.of(caller, account).is_some_and(|account| {
            account.hosts.iter().any(|hosts| hosts.covers(target))
                && secret.is_none_or(|secret| account.secrets.contains(secret.as_str()))
        })
    }

    /// Returns true if this secret is the account's.
    pub(crate) fn owns(&self, caller: Process, account: &Name, secret: &Name) -> bool {
        self.of(caller, account).is_some_and(|account| account.secrets.contains(secret.as_str()))
    }

    /// The host whose name a secret is bound to that goes to this one. A service that hands out hosts of one pattern means them by the
    /// host of that pattern that its facts name; any other host is meant by its own name.
    pub(crate) fn bound_as(&self, caller: Process, account: &Name, target: &HostPort) -> HostPort {
        let hosts = self.of(caller, account).map_or(&[][..], |account| &account.hosts);
        let exact = |host: &&HostPattern| host.exact().is_some();
        if hosts.iter().filter(exact).any(|host| host.covers(target)) {
            return target.clone();
        }
        let pattern = hosts.iter().find(|host| host.covers(target));
        let named = hosts.iter().filter_map(HostPattern::exact);
        named
            .into_iter()
            .find(|host| pattern.is_some_and(|pattern| pattern.covers(host)))
            .unwrap_or(target)
            .clone()
    }

    /// Returns true if a request to this path and query only waits for news.
    pub(crate) fn is_poll(&self, caller: Process, account: &Name, path: &str) -> bool {
        let path = path.split_once('?').map_or(path, |(path, _)| path);
        self.of(caller, account).is_some_and(|account| account.polls.contains(path))
    }

    fn of(&self, caller: Process, account: &Name) -> Option<&Account> {
        self.0.get(&(caller, account.to_string()))
    }
}

fn account(reach: &ChannelReach) -> Result<((Process, String), Account), BadAccount> {
    let named = |process: &&Process| process.name() == reach.process;
    let process = Process::ALL.iter().find(named).copied();
    let process = process.ok_or_else(|| BadAccount::Process(reach.process.clone()))?;
    let host = |text: &String| text.parse().map_err(|NoHost| BadAccount::Host(text.clone()));
    let account = Account {
        secrets: reach.secrets.iter().cloned().collect(),
        hosts: reach.hosts.iter().map(host).collect::<Result<_, _>>()?,
        polls: reach.polls.iter().cloned().collect(),
    };
    Ok(((process, reach.account.clone()), account))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(account: &str, secret: &str, host: &str) -> ChannelReach {
        ChannelReach {
            process: Process::Telegram.name().to_owned(),
            account: account.to_owned(),
            secrets: vec![secret.to_owned()],
            hosts: vec![host.to_owned()],
            polls: vec!["/bot__cordon_secret__/getUpdates".to_owned()],
        }
    }

    fn accounts() -> Accounts {
        Accounts::new(&[reach("main", "token", "a.test:443"), reach("work", "other", "*.b.test:443")])
            .unwrap()
    }

    fn admits(caller: Process, account: &str, target: &str, secret: Option<&str>) -> bool {
        let secret = secret.map(Name::clip);
        accounts().admits(caller, &Name::clip(account), &target.parse().unwrap(), secret.as_ref())
    }

    // Holds P4-37.
    #[test]
    fn an_account_reaches_its_own_hosts_with_its_own_secrets() {
        assert!(admits(Process::Telegram, "main", "a.test:443", Some("token")));
        assert!(admits(Process::Telegram, "main", "a.test:443", None));
        assert!(admits(Process::Telegram, "work", "x.b.test:443", Some("other")));
        for (caller, account, target, secret) in [
            (Process::Telegram, "main", "x.b.test:443", None),
            (Process::Telegram, "main", "a.test:80", None),
            (Process::Telegram, "main", "a.test:443", Some("other")),
            (Process::Telegram, "work", "a.test:443", Some("other")),
            (Process::Telegram, "none", "a.test:443", None),
            (Process::Web, "main", "a.test:443", None),
        ] {
            assert!(!admits(caller, account, target, secret), "{account} {target} {secret:?}");
        }
    }

    // Holds P4-37.
    #[test]
    fn a_host_of_a_pattern_is_meant_by_the_host_that_the_facts_name() {
        let mut reach = reach("main", "token", "discord.com:443");
        reach.hosts.extend(["gateway.discord.gg:443".to_owned(), "*.discord.gg:443".to_owned()]);
        let accounts = Accounts::new(&[reach]).unwrap();
        let meant = |account: &str, target: &str| {
            let target = target.parse().unwrap();
            accounts.bound_as(Process::Telegram, &Name::clip(account), &target).to_string()
        };
        assert_eq!(meant("main", "gateway-us-east1-b.discord.gg:443"), "gateway.discord.gg:443");
        for own in ["discord.com:443", "gateway.discord.gg:443", "x.discord.gg:80", "evil.test:443"] {
            assert_eq!(meant("main", own), own);
        }
        assert_eq!(meant("none", "x.discord.gg:443"), "x.discord.gg:443");
    }

    #[test]
    fn a_poll_is_known_by_its_whole_path() {
        let accounts = accounts();
        let is_poll = |path| accounts.is_poll(Process::Telegram, &Name::clip("main"), path);
        assert!(is_poll("/bot__cordon_secret__/getUpdates?timeout=50"));
        for other in [
            "/bot__cordon_secret__/sendMessage",
            "/bot__cordon_secret__/getUpdates/",
            "/x/bot__cordon_secret__/getUpdates",
            "/x?/bot__cordon_secret__/getUpdates",
        ] {
            assert!(!is_poll(other), "{other}");
        }
    }

    #[test]
    fn an_account_that_cannot_be_read_is_refused_by_its_text() {
        let bad = ChannelReach { process: "nobody".to_owned(), ..reach("main", "token", "a.test:443") };
        assert!(Accounts::new(&[bad]).err().unwrap().to_string().contains("nobody"));
        let bad = reach("main", "token", "a.test");
        assert!(Accounts::new(&[bad]).err().unwrap().to_string().contains("a.test"));
    }
}
