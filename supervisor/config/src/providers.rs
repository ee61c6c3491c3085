//! Second pass over `[provider.NAME]` and `[credproxy]`: which models there are, and which hosts may be reached for
//! them. A host that dialer would refuse is refused here, where its writer hears of it.

use crate::hosts::{BaseUrl, HostPort};
use crate::keys::MODELS;
use crate::problem::{Problems, listed};
use crate::view::View;
use ipc_proto::config::{Credproxy, Dialer, Model, Provider, ProviderModel};
use std::collections::{BTreeMap, BTreeSet};

/// Providers that are built in: their names are taken.
const BUILT_IN: [&str; 2] = ["offline", "scripted"];
/// Models that are built in.
const OFFLINE: [&str; 2] = ["offline/reader", "offline/hijackable"];

/// What the host knows of the world outside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outside {
    /// Whether credproxy, and with it dialer, has a row.
    pub credproxy: bool,
    /// What model is handed.
    pub model: Model,
    /// What dialer is handed.
    pub dialer: Dialer,
    /// What credproxy is handed.
    pub proxy: Credproxy,
    /// Every `provider/model` but the scripted ones.
    pub names: Vec<String>,
}

/// Reads both.
#[must_use]
pub fn resolve(file: &View<'_>, problems: &mut Problems) -> Outside {
    let proxy = file.table("credproxy");
    let texts = |key| proxy.texts(key).into_iter().map(|(_, text)| text).collect::<BTreeSet<_>>();
    let plain = texts("plain_http");
    let mut hosts = texts("hosts");
    let mut outside = Outside {
        credproxy: proxy.word("provider") != "none",
        names: OFFLINE.map(str::to_owned).to_vec(),
        ..Outside::default()
    };
    let providers = file.table("provider");
    for name in providers.names() {
        let view = providers.named("NAME", name);
        let taken = BUILT_IN.contains(&name);
        if taken {
            problems.add(view.line(""), &view.key(""), "this name is built in", "any other name");
        }
        if taken || view.word("kind") == "none" {
            continue;
        }
        if !outside.credproxy {
            let what = "a provider needs credproxy, and `credproxy.provider` is \"none\"";
            problems.add(view.line("kind"), &view.key("kind"), what, "none");
        }
        let models = models(&view, problems);
        outside.names.extend(models.keys().map(|model| format!("{name}/{model}")));
        let Some((base_url, at)) = reached(&view, &proxy, &plain, problems) else { continue };
        hosts.insert(at);
        outside
            .model
            .providers
            .insert(name.to_owned(), Provider { base_url, secret: view.text("secret"), models });
    }
    if outside.names.len() > MODELS + OFFLINE.len() {
        problems.add(providers.line(""), "provider", "too many models", format!("at most {MODELS} in all"));
    }
    outside.dialer = Dialer {
        credproxy_hosts: hosts.into_iter().collect(),
        loopback_hosts: plain.iter().cloned().collect(),
        web_private_hosts: Vec::new(),
    };
    outside.proxy = Credproxy { plain_http: plain.into_iter().collect(), web_secret: None };
    outside
}

fn models(provider: &View<'_>, problems: &mut Problems) -> BTreeMap<String, ProviderModel> {
    let models = provider.table("models");
    let mut found = BTreeMap::new();
    for name in models.names() {
        let view = models.named("MODEL", name);
        let model = ProviderModel { context: view.number("context"), output: view.number("output") };
        if model.output > model.context {
            let key = if view.given("output").is_some() { "output" } else { "context" };
            let what = format!("an output of {} does not fit the context of {}", model.output, model.context);
            problems.add(view.line(key), &view.key(key), what, "`output` at most `context`");
        }
        found.insert(name.to_owned(), model);
    }
    if found.is_empty() && !provider.wrong("models") {
        let valid = format!("a table `[{}.MODEL]` for each model that may be used", models.key(""));
        problems.add(provider.line("models"), &models.key(""), "no model is named", valid);
    }
    found
}

/// The base URL without its last slash, and the host that is reached for it.
fn reached(
    provider: &View<'_>,
    proxy: &View<'_>,
    plain: &BTreeSet<String>,
    problems: &mut Problems,
) -> Option<(String, String)> {
    let key = provider.key("base_url");
    let Some(text) = provider.text("base_url") else {
        if !provider.wrong("base_url") {
            problems.add(provider.line(""), &key, "this key is missing", crate::forms::BASE_URL.valid);
        }
        return None;
    };
    let url = BaseUrl::parse(&text)?;
    let at = url.at.text();
    let listed_plain = plain.contains(&at) || proxy.wrong("plain_http");
    if let Some(what) = refused(&url, &at, listed_plain) {
        let valid = match plain.is_empty() {
            true => {
                "`https` to a public host, or a loopback host that `credproxy.plain_http` lists".to_owned()
            }
            false => format!("`https` to a public host, or one of {}", listed(plain)),
        };
        problems.add(provider.line("base_url"), &key, what, valid);
    }
    Some((text.trim_end_matches('/').to_owned(), at))
}

/// Why a request that carries a secret may not go there, if it may not.
pub(crate) fn refused(url: &BaseUrl, at: &str, listed_plain: bool) -> Option<String> {
    let HostPort { host, .. } = &url.at;
    if listed_plain {
        None
    } else if url.at.is_loopback() {
        Some(format!("{at} is this machine, and `credproxy.plain_http` does not list it"))
    } else if url.at.is_private() {
        Some(format!("{host} is a private address, which dialer never connects to"))
    } else if url.tls {
        None
    } else {
        Some(format!("plain HTTP to {at} would show the key to the network"))
    }
}
