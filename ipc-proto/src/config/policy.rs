//! The section `[policy]`. Pure data.

use crate::config::Autonomy;
use crate::config::key::{number, section, texts};

section! {
    /// `[policy]`.
    pub struct Policy in "policy", read by [Gate] {
        /// Addresses, account numbers, hosts and other values that you vouch for: an argument with one of them needs no
        /// approval. Text that an agent reads is never added here.
        contacts: Vec<String> = texts("contact", 512),
        /// Seconds after which an approval that nobody answers is refused.
        approval_seconds: u32 = number(10..=86_400, 300),
        ..
        /// `readonly`, `supervised` or `full`.
        autonomy: Autonomy,
    }
}
