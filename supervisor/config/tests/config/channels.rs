//! Channels: the parts of router, dialer, credproxy and the platform's process, and what is wrong with one.

use crate::common::check;
use ipc_proto::channel::Platform;
use ipc_proto::config::{ChannelAccount, DmPolicy, Streaming};
use manifest::Process;

const MAIL: &str = "[channel.post]\nplatform = 'email'\nsecret = 's'\naddress = 'ann@example.com'\n\
                    imap = 'imaps://imap.example.com:993'\nsmtp = 'smtp://smtp.example.com:587'\n";
const HOOK: &str = "[channel.in]\nplatform = 'webhook'\nsecret = 's'\nbase_url = 'https://a.b/answers'\n";
const BASE: &str = "[channel.main]\nplatform = 'telegram'\nsecret = 'bot'\n";

#[test]
fn a_platforms_process_is_started_only_where_it_has_an_account() {
    let without = check("").unwrap();
    assert!(!without.enabled(Process::Telegram) && without.router.channels.is_empty());
    let plan = check(BASE).unwrap();
    assert!(plan.enabled(Process::Telegram));
    let account = ChannelAccount {
        secret: "bot".to_owned(),
        app_secret: None,
        verify_secret: None,
        number: None,
        base_url: None,
        mail: None,
        streaming: Streaming::Edit,
        typing: true,
    };
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
fn a_mailbox_reaches_its_two_servers_alone() {
    let plan = check(MAIL).unwrap();
    assert_eq!(plan.outside.dialer.channel_hosts, ["imap.example.com:993", "smtp.example.com:587"]);
    let account = plan.channels.accounts[&Process::Email].accounts["post"].mail.clone().unwrap();
    assert_eq!((account.login.as_str(), account.authserv), ("ann@example.com", None));
    assert!(!account.imap.upgrade && account.smtp.upgrade);
}

#[test]
fn an_account_of_slack_has_two_secrets() {
    let plan = check("[channel.work]\nplatform = 'slack'\nsecret = 'bot'\napp_secret = 'app'\n").unwrap();
    assert_eq!(plan.outside.proxy.channels[0].secrets, ["bot", "app"]);
    assert!(plan.enabled(Process::Slack) && !plan.enabled(Process::Telegram));
}

// Holds P11-41.
#[test]
fn a_code_of_approvals_is_compared_for_router_alone() {
    let plan = check(&format!("{BASE}approve_code = 'totp'\n")).unwrap();
    let rules = &plan.router.channels["main"];
    assert_eq!(rules.approve_code.as_deref(), Some("telegram-main-totp"));
    assert_eq!(
        (rules.secret.as_str(), rules.hosts.as_slice()),
        ("bot", ["api.telegram.org:443".to_owned()].as_slice())
    );
    let with_code = plan.outside.proxy.channels.iter().filter(|it| it.secrets == ["telegram-main-totp"]);
    let with_code: Vec<_> = with_code.map(|it| (it.process.as_str(), it.hosts.len())).collect();
    assert_eq!(with_code, [("router", 0)], "and it goes to no host");
    assert_eq!(check(BASE).unwrap().router.channels["main"].approve_code, None);
}

#[test]
fn the_faults_of_a_channel_are_named_with_their_place() {
    for (text, says) in [
        ("[channel.main]\nplatform = 'telegram'".to_owned(), "channel.main.secret"),
        ("[channel.main]\nplatform = 'icq'\nsecret = 's'".to_owned(), "channel.main.platform"),
        (BASE.replace("main", "control"), "this name cannot be a channel's"),
        (format!("{BASE}{}", BASE.replace("main", "other")), "the secret \"bot\" is that of channel main"),
        (
            "[channel.work]\nplatform = 'slack'\nsecret = 's'\napp_secret = 's'".to_owned(),
            "channel.work.app_secret: the secret \"s\" is that of channel work",
        ),
        (BASE.replace("main", "api"), "this name cannot be a channel's"),
        (BASE.replace("main", &"x".repeat(49)), "this name cannot be a channel's"),
        (format!("{BASE}dm = 'open'"), "`open_to` does not confirm it"),
        (format!("{BASE}allow = ['@ann']"), "the platform's own id"),
        (format!("{BASE}agent = 'helpr'\n[agent.helper]"), "nearest is helper"),
        (format!("{BASE}base_url = 'http://127.0.0.1:1'"), "127.0.0.1:1 is this machine"),
        (format!("{BASE}base_url = 'https://a.b/__cordon_secret__'"), "a place of its own for the secret"),
        (format!("{BASE}[credproxy]\nprovider = 'none'"), "a channel needs credproxy"),
        (format!("{BASE}app_secret = 'app'"), "an account of telegram has no such key"),
        (BASE.replace("telegram", "webhook"), "channel.main.base_url"),
        (HOOK.to_owned(), "nothing listens for them"),
        (format!("{HOOK}[ingress]\nlisten = '0.0.0.0:9'"), "can be reached from other machines"),
        (
            format!("{HOOK}[ingress]\nlisten = '127.0.0.1:9'\n[gateway]\nlisten = '127.0.0.1:9'"),
            "the API listens",
        ),
        (format!("{BASE}[ingress]\nlisten = '127.0.0.1:9'"), "no channel takes hooks"),
        (BASE.replace("telegram", "slack"), "an account of slack needs it"),
        (BASE.replace("telegram", "matrix"), "channel.main.base_url"),
        (MAIL.replace("imaps://imap.example.com", "imaps://10.0.0.1"), "10.0.0.1 is a private address"),
        (format!("{MAIL}base_url = 'https://a.b'"), "an account of email has no such key"),
    ] {
        let said = check(&text).map(|_| ()).unwrap_err();
        assert!(said.contains(says), "{text}\n{said}");
    }
}
