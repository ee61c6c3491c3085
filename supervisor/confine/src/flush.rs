//! Makes files durable while the process continues: the kernel's own asynchronous flush (`io_submit`), which needs no thread. It
//! only has the files written out that it is given.

use crate::sys::check;
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

/// The most flushes under way at once.
const AT_ONCE: usize = 16;

/// The part of a file that is made durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// Its bytes and the metadata that reading them needs: `fdatasync`.
    Data,
    /// All of it: `fsync`.
    All,
}

impl Flush {
    /// `IOCB_CMD_FDSYNC` and `IOCB_CMD_FSYNC`, `linux/aio_abi.h`.
    const fn code(self) -> u16 {
        match self {
            Self::Data => 3,
            Self::All => 2,
        }
    }
}

/// `struct iocb`, `linux/aio_abi.h`, as it lies in memory on a little-endian machine.
#[repr(C)]
#[derive(Default)]
struct Order {
    data: u64,
    key: u32,
    rw_flags: u32,
    code: u16,
    priority: i16,
    descriptor: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event: u32,
}

/// `struct io_event`, `linux/aio_abi.h`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Done {
    data: u64,
    order: u64,
    result: i64,
    more: i64,
}

/// A finished flush: its number and its result.
pub type Flushed = (u64, io::Result<()>);

/// Begins flushes. Must be made before the seal; it lives as long as the process.
#[derive(Debug)]
pub struct Flusher {
    /// The kernel's handle, a number.
    context: libc::c_ulong,
    event: EventFd,
}

impl Flusher {
    /// Makes one, and a descriptor that becomes readable with each finished flush.
    ///
    /// # Errors
    /// The kernel has no asynchronous I/O, or no more contexts to give.
    pub fn new() -> io::Result<(Self, OwnedFd)> {
        let event = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        let mut context: libc::c_ulong = 0;
        // SAFETY: `context` is valid for the call, which writes a handle to it.
        check(unsafe { libc::syscall(libc::SYS_io_setup, AT_ONCE, &raw mut context) })?;
        let told = nix::unistd::dup(&event)?;
        Ok((Self { context, event }, told))
    }

    /// Begins to make a file durable in its present state. The descriptor may be closed meanwhile.
    ///
    /// # Errors
    /// The flush was not begun: too many are under way, or the kernel does not support it for this file.
    pub fn begin(&self, file: BorrowedFd<'_>, flush: Flush, number: u64) -> io::Result<()> {
        /// `IOCB_FLAG_RESFD`, `linux/aio_abi.h`.
        const TELLS: u32 = 1;
        let order = Order {
            data: number,
            code: flush.code(),
            descriptor: file.as_raw_fd().unsigned_abs(),
            flags: TELLS,
            event: self.event.as_raw_fd().unsigned_abs(),
            ..Order::default()
        };
        let orders = [&raw const order];
        // SAFETY: the handle is ours; the order and the list of one are valid for the call, which copies them. The order names
        // no memory that the kernel would read or write later.
        let begun = unsafe { libc::syscall(libc::SYS_io_submit, self.context, 1_u64, orders.as_ptr()) };
        if check(begun)? == 1 { Ok(()) } else { Err(io::ErrorKind::WouldBlock.into()) }
    }

    /// Returns a finished flush; with `wait` it waits for the next. `None` if there is none.
    ///
    /// # Errors
    /// The kernel's error; then nothing is known of any flush under way.
    pub fn next(&self, wait: bool) -> io::Result<Option<Flushed>> {
        let mut done = Done::default();
        let none = std::ptr::null_mut::<libc::timespec>();
        loop {
            // SAFETY: the handle is ours; there is room for one event, and a null timeout waits without end.
            let got = check(unsafe {
                libc::syscall(
                    libc::SYS_io_getevents,
                    self.context,
                    i64::from(wait),
                    1_i64,
                    &raw mut done,
                    none,
                )
            });
            match got {
                Ok(0) => return Ok(None),
                Ok(_) => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let error = i32::try_from(done.result.saturating_neg()).unwrap_or(libc::EIO);
        let result = if done.result == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) };
        Ok(Some((done.data, result)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Write;
    use std::os::fd::AsFd;

    #[test]
    fn each_flush_is_reported_once_also_of_a_folder_and_of_a_closed_file() {
        let folder = tempfile::tempdir().unwrap();
        let (flusher, told) = Flusher::new().unwrap();
        let mut file = File::create(folder.path().join("file")).unwrap();
        file.write_all(b"some bytes").unwrap();
        flusher.begin(file.as_fd(), Flush::Data, 7).unwrap();
        drop(file);
        flusher.begin(File::open(folder.path()).unwrap().as_fd(), Flush::All, 8).unwrap();
        let mut over: Vec<u64> = (0..2)
            .map(|_| {
                let (number, result) = flusher.next(true).unwrap().unwrap();
                result.unwrap();
                number
            })
            .collect();
        over.sort_unstable();
        assert_eq!(over, [7, 8]);
        assert!(flusher.next(false).unwrap().is_none());
        assert_eq!(nix::unistd::read(&told, &mut [0; 8]).unwrap(), 8);
    }

    #[test]
    fn what_cannot_be_flushed_is_an_error_and_not_a_success() {
        let (flusher, told) = Flusher::new().unwrap();
        let begun = flusher.begin(told.as_fd(), Flush::Data, 1);
        assert!(begun.is_err() || flusher.next(true).unwrap().unwrap().1.is_err());
    }
}
