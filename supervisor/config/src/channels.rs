//! Second pass over `[channel.NAME]`: the agent, the secret and the server of each account, and that what opens it to strangers was
//! meant.

use crate::agents::DEFAULT;
use crate::gateway;
use crate::hosts::{BaseUrl, MailUrl};
use crate::problem::{Problems, listed, nearest, quoted};
use crate::providers::{Outside, refused};
use crate::view::View;
use ipc_proto::channel::Platform;
use ipc_proto::config::{
    Agent, ChannelAccount, ChannelApprovals, ChannelReach, ChannelRules, Channels as Accounts, DmPolicy,
    MailAccount, MailServer, Streaming,
};
use ipc_proto::credproxy::PLACEHOLDER;
use manifest::Process;
use manifest::settings::Loopback;
use std::collections::BTreeMap;

/// The longest name of an account: with its platform it names a channel.
const LONGEST: usize = 48;
/// The keys that an account of WhatsApp needs, and those that it knows.
const WHATSAPP_NEEDS: &[&str] = &["secret", "app_secret", "verify_secret", "number"];
const WHATSAPP: &[&str] = &["secret", "app_secret", "verify_secret", "number", "base_url"];
/// The keys that only some platforms know.
const OWN: [&str; 10] = [
    "secret", "base_url", "app_secret", "verify_secret", "number", "address", "login", "imap", "smtp",
    "authserv",
];
/// The keys of a mailbox.
const MAILBOX: &[&str] = &["secret", "address", "login", "imap", "smtp", "authserv"];
/// Names that stand for the host's own channels.
const RESERVED: [&str; 2] = ["control", "api"];

/// Every account, as router and the processes of the platforms get it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Channels {
    /// For router.
    pub rules: BTreeMap<String, ChannelRules>,
    /// For the process of each platform.
    pub accounts: BTreeMap<Process, Accounts>,
    /// Where hooks are taken, if anywhere.
    pub ingress: Option<Loopback>,
}

impl Channels {
    /// The process that reads the hooks of each account.
    #[must_use]
    pub fn hooks(&self) -> BTreeMap<String, String> {
        let hooked = [Process::Whatsapp, Process::Webhook].into_iter();
        let accounts = hooked.filter_map(|process| Some((process, self.accounts.get(&process)?)));
        accounts
            .flat_map(|(process, all)| {
                all.accounts.keys().map(move |name| (name.clone(), process.name().to_owned()))
            })
            .collect()
    }
}

/// Where hooks are taken: an address if a channel takes hooks, and only then. The API's own address is taken already.
fn ingress(
    file: &View<'_>,
    channels: &Channels,
    api: Option<Loopback>,
    problems: &mut Problems,
) -> Option<Loopback> {
    let view = file.table("ingress");
    let listen = gateway::listen(&view, problems);
    let hooked = channels.hooks();
    match (&listen, hooked.keys().next()) {
        (None, Some(name)) if !view.wrong("listen") => {
            let what = format!("the channel {} takes hooks, and nothing listens for them", quoted(name));
            problems.add(view.line("listen"), &view.key("listen"), what, "`127.0.0.1:PORT`");
        }
        (Some(_), None) => {
            let what = "no channel takes hooks";
            let valid = "no such line, or a channel of `whatsapp` or `webhook`";
            problems.add(view.line("listen"), &view.key("listen"), what, valid);
        }
        _ => {}
    }
    if listen.is_some() && listen == api {
        let what = "the API listens there already";
        problems.add(view.line("listen"), &view.key("listen"), what, "another port");
    }
    listen.filter(|_| !hooked.is_empty())
}

/// Reads them; `api` is where the API listens. The parts for dialer and credproxy go to `outside`.
#[must_use]
pub fn resolve(
    file: &View<'_>,
    agents: &BTreeMap<String, Agent>,
    api: Option<Loopback>,
    outside: &mut Outside,
    problems: &mut Problems,
) -> Channels {
    let all = file.table("channel");
    let (mut channels, mut of_secret) = (Channels::default(), BTreeMap::new());
    for name in all.names() {
        let view = all.named("NAME", name);
        if RESERVED.contains(&name) || name.len() > LONGEST {
            let valid = format!("a name of at most {LONGEST} bytes that is neither `control` nor `api`");
            problems.add(view.line(""), &view.key(""), "this name cannot be a channel's", valid);
        }
        let Some(platform) = Platform::named(&view.word("platform")) else { continue };
        let process = platform.process();
        let account = account(&view, platform, outside, problems);
        shared_secrets(&view, name, &account, &mut of_secret, problems);
        let secrets =
            [Some(account.secret.clone()), account.app_secret.clone(), account.verify_secret.clone()];
        let secrets = secrets.into_iter().flatten().filter(|secret| !secret.is_empty()).collect();
        let reach = ChannelReach::of(platform.name(), process.name(), name, secrets, &servers(&account));
        outside.dialer.channel_hosts.extend(reach.hosts.iter().cloned());
        let (hosts, code) = (reach.hosts.clone(), approve_code(&view, platform, name));
        outside.proxy.channels.push(reach);
        outside.proxy.channels.extend(code.iter().map(|secret| answers(name, secret)));
        let secret = account.secret.clone();
        channels.accounts.entry(process).or_default().accounts.insert(name.to_owned(), account);
        let rules = rules(&view, platform, agents, problems);
        let rules = ChannelRules { secret, hosts, approve_code: code, ..rules };
        channels.rules.insert(name.to_owned(), rules);
    }
    channels.ingress = ingress(file, &channels, api, problems);
    outside.dialer.channel_hosts.sort();
    outside.dialer.channel_hosts.dedup();
    channels
}

