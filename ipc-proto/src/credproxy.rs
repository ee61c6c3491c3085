//! Credproxy stores secrets. A value comes in sealed to its public key and never leaves, except in a
//! request to a host that it is bound to.

mod login;
mod sealing;

use crate::service::service;
use crate::{Blob, List, Name, Text};
pub use login::{Grant, LOGIN, Login, LoginInfo, REPLY_BOUND};
pub use sealing::{Exported, Purpose, binding, open_parcel, parcel};
use serde::{Deserialize, Serialize};

/// The source of the vault's key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeySource {
    /// A file beside the vault.
    #[default]
    File,
    /// A person, after each start of the host.
    Passphrase,
    /// The credential `cordon-vault` of agentd's unit.
    Systemd,
}

/// Bytes of a request's or a reply's body in one frame.
pub const CHUNK: usize = 64 * 1024;
/// Bytes of a request body.
pub const BODY_BOUND: usize = 4 * 1024 * 1024;
/// Bytes of one sealed value, its binding included.
pub const SECRET_BOUND: usize = 16 * 1024;

/// Bytes of what else is sealed to credproxy: a passphrase or two, and a key.
pub const PARCEL_BOUND: usize = 4096;
/// Bytes of an export as it is sealed to who asked for it.
pub const EXPORT_BOUND: usize = 4 * 1024 * 1024;
/// Bytes of a passphrase, at least and at most.
pub const PASSPHRASE: (usize, usize) = (12, 1024);

/// A header that is not a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Its name.
    pub name: Name,
    /// Its value.
    pub value: Text<1024>,
}

/// The placeholder for a secret's value in a path, a query or a body; credproxy replaces it.
pub const PLACEHOLDER: &str = "__cordon_secret__";

/// A place of a request that a secret can go to. Nowhere else in the request may [`PLACEHOLDER`] stand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum At {
    /// A header.
    Header {
        /// The header's name.
        name: Name,
        /// The text before the value, such as `Bearer `.
        prefix: Text<32>,
    },
    /// The value of this parameter of the query.
    Query {
        /// The parameter's name.
        name: Name,
    },
    /// The one segment of the path that [`PLACEHOLDER`] stands in, alone or with other text around it.
    Segment,
    /// The value of this field of a JSON object or of a form, which is [`PLACEHOLDER`].
    Field {
        /// The field's name.
        name: Name,
    },
}

/// The place for a secret in a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// The secret's name.
    pub secret: Name,
    /// The place.
    pub at: At,
}

impl Placement {
    /// This secret in a header.
    #[must_use]
    pub fn header(secret: &str, name: &str, prefix: &str) -> Self {
        let at = At::Header { name: Name::clip(name), prefix: Text::clip(prefix) };
        Self { secret: Name::clip(secret), at }
    }
}

/// The method of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verb {
    /// Reads.
    #[default]
    Get,
    /// Reads the head alone.
    Head,
    /// Makes, or asks.
    Post,
    /// Replaces.
    Put,
    /// Changes.
    Patch,
    /// Removes.
    Delete,
}

impl Verb {
    /// Every one.
    pub const ALL: [Self; 6] = [Self::Get, Self::Head, Self::Post, Self::Put, Self::Patch, Self::Delete];

    /// As HTTP writes it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

/// The permitted use of a secret. Any other use is refused, and is an alert.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// Hosts it may go to, each exact: `host` or `host:port`; one at least.
    pub hosts: List<Text<253>, 8>,
    /// The methods with which it may be sent; any if empty.
    pub verbs: List<Verb, 6>,
    /// Prefixes of the path, in whole segments; any path if empty.
    pub paths: List<Text<256>, 8>,
    /// The places in a request where it may stand; any header if empty, and nothing but a header.
    pub at: List<At, 4>,
}

/// The bounds on a secret's use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The end of the lease, unix ms; `None` for no end.
    pub until_ms: Option<u64>,
    /// The number of uses; unbounded if `None`.
    pub uses: Option<u64>,
}

/// A request to send.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// How it is sent.
    pub verb: Verb,
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

/// The head of a reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The stream by which the body is pulled.
    pub reply: Reply,
    /// HTTP status.
    pub status: u16,
    /// `Retry-After`, seconds.
    pub retry_after: Option<u32>,
    /// `content-type`, `location` and the headers about rate limits and the request's id, where they are present and
    /// short; secrets are cut out of them as of a body.
    pub headers: List<Header, 16>,
    /// The first part of the body: all of a short one, nothing of a slow one.
    pub first: Chunk,
}

/// A piece of a reply's body, with every live secret cut out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    /// The bytes.
    pub bytes: Blob<CHUNK>,
    /// No more follow, and the reply is let go.
    pub last: bool,
}

/// The public facts about a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretInfo {
    /// Its name.
    pub name: Name,
    /// The permitted use.
    pub binding: Binding,
    /// The bounds on its use.
    pub lease: Lease,
    /// True if it was revoked: it is not used any more, and still looked for in replies.
    pub revoked: bool,
    /// When it was set, unix ms.
    pub set_ms: u64,
    /// How often it has been used.
    pub uses: u64,
    /// The time of the last use, unix ms; 0 if never.
    pub used_ms: u64,
    /// The validity of an OAuth login, where the secret is one.
    pub login: Option<LoginInfo>,
}

/// The vault as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VaultInfo {
    /// The source of its key.
    pub key: KeySource,
    /// True if it waits for its passphrase.
    pub locked: bool,
    /// True if it does not exist yet: the first passphrase makes it.
    pub empty: bool,
}

