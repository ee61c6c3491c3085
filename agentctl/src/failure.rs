//! The failure of a command: the sentence for a person, the fixed name for a program, and the exit status.
//!
//! A message names the step, the object and the cause; it never holds a secret or content.

pub(crate) mod backup;
mod kinds;
pub(crate) mod tunnel;

use backup::{Broken, Fault};
use ipc_proto::bounded::TooLong;
use ipc_proto::control::ControlError;
use ipc_proto::gate::RelayError;
use ipc_proto::router::RouterError;
use std::io;
use std::path::{Path, PathBuf};
use tunnel::TunnelFault;

/// The arguments are wrong.
pub(crate) const USAGE: u8 = 64;
/// The host cannot be reached.
pub(crate) const UNREACHABLE: u8 = 69;
/// The caller lacks the right.
pub(crate) const NOT_ALLOWED: u8 = 77;
/// The configuration is wrong.
pub(crate) const CONFIGURATION: u8 = 78;

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::Backup(fault.into())
    }
}

/// The socket that did not answer, and those that are not there.
fn tried(path: &Path, others: &[PathBuf]) -> String {
    let others: Vec<String> = others.iter().map(|other| other.display().to_string()).collect();
    let none = format!(" (there is no socket at {} either)", others.join(" and "));
    format!("{}{}", path.display(), if others.is_empty() { "" } else { &none })
}

