//! Ingress takes hooks over HTTP. It reads a request and keeps it until the channel of that name has taken it; the sender hears what
//! the channel answers. It calls nobody and compares nothing: a hook is proven by credproxy, for the channel.

use crate::service::service;
use crate::{Blob, List, Name, Text};
use serde::{Deserialize, Serialize};

/// Bytes of the body of a hook.
pub const BODY_BOUND: usize = 3 * 1024 * 1024;
/// Headers of a hook that are passed on.
pub const HEADERS: usize = 32;
/// Hooks that one channel takes at once.
pub const AT_ONCE: usize = 16;

/// A hook that waits for its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct HookId(pub u64);

/// A hook as it came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hook {
    /// The hook.
    pub id: HookId,
    /// True for POST, false for GET, by which a platform tries the address.
    pub post: bool,
    /// The query, as it stands in the address.
    pub query: Text<2048>,
    /// Headers, their names in lower case; longer ones are left out.
    pub headers: List<(Name, Text<1024>), HEADERS>,
    /// The body, byte for byte.
    pub body: Blob<BODY_BOUND>,
}

impl Hook {
    /// The value of a header that came once.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(own, _)| own.as_str() == name);
        let first = found.next().map(|(_, value)| value.as_str());
        first.filter(|_| found.next().is_none())
    }
}

/// The answer to a hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookAnswer {
    /// HTTP status, 200 to 599.
    pub status: u16,
    /// Plain text.
    pub body: Text<1024>,
}

impl HookAnswer {
    /// An answer without a body.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self { status, body: Text::default() }
    }
}

/// The caller has no account of this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("the caller has no account of this name; check [channel.NAME] of the configuration")]
pub struct NoAccount;

service! {
    /// Hooks from outside.
    pub trait Ingress {
        /// The next hook of an account of the caller's; none after 20 s, or at once if `held` is false.
        [once + wait, 3200, 30]
        async fn next(account: Name, held: bool) -> Result<Option<Hook>, NoAccount>;
        /// Answers a hook of an account of the caller's. One whose sender has gone takes no answer.
        [idempotent, 4, 5]
        async fn answer(account: Name, id: HookId, answer: HookAnswer) -> Result<(), NoAccount>;
    }
}
