//! Second pass over `[service.NAME]`: the address of each, its secret and the place of that in a request, and the agents that may
//! call it. A host that dialer would refuse is refused here, so that its writer sees the error.

use crate::hosts::BaseUrl;
use crate::problem::{Problems, listed, nearest, quoted};
use crate::providers::{Outside, refused};
use crate::view::View;
use ipc_proto::config::Service;
use ipc_proto::credproxy::{At, PLACEHOLDER, Placement, Verb};
use ipc_proto::{Name, Text};
use std::collections::BTreeMap;

/// The default header of a secret, and its default prefix.
const USUAL: (&str, &str) = ("Authorization", "Bearer ");

/// Reads them. The parts for dialer and credproxy go to `outside`.
#[must_use]
pub fn resolve(file: &View<'_>, outside: &mut Outside, problems: &mut Problems) -> BTreeMap<String, Service> {
    let all = file.table("service");
    let mut agents: Vec<&str> = file.table("agent").names();
    agents.push(crate::agents::DEFAULT);
    let mut services = BTreeMap::new();
    for name in all.names() {
        let view = all.named("NAME", name);
        let Some(base_url) = reached(&view, outside, problems) else { continue };
        let secret = view.text("secret").map(|secret| {
            outside.proxy.gate_secrets.push(secret.clone());
            Placement { secret: Name::clip(&secret), at: place(&view, &base_url, problems) }
        });
        let unkeyed = secret.is_none() && !view.wrong("secret");
        if unkeyed && (base_url.contains(PLACEHOLDER) || view.flag("oauth")) {
            let what = "this key is missing: the place of the secret is set, but no secret";
            problems.add(view.line(""), &view.key("secret"), what, crate::forms::SECRET.valid);
        }
        let service = Service {
            base_url,
            secret,
            oauth: view.flag("oauth"),
            verbs: verbs(&view),
            paths: view.texts("paths").into_iter().map(|(_, path)| path).collect(),
            agents: named(&view, &agents, problems),
            description: view.word("description"),
            idempotency_header: view.text("idempotency_header"),
            variable: view.text("variable"),
        };
        services.insert(name.to_owned(), service);
    }
    outside.proxy.gate_secrets.sort();
    outside.proxy.gate_secrets.dedup();
    services
}

/// The base URL without its last slash; dialer may reach its host.
fn reached(view: &View<'_>, outside: &mut Outside, problems: &mut Problems) -> Option<String> {
    let text = view.text("base_url")?;
    let url = BaseUrl::parse(&text)?;
    if !outside.credproxy {
        let what = "a service needs credproxy, and `credproxy.provider` is \"none\"";
        problems.add(view.line("base_url"), &view.key("base_url"), what, "no service");
    }
    let (at, plain) = (url.at.text(), &outside.proxy.plain_http);
    if let Some(what) = refused(&url, &at, outside.lists(&url, &at)) {
        let also = if plain.is_empty() { String::new() } else { format!(", or one of {}", listed(plain)) };
        let valid = format!("`https` to a public host{also}");
        problems.add(view.line("base_url"), &view.key("base_url"), what, valid);
    }
    outside.dialer.credproxy_hosts.push(at);
    outside.dialer.credproxy_hosts.sort();
    outside.dialer.credproxy_hosts.dedup();
    Some(text.trim_end_matches('/').to_owned())
}

/// The place of the secret: exactly one, whichever key names it.
fn place(view: &View<'_>, base_url: &str, problems: &mut Problems) -> At {
    let said = ["header", "query", "field"].into_iter().filter(|key| view.given(key).is_some());
    let said: Vec<&str> = said.collect();
    let segment = base_url.contains(PLACEHOLDER);
    if let Some(second) = said.get(usize::from(!segment)) {
        let what = "the secret has another place already";
        problems.add(view.line(second), &view.key(second), what, "one of `header`, `query` and `field`");
    }
    let header = view.text("header").unwrap_or_else(|| USUAL.0.to_owned());
    let usual = if header.eq_ignore_ascii_case(USUAL.0) { USUAL.1 } else { "" };
    let prefix = view.text("prefix").unwrap_or_else(|| usual.to_owned());
    match said.first() {
        _ if segment => At::Segment,
        Some(&"query") => At::Query { name: Name::clip(&view.word("query")) },
        Some(&"field") => At::Field { name: Name::clip(&view.word("field")) },
        _ => At::Header { name: Name::clip(&header), prefix: Text::clip(&prefix) },
    }
}

fn verbs(view: &View<'_>) -> Vec<Verb> {
    let named = |word: &str| Verb::ALL.into_iter().find(|verb| verb.word() == word);
    let mut verbs: Vec<Verb> = view.texts("verbs").iter().filter_map(|(_, word)| named(word)).collect();
    verbs.sort();
    verbs.dedup();
    verbs
}

/// The agents that may call it; each must exist.
fn named(view: &View<'_>, agents: &[&str], problems: &mut Problems) -> Vec<String> {
    let mut found = Vec::new();
    for (n, (line, agent)) in view.texts("agents").into_iter().enumerate() {
        if agents.contains(&agent.as_str()) {
            found.push(agent);
        } else {
            let what = format!("there is no agent {}{}", quoted(&agent), nearest(&agent, agents));
            problems.add(line, &format!("{}[{n}]", view.key("agents")), what, listed(agents));
        }
    }
    found
}
