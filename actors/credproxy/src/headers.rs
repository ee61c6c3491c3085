//! The headers of a request: which a caller may set, and the one that a secret goes into. Pure.

use crate::secret::Secret;
use http::header::{ACCEPT_ENCODING, AUTHORIZATION, COOKIE, HOST};
use http::{HeaderMap, HeaderName, HeaderValue};
use ipc_proto::credproxy::{CredError, Header, PLACEHOLDER};

/// Headers that are credproxy's own to set, that speak about the connection, or that carry credentials.
const RESERVED: &[&str] = &[
    "accept-encoding",
    "authorization",
    "connection",
    "content-encoding",
    "content-length",
    "cookie",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// The headers of a request to `host`, with room for a secret in `free`, which is not yet among them. `cookies` permits `Cookie`.
///
/// A caller's name is a token outside of [`RESERVED`], each once; its value is printable ASCII, so that no line end
/// makes one header into two. The mark of a secret stands in no header: a header that takes a secret takes all of it.
pub(crate) fn build(
    host: &str,
    given: &[Header],
    free: Option<(&str, &str)>,
    cookies: bool,
) -> Result<HeaderMap, CredError> {
    let mut headers = HeaderMap::new();
    for header in given {
        let name = name(&header.name)?;
        if is_reserved(&name) && !(cookies && name == COOKIE) || headers.contains_key(&name) {
            return Err(CredError::BadHeader);
        }
        if header.name.contains(PLACEHOLDER) || header.value.contains(PLACEHOLDER) {
            return Err(CredError::Misplaced);
        }
        headers.insert(name, value(header.value.as_bytes())?);
    }
    if let Some((header, prefix)) = free {
        let name = name(header)?;
        if !is_free(&name) || headers.contains_key(&name) {
            return Err(CredError::BadHeader);
        }
        value(prefix.as_bytes())?;
    }
    headers.insert(HOST, value(host.as_bytes())?);
    // Replies are searched for secrets, so they must come as they are.
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    Ok(headers)
}

/// Puts the secret where it goes.
pub(crate) fn place(
    headers: &mut HeaderMap,
    header: &str,
    prefix: &str,
    secret: &Secret,
) -> Result<(), CredError> {
    let bytes = zeroize::Zeroizing::new([prefix.as_bytes(), secret.reveal()].concat());
    let mut value = value(&bytes)?;
    value.set_sensitive(true);
    headers.insert(name(header)?, value);
    Ok(())
}

fn name(text: &str) -> Result<HeaderName, CredError> {
    HeaderName::from_bytes(text.as_bytes()).map_err(|_| CredError::BadHeader)
}

fn value(bytes: &[u8]) -> Result<HeaderValue, CredError> {
    let printable = bytes.iter().all(|byte| (0x20..=0x7e).contains(byte));
    HeaderValue::from_bytes(bytes).ok().filter(|_| printable).ok_or(CredError::BadHeader)
}

/// Returns whether a secret can go into the header of this name.
pub(crate) fn takes_secret(header: &str) -> bool {
    name(header).is_ok_and(|name| is_free(&name))
}

fn is_free(name: &HeaderName) -> bool {
    *name == AUTHORIZATION || !is_reserved(name)
}

fn is_reserved(name: &HeaderName) -> bool {
    RESERVED.contains(&name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::Text;
    use zeroize::Zeroizing;

    fn header(name: &str, value: &str) -> Header {
        Header { name: Text::new(name).unwrap(), value: Text::new(value).unwrap() }
    }

    fn refused(name: &str, value: &str) -> bool {
        build("a.test", &[header(name, value)], None, false).err() == Some(CredError::BadHeader)
    }

    #[test]
    fn ordinary_headers_pass_and_credproxys_own_are_added() {
        let given = [header("Content-Type", "application/json"), header("anthropic-version", "2023-06-01")];
        let headers = build("a.test:8443", &given, None, false).unwrap();
        let want = [
            ("content-type", "application/json"),
            ("anthropic-version", "2023-06-01"),
            ("host", "a.test:8443"),
            ("accept-encoding", "identity"),
        ];
        for (name, value) in want {
            assert_eq!(headers.get(name).unwrap(), value);
        }
        assert_eq!(headers.len(), want.len());
    }

    #[test]
    fn no_header_of_the_connection_or_of_credentials_may_be_set_in_any_case() {
        for name in RESERVED {
            assert!(refused(name, "x") && refused(&name.to_uppercase(), "x"), "{name}");
        }
        assert!(RESERVED.is_sorted());
    }

    // Holds P4-47.
    #[test]
    fn a_cookie_is_sent_only_where_the_caller_says_that_it_has_cookies() {
        let cookie = [header("Cookie", "session=1")];
        assert_eq!(build("a.test", &cookie, None, true).unwrap().get("cookie").unwrap(), "session=1");
        let other = [header("Authorization", "Bearer x")];
        for (given, cookies) in [(&cookie, false), (&other, true)] {
            assert_eq!(build("a.test", given, None, cookies).err(), Some(CredError::BadHeader));
        }
    }

    #[test]
    fn no_line_end_or_control_character_gets_into_a_name_or_a_value() {
        for bad in
            ["a\r\nX-Evil: 1", "a\nb", "a\rb", "a\0b", "a\u{7f}", "a\u{85}b", "a\u{e9}", "a\tb", "\u{a}"]
        {
            assert!(refused("x-ok", bad), "{bad:?}");
            assert!(build("a.test", &[], Some(("x-ok", bad)), false).is_err(), "{bad:?}");
        }
        for bad in ["", "x y", "x:y", "x\r\ny", "x\n", "x\0", "\u{e9}", "(x)", "x/y", "x\"", "x: 1\r\nHost"] {
            assert!(refused(bad, "v"), "{bad:?}");
            assert!(build("a.test", &[], Some((bad, "")), false).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_mark_of_a_secret_stands_in_no_header() {
        let misplaced = Some(CredError::Misplaced);
        let value = format!("Bearer {PLACEHOLDER}");
        assert_eq!(build("a.test", &[header("x-a", &value)], None, false).err(), misplaced);
        assert_eq!(build("a.test", &[header(PLACEHOLDER, "v")], None, false).err(), misplaced);
    }

    #[test]
    fn a_header_is_set_once() {
        let twice = [header("x-a", "1"), header("X-A", "2")];
        assert_eq!(build("a.test", &twice, None, false).err(), Some(CredError::BadHeader));
        let placed = build("a.test", &[header("x-api-key", "mine")], Some(("X-Api-Key", "")), false);
        assert_eq!(placed.err(), Some(CredError::BadHeader));
    }

    #[test]
    fn a_secret_goes_behind_its_prefix_and_is_not_printed() {
        let secret = Secret::new(Zeroizing::new(b"0123456789".to_vec())).unwrap();
        for (name, prefix, want) in
            [("Authorization", "Bearer ", "Bearer 0123456789"), ("x-api-key", "", "0123456789")]
        {
            let mut headers = build("a.test", &[], Some((name, prefix)), false).unwrap();
            place(&mut headers, name, prefix, &secret).unwrap();
            assert_eq!(headers.get(name).unwrap(), want);
            assert!(!format!("{headers:?}").contains("0123456789"));
        }
        for name in ["host", "content-length", "cookie", "proxy-authorization", "transfer-encoding"] {
            assert!(build("a.test", &[], Some((name, "")), false).is_err(), "{name}");
        }
    }
}
