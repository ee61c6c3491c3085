//! How agentd ends: exit codes after sysexits.h, one line to standard error.

use crate::journal;
use manifest::Process as Name;
use manifest::command::Failure;
use std::io::Write;
use std::process::ExitCode;

/// Why agentd ends.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// The configuration; its child has said what is wrong.
    #[error("the configuration was refused; nothing was started")]
    Configuration,
    /// The configuration's child could not be run or read.
    #[error("{0}")]
    Config(String),
    /// What is there would not work with this program.
    #[error("a host of this version could not work with what is there; nothing was changed")]
    Unfit,
    /// A layer that the mode needs is missing.
    #[error(transparent)]
    Mode(#[from] confine::probe::ModeFault),
    /// What the state lies on cannot show runners their workspaces.
    #[error(
        "mode system: layer mounts, row runner: {path} lies on a file system that shows no folder under a jail's own ids \
         ({cause}); keep the state on ext4, xfs or btrfs (in a container, on a volume and not on its overlay), or set \
         [host] mode = \"user\""
    )]
    Unmapped {
        /// The folder of workspaces.
        path: String,
        /// The kernel's word.
        cause: std::io::Error,
    },
    /// A directory, socket or lock.
    #[error("{what} {path}: {cause}")]
    Place {
        /// What was tried.
        what: &'static str,
        /// Which.
        path: String,
        /// Why not.
        cause: std::io::Error,
    },
    /// A folder that is there, and that no host may use as its own.
    #[error(
        "{path} is not a host's to use: {why}; name a folder of Cordon's own with --state-dir and --runtime-dir"
    )]
    NotOurs {
        /// Which.
        path: String,
        /// Why not.
        why: String,
    },
    /// Another host runs on this state directory.
    #[error("another host runs on {0}; stop it first or use another --state-dir")]
    Locked(String),
    /// A process could not be started at all.
    #[error("{process} could not be started: {cause}")]
    Start {
        /// Which.
        process: &'static str,
        /// Why not.
        cause: String,
    },
    /// A process could not be started, and another try would find the same.
    #[error("{process} could not be started, and would not be if it were tried again: {cause}")]
    NeverStarts {
        /// Which.
        process: &'static str,
        /// Why not.
        cause: String,
    },
    /// The kernel failed us.
    #[error("{0}: {1}")]
    Kernel(&'static str, std::io::Error),
}

impl Fault {
    /// A process that never was ready has given up, for this reason if it gave one.
    pub(crate) fn of_process(process: Name, failure: Option<Failure>) -> Self {
        let (why, again) = match failure {
            Some(Failure::Config) => ("it refused its configuration", false),
            Some(Failure::NotOwn) => ("a file in its folder is not its own to use", false),
            Some(Failure::NoRoom) => ("the disk of the state directory is full", true),
            Some(Failure::Open) => ("it could not open what it needs", true),
            Some(Failure::Seal) => ("it could not be sealed", true),
            None => ("it gave no reason", true),
        };
        let (process, cause) = (process.name(), format!("{why}; its log says more"));
        if again { Self::Start { process, cause } } else { Self::NeverStarts { process, cause } }
    }

    /// `EX_UNAVAILABLE`, `EX_NOPERM`, `EX_CONFIG`.
    fn code(&self) -> u8 {
        match self {
            Self::Configuration
            | Self::Config(_)
            | Self::Mode(_)
            | Self::Unfit
            | Self::Unmapped { .. }
            | Self::NotOurs { .. }
            | Self::NeverStarts { .. } => 78,
            Self::Place { cause, .. } if cause.kind() == std::io::ErrorKind::PermissionDenied => 77,
            Self::Place { cause, .. } if cause.kind() == std::io::ErrorKind::InvalidData => 78,
            Self::Place { .. } | Self::Locked(_) | Self::Start { .. } | Self::Kernel(..) => 69,
        }
    }
}

/// Ends by a result.
pub(crate) fn of(result: Result<(), Fault>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            put(&journal::fault(&format!("agentd: {fault}")));
            ExitCode::from(fault.code())
        }
    }
}

/// Ends after a usage error: `EX_USAGE`.
pub(crate) fn usage(what: &str) -> ExitCode {
    put(&journal::fault(&format!("agentd: {what}\ntry `agentd --help`")));
    ExitCode::from(64)
}

/// Prints and ends well. That nobody reads it is no reason to end otherwise.
pub(crate) fn print(text: &str) -> ExitCode {
    drop(std::io::stdout().write_all(text.as_bytes()));
    ExitCode::SUCCESS
}

/// One line to standard error, with its gravity where that is the journal.
pub(crate) fn say(line: &str) {
    put(&journal::line(line));
}

/// That it cannot be written is no reason to stop.
fn put(text: &str) {
    drop(std::io::stderr().write_all(text.as_bytes()));
}
