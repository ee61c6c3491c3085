//! Acts with sockets. A call that gets the network's own answer, even a refused connection, has come through.

use super::{NotReady, Ready, Scene, errno, probe, refused};
use crate::{passing, sys};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// `IPPROTO_MPTCP`, `linux/in.h`.
const MPTCP: i32 = 262;
const LOOPBACK: [u8; 4] = [127, 0, 0, 1];
/// An address without a host: TEST-NET-1 of RFC 5737.
const OUTSIDE: [u8; 4] = [192, 0, 2, 1];
/// `struct sockaddr_in`, 16 bytes: family, port, address.
type Inet = [u8; 16];

/// Prepares the act of this name, if it is one of these.
pub(super) fn prepare(id: &str, _: &Scene) -> Option<Ready> {
    let stream = libc::SOCK_STREAM | libc::SOCK_NONBLOCK;
    match id {
        "tcp-outside" | "tcp-outside-apart" => {
            probe(move || to(&at(OUTSIDE, 80), socket(libc::AF_INET, stream, 0)?, libc::connect))
        }
        "tcp-connect" | "tcp-connect-apart" => {
            probe(move || to(&inet(22), socket(libc::AF_INET, stream, 0)?, libc::connect))
        }
        "tcp-bind" => probe(move || to(&inet(0), socket(libc::AF_INET, stream, 0)?, libc::bind)),
        "tcp-listen" => probe(move || listen(&socket(libc::AF_INET, stream, 0)?)),
        "udp-send" => probe(|| send(socket(libc::AF_INET, libc::SOCK_DGRAM, 0)?.as_raw_fd(), &inet(53), 0)),
        "tcp-fast-open" => {
            probe(move || send(socket(libc::AF_INET, stream, 0)?.as_raw_fd(), &inet(9), libc::MSG_FASTOPEN))
        }
        "mptcp" => made(libc::AF_INET, stream, MPTCP),
        "raw-socket" | "raw-socket-jailed" => made(libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP),
        "socket-netlink" => made(libc::AF_NETLINK, libc::SOCK_RAW, 0),
        "socket-vsock" => made(libc::AF_VSOCK, libc::SOCK_STREAM, 0),
        "socket-packet" => made(libc::AF_PACKET, libc::SOCK_RAW, 0),
        "socket-unix" => made(libc::AF_UNIX, libc::SOCK_STREAM, 0),
        "socket-others" => probe(others),
        "path-socket" => probe(|| refused(path(), &[])),
        "abstract-socket" => Some(abstracted()),
        "datagram-pair" => probe(pair),
        "pass-descriptor" => probe(pass),
        _ => None,
    }
}

fn inet(port: u16) -> Inet {
    at(LOOPBACK, port)
}

fn at(host: [u8; 4], port: u16) -> Inet {
    let mut address = [0; 16];
    let family = u16::try_from(libc::AF_INET).unwrap_or(0).to_ne_bytes();
    let bytes = family.into_iter().chain(port.to_be_bytes()).chain(host);
    for (slot, byte) in address.iter_mut().zip(bytes) {
        *slot = byte;
    }
    address
}

/// The address of an abstract Unix socket.
fn unix(name: &str) -> Vec<u8> {
    let family = u16::try_from(libc::AF_UNIX).unwrap_or(0).to_ne_bytes();
    [&family[..], &[0], name.as_bytes()].concat()
}

fn socket(family: i32, kind: i32, protocol: i32) -> io::Result<OwnedFd> {
    // SAFETY: socket takes integers alone.
    let made = sys::check(unsafe { libc::socket(family, kind | libc::SOCK_CLOEXEC, protocol) }.into())?;
    let made = RawFd::try_from(made).map_err(|_| errno(libc::EBADF))?;
    // SAFETY: the kernel has just made it for us, and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(made) })
}

/// A family, type or protocol that this kernel lacks counts as refused too.
fn made(family: i32, kind: i32, protocol: i32) -> Option<Ready> {
    probe(move || socket(family, kind, protocol).map(drop))
}

