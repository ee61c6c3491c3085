//! Paths of URLs in whole segments: whether one leads under another whatever server resolves it.

/// Returns whether `path` begins with one of `prefixes` in whole segments. A path, or a prefix, that two servers could read in
/// two ways leads nowhere. What follows a question mark is not looked at.
#[must_use]
pub fn leads_under<'a>(path: &str, prefixes: impl IntoIterator<Item = &'a str>) -> bool {
    let Some(wanted) = segments(path) else { return false };
    prefixes.into_iter().any(|prefix| {
        let Some(mut bound) = segments(prefix) else { return false };
        // `/mail/` is meant as `/mail` is.
        bound.pop_if(|last| last.is_empty());
        wanted.starts_with(&bound)
    })
}

/// Returns whether every server reads the path in the same way: it begins with a slash, and no segment is dots (with a
/// parameter behind them too) or holds a slash, a backslash, a per cent sign or a control character that was escaped.
#[must_use]
pub fn reads_one_way(path: &str) -> bool {
    segments(path).is_some()
}

fn segments(path: &str) -> Option<Vec<Vec<u8>>> {
    let path = path.split(['?', '#']).next()?.strip_prefix('/')?;
    path.split('/').map(segment).collect()
}

fn segment(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let byte = match byte {
            b'%' => unescaped(rest.next()?, rest.next()?)?,
            b'\\' | 0..=0x20 | 0x7f => return None,
            other => other,
        };
        bytes.push(byte);
    }
    let name = bytes.split(|byte| *byte == b';').next()?;
    (name != b"." && name != b"..").then_some(bytes)
}

fn unescaped(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = u8::try_from(digit(high)? * 16 + digit(low)?).ok()?;
    (!matches!(byte, b'/' | b'\\' | b'%' | 0..=0x1f | 0x7f)).then_some(byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn under(prefix: &str, path: &str) -> bool {
        leads_under(path, [prefix])
    }

    #[test]
    fn a_path_leads_under_its_prefix_in_whole_segments() {
        for path in ["/v1/mail", "/v1/mail/", "/v1/mail/3?all=1&up=../..", "/v1/%6dail/x", "/v1/mail//x"] {
            assert!(under("/v1/mail", path) && under("/v1/mail/", path) && under("/", path), "{path}");
        }
        for path in ["/", "/v1", "/v1/mailbox", "/v1/mai", "/V1/mail", "/x/v1/mail", "//v1/mail", "/v1?/mail"]
        {
            assert!(!under("/v1/mail", path) && reads_one_way(path), "{path}");
        }
    }

    #[test]
    fn a_path_that_two_servers_could_read_in_two_ways_leads_nowhere() {
        let tricks = [
            "/v1/mail/..",
            "/v1/mail/../admin",
            "/v1/mail/./x",
            "/v1/mail/%2e%2e/admin",
            "/v1/mail/%2E./admin",
            "/v1/mail/..;/admin",
            "/v1/mail/..;x=1/admin",
            "/v1/mail/%2e%2e;/admin",
            "/v1/mail/..%2fadmin",
            "/v1/mail%2f..%2fadmin",
            "/v1/mail/..%5cadmin",
            "/v1/mail/..\\admin",
            "/v1/mail/%252e%252e/admin",
            "/v1/mail/%25%32%65/admin",
            "/v1/mail/%00",
            "/v1/mail/%0a",
            "/v1/mail/ x",
            "/v1/mail/%",
            "/v1/mail/%2",
            "/v1/mail/%zz",
            "v1/mail",
            "",
        ];
        for path in tricks {
            assert!(!under("/v1/mail", path) && !under("/", path) && !reads_one_way(path), "{path}");
        }
        assert!(!under("/v1/%2e%2e", "/v1/mail"), "a prefix of this kind lets nothing through");
    }

    proptest! {
        // Holds P4-12.
        #[test]
        fn no_path_under_a_prefix_leaves_it_however_a_server_resolves_it(
            tail in "(/|%2[ef5]|%5c|\\.|;|[a-c]|%25){0,12}",
        ) {
            let path = format!("/v1/mail{tail}");
            if under("/v1/mail", &path) {
                let decoded = path.replace("%2e", ".").replace("%2f", "/").replace("%5c", "/");
                let mut stack = Vec::new();
                for part in decoded.split('/').filter(|part| !part.is_empty()) {
                    match part.split(';').next() {
                        Some("..") => drop(stack.pop()),
                        Some(".") => {}
                        _ => stack.push(part),
                    }
                }
                prop_assert!(stack.starts_with(&["v1", "mail"]), "{path}");
            }
        }
    }
}
