//! Hosts and base URLs in the configuration. Each has one spelling, so that later comparisons of text compare hosts. Nothing is
//! resolved here.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The most bytes of a base URL.
pub const URL_BOUND: usize = 1024;

/// `host:port`; the host is a lower-case name, an IPv4 address, or an IPv6 address in brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPort {
    /// Without brackets.
    pub host: String,
    /// From 1.
    pub port: u16,
}

impl HostPort {
    /// Reads `host:port`; `None` for any other form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        let plain = !port.is_empty() && !port.starts_with('0') && port.bytes().all(|b| b.is_ascii_digit());
        let port = port.parse().ok().filter(|_| plain)?;
        Some(Self { host: host_of(host)?, port })
    }

    /// The text that [`Self::parse`] reads.
    #[must_use]
    pub fn text(&self) -> String {
        let Self { host, port } = self;
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }

    /// This machine itself: `localhost`, 127.0.0.0/8 or `::1`.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        self.host == "localhost" || self.host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
    }

    /// No address of a service: a link-local one (there clouds keep their metadata), an unspecified or a multicast one.
    #[must_use]
    pub fn is_unfit(&self) -> bool {
        let v4 = |ip: Ipv4Addr| {
            ip.is_link_local() || ip.is_multicast() || ip.octets()[0] == 0 || ip.octets()[0] >= 240
        };
        match self.host.parse() {
            Ok(IpAddr::V4(ip)) => v4(ip),
            Ok(IpAddr::V6(ip)) => ip
                .to_ipv4_mapped()
                .map_or_else(|| ip.is_unicast_link_local() || ip.is_multicast() || ip.is_unspecified(), v4),
            Err(_) => false,
        }
    }

    /// An address that dialer always refuses: it has no use in a list of hosts.
    #[must_use]
    pub fn is_private(&self) -> bool {
        match self.host.parse() {
            Ok(IpAddr::V4(ip)) => private_v4(ip),
            Ok(IpAddr::V6(ip)) => ip.to_ipv4_mapped().map_or_else(|| private_v6(ip), private_v4),
            Err(_) => false,
        }
    }
}

/// The parts of a base URL that decide which host is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl {
    /// `https` and not `http`.
    pub tls: bool,
    /// With the scheme's own port if none is written.
    pub at: HostPort,
}

impl BaseUrl {
    /// Reads `http[s]://host[:port][/path]`; `None` for any other form, a query, a fragment or a user in it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let (tls, default) = match scheme {
            "https" => (true, ":443"),
            "http" => (false, ":80"),
            _ => return None,
        };
        let end = rest.find('/').unwrap_or(rest.len());
        let (authority, path) = rest.split_at_checked(end)?;
        let legal = |b: u8| b.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:@".contains(&b);
        if text.len() > URL_BOUND || !path.bytes().all(legal) {
            return None;
        }
        let has_port = authority.rfind(':').is_some_and(|at| authority.rfind(']').is_none_or(|end| end < at));
        let authority = format!("{authority}{}", if has_port { "" } else { default });
        Some(Self { tls, at: HostPort::parse(&authority)? })
    }
}

/// The server of a mailbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MailUrl {
    /// The server.
    pub at: HostPort,
    /// True if TLS begins after `STARTTLS`, false if it begins at once.
    pub upgrade: bool,
}

impl MailUrl {
    /// Reads `PROTOCOLs://host:port` or `PROTOCOL://host:port`; `None` for any other form.
    #[must_use]
    pub fn parse(text: &str, protocol: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let upgrade = match scheme.strip_prefix(protocol)? {
            "s" => false,
            "" => true,
            _ => return None,
        };
        Some(Self { at: HostPort::parse(rest)?, upgrade })
    }
}

fn host_of(text: &str) -> Option<String> {
    if let Some(inner) = text.strip_prefix('[') {
        let ip: Ipv6Addr = inner.strip_suffix(']')?.parse().ok()?;
        return Some(ip.to_string()).filter(|canonical| format!("[{canonical}]") == text);
    }
    let labels_hold = text.len() <= 253 && text.split('.').all(label_holds);
    // Some resolvers read a name whose last label is a number as an address, and others as a name.
    let number = text.rsplit('.').next().is_some_and(|last| last.bytes().all(|b| b.is_ascii_digit()));
    let address = text.parse::<Ipv4Addr>().is_ok();
    let hexadecimal = text.rsplit('.').next().is_some_and(|last| last.starts_with("0x"));
    Some(text.to_owned()).filter(|_| labels_hold && number == address && !hexadecimal)
}

