//! White space that may stand between the characters of a secret: as it is, as JSON escapes it, percent-encoded, and the
//! wider blanks of Unicode. Pure.

/// Bytes of white space within one secret, at most. More of it hides the secret, and so much is held back while it may
/// still be one.
pub(crate) const BLANKS: usize = 4096;

/// Backslashes of one escape, at most: four layers of JSON have 15.
const BACKSLASHES: usize = 16;
/// The wider blanks of Unicode in UTF-8: no-break spaces, the spaces of U+2000 to U+200B, line and paragraph separators, and
/// the byte order mark.
const WIDE: &[&[u8]] = &[
    b"\xc2\xa0", b"\xe2\x80\x80", b"\xe2\x80\x81", b"\xe2\x80\x82", b"\xe2\x80\x83", b"\xe2\x80\x84",
    b"\xe2\x80\x85", b"\xe2\x80\x86", b"\xe2\x80\x87", b"\xe2\x80\x88", b"\xe2\x80\x89", b"\xe2\x80\x8a",
    b"\xe2\x80\x8b", b"\xe2\x80\xa8", b"\xe2\x80\xa9", b"\xe2\x80\xaf", b"\xe3\x80\x80", b"\xef\xbb\xbf",
];
/// Percent-encoded ones, in lower case.
const PERCENT: &[&[u8]] = &[b"%09", b"%0a", b"%0d", b"%20"];

/// The white space at the beginning of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blank {
    /// There is none.
    None,
    /// One blank of so many bytes.
    Bytes(usize),
    /// The bytes end where there may be one.
    Cut,
}

/// Returns true for a byte that is a blank by itself, wherever it stands.
pub(crate) const fn is_plain(byte: u8) -> bool {
    matches!(byte, b' ' | 0x09..=0x0d)
}

/// Returns true for a byte that may begin a blank of several bytes, and may be a character of a secret as well.
pub(crate) const fn may_begin_wide(byte: u8) -> bool {
    matches!(byte, b'\\' | b'%' | 0xc2 | 0xe2 | 0xe3 | 0xef)
}

/// The blank that `rest` begins with.
pub(crate) fn blank(rest: &[u8]) -> Blank {
    match rest.first() {
        Some(byte) if is_plain(*byte) => Blank::Bytes(1),
        Some(b'\\') => escaped(rest),
        Some(b'%') => one_of(PERCENT, rest),
        Some(byte) if may_begin_wide(*byte) => one_of(WIDE, rest),
        _ => Blank::None,
    }
}

/// `\n`, `\r` or `\t` behind more backslashes: text that was escaped once for each layer of JSON.
fn escaped(rest: &[u8]) -> Blank {
    let run = rest.iter().take(BACKSLASHES).take_while(|byte| **byte == b'\\').count();
    match rest.get(run) {
        Some(b'n' | b'r' | b't') => Blank::Bytes(run + 1),
        None if run < BACKSLASHES => Blank::Cut,
        _ => Blank::None,
    }
}

fn one_of(blanks: &[&[u8]], rest: &[u8]) -> Blank {
    let starts = |text: &[u8], start: &[u8]| {
        text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
    };
    if let Some(found) = blanks.iter().find(|blank| starts(rest, blank)) {
        return Blank::Bytes(found.len());
    }
    if blanks.iter().any(|blank| starts(blank, rest)) { Blank::Cut } else { Blank::None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_are_known_in_every_form_and_cut_ones_wait_for_more() {
        for (text, want) in [
            (&b" x"[..], Blank::Bytes(1)),
            (b"\n", Blank::Bytes(1)),
            (b"\x0bx", Blank::Bytes(1)),
            (b"\\nx", Blank::Bytes(2)),
            (b"\\\\\\tx", Blank::Bytes(4)),
            (b"\\x", Blank::None),
            (b"\\", Blank::Cut),
            (b"%0Ax", Blank::Bytes(3)),
            (b"%2", Blank::Cut),
            (b"%2f", Blank::None),
            ("\u{a0}x".as_bytes(), Blank::Bytes(2)),
            ("\u{200b}".as_bytes(), Blank::Bytes(3)),
            (b"\xe2\x80", Blank::Cut),
            ("\u{2014}".as_bytes(), Blank::None),
            (b"x ", Blank::None),
            (b"", Blank::None),
        ] {
            assert_eq!(blank(text), want, "{text:?}");
        }
        assert_eq!(blank(&[b'\\'; BACKSLASHES]), Blank::None);
    }
}
