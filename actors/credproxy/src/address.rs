//! The one parser of URLs: what can be read in two ways is refused. Pure.

use ipc_proto::credproxy::CredError;
use ipc_proto::dialer::{Host, HostPort};
use std::fmt;

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// `https` rather than `http`.
    pub(crate) tls: bool,
    /// Host and port.
    pub(crate) target: HostPort,
    /// Path and query, beginning with a slash.
    pub(crate) path: String,
}

impl Address {
    /// `http` or `https`, a host, perhaps a port, a path and a query, in printable ASCII. No user part, no fragment,
    /// no backslash, nothing that a URL must escape.
    pub(crate) fn parse(url: &str) -> Result<Self, CredError> {
        let clean = url.bytes().all(|byte| byte.is_ascii_graphic() && !br##""#<>\^`{|}"##.contains(&byte));
        let (scheme, rest) = url.split_once("://").filter(|_| clean).ok_or(CredError::BadUrl)?;
        let tls = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return Err(CredError::BadUrl),
        };
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at_checked(end).ok_or(CredError::BadUrl)?;
        let target = target(authority, if tls { 443 } else { 80 }).ok_or(CredError::BadUrl)?;
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        escapes_are_whole(&path).then_some(Self { tls, target, path }).ok_or(CredError::BadUrl)
    }
}

/// The value of the `Host` header.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.tls, self.target.port) {
            (true, 443) | (false, 80) => self.target.host.fmt(f),
            _ => self.target.fmt(f),
        }
    }
}

fn target(authority: &str, default_port: u16) -> Option<HostPort> {
    if authority.contains(':') && !authority.ends_with(']') {
        return authority.parse().ok();
    }
    let bare_v6 = authority.contains(':') && !authority.starts_with('[');
    let host: Host = authority.parse().ok().filter(|_| !bare_v6)?;
    Some(HostPort { host, port: default_port })
}

fn escapes_are_whole(path: &str) -> bool {
    path.split('%').skip(1).all(|after| {
        let mut digits = after.bytes().take(2).filter(u8::is_ascii_hexdigit);
        digits.next().is_some() && digits.next().is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn plain_addresses_are_read_as_what_they_are() {
        let cases = [
            ("https://api.example.com/v1", true, "api.example.com:443", "/v1", "api.example.com"),
            ("HTTPS://API.EXAMPLE.COM", true, "api.example.com:443", "/", "api.example.com"),
            ("https://api.example.com:443/", true, "api.example.com:443", "/", "api.example.com"),
            ("https://api.example.com.:8443/x", true, "api.example.com:8443", "/x", "api.example.com:8443"),
            ("http://127.0.0.1:11434/api?x=1", false, "127.0.0.1:11434", "/api?x=1", "127.0.0.1:11434"),
            ("http://localhost/", false, "localhost:80", "/", "localhost"),
            ("https://[2001:DB8::1]:9/", true, "[2001:db8::1]:9", "/", "[2001:db8::1]:9"),
            ("https://[2001:db8::1]", true, "[2001:db8::1]:443", "/", "[2001:db8::1]"),
            ("https://a.test?q=a@b.c", true, "a.test:443", "/?q=a@b.c", "a.test"),
            ("https://a.test/?u=http://127.0.0.1/", true, "a.test:443", "/?u=http://127.0.0.1/", "a.test"),
            ("https://a.test/a%20b/../%0d%0a", true, "a.test:443", "/a%20b/../%0d%0a", "a.test"),
        ];
        for (url, tls, target, path, host) in cases {
            let address = Address::parse(url).unwrap();
            let read = (address.tls, address.target.to_string(), address.path.clone(), address.to_string());
            assert_eq!(read, (tls, target.to_owned(), path.to_owned(), host.to_owned()), "{url}");
        }
    }

    /// The classes of the corpora `ssrf` and `wpt_urltestdata`, and what has fooled parsers elsewhere.
    const REFUSED: &[&str] = &[
        "",
        "https",
        "https:",
        "https://",
        "https:///x",
        "https:/a.test/",
        "https:a.test",
        "//a.test/",
        "a.test",
        "file:///etc/passwd",
        "gopher://a.test/",
        "ftp://a.test/",
        "javascript:alert(1)",
        "jar:https://a.test!/",
        "https://user@a.test/",
        "https://user:pw@a.test/",
        "https://a.test@evil.test/",
        "https://@a.test/",
        "https://a.test:80@evil.test:80/",
        "https://a.test\\@evil.test/",
        "https://a.test\\.evil.test/",
        "https://a.test/x#frag",
        "https://a.test#@evil.test/",
        "https://a.test /",
        " https://a.test/",
        "https://a.test/ x",
        "https://a.test/\r\nHost: evil",
        "https://a.test\t.evil.test/",
        "https://a.test/\0",
        "https://a.test%2eevil.test/",
        "https://a%41.test/",
        "https://loc%61lhost/",
        "https://a..test/",
        "https://.a.test/",
        "https://a.test:/",
        "https://a.test:0/",
        "https://a.test:99999/",
        "https://a.test:080/",
        "https://a.test:+443/",
        "https://a.test:4 3/",
        "https://[a.test]/",
        "https://[::1/",
        "https://::1/",
        "https://::1]/",
        "https://[::1]x/",
        "https://[::1%eth0]/",
        "https://[127.0.0.1]/",
        "https://[]/",
        "https://2130706433/",
        "https://0x7f000001/",
        "https://0x7f.1/",
        "https://127.1/",
        "https://0177.0.0.1/",
        "https://127.0.0.1./",
        "https://1.2.3.4.5/",
        "https://00/",
        "https://*.a.test/",
        "https://-a.test/",
        "https://a.test\u{ff0f}evil.test/",
        "https://\u{2460}\u{2461}.1/",
        "https://b\u{fc}cher.test/",
        "https://a.test/\u{e9}",
        "https://${HOST}/",
        "https://a.test/{x}",
        "https://a.test/<x>",
        "https://a.test/`",
        "https://a.test/%",
        "https://a.test/%4",
        "https://a.test/%zz",
        "https://a.test/\"",
        "https://a.test/^|",
        "https://a.test;evil/",
        "https://a.test,evil/",
        "https://a.test&@evil/",
    ];

    #[test]
    fn whatever_two_parsers_could_read_in_two_ways_is_refused() {
        for url in REFUSED {
            assert_eq!(Address::parse(url), Err(CredError::BadUrl), "{url:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_accepted_holds_no_byte_that_could_break_a_request_line(url in "https?://\\PC{0,12}[/?]?\\PC{0,12}|\\PC{0,40}") {
            if let Ok(address) = Address::parse(&url) {
                prop_assert!(address.path.starts_with('/'));
                prop_assert!(address.path.bytes().all(|byte| byte.is_ascii_graphic()));
                prop_assert!(address.to_string().bytes().all(|byte| byte.is_ascii_graphic()));
                prop_assert!(!address.path.contains(['\\', '#']));
            }
        }

        #[test]
        fn reading_an_address_again_from_its_parts_gives_the_same(host in "[a-z]{1,8}\\.test", port in 1..=u16::MAX, path in "(/[a-z0-9._~-]{0,6}){0,3}") {
            let once = Address::parse(&format!("https://{host}:{port}{path}")).unwrap();
            prop_assert_eq!(Address::parse(&format!("https://{once}{}", once.path)).unwrap(), once);
        }
    }
}