/// Names a secret that another channel has, or this one twice: two accounts with one token would take each other's messages.
fn shared_secrets(
    view: &View<'_>,
    name: &str,
    account: &ChannelAccount,
    of_secret: &mut BTreeMap<String, String>,
    problems: &mut Problems,
) {
    let or_none = |secret: &'_ Option<String>| secret.clone().unwrap_or_default();
    let (app, verify) = (or_none(&account.app_secret), or_none(&account.verify_secret));
    for (key, secret) in [("secret", &account.secret), ("app_secret", &app), ("verify_secret", &verify)] {
        match of_secret.get(secret.as_str()) {
            Some(other) => {
                let what = format!("the secret {} is that of channel {other}", quoted(secret));
                problems.add(view.line(key), &view.key(key), what, "a secret of this channel's own");
            }
            None if secret.is_empty() => {}
            None => drop(of_secret.insert(secret.clone(), name.to_owned())),
        }
    }
}

/// The secret of the codes that an approval of this account needs.
fn approve_code(view: &View<'_>, platform: Platform, name: &str) -> Option<String> {
    (view.word("approve_code") == "totp").then(|| platform.code_secret(name).into_string())
}

/// The part of credproxy that lets router, and no process of a platform, have such a code compared.
fn answers(account: &str, secret: &str) -> ChannelReach {
    ChannelReach {
        process: Process::Router.name().to_owned(),
        account: account.to_owned(),
        secrets: vec![secret.to_owned()],
        hosts: Vec::new(),
        polls: Vec::new(),
    }
}

/// The keys without which a platform's account does not work, and those that only some platforms know.
const fn keys(platform: Platform) -> (&'static [&'static str], &'static [&'static str]) {
    match platform {
        Platform::Slack => (&["secret", "app_secret"], &["secret", "app_secret", "base_url"]),
        Platform::Matrix => (&["secret", "base_url"], &["secret", "base_url"]),
        Platform::Email => (&["secret", "address", "imap", "smtp"], MAILBOX),
        Platform::Signal => (&["base_url"], &["base_url"]),
        Platform::Webhook => (&["secret", "base_url"], &["secret", "base_url"]),
        Platform::Whatsapp => (WHATSAPP_NEEDS, WHATSAPP),
        Platform::Telegram | Platform::Discord => (&["secret"], &["secret", "base_url"]),
    }
}

fn account(
    view: &View<'_>,
    platform: Platform,
    outside: &Outside,
    problems: &mut Problems,
) -> ChannelAccount {
    let (needed, known) = keys(platform);
    for key in OWN {
        let given = view.text(key).is_some() || view.wrong(key);
        if given && !known.contains(&key) {
            let what = format!("an account of {} has no such key", platform.name());
            problems.add(view.line(key), &view.key(key), what, listed(known));
        } else if !given && needed.contains(&key) {
            let what = format!("an account of {} needs it", platform.name());
            problems.add(view.line("platform"), &view.key(key), what, "a value");
        }
    }
    ChannelAccount {
        secret: view.text("secret").unwrap_or_default(),
        app_secret: view.text("app_secret"),
        verify_secret: view.text("verify_secret"),
        number: view.text("number"),
        base_url: server(view, outside, problems),
        mail: if platform == Platform::Email { mail(view, outside, problems) } else { None },
        streaming: streaming(view, platform),
        typing: view.flag("typing"),
    }
}

/// The account's own servers, with the path of each base URL.
fn servers(account: &ChannelAccount) -> Vec<(String, &str)> {
    let base =
        account.base_url.as_deref().and_then(|text| Some((BaseUrl::parse(text)?.at.text(), path(text))));
    let mail = account.mail.iter().flat_map(|mail| [(mail.imap.at.clone(), ""), (mail.smtp.at.clone(), "")]);
    base.into_iter().chain(mail).collect()
}

