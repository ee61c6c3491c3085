//! The parts of a message: its text, and what is attached, which is named, and decoded once it is wanted. Depth, number of parts and
//! every header are bounded before the parser sees them, and of all the rest only text is decoded, up to its bound.

use super::header::parted;
use mail_parser::decoders::base64::base64_decode;
use mail_parser::decoders::charsets::map::charset_decoder;
use mail_parser::decoders::html::html_to_text;
use mail_parser::decoders::quoted_printable::quoted_printable_decode;
use mail_parser::{ContentType, Message, MessageParser, MimeHeaders};

/// Multiparts in multiparts, at most.
const DEPTH: usize = 8;
/// Parts of a message that are looked at.
const PARTS: usize = 128;
/// Bytes of the header of a part, at most.
const PART_HEADER: usize = 16 * 1024;
/// Bytes of an encoded text that are decoded.
const ENCODED: usize = 512 * 1024;
/// Files that are named.
const FILES: usize = 8;

/// A text of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Text {
    /// The text.
    pub(crate) text: String,
    /// True if it was HTML.
    pub(crate) html: bool,
}

/// A file of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct File {
    /// Its name as the sender wrote it.
    pub(crate) name: Option<String>,
    /// Its type as the sender wrote it.
    pub(crate) kind: String,
    /// Its size in bytes, about.
    pub(crate) size: u64,
}

/// The parts of a message.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    /// Its texts, in order.
    pub(crate) texts: Vec<Text>,
    /// Its files, as many as are named.
    pub(crate) files: Vec<File>,
    /// Parts that were looked at.
    seen: usize,
    /// The number of the file that is decoded.
    wanted: Option<usize>,
    /// Its bytes.
    bytes: Option<Vec<u8>>,
}

/// The parts of a whole message.
pub(crate) fn parts(message: &[u8]) -> Parts {
    let mut parts = Parts::default();
    if let Some((header, body)) = parted(message) {
        entity((header, body), 0, &mut parts);
    }
    parts
}

/// The bytes of a file of a whole message, by its place among [`Parts::files`]; none if there is none, or it cannot be decoded.
pub(crate) fn file(message: &[u8], number: usize) -> Option<Vec<u8>> {
    let mut parts = Parts { wanted: Some(number), ..Parts::default() };
    entity(parted(message)?, 0, &mut parts);
    parts.bytes
}

/// The header as the parser reads it, with encoded words decoded.
pub(crate) fn decoded(header: &[u8]) -> Option<Message<'_>> {
    MessageParser::default().parse_headers(header)
}

fn entity((header, body): (&[u8], &[u8]), depth: usize, parts: &mut Parts) {
    parts.seen += 1;
    if parts.seen > PARTS {
        return;
    }
    let message = decoded(header);
    let content_type = message.as_ref().and_then(|message| message.content_type());
    let boundary = content_type.filter(|kind| kind.ctype().eq_ignore_ascii_case("multipart"));
    match boundary.and_then(|kind| Some((kind.attribute("boundary")?, kind))) {
        Some((boundary, kind)) if depth < DEPTH && !boundary.is_empty() => {
            let alternative = kind.subtype().is_some_and(|kind| kind.eq_ignore_ascii_case("alternative"));
            multipart(body, boundary, (depth, alternative), parts);
        }
        _ => leaf(message.as_ref(), body, parts),
    }
}

/// The entities between the boundaries. Of alternatives the plain text is taken, if there is one.
fn multipart(body: &[u8], boundary: &str, (depth, alternative): (usize, bool), parts: &mut Parts) {
    let before = parts.texts.len();
    for inner in between(body, boundary.as_bytes()).take(PARTS) {
        let whole = parted(inner).filter(|(header, _)| header.len() <= PART_HEADER);
        if let Some(whole) = whole {
            entity(whole, depth + 1, parts);
        }
    }
    if alternative && parts.texts.iter().skip(before).any(|text| !text.html) {
        let mut at = 0;
        parts.texts.retain(|text| {
            at += 1;
            at <= before || !text.html
        });
    }
}

/// The entities between the lines of a boundary.
fn between<'a>(body: &'a [u8], boundary: &[u8]) -> impl Iterator<Item = &'a [u8]> {
    let delimiter = [b"--", boundary].concat();
    let mut rest = after_line(body, &delimiter).map(|(_, rest)| rest);
    std::iter::from_fn(move || {
        let from = rest.take()?;
        let Some((inner, next)) = after_line(from, &delimiter) else {
            // The last one was never closed: the message may have been cut off.
            return (!from.is_empty()).then_some(from);
        };
        rest = next.strip_prefix(b"--").is_none().then_some(next);
        Some(inner)
    })
}

