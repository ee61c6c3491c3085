//! Hands a directory over as a workspace: a connection of its own, whose first bytes carry the descriptor.
//!
//! The directory is opened here, with the caller's own rights; agentd looks at its owner before it is used.

use crate::app::App;
use crate::failure::Failure;
use crate::link::{self, PATIENCE, Trouble};
use ipc_proto::ids::WorkspaceId;
use manifest::Process;
use manifest::command::Answer;
use nix::fcntl::{OFlag, open};
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use nix::sys::stat::Mode;
use std::io::{self, IoSlice, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use wire::hello::{ATTACHED, Hello, Purpose};

/// Hands `directory` over and gives the id that control knows it by.
///
/// # Errors
/// Not a directory, not the caller's, too many attached, or the host is away.
pub(crate) async fn attach(app: &App, directory: &Path) -> Result<WorkspaceId, Failure> {
    let opened = open_directory(directory)?;
    let answer = app.link.patiently(async || hand_over(app.link.path(), opened.as_fd())).await?;
    let [status, id @ ..] = answer;
    match Answer::from_number(u64::from(status)) {
        Some(Answer::Ok) => Ok(WorkspaceId::from_bytes(id)),
        Some(Answer::NotADirectory) => Err(Failure::NotADirectory(directory.to_owned())),
        Some(Answer::Full) => Err(Failure::TooManyAttached),
        Some(Answer::NotYours | Answer::NoSuchProcess) | None => Err(Failure::NotYours(directory.to_owned())),
    }
}

fn open_directory(path: &Path) -> Result<OwnedFd, Failure> {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    open(path, flags, Mode::empty()).map_err(|error| match error {
        nix::Error::ENOTDIR => Failure::NotADirectory(path.to_owned()),
        error => Failure::File { path: path.to_owned(), cause: error.into() },
    })
}

/// One try. It waits without the event loop: nothing else is under way.
fn hand_over(socket: &Path, directory: BorrowedFd<'_>) -> Result<[u8; ATTACHED], Trouble> {
    let mut stream = UnixStream::connect(socket).map_err(link::absent)?;
    let exchange = |stream: &mut UnixStream| -> io::Result<[u8; ATTACHED]> {
        stream.set_read_timeout(Some(PATIENCE))?;
        let hello = Hello::new(Process::Agentd, Purpose::Attach).encode();
        let descriptors = [directory.as_raw_fd()];
        let rights = [ControlMessage::ScmRights(&descriptors)];
        sendmsg::<()>(stream.as_raw_fd(), &[IoSlice::new(&hello)], &rights, MsgFlags::MSG_NOSIGNAL, None)?;
        let mut answer = [0; ATTACHED];
        stream.read_exact(&mut answer)?;
        Ok(answer)
    };
    exchange(&mut stream).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Trouble::Slow,
        _ => Trouble::Lost,
    })
}
