//! Second pass over `[provider.NAME]` and `[credproxy]`: the models, and the hosts that may be reached for them. A host that dialer
//! would refuse is refused here, so that its writer sees the error.

use crate::hosts::{BaseUrl, HostPort};
use crate::keys::MODELS;
use crate::known::{self, Builtin};
use crate::models;
use crate::problem::{Problems, listed};
use crate::view::View;
use ipc_proto::config::{Credproxy, Dialer, KeySource, Model, Provider, ProviderKind};
use ipc_proto::model::BUILT_IN;
use std::collections::BTreeSet;

/// The built-in models of the provider `offline`.
const OFFLINE: [&str; 2] = ["offline/reader", "offline/hijackable"];

/// The configured providers and their models.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outside {
    /// True if credproxy, and with it dialer, has a row.
    pub credproxy: bool,
    /// The section of model.
    pub model: Model,
    /// The section of dialer.
    pub dialer: Dialer,
    /// The section of credproxy.
    pub proxy: Credproxy,
    /// Every `provider/model` except the scripted ones, and at the end the tasks.
    pub names: Vec<String>,
}

impl Outside {
    /// Returns true if the configuration itself names this host: for plain HTTP, or as a private host that is reached over TLS.
    pub(crate) fn lists(&self, url: &BaseUrl, at: &str) -> bool {
        let named = |hosts: &[String]| hosts.iter().any(|host| host == at);
        named(&self.proxy.plain_http) || (url.tls && named(&self.dialer.credproxy_private_hosts))
    }
}

/// Reads both.
#[must_use]
pub fn resolve(file: &View<'_>, problems: &mut Problems) -> Outside {
    let proxy = file.table("credproxy");
    let texts = |key| proxy.texts(key).into_iter().map(|(_, text)| text).collect::<BTreeSet<_>>();
    let mut plain = texts("plain_http");
    let mut hosts = texts("hosts");
    let mut outside = Outside {
        credproxy: proxy.word("provider") != "none",
        names: OFFLINE.map(str::to_owned).to_vec(),
        ..Outside::default()
    };
    let providers = file.table("provider");
    let mut count = 0;
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
        let kind = kind(&view);
        let builtin = known::find(name, kind);
        let base = base(&view, builtin, &mut plain);
        let local = base.as_deref().and_then(BaseUrl::parse).is_some_and(|url| url.at.is_loopback());
        let models = models::resolve(&view, builtin, local, problems);
        // A model that embeds gives no answers.
        let answer = models.iter().filter(|(_, model)| !model.embeds);
        outside.names.extend(answer.map(|(model, _)| format!("{name}/{model}")));
        count += models.len();
        let Some((base_url, at)) = reached(&view, base, &proxy, &plain, problems) else { continue };
        hosts.insert(at);
        let kind = kind.or(builtin.map(|at| at.kind)).unwrap_or_default();
        let provider = Provider { kind, base_url, secret: view.text("secret"), models };
        outside.model.providers.insert(name.to_owned(), provider);
    }
    if count > MODELS {
        problems.add(providers.line(""), "provider", "too many models", format!("at most {MODELS} in all"));
    }
    outside.dialer = Dialer {
        credproxy_hosts: hosts.into_iter().collect(),
        loopback_hosts: plain.iter().cloned().collect(),
        web_private_hosts: Vec::new(),
        egress_private_hosts: Vec::new(),
        credproxy_private_hosts: texts("private_hosts").into_iter().collect(),
        channel_hosts: Vec::new(),
    };
    let secrets = outside.model.providers.values().filter_map(|provider| provider.secret.clone());
    outside.proxy = Credproxy {
        plain_http: plain.into_iter().collect(),
        model_secrets: secrets.collect::<BTreeSet<_>>().into_iter().collect(),
        key: key_of(&proxy),
        ..Credproxy::default()
    };
    outside
}

fn key_of(proxy: &View<'_>) -> KeySource {
    match proxy.word("key").as_str() {
        "passphrase" => KeySource::Passphrase,
        "systemd" => KeySource::Systemd,
        _ => KeySource::File,
    }
}

/// The protocol that the file sets, if any.
fn kind(provider: &View<'_>) -> Option<ProviderKind> {
    provider.given("kind")?;
    Some(match provider.word("kind").as_str() {
        "responses" => ProviderKind::Responses,
        "anthropic" => ProviderKind::Anthropic,
        "ollama" => ProviderKind::Ollama,
        _ => ProviderKind::Openai,
    })
}

/// The address of a provider: that of the file, else the built-in one. A built-in provider on this machine may be reached over plain
/// HTTP as if `credproxy.plain_http` listed it.
fn base(provider: &View<'_>, builtin: Option<&Builtin>, plain: &mut BTreeSet<String>) -> Option<String> {
    if provider.wrong("base_url") {
        return None;
    }
    provider.text("base_url").or_else(|| {
        let base = builtin?.base_url;
        let here = BaseUrl::parse(base).filter(|url| url.at.is_loopback());
        plain.extend(here.map(|url| url.at.text()));
        Some(base.to_owned())
    })
}

/// The base URL without its last slash, and the host that is reached for it.
fn reached(
    provider: &View<'_>,
    base: Option<String>,
    proxy: &View<'_>,
    plain: &BTreeSet<String>,
    problems: &mut Problems,
) -> Option<(String, String)> {
    let key = provider.key("base_url");
    let Some(text) = base else {
        if !provider.wrong("base_url") {
            problems.add(provider.line(""), &key, "this key is missing", crate::forms::BASE_URL.valid);
        }
        return None;
    };
    let url = BaseUrl::parse(&text)?;
    let at = url.at.text();
    let private = url.tls && proxy.texts("private_hosts").iter().any(|(_, host)| *host == at);
    let is_listed = private || plain.contains(&at) || proxy.wrong("plain_http");
    if let Some(what) = refused(&url, &at, is_listed) {
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

/// The reason why a request with a secret may not go there, if there is one.
pub(crate) fn refused(url: &BaseUrl, at: &str, is_listed: bool) -> Option<String> {
    let HostPort { host, .. } = &url.at;
    if is_listed {
        None
    } else if url.at.is_loopback() {
        Some(format!("{at} is this machine, and `credproxy.plain_http` does not list it"))
    } else if url.at.is_private() {
        Some(format!("{host} is a private address, and `credproxy.private_hosts` does not list {at}"))
    } else if url.tls {
        None
    } else {
        Some(format!("plain HTTP to {at} would show the key to the network"))
    }
}
