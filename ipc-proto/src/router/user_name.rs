//! The names that a user may have. ASCII alone, since letters of other scripts look like it, and not digits alone, since
//! those read as a uid.

/// The valid names, for people.
pub const USER_NAME: &str =
    "1 to 64 ASCII letters, digits, `-`, `_`, `.` and `@`, a letter or digit first, and not digits alone";

/// Returns true if a user may have this name.
#[must_use]
pub fn is_user_name(name: &str) -> bool {
    let valid = |c: u8| c.is_ascii_alphanumeric() || b"-_.@".contains(&c);
    let first = name.bytes().next().is_some_and(|c| c.is_ascii_alphanumeric());
    first && name.len() <= 64 && name.bytes().all(valid) && !name.bytes().all(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds P3-45.
    #[test]
    fn a_name_that_reads_as_another_or_as_a_uid_is_no_users() {
        for name in ["ann", "7of9", "1000a", "a.b@example.com", "x-1_2", &"a".repeat(64)] {
            assert!(is_user_name(name), "{name}");
        }
        let full_width = "\u{ff41}\u{ff4e}\u{ff4e}";
        for name in [
            "",
            "1000",
            "0",
            "\u{ff11}\u{ff12}",
            full_width,
            "\u{430}nn",
            "josé",
            "a b",
            "-a",
            ".",
            "@",
            &"a".repeat(65),
        ] {
            assert!(!is_user_name(name), "{name}");
        }
    }
}
