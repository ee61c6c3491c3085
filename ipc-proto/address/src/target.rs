//! From text to a target. The shape is checked on the text itself, then the `url` crate reads it, and both must
//! have found the same host and port: a URL that the two read differently is refused.

use crate::Unfit;
use ipc_proto::dialer::{Host, HostPort};
use ipc_proto::web::URL_BOUND;
use std::fmt;
use url::Url;

/// How it is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// Without TLS.
    Http,
    /// With TLS.
    Https,
}

impl Scheme {
    /// As it stands in a URL.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// Where it is spoken if the URL names no port.
    #[must_use]
    pub const fn port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// Where a URL leads, in its one normal form. Shown, it is the URL that is dialled; parsed again, it is equal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// How.
    pub scheme: Scheme,
    /// The host; a name of another script stands in its ASCII form.
    pub host: Host,
    /// The port; never 0.
    pub port: u16,
    /// Path and query: begins with a slash, printable ASCII, dot segments resolved. The fragment is not kept: it is
    /// never sent.
    pub path_and_query: String,
}

impl Target {
    /// Host and port.
    #[must_use]
    pub fn host_port(&self) -> HostPort {
        HostPort { host: self.host.clone(), port: self.port }
    }

    /// The value of the `Host` header: the port is present only where it is not the scheme's default.
    #[must_use]
    pub fn authority(&self) -> String {
        if self.port == self.scheme.port() { self.host.to_string() } else { self.host_port().to_string() }
    }

    /// Returns whether the other stands at the same scheme, host and port.
    #[must_use]
    pub fn same_origin(&self, other: &Self) -> bool {
        (self.scheme, &self.host, self.port) == (other.scheme, &other.host, other.port)
    }

    /// Where a redirect from here with this `Location` leads. It still has to be judged like any other.
    ///
    /// # Errors
    /// The defect of the location: one with a host of its own is read as strictly as a URL.
    pub fn follow(&self, location: &str) -> Result<Self, Unfit> {
        check_text(location)?;
        if has_scheme(location) {
            return parse(location);
        }
        if location.starts_with("//") {
            return parse(&format!("{}:{location}", self.scheme.text()));
        }
        let here = Url::parse(&self.to_string()).map_err(|_| Unfit::Malformed)?;
        let there = here.join(location).map_err(|_| Unfit::Malformed)?;
        let there = parse(there.as_str())?;
        if there.same_origin(self) { Ok(there) } else { Err(Unfit::Host) }
    }
}

/// The URL that is dialled.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme.text(), self.authority(), self.path_and_query)
    }
}

/// Reads a URL of `http` or `https`.
///
/// # Errors
/// The defect of the URL, or that it can be read in two ways.
pub fn parse(url: &str) -> Result<Target, Unfit> {
    check_text(url)?;
    let (scheme, rest) = scheme(url)?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = rest.get(..end).ok_or(Unfit::Malformed)?;
    let (host, port) = host_and_port(authority)?;
    let port = port.unwrap_or(scheme.port());
    // Scheme and port were read already, and a path can be anything: what is left to refuse is the host.
    let read = Url::parse(url).map_err(|_| Unfit::Host)?;
    let same_host = read.host_str().and_then(|text| text.parse().ok()).as_ref() == Some(&host);
    let same = same_host && read.port_or_known_default() == Some(port) && read.scheme() == scheme.text();
    if !same || !read.username().is_empty() || read.password().is_some() {
        return Err(Unfit::Host);
    }
    let path_and_query = match read.query() {
        Some(query) => format!("{}?{query}", read.path()),
        None => read.path().to_owned(),
    };
    let target = Target { scheme, host, port, path_and_query };
    let clean = target.path_and_query.bytes().all(|byte| byte.is_ascii_graphic());
    match target.to_string().len() {
        0..=URL_BOUND if clean => Ok(target),
        0..=URL_BOUND => Err(Unfit::Malformed),
        _ => Err(Unfit::TooLong),
    }
}

/// Whole text: its length, and no character that a parser may drop, trim or read as a slash.
fn check_text(url: &str) -> Result<(), Unfit> {
    if url.len() > URL_BOUND {
        return Err(Unfit::TooLong);
    }
    let bad = |char: char| char.is_control() || char.is_whitespace() || char == '\\';
    if url.contains(bad) { Err(Unfit::Character) } else { Ok(()) }
}

fn has_scheme(text: &str) -> bool {
    let head = text.split(['/', '?', '#']).next().unwrap_or_default();
    head.contains(':')
}

fn scheme(url: &str) -> Result<(Scheme, &str), Unfit> {
    let (scheme, rest) = url.split_once(':').ok_or(Unfit::Scheme)?;
    let scheme = match scheme.to_ascii_lowercase().as_str() {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        _ => return Err(Unfit::Scheme),
    };
    // Browsers take one slash, or three, for two.
    let rest = rest.strip_prefix("//").ok_or(Unfit::NoHost)?;
    Ok((scheme, rest))
}

fn host_and_port(authority: &str) -> Result<(Host, Option<u16>), Unfit> {
    if authority.contains('@') {
        return Err(Unfit::UserPart);
    }
    let bracket = authority.starts_with('[');
    let split = authority.rsplit_once(':').filter(|(_, port)| !bracket || !port.contains(']'));
    let (host, port) = split.map_or((authority, None), |(host, port)| (host, Some(port)));
    if host.is_empty() {
        return Err(Unfit::NoHost);
    }
    if !bracket && host.contains(':') {
        return Err(Unfit::Host);
    }
    Ok((one_host(host)?, port.map(one_port).transpose()?.flatten()))
}

/// A name of another script is taken where writing it in ASCII and back changes nothing but capitals: full-width
/// digits, circled letters, ideographic dots and invisible characters are all mapped, and so refused.
fn one_host(text: &str) -> Result<Host, Unfit> {
    if text.is_ascii() {
        return text.parse().map_err(|_| Unfit::Host);
    }
    // The Kelvin sign is a capital of `k` to Unicode.
    let becomes_ascii = |char: char| !char.is_ascii() && char.to_lowercase().any(|lower| lower.is_ascii());
    if text.contains(becomes_ascii) {
        return Err(Unfit::Host);
    }
    let url::Host::Domain(ascii) = url::Host::parse(text).map_err(|_| Unfit::Host)? else {
        return Err(Unfit::Host);
    };
    let read = Url::parse(&format!("http://{ascii}/")).map_err(|_| Unfit::Host)?;
    let same = read.host_str() == Some(ascii.as_str()) && back(&ascii) == text.to_lowercase();
    if same { ascii.parse().map_err(|_| Unfit::Host) } else { Err(Unfit::Host) }
}

fn back(ascii: &str) -> String {
    idna::domain_to_unicode(ascii).0
}

/// Behind the colon; nothing there means the scheme's own.
fn one_port(text: &str) -> Result<Option<u16>, Unfit> {
    if text.is_empty() {
        return Ok(None);
    }
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    text.parse().ok().filter(|_| plain).map(Some).ok_or(Unfit::Port)
}

#[cfg(test)]
mod tests;
