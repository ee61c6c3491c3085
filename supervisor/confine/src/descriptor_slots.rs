//! Low descriptor numbers that agentd reserves for the descriptors of a runner. The runner's child starts with agentd's own table
//! of descriptors and keeps a copy of no more than the numbers up to these: agentd holds hundreds, three for each runner slot alone,
//! and to copy and close them all took a tenth of a millisecond of each launch.
//!
//! A runner's descriptors must not stay there after the launch: the other end of a socket would not see the runner's end.

use crate::sys;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// The number of descriptors that a runner gets.
const COUNT: usize = 4;

/// The reserved numbers.
#[derive(Debug)]
pub(crate) struct DescriptorSlots([OwnedFd; COUNT]);

/// Descriptors that are at the reserved numbers until this is dropped.
pub(crate) struct Placed<'a> {
    slots: &'a DescriptorSlots,
    empty: &'a OwnedFd,
}

impl DescriptorSlots {
    /// Reserves the lowest free numbers.
    pub(crate) fn reserve() -> io::Result<Self> {
        let null = || File::open("/dev/null").map(OwnedFd::from);
        Ok(Self([null()?, null()?, null()?, null()?]))
    }

    /// Puts copies of these descriptors there. `empty` is a descriptor that may stay there for good.
    pub(crate) fn place<'a>(
        &'a self,
        empty: &'a OwnedFd,
        descriptors: [&OwnedFd; COUNT],
    ) -> io::Result<Placed<'a>> {
        let placed = Placed { slots: self, empty };
        for (descriptor, slot) in descriptors.into_iter().zip(&self.0) {
            sys::copy_to(descriptor.as_fd(), slot.as_raw_fd())?;
        }
        Ok(placed)
    }

    /// The first number above them all.
    fn above(&self) -> u32 {
        self.0.iter().filter_map(|slot| u32::try_from(slot.as_raw_fd()).ok()).max().map_or(0, |top| top + 1)
    }
}

impl Placed<'_> {
    /// The descriptors, in the order of [`DescriptorSlots::place`].
    pub(crate) const fn all(&self) -> &[OwnedFd; COUNT] {
        &self.slots.0
    }

    /// Gives this process, a child that shares its parent's table of descriptors, a table of its own without the descriptors above
    /// the slots. Allocates nothing.
    pub(crate) fn leave_the_rest(&self) -> io::Result<()> {
        sys::unshare_below(self.slots.above())
    }
}

impl Drop for Placed<'_> {
    fn drop(&mut self) {
        for slot in &self.slots.0 {
            // Both are open, so that this cannot fail.
            drop(sys::copy_to(self.empty.as_fd(), slot.as_raw_fd()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passing;
    use std::io::Read;

    #[test]
    fn a_placed_descriptor_is_gone_after_the_launch_and_its_peer_sees_that() {
        let slots = DescriptorSlots::reserve().unwrap();
        let null = File::open("/dev/null").unwrap().into();
        let (ours, theirs) = passing::stream_pair().unwrap();
        passing::set_nonblocking(ours.as_fd()).unwrap();
        let placed = slots.place(&null, [&null, &theirs, &theirs, &null]).unwrap();
        drop(theirs);
        let mut ours = File::from(ours);
        assert_eq!(ours.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(placed);
        assert_eq!(ours.read(&mut [0]).unwrap(), 0);
    }
}
