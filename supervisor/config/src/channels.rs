//! Second pass over `[channel.NAME]`: the agent, the secret and the server of each account, and that what opens it to strangers was
//! meant.

use crate::agents::DEFAULT;
use crate::hosts::BaseUrl;
use crate::problem::{Problems, listed, nearest, quoted};
use crate::providers::{Outside, refused};
use crate::view::View;
use ipc_proto::channel::Platform;
use ipc_proto::config::{
    Agent, ChannelAccount, ChannelApprovals, ChannelReach, ChannelRules, Channels as Accounts, DmPolicy,
    Streaming,
};
use ipc_proto::credproxy::PLACEHOLDER;
use manifest::Process;
use std::collections::BTreeMap;

/// The longest name of an account: with its platform it names a channel.
const LONGEST: usize = 48;
/// Names that stand for the host's own channels.
const RESERVED: [&str; 2] = ["control", "api"];

/// Every account, as router and the processes of the platforms get it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Channels {
    /// For router.
    pub rules: BTreeMap<String, ChannelRules>,
    /// For the process of each platform.
    pub accounts: BTreeMap<Process, Accounts>,
}

/// Reads them. The parts for dialer and credproxy go to `outside`.
#[must_use]
pub fn resolve(
    file: &View<'_>,
    agents: &BTreeMap<String, Agent>,
    outside: &mut Outside,
    problems: &mut Problems,
) -> Channels {
    let all = file.table("channel");
    let mut channels = Channels::default();
    for name in all.names() {
        let view = all.named("NAME", name);
        if RESERVED.contains(&name) || name.len() > LONGEST {
            let valid = format!("a name of at most {LONGEST} bytes that is neither `control` nor `api`");
            problems.add(view.line(""), &view.key(""), "this name cannot be a channel's", valid);
        }
        let Some(platform) = Platform::named(&view.word("platform")) else { continue };
        let Some(process) = platform.process() else { continue };
        let (secret, base_url) = (view.word("secret"), server(&view, outside, problems));
        let at = base_url.as_deref().and_then(|text| Some((text, BaseUrl::parse(text)?.at.text())));
        let server = at.as_ref().map(|(text, at)| (at.as_str(), path(text)));
        let reach = ChannelReach::of(platform.name(), process.name(), name, vec![secret.clone()], server);
        outside.dialer.channel_hosts.extend(reach.hosts.iter().cloned());
        outside.proxy.channels.push(reach);
        let account =
            ChannelAccount { secret, base_url, streaming: streaming(&view), typing: view.flag("typing") };
        channels.accounts.entry(process).or_default().accounts.insert(name.to_owned(), account);
        channels.rules.insert(name.to_owned(), rules(&view, platform, agents, problems));
    }
    outside.dialer.channel_hosts.sort();
    outside.dialer.channel_hosts.dedup();
    channels
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

fn streaming(view: &View<'_>) -> Streaming {
    match view.word("streaming").as_str() {
        "off" => Streaming::Off,
        _ => Streaming::Edit,
    }
}
