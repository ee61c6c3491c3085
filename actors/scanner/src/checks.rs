//! Checks that a pattern cannot state: checksums, entropy, whether a value looks made by a machine or by a person.
//! Pure functions of the matched text. A check must never suppress a token whose format is certain because of a
//! word inside it: "example" within a real key is still a real key.

use std::collections::BTreeSet;

/// Shannon entropy of the bytes, in bits a byte; 0 for an empty text.
pub(crate) fn entropy(text: &str) -> f32 {
    let mut counts = [0_u16; 256];
    let mut total = 0_u16;
    for byte in text.bytes().take(4096) {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count += 1;
            total += 1;
        }
    }
    let total = f32::from(total);
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| f32::from(*count) / total)
        .map(|p| -p * p.log2())
        .sum()
}

/// Returns whether a token with a known prefix holds varied characters rather than a filler such as a row of x.
pub(crate) fn varied(token: &str) -> bool {
    entropy(token) >= 2.9 && !filler(token)
}

/// Returns whether a stretch repeats one character, or counts up, so long that no generator would have made it.
fn filler(text: &str) -> bool {
    has_long_repeat(text) || counts_up(text) || periodic(text)
}

/// Returns whether a stretch of 20 bytes and more says the same up to nine bytes over and over.
fn periodic(text: &str) -> bool {
    let bytes = text.as_bytes();
    (2..10_usize).any(|period| {
        let mut run = period;
        bytes.iter().zip(bytes.iter().skip(period)).any(|(before, byte)| {
            run = if before == byte { run + 1 } else { period };
            run >= 20.max(3 * period)
        })
    })
}

fn counts_up(text: &str) -> bool {
    let mut run = 1;
    for (before, byte) in text.bytes().zip(text.bytes().skip(1)) {
        run = if byte == before.wrapping_add(1) && byte.is_ascii_alphanumeric() { run + 1 } else { 1 };
        if run >= 8 {
            return true;
        }
    }
    false
}

/// Returns whether one character repeats so long that no generator would have made it.
fn has_long_repeat(text: &str) -> bool {
    let mut run = 0;
    let mut before = 0;
    for byte in text.bytes() {
        run = if byte == before { run + 1 } else { 1 };
        if run >= 8 {
            return true;
        }
        before = byte;
    }
    false
}

/// Returns whether a value that follows a telling name looks generated: mixed digits and letters, no words, no reference.
pub(crate) fn generated(value: &str) -> bool {
    let value = value.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    if value.len() < 10 || placeholder(value) || filler(value) {
        return false;
    }
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    if letters == 0 {
        return value.len() >= 12 && value.bytes().all(|b| b.is_ascii_digit()) && distinct(value) >= 5;
    }
    if digits == 0 {
        return value.len() >= 24 && entropy(value) >= 4.0 && case_changes(value) >= 6;
    }
    entropy(value) >= 2.9 && changes(value) >= 3
}

/// Returns whether the value of a name that says it is a secret looks generated, and is no digest of something public.
pub(crate) fn secret_value(value: &str) -> bool {
    const PUBLIC: [&str; 7] = ["sha1", "sha256", "sha384", "sha512", "md5:", "http:", "https:"];
    let lower = value.to_ascii_lowercase();
    !PUBLIC.iter().any(|prefix| lower.starts_with(prefix)) && !path(value) && generated(value)
}

/// Returns whether the name at the head of `name = value` is that of a secret, not of something that only has such a word in
/// it: an identifier or address of one, half of a key pair that everybody may have, a token of a text or a form.
pub(crate) fn names_a_secret(whole: &str) -> bool {
    const OTHERS: [&str; 16] = [
        "public", "pubkey", "pub_key", "csrf", "xsrf", "authenticity", "tokeniz", "cache", "accessor",
        "idempotency", "compass", "bypass", "passport", "passenger", "primary_key", "foreign_key",
    ];
    const ENDS: [&str; 22] = [
        "credentialid", "credentialsid", "credential_id", "credentials_id", "credential-id",
        "credentials-id", "tokenid", "token_id", "token-id", "secretid", "secretname", "url", "uri", "_type",
        "_name", "-name", "_path", "_file", "_length", "_count", "version", "_expiry",
    ];
    let name = whole.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-' | '.' | '%' | '$'));
    let name = name.get(..end.unwrap_or(name.len())).unwrap_or_default().to_ascii_lowercase();
    !OTHERS.iter().any(|other| name.contains(other)) && !ENDS.iter().any(|other| name.ends_with(other))
}

/// Returns whether a value is the place in code or configuration where the value is: `var.db.password`.
fn path(value: &str) -> bool {
    const ROOTS: [&str; 24] = [
        "data", "var", "vars", "local", "module", "each", "self", "this", "config", "process", "os", "env",
        "settings", "secrets", "request", "params", "options", "opts", "args", "props", "ctx", "vault",
        "values", "random_password",
    ];
    value.split_once('.').is_some_and(|(root, rest)| {
        ROOTS.contains(&root.to_ascii_lowercase().as_str())
            && rest.starts_with(|c: char| c.is_ascii_alphabetic())
    })
}

