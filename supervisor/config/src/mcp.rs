//! Second pass over `[mcp.NAME]`: each server has one way to it, and agents and a service that exist.

use crate::allowed::allowed;
use crate::hosts::BaseUrl;
use crate::network::opaque;
use crate::problem::{Problems, listed, nearest, quoted};
use crate::providers::{Outside, refused};
use crate::view::View;
use ipc_proto::Text;
use ipc_proto::config::{Agent, McpScope, McpServer, McpStart, Service};
use ipc_proto::egress::Origin;
use ipc_proto::mcp::{SEPARATOR, secret_of};
use std::collections::BTreeMap;

/// Bytes of a server's name, so that its tools have a name of their own beside it.
const NAME: usize = 24;

/// Reads them. The address of a server without a service is dialled for egress.
#[must_use]
pub fn resolve(
    file: &View<'_>,
    agents: &BTreeMap<String, Agent>,
    services: &BTreeMap<String, Service>,
    outside: &mut Outside,
    problems: &mut Problems,
) -> BTreeMap<String, McpServer> {
    let all = file.table("mcp");
    let mut servers = BTreeMap::new();
    for name in all.names() {
        let view = all.named("NAME", name);
        if name.len() > NAME || name.contains(SEPARATOR) || name.contains('.') {
            let what = format!("{} cannot be the name of a server", quoted(name));
            let valid = format!("at most {NAME} letters, digits, `-` and `_`, without `{SEPARATOR}`");
            problems.add(view.line(""), &view.key(""), what, valid);
            continue;
        }
        let Some(start) = start(&view, name, services, outside, problems) else { continue };
        servers.insert(name.to_owned(), server(&view, start, agents, problems));
    }
    servers
}

fn server(
    view: &View<'_>,
    start: McpStart,
    agents: &BTreeMap<String, Agent>,
    problems: &mut Problems,
) -> McpServer {
    let known: Vec<&str> = agents.keys().map(String::as_str).collect();
    let mut granted = Vec::new();
    for (n, (line, agent)) in view.texts("agents").into_iter().enumerate() {
        if known.contains(&agent.as_str()) {
            granted.push(agent);
        } else {
            let what = format!("there is no agent {}{}", quoted(&agent), nearest(&agent, &known));
            problems.add(line, &format!("{}[{n}]", view.key("agents")), what, listed(&known));
        }
    }
    let scope = match view.word("scope").as_str() {
        "user" => McpScope::User,
        "host" => McpScope::Host,
        _ => McpScope::Session,
    };
    let workspace = view.flag("workspace");
    if workspace && (scope != McpScope::Session || matches!(start, McpStart::Url { .. })) {
        let what = "only a program of one session can be shown its workspace";
        problems.add(view.line("workspace"), &view.key("workspace"), what, "false");
    }
    McpServer {
        start,
        network: view.texts("network").into_iter().filter_map(|(_, text)| allowed(&text)).collect(),
        opaque: opaque(view),
        scope,
        agents: granted,
        tools: view.texts("tools").into_iter().map(|(_, tool)| tool).collect(),
        workspace,
        seconds: u16::try_from(view.number("seconds")).unwrap_or(u16::MAX),
    }
}

/// The one way to a server.
fn start(
    view: &View<'_>,
    name: &str,
    services: &BTreeMap<String, Service>,
    outside: &mut Outside,
    problems: &mut Problems,
) -> Option<McpStart> {
    let command: Vec<String> = view.texts("command").into_iter().map(|(_, word)| word).collect();
    let package = view.text("package").and_then(|text| text.parse().ok());
    match (view.text("url"), package, command.is_empty()) {
        (None, Some(package), _) => Some(McpStart::Package { package, arguments: command }),
        (None, None, false) => Some(McpStart::Command(command)),
        (Some(url), None, true) => address(view, (name, &url), services, outside, problems),
        (url, ..) => {
            let what =
                if url.is_some() { "the server has another way to it" } else { "a server needs a way to it" };
            problems.add(view.line("url"), &view.key("url"), what, "one of `package`, `command` and `url`");
            None
        }
    }
}

fn address(
    view: &View<'_>,
    (name, text): (&str, &str),
    services: &BTreeMap<String, Service>,
    outside: &mut Outside,
    problems: &mut Problems,
) -> Option<McpStart> {
    let url = BaseUrl::parse(text)?;
    let at = url.at.text();
    let (service, token_url) = (view.text("service"), view.text("token_url"));
    if let Some(token_url) = &token_url {
        login(view, (name, &url), token_url, outside, problems);
    }
    if let Some(name) = &service {
        let host = |service: &Service| BaseUrl::parse(&service.base_url).map(|url| url.at.text());
        if services.get(name).and_then(host).as_deref() != Some(&at) {
            let names: Vec<&str> = services.keys().map(String::as_str).collect();
            let what = format!("{} is no service of this host", quoted(name));
            let valid = format!("a `[service.NAME]` whose base_url is of {at}; there are {}", listed(&names));
            problems.add(view.line("service"), &view.key("service"), what, valid);
        }
    }
    let listed = outside.dialer.egress_private_hosts.contains(&at);
    let by_egress = service.is_none() && token_url.is_none();
    if let (true, Some(what)) = (by_egress, refused(&url, &at, listed)) {
        let valid = "`https` to a public host, or one of `egress.private_hosts`";
        problems.add(view.line("url"), &view.key("url"), what, valid);
    }
    let host = if url.at.host.contains(':') { format!("[{}]", url.at.host) } else { url.at.host.clone() };
    let origin = Origin { tls: text.starts_with("https"), host: Text::clip(&host), port: url.at.port };
    let path = text.splitn(4, '/').nth(3).map_or_else(|| "/".to_owned(), |path| format!("/{path}"));
    Some(McpStart::Url { origin, path, service, token_url })
}

/// The parts of a login for dialer and credproxy: the server's host and that of the token endpoint, and the secret that holds the login.
fn login(
    view: &View<'_>,
    (name, url): (&str, &BaseUrl),
    token_url: &str,
    outside: &mut Outside,
    problems: &mut Problems,
) {
    if view.given("service").is_some() {
        let what = "the requests carry the secret of a service already";
        problems.add(view.line("service"), &view.key("service"), what, "one of `service` and `token_url`");
    }
    let token = BaseUrl::parse(token_url);
    for (key, url) in [("url", Some(url)), ("token_url", token.as_ref())] {
        let Some(url) = url else { continue };
        let at = url.at.text();
        if let Some(what) = refused(url, &at, outside.lists(url, &at)) {
            let valid =
                "`https` to a public host, or one of `credproxy.plain_http` and `credproxy.private_hosts`";
            problems.add(view.line(key), &view.key(key), what, valid);
        }
        outside.dialer.credproxy_hosts.push(at);
    }
    outside.dialer.credproxy_hosts.sort();
    outside.dialer.credproxy_hosts.dedup();
    outside.proxy.gate_secrets.push(secret_of(name));
    outside.proxy.gate_secrets.sort();
}
