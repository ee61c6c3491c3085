//! The reasons for which one row is not stored, though memory works and has room. Data alone; no reason holds any part
//! of the row.

use serde::{Deserialize, Serialize};

/// The reason why a row is not stored.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, thiserror::Error,
)]
pub enum Refusal {
    /// Nothing was left of it without its private parts.
    #[error("all of it is private; leave out the <private> marks")]
    Empty,
    /// It contains instructions for a model, and is not of the person's own word.
    #[error("scanner: injection in untrusted content; say it in words of your own")]
    Injection,
    /// It holds a secret that was not cut out.
    #[error(
        "scanner: a secret that could not be cut out; leave it out, and store it with `agentctl cred set`"
    )]
    Secret,
    /// A tag, a key or another name is unfit; names are not mended.
    #[error("scanner: a tag or a name that must not be kept; use another")]
    Name,
    /// It is over the bound once its secrets are replaced.
    #[error("over the bound after secrets were cut out; store it in parts")]
    TooLong,
    /// Another row of this owner has its id, in this area or another one.
    #[error("its id is another memory's; leave the id out, or use another")]
    IdInUse,
    /// A row with its id was deleted for good by its owner, or is a fact that they did not want.
    #[error("it was deleted here for good; add it again as a new memory: `agentctl memory add`")]
    Purged,
    /// Others wrote it, and the row that it would replace is trusted more.
    #[error("it would take away what is trusted more; use `agentctl memory revise` to change it yourself")]
    LessTrusted,
    /// Its own expiry is over.
    #[error("its time is over; give a later expiry, or none")]
    Expired,
    /// The session of another program bears the name of this host's own client.
    #[error("sessions of this client are this host's own; use another client's name")]
    OwnClient,
    /// Memory does not do this for the caller.
    #[error("this is not done here; use `agentctl memory`")]
    NotDone,
}

impl Refusal {
    /// Every reason.
    pub const ALL: [Self; 11] = [
        Self::Empty,
        Self::Injection,
        Self::Secret,
        Self::Name,
        Self::TooLong,
        Self::IdInUse,
        Self::Purged,
        Self::LessTrusted,
        Self::Expired,
        Self::OwnClient,
        Self::NotDone,
    ];

    /// Its word for a program.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Injection => "injection",
            Self::Secret => "secret",
            Self::Name => "unfit_name",
            Self::TooLong => "too_long",
            Self::IdInUse => "id_in_use",
            Self::Purged => "purged",
            Self::LessTrusted => "less_trusted",
            Self::Expired => "expired",
            Self::OwnClient => "own_client",
            Self::NotDone => "not_done",
        }
    }
}
