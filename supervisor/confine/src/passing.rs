//! Descriptors and frames over Unix sockets: pairs, passing, sealed memory. Safe wrappers of unsafe calls.

use crate::sys;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, recvmsg, sendmsg,
    socketpair,
};
use std::ffi::CStr;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// The number of a process's control descriptor, and of the gate's socket in a runner.
pub const CONTROL: RawFd = 3;
/// The number of the socket over which a runner passes agentd its listener, and which it then closes.
pub const NOTICES: RawFd = 4;
/// The most descriptors in one message.
const MOST: usize = 3;

static TAKEN: AtomicBool = AtomicBool::new(false);

/// Takes the control descriptor of this program, once. Its timeouts are unchanged.
#[must_use]
pub fn inherited_control() -> Option<OwnedFd> {
    if TAKEN.swap(true, Ordering::Relaxed) {
        return None;
    }
    let control = sys::inherited(CONTROL)?;
    // This program's children, if it has any, must not inherit it.
    nix::fcntl::fcntl(control.as_fd(), nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::FD_CLOEXEC)).ok()?;
    Some(control)
}

/// Takes the socket over which this runner passes agentd its listener, once. `None` if it has none.
#[must_use]
pub fn inherited_notices() -> Option<OwnedFd> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    if TAKEN.swap(true, Ordering::Relaxed) {
        return None;
    }
    sys::inherited(NOTICES)
}

/// A socket pair for an edge. Both ends refuse descriptors.
///
/// # Errors
/// The kernel's error.
pub fn stream_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (one, other) = socketpair(AddressFamily::Unix, SockType::Stream, None, SockFlag::SOCK_CLOEXEC)?;
    refuse_descriptors(one.as_fd());
    refuse_descriptors(other.as_fd());
    Ok((one, other))
}

/// A socket pair for frames and descriptors.
///
/// # Errors
/// The kernel's error.
pub fn frame_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let pair = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)?;
    Ok(pair)
}

/// Makes reads and writes return `WouldBlock` instead of blocking.
///
/// # Errors
/// The kernel's error.
pub fn set_nonblocking(descriptor: BorrowedFd<'_>) -> io::Result<()> {
    use nix::fcntl::{FcntlArg, OFlag, fcntl};
    let flags = OFlag::from_bits_truncate(fcntl(descriptor, FcntlArg::F_GETFL)?);
    fcntl(descriptor, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    Ok(())
}

/// Makes this end refuse descriptors from its peer (`SO_PASSRIGHTS` of 0), where the kernel supports that.
pub fn refuse_descriptors(end: BorrowedFd<'_>) {
    const SO_PASSRIGHTS: libc::c_int = 83;
    let off: libc::c_int = 0;
    // SAFETY: option value and length are valid for the call. A kernel without the option answers ENOPROTOOPT; the receiver
    // then still has no room for descriptors in its recvmsg.
    unsafe {
        libc::setsockopt(
            end.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_PASSRIGHTS,
            (&raw const off).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        );
    }
}

/// Sends one message with descriptors; never blocks.
///
/// # Errors
/// `WouldBlock` when the receiver does not read; else what the kernel says.
pub fn send(socket: BorrowedFd<'_>, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let raw: Vec<RawFd> = descriptors.iter().map(AsRawFd::as_raw_fd).collect();
    let rights = [ControlMessage::ScmRights(&raw)];
    let rights = if raw.is_empty() { &[] } else { rights.as_slice() };
    let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
    sendmsg::<()>(socket.as_raw_fd(), &[IoSlice::new(bytes)], rights, flags, None)?;
    Ok(())
}

/// Passes a listener: the one message of a process that is half sealed, in a form of its own that the first filter allows.
pub(crate) fn hand_over(socket: BorrowedFd<'_>, bytes: &[u8], listener: &OwnedFd) -> io::Result<()> {
    let flags = MsgFlags::from_bits_retain(crate::filters::HAND_OVER);
    let raw = [listener.as_raw_fd()];
    let rights = [ControlMessage::ScmRights(&raw)];
    sendmsg::<()>(socket.as_raw_fd(), &[IoSlice::new(bytes)], &rights, flags, None)?;
    Ok(())
}

/// Sends one message without descriptors; never blocks. Needs `sendto` alone.
///
/// # Errors
/// As [`send`].
pub fn send_plain(socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<()> {
    nix::sys::socket::send(socket.as_raw_fd(), bytes, MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL)?;
    Ok(())
}

/// Receives one message of exactly `N` bytes with its descriptors; `None` at the end of the stream or for a shorter one.
///
/// # Errors
/// `WouldBlock` when there is none and the socket does not block; `EMSGSIZE` for a longer one, which the kernel truncates: it
/// is not accepted, whatever its beginning. Else the kernel's error.
pub fn receive<const N: usize>(socket: BorrowedFd<'_>) -> io::Result<Option<([u8; N], Vec<OwnedFd>)>> {
    let mut bytes = [0; N];
    let mut room = nix::cmsg_space!([RawFd; MOST]);
    let (length, descriptors, cut, long) = {
        let mut parts = [IoSliceMut::new(&mut bytes)];
        let flags = MsgFlags::MSG_CMSG_CLOEXEC;
        let message = recvmsg::<()>(socket.as_raw_fd(), &mut parts, Some(&mut room), flags)?;
        let cut = message.flags.contains(MsgFlags::MSG_CTRUNC);
        let long = message.flags.contains(MsgFlags::MSG_TRUNC);
        let mut descriptors = Vec::new();
        if !cut {
            for control in message.cmsgs()? {
                if let ControlMessageOwned::ScmRights(raw) = control {
                    // SAFETY: the kernel has just installed these for us, and nobody else owns them.
                    descriptors.extend(raw.into_iter().map(|raw| unsafe { OwnedFd::from_raw_fd(raw) }));
                }
            }
        }
        (message.bytes, descriptors, cut, long)
    };
    if cut {
        close_installed(&room);
        return Err(nix::errno::Errno::ENOBUFS.into());
    }
    if long {
        return Err(nix::errno::Errno::EMSGSIZE.into());
    }
    Ok((length == N).then_some((bytes, descriptors)))
}

/// Reads the next `N` bytes and leaves them, and their descriptors, in the socket; `None` at the end of the stream or while there
/// are fewer.
///
/// # Errors
/// `WouldBlock` when there is nothing and the socket does not block; else what the kernel says.
pub fn peek<const N: usize>(socket: BorrowedFd<'_>) -> io::Result<Option<[u8; N]>> {
    read_only(socket, MsgFlags::MSG_PEEK)
}

/// Reads the next `N` bytes. The kernel drops descriptors that came with them: they never become this process's.
///
/// # Errors
/// As [`peek`].
pub fn take_bytes<const N: usize>(socket: BorrowedFd<'_>) -> io::Result<Option<[u8; N]>> {
    read_only(socket, MsgFlags::empty())
}

fn read_only<const N: usize>(socket: BorrowedFd<'_>, flags: MsgFlags) -> io::Result<Option<[u8; N]>> {
    let mut bytes = [0; N];
    let length = nix::sys::socket::recv(socket.as_raw_fd(), &mut bytes, flags)?;
    Ok((length == N).then_some(bytes))
}

/// Closes the descriptors that the kernel installed of a message with too many for the buffer. nix gives no access to them, and a
/// peer could otherwise use up the receiver's descriptors.
fn close_installed(room: &[u8]) {
    let length = room.first_chunk().map_or(0, |length| usize::from_ne_bytes(*length));
    let installed = room.get(size_of::<libc::cmsghdr>()..length).unwrap_or_default();
    for raw in installed.chunks_exact(size_of::<RawFd>()).filter_map(|raw| raw.try_into().ok()) {
        // SAFETY: the kernel has just installed it for us, and nobody else owns it.
        drop(unsafe { OwnedFd::from_raw_fd(RawFd::from_ne_bytes(raw)) });
    }
}

/// A pipe: (reader, writer).
///
/// # Errors
/// The kernel's error.
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC)?)
}

