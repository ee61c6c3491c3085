//! Faults of a backup, each with a sentence, and the part of the backup that can still be trusted.

use std::path::PathBuf;

/// The fault.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// The file to be made is there.
    #[error("{} is there already, and a backup is never overwritten; name another file", .0.display())]
    Exists(PathBuf),
    /// The folder to restore into is not empty.
    #[error(
        "{} is not an empty folder, and a backup is only put where nothing is; name another, or move its files away",
        .0.display()
    )]
    Occupied(PathBuf),
    /// The copy took longer than the processes stood still.
    #[error(
        "the copy was not made while every process stood still ({0}); nothing was written; try again when the host \
         is less busy"
    )]
    NotStill(String),
    /// The disk is too small for the copy.
    #[error(
        "the disk has no room for the copy beside the state directory ({0}); nothing was written; make room, and \
         try again"
    )]
    NoRoom(String),
    /// The manifest is longer than a reader accepts.
    #[error(
        "the state has too many files and folders for a backup: {0}; remove workspaces: agentctl workspace remove ID"
    )]
    TooMany(usize),
    /// Ctrl-C.
    #[error("interrupted; the processes go on, and nothing was written; start it again when it suits")]
    Interrupted,
    /// It does not begin as a backup does.
    #[error("it is no backup of this program's: {0}; name another file")]
    NotABackup(&'static str),
    /// The passphrase or identity is another one.
    #[error(
        "this passphrase or identity does not open it, or its head was changed; try another, or use another copy"
    )]
    WrongKey,
    /// The file ends too early.
    #[error("it is cut short, or its end was changed; use another copy")]
    CutShort,
    /// The file was changed.
    #[error("it was changed: {0}; use another copy")]
    Changed(&'static str),
    /// A member is not what the manifest says.
    #[error("its member {0} is not the one that its manifest lists; use another copy")]
    Member(String),
    /// Another member stands where one is listed.
    #[error(
        "its member {found} stands where {listed} is listed: one was renamed, added or taken away; use another copy"
    )]
    Misplaced {
        /// The name that was found.
        found: String,
        /// The one that is listed.
        listed: String,
    },
    /// A member that is listed is not there.
    #[error("its member {0} is listed and not there; use another copy")]
    Missing(String),
    /// A path that leads elsewhere.
    #[error("its member {0} has no name that may be restored; use another copy")]
    Path(String),
    /// A newer program made it.
    #[error(
        "a newer Cordon made it: {what} is of version {found}, this one knows {known}; use the newer one"
    )]
    Newer {
        /// The manifest or a database.
        what: String,
        /// Its version.
        found: u32,
        /// The newest that is known.
        known: u32,
    },
    /// An older program made it, in a form that this one does not read.
    #[error(
        "an older Cordon made it: its manifest is of version {found}, this one reads {known}; use the older one to \
         restore it, and make a new backup"
    )]
    Older {
        /// Its version.
        found: u32,
        /// The only one that is read.
        known: u32,
    },
    /// The record in it does not hold.
    #[error("the record in it does not hold: {0}; use another copy")]
    Record(String),
}

impl Fault {
    /// Its fixed name for programs.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Exists(_) => "exists",
            Self::Occupied(_) => "not_empty",
            Self::NotStill(_) => "not_still",
            Self::NoRoom(_) => "no_room",
            Self::TooMany(_) => "too_many",
            Self::Interrupted => "interrupted",
            Self::NotABackup(_) => "not_a_backup",
            Self::WrongKey => "wrong_key",
            Self::CutShort => "cut_short",
            Self::Changed(_) | Self::Member(_) => "changed",
            Self::Misplaced { .. } => "misplaced",
            Self::Missing(_) => "missing",
            Self::Path(_) => "bad_path",
            Self::Newer { .. } => "newer",
            Self::Older { .. } => "older",
            Self::Record(_) => "record",
        }
    }
}

/// A fault, and the part that may still be trusted.
#[derive(Debug, thiserror::Error)]
#[error("{fault}{}", .trustworthy.as_ref().map(|what| format!("; trustworthy: {what}")).unwrap_or_default())]
pub(crate) struct Broken {
    /// The fault.
    pub(crate) fault: Fault,
    /// The part that may still be trusted, if there is a file.
    pub(crate) trustworthy: Option<String>,
}

impl From<Fault> for Broken {
    fn from(fault: Fault) -> Self {
        Self { fault, trustworthy: None }
    }
}
