//! The reasons for which the store refuses or fails.

use ipc_proto::ids::MemoryId;
use ipc_proto::memory::{MemoryError, Refusal};
use rusqlite::ErrorCode;

/// Why the open database did not do as it was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    /// SQLite failed; the change was rolled back.
    #[error("the memory database failed: {0}")]
    Database(#[from] rusqlite::Error),
    /// A column holds a value that its type does not allow.
    #[error("the memory database holds a row whose {0} is not valid")]
    Column(&'static str),
    /// It is damaged.
    #[error("the memory database is damaged and only read")]
    ReadOnly,
    /// There is no such row in this scope.
    #[error("no such row")]
    NotFound,
    /// Another row stands in its place.
    #[error("this row is not the current one any more")]
    NotCurrent(MemoryId),
    /// A vector is not one of those that are kept.
    #[error("the vector is not of the embedder whose vectors are kept")]
    OtherEmbedder,
    /// The settled entry cannot be stored.
    #[error("what came of the work is not kept: {0:?}")]
    NotAdmitted(Admission),
}

impl From<StoreError> for MemoryError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::ReadOnly => Self::ReadOnly,
            StoreError::NotFound => Self::NotFound,
            StoreError::OtherEmbedder => Self::OtherEmbedder,
            StoreError::NotCurrent(id) => Self::NotCurrent(id),
            StoreError::NotAdmitted(admission) => {
                admission.refusal().unwrap_or(Self::Refused(Refusal::IdInUse))
            }
            StoreError::Database(error) if is_damage(&error) => Self::Damaged,
            StoreError::Database(_) | StoreError::Column(_) => Self::Storage,
        }
    }
}

/// The verdict on a row that is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It is new, and there is room.
    New,
    /// This very row is there already.
    Already,
    /// Its id names another row, here or in another area.
    Taken,
    /// Its id names a row that was deleted for good, or a fact that its owner did not want.
    Purged,
    /// It would replace a row that is trusted more.
    LessTrusted,
    /// It says of itself that it is forgotten by now.
    Expired,
    /// Its owner has as many rows as one may have.
    Full,
    /// Its owner's rows take as much as they may.
    ShareFull,
    /// It would be a fact that no person stands for.
    NeedsPerson,
    /// The row that it revises is not here.
    Unknown,
    /// The row that it revises was revised or removed; this row stands in its place.
    NotCurrent(MemoryId),
}

impl Admission {
    /// The refusal of a row that is not admitted.
    pub(crate) const fn refusal(self) -> Option<MemoryError> {
        match self {
            Self::New | Self::Already => None,
            Self::Taken => Some(MemoryError::Refused(Refusal::IdInUse)),
            Self::Purged => Some(MemoryError::Refused(Refusal::Purged)),
            Self::LessTrusted => Some(MemoryError::Refused(Refusal::LessTrusted)),
            Self::Expired => Some(MemoryError::Refused(Refusal::Expired)),
            Self::Full => Some(MemoryError::Full),
            Self::ShareFull => Some(MemoryError::ShareFull),
            Self::NeedsPerson => Some(MemoryError::NeedsPerson),
            Self::Unknown => Some(MemoryError::NotFound),
            Self::NotCurrent(id) => Some(MemoryError::NotCurrent(id)),
        }
    }
}

/// Returns whether the file itself is at fault.
fn is_damage(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(code, Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}
