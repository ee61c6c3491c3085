//! An entry of `[agent.NAME.network] allow`: a host and port, and a verb.

use crate::hosts::HostPort;
use ipc_proto::config::Allowed;

/// An entry of `allow`: `HOST:PORT`, and a verb behind it.
#[must_use]
pub fn allowed(text: &str) -> Option<Allowed> {
    let (place, verb) = text.split_once(' ').unwrap_or((text, "read"));
    let sends = match verb {
        "read" => false,
        "send" => true,
        _ => return None,
    };
    let (star, rest) = match place.strip_prefix("*.") {
        Some(rest) => ("*.", rest),
        None => ("", place),
    };
    let HostPort { host, port } = HostPort::parse(rest)?;
    let plain =
        host.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b':'));
    // The gate writes an address of version 6 in brackets.
    let host = if host.contains(':') { format!("[{host}]") } else { host };
    plain.then(|| Allowed { host: format!("{star}{host}"), port, sends, packages: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allowed_host_has_a_port_and_a_verb() {
        for (text, host, port, sends) in [
            ("pypi.org:443", "pypi.org", 443, false),
            ("pypi.org:443 read", "pypi.org", 443, false),
            ("*.example.com:8443 send", "*.example.com", 8443, true),
            ("[::1]:80", "[::1]", 80, false),
        ] {
            let want = Allowed { host: host.to_owned(), port, sends, packages: false };
            assert_eq!(allowed(text), Some(want), "{text}");
        }
        for text in
            ["pypi.org", "pypi.org:443 write", "*:443", "a*.b:443", "PyPI.org:443", "https://a.b:443", ""]
        {
            assert_eq!(allowed(text), None, "{text}");
        }
    }
}
