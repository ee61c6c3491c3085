//! A page for keys that outlives the process which uses it: agentd makes it and never maps it, and the process that gets it maps it
//! before its seal. Where the kernel has `memfd_secret`, no other mapping shows the page, not even the kernel's own, and it is never
//! written to a swap device.

use crate::sys::check;
use nix::sys::memfd::{MFdFlags, memfd_create};
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;

/// Its size in bytes: one page of the smallest size that exists.
pub const BYTES: usize = 4096;

/// Makes a page of zeros.
///
/// # Errors
/// The kernel's error.
pub fn page() -> io::Result<OwnedFd> {
    // SAFETY: the call takes flags alone and gives a descriptor.
    let made = check(unsafe { libc::syscall(libc::SYS_memfd_secret, libc::O_CLOEXEC) });
    let page = match made.ok().and_then(|raw| RawFd::try_from(raw).ok()) {
        // SAFETY: the kernel has just made this descriptor for us, and nobody else owns it.
        Some(raw) => unsafe { OwnedFd::from_raw_fd(raw) },
        // Older kernels, and those that have it switched off, have only memory without a name.
        None => memfd_create(c"keys", MFdFlags::MFD_CLOEXEC)?,
    };
    nix::unistd::ftruncate(page.as_fd(), BYTES as libc::off_t)?;
    Ok(page)
}

/// A mapped page.
#[derive(Debug)]
pub struct Mapped {
    at: NonNull<u8>,
}

// SAFETY: the mapping belongs to this value alone and is not bound to the thread that made it.
unsafe impl Send for Mapped {}

impl Mapped {
    /// Maps it and locks it in memory, as far as the kernel lets it; the descriptor is closed.
    ///
    /// # Errors
    /// It is no page of [`page`], or may not be mapped because of a limit on locked memory.
    pub fn new(page: OwnedFd) -> io::Result<Self> {
        // Beyond the end of a shorter file an access is a SIGBUS.
        if nix::sys::stat::fstat(page.as_fd())?.st_size != BYTES as libc::off_t {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a new mapping at a place of the kernel's choice; nothing that is mapped is touched.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), BYTES, protection, flags, page.as_raw_fd(), 0) };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let at = NonNull::new(at.cast::<u8>()).ok_or(io::ErrorKind::InvalidData)?;
        // SAFETY: the range is the mapping just made. Pages of memfd_secret are locked anyway; for others a limit may refuse the
        // lock, and they stay as they are.
        unsafe { libc::mlock(at.as_ptr().cast(), BYTES) };
        Ok(Self { at })
    }

    /// Reads `N` bytes from `from` on; `None` beyond the end.
    #[must_use]
    pub fn read<const N: usize>(&self, from: usize) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        for (index, byte) in bytes.iter_mut().enumerate() {
            let at = from.checked_add(index).filter(|at| *at < BYTES)?;
            // SAFETY: `at` is within the mapping, which lives as long as this value.
            *byte = unsafe { self.at.add(at).read_volatile() };
        }
        Some(bytes)
    }

    /// Writes these bytes; false beyond the end. The write is volatile: a key is overwritten even if nothing reads it again here.
    pub fn write(&mut self, from: usize, bytes: &[u8]) -> bool {
        if from.checked_add(bytes.len()).is_none_or(|end| end > BYTES) {
            return false;
        }
        for (index, byte) in bytes.iter().enumerate() {
            // SAFETY: the whole range was checked to be within the mapping, which is this value's alone.
            unsafe { self.at.add(from + index).write_volatile(*byte) };
        }
        true
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this length, and nothing refers to it any more.
        unsafe { libc::munmap(self.at.as_ptr().cast(), BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds P4-24.
    #[test]
    fn what_one_life_wrote_the_next_reads_and_a_new_page_is_empty() {
        let kept = page().unwrap();
        let mut first = Mapped::new(kept.try_clone().unwrap()).unwrap();
        assert_eq!(first.read::<4>(0), Some([0; 4]));
        assert!(first.write(7, b"key!"));
        drop(first);
        let second = Mapped::new(kept).unwrap();
        assert_eq!(second.read::<4>(7), Some(*b"key!"));
        let another = Mapped::new(page().unwrap()).unwrap();
        assert_eq!(another.read::<4>(7), Some([0; 4]));
    }

    #[test]
    fn nothing_beyond_the_page_is_read_or_written() {
        let mut page = Mapped::new(page().unwrap()).unwrap();
        for from in [BYTES - 3, BYTES, usize::MAX - 1] {
            assert_eq!(page.read::<4>(from), None, "{from}");
            assert!(!page.write(from, &[1; 4]), "{from}");
        }
        assert!(page.write(BYTES - 4, &[1; 4]) && page.read::<4>(BYTES - 4) == Some([1; 4]));
    }

    #[test]
    fn a_file_of_another_length_is_not_mapped() {
        let short = memfd_create(c"short", MFdFlags::MFD_CLOEXEC).unwrap();
        assert!(Mapped::new(short).is_err());
    }
}