fn label_holds(label: &str) -> bool {
    let legal = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    (1..=63).contains(&label.len())
        && label.bytes().all(legal)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

const fn private_v4(ip: Ipv4Addr) -> bool {
    let [a, b, ..] = ip.octets();
    let shared = a == 100 && b & 0xC0 == 64;
    ip.is_private()
        || ip.is_loopback()
        || ip.is_link_local()
        || ip.is_multicast()
        || a == 0
        || a >= 240
        || shared
}

const fn private_v6(ip: Ipv6Addr) -> bool {
    ip.is_loopback()
        || ip.is_unspecified()
        || ip.is_multicast()
        || ip.is_unique_local()
        || ip.is_unicast_link_local()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_and_port_has_one_spelling() {
        for good in
            ["api.example.com:443", "localhost:1", "127.0.0.1:65535", "[::1]:8080", "xn--bcher-kva.de:443"]
        {
            assert_eq!(HostPort::parse(good).unwrap().text(), good);
        }
        let bad = [
            "", ":", "host", "host:", ":80", "host:0", "host:080", "host:65536", "host:+1", "Host:80",
            "a..b:80", "-a.b:80", "a-.b:80", "a_b:80", "a.b.:80", "127.1:80", "0x7f.1:80", "a.0x7f:80",
            "256.0.0.1:80", "01.2.3.4:80", "::1:80", "[::1:80", "[0:0::1]:80", "[::1%lo]:80",
            "[127.0.0.1]:80", "a b:80", "h/x:80", "u@h:80", "bücher.de:80", "a\0b:80",
        ];
        for bad in bad {
            assert_eq!(HostPort::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_base_url_gives_its_host_with_the_schemes_port() {
        let cases = [
            ("https://api.example.com/v1", true, "api.example.com:443"),
            ("https://api.example.com", true, "api.example.com:443"),
            ("http://127.0.0.1:8080/v1/", false, "127.0.0.1:8080"),
            ("http://localhost", false, "localhost:80"),
            ("https://[2001:db8::1]/v1", true, "[2001:db8::1]:443"),
            ("https://[2001:db8::1]:8443", true, "[2001:db8::1]:8443"),
        ];
        for (text, tls, at) in cases {
            let url = BaseUrl::parse(text).unwrap();
            assert_eq!((url.tls, url.at.text().as_str()), (tls, at), "{text}");
        }
        let bad = [
            "",
            "example.com",
            "ftp://a.b",
            "HTTPS://a.b",
            "https://",
            "https:///v1",
            "https://u:p@a.b/",
            "https://a.b?x",
            "https://a.b/?key=x",
            "https://a.b/#x",
            "https://a.b/a b",
            "https://a.b:x/",
            "https://A.b/",
            "https://a.b\\c",
        ];
        for bad in bad {
            assert_eq!(BaseUrl::parse(bad), None, "{bad}");
        }
        assert_eq!(BaseUrl::parse(&format!("https://a.b/{}", "x".repeat(URL_BOUND))), None);
    }

    #[test]
    fn loopback_and_private_addresses_are_known() {
        let kind = |text| {
            let at = HostPort::parse(text).unwrap();
            (at.is_loopback(), at.is_private())
        };
        assert_eq!(kind("localhost:1"), (true, false));
        assert_eq!(kind("127.8.9.1:1"), (true, true));
        assert_eq!(kind("[::1]:1"), (true, true));
        for private in [
            "10.0.0.1:1",
            "192.168.1.5:1",
            "169.254.169.254:1",
            "100.64.0.1:1",
            "0.0.0.0:1",
            "[fd00::1]:1",
            "[fe80::1]:1",
            "[::ffff:10.0.0.1]:1",
            "255.255.255.255:1",
            "224.0.0.1:1",
        ] {
            assert_eq!(kind(private), (false, true), "{private}");
        }
        for public in ["1.1.1.1:1", "100.128.0.1:1", "[2606:4700::1]:1", "localhost.example.com:1"] {
            assert_eq!(kind(public), (false, false), "{public}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_without_panic_and_what_is_read_is_written_back(text in "\\PC{0,40}|[a-z0-9.:\\[\\]/-]{0,40}") {
            if let Some(at) = HostPort::parse(&text) {
                proptest::prop_assert_eq!(at.text(), text.clone());
            }
            let _ = BaseUrl::parse(&text);
        }
    }
}
