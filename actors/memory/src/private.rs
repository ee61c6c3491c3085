//! Drops what its writer marked `<private>`. Pure text; it must never keep a part whose end is in doubt: a tag that
//! is not closed is private to the end, and a tag within a tag is closed on its own.

const NAME: &str = "private";

/// The text without its private parts. Where dropping one would glue two words together a space is put.
pub(crate) fn dropped(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, inside)) = to_opening(rest) {
        append(&mut kept, before);
        rest = after_closing(inside);
    }
    append(&mut kept, rest);
    kept
}

/// The space also keeps two halves of a tag, cut apart by a private part between them, from becoming one.
fn append(kept: &mut String, piece: &str) {
    let glues =
        kept.ends_with(|c: char| !c.is_whitespace()) && piece.starts_with(|c: char| !c.is_whitespace());
    if glues {
        kept.push(' ');
    }
    kept.push_str(piece);
}

/// What stands before the first opening tag, and what follows the tag's name.
fn to_opening(text: &str) -> Option<(&str, &str)> {
    text.match_indices('<').find_map(|(at, _)| {
        let (before, tag) = text.split_at_checked(at)?;
        Some((before, opened(tag)?))
    })
}

/// What follows after as many closing tags as were opened; nothing if one of them is missing.
fn after_closing(inside: &str) -> &str {
    let mut open = 1_usize;
    for (at, _) in inside.match_indices('<') {
        let tag = inside.get(at..).unwrap_or_default();
        if opened(tag).is_some() {
            open += 1;
        } else if let Some(after) = closed(tag) {
            open -= 1;
            if open == 0 {
                return after;
            }
        }
    }
    ""
}

/// What follows `<private`, if `tag` begins so and the name ends there. Attributes, and a `>` that is missing, make
/// no difference: both are read as private.
fn opened(tag: &str) -> Option<&str> {
    let after = named(tag.strip_prefix('<')?)?;
    let longer = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '.');
    (!after.starts_with(longer)).then_some(after)
}

/// What follows `</private>`, if `tag` begins so.
fn closed(tag: &str) -> Option<&str> {
    named(tag.strip_prefix("</")?)?.trim_start().strip_prefix('>')
}

fn named(text: &str) -> Option<&str> {
    let (name, after) = text.split_at_checked(NAME.len())?;
    name.eq_ignore_ascii_case(NAME).then_some(after)
}

#[cfg(test)]
mod tests {
    use super::dropped;
    use proptest::prelude::*;

    #[test]
    fn private_parts_are_dropped_to_their_end() {
        let cases = [
            ("plain", "plain"),
            ("", ""),
            ("a <private>b</private> c", "a  c"),
            ("a<private>b</private>c", "a c"),
            ("a <PRIVATE>b</Private> c", "a  c"),
            ("a <private>b\nb\nb</private >c", "a c"),
            ("a <private>b", "a "),
            ("a <private>b</privat", "a "),
            ("a <private reason='x'>b</private>", "a "),
            ("a <private", "a "),
            ("a <private>b <private>c</private> d</private> e", "a  e"),
            ("a <private>b <private>c</private> d", "a "),
            ("<private>a</private><private>b</private>c", "c"),
            ("a <privateer>b</privateer>", "a <privateer>b</privateer>"),
            ("a < private > b", "a < private > b"),
            ("a </private> b", "a </private> b"),
            ("<pri<private></private>vate>b", "<pri vate>b"),
            ("<private<private></private>>b", ""),
        ];
        for (text, left) in cases {
            assert_eq!(dropped(text), left, "{text}");
        }
    }

    proptest! {
        #[test]
        fn nothing_private_is_left_by_one_pass(pieces in prop::collection::vec(
            prop::sample::select(vec!["<private>", "</private>", "<PRIVATE x>", "<pri", "vate", ">", "<", "/", " ", "a", "é"]),
            0..24,
        )) {
            let once = dropped(&pieces.concat());
            prop_assert_eq!(dropped(&once), once);
        }

        #[test]
        fn what_is_inside_never_comes_out(before in "[a-y ]{0,8}", inside in "[zé<>/ ]{1,8}", after in "[a-y ]{0,8}") {
            let closed = dropped(&format!("{before}<private>{inside}</private>{after}"));
            prop_assert!(!closed.contains('z'));
            let open = dropped(&format!("{before}<private>{inside}"));
            prop_assert_eq!(open, before);
        }
    }
}
