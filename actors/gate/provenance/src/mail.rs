//! E-mail addresses. Capitals, a `mailto:` and a display name say nothing of where a mail goes; a tag behind a plus, a
//! dot or a lookalike letter may, so they stand. A list is vouched for address by address.

use crate::text::folded;

/// Bytes of an address at most, as mail itself bounds it.
const BOUND: usize = 320;

/// The addresses a value consists of, or nothing if it holds anything else.
pub(crate) fn addresses(value: &str) -> Option<Vec<String>> {
    let parts = value.split([',', ';']).map(str::trim).filter(|part| !part.is_empty());
    let found: Option<Vec<String>> = parts.map(one).collect();
    found.filter(|found| !found.is_empty())
}

fn one(part: &str) -> Option<String> {
    let bare = match part.split_once('<') {
        Some((name, rest)) if !name.contains(['@', ':', '>']) => rest.strip_suffix('>')?,
        Some(_) => return None,
        None => part,
    };
    let bare = folded(bare);
    let bare = bare.strip_prefix("mailto:").unwrap_or(&bare);
    is_address(bare).then(|| bare.to_owned())
}

fn is_address(text: &str) -> bool {
    let Some((user, host)) = text.split_once('@') else { return false };
    let dots = |part: &str| !part.starts_with('.') && !part.ends_with('.') && !part.contains("..");
    text.len() <= BOUND
        && !user.is_empty()
        && host.contains('.')
        && user
            .chars()
            .all(|char| char.is_alphanumeric() || matches!(char, '.' | '_' | '+' | '-' | '\'' | '&'))
        && host.chars().all(|char| char.is_alphanumeric() || matches!(char, '.' | '-'))
        && dots(user)
        && dots(host)
}

/// Every address that stands in a text.
pub(crate) fn in_text(text: &str) -> Vec<String> {
    text.split(|char: char| {
        char.is_whitespace()
            || matches!(char, '"' | '`' | '<' | '>' | '(' | ')' | '[' | ']' | ',' | ';' | '|')
    })
    .filter(|token| token.contains('@'))
    .map(|token| token.trim_matches(['\'', '*', '_', '.', ':', '!', '?']))
    .map(|token| token.strip_suffix("'s").unwrap_or(token))
    .filter_map(one)
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capitals_a_scheme_and_a_display_name_say_nothing() {
        for value in [
            "a.b@c.example",
            "A.B@C.Example",
            "mailto:a.b@c.example",
            "Alice B <a.b@c.example>",
            "a.b@c.example; ",
        ] {
            assert_eq!(addresses(value), Some(vec!["a.b@c.example".to_owned()]), "{value}");
        }
        assert_eq!(
            in_text("to <a@b.example>, 'c@d.example' or e@f.example."),
            ["a@b.example", "c@d.example", "e@f.example"]
        );
    }

    #[test]
    fn what_is_no_address_is_not_read_as_one() {
        for value in [
            "",
            "alice",
            "a@b",
            "a@b@c.example",
            "x@y.example <a@b.example>",
            "a b@c.example",
            "a@b.example?cc=x@y.example",
            "a@b..example",
        ] {
            assert_eq!(addresses(value), None, "{value}");
        }
    }
}
