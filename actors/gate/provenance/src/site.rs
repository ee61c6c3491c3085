//! Web addresses. The same address is: with or without `http://` or `https://` where the text names no scheme, with
//! `https` where it says `http`, with or without `www.` (both names are in one hand), with or without the slash at the
//! end. Anything more is another address: a longer path or query carries data out, another port or a sub-domain may
//! be in other hands, and `http` where the text says `https` can be read on the way. A fragment is compared as text.

use crate::links;
use address::{Scheme, Target};
use ipc_proto::dialer::Host;

/// A web address as somebody wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Site {
    scheme: Option<Scheme>,
    target: Target,
}

impl Site {
    /// Reads one; nothing if it can be read in two ways.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.contains('#') {
            return None;
        }
        let schemed = text.get(..8).is_some_and(|head| head.contains("://"));
        let target = if schemed { address::parse(text) } else { address::parse(&format!("http://{text}")) };
        let target = target.ok().filter(|target| {
            matches!(target.host, Host::Address(_)) || target.host.to_string().contains('.')
        })?;
        Some(Self { scheme: schemed.then_some(target.scheme), target })
    }

    /// Every address that stands in a text, none of them unmasked: who writes `hxxp` does not want it visited.
    pub(crate) fn in_text(text: &str) -> Vec<Self> {
        links::plain(text).iter().filter_map(|link| Self::read(link)).collect()
    }

    /// Returns whether a text that names this one names `other`.
    pub(crate) fn names(&self, other: &Self) -> bool {
        let scheme = (self.scheme, other.scheme) != (Some(Scheme::Https), Some(Scheme::Http));
        let port = self.port() == other.port();
        let path = |site: &Self| site.target.path_and_query.trim_end_matches('/').to_owned();
        scheme && port && self.host() == other.host() && path(self) == path(other)
    }

    /// The port where it is not the scheme's own.
    fn port(&self) -> Option<u16> {
        (self.target.port != self.target.scheme.port()).then_some(self.target.port)
    }

    fn host(&self) -> String {
        let host = self.target.host.to_string();
        let host = host.trim_end_matches('.');
        host.strip_prefix("www.").filter(|rest| rest.contains('.')).unwrap_or(host).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str, value: &str) -> bool {
        let value = Site::read(value);
        Site::in_text(text).iter().any(|site| value.as_ref().is_some_and(|value| site.names(value)))
    }

    #[test]
    fn one_address_is_written_in_many_ways() {
        for (text, value) in [
            ("read www.shop.example.", "http://www.shop.example"),
            ("read www.shop.example/", "https://shop.example/"),
            ("see (https://Shop.Example:443/a/)", "https://shop.example/a"),
            ("see http://shop.example/a?b=1", "https://shop.example/a?b=1"),
            ("see shop.com now", "www.shop.com"),
            ("see <https://b\u{fc}cher.example/x>", "https://xn--bcher-kva.example/x"),
        ] {
            assert!(names(text, value), "{value} in {text}");
        }
    }

    #[test]
    fn anything_more_is_another_address() {
        for (text, value) in [
            ("read www.shop.example", "http://www.shop.example/?q=secret"),
            ("read www.shop.example/alice", "http://www.shop.example"),
            ("read www.shop.example/alice", "www.shop.example/alice/2"),
            ("read www.shop.example", "http://www.shop.example:8080"),
            ("read www.shop.example", "http://login.www.shop.example"),
            ("read https://shop.example", "http://shop.example"),
            ("read shop.com", "http://sh\u{43e}p.com"),
            ("read shop.com", "http://shop.com@evil.example"),
            ("read shop.com", "http://shop.com.evil.example"),
            ("read shop.com", "http://shop.com\\@evil.example"),
            ("mail bob@shop.com", "shop.com"),
            ("read hxxp://shop[.]com", "http://shop.com"),
        ] {
            assert!(!names(text, value), "{value} in {text}");
        }
    }
}