/// Memory with these bytes that nobody can change any more.
///
/// # Errors
/// The kernel's error.
pub fn sealed_memory(name: &CStr, bytes: &[u8]) -> io::Result<OwnedFd> {
    use nix::fcntl::{FcntlArg, SealFlag, fcntl};
    use std::io::{Seek, SeekFrom};
    let memory = memfd_create(name, MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING)?;
    let mut file = File::from(memory);
    file.write_all(bytes)?;
    file.seek(SeekFrom::Start(0))?;
    let seals =
        SealFlag::F_SEAL_WRITE | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_SEAL;
    fcntl(file.as_fd(), FcntlArg::F_ADD_SEALS(seals))?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_arrives_with_its_descriptors_and_another_size_does_not() {
        let (a, b) = frame_pair().unwrap();
        let memory = sealed_memory(c"test", b"hello").unwrap();
        send(a.as_fd(), &[7; 8], &[memory.as_fd()]).unwrap();
        send(a.as_fd(), &[7; 9], &[]).unwrap();
        let (bytes, descriptors) = receive::<8>(b.as_fd()).unwrap().unwrap();
        assert_eq!((bytes, descriptors.len()), ([7; 8], 1));
        assert!(receive::<10>(b.as_fd()).unwrap().is_none());
        drop(a);
        assert!(receive::<8>(b.as_fd()).unwrap().is_none());
    }

    // Holds B-01.
    #[test]
    fn a_longer_message_is_refused_and_its_descriptors_are_closed() {
        let (a, b) = frame_pair().unwrap();
        let (reader, writer) = pipe().unwrap();
        send(a.as_fd(), &[7; 9], &[writer.as_fd()]).unwrap();
        drop(writer);
        let refused = receive::<8>(b.as_fd()).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::EMSGSIZE));
        let mut end = Vec::new();
        assert_eq!(
            std::io::Read::read_to_end(&mut File::from(reader), &mut end).unwrap(),
            0,
            "nobody holds it"
        );
        send(a.as_fd(), &[8; 8], &[]).unwrap();
        assert_eq!(receive::<8>(b.as_fd()).unwrap().unwrap().0, [8; 8], "the next one is whole");
    }

    #[test]
    fn too_many_descriptors_are_refused_and_none_of_them_stays_open() {
        let (a, b) = frame_pair().unwrap();
        let memory = sealed_memory(c"one-too-many", b"x").unwrap();
        // Only descriptors of this memory are counted: other tests of this program open theirs meanwhile.
        let of_memory = |entry: std::io::Result<std::fs::DirEntry>| {
            let target = std::fs::read_link(entry.unwrap().path());
            target.is_ok_and(|target| target.to_string_lossy().contains("one-too-many"))
        };
        let open = || std::fs::read_dir("/proc/self/fd").unwrap().map(of_memory).filter(|it| *it).count();
        for count in [5, 50, 200] {
            send(a.as_fd(), &[7; 8], &vec![memory.as_fd(); count]).unwrap();
            let before = open();
            assert!(receive::<8>(b.as_fd()).is_err(), "{count}");
            assert_eq!(open(), before, "{count}");
        }
    }

    #[test]
    fn sealed_memory_cannot_be_written_any_more() {
        let mut file = File::from(sealed_memory(c"test", b"hello").unwrap());
        assert!(file.write_all(b"x").is_err());
        assert!(file.set_len(0).is_err());
    }
}
