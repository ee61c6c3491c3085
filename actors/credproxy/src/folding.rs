//! Secrets in the form in which texts are searched for them. Pure; every form is overwritten when dropped.

use crate::blank::is_plain;
use crate::secret::SHORTEST;
use zeroize::Zeroizing;

/// A form of a secret: in lower case and without white space, unless too little would be left.
pub(crate) fn folded(mut form: Zeroizing<Vec<u8>>) -> Zeroizing<Vec<u8>> {
    form.make_ascii_lowercase();
    if has_characters(&form) {
        form.retain(|byte| !is_plain(*byte));
    }
    form
}

/// Returns true if a value has as many characters without white space as the shortest secret.
pub(crate) fn has_characters(value: &[u8]) -> bool {
    value.iter().filter(|byte| !is_plain(**byte)).count() >= SHORTEST
}

/// The bytes in reverse order.
pub(crate) fn reversed(value: &[u8]) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(value.iter().rev().copied().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_loses_case_and_white_space_unless_too_little_is_left() {
        let fold = |text: &str| folded(Zeroizing::new(text.as_bytes().to_vec())).to_vec();
        assert_eq!(fold("Correct Horse"), b"correcthorse");
        assert_eq!(fold("AB \t  CdefgH"), b"abcdefgh");
        assert_eq!(fold("AB      C"), b"ab      c");
        assert_eq!(*reversed(b"abc"), *b"cba");
    }
}
