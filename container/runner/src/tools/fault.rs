//! The reasons for which a tool failed, in words that a model can act on. It carries paths and numbers, never content
//! of files.

use nix::errno::Errno;
use std::io;

/// One way in which a tool fails.
#[derive(Debug, thiserror::Error)]
pub enum ToolFault {
    /// The path, or a symbolic link on it, leads out of every directory the tool may reach.
    #[error("`{path}` is outside the workspace{roots}, or a symbolic link on the way leads out of it")]
    Outside {
        /// As it was given.
        path: String,
        /// The readable roots, for the model to know.
        roots: String,
    },
    /// There is nothing of that name.
    #[error("`{path}` does not exist")]
    NotFound {
        /// The file or folder.
        path: String,
    },
    /// A folder was needed.
    #[error("`{path}`: a part of this path is not a folder")]
    NotFolder {
        /// The path.
        path: String,
    },
    /// A file was needed.
    #[error("`{path}` is a folder; use glob to list it")]
    Folder {
        /// The path.
        path: String,
    },
    /// Neither a file nor a folder: reading it could block or act on a device.
    #[error("`{path}` is {what}, not a regular file, and is left alone")]
    Special {
        /// The path.
        path: String,
        /// The kind of file found.
        what: &'static str,
    },
    /// The last part of the path is a symbolic link, which is not written through.
    #[error("`{path}` is a symbolic link, which is not followed here; name the file that it stands for")]
    Link {
        /// The path.
        path: String,
    },
    /// It lies in a root that is only to be read.
    #[error("`{path}` is in a read-only place; only the workspace can be written")]
    ReadOnly {
        /// The path.
        path: String,
    },
    /// It exists and was not to be replaced.
    #[error("`{path}` exists, and overwrite is false; nothing was changed")]
    Exists {
        /// The path.
        path: String,
    },
    /// It is larger than the tool's bound.
    #[error("`{path}` has {size} bytes, more than the {limit} this tool takes; nothing was changed")]
    TooLarge {
        /// The path.
        path: String,
        /// Bytes it has.
        size: u64,
        /// Bytes allowed.
        limit: usize,
    },
    /// It is not UTF-8 text, or has NUL bytes.
    #[error("`{path}` is not UTF-8 text{hint}")]
    NotText {
        /// The path.
        path: String,
        /// The advice on how to go on.
        hint: &'static str,
    },
    /// An edit's old text is not in the file.
    #[error("edits[{index}].oldText does not occur in `{path}`{hint}; nothing was changed")]
    NoMatch {
        /// The number of the edit, from 0.
        index: usize,
        /// The path.
        path: String,
        /// The advice: the closest text.
        hint: String,
    },
    /// An edit's old text is there more than once.
    #[error(
        "edits[{index}].oldText occurs more than once in `{path}` (lines {lines}); give more of the text around the one meant; nothing was changed"
    )]
    Ambiguous {
        /// The number of the edit, from 0.
        index: usize,
        /// The path.
        path: String,
        /// The first few lines it begins on.
        lines: String,
    },
    /// The kernel does not let it.
    #[error("`{path}`: permission denied to {doing}")]
    Denied {
        /// The path.
        path: String,
        /// The operation that failed.
        doing: &'static str,
    },
    /// Anything else the kernel says.
    #[error("`{path}`: cannot {doing}: {cause}")]
    System {
        /// The path.
        path: String,
        /// The operation that failed.
        doing: &'static str,
        /// Why not.
        cause: io::Error,
    },
    /// The command could not be started.
    #[error("the command could not be started: {0}")]
    NotStarted(io::Error),
    /// The sign to stop was given.
    #[error("stopped: the turn was cancelled")]
    Aborted,
    /// The turn's time is over.
    #[error("stopped: the time of this turn is over")]
    TurnOver,
}

impl ToolFault {
    /// A short name that does not change, for counters and the record.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Outside { .. } => "outside_workspace",
            Self::NotFound { .. } => "not_found",
            Self::NotFolder { .. } => "not_a_folder",
            Self::Folder { .. } => "is_a_folder",
            Self::Special { .. } => "not_a_regular_file",
            Self::Link { .. } => "symbolic_link",
            Self::ReadOnly { .. } => "read_only",
            Self::Exists { .. } => "exists",
            Self::TooLarge { .. } => "too_large",
            Self::NotText { .. } => "not_text",
            Self::NoMatch { .. } => "no_match",
            Self::Ambiguous { .. } => "ambiguous",
            Self::Denied { .. } => "denied",
            Self::System { .. } => "system",
            Self::NotStarted(_) => "not_started",
            Self::Aborted => "aborted",
            Self::TurnOver => "turn_over",
        }
    }

    /// The fault that the kernel's error means for this path.
    pub(super) fn from_errno(path: &str, doing: &'static str, errno: Errno) -> Self {
        let path = path.to_owned();
        match errno {
            Errno::ENOENT => Self::NotFound { path },
            Errno::ENOTDIR => Self::NotFolder { path },
            Errno::EISDIR => Self::Folder { path },
            Errno::EEXIST => Self::Exists { path },
            Errno::ELOOP => Self::Link { path },
            Errno::EXDEV => Self::Outside { path, roots: String::new() },
            Errno::ENXIO => Self::Special { path, what: "a socket or a pipe" },
            Errno::EACCES | Errno::EPERM | Errno::EROFS => Self::Denied { path, doing },
            other => Self::System { path, doing, cause: other.into() },
        }
    }

    /// The same for an error of the standard library.
    pub(super) fn from_io(path: &str, doing: &'static str, cause: io::Error) -> Self {
        match cause.raw_os_error() {
            Some(code) => Self::from_errno(path, doing, Errno::from_raw(code)),
            None => Self::System { path: path.to_owned(), doing, cause },
        }
    }
}
