//! The provider that is set up: its address, the scope of its key, and its usual model. Opens nothing.

use super::known::{BEARER, KNOWN, compatible, names, nearest};
use super::served;
use ipc_proto::credproxy::{At, Binding, Verb};
use ipc_proto::{List, Name, Text};
use std::net::Ipv4Addr;

/// The address of a known provider.
pub(super) fn address_of(name: &str) -> Option<&'static str> {
    KNOWN.iter().find(|known| known.name == name).map(|known| known.base_url)
}

/// A provider that is to be set up.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Provider {
    /// Its name in `[provider.NAME]`, and the name of its secret.
    pub(super) name: String,
    /// Its base URL, if its name is not a known one.
    pub(super) base_url: Option<String>,
    /// Its base URL in any case.
    pub(super) url: String,
    /// True if a person chose its name.
    pub(super) is_named: bool,
    /// Its wire form, if it is neither known by its name nor the usual one.
    pub(super) kind: Option<&'static str>,
    /// `host:port`.
    pub(super) at: String,
    /// It is on this machine and speaks plain HTTP.
    pub(super) plain: bool,
    /// Its usual model.
    pub(super) model: Option<&'static str>,
    /// The argument of `setup` that names it, to be repeated in messages.
    argument: String,
    path: String,
    header: Option<(&'static str, &'static str)>,
}

/// Why there is no such provider.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoProvider {
    #[error("{0}: neither a provider that is known ({known}) nor a URL (https://HOST/PATH)", known = names().join(", "))]
    Unknown(String),
    #[error("{0}: no provider is known by this name; is {1} meant?")]
    Mistyped(String, &'static str),
    #[error("the URL has a user, a query or a fragment, or no host")]
    Url,
    #[error("no name can be made from the host; --name gives one of letters, digits, `-` and `_`")]
    Name,
}

/// The target of a URL.
struct Spot {
    plain: bool,
    /// `host:port`.
    at: String,
    path: String,
}

impl Spot {
    fn of(url: &str) -> Result<Self, NoProvider> {
        let unknown = || NoProvider::Unknown(url.escape_debug().to_string());
        let (scheme, rest) = url.split_once("://").ok_or_else(unknown)?;
        let (plain, port) = match scheme {
            "https" => (false, 443),
            "http" => (true, 80),
            _ => return Err(unknown()),
        };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        if authority.is_empty() || url.contains(['@', '?', '#']) {
            return Err(NoProvider::Url);
        }
        let has_port =
            authority.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
        let at = if has_port { authority.to_owned() } else { format!("{authority}:{port}") };
        Ok(Self { plain, at, path: path.trim_end_matches('/').to_owned() })
    }
}

impl Provider {
    /// The one of this name, or at this URL.
    pub(super) fn named(asked: &str, name: Option<&str>) -> Result<Self, NoProvider> {
        let named = |name: Option<String>| name.filter(|name| is_name(name)).ok_or(NoProvider::Name);
        let own = name.map(str::to_owned);
        let is_named = own.is_some();
        let argument = name.map_or_else(
            || format!("--provider {asked}"),
            |name| format!("--provider {asked} --name {name}"),
        );
        if let Some(known) = KNOWN.iter().find(|known| known.name == asked) {
            let Spot { plain, at, path } = Spot::of(known.base_url)?;
            let name = named(own.or_else(|| Some(known.name.to_owned())))?;
            let renamed = name != known.name;
            return Ok(Self {
                base_url: renamed.then(|| known.base_url.to_owned()),
                url: known.base_url.to_owned(),
                is_named,
                argument,
                kind: renamed.then_some(known.kind),
                plain: renamed && plain,
                model: known.model,
                header: known.header,
                name,
                at,
                path,
            });
        }
        let known = compatible(asked);
        let address = known.unwrap_or(asked);
        let found = Spot::of(address);
        let Spot { plain, at, path } = match (found, nearest(asked)) {
            (Err(NoProvider::Unknown(typed)), Some(near)) => return Err(NoProvider::Mistyped(typed, near)),
            (found, _) => found?,
        };
        let url = address.trim_end_matches('/').to_owned();
        // A server of this machine that is known by its name asks for no key.
        let header = if known.is_some() && plain { None } else { BEARER };
        Ok(Self {
            name: named(own.or_else(|| known.map(|_| asked.to_owned())).or_else(|| name_of(&at)))?,
            base_url: Some(url.clone()),
            url,
            is_named,
            argument,
            kind: None,
            model: None,
            header,
            plain,
            at,
            path,
        })
    }

    /// The name and the binding of its key's secret: its host, its paths and its header only.
    /// `None` if it needs none.
    pub(super) fn secret(&self) -> Option<(Name, Binding)> {
        let (header, prefix) = self.header?;
        let paths = (!self.path.is_empty()).then(|| Text::clip(&self.path));
        let binding = Binding {
            hosts: List::clip([Text::clip(&self.at)]),
            verbs: List::clip([Verb::Get, Verb::Post]),
            paths: List::clip(paths),
            at: List::clip([At::Header { name: Name::clip(header), prefix: Text::clip(prefix) }]),
        };
        Some((Name::clip(&self.name), binding))
    }

    /// The models that its server has, if that is on this machine and answers.
    pub(super) fn served(&self) -> Vec<String> {
        // Ollama has its own API at the root and lists its models as others do below it.
        let path = if self.path.is_empty() { "/v1" } else { &self.path };
        served::models(&self.at, path)
    }