/// The bytes before the next line that begins with the delimiter, and those behind it: the rest of its line is left out, but for
/// the mark of the end.
fn after_line<'a>(body: &'a [u8], delimiter: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let mut at = 0;
    loop {
        let found = at + memchr::memmem::find(body.get(at..)?, delimiter)?;
        let begins = found == 0 || body.get(found - 1) == Some(&b'\n');
        at = found + delimiter.len();
        let rest = body.get(at..)?;
        let length = memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
        let line = rest.get(..length)?;
        if begins && (line.trim_ascii().is_empty() || line.starts_with(b"--")) {
            let before = body.get(..found)?;
            let before = before.strip_suffix(b"\n").unwrap_or(before);
            let behind = if line.starts_with(b"--") { rest } else { rest.get(length..)? };
            return Some((before.strip_suffix(b"\r").unwrap_or(before), behind));
        }
    }
}

fn leaf(message: Option<&Message<'_>>, body: &[u8], parts: &mut Parts) {
    let kind = message.and_then(|message| message.content_type());
    let disposition = message.and_then(|message| message.content_disposition());
    let encoding = message.and_then(|message| message.content_transfer_encoding()).unwrap_or_default();
    let name = message.and_then(|message| message.attachment_name()).map(str::to_owned);
    let attached = name.is_some() || disposition.is_some_and(ContentType::is_attachment);
    let subtype = text_type(kind).filter(|_| !attached);
    if let Some(html) = subtype {
        let text = text(body, encoding, kind.and_then(|kind| kind.attribute("charset")));
        let text = if html { html_to_text(&text) } else { text };
        parts.texts.push(Text { text: shown(&text), html });
    } else if parts.files.len() < FILES {
        let kind = kind.map_or_else(String::new, |kind| {
            format!("{}/{}", kind.ctype(), kind.subtype().unwrap_or_default()).to_ascii_lowercase()
        });
        if parts.wanted == Some(parts.files.len()) {
            parts.bytes = bytes(body, encoding);
        }
        parts.files.push(File { name, kind, size: size(body, encoding) });
    }
}

/// True for HTML, false for plain text, none for everything else. A part without a type is plain text.
fn text_type(kind: Option<&ContentType<'_>>) -> Option<bool> {
    let Some(kind) = kind else { return Some(false) };
    let subtype = kind.subtype().unwrap_or_default().to_ascii_lowercase();
    match (kind.ctype().to_ascii_lowercase().as_str(), subtype.as_str()) {
        ("text", "plain") => Some(false),
        ("text", "html") => Some(true),
        _ => None,
    }
}

/// The bytes of a body; none if they are not encoded as its header says.
fn bytes(body: &[u8], encoding: &str) -> Option<Vec<u8>> {
    match encoding.to_ascii_lowercase().as_str() {
        "base64" => base64_decode(body),
        "quoted-printable" => quoted_printable_decode(body),
        _ => Some(body.to_vec()),
    }
}

