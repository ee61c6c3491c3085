//! Why one row is not kept, though memory is well and has room. Data alone; no reason holds anything of the row.

use serde::{Deserialize, Serialize};

/// Why a row is not kept.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, thiserror::Error,
)]
pub enum Refusal {
    /// Nothing was left of it without its private parts.
    #[error("nothing left to keep")]
    Empty,
    /// It was made to steer a model, and is not of the person's own word.
    #[error("scanner: injection in untrusted content")]
    Injection,
    /// It holds a secret that was not cut out.
    #[error("scanner: a secret that could not be cut out")]
    Secret,
    /// A tag, a key or another name was judged unfit; names are not mended.
    #[error("scanner: a tag or a name that must not be kept")]
    Name,
    /// With what stands for its secrets it is over the bound.
    #[error("over the bound after secrets were cut out")]
    TooLong,
    /// Another row of this owner has its id, in this area or another one.
    #[error("its id is another memory's")]
    IdInUse,
    /// A row with its id was deleted for good by its owner, or is a fact that they did not want.
    #[error("it was deleted here for good")]
    Purged,
    /// Others wrote it, and what it would take away is trusted more.
    #[error("it would take away what is trusted more")]
    LessTrusted,
    /// By its own word it is forgotten by now.
    #[error("its time is over")]
    Expired,
    /// A session of another program is not called as those of this host are.
    #[error("sessions of this client are this host's own")]
    OwnClient,
    /// Memory does not do this for whoever asks.
    #[error("this is not done here")]
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
