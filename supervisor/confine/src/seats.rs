//! Descriptor numbers that agentd keeps free for what a runner takes along. Its child is made with agentd's own table of
//! descriptors and leaves it with no more than a copy of what lies up to these numbers: agentd holds hundreds, three for
//! each slot alone, and to copy and close them all for each launch took a tenth of a millisecond.
//!
//! It must never leave there what a runner was given: the other end of a socket would not see that the runner has ended.

use crate::sys;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// How many a runner takes along.
const COUNT: usize = 4;

/// The numbers.
#[derive(Debug)]
pub(crate) struct Seats([OwnedFd; COUNT]);

/// What lies there until this is dropped.
pub(crate) struct Seated<'a> {
    seats: &'a Seats,
    empty: &'a OwnedFd,
}

impl Seats {
    /// Takes the lowest numbers that are free.
    pub(crate) fn reserve() -> io::Result<Self> {
        let null = || File::open("/dev/null").map(OwnedFd::from);
        Ok(Self([null()?, null()?, null()?, null()?]))
    }

    /// Puts copies of these there, of which `empty` is what may lie there for good.
    pub(crate) fn take<'a>(
        &'a self,
        empty: &'a OwnedFd,
        descriptors: [&OwnedFd; COUNT],
    ) -> io::Result<Seated<'a>> {
        let seated = Seated { seats: self, empty };
        for (descriptor, seat) in descriptors.into_iter().zip(&self.0) {
            sys::copy_to(descriptor.as_fd(), seat.as_raw_fd())?;
        }
        Ok(seated)
    }

    /// The first number above them all.
    fn above(&self) -> u32 {
        self.0.iter().filter_map(|seat| u32::try_from(seat.as_raw_fd()).ok()).max().map_or(0, |top| top + 1)
    }
}

impl Seated<'_> {
    /// What lies there, in the order in which it was put there.
    pub(crate) const fn all(&self) -> &[OwnedFd; COUNT] {
        &self.seats.0
    }

    /// Gives this process, a child that shares its parent's table, one of its own with nothing above the seats. Allocates
    /// nothing.
    pub(crate) fn leave_the_rest(&self) -> io::Result<()> {
        sys::unshare_below(self.seats.above())
    }
}

impl Drop for Seated<'_> {
    fn drop(&mut self) {
        for seat in &self.seats.0 {
            // Both are open, so that there is nothing to be refused.
            drop(sys::copy_to(self.empty.as_fd(), seat.as_raw_fd()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passing;
    use std::io::Read;

    #[test]
    fn what_was_put_there_is_gone_after_the_launch_and_its_peer_sees_that() {
        let seats = Seats::reserve().unwrap();
        let null = File::open("/dev/null").unwrap().into();
        let (ours, theirs) = passing::stream_pair().unwrap();
        passing::set_nonblocking(ours.as_fd()).unwrap();
        let seated = seats.take(&null, [&null, &theirs, &theirs, &null]).unwrap();
        drop(theirs);
        let mut ours = File::from(ours);
        assert_eq!(ours.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(seated);
        assert_eq!(ours.read(&mut [0]).unwrap(), 0);
    }
}