/// The reason for which a request was not sent, or a secret not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum CredError {
    /// No secret of this name.
    #[error("no secret of this name; set it with `agentctl cred set NAME --host HOST`")]
    NoSecret,
    /// The secret is not bound to this host, or not to this use of it.
    #[error(
        "the secret is not bound to this use: the host, the verb, the path or the place is another; see `agentctl cred show`"
    )]
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
    /// The upstream broke HTTP, or went away.
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
    /// One to eight exact hosts, a name of letters and digits, and nothing that can never be asked for.
    #[error(
        "bad name, host, path or place: a name of letters, digits, `.`, `_` and `-`; one to eight hosts, each `host` or `host:port`; \
         paths without segments of dots; headers that a request may set"
    )]
    BadBinding,
    /// The vault waits for its passphrase.
    #[error("the vault is locked; unlock it with `agentctl cred unlock`")]
    Locked,
    /// The passphrase does not open the vault.
    #[error("this is not the vault's passphrase or key")]
    WrongPassphrase,
    /// A passphrase that is too short or too long.
    #[error("a passphrase has 12 to 1,024 bytes")]
    BadPassphrase,
    /// The configuration has the vault opened by another key.
    #[error("the vault is not opened by a passphrase; `[credproxy] key = \"passphrase\"` has it so")]
    NotByPassphrase,
    /// The secret was revoked.
    #[error("the secret was revoked; set it again to use it")]
    Revoked,
    /// The secret's time is over.
    #[error("the secret has expired; set it again to use it")]
    Expired,
    /// The secret was used as often as it may be.
    #[error("the secret was used as often as it may be; set it again to use it")]
    Spent,
    /// A binding that is wider than the one that holds.
    #[error("a binding can only be narrowed; for a wider one give the value again with `agentctl cred set`")]
    Widens,
    /// A secret for a field of a body cannot be tried by a request without one.
    #[error("the secret goes into a body, which a trial has not")]
    NoTrial,
    /// The placeholder stands nowhere, twice, or in another place than the secret's.
    #[error("the mark of the secret must stand once in the request, exactly where the secret goes")]
    Misplaced,
    /// The token server refused, or its answer cannot be used.
    #[error("the login has ended or was refused; log in again with `agentctl cred login`")]
    Login,
    /// A reply is searched for secrets, which is impossible in a compressed one.
    #[error(
        "the upstream compressed its reply although it was asked for `identity`, and a compressed reply is refused"
    )]
    Compressed,
}

/// Bytes at the beginning of a secret by which a text is searched for it; a secret is never shorter.
pub const WINDOW: usize = 8;

/// A fingerprint by which the scanner finds a secret of the host in a text without knowing it: keyed, so that
/// values cannot be tried without the key, and new at each start of credproxy.
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
/// the key does not give the bytes away.
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
    /// Two per secret and per token of a login: of its characters in lower case without white space, forwards and backwards.
    /// One of mostly white space has those of its bytes as they are.
    pub prints: List<Fingerprint, 1536>,
}

service! {
    /// The credential proxy.
    pub trait Credproxy {
        /// Sends a request, with its secret put in, and waits for the head of the reply, not for its body.
        [once, 4352, 130]
        async fn request(request: Request) -> Result<Head, CredError>;
        /// The next piece of a reply's body; at most `credit` bytes. Waits until there is some.
        [once, 68, 130]
        async fn next(reply: Reply, credit: u32) -> Result<Chunk, CredError>;
        /// Lets a reply go; the upstream connection is closed.
        [idempotent, 4, 5]
        async fn close(reply: Reply) -> ();
        /// Stores a value sealed, behind its [`binding()`], to credproxy's public key. A fresh login's code is exchanged
        /// meanwhile, which its server may take its time for.
        [idempotent, 32, 130]
        async fn set(name: Name, binding: Binding, lease: Lease, sealed: Blob<SECRET_BOUND>) -> Result<(), CredError>;
        /// Every secret, without its value.
        [idempotent, 2048, 10]
        async fn list() -> Result<List<SecretInfo, 256>, CredError>;
        /// Forgets a secret.
        [idempotent, 4, 10]
        async fn remove(name: Name) -> Result<(), CredError>;
        /// The fingerprints of every secret, once they are of another version than `known`; waits up to 20 s.
        [idempotent, 80, 30]
        async fn fingerprints(known: Option<u64>) -> Fingerprints;
        /// Binds a secret to less than it is bound to, and gives it a shorter lease.
        [idempotent, 16, 10]
        async fn narrow(name: Name, binding: Binding, lease: Lease) -> Result<(), CredError>;
        /// Has a secret be used no more.
        [idempotent, 4, 10]
        async fn revoke(name: Name) -> Result<(), CredError>;
        /// The vault as a whole.
        [idempotent, 4, 10]
        async fn vault() -> Result<VaultInfo, CredError>;
        /// Opens the vault with its passphrase, or makes one under it: [`Purpose::Unlock`].
        [idempotent, 8, 40]
        async fn unlock(sealed: Blob<PARCEL_BOUND>) -> Result<(), CredError>;
        /// Puts the vault under another passphrase: [`Purpose::Passphrase`].
        [idempotent, 8, 40]
        async fn passphrase(sealed: Blob<PARCEL_BOUND>) -> Result<(), CredError>;
        /// Seals every secret under a new key of its own, and under a new key of the vault where that is a file.
        [idempotent, 4, 40]
        async fn rotate() -> Result<(), CredError>;
        /// Every secret with its value, sealed to who asks: [`Purpose::Export`].
        [idempotent, 4352, 40]
        async fn export(sealed: Blob<PARCEL_BOUND>) -> Result<Blob<EXPORT_BOUND>, CredError>;
        /// Sends a request without a body with this secret in it; gives the status of the reply and nothing else.
        [once, 8, 130]
        async fn try_out(name: Name, verb: Verb, url: Text<2048>) -> Result<u16, CredError>;
    }
}
