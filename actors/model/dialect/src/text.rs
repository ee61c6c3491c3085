//! Text in parts. Pure.

/// Bytes of one piece at most. 64 of them fit the frame of `next` with room to spare.
pub const PIECE: usize = 8 * 1024;

/// The text in parts of at most `most` bytes, cut between characters.
pub fn chunks(text: &str, most: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        // A bound below the first character's own length would never end.
        let end = rest.floor_char_boundary(most).max(first.len_utf8());
        let (part, after) = rest.split_at_checked(end)?;
        rest = after;
        Some(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pieces_are_small_and_together_the_whole(text in "\\PC{0,300}", most in 0usize..70) {
            let parts: Vec<&str> = chunks(&text, most).collect();
            prop_assert_eq!(parts.concat(), text.as_str());
            prop_assert!(parts.iter().all(|part| part.len() <= most.max(4) && !part.is_empty()));
        }
    }
}
