//! The type of a file by its first bytes, whatever its sender says.

/// Bytes from the beginning of a file that are looked at.
pub const LOOKED_AT: usize = 4096;

/// The media type of a file that begins so.
#[must_use]
pub fn media_type(begin: &[u8]) -> &'static str {
    let begin = begin.get(..LOOKED_AT).unwrap_or(begin);
    if let Some(kind) = infer::get(begin) {
        return kind.mime_type();
    }
    // The bound may have cut the last character.
    let is_text = match std::str::from_utf8(begin) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none() && begin.len() == LOOKED_AT,
    };
    if is_text && !begin.contains(&0) { "text/plain" } else { "application/octet-stream" }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds P11-51.
    #[test]
    fn a_type_is_read_from_the_first_bytes() {
        for (begin, kind) in [
            (&b"\x89PNG\r\n\x1a\n\0\0"[..], "image/png"),
            (b"\xff\xd8\xff\xe0\0\x10JFIF", "image/jpeg"),
            (b"GIF89a\x01\0", "image/gif"),
            (b"RIFF\x24\0\0\0WEBPVP8 ", "image/webp"),
            (b"%PDF-1.7\n", "application/pdf"),
            (b"PK\x03\x04\x14\0", "application/zip"),
            (b"plain words", "text/plain"),
            (b"", "text/plain"),
            (b"\0\x01\x02", "application/octet-stream"),
            (b"\xc3\x28", "application/octet-stream"),
        ] {
            assert_eq!(media_type(begin), kind, "{begin:?}");
        }
        let cut = "\u{e9}".repeat(LOOKED_AT);
        assert_eq!(media_type(&cut.as_bytes()[1..]), "application/octet-stream");
        assert_eq!(media_type(format!("x{cut}").as_bytes()), "text/plain");
    }
}
