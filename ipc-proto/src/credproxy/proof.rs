//! Proofs that a sender holds a secret of this host: the signature of a hook, a token that comes with it, or a code that a person
//! types. Credproxy compares in constant time and answers yes or no.

use serde::{Deserialize, Serialize};

/// Bytes of what was signed: the whole body of a hook, and the vendor's prefix.
pub const SIGNED_BOUND: usize = 3 * 1024 * 1024 + 1024;
/// Bytes of what the sender gave.
pub const GIVEN_BOUND: usize = 1024;

/// The way in which a sender proves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// HMAC-SHA-256 of what was signed, 32 bytes. A secret that begins with `whsec_` is the key in base64 behind that.
    HmacSha256,
    /// The secret itself.
    Equal,
    /// Six digits of RFC 6238 with SHA-1 and steps of 30 seconds, one step early or late; the secret is base32. A code that
    /// was accepted is refused from then on.
    Totp,
}

impl Proof {
    /// Wrong proofs of one secret within a minute; after those every proof is refused for the rest of it.
    #[must_use]
    pub const fn most_wrong(self) -> usize {
        match self {
            // Nobody finds a signature by trying; the bound is on the work.
            Self::HmacSha256 => 6000,
            Self::Equal => 60,
            Self::Totp => 5,
        }
    }
}

/// The answer to a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The sender holds the secret.
    Holds,
    /// The proof is wrong, or was used before.
    Differs,
}
