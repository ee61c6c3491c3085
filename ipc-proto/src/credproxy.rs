//! Credproxy keeps secrets. A value goes in sealed to its public key and never comes out again, save into a
//! request to a host it is bound to.

use crate::service::service;
use crate::{Blob, List, Name, Text};
use serde::{Deserialize, Serialize};

/// Bytes of a request's or a reply's body in one frame.
pub const CHUNK: usize = 64 * 1024;
/// Bytes of a request body.
pub const BODY_BOUND: usize = 4 * 1024 * 1024;
/// Bytes of one sealed value, its binding included.
pub const SECRET_BOUND: usize = 16 * 1024;

/// What stands before the value inside the seal: name and hosts as the person gave them, so that whoever
/// carries the sealed bytes cannot have them stored under another name or for another host.
///
/// Whoever seals, seals `binding(name, hosts)` followed by the value.
#[must_use]
pub fn binding(name: &str, hosts: &[Text<253>]) -> Vec<u8> {
    let mut bytes = b"cordon-secret-1".to_vec();
    for part in std::iter::once(name).chain(hosts.iter().map(Text::as_str)) {
        bytes.extend(u32::try_from(part.len()).unwrap_or(u32::MAX).to_le_bytes());
        bytes.extend(part.as_bytes());
    }
    bytes.extend(u32::MAX.to_le_bytes());
    bytes
}

/// A header that is not a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Its name.
    pub name: Name,
    /// Its value.
    pub value: Text<1024>,
}

/// Where a secret is put.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// Which secret.
    pub secret: Name,
    /// The header it goes into.
    pub header: Name,
    /// What stands before the value, such as `Bearer `.
    pub prefix: Text<32>,
}

/// A request to send.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// `GET` or `POST`.
    pub post: bool,
    /// `https://host[:port]/path`; `http` only to hosts that the configuration names.
    pub url: Text<2048>,
    /// Headers besides those credproxy sets.
    pub headers: List<Header, 16>,
    /// The body.
    pub body: Blob<BODY_BOUND>,
    /// The secret it needs.
    pub secret: Option<Placement>,
}

/// A reply that is coming in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Reply(pub u64);

/// How a reply begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// To pull the body by.
    pub reply: Reply,
    /// HTTP status.
    pub status: u16,
    /// `Retry-After`, seconds.
    pub retry_after: Option<u32>,
}

/// A piece of a reply's body, with every live secret cut out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    /// The bytes.
    pub bytes: Blob<CHUNK>,
    /// No more follow.
    pub last: bool,
}

/// What may be known of a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretInfo {
    /// Its name.
    pub name: Name,
    /// The hosts it is bound to.
    pub hosts: List<Text<253>, 8>,
    /// When it was set, unix ms.
    pub set_ms: u64,
    /// How often it has been used.
    pub uses: u64,
    /// When last, unix ms; 0 if never.
    pub used_ms: u64,
}

/// Why a request was not sent, or a secret not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum CredError {
    /// No secret of this name.
    #[error("no secret of this name; set it with `agentctl cred set NAME --host HOST`")]
    NoSecret,
    /// The secret is not bound to this host.
    #[error("the secret is not bound to this host")]
    NotBound,
    /// Not a URL that may be used: `https`, no user part; `http` only to hosts the configuration names.
    #[error("the address is not allowed: https only, or http to a host in [credproxy] plain_http")]
    BadUrl,
    /// The sealed value does not open with this vault's key, or was sealed for another name or other hosts.
    #[error("the sealed value does not open for this name and these hosts; read the public key again")]
    NotSealed,
    /// The vault cannot be read or written.
    #[error("the vault cannot be read or written")]
    Vault,
    /// No connection.
    #[error("no connection: {0}")]
    Dial(crate::dialer::DialError),
    /// TLS failed.
    #[error("the TLS handshake failed")]
    Tls,
    /// The upstream broke HTTP, compressed its reply, or went away.
    #[error("the upstream broke the protocol or went away")]
    Upstream,
    /// Nothing came for too long.
    #[error("the upstream stalled")]
    Stalled,
    /// No such reply, or it was closed.
    #[error("no such reply")]
    NoReply,
    /// Too many secrets or replies at once.
    #[error("too many at once")]
    Full,
    /// The use could not be recorded, so it did not happen.
    #[error("the use could not be recorded")]
    NotRecorded,
    /// A header that callers may not set, or that is not a header.
    #[error("a header is not one that may be set, or is malformed")]
    BadHeader,
    /// A value that no header can carry, or that is too short to be found again in a reply.
    #[error("the value is shorter than 8 bytes, or holds something other than printable ASCII")]
    BadValue,
    /// A secret is bound to one to eight hosts, each exact: `host` or `host:port`; its name has letters and digits.
    #[error(
        "bad name or host: a name of letters, digits, `.`, `_` and `-`; one to eight hosts, each `host` or `host:port`"
    )]
    BadBinding,
}