/// The failure of a command.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// Arguments that do not fit each other, found after parsing.
    #[error("{0}")]
    Usage(String),
    /// Nobody listens at the socket, or the connection broke and did not come back.
    #[error(
        "no host answers at {}: {cause}; start one: agentd run, or systemctl start cordon; or name its socket: \
         --socket PATH",
        tried(path, others)
    )]
    Unreachable {
        /// The socket.
        path: PathBuf,
        /// The other sockets that were tried before.
        others: Vec<PathBuf>,
        /// The cause.
        cause: String,
    },
    /// The socket may not be opened by this user.
    #[error(
        "the socket {} may not be opened: {cause}; use the host's own user, or --socket with another host's",
        path.display()
    )]
    SocketDenied {
        /// The socket.
        path: PathBuf,
        /// The kernel's error.
        cause: io::Error,
    },
    /// Control speaks another version of the protocol.
    #[error("control speaks another protocol version than this agentctl; use the one of the host's release")]
    WrongVersion,
    /// The caller has as many connections as one user may have.
    #[error("as many connections of yours are open as there may be; try again when one has ended")]
    NoSlot,
    /// Control took longer than the method allows.
    #[error("no answer within the deadline; try again, and look at `agentctl status`")]
    Deadline,
    /// Control refused the call without reading it.
    #[error("control refused the call: {0}; use the agentctl of the host's release")]
    Refused(io::ErrorKind),
    /// Control's own reason.
    #[error("{0}")]
    Control(#[from] ControlError),
    /// No user of that name. The router has the same error for an unknown caller.
    #[error("no such user; agentctl user list names the users")]
    NoSuchUser,
    /// A value is over its bound.
    #[error("{what}: {why}; give less")]
    TooLong {
        /// The value.
        what: &'static str,
        /// Its length and its bound.
        why: TooLong,
    },
    /// The workspace is not a directory.
    #[error("the workspace {} is not a directory; make it, or name another", .0.display())]
    NotADirectory(PathBuf),
    /// The workspace belongs to somebody else.
    #[error("the workspace {} is another user's; use a directory of your own, or copy it", .0.display())]
    NotYours(PathBuf),
    /// The workspace contains the host's own files, or is among them.
    #[error(
        "the workspace {} is in the host's own state, or has it in it; give another directory",
        .0.display()
    )]
    HostsOwn(PathBuf),
    /// The directory's file system did not answer.
    #[error(
        "the workspace {} does not answer within 2 s: its file system is stalled; use a directory of this machine's \
         own disk",
        .0.display()
    )]
    DirectoryStalls(PathBuf),
    /// The directory's file system is not this machine's own.
    #[error(
        "the workspace {} is on a network or FUSE file system, which may stall; copy it to a disk of this machine",
        .0.display()
    )]
    DirectoryRemote(PathBuf),
    /// A program to run is where no jail sees it.
    #[error(
        "{} cannot be seen from a jail, which has the machine's /usr and the workspace alone; {remedy}",
        found.display()
    )]
    ProgramUnseen {
        /// The program.
        found: PathBuf,
        /// The way to run it.
        remedy: String,
    },
    /// As many directories are attached as one user may have.
    #[error(
        "as many directories are attached as one user may have (32); end a session that works in one: agentctl \
         session list, agentctl session end NAME"
    )]
    TooManyAttached,
    /// A command would replace an existing file.
    #[error("{} is there already; give --force to replace it, or another name", .0.display())]
    Exists(PathBuf),
    /// The path of an output file is a link.
    #[error("{} is a link; name the file that is meant", .0.display())]
    IsLink(PathBuf),
    /// A file cannot be read or written.
    #[error("{}: {cause}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// The kernel's error.
        cause: io::Error,
    },
    /// The vault's public key cannot be trusted.
    #[error(
        "the public key {} cannot be trusted: {why}; agentctl doctor --fix mends its owner and mode",
        path.display()
    )]
    PublicKey {
        /// The key file.
        path: PathBuf,
        /// The fault.
        why: String,
    },
    /// A login failed: nobody consented, or the service refused.
    #[error("{0}")]
    Login(String),
    /// The value could not be sealed.
    #[error("the value could not be sealed; try again")]
    Seal,
    /// The kernel has no random bytes.
    #[error("the kernel gives no random bytes: {0}; wait until the machine has started, and try again")]
    Random(getrandom::Error),
    /// The configuration, old or new, is refused.
    #[error("{0}")]
    Configuration(String),
    /// A program of the same release is not installed.
    #[error("the program {name} is not beside agentctl, nor in ../libexec/cordon; install the release whole")]
    NoProgram {
        /// Its name.
        name: &'static str,
    },
    /// A program of the same release could not be run, or did not answer in its format.
    #[error("the program {name} failed: {why}; install the release whole, or look at agentctl doctor")]
    Program {
        /// Its name.
        name: &'static str,
        /// How.
        why: String,
    },
    /// The person's own editor could not be run, or did not end well.
    #[error("the editor {name}: {why}; name another in VISUAL or EDITOR")]
    Editor {
        /// Its name in the variable.
        name: String,
        /// The cause.
        why: String,
    },
    /// The text from a person's editor could not be delivered.
    #[error("{cause}; the edited text is in {}", path.display())]
    Undelivered {
        /// The file.
        path: PathBuf,
        /// Why not.
        cause: Box<Failure>,
    },
    /// No agent of that name; the valid names are listed.
    #[error("no agent {name}; name one of: {there}")]
    NoAgent {
        /// The given name.
        name: String,
        /// The known names.
        there: String,
    },
    /// No process of that name; the valid names are listed.
    #[error("no such process; name one of: {0}")]
    NoProcess(&'static str),
    /// A line of a file of probes or memories is wrong.
    #[error("{}, line {line}: {why}; nothing was done; correct the line", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The fault.
        why: String,
    },
    /// A turn failed.
    #[error("{message}")]
    Turn {
        /// The fixed word.
        kind: &'static str,
        /// The host's message.
        message: String,
    },
    /// A checkpoint is of another log than the record.
    #[error("the checkpoint is of the log {stored}, and this one is {own}; use a checkpoint of this log")]
    OtherLog {
        /// The log of the checkpoint.
        stored: String,
        /// The log of the record.
        own: String,
    },
    /// A backup cannot be made, verified or restored.
    #[error("{0}")]
    Backup(#[from] Broken),
    /// A tunnel cannot be opened, closed or run.
    #[error("{0}")]
    Tunnel(#[from] TunnelFault),
    /// A server of the Model Context Protocol refused, or did not answer.
    #[error("the server {name} gave nothing back: {why}; look at it: agentctl mcp doctor {name}")]
    Server {
        /// Its name.
        name: String,
        /// Its own words, or the host's.
        why: String,
    },
    /// Interrupted twice, before the turn's end was seen.
    #[error("interrupted; the turn was asked to stop; see agentctl message list for its end")]
    Interrupted,
    /// Standard output or standard input is gone.
    #[error("the terminal or pipe failed: {0}; run it again at a terminal, or with its output in a file")]
    Output(#[from] io::Error),
    /// No event loop.
    #[error("no event loop: {0}; raise the limit of open files (ulimit -n)")]
    Runtime(io::Error),
}

impl Failure {
    /// The fixed word of this failure, as it stands in `error.type`.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Usage(_) => "usage",
            Self::Unreachable { .. } => "unreachable",
            Self::SocketDenied { .. } | Self::Refused(io::ErrorKind::PermissionDenied) => "not_allowed",
            Self::WrongVersion => "wrong_version",
            Self::NoSlot => "busy",
            Self::Deadline => "deadline",
            Self::Refused(_) => "refused",
            Self::Control(error) => kinds::control(error),
            Self::NoSuchUser => "no_user",
            Self::TooLong { .. } => "too_long",
            Self::NotADirectory(_) => "not_a_directory",
            Self::NotYours(_) => "not_yours",
            Self::HostsOwn(_) => "hosts_own",
            Self::DirectoryStalls(_) => "directory_stalls",
            Self::DirectoryRemote(_) => "directory_remote",
            Self::ProgramUnseen { .. } => "program_unseen",
            Self::TooManyAttached => "too_many_attached",
            Self::Exists(_) => "exists",
            Self::IsLink(_) => "link",
            Self::File { .. } => "file",
            Self::PublicKey { .. } => "public_key",
            Self::Login(_) => "login",
            Self::Seal => "seal",
            Self::Random(_) => "random",
            Self::Configuration(_) => "configuration",
            Self::NoProgram { .. } | Self::Program { .. } => "program",
            Self::Editor { .. } => "editor",
            Self::Undelivered { cause, .. } => cause.kind(),
            Self::NoAgent { .. } => "no_agent",
            Self::NoProcess(_) => "no_process",
            Self::Malformed { .. } => "malformed",
            Self::Turn { kind, .. } => kind,
            Self::OtherLog { .. } => "other_log",
            Self::Backup(broken) => broken.fault.kind(),
            Self::Tunnel(fault) => fault.kind(),
            Self::Server { .. } => "server",
            Self::Interrupted => "interrupted",
            Self::Output(_) => "output",
            Self::Runtime(_) => "runtime",
        }
    }

    /// The exit status that says the same.
    pub(crate) const fn exit(&self) -> u8 {
        match self {
            Self::Usage(_) => USAGE,
            Self::Unreachable { .. }
            | Self::WrongVersion
            | Self::Deadline
            | Self::Control(ControlError::Down(_) | ControlError::Relay(RelayError::Down(_))) => UNREACHABLE,
            Self::SocketDenied { .. }
            | Self::NotYours(_)
            | Self::HostsOwn(_)
            | Self::Refused(io::ErrorKind::PermissionDenied)
            | Self::Control(
                ControlError::NotAllowed(_)
                | ControlError::Router(RouterError::NoUser | RouterError::OwnerOnly),
            ) => NOT_ALLOWED,
            Self::Configuration(_) => CONFIGURATION,
            Self::Undelivered { cause, .. } => cause.exit(),
            Self::Tunnel(fault) => fault.exit(),
            Self::Interrupted | Self::Backup(Broken { fault: Fault::Interrupted, .. }) => 130,
            _ => 1,
        }
    }
}
