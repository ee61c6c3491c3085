//! Channels: the parts of router, dialer, credproxy and the platform's process, and what is wrong with one.

use crate::common::check;
use ipc_proto::channel::Platform;
use ipc_proto::config::{ChannelAccount, DmPolicy, Streaming};
use manifest::Process;

const BASE: &str = "[channel.main]\nplatform = 'telegram'\nsecret = 'bot'\n";

#[test]
fn a_platforms_process_is_started_only_where_it_has_an_account() {
    let without = check("").unwrap();
    assert!(!without.enabled(Process::Telegram) && without.router.channels.is_empty());
    let plan = check(BASE).unwrap();
    assert!(plan.enabled(Process::Telegram));
    let account =
        ChannelAccount { secret: "bot".to_owned(), base_url: None, streaming: Streaming::Edit, typing: true };
    assert_eq!(plan.channels.accounts[&Process::Telegram].accounts.get("main"), Some(&account));
    let rules = &plan.router.channels["main"];
    assert_eq!(
        (rules.platform, rules.dm, rules.agent.as_str()),
        (Platform::Telegram, DmPolicy::OwnerOnly, "default")
    );
    assert!(rules.require_mention && !rules.members && !rules.trust_user && !rules.shared_session);
    assert_eq!(plan.outside.dialer.channel_hosts, ["api.telegram.org:443"]);
    let reach = &plan.outside.proxy.channels[0];
    assert_eq!((reach.process.as_str(), reach.account.as_str()), ("channel@telegram", "main"));
    assert_eq!(
        (reach.secrets.as_slice(), reach.hosts.as_slice()),
        (["bot".to_owned()].as_slice(), ["api.telegram.org:443".to_owned()].as_slice())
    );
}

#[test]
fn an_account_with_a_server_of_its_own_reaches_that_alone() {
    let plan = check(&format!("{BASE}base_url = 'https://bots.example.com/api/'\n")).unwrap();
    assert_eq!(plan.outside.dialer.channel_hosts, ["bots.example.com:443"]);
    let account = &plan.channels.accounts[&Process::Telegram].accounts["main"];
    assert_eq!(account.base_url.as_deref(), Some("https://bots.example.com/api"));
}

#[test]
fn the_faults_of_a_channel_are_named_with_their_place() {
    for (text, says) in [
        ("[channel.main]\nplatform = 'telegram'".to_owned(), "channel.main.secret"),
        ("[channel.main]\nplatform = 'icq'\nsecret = 's'".to_owned(), "channel.main.platform"),
        (BASE.replace("main", "control"), "this name cannot be a channel's"),
        (BASE.replace("main", "api"), "this name cannot be a channel's"),
        (BASE.replace("main", &"x".repeat(49)), "this name cannot be a channel's"),
        (format!("{BASE}dm = 'open'"), "`open_to` does not confirm it"),
        (format!("{BASE}allow = ['@ann']"), "the platform's own id"),
        (format!("{BASE}agent = 'helpr'\n[agent.helper]"), "nearest is helper"),
        (format!("{BASE}base_url = 'http://127.0.0.1:1'"), "127.0.0.1:1 is this machine"),
        (format!("{BASE}base_url = 'https://a.b/__cordon_secret__'"), "a place of its own for the secret"),
        (format!("{BASE}[credproxy]\nprovider = 'none'"), "a channel needs credproxy"),
    ] {
        let said = check(&text).map(|_| ()).unwrap_err();
        assert!(said.contains(says), "{text}\n{said}");
    }
}