/// Bytes at the beginning of a secret by which a text is searched for it; a secret is never shorter.
pub const WINDOW: usize = 8;

/// By what the scanner finds a secret of the host in a text without knowing it: keyed, so that nobody without the
/// key can try values, and new at each start of credproxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// Bytes of the whole secret.
    pub length: u32,
    /// [`window`] of its first bytes.
    pub window: u32,
    /// HMAC-SHA-256 of all of it.
    pub whole: [u8; 32],
}

/// The keyed hash of eight bytes by which every offset of a text is looked at. It keeps 32 of 64 bits, so that
/// whoever has the key as well still does not have the bytes.
#[must_use]
pub fn window(key: &[u8; 32], bytes: [u8; WINDOW]) -> u32 {
    let word = |at: usize| {
        let part = key.get(at..at + 8).and_then(|part| part.try_into().ok());
        u64::from_le_bytes(part.unwrap_or_default())
    };
    let mixed = (u64::from_le_bytes(bytes) ^ word(0)).wrapping_mul(word(8) | 1);
    let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(word(16) | 1);
    u32::try_from(mixed >> 32).unwrap_or_default()
}

/// Every fingerprint, with the key they are made with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprints {
    /// Grows with every change.
    pub version: u64,
    /// The key of the HMAC.
    pub key: [u8; 32],
    /// One per secret.
    pub prints: List<Fingerprint, 256>,
}

service! {
    /// The credential proxy.
    pub trait Credproxy {
        /// Sends a request, with its secret put in, and waits for the head of the reply.
        [once, 4352, 130]
        async fn request(request: Request) -> Result<Head, CredError>;
        /// The next piece of a reply's body; at most `credit` bytes. Waits until there is some.
        [once, 68, 130]
        async fn next(reply: Reply, credit: u32) -> Result<Chunk, CredError>;
        /// Lets a reply go; the upstream connection is closed.
        [idempotent, 4, 5]
        async fn close(reply: Reply) -> ();
        /// Stores a value sealed, behind its [`binding`], to the vault's public key.
        [idempotent, 32, 10]
        async fn set(name: Name, hosts: List<Text<253>, 8>, sealed: Blob<SECRET_BOUND>) -> Result<(), CredError>;
        /// Every secret, without its value.
        [idempotent, 1024, 10]
        async fn list() -> Result<List<SecretInfo, 256>, CredError>;
        /// Forgets a secret.
        [idempotent, 4, 10]
        async fn remove(name: Name) -> Result<(), CredError>;
        /// The fingerprints of every secret, once they are of another version than `known`; waits up to 20 s.
        [idempotent, 32, 30]
        async fn fingerprints(known: Option<u64>) -> Fingerprints;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_names_and_lists_of_hosts_have_the_same_binding() {
        let text = |text: &str| Text::new(text).unwrap();
        let all = [
            binding("a", &[]),
            binding("a", &[text("b")]),
            binding("ab", &[]),
            binding("a", &[text("b"), text("c")]),
            binding("a", &[text("bc")]),
            binding("", &[text("a"), text("b")]),
        ];
        for (index, one) in all.iter().enumerate() {
            assert!(
                all.iter().skip(index + 1).all(|other| !other.starts_with(one) && !one.starts_with(other))
            );
        }
    }
}
