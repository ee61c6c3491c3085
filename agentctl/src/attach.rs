//! Hands a directory over as a workspace, over a connection of its own. Its first bytes carry the directory's descriptor
//! and that of the mount namespace in which it was opened.
//!
//! The directory is opened here, with the caller's own rights; agentd checks its owner before it is used.

use crate::app::App;
use crate::failure::Failure;
use crate::link::{self, PATIENCE, Trouble};
use ipc_proto::ids::WorkspaceId;
use ipc_proto::label::{Class, Trust};
use manifest::Process;
use manifest::command::Answer;
use nix::fcntl::{OFlag, open};
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use nix::sys::stat::Mode;
use std::io::{self, IoSlice, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use wire::hello::{ATTACHED, HELLO, Hello, Purpose};

/// A directory to work in, and its declared label.
#[derive(clap::Args)]
pub(crate) struct Directory {
    /// Work in this directory of yours
    #[arg(long, short, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Your trust in its contents, when it is used for the first time; untrusted by default
    #[arg(long, value_name = "TRUST", requires = "workspace")]
    workspace_trust: Option<Trusted>,
    /// The confidentiality of its contents; internal by default
    #[arg(long, value_name = "CLASS", requires = "workspace")]
    workspace_class: Option<Classed>,
}

/// The trust that an owner may declare; `system` is not among them.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Trusted {
    /// All of it is yours
    User,
    /// All of it is from a known source
    Verified,
    /// It may be from anywhere
    Untrusted,
}

/// How confidential a directory is.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Classed {
    /// Anybody may see it
    Public,
    /// Known within the host
    Internal,
    /// Personal data
    Sensitive,
    /// Keys and passwords
    Secret,
}

/// A directory that was handed over.
#[derive(Clone, Copy)]
pub(crate) struct Attached {
    /// Its id at control.
    pub(crate) id: WorkspaceId,
    /// Its label, if its owner declared one.
    pub(crate) label: Option<(Trust, Class)>,
}

impl Directory {
    /// The directory, if one was named.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.workspace.as_deref()
    }

    /// Hands the directory over, if one was named.
    ///
    /// # Errors
    /// As [`attach`].
    pub(crate) async fn attach(&self, app: &App) -> Result<Option<Attached>, Failure> {
        let Some(directory) = &self.workspace else { return Ok(None) };
        let id = attach(app, directory).await?;
        Ok(Some(Attached { id, label: self.label() }))
    }

    /// The declared label. If only one part is given, the other has its default.
    fn label(&self) -> Option<(Trust, Class)> {
        let trust = self.workspace_trust.map(|trust| match trust {
            Trusted::User => Trust::User,
            Trusted::Verified => Trust::Verified,
            Trusted::Untrusted => Trust::Untrusted,
        });
        let class = self.workspace_class.map(|class| match class {
            Classed::Public => Class::Public,
            Classed::Internal => Class::Internal,
            Classed::Sensitive => Class::Sensitive,
            Classed::Secret => Class::Secret,
        });
        let declared = trust.is_some() || class.is_some();
        declared.then(|| (trust.unwrap_or(Trust::Untrusted), class.unwrap_or(Class::Internal)))
    }
}

/// Hands `directory` over and returns its id at control.
///
/// # Errors
/// Not a directory, not the caller's, too many attached, or the host is away.
pub(crate) async fn attach(app: &App, directory: &Path) -> Result<WorkspaceId, Failure> {
    let opened = open_directory(directory)?;
    // A service sees the host's folders through mounts of its own, and a directory is mounted from where it was opened.
    let there = std::fs::File::open("/proc/self/ns/mnt").ok();
    let descriptors: Vec<BorrowedFd<'_>> =
        std::iter::once(opened.as_fd()).chain(there.as_ref().map(AsFd::as_fd)).collect();
    let answer = app.link.patiently(async || hand_over(app.link.path(), &descriptors)).await?;
    let [status, id @ ..] = answer;
    match Answer::from_number(u64::from(status)) {
        Some(Answer::Ok) => Ok(WorkspaceId::from_bytes(id)),
        Some(Answer::NotADirectory) => Err(Failure::NotADirectory(directory.to_owned())),
        Some(Answer::Full) => Err(Failure::TooManyAttached),
        Some(Answer::Hosts) => Err(Failure::HostsOwn(directory.to_owned())),
        Some(Answer::Stalled) => Err(Failure::DirectoryStalls(directory.to_owned())),
        Some(Answer::Remote) => Err(Failure::DirectoryRemote(directory.to_owned())),
        Some(
            Answer::NotYours
            | Answer::NoSuchProcess
            | Answer::Frozen
            | Answer::NotFrozen
            | Answer::Restless
            | Answer::Busy,
        )
        | None => Err(Failure::NotYours(directory.to_owned())),
    }
}

fn open_directory(path: &Path) -> Result<OwnedFd, Failure> {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    open(path, flags, Mode::empty()).map_err(|error| match error {
        nix::Error::ENOTDIR => Failure::NotADirectory(path.to_owned()),
        error => Failure::File { path: path.to_owned(), cause: error.into() },
    })
}

/// One attempt. It blocks the event loop: nothing else is under way.
fn hand_over(socket: &Path, descriptors: &[BorrowedFd<'_>]) -> Result<[u8; ATTACHED], Trouble> {
    let mut stream = UnixStream::connect(socket).map_err(link::absent)?;
    let exchange = |stream: &mut UnixStream| -> io::Result<Vec<u8>> {
        stream.set_read_timeout(Some(PATIENCE))?;
        let hello = Hello::new(Process::Agentd, Purpose::Attach).encode();
        let descriptors: Vec<RawFd> = descriptors.iter().map(AsRawFd::as_raw_fd).collect();
        let rights = [ControlMessage::ScmRights(&descriptors)];
        let sent =
            sendmsg::<()>(stream.as_raw_fd(), &[IoSlice::new(&hello)], &rights, MsgFlags::MSG_NOSIGNAL, None);
        // A host that is full answers without reading the request.
        let mut answer = Vec::new();
        let read = stream.take(ATTACHED as u64).read_to_end(&mut answer);
        if answer.len() < HELLO {
            read?;
            sent?;
        }
        Ok(answer)
    };
    let answer = exchange(&mut stream).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Trouble::Slow,
        _ => Trouble::Lost,
    })?;
    let word = answer.first_chunk::<HELLO>().and_then(|bytes| Hello::decode(*bytes));
    match answer.try_into() {
        Ok(answer) => Ok(answer),
        Err(_) if word.is_some_and(|word| word.purpose == Purpose::NoSlot) => Err(Trouble::NoSlot),
        Err(_) => Err(Trouble::Lost),
    }
}
