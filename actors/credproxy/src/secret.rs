//! Bytes that must not be seen: overwritten when dropped, never printed, never copied by accident.

use zeroize::Zeroizing;

/// The fewest bytes of a value: a shorter one would be found in every reply by chance.
pub(crate) const SHORTEST: usize = 8;

/// The value of a secret. It has no `Debug` and no `Clone`.
pub(crate) struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// A value that a header can carry: printable ASCII, at least 8 bytes, no blank at either end.
    pub(crate) fn new(bytes: Zeroizing<Vec<u8>>) -> Option<Self> {
        let printable = bytes.iter().all(|byte| (0x20..=0x7e).contains(byte));
        let blank = |byte: Option<&u8>| byte == Some(&b' ');
        let fits = bytes.len() >= SHORTEST && printable && !blank(bytes.first()) && !blank(bytes.last());
        fits.then_some(Self(bytes))
    }

    /// The bytes.
    pub(crate) fn reveal(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds B-95.
    #[test]
    fn a_value_that_no_header_can_carry_or_that_is_too_short_is_no_secret() {
        let secret = |bytes: &[u8]| Secret::new(Zeroizing::new(bytes.to_vec())).is_some();
        for bad in [
            &b""[..],
            b"1234567",
            b"12345678\n",
            b"1234\r\n5678",
            b"1234\x005678",
            b" 12345678",
            b"12345678 ",
            "12345678\u{e9}".as_bytes(),
            b"12345678\x7f",
            b"12345678\t9",
        ] {
            assert!(!secret(bad), "{bad:?}");
        }
        assert!(secret(b"12345678") && secret(b"sk-ant api \"03\" ~~"));
    }
}