/// Returns whether the password in an address is one, not a variable or a mask.
pub(crate) fn url_password(value: &str) -> bool {
    !placeholder(value) && distinct(value) >= 3 && !matches!(value, "pass" | "pw" | "pwd" | "secret" | "port")
}

/// A payment card: the right first digit and a right checksum.
pub(crate) fn card(text: &str) -> bool {
    text.starts_with(['2', '3', '4', '5', '6']) && luhn(text)
}

/// Returns whether a value after a password-like name looks like a password in use.
pub(crate) fn password(value: &str) -> bool {
    let value = value.trim_matches(|c: char| matches!(c, '"' | '\'' | '`' | ',' | ';' | ')' | '.'));
    let digit = value.bytes().any(|b| b.is_ascii_digit());
    let letter = value.bytes().any(|b| b.is_ascii_alphabetic());
    let sign = value
        .bytes()
        .any(|b| b.is_ascii_punctuation() && !matches!(b, b'_' | b'-' | b'.' | b'/' | b'(' | b')'));
    value.len() >= 6
        && letter
        && (digit || sign)
        && distinct(value) >= 5
        && !placeholder(value)
        && !version(value)
        && !path(value)
}

/// Returns whether the second half of `user:password` looks like a password in use.
pub(crate) fn user_and_password(pair: &str) -> bool {
    const NAMES: [&str; 9] = ["pass", "pw", "pwd", "token", "secret", "key", "apikey", "api_key", "api-key"];
    let Some((user, secret)) = pair.split_once(':') else { return false };
    let (user, secret) = (user.trim_matches(quote), secret.trim_matches(quote));
    if secret.is_empty() {
        return password(user);
    }
    let named = NAMES.iter().any(|name| secret.eq_ignore_ascii_case(name));
    let masked =
        secret.starts_with(['$', '%', '<', '[']) || (placeholder(secret) && !secret.starts_with('{'));
    let same = user.eq_ignore_ascii_case(secret);
    secret.len() >= 3 && !same && !named && !masked && distinct(secret) >= 3
}

const fn quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '`')
}

/// Returns whether base64 after `Basic` holds `user:password`.
pub(crate) fn basic_credentials(value: &str) -> bool {
    use base64::Engine as _;
    let Ok(bytes) = base64::engine::general_purpose::STANDARD_NO_PAD.decode(value.trim_end_matches('='))
    else {
        return false;
    };
    String::from_utf8(bytes)
        .is_ok_and(|pair| pair.contains(':') && pair.len() >= 4 && !pair.contains(char::is_control))
}

/// Returns whether a value stands for another: a variable, a template, a mask, a word from a manual.
pub(crate) fn placeholder(value: &str) -> bool {
    const REFERENCES: [&str; 10] =
        ["${", "$(", "{{", "<", "%(", "#{", "process.env", "os.environ", "getenv", "[["];
    const WORDS: [&str; 17] = [
        "xxxx", "****", "....", "####", "your", "example", "placeholder", "changeme", "redacted", "dummy",
        "password", "insert", "replace", "sample", "todo", "my-", "1234567890abcdef",
    ];
    let lower = value.to_ascii_lowercase();
    value.starts_with(['$', '%', '{', '[', '@', '&', '<'])
        || REFERENCES.iter().any(|reference| lower.contains(reference))
        || WORDS.iter().any(|word| lower.contains(word))
}

/// Returns whether a private key block holds key material rather than an ellipsis or a word.
pub(crate) fn key_block(block: &str) -> bool {
    let body = block.split("-----").nth(2).unwrap_or(block);
    body.bytes().filter(|b| b.is_ascii_alphanumeric()).count() >= 40 && entropy(body) >= 3.5
}

/// Returns whether the word after "you are now" names a part to play rather than the state of a service.
pub(crate) fn assumed_part(word: &str) -> bool {
    const STATES: [&str; 24] = [
        "able", "ready", "connected", "subscribed", "unsubscribed", "logged", "signed", "leaving",
        "registered", "being", "eligible", "following", "receiving", "using", "viewing", "enrolled",
        "invited", "verified", "done", "set", "up", "online", "offline", "on",
    ];
    !STATES.contains(&word)
}

/// Returns whether an email address could be somebody's, which reserved names are not (RFC 2606).
pub(crate) fn address(text: &str) -> bool {
    let Some((local, host)) = text.rsplit_once('@') else { return false };
    !local.ends_with('.')
        && !host.ends_with("example.com")
        && !host.ends_with("example.org")
        && !host.ends_with(".invalid")
}

/// Returns whether digits could be a telephone number: 9 to 15 of them and not all alike.
pub(crate) fn telephone(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    (9..=15).contains(&digits) && distinct(text) >= 5
}