type Named = unsafe extern "C" fn(libc::c_int, *const libc::sockaddr, libc::socklen_t) -> libc::c_int;

fn name(socket: RawFd, address: &[u8], call: Named) -> io::Result<()> {
    let length = libc::socklen_t::try_from(address.len()).unwrap_or(0);
    // SAFETY: the address is valid for its length, and only read.
    sys::check(unsafe { call(socket, address.as_ptr().cast(), length) }.into()).map(drop)
}

fn to(address: &[u8], socket: OwnedFd, call: Named) -> io::Result<()> {
    refused(
        name(socket.as_raw_fd(), address, call),
        &[libc::ENETUNREACH, libc::ENETDOWN, libc::EADDRNOTAVAIL],
    )
}

fn listen(socket: &OwnedFd) -> io::Result<()> {
    // SAFETY: listen takes integers alone.
    sys::check(unsafe { libc::listen(socket.as_raw_fd(), 1) }.into()).map(drop)
}

fn send(socket: RawFd, address: &[u8], flags: i32) -> io::Result<()> {
    let length = libc::socklen_t::try_from(address.len()).unwrap_or(0);
    let (byte, flags) = ([0_u8], flags | libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT);
    // SAFETY: byte and address are valid for their lengths, and only read.
    let sent =
        unsafe { libc::sendto(socket, byte.as_ptr().cast(), 1, flags, address.as_ptr().cast(), length) };
    let sent = if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) };
    refused(sent, &[libc::ENETUNREACH, libc::ENETDOWN, libc::EADDRNOTAVAIL])
}

/// Every family except those that have an act of their own.
fn others() -> io::Result<()> {
    let own =
        [libc::AF_INET, libc::AF_INET6, libc::AF_UNIX, libc::AF_NETLINK, libc::AF_PACKET, libc::AF_VSOCK];
    let mut last = errno(libc::EAFNOSUPPORT);
    for family in (1..64).filter(|family| !own.contains(family)) {
        for kind in [libc::SOCK_STREAM, libc::SOCK_DGRAM, libc::SOCK_RAW, libc::SOCK_SEQPACKET] {
            match socket(family, kind, 0) {
                Ok(_) => return Ok(()),
                Err(error) => last = error,
            }
        }
    }
    Err(last)
}

/// Its socket is connected already, which is the answer of a call that came through.
fn path() -> io::Result<()> {
    let family = u16::try_from(libc::AF_UNIX).unwrap_or(0).to_ne_bytes();
    let address = [&family[..], b"/run/systemd/notify\0"].concat();
    name(passing::CONTROL, &address, libc::connect)
}

/// The receiver is made before the seal, so that it belongs to another domain than the sender.
fn abstracted() -> Ready {
    /// Landlock scopes abstract sockets from this ABI on.
    const SCOPED: i32 = 6;
    if sys::landlock_abi() < SCOPED {
        return Err(NotReady::NotHere);
    }
    let address = unix(&format!("cordon-probe-{}", std::process::id()));
    let receiver = socket(libc::AF_UNIX, libc::SOCK_DGRAM, 0)?;
    name(receiver.as_raw_fd(), &address, libc::bind)?;
    let sender = socket(libc::AF_UNIX, libc::SOCK_DGRAM, 0)?;
    Ok(Box::new(move || {
        let sent = send(sender.as_raw_fd(), &address, 0);
        drop(receiver);
        sent
    }))
}

fn pair() -> io::Result<()> {
    let mut ends = [-1; 2];
    // SAFETY: the array has room for the two descriptors that the call writes.
    let made = unsafe {
        libc::socketpair(libc::AF_UNIX, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0, ends.as_mut_ptr())
    };
    sys::check(made.into()).map(drop)
}

fn pass() -> io::Result<()> {
    // SAFETY: agentd put an open socket at this number, and standard input is open.
    let (control, input) = unsafe { (BorrowedFd::borrow_raw(passing::CONTROL), BorrowedFd::borrow_raw(0)) };
    refused(passing::send(control, &[0], &[input]), &[])
}
