//! The nonce of a button as text: 32 hexadecimal digits.

/// The nonce as text.
#[must_use]
pub fn nonce_text(nonce: [u8; 16]) -> String {
    nonce.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The nonce that a press gives back; none for any other text.
#[must_use]
pub fn nonce_of(text: &str) -> Option<[u8; 16]> {
    let mut nonce = [0; 16];
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    if text.len() != 32 || !plain {
        return None;
    }
    for (byte, at) in nonce.iter_mut().zip((0..32).step_by(2)) {
        *byte = u8::from_str_radix(text.get(at..at + 2)?, 16).ok()?;
    }
    Some(nonce)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonce_comes_back_from_its_own_text_alone() {
        let nonce = std::array::from_fn(|n| u8::try_from(n * 16).unwrap_or(u8::MAX));
        assert_eq!(nonce_of(&nonce_text(nonce)), Some(nonce));
        for other in ["", "00", &"g".repeat(32), &"A".repeat(32), &"+f".repeat(16), &"\u{e9}".repeat(16)] {
            assert_eq!(nonce_of(other), None, "{other}");
        }
    }
}
