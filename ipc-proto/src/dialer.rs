//! Dialer connects. It never sees content and holds no secret: the connected descriptor comes over the edge's
//! descriptor channel, with the ticket as its message.

mod pattern;

use crate::Text;
use crate::service::service;
pub use pattern::HostPattern;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// A host in its one normal form: two spellings of one host are equal, and what is ambiguous is no host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Host {
    /// A DNS name: lower case, no dot at its end.
    Name(String),
    /// An address.
    Address(IpAddr),
}

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostPort {
    /// The host.
    pub host: Host,
    /// The port; never 0.
    pub port: u16,
}

/// The text names no host, or no host and port, in exactly one reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a host, or not a host and port; give it as HOST or HOST:PORT")]
pub struct NoHost;

impl FromStr for Host {
    type Err = NoHost;

    /// A name of letters, digits, hyphens and underscores, or an address; one of version 6 may stand in
    /// brackets. A name whose last label is a number is refused: some libraries read it as an address.
    fn from_str(text: &str) -> Result<Self, NoHost> {
        if let Some(inner) = text.strip_prefix('[') {
            let inner = inner.strip_suffix(']').ok_or(NoHost)?;
            return inner
                .parse::<Ipv6Addr>()
                .map(|address| Self::Address(address.into()))
                .map_err(|_| NoHost);
        }
        if let Ok(address) = text.parse() {
            return Ok(Self::Address(address));
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        let numeric = name.rsplit('.').next().is_none_or(is_number);
        let valid = name.len() <= 253 && name.split('.').all(is_label) && !numeric;
        if valid { Ok(Self::Name(name)) } else { Err(NoHost) }
    }
}

fn is_label(label: &str) -> bool {
    let inside = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=63).contains(&label.len())
        && label.bytes().all(inside)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

fn is_number(label: &str) -> bool {
    match label.strip_prefix("0x") {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => label.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

impl FromStr for HostPort {
    type Err = NoHost;

    /// `host:port`; an address of version 6 stands in brackets.
    fn from_str(text: &str) -> Result<Self, NoHost> {
        let (host, port) = text.rsplit_once(':').ok_or(NoHost)?;
        if host.contains(':') && !host.starts_with('[') {
            return Err(NoHost);
        }
        let plain = !port.starts_with('0') && port.bytes().all(|byte| byte.is_ascii_digit());
        let port = port.parse().ok().filter(|_| plain).ok_or(NoHost)?;
        Ok(Self { host: host.parse()?, port })
    }
}

/// As it stands in a URL: version 6 in brackets.
impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V4(address)) => address.fmt(f),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// A connection that is on its way over the descriptor channel: 8 bytes little-endian with the descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ticket(pub u64);

/// Why no connection was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum DialError {
    /// The caller's rule does not let it reach this host and port.
    #[error(
        "the host is not among those this process may reach; name it in the configuration ([provider.NAME], \
         [service.NAME] or [web])"
    )]
    NotAllowed,
    /// Some address of the name is not public.
    #[error(
        "the name resolves to an address that is not public; name the host in [web], [egress] or [credproxy] private_hosts if it is meant"
    )]
    NotPublic,
    /// Some address of the name is this machine's own, or on a network that it is attached to.
    #[error(
        "{address} is this machine's own or on a network that it is attached to; name it in [web] private_hosts \
         to have web reach it, or in [credproxy] private_hosts to send a secret there"
    )]
    Local {
        /// The address.
        address: IpAddr,
    },
    /// The kernel's route tables cannot be read, so no address can be judged.
    #[error(
        "this machine's routes cannot be read, so that no address can be judged; `agentctl logs dialer` says why"
    )]
    Routes,
    /// The name does not resolve.
    #[error("the name does not resolve; check its spelling and this machine's DNS")]
    Unresolved,
    /// The host did not accept the connection.
    #[error("the host refused the connection; check the port, and that the service runs")]
    Refused,
    /// No connection within 10 seconds.
    #[error("no connection in time; check that this machine reaches the host, and try again")]
    TimedOut,
    /// Too many connections are being made.
    #[error("too many connections at once; try again")]
    Busy,
    /// Dialer itself is not there, or its descriptor did not come.
    #[error("the dialer is held or away; if it is held: `agentctl release dialer`")]
    Down,
}

service! {
    /// Connections to checked addresses.
    pub trait Dialer {
        /// Connects to `host` and `port` by the caller's rule.
        [idempotent, 2, 15]
        async fn dial(host: Text<253>, port: u16) -> Result<Ticket, DialError>;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_host_is_one_host() {
        let same = [
            ("api.example.com", "API.Example.COM"),
            ("api.example.com", "api.example.com."),
            ("::1", "[::1]"),
            ("2001:db8::1", "[2001:0DB8:0:0:0:0:0:1]"),
        ];
        for (one, other) in same {
            assert_eq!(one.parse::<Host>().unwrap(), other.parse().unwrap(), "{other}");
        }
        assert_eq!("[2001:DB8::1]:443".parse::<HostPort>().unwrap().to_string(), "[2001:db8::1]:443");
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_no_host() {
        let long = format!("{}.com", "a".repeat(64));
        let none = [
            "", ".", "a..b", "a.com..", "-a.com", "a-.com", "a b.com", "a%2eb.com", "a\u{ff0e}b", "a@b.com",
            "a/b", "a\\b", "0x7f000001", "2130706433", "127.1", "0177.0.0.1", "127.0.0.1.", "1.2.3.4.5",
            "0x7f.1", "a.0x", "[127.0.0.1]", "[::1", "::1]", "[a.com]", "fe80::1%eth0", "\u{2460}.com",
            "a.com:80", "a\r\nb.com", &long,
        ];
        for text in none {
            assert!(text.parse::<Host>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_port_is_a_plain_number_from_1_to_65535() {
        for text in ["a.com", "a.com:", "a.com:0", "a.com:080", "a.com:+80", "a.com:65536", "::1:80", ":80"] {
            assert!(text.parse::<HostPort>().is_err(), "{text:?}");
        }
        assert_eq!("a.com:65535".parse::<HostPort>().unwrap().port, 65535);
    }

    proptest::proptest! {
        #[test]
        fn what_is_a_host_is_written_back_as_the_same_host(text in "\\PC{0,20}|[a-z0-9.:\\[\\]-]{0,20}") {
            if let Ok(host) = text.parse::<Host>() {
                proptest::prop_assert_eq!(host.to_string().parse::<Host>(), Ok(host));
            }
        }
    }
}
