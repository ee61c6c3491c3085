//! The headers of a reply that its caller is given: those that say what the body is, where it moved, and how the
//! limits stand. Every live secret is cut out of them as of a body. Pure.

use crate::redact::Redactor;
use crate::secret_patterns::SecretPatterns;
use http::HeaderMap;
use http::header::RETRY_AFTER;
use ipc_proto::credproxy::Header;
use ipc_proto::{List, Name, Text};

/// Given out by their whole names.
const NAMES: &[&str] = &[
    "content-type", "location", "mcp-session-id", "request-id", "retry-after", "retry-after-ms",
    "x-request-id",
];
/// Given out by how their names begin.
const FAMILIES: &[&str] = &["anthropic-ratelimit-", "ratelimit-", "x-ratelimit-"];

/// The headers, and how many secrets were cut out of them. What is too long, or more than sixteen, is left out. Cookies are given to
/// a caller that has them.
pub(crate) fn shown_headers(
    headers: &HeaderMap,
    cookies: bool,
    live: &SecretPatterns,
) -> (List<Header, 16>, u64) {
    let mut cut_out = 0;
    let listed = |name: &str| {
        NAMES.contains(&name)
            || FAMILIES.iter().any(|family| name.starts_with(family))
            || (cookies && name == "set-cookie")
    };
    let found = headers.iter().filter(|(name, _)| listed(name.as_str())).filter_map(|(name, value)| {
        let (mut redactor, mut clean) = (Redactor::default(), Vec::new());
        redactor.push(value.as_bytes(), &[live], &mut clean);
        redactor.finish(&[live], &mut clean);
        cut_out += redactor.cut_out();
        let value = Text::new(String::from_utf8(clean).ok()?).ok()?;
        Some(Header { name: Name::new(name.as_str()).ok()?, value })
    });
    (List::clip(found), cut_out)
}

/// `Retry-After` in seconds; a date is left out, since the clocks of two machines differ.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<u32> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secret;
    use http::{HeaderName, HeaderValue};
    use zeroize::Zeroizing;

    fn patterns(secret: &str) -> SecretPatterns {
        SecretPatterns::new(&[Secret::new(Zeroizing::new(secret.as_bytes().to_vec())).unwrap()])
    }

    fn map(lines: &[(&str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in lines {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            map.append(name, HeaderValue::from_str(value).unwrap());
        }
        map
    }

    fn texts(headers: &[Header]) -> Vec<String> {
        headers.iter().map(|header| format!("{}: {}", header.name, header.value)).collect()
    }

    #[test]
    fn callers_are_given_the_headers_of_the_list_and_no_other() {
        let headers = map(&[
            ("Content-Type", "text/plain"),
            ("Set-Cookie", "session=1"),
            ("X-RateLimit-Remaining-Tokens", "12"),
            ("anthropic-ratelimit-requests-reset", "2026-01-01T00:00:00Z"),
            ("ratelimit-limit", "5"),
            ("request-id", "req_1"),
            ("x-request-id", "req_2"),
            ("retry-after", "7"),
            ("retry-after-ms", "6500"),
            ("location", "/next"),
            ("x-evil", "1"),
            ("server", "x"),
        ]);
        let (found, cut_out) = shown_headers(&headers, false, &patterns("some-secret"));
        let names: Vec<&str> = found.iter().map(|header| header.name.as_str()).collect();
        let want = [
            "content-type",
            "x-ratelimit-remaining-tokens",
            "anthropic-ratelimit-requests-reset",
            "ratelimit-limit",
            "request-id",
            "x-request-id",
            "retry-after",
            "retry-after-ms",
            "location",
        ];
        assert_eq!((names.as_slice(), cut_out), (want.as_slice(), 0));
        let (found, _) = shown_headers(&headers, true, &patterns("some-secret"));
        assert!(texts(&found).contains(&"set-cookie: session=1".to_owned()));
    }

    // Holds P4-29.
    #[test]
    fn a_secret_in_a_header_is_cut_out_in_every_form() {
        let secret = "sk-live/0123+ABC";
        for form in [secret, "sk-live%2F0123%2BABC", "sk-live%2f0123%2bABC", "c2stbGl2ZS8wMTIzK0FCQw"] {
            let headers = map(&[("location", &format!("/next?key={form}"))]);
            let (found, cut_out) = shown_headers(&headers, false, &patterns(secret));
            // The last letter of base64 belongs half to the byte that follows.
            let found = texts(&found).concat();
            assert!(found.starts_with("location: /next?key=[REDACTED]") && cut_out == 1, "{form}: {found}");
            assert!(found.len() <= "location: /next?key=[REDACTED]".len() + 1, "{form}: {found}");
        }
    }

    #[test]
    fn headers_beyond_their_bounds_are_left_out_and_retry_after_is_seconds() {
        let long = "x".repeat(1025);
        let (found, _) =
            shown_headers(&map(&[("location", &long), ("request-id", "1")]), false, &patterns("some-secret"));
        assert_eq!(texts(&found), ["request-id: 1"]);
        let many: Vec<(String, String)> =
            (0..40).map(|n| (format!("x-ratelimit-{n}"), n.to_string())).collect();
        let many: Vec<(&str, &str)> =
            many.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(shown_headers(&map(&many), false, &patterns("some-secret")).0.len(), 16);
        assert_eq!(retry_after(&map(&[("retry-after", " 17 ")])), Some(17));
        assert_eq!(retry_after(&map(&[("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT")])), None);
    }
}
