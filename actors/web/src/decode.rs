//! From bytes to text: which media types are text, in which character encoding, and no control characters. Pure, and
//! linear in what comes.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// Bytes at the beginning of a document in which it may name its own encoding.
const PRESCAN: usize = 1024;

/// The type of a body, as its server states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MediaType {
    /// Type and subtype in lower case; empty where the server says nothing that is one.
    pub(crate) essence: String,
    charset: Option<String>,
}

impl MediaType {
    /// From a `Content-Type` header.
    pub(crate) fn parse(header: &str) -> Self {
        let mut parts = header.split(';').map(str::trim);
        let essence = parts.next().unwrap_or_default().to_ascii_lowercase();
        let token = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_graphic());
        let valid = essence
            .split_once('/')
            .is_some_and(|(kind, sub)| token(kind) && token(sub) && !sub.contains('/'));
        let charset = parts.find_map(|part| {
            let (name, value) = part.split_once('=')?;
            name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"').to_owned())
        });
        Self { essence: if valid { essence } else { String::new() }, charset }
    }

    /// Returns whether it is HTML.
    pub(crate) fn is_html(&self) -> bool {
        matches!(self.essence.as_str(), "text/html" | "application/xhtml+xml")
    }

    /// Returns whether it says that it is text.
    fn is_text(&self) -> bool {
        let named = [
            "application/ecmascript",
            "application/javascript",
            "application/json",
            "application/ld+json",
            "application/toml",
            "application/x-ndjson",
            "application/x-www-form-urlencoded",
            "application/x-yaml",
            "application/xml",
            "application/yaml",
            "image/svg+xml",
        ];
        let essence = self.essence.as_str();
        essence.starts_with("text/")
            || named.contains(&essence)
            || essence.ends_with("+json")
            || essence.ends_with("+xml")
    }
}

/// The text of a body; none where it is none, whatever it is called.
pub(crate) fn text(kind: &MediaType, bytes: &[u8]) -> Option<String> {
    let head = bytes.get(..PRESCAN).unwrap_or(bytes);
    let encoding = named(kind, bytes, head);
    let wide = encoding.is_some_and(|encoding| !encoding.is_ascii_compatible());
    let binary = head.contains(&0) && !wide;
    let unnamed = matches!(kind.essence.as_str(), "" | "application/octet-stream");
    let valid = || is_utf8(bytes) || encoding.is_some();
    if binary || !(kind.is_text() || unnamed && valid()) {
        return None;
    }
    let fallback = if is_utf8(bytes) { UTF_8 } else { WINDOWS_1252 };
    // A mark at the beginning says more than any header, and goes.
    let (text, _, _) = encoding.unwrap_or(fallback).decode(bytes);
    Some(plain(&text))
}

/// The encoding that a byte order mark, the header or the document itself names, in this order.
fn named(kind: &MediaType, bytes: &[u8], head: &[u8]) -> Option<&'static Encoding> {
    let marked = Encoding::for_bom(bytes).map(|(encoding, _)| encoding);
    let said = || kind.charset.as_ref().and_then(|label| Encoding::for_label(label.as_bytes()));
    let inside = || {
        let own = kind.is_html() || kind.essence.ends_with("xml");
        // A document whose label could be read is no UTF-16.
        own.then(|| prescan(head))
            .flatten()
            .map(|found| if found.is_ascii_compatible() { found } else { UTF_8 })
    };
    marked.or_else(said).or_else(inside)
}

/// `charset=LABEL` or `encoding="LABEL"` near the beginning.
fn prescan(head: &[u8]) -> Option<&'static Encoding> {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let (_, after) = head.split_once("charset=").or_else(|| head.split_once("encoding="))?;
    let after = after.trim_start_matches(['"', '\'', ' ']);
    let end = after.find(|char: char| !(char.is_ascii_alphanumeric() || "-_:.".contains(char)))?;
    Encoding::for_label(after.get(..end)?.as_bytes())
}

/// A character that was cut in two at the end is no proof against UTF-8.
fn is_utf8(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).map_or_else(|error| error.error_len().is_none(), |_| true)
}

/// Without control characters, line ends apart: nothing that moves a cursor or colours a terminal.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\r' if chars.peek() == Some(&'\n') => {}
            '\r' => out.push('\n'),
            '\n' | '\t' => out.push(char),
            _ if char.is_control() => {}
            _ => out.push(char),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decoded(header: &str, bytes: &[u8]) -> Option<String> {
        text(&MediaType::parse(header), bytes)
    }

    #[test]
    fn text_is_decoded_by_mark_header_document_or_guess_in_this_order() {
        let cases: [(&str, &[u8], &str); 12] = [
            ("text/plain", b"plain", "plain"),
            ("text/plain; charset=utf-8", "\u{fc}".as_bytes(), "\u{fc}"),
            ("text/plain; charset=\"ISO-8859-1\"", b"\xfc", "\u{fc}"),
            ("text/plain;CHARSET=Shift_JIS", b"\x93\xfa\x96\x7b", "\u{65e5}\u{672c}"),
            ("text/plain", b"\xfc", "\u{fc}"),
            ("text/plain; charset=iso-8859-1", b"\xef\xbb\xbf\xc3\xbc", "\u{fc}"),
            ("text/plain", b"\xff\xfea\0b\0", "ab"),
            ("text/html", b"<meta charset=koi8-r>\xcb", "<meta charset=koi8-r>\u{43a}"),
            ("text/html", b"<meta charset='utf-16le'>x", "<meta charset='utf-16le'>x"),
            (
                "application/xml",
                b"<?xml encoding=\"iso-8859-1\"?>\xfc",
                "<?xml encoding=\"iso-8859-1\"?>\u{fc}",
            ),
            ("application/vnd.api+json", b"{}", "{}"),
            ("", b"no type", "no type"),
        ];
        for (header, bytes, want) in cases {
            assert_eq!(decoded(header, bytes).as_deref(), Some(want), "{header} {bytes:?}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_none_whatever_they_are_called() {
        let cases: [(&str, &[u8]); 6] = [
            ("image/png", b"\x89PNG"),
            ("application/pdf", b"%PDF-1.7"),
            ("text/plain", b"MZ\0\0\0"),
            ("application/octet-stream", b"\x80\xff\x00"),
            ("", b"\x89PNG\r\n\x1a\n"),
            ("video/mp4; charset=utf-8", b"text"),
        ];
        for (header, bytes) in cases {
            assert_eq!(decoded(header, bytes), None, "{header}");
        }
    }

    #[test]
    fn control_characters_go_and_line_ends_stay() {
        let bytes = b"a\x1b[31mb\x07\r\nc\rd\te\x7f\xc2\x9b";
        assert_eq!(decoded("text/plain", bytes).unwrap(), "a[31mb\nc\nd\te");
    }

    proptest! {
        #[test]
        fn any_bytes_of_any_type_decode_to_text_without_control_characters(
            header in "(text/(plain|html|xml)|application/json|)(; ?charset=[a-z0-9_-]{0,12})?",
            bytes: Vec<u8>,
        ) {
            let text = decoded(&header, &bytes).unwrap_or_default();
            prop_assert!(!text.chars().any(|char| char.is_control() && !"\n\t".contains(char)));
        }

        #[test]
        fn a_media_type_is_a_type_and_a_subtype_or_nothing(header in "\\PC{0,40}") {
            let essence = MediaType::parse(&header).essence;
            prop_assert!(essence.is_empty() || essence.matches('/').count() == 1);
            prop_assert!(essence.bytes().all(|byte| byte.is_ascii_graphic()));
        }
    }
}
