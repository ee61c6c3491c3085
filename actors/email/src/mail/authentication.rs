//! The results of authentication (RFC 8601) that the own server has put on top of a message. Only its topmost field counts, and only
//! if it is the pinned server's: what stands below may be the sender's own.

use super::header::Header;

/// Comments in comments, at most.
const DEPTH: usize = 8;

/// Returns true if the server of this id found by DMARC that the message is from this domain.
pub(crate) fn is_proven(header: &Header<'_>, authserv: &str, domain: &str) -> bool {
    let Some(field) = header.text("Authentication-Results") else { return false };
    let Some(parts) = parts(&field) else { return false };
    let mut parts = parts.iter().map(|part| words(part));
    let server = parts.next().and_then(|words| words.into_iter().next());
    if server.is_none_or(|server| !server.eq_ignore_ascii_case(authserv)) {
        return false;
    }
    let results: Vec<Vec<String>> = parts.filter(|words| method(words) == Some("dmarc")).collect();
    // Two results are one too many: one of them may be a part of something that the sender chose.
    let [result] = results.as_slice() else { return false };
    let passed =
        result.first().and_then(|word| word.split_once('=')).is_some_and(|(_, value)| value == "pass");
    let mut named = result.iter().filter_map(|word| word.strip_prefix("header.from="));
    passed && named.next().is_some_and(|from| from.eq_ignore_ascii_case(domain)) && named.next().is_none()
}

/// The method of a result: `dmarc` of `dmarc/1=pass`.
fn method(words: &[String]) -> Option<&str> {
    let (method, _) = words.first()?.split_once('=')?;
    method.split('/').next()
}

/// The words of a part in lower case; an `=` with white space around it joins two.
fn words(part: &str) -> Vec<String> {
    let mut joined = part.trim().to_ascii_lowercase();
    for loose in [" =", "\t=", "= ", "=\t"] {
        while joined.contains(loose) {
            joined = joined.replace(loose, "=");
        }
    }
    joined.split_ascii_whitespace().map(str::to_owned).collect()
}

/// The parts between semicolons, without comments. In a quoted string nothing parts words; none if a comment or a string does not
/// end.
fn parts(field: &str) -> Option<Vec<String>> {
    let mut parts = vec![String::new()];
    let (mut depth, mut quoted) = (0_usize, false);
    let mut characters = field.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' if depth > 0 || quoted => {
                characters.next()?;
            }
            '(' if !quoted => depth += 1,
            ')' if depth > 0 => depth -= 1,
            _ if depth > DEPTH => return None,
            _ if depth > 0 => {}
            '"' => quoted = !quoted,
            ';' if !quoted => parts.push(String::new()),
            other => {
                let other =
                    if quoted && (other.is_whitespace() || matches!(other, ';' | '=')) { '_' } else { other };
                parts.last_mut()?.push(other);
            }
        }
    }
    (depth == 0 && !quoted).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn proven(fields: &str) -> bool {
        let block = format!("{fields}\r\nFrom: ann@a.test\r\n\r\n");
        is_proven(&Header::parse(block.as_bytes()).unwrap(), "mx.own.test", "a.test")
    }

    // Holds P11-90.
    #[test]
    fn a_passing_result_of_the_pinned_server_proves_the_domain() {
        for fields in [
            "Authentication-Results: mx.own.test; dmarc=pass header.from=a.test",
            "authentication-results: MX.own.test 1;\r\n\tspf=pass smtp.mailfrom=a.test;\r\n\tdmarc=pass (p=none; dis=none) header.from=A.test",
            "Authentication-Results: \"mx.own.test\"; dkim=fail; dmarc/1 = pass header.from = \"a.test\"",
            "Authentication-Results: mx.own.test; dmarc=pass header.from=a.test\r\nAuthentication-Results: else; dmarc=fail",
        ] {
            assert!(proven(fields), "{fields}");
        }
    }

    // Holds P11-90.
    #[test]
    fn no_other_result_proves_a_domain() {
        for fields in [
            "Subject: x",
            "Authentication-Results: mx.own.test; none",
            "Authentication-Results: mx.own.test; dmarc=fail header.from=a.test",
            "Authentication-Results: mx.own.test; dmarc=pass header.from=e.test",
            "Authentication-Results: mx.own.test; dmarc=pass",
            "Authentication-Results: mx.own.test; spf=pass smtp.mailfrom=a.test; dkim=pass header.d=a.test",
            "Authentication-Results: mx.evil.test; dmarc=pass header.from=a.test",
            "Authentication-Results: mx.own.test.evil.test; dmarc=pass header.from=a.test",
            // The sender's own field below the server's, and above it somebody else's.
            "Authentication-Results: mx.own.test; dmarc=fail header.from=a.test\r\nAuthentication-Results: mx.own.test; dmarc=pass header.from=a.test",
            "Authentication-Results: other; spf=none\r\nAuthentication-Results: mx.own.test; dmarc=pass header.from=a.test",
            // A result within what the sender chose.
            "Authentication-Results: mx.own.test; spf=fail smtp.mailfrom=\"x; dmarc=pass header.from=a.test\"",
            "Authentication-Results: mx.own.test; spf=fail (x; dmarc=pass header.from=a.test)",
            "Authentication-Results: mx.own.test; spf=fail smtp.mailfrom=x; dmarc=pass header.from=a.test; dmarc=fail header.from=a.test",
            "Authentication-Results: mx.own.test; (dmarc=pass header.from=a.test",
            "Authentication-Results: mx.own.test; dmarc=pass header.from=a.test header.from=e.test",
        ] {
            assert!(!proven(fields), "{fields}");
        }
    }

    proptest! {
        // Holds P11-90.
        #[test]
        fn what_a_sender_chooses_within_a_value_proves_nothing(chosen in "[a-z();=. \\\\]{0,30}(dmarc=pass header.from=a.test)?[a-z();=. \\\\]{0,30}") {
            let fields = format!("Authentication-Results: mx.own.test; spf=fail smtp.mailfrom=\"{chosen}\"; dmarc=fail header.from=a.test");
            prop_assert!(!proven(&fields));
        }
    }
}
