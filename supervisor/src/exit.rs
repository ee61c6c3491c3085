//! How agentd ends: exit codes after sysexits.h, one line to standard error.

use crate::journal;
use manifest::Process as Name;
use manifest::command::Failure;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// Why agentd ends.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// The configuration was refused; the child that read it has printed why.
    #[error("the configuration was refused; nothing was started")]
    Configuration,
    /// The child that reads the configuration could not be run, or its output not be read.
    #[error("{0}")]
    Config(String),
    /// The state that is there does not work with this program.
    #[error("this version cannot run the configuration and the state that are there; nothing was changed")]
    Unfit,
    /// A layer that the mode needs is missing.
    #[error(transparent)]
    Mode(#[from] confine::probe::ModeFault),
    /// The file system of the state directory has no id-mapped mounts, which workspaces need.
    #[error(
        "mode system: layer mounts, row runner: {path} lies on a file system that shows no folder under a jail's own ids \
         ({cause}); keep the state on ext4, xfs or btrfs (in a container, on a volume and not on its overlay), or set \
         [host] mode = \"user\""
    )]
    Unmapped {
        /// The folder of workspaces.
        path: String,
        /// The kernel's error.
        cause: std::io::Error,
    },
    /// A directory, socket or lock.
    #[error("{what} {path}: {cause}")]
    Place {
        /// The act that failed.
        what: &'static str,
        /// Its path.
        path: String,
        /// The kernel's error.
        cause: std::io::Error,
    },
    /// A folder that is there, and that no host may use as its own.
    #[error(
        "{path} is not a host's to use: {why}; name a folder of Cordon's own with --state-dir and --runtime-dir"
    )]
    NotOurs {
        /// The folder.
        path: String,
        /// The reason.
        why: String,
    },
    /// Another host runs on this state directory.
    #[error("another host runs on {0}; stop it first or use another --state-dir")]
    Locked(String),
    /// A process could not be started at all.
    #[error("{process} could not be started: {cause}")]
    Start {
        /// Its name.
        process: &'static str,
        /// The reason.
        cause: String,
    },
    /// A process could not be started, and another try would find the same.
    #[error("{process} could not be started, and would not be if it were tried again: {cause}")]
    NeverStarts {
        /// Its name.
        process: &'static str,
        /// The reason.
        cause: String,
    },
    /// A system call failed.
    #[error("{0}: {1}")]
    Kernel(&'static str, std::io::Error),
}

impl Fault {
    /// The fault of a process that gave up before it was ready, with the reason that it gave.
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

/// Names the path in the fault of a failed file operation.
pub(crate) fn at<'a>(what: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Fault + 'a {
    move |cause| Fault::Place { what, path: path.display().to_string(), cause }
}

/// Returns the exit code of a result, and prints its fault.
pub(crate) fn of(result: Result<(), Fault>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            put(&journal::fault(&format!("agentd: {fault}")));
            ExitCode::from(fault.code())
        }
    }
}

/// Prints a usage error and returns `EX_USAGE`.
pub(crate) fn usage(what: &str) -> ExitCode {
    put(&journal::fault(&format!("agentd: {what}\ntry `agentd --help`")));
    ExitCode::from(64)
}

/// Prints to standard output and returns success, also if nobody reads it.
pub(crate) fn print(text: &str) -> ExitCode {
    drop(std::io::stdout().write_all(text.as_bytes()));
    ExitCode::SUCCESS
}

/// Writes one line to standard error, with its priority if that is the journal.
pub(crate) fn say(line: &str) {
    put(&journal::line(line));
}

/// Writes to standard error; a failure is ignored.
fn put(text: &str) {
    drop(std::io::stderr().write_all(text.as_bytes()));
}
