//! The header of a message: its fields as they stand there, and the few facts that are read from them strictly. A field that can
//! be read in two ways is read in none.

/// Bytes of a header, at most.
pub(crate) const BOUND: usize = 256 * 1024;
/// Fields of a header, at most.
const FIELDS: usize = 2048;
/// Message ids of one field, at most.
const IDS: usize = 64;
/// Bytes of one message id, at most: those of a line.
const ID: usize = 996;
/// Local parts of programs that send mail.
const PROGRAMS: [&str; 7] =
    ["mailer-daemon", "postmaster", "noreply", "no-reply", "donotreply", "do-not-reply", "bounce"];

/// A header.
pub(crate) struct Header<'a> {
    fields: Vec<(&'a [u8], &'a [u8])>,
}

/// Parts an entity into header and body; none if it has no header within the bound.
pub(crate) fn parted(entity: &[u8]) -> Option<(&[u8], &[u8])> {
    if let Some(body) = entity.strip_prefix(b"\r\n").or_else(|| entity.strip_prefix(b"\n")) {
        return Some((b"", body));
    }
    let within = entity.get(..entity.len().min(BOUND))?;
    let mut at = 0;
    while let Some(end) = within.get(at..)?.iter().position(|byte| *byte == b'\n') {
        at += end + 1;
        let rest = entity.get(at..)?;
        for end in [b"\r\n".as_slice(), b"\n"] {
            if rest.starts_with(end) {
                return entity.split_at_checked(at + end.len());
            }
        }
    }
    // A header alone is a message without a body.
    (entity.len() <= BOUND).then_some((entity, b""))
}

impl<'a> Header<'a> {
    /// The fields of a header; none if there are too many.
    pub(crate) fn parse(block: &'a [u8]) -> Option<Self> {
        let mut fields: Vec<(&[u8], &[u8])> = Vec::new();
        let (mut at, mut begin) = (0, 0);
        while at < block.len() {
            let rest = block.get(at..)?;
            let length = rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |end| end + 1);
            at += length;
            let goes_on = block.get(at).is_some_and(|byte| matches!(byte, b' ' | b'\t'));
            if goes_on {
                continue;
            }
            fields.extend(field(block.get(begin..at)?));
            begin = at;
            if fields.len() > FIELDS {
                return None;
            }
        }
        Some(Self { fields })
    }

    /// The values of the fields of this name, topmost first.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.fields
            .iter()
            .filter(move |(of, _)| of.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, value)| *value)
    }

    /// The value of the topmost field of this name, unfolded; none if it is no UTF-8.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        let value = std::str::from_utf8(self.all(name).next()?).ok()?;
        Some(value.replace(['\r', '\n'], "").trim().to_owned())
    }

    /// The message ids in a field, with their brackets.
    pub(crate) fn ids(&self, name: &str) -> Vec<String> {
        let text = self.text(name).unwrap_or_default();
        let parts = text.split('<').skip(1).filter_map(|part| part.split_once('>').map(|(id, _)| id));
        let is_id =
            |id: &&str| !id.is_empty() && id.len() <= ID && id.bytes().all(|byte| byte.is_ascii_graphic());
        parts.filter(is_id).take(IDS).map(|id| format!("<{id}>")).collect()
    }

    /// The one address that the message is from, in lower case; none if there is not exactly one that can be read in one way.
    pub(crate) fn from(&self) -> Option<String> {
        let mut all = self.all("From");
        let (first, None) = (all.next()?, all.next()) else { return None };
        let text = std::str::from_utf8(first).ok()?.replace(['\r', '\n'], "");
        let text = text.trim();
        let Some(inner) = text.strip_suffix('>') else { return address(text) };
        let (name, inner) = inner.rsplit_once('<')?;
        let bare: String = name.split('"').step_by(2).collect();
        let is_name = name.matches('"').count() % 2 == 0 && !name.contains(['<', '>', '\\', '\0']);
        (is_name && !bare.contains([',', ';', ':', '(', ')'])).then(|| address(inner)).flatten()
    }

    /// Returns true if a program has sent it, or it went to many: nothing of the kind is answered.
    pub(crate) fn is_automatic(&self) -> bool {
        let says = |name: &str| self.text(name).map(|text| text.to_ascii_lowercase());
        let submitted = self.all("Auto-Submitted").next().is_some()
            && says("Auto-Submitted").is_none_or(|text| text.split(';').next().map(str::trim) != Some("no"));
        let bulk = says("Precedence").is_some_and(|text| matches!(text.as_str(), "bulk" | "list" | "junk"));
        let list = self
            .fields
            .iter()
            .any(|(name, _)| name.len() > 5 && name.to_ascii_lowercase().starts_with(b"list-"));
        let bounce = self.all("Return-Path").any(is_empty_path);
        let report = says("Content-Type").is_some_and(|text| text.starts_with("multipart/report"));
        let replied =
            ["X-Autoreply", "X-Autorespond", "X-Loop"].iter().any(|name| self.all(name).next().is_some());
        let program = self.from().is_some_and(|from| {
            let local = from.split('@').next().unwrap_or_default();
            PROGRAMS.contains(&local)
        });
        submitted || bulk || list || bounce || report || replied || program
    }
}

