//! Drops the parts that their writer marked `<private>`, and other parts that stand between tags. Pure text; it must
//! never keep a part whose end is in doubt: a tag that is not closed is one to the end, and a tag within a tag is
//! closed on its own.

const PRIVATE: &str = "private";
/// Characters of a closing tag.
const MOST_OF_TAG: usize = 128;

/// The text without its private parts. Where dropping one would glue two words together a space is put.
pub(crate) fn dropped(text: &str) -> String {
    without(text, PRIVATE)
}

/// The text without the parts in tags of this name, likewise.
pub(crate) fn without(text: &str, name: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, inside)) = to_opening(rest, name) {
        append(&mut kept, before);
        rest = after_closing(inside, name);
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

/// The text before the first opening tag, and the text after the tag's name.
fn to_opening<'a>(text: &'a str, name: &str) -> Option<(&'a str, &'a str)> {
    text.match_indices('<').find_map(|(at, _)| {
        let (before, tag) = text.split_at_checked(at)?;
        Some((before, opened(tag, name)?))
    })
}

/// The text after as many closing tags as were opened; nothing if one of them is missing.
fn after_closing<'a>(inside: &'a str, name: &str) -> &'a str {
    let mut open = 1_usize;
    for (at, _) in inside.match_indices('<') {
        let tag = inside.get(at..).unwrap_or_default();
        if opened(tag, name).is_some() {
            open += 1;
        } else if let Some(after) = closed(tag, name) {
            open -= 1;
            if open == 0 {
                return after;
            }
        }
    }
    ""
}

/// The text after `<NAME`, if `tag` begins so and the name ends there. Attributes, and a `>` that is missing, make no
/// difference: both are read as an opening.
fn opened<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let after = named(tag.strip_prefix('<')?, name)?;
    (!after.starts_with(longer)).then_some(after)
}

/// The text after `</NAME>`, if `tag` begins so. Attributes may stand in the closing tag of a block, as they do in
/// those of this host; a private part ends only at its writer's own closing tag.
fn closed<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let after = named(tag.strip_prefix("</")?, name)?;
    let (at, end) = after.char_indices().take(MOST_OF_TAG).find(|(_, c)| matches!(c, '<' | '>'))?;
    let (attributes, after) = after.split_at_checked(at)?;
    let fits = attributes.trim().is_empty()
        || (name != PRIVATE && attributes.starts_with(|c: char| c.is_whitespace()));
    after.strip_prefix('>').filter(|_| fits && end == '>')
}

/// Returns whether a name goes on with this character.
fn longer(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '.')
}

fn named<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (begins, after) = text.split_at_checked(name.len())?;
    begins.eq_ignore_ascii_case(name).then_some(after)
}

#[cfg(test)]
mod tests {
    use super::{dropped, without};
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

    #[test]
    fn parts_in_other_tags_end_at_a_closing_tag_with_attributes() {
        let text = "a <memory-context id=\"1\">\nb </memory-context id=\"1\"> c";
        assert_eq!(without(text, "memory-context"), "a  c");
        assert_eq!(without("a <memory-contexts>b</memory-contexts>", "memory-context").len(), 38);
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
