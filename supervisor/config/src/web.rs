//! Second pass over `[web]` and `[web.search]`: the parts for web, gate, dialer and credproxy, and the checks that the search provider
//! can be reached and has its key.

use crate::hosts::BaseUrl;
use crate::problem::{Problems, listed};
use crate::providers::{Outside, refused};
use crate::view::View;
use ipc_proto::config::{SearchProvider, Web, WebReach, WebSearch};
use ipc_proto::web::Mode;

/// `[web]`, resolved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// True if web has a row.
    pub web: bool,
    /// The section of web.
    pub own: Web,
    /// The part of it that gate gets.
    pub gate: WebReach,
}

/// Reads it. The parts for dialer and credproxy go to `outside`.
#[must_use]
pub fn resolve(file: &View<'_>, outside: &mut Outside, problems: &mut Problems) -> Reach {
    let view = file.table("web");
    let wanted = view.word("provider") != "none";
    if wanted && !outside.credproxy && view.given("provider").is_some() {
        let what = "the web needs dialer, which `credproxy.provider` set to \"none\" takes away";
        problems.add(view.line("provider"), &view.key("provider"), what, "none");
    }
    let mut reach = Reach { web: wanted && outside.credproxy, ..Reach::default() };
    let texts = |key| view.texts(key).into_iter().map(|(_, text)| text).collect::<Vec<_>>();
    reach.own.private_hosts = texts("private_hosts");
    reach.gate = WebReach {
        mode: mode(&view),
        allow: texts("allow"),
        block: texts("block"),
        private_hosts: reach.own.private_hosts.clone(),
    };
    reach.own.search = search(&view, &reach, outside, problems);
    if reach.web {
        outside.dialer.web_private_hosts.clone_from(&reach.own.private_hosts);
    }
    reach
}

fn mode(view: &View<'_>) -> Option<Mode> {
    Some(match view.text("mode")?.as_str() {
        "blocklist" => Mode::Blocklist,
        "unrestricted" => Mode::Unrestricted,
        _ => Mode::Allowlist,
    })
}

fn search(web: &View<'_>, reach: &Reach, outside: &mut Outside, problems: &mut Problems) -> WebSearch {
    let view = web.table("search");
    let (base_url, secret) = (view.text("base_url"), view.text("secret"));
    let provider = match view.word("provider").as_str() {
        "brave" => SearchProvider::Brave,
        "tavily" => SearchProvider::Tavily,
        "searxng" => SearchProvider::Searxng,
        _ => return WebSearch::default(),
    };
    let base_url = base_url.map(|url| url.trim_end_matches('/').to_owned());
    if !reach.web {
        let what = "a search needs the web, which is switched off";
        problems.add(view.line("provider"), &view.key("provider"), what, "none");
        return WebSearch::default();
    }
    match provider {
        SearchProvider::Searxng => of_ones_own(&view, &reach.own.private_hosts, problems),
        _ => keyed(&view, provider, outside, problems),
    }
    WebSearch { provider, base_url, secret }
}

/// A server without a key is fetched from like any other page: it is public, or listed.
fn of_ones_own(view: &View<'_>, private_hosts: &[String], problems: &mut Problems) {
    let key = view.key("base_url");
    if let (Some(_), false) = (view.given("secret"), view.wrong("secret")) {
        let what = "searxng needs no key";
        problems.add(view.line("secret"), &view.key("secret"), what, "nothing here");
    }
    let Some(url) = view.text("base_url") else {
        if !view.wrong("base_url") {
            let what = "this key is missing";
            problems.add(view.line("provider"), &key, what, crate::forms::SEARCH_URL.valid);
        }
        return;
    };
    let Some(at) = BaseUrl::parse(&url).map(|url| url.at) else { return };
    let listed_private = private_hosts.contains(&at.text());
    if (at.is_private() || at.is_loopback()) && !listed_private {
        let what = format!("{} is not public, and `web.private_hosts` does not list it", at.text());
        problems.add(view.line("base_url"), &key, what, "a public host, or one of `web.private_hosts`");
    }
}

/// A provider with a key is reached through credproxy, which reaches only listed hosts.
fn keyed(view: &View<'_>, provider: SearchProvider, outside: &mut Outside, problems: &mut Problems) {
    let Some(secret) = view.text("secret") else {
        if !view.wrong("secret") {
            let what = format!("this key is missing: {} needs a key", view.word("provider"));
            problems.add(view.line("provider"), &view.key("secret"), what, crate::forms::SECRET.valid);
        }
        return;
    };
    let at = match view.text("base_url") {
        None => own_host(provider).to_owned(),
        Some(url) => {
            let Some(url) = BaseUrl::parse(&url) else { return };
            let plain = &outside.proxy.plain_http;
            let at = url.at.text();
            if let Some(what) = refused(&url, &at, outside.lists(&url, &at)) {
                let valid = format!("`https` to a public host{}", also(plain));
                problems.add(view.line("base_url"), &view.key("base_url"), what, valid);
            }
            at
        }
    };
    outside.proxy.web_secret = Some(secret);
    outside.dialer.credproxy_hosts.push(at);
    outside.dialer.credproxy_hosts.sort();
    outside.dialer.credproxy_hosts.dedup();
}

/// The provider's own address.
const fn own_host(provider: SearchProvider) -> &'static str {
    match provider {
        SearchProvider::Brave => "api.search.brave.com:443",
        SearchProvider::Tavily => "api.tavily.com:443",
        SearchProvider::Searxng | SearchProvider::None => "",
    }
}

fn also(plain: &[String]) -> String {
    if plain.is_empty() { String::new() } else { format!(", or one of {}", listed(plain)) }
}