/// The servers of a mailbox; one that dialer would refuse is a problem.
fn mail(view: &View<'_>, outside: &Outside, problems: &mut Problems) -> Option<MailAccount> {
    let address = view.text("address");
    let mut server = |key| {
        let MailUrl { at, upgrade } = MailUrl::parse(&view.text(key)?, key)?;
        let (url, text) = (BaseUrl { tls: true, at: at.clone() }, at.text());
        if let Some(what) = refused(&url, &text, outside.lists(&url, &text)) {
            let valid = "a public host, or one that `credproxy.private_hosts` lists";
            problems.add(view.line(key), &view.key(key), what, valid);
        }
        Some(MailServer { at: text, upgrade })
    };
    let (imap, smtp) = (server("imap"), server("smtp"));
    let address = address?;
    let login = view.text("login").unwrap_or_else(|| address.clone());
    Some(MailAccount { address, login, imap: imap?, smtp: smtp?, authserv: view.text("authserv") })
}

fn rules(
    view: &View<'_>,
    platform: Platform,
    agents: &BTreeMap<String, Agent>,
    problems: &mut Problems,
) -> ChannelRules {
    let agent = view.text("agent").unwrap_or_else(|| DEFAULT.to_owned());
    if !agents.contains_key(&agent) && !view.wrong("agent") {
        let names: Vec<&str> = agents.keys().map(String::as_str).collect();
        let what = format!("there is no agent {}{}", quoted(&agent), nearest(&agent, &names));
        problems.add(view.line("agent"), &view.key("agent"), what, listed(&names));
    }
    let dm = match view.word("dm").as_str() {
        "pairing" => DmPolicy::Pairing,
        "allowlist" => DmPolicy::Allowlist,
        "open" => DmPolicy::Open,
        "disabled" => DmPolicy::Disabled,
        _ => DmPolicy::OwnerOnly,
    };
    if dm == DmPolicy::Open && view.text("open_to").is_none() {
        let what = "everybody could use your models, and `open_to` does not confirm it";
        problems.add(view.line("dm"), &view.key("dm"), what, "with `open_to = \"everyone\"`");
    }
    let texts = |key| view.texts(key).into_iter().map(|(_, text)| text).collect();
    ChannelRules {
        platform,
        secret: String::new(),
        hosts: Vec::new(),
        agent,
        dm,
        allow: texts("allow"),
        groups: texts("groups"),
        members: view.flag("members"),
        require_mention: view.flag("require_mention"),
        shared_session: view.word("dm_session") == "shared",
        trust_user: view.word("trust") == "user",
        approve: match view.word("approve").as_str() {
            "own" => ChannelApprovals::Own,
            "all" => ChannelApprovals::All,
            _ => ChannelApprovals::Off,
        },
        approve_code: None,
        guest_messages: view.number("guest_messages"),
    }
}

/// The account's own server, without a slash at its end; one that dialer would refuse is a problem.
fn server(view: &View<'_>, outside: &Outside, problems: &mut Problems) -> Option<String> {
    if !outside.credproxy {
        let what = "a channel needs credproxy, and `credproxy.provider` is \"none\"";
        problems.add(view.line("platform"), &view.key("platform"), what, "no channel");
    }
    let text = view.text("base_url")?;
    if text.contains(PLACEHOLDER) {
        let what = "each platform has a place of its own for the secret";
        problems.add(view.line("base_url"), &view.key("base_url"), what, "an address without one");
    }
    let url = BaseUrl::parse(&text)?;
    let at = url.at.text();
    if let Some(what) = refused(&url, &at, outside.lists(&url, &at)) {
        let valid = "`https` to a public host, or a host that `credproxy.plain_http` or `credproxy.private_hosts` lists";
        problems.add(view.line("base_url"), &view.key("base_url"), what, valid);
    }
    Some(text.trim_end_matches('/').to_owned())
}

/// The path of a base URL.
fn path(url: &str) -> &str {
    let after = url.split_once("://").map_or(url, |(_, rest)| rest);
    after.find('/').and_then(|at| after.get(at..)).unwrap_or_default()
}

/// The usual homeserver of Matrix allows too few edits: there they are off unless the file asks for them.
fn streaming(view: &View<'_>, platform: Platform) -> Streaming {
    match view.word("streaming").as_str() {
        "off" => Streaming::Off,
        "progress" => Streaming::Progress,
        "draft" => Streaming::Draft,
        _ if platform == Platform::Matrix && view.given("streaming").is_none() => Streaming::Off,
        _ => Streaming::Edit,
    }
}
