//! Credproxy stores secrets. A value comes in sealed to its public key and never leaves, except in a
//! request to a host that it is bound to.

mod error;
mod login;
mod proof;
mod sealing;
mod stream;

use crate::service::service;
use crate::{Blob, List, Name, Text};
pub use error::CredError;
pub use login::{Grant, LOGIN, Login, LoginInfo, REPLY_BOUND};
pub use proof::{GIVEN_BOUND, Proof, SIGNED_BOUND, Verdict};
pub use sealing::{Exported, Purpose, binding, open_parcel, parcel};
use serde::{Deserialize, Serialize};
pub use stream::{
    Incoming, Insertion, LineProtocol, MESSAGE_BOUND, Mechanism, Opening, Outgoing, STREAMS, SocketAddress,
    Stream, UPLOAD_BOUND,
};

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
    /// The login of IMAP or SMTP.
    Login,
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
    /// It may have a header `Cookie`, and its reply `Set-Cookie`: a browser logs in by it.
    pub cookies: bool,
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
    /// `content-type`, `location`, `set-cookie` where it was asked for, and the headers about rate limits and the request's id, where
    /// they are present and short; secrets are cut out of them as of a body.
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
        /// The same for this account of the calling channel: to a host of its platform or to the account's own, with a secret of
        /// the account or with none.
        [once + wait, 4352, 130]
        async fn channel_request(account: Name, request: Request) -> Result<Head, CredError>;
        /// Opens a stream for this account of the calling channel, to a host that its requests may go to.
        [once, 4352, 130]
        async fn open_stream(account: Name, opening: Opening) -> Result<Stream, CredError>;
        /// Sends a message of a socket, or the next bytes of an upload.
        [once, 1088, 130]
        async fn push(stream: Stream, outgoing: Outgoing) -> Result<(), CredError>;
        /// The next message of a socket, or [`Incoming::Quiet`] after 25 s. Of an upload: its reply, once the whole body is
        /// pushed.
        [once + wait, 1088, 130]
        async fn pull(stream: Stream) -> Result<Incoming, CredError>;
        /// Closes a stream and its connection.
        [idempotent, 4, 5]
        async fn close_stream(stream: Stream) -> ();
        /// Compares what a sender gave with what only a holder of this account's secret can give. After
        /// [`Proof::most_wrong`] wrong ones in a minute it is [`CredError::Full`].
        [once, 3328, 10]
        async fn verify(
            account: Name,
            secret: Name,
            proof: Proof,
            signed: Blob<SIGNED_BOUND>,
            given: Blob<GIVEN_BOUND>,
        ) -> Result<Verdict, CredError>;
        /// The HMAC-SHA-256 of these bytes under this account's secret, by which a receiver knows a hook of this host.
        [once, 3328, 10]
        async fn sign(account: Name, secret: Name, bytes: Blob<SIGNED_BOUND>) -> Result<[u8; 32], CredError>;
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
        [idempotent + wait, 80, 30]
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