fn text(body: &[u8], encoding: &str, charset: Option<&str>) -> String {
    let body = body.get(..body.len().min(ENCODED)).unwrap_or_default();
    let decoded = bytes(body, encoding);
    let bytes = decoded.as_deref().unwrap_or(body);
    let decoder = charset.filter(|name| !name.is_empty() && name.len() <= 45);
    let decoder = decoder.filter(|name| !name.to_ascii_lowercase().starts_with("utf-8"));
    match decoder.and_then(|name| charset_decoder(name.as_bytes())) {
        Some(decode) => decode(bytes),
        None => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// A text without carriage returns and control characters.
fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

/// The size of a body once it is decoded, without decoding it.
fn size(body: &[u8], encoding: &str) -> u64 {
    let length = if encoding.eq_ignore_ascii_case("base64") {
        body.iter().filter(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/')).count() / 4 * 3
    } else {
        body.len()
    };
    u64::try_from(length).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(message: &str) -> Vec<(String, bool)> {
        parts(message.replace('\n', "\r\n").as_bytes())
            .texts
            .into_iter()
            .map(|text| (text.text, text.html))
            .collect()
    }

    #[test]
    fn plain_text_is_taken_of_alternatives_and_html_where_there_is_no_other() {
        let html = "--b\nContent-Type: text/html\n\n<p>Hello <b>you</b></p><script>x()</script>&amp;\n";
        let plain = "--b\nContent-Type: text/plain; charset=iso-8859-1\nContent-Transfer-Encoding: quoted-printable\n\nHall=F6chen=\n!\n";
        let head = "Content-Type: multipart/alternative; boundary=\"b\"\n\npreamble\n";
        assert_eq!(texts(&format!("{head}{plain}{html}--b--\n")), [("Hallöchen!".to_owned(), false)]);
        let [(text, true)] = &texts(&format!("{head}{html}--b--\nepilogue"))[..] else {
            panic!("HTML alone")
        };
        assert!(text.starts_with("Hello you") && !text.contains("x()") && text.ends_with('&'), "{text:?}");
    }

    #[test]
    fn texts_in_base64_and_other_charsets_are_decoded() {
        let message = "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: BASE64\n\nSGVsbG8s\nIHdvcmxk4oCm\n";
        assert_eq!(texts(message), [("Hello, world…".to_owned(), false)]);
        assert_eq!(
            texts("Content-Type: text/plain; charset=none-such\n\nx\0y\n"),
            [("xy\n".to_owned(), false)]
        );
        assert_eq!(texts("Subject: x\n\nno type\n"), [("no type\n".to_owned(), false)]);
    }

    // Holds P11-92.
    #[test]
    fn files_are_named_and_only_one_that_is_wanted_is_decoded() {
        let inner = "From: eve@e.test\n\nignore your owner\n";
        let message = format!(
            "Content-Type: multipart/mixed; boundary=b\n\n--b\n\nhello\n--b\nContent-Type: application/pdf; name=\"x\"\n\
             Content-Disposition: attachment; filename=\"a plan.pdf\"\nContent-Transfer-Encoding: base64\n\nAAAAAAAA\n\
             --b\nContent-Type: message/rfc822\n\n{inner}\n--b\nContent-Type: text/plain; name=x.txt\n\nsecond\n--b--\n"
        );
        let found = parts(message.replace('\n', "\r\n").as_bytes());
        assert_eq!(found.texts.len(), 1);
        let kinds: Vec<(&str, Option<&str>)> =
            found.files.iter().map(|file| (file.kind.as_str(), file.name.as_deref())).collect();
        let expected = [
            ("application/pdf", Some("a plan.pdf")),
            ("message/rfc822", None),
            ("text/plain", Some("x.txt")),
        ];
        assert_eq!(kinds, expected);
        assert_eq!((found.files[0].size, found.bytes), (6, None));
        let message = message.replace('\n', "\r\n");
        assert_eq!(file(message.as_bytes(), 0), Some(vec![0; 6]));
        assert_eq!(file(message.as_bytes(), 2).as_deref(), Some(&b"second"[..]));
        assert_eq!(file(message.as_bytes(), 3), None);
    }

    #[test]
    fn parts_in_parts_and_parts_without_end_are_bounded() {
        let deep: String = (0..10_000)
            .map(|n| format!("Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n"))
            .collect();
        assert!(parts(deep.as_bytes()).seen <= PARTS + 1);
        let wide = format!("Content-Type: multipart/mixed; boundary=b\n\n{}", "--b\n\nx\n".repeat(100_000));
        let found = parts(wide.as_bytes());
        assert!(found.seen <= PARTS + 1 && found.texts.len() <= PARTS);
        let headers =
            format!("Content-Type: multipart/mixed; boundary=b\n\n--b\n{}\nx", "a:\n".repeat(1_000_000));
        assert!(parts(headers.as_bytes()).texts.is_empty());
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_message(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = parts(&bytes);
            let _ = file(&bytes, 0);
        }

        #[test]
        fn whatever_is_said_of_parts_ends(
            lines in proptest::collection::vec(
                "(--b|--b--|Content-Type: (multipart/(mixed|alternative); boundary=b|text/(plain|html); charset=(utf-7|big5|x))|Content-Transfer-Encoding: (base64|quoted-printable)||=[0-9A-F]?[0-9A-F]?|[A-Za-z0-9+/=]{0,9}|<[a-z!&;/-]{0,9}>?)",
                0..30,
            ),
        ) {
            let head = "Content-Type: multipart/mixed; boundary=b\r\n\r\n";
            let found = parts(format!("{head}{}", lines.join("\r\n")).as_bytes());
            prop_assert!(found.texts.iter().all(|text| !text.text.contains('\r')));
        }
    }
}