/// Returns whether a social security number is in a range that is given out.
pub(crate) fn social_security(text: &str) -> bool {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let (Some(area), Some(group), Some(serial)) = (digits.get(..3), digits.get(3..5), digits.get(5..9))
    else {
        return false;
    };
    !matches!(area, "000" | "666")
        && !area.starts_with('9')
        && group != "00"
        && serial != "0000"
        && digits != "123456789"
}

/// The Luhn checksum of payment cards.
pub(crate) fn luhn(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).collect();
    let sum: u32 = digits.iter().rev().enumerate().map(|(place, digit)| doubled(place, *digit)).sum();
    (13..=19).contains(&digits.len()) && sum.is_multiple_of(10) && distinct(text) >= 4
}

fn doubled(place: usize, digit: u32) -> u32 {
    match (place % 2, digit) {
        (0, digit) => digit,
        (_, digit) if digit >= 5 => digit * 2 - 9,
        (_, digit) => digit * 2,
    }
}

/// The checksum of international bank account numbers (ISO 13616: modulo 97 is 1).
pub(crate) fn iban(text: &str) -> bool {
    let plain: String = text.chars().filter(char::is_ascii_alphanumeric).collect();
    let (Some(head), Some(tail)) = (plain.get(..4), plain.get(4..)) else { return false };
    let rest = tail.chars().chain(head.chars()).filter_map(|c| c.to_digit(36)).fold(0_u32, |rest, digit| {
        let wide = if digit > 9 { 100 } else { 10 };
        (rest * wide + digit) % 97
    });
    (15..=34).contains(&plain.len()) && rest == 1
}

fn distinct(text: &str) -> usize {
    text.bytes().collect::<BTreeSet<u8>>().len()
}

/// How often the text goes from letter to digit or back, separators left out.
fn changes(text: &str) -> usize {
    let kinds: Vec<bool> =
        text.bytes().filter(u8::is_ascii_alphanumeric).map(|b| b.is_ascii_digit()).collect();
    kinds.iter().zip(kinds.iter().skip(1)).filter(|(a, b)| a != b).count()
}

fn case_changes(text: &str) -> usize {
    let kinds: Vec<bool> =
        text.bytes().filter(u8::is_ascii_alphabetic).map(|b| b.is_ascii_uppercase()).collect();
    kinds.iter().zip(kinds.iter().skip(1)).filter(|(a, b)| a != b).count()
}

fn version(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'v' | b'^' | b'~' | b'=' | b'>' | b'<'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_accept_published_test_numbers_and_no_neighbour() {
        assert!(luhn("4539 5787 6362 1486"));
        assert!(!luhn("4539 5787 6362 1487"));
        assert!(iban("GB82 WEST 1234 5698 7654 32"));
        assert!(!iban("GB83 WEST 1234 5698 7654 32"));
        assert!(
            social_security("219-09-9999")
                && !social_security("000-12-3456")
                && !social_security("666-12-3456")
        );
    }

    #[test]
    fn generated_values_are_told_from_words_references_and_masks() {
        for value in
            ["r3r5x27qv6cdk74be79zipklt34lm9b3", "2216430562786851", "be7e12a9-6b83-c54e-e6be-d26e869d9692"]
        {
            assert!(generated(value), "{value}");
        }
        for value in [
            "process.env.API_KEY",
            "access_token_2",
            "xxxxxxxxxxxxxxxxxxxx",
            "${API_TOKEN_1}",
            "getToken2",
            "v1.2.3",
        ] {
            assert!(!generated(value), "{value}");
        }
    }

    #[test]
    fn a_word_over_and_over_is_a_filler_and_a_generated_value_is_none() {
        assert!(filler("EXAMPLEEXAMPLEEXAMPLEEXAMPLE") && filler("12312312312312312312312"));
        assert!(!filler("EXAMPLEEXAMPLE") && !filler("k3Xv9Qm2Zp7Lw5Rt8Jn1By4GdHcF6sE0aUoI"));
    }

    #[test]
    fn a_name_of_a_secret_is_told_from_one_that_only_has_the_word_in_it() {
        for name in ["API_TOKEN=x", "clientSecret: 'x'", "\"aws_access_key_id\": x", "db.password = x"] {
            assert!(names_a_secret(name), "{name}");
        }
        for name in ["publicToken = x", "credentialsId: 'x'", "csrf-token=x", "tokenizer: x", "CACHE_KEY=x"] {
            assert!(!names_a_secret(name), "{name}");
        }
    }

    #[test]
    fn a_path_to_a_value_is_no_value() {
        assert!(path("var.db_password1") && path("data.aws_secret.db1.value"));
        assert!(!path("var1able.9") && !path("kq9.zR2mLw"));
    }

    #[test]
    fn entropy_of_nothing_is_zero_and_of_distinct_bytes_is_their_logarithm() {
        assert!(entropy("").abs() < f32::EPSILON);
        assert!((entropy("abcdefgh") - 3.0).abs() < 0.001);
    }
}