fn is_empty_path(path: &[u8]) -> bool {
    path.iter().filter(|byte| !byte.is_ascii_whitespace()).eq(b"<>")
}

/// The name and the value of a field; none for a line that is no field.
fn field(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let (name, value) = line.split_at(colon);
    let name = name.trim_ascii();
    let is_name = !name.is_empty() && name.iter().all(u8::is_ascii_graphic);
    is_name.then(|| (name, value.strip_prefix(b":").unwrap_or(value).trim_ascii()))
}

/// An address of the common form, in lower case; none of another.
pub(crate) fn address(text: &str) -> Option<String> {
    let text = text.trim();
    let (local, domain) = text.split_once('@')?;
    let is_local = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~.".contains(c);
    let is_label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    let well = !local.is_empty()
        && local.len() <= 64
        && text.len() <= 128
        && local.chars().all(is_local)
        && domain.split('.').all(is_label);
    well.then(|| text.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn from(value: &str) -> Option<String> {
        let block = format!("Subject: x\r\nFrom: {value}\r\n");
        Header::parse(block.as_bytes()).unwrap().from()
    }

    // Holds P11-90.
    #[test]
    fn a_sender_that_can_be_read_in_two_ways_is_none() {
        for plain in ["ann@A.test", "Ann <Ann@a.test>", "\"Doe, Ann\" <ann@a.test>", "Ann\r\n <ann@a.test>"] {
            assert_eq!(from(plain).as_deref(), Some("ann@a.test"), "{plain}");
        }
        for other in [
            "eve@e.test, ann@a.test",
            "ann@a.test <eve@e.test> <ann@a.test>",
            "<ann@a.test>, <eve@e.test>",
            "group: ann@a.test;",
            "ann@a.test (eve@e.test)",
            "\"ann@a.test\\\" <eve@e.test>\" <ann@a.test>",
            "ann@a.test@e.test",
            "\"ann\"@a.test",
            "ann@a.test\0@e.test",
            "",
        ] {
            assert_eq!(from(other), None, "{other}");
        }
        let two = Header::parse(b"From: ann@a.test\r\nFrom: eve@e.test\r\n").unwrap();
        assert_eq!(two.from(), None);
    }

    // Holds P11-91.
    #[test]
    fn mail_of_programs_and_lists_is_told_apart() {
        let automatic = |field: &str| {
            let block = format!("From: ann@a.test\r\n{field}\r\n\r\n");
            Header::parse(block.as_bytes()).unwrap().is_automatic()
        };
        for field in [
            "Auto-Submitted: auto-replied",
            "auto-submitted: auto-generated; owner=x",
            "Precedence: Bulk",
            "List-Id: <all.a.test>",
            "List-Unsubscribe: <mailto:x@a.test>",
            "Return-Path: <>",
            "Return-Path: < >",
            "Content-Type: multipart/report; report-type=delivery-status",
        ] {
            assert!(automatic(field), "{field}");
        }
        for field in ["Auto-Submitted: no", "Precedence: normal", "Return-Path: <ann@a.test>", "List: x"] {
            assert!(!automatic(field), "{field}");
        }
        assert!(Header::parse(b"From: x <MAILER-DAEMON@a.test>\r\n").unwrap().is_automatic());
    }

    #[test]
    fn ids_are_read_with_their_brackets_and_nothing_else_is() {
        let block = b"References: <a@b> junk <c@d>\r\n\t<e f@g> <> <h@i\r\n\r\n";
        assert_eq!(Header::parse(block).unwrap().ids("references"), ["<a@b>", "<c@d>"]);
    }

    #[test]
    fn a_header_over_its_bound_is_none() {
        let many = "a:\n".repeat(FIELDS + 1);
        assert!(Header::parse(many.as_bytes()).is_none());
        let long = format!("a: {}\r\n\r\nx", "y".repeat(BOUND));
        assert!(parted(long.as_bytes()).is_none());
        assert_eq!(parted(b"a: b\r\n\r\nbody"), Some((&b"a: b\r\n\r\n"[..], &b"body"[..])));
        assert_eq!(parted(b"a: b\n"), Some((&b"a: b\n"[..], &b""[..])));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_header_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            if let Some((block, _)) = parted(&bytes)
                && let Some(header) = Header::parse(block)
            {
                let _ = (header.from(), header.is_automatic(), header.ids("references"));
            }
        }
    }
}