    /// The command that stores its key by hand.
    pub(super) fn store_command(&self) -> String {
        let path = if self.path.is_empty() { String::new() } else { format!(" --path {}", self.path) };
        let header = match self.header {
            Some((header, "")) => format!(" --header {header}"),
            Some((header, prefix)) => format!(" --header '{header}={prefix}'"),
            None => String::new(),
        };
        format!("agentctl cred set {} --host {}{path}{header}", self.name, self.at)
    }

    /// The command that sets it up again, with another model.
    pub(super) fn again(&self) -> String {
        format!("agentctl setup {} --model MODEL", self.argument)
    }
}

/// A name from the significant part of a host.
fn name_of(authority: &str) -> Option<String> {
    let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
    if matches!(host, "localhost" | "127.0.0.1" | "[::1]") {
        return Some("local".to_owned());
    }
    if host.parse::<Ipv4Addr>().is_ok() {
        return None;
    }
    let labels: Vec<&str> = host.split('.').filter(|label| !matches!(*label, "api" | "www")).collect();
    let whose = labels.len().checked_sub(2).and_then(|at| labels.get(at)).or_else(|| labels.first())?;
    Some((*whose).to_owned())
}

fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=64).contains(&name.len()) && name.bytes().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_providers_key_is_bound_to_its_host_and_header() {
        let (name, binding) = Provider::named("anthropic", None).unwrap().secret().unwrap();
        assert_eq!(name.as_str(), "anthropic");
        assert_eq!(binding.hosts.first().map(|host| host.as_str()), Some("api.anthropic.com:443"));
        let at = At::Header { name: Name::clip("x-api-key"), prefix: Text::clip("") };
        assert_eq!(binding.at.as_ref() as &[At], [at]);
        let ollama = Provider::named("ollama", None).unwrap();
        assert_eq!((ollama.secret(), ollama.base_url, ollama.plain), (None, None, false));
    }

    #[test]
    fn a_known_provider_under_another_name_is_written_with_its_address() {
        let work = Provider::named("anthropic", Some("work")).unwrap();
        assert_eq!((work.name.as_str(), work.kind), ("work", Some("anthropic")));
        assert_eq!(work.base_url.as_deref(), Some("https://api.anthropic.com/v1"));
        assert!(Provider::named("ollama", Some("mine")).unwrap().plain);
        assert_eq!(Provider::named("openai", Some("no name")), Err(NoProvider::Name));
    }

    #[test]
    fn a_server_by_its_url_is_called_after_its_host_unless_it_is_named() {
        let cases = [
            ("https://api.groq.com/openai/v1/", "groq", "api.groq.com:443", "/openai/v1"),
            ("https://openrouter.ai/api/v1", "openrouter", "openrouter.ai:443", "/api/v1"),
            ("http://127.0.0.1:8080/v1", "local", "127.0.0.1:8080", "/v1"),
            ("https://models.example.co:8443", "example", "models.example.co:8443", ""),
        ];
        for (url, name, at, path) in cases {
            let provider = Provider::named(url, None).unwrap();
            assert_eq!(
                (provider.name.as_str(), provider.at.as_str(), provider.path.as_str()),
                (name, at, path)
            );
        }
        let mine = Provider::named("https://a.test/v1", Some("mine")).unwrap();
        assert_eq!(mine.name, "mine");
        assert_eq!(mine.again(), "agentctl setup --provider https://a.test/v1 --name mine --model MODEL");
        assert_eq!(
            Provider::named("https://9.9.9.9/v1", None),
            Err(NoProvider::Name),
            "no part says whose it is"
        );
    }

    #[test]
    fn a_server_with_the_usual_api_is_known_by_its_name() {
        let groq = Provider::named("groq", None).unwrap();
        assert_eq!(
            (groq.name.as_str(), groq.base_url.as_deref()),
            ("groq", Some("https://api.groq.com/openai/v1"))
        );
        assert_eq!(groq.again(), "agentctl setup --provider groq --model MODEL");
        assert!(groq.secret().is_some() && !groq.plain);
        let local = Provider::named("lmstudio", None).unwrap();
        assert!(local.secret().is_none() && local.plain);
        assert_eq!(Provider::named("opnai", None), Err(NoProvider::Mistyped("opnai".to_owned(), "openai")));
    }

    #[test]
    fn what_is_no_provider_is_refused() {
        for wrong in ["", "ftp://a.test", "gpt-4.1"] {
            assert!(matches!(Provider::named(wrong, None), Err(NoProvider::Unknown(_))), "{wrong}");
        }
        for wrong in ["https://", "https://me@a.test/v1", "https://a.test/v1?key=1", "https://a.test/#x"] {
            assert_eq!(Provider::named(wrong, None), Err(NoProvider::Url), "{wrong}");
        }
        assert_eq!(Provider::named("https://a.test/", Some("no name")), Err(NoProvider::Name));
    }

    #[test]
    fn the_command_that_stores_a_key_says_all_that_it_is_bound_to() {
        assert_eq!(
            Provider::named("openai", None).unwrap().store_command(),
            "agentctl cred set openai --host api.openai.com:443 --path /v1 --header 'authorization=Bearer '"
        );
    }

    proptest::proptest! {
        #[test]
        fn any_text_at_all_is_a_provider_or_none(text: String) {
            if let Ok(provider) = Provider::named(&text, None) {
                proptest::prop_assert!(is_name(&provider.name));
            }
        }
    }
}
