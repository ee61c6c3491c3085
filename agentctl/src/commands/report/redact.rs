//! Redaction of texts before they leave the machine. A text that cannot be parsed is removed.

use std::fmt::Write;

/// The keys of a TOML configuration, each with the length of its value. Quoted parts of a heading are names that a person
/// gave, and are removed. A line that is neither a heading nor a key is the rest of a value, and is removed as well.
pub(super) fn keys(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        // Writing into a string cannot fail.
        let _ = match (line.starts_with('['), line.split_once('=')) {
            (true, _) => writeln!(out, "{}", heading(line)),
            (false, Some((key, value))) if is_plain(key.trim()) => {
                writeln!(out, "{} = ({} bytes)", key.trim(), value.trim().len())
            }
            (false, _) => writeln!(out, "({} bytes)", line.len()),
        };
    }
    out
}

/// A bare key, and the dots between several.
fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
}

/// The first part of a heading, which is Cordon's own name; later parts may be names that a person gave.
fn heading(line: &str) -> String {
    let inner = line.trim_start_matches('[').split(']').next().unwrap_or_default();
    let mut parts = inner.split('.');
    let first = parts.next().map(str::trim).filter(|first| is_plain(first)).unwrap_or("?");
    let rest = if parts.next().is_some() { ".…" } else { "" };
    format!("[{first}{rest}]")
}

/// Replaces the caller's home directory by `~`: a path there names a person.
pub(super) fn home(text: &str) -> String {
    let home = std::env::var("HOME").unwrap_or_default();
    let home = home.trim_end_matches('/');
    if home.len() > 1 { text.replace(home, "~") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds P2-28.
    #[test]
    fn no_value_name_or_comment_of_a_configuration_is_left() {
        let text = "# the key is sk-0123\nversion = 1\n[provider.zoe-and-kim]\nbase_url = \"https://zoe.example\"\n\
            [provider.\"z.k\".models.\"secret-model\"]\ncontext = 5\nhosts = [\n  \"zoe.example\",\n]\n\
            [[user]]\nname = \"zoe\"\n\"zoe quoted\" = 1\n[broken zoe\n";
        let redacted = keys(text);
        for gone in ["zoe", "sk-0123", "secret-model", "example", "kim"] {
            assert!(!redacted.contains(gone), "{gone}: {redacted}");
        }
        for stays in
            ["version = (1 bytes)", "[provider.…]", "base_url = (21 bytes)", "[user]", "name = (5 bytes)"]
        {
            assert!(redacted.contains(stays), "{stays}: {redacted}");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_stands_behind_an_equals_sign_never_comes_out(value in "[a-z]{12,40}", key in "[a-z_]{1,9}") {
            let written = keys(&format!("[{key}.{value}]\n{key} = \"{value}\"\n{value}x{value}\n"));
            proptest::prop_assert!(!written.contains(&value));
        }

        #[test]
        fn any_text_is_redacted_without_panic(text: String) {
            let _ = (keys(&text), home(&text));
        }
    }
}
