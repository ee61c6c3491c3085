//! The room on the state directory's disk: looked at with every tick, told to those who begin what is new. What is kept
//! free is for what was accepted: it is brought to its end, on the record, instead of stopping halfway.
//!
//! It asks the kernel for two numbers and touches no file. That the disk is low ends nothing and starts nothing again.

use crate::host::Host;
use crate::tell;
use manifest::Process as Name;
use manifest::command::Room;
use nix::sys::statvfs::statvfs;
use std::path::Path;
use std::time::{Duration, Instant};

/// How often it is looked at: the disk fills in seconds at the fastest, and the look costs microseconds.
const LOOK: Duration = Duration::from_millis(250);
/// Who begins what is new, or tells people why it does not begin.
const CONCERNED: [Name; 3] = [Name::Router, Name::Gate, Name::Control];
/// What must be free beyond what is kept before there is room again, as a part of that: at the edge itself, each
/// message that is accepted would be the last.
const SLACK: u64 = 8;

/// What is known of it.
#[derive(Debug)]
pub(crate) struct Disk {
    /// As it was told last.
    pub(crate) room: Room,
    looked: Option<Instant>,
}

impl Disk {
    /// Nothing is known yet; so many MiB are kept.
    pub(crate) fn new(kept_mib: u32) -> Self {
        Self { room: Room { kept_mib, ..Room::default() }, looked: None }
    }
}

/// Looks, if it is time to, and tells everybody concerned if that changed anything.
pub(crate) fn look(host: &mut Host) {
    if host.disk.looked.is_some_and(|at| at.elapsed() < LOOK) {
        return;
    }
    host.disk.looked = Some(Instant::now());
    let Some(bytes) = free(&host.places.state) else { return };
    let (before, after) = (host.disk.room, judged(host.disk.room, bytes));
    host.disk.room = after;
    if before.low != after.low {
        let how = if after.low { "nothing new is begun" } else { "there is room again" };
        let line = format!("{} MiB of the disk are free, {} are kept: {how}", after.free_mib, after.kept_mib);
        host.logs.write("agentd", &line);
    }
    if before.low != after.low || (after.low && before != after) {
        for name in CONCERNED {
            tell(host, name);
        }
    }
    tell::host(host);
}

/// Tells one process how it is, if it is one of those concerned: after its start, and with every change.
pub(crate) fn tell(host: &Host, name: Name) {
    if let Some(process) = host.process(name).filter(|_| CONCERNED.contains(&name)) {
        process.tell(host.disk.room.frame(), &[]);
    }
}

/// Bytes that processes which are not root can still have; `None` if the kernel does not say.
pub(crate) fn free(state: &Path) -> Option<u64> {
    let about = statvfs(state).ok()?;
    Some(about.blocks_available().saturating_mul(about.fragment_size()))
}

/// How it is with so many bytes free, after it was as `before`.
fn judged(before: Room, bytes: u64) -> Room {
    let kept = u64::from(before.kept_mib) << 20;
    let wanted = if before.low { kept + kept / SLACK } else { kept };
    Room { low: bytes < wanted, free_mib: u32::try_from(bytes >> 20).unwrap_or(u32::MAX), ..before }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn it_is_low_below_what_is_kept_and_fine_again_an_eighth_above_it() {
        let mut room = Room { kept_mib: 64, ..Room::default() };
        let mut seen = Vec::new();
        for mib in [65, 64, 63, 64, 71, 72, 64, 63] {
            room = judged(room, mib * MIB);
            seen.push(room.low);
        }
        assert_eq!(seen, [false, false, true, true, true, false, false, true]);
        assert_eq!((room.free_mib, room.kept_mib), (63, 64));
    }

    #[test]
    fn where_nothing_is_kept_a_full_disk_is_not_low() {
        assert!(!judged(Room::default(), 0).low);
        assert!(judged(Room { kept_mib: u32::MAX, ..Room::default() }, MIB).low, "no sum overflows");
    }

    #[test]
    fn the_kernel_says_how_much_is_free_and_nothing_of_what_is_not_there() {
        assert!(free(Path::new("/")).is_some());
        assert_eq!(free(Path::new("/nowhere/at/all")), None);
    }
}
