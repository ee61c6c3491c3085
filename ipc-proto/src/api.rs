//! Clients of the API: keys, the scope of each, and how a process that forwards a client's request proves who the client
//! is.
//!
//! A key is 32 random bytes that its owner's `agentctl` makes and shows once. Gateway hashes what a client presents;
//! router keeps the hash of that hash. So neither the record, nor router's disk, nor a message between processes ever
//! holds a key, and a gateway that was taken over has those keys alone that are presented to it. Who comes by its Unix
//! socket is its own word: it can say any uid that the host knows.

use crate::ids::{KeyId, UserId};
use crate::model::ModelName;
use crate::{List, Name, Text};
use serde::{Deserialize, Serialize};

/// The prefix of a key, before its 43 characters of base64url.
pub const KEY_PREFIX: &str = "cdn_";
/// Keys that one host keeps, revoked ones included.
pub const KEYS: usize = 256;
/// Keys of one user other than an owner that are not revoked.
pub const KEYS_PER_USER: usize = 32;
/// Keys that only owners may have, of those that are not revoked.
pub const KEYS_OF_OWNERS: usize = 32;

/// SHA-256 of a key as its client sends it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Presented(pub [u8; 32]);

impl std::fmt::Debug for Presented {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Presented")
    }
}

/// A client of gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Caller {
    /// The bearer of this key.
    Key(Presented),
    /// The peer with this uid on gateway's Unix socket, as the kernel reports it.
    Peer(u32),
}

/// A name that no model has: the scope of a key that may speak to agents alone.
pub const NO_MODEL: &str = "-";

/// Returns whether a word of a scope stands for this model: its own name, or `PROVIDER/*` for each of a provider's.
#[must_use]
pub fn stands_for(word: &str, model: &str) -> bool {
    match word.strip_suffix('*') {
        Some(start) => start.ends_with('/') && model.starts_with(start),
        None => word == model,
    }
}

/// The scope of a key. An empty list of agents or models allows each; a list with only a name that none has allows none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyScope {
    /// Agents it may speak to.
    pub agents: List<Name, 32>,
    /// Models it may pass through to: `provider/model`, or `provider/*`.
    pub models: List<ModelName, 32>,
    /// Origins that may present it from a browser; none if empty.
    pub origins: List<Text<256>, 16>,
    /// Most it may spend in a day, millionths of a US dollar; no bound of its own if `None`.
    pub day_micros: Option<u64>,
    /// When it ends, unix ms.
    pub expires_ms: Option<u64>,
}

/// A key, listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyInfo {
    /// Its id.
    pub id: KeyId,
    /// Its name, unique among those not revoked.
    pub name: Name,
    /// The user whose sessions and money the key uses.
    pub user: Name,
    /// The key's scope.
    pub scope: KeyScope,
    /// When it was made, unix ms.
    pub created_ms: u64,
    /// When it was last used, unix ms, to the minute; 0 if never.
    pub used_ms: u64,
    /// When it was revoked, unix ms.
    pub revoked_ms: Option<u64>,
}

/// A caller's identity and permissions, as router knows them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The key, unless they are known by their uid.
    pub key: Option<KeyId>,
    /// The key's name; `peer` for who has none.
    pub name: Name,
    /// The user.
    pub user: UserId,
    /// Their name.
    pub user_name: Name,
    /// True if they own the host.
    pub owner: bool,
    /// The caller's scope; everything for a caller without a key.
    pub scope: KeyScope,
    /// The agents that there are and that they may speak to.
    pub agents: List<Name, 64>,
}

impl Holder {
    /// Returns whether they may pass through to this model.
    #[must_use]
    pub fn may_use(&self, model: &str) -> bool {
        let models = &self.scope.models;
        models.is_empty() || models.iter().any(|word| stands_for(word, model))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_passes_through_to_the_models_of_its_scope_alone() {
        let holder = |models: &[&str]| Holder {
            key: None,
            name: Name::default(),
            user: UserId::from_bytes([0; 16]),
            user_name: Name::default(),
            owner: false,
            scope: KeyScope {
                models: List::clip(models.iter().map(|name| Text::clip(name))),
                ..KeyScope::default()
            },
            agents: List::default(),
        };
        assert!(holder(&[]).may_use("a/b"));
        let some = holder(&["a/b", "c/*", "d*"]);
        for (model, may) in
            [("a/b", true), ("a/bc", false), ("c/x/y", true), ("cc/x", false), ("d/x", false), ("", false)]
        {
            assert_eq!(some.may_use(model), may, "{model}");
        }
    }
}
