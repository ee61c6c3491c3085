//! The room on the state directory's disk: looked at with every tick, told to those who begin what is new. What is kept
//! free is for what was accepted: it is brought to its end, on the record, instead of stopping halfway.
//!
//! It asks the kernel for two numbers and touches no file. That the disk is low ends nothing and starts nothing again, but
//! for jails that go on filling it: [`crate::spill`].

use crate::host::Host;
use crate::inodes;
use crate::proof;
use crate::spill::{self, Spill};
use crate::tell;
use manifest::Process as Name;
use manifest::command::Room;
use nix::sys::statvfs::statvfs;
use std::path::Path;
use std::time::{Duration, Instant};

/// How often it is looked at: the look costs microseconds.
const LOOK: Duration = Duration::from_millis(250);
/// The same while jails run, which can fill it: at the soonest, and bytes that go in a second at the most.
const SOONEST: Duration = Duration::from_millis(5);
const FASTEST: u64 = 4 << 30;
/// Inodes that go in a millisecond at the most.
const INODES_A_MS: u64 = 500;
/// Who begins what is new, or tells people why it does not begin.
const CONCERNED: [Name; 3] = [Name::Router, Name::Gate, Name::Control];
/// What must be free beyond what is kept before there is room again, as a part of that: at the edge itself, each
/// message that is accepted would be the last.
const SLACK: u64 = 8;

/// What is known of it.
#[derive(Debug)]
pub(crate) struct Disk {
    /// While it is low, as those concerned were told last.
    pub(crate) room: Room,
    looked: Option<Instant>,
    /// Bytes that were free then.
    bytes: u64,
    /// At which look they were told.
    told: Option<Instant>,
    pub(crate) spill: Spill,
    /// Inodes that are kept free, and the files of jails that were counted while fewer were.
    kept_inodes: u64,
    inodes: Option<u64>,
    pub(crate) counted: inodes::Counted,
}

impl Disk {
    /// Nothing is known yet; so many MiB and inodes are kept.
    pub(crate) fn new(kept_mib: u32, kept_inodes: u32) -> Self {
        let room = Room { kept_mib, ..Room::default() };
        Self {
            room,
            looked: None,
            bytes: u64::MAX,
            told: None,
            spill: Spill::default(),
            kept_inodes: kept_inodes.into(),
            inodes: None,
            counted: inodes::Counted::default(),
        }
    }
}

/// Looks, if it is time to, and tells everybody concerned if that changed anything.
pub(crate) fn look(host: &mut Host) {
    if due(host).is_some_and(|due| due > Instant::now()) {
        return;
    }
    host.disk.looked = Some(Instant::now());
    let Some(bytes) = free(&host.places.state) else { return };
    host.disk.bytes = bytes;
    let soon = host.disk.told.is_some_and(|at| at.elapsed() < LOOK);
    let before = host.disk.room;
    let inodes = inodes::free(&host.places.state);
    host.disk.inodes = inodes;
    let few = inodes.is_some_and(|free| are_few(free, host.disk.kept_inodes, before.low));
    let after = steadied(before, judged(before, bytes, few), soon);
    host.disk.room = after;
    spill::look(host, bytes);
    if few {
        inodes::end_worst(host);
    }
    if before.low != after.low {
        let how = if after.low { "nothing new is begun" } else { "there is room again" };
        let line = format!("{} MiB of the disk are free, {} are kept: {how}", after.free_mib, after.kept_mib);
        host.logs.write("agentd", &line);
        if few {
            let (free, kept) = (inodes.unwrap_or_default(), host.disk.kept_inodes);
            let line =
                format!("{free} inodes of the disk are free, {kept} are kept: remove files, or a workspace");
            host.logs.write("agentd", &line);
        }
    }
    if is_news(before, after) {
        host.disk.told = host.disk.looked;
        for name in CONCERNED {
            tell(host, name);
        }
    }
    proof::go_on(host);
    tell::host(host);
}

/// When it is looked at next; at once if it never was.
pub(crate) fn due(host: &Host) -> Option<Instant> {
    let disk = &host.disk;
    let pace = if host.runners.live.is_empty() {
        LOOK
    } else {
        let inodes = disk.inodes.map_or(LOOK, |free| pace_of_inodes(free, disk.kept_inodes));
        pace(disk.room, disk.bytes).min(inodes)
    };
    disk.looked.map(|at| at + pace)
}

/// How long it takes at the fastest until no more is free than is kept.
fn pace(room: Room, bytes: u64) -> Duration {
    let left = bytes.saturating_sub(u64::from(room.kept_mib) << 20);
    Duration::from_millis(left / (FASTEST / 1000)).clamp(SOONEST, LOOK)
}

/// How long it takes at the fastest until no more inodes are free than are kept.
fn pace_of_inodes(free: u64, kept: u64) -> Duration {
    Duration::from_millis(free.saturating_sub(kept) / INODES_A_MS).clamp(SOONEST, LOOK)
}

/// Returns whether fewer inodes are free than are kept; after that, until an eighth more is.
const fn are_few(free: u64, kept: u64, before: bool) -> bool {
    free < if before { kept + kept / SLACK } else { kept }
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

/// How it is with so many bytes free, and few inodes or enough, after it was as `before`.
fn judged(before: Room, bytes: u64, few_inodes: bool) -> Room {
    let kept = u64::from(before.kept_mib) << 20;
    let wanted = if before.low { kept + kept / SLACK } else { kept };
    Room {
        low: bytes < wanted || few_inodes,
        free_mib: u32::try_from(bytes >> 20).unwrap_or(u32::MAX),
        ..before
    }
}

/// What is told so soon after the last word is that nothing new is begun, and no more: a jail that takes room and gives it
/// back would else have everybody told at each look, and who stands still for a copy of the state loses what does not fit
/// into its socket.
const fn steadied(before: Room, after: Room, soon: bool) -> Room {
    if soon && (before.low || !after.low) { before } else { after }
}

/// Returns whether those concerned are told.
fn is_news(before: Room, after: Room) -> bool {
    before.low != after.low || (after.low && before != after)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    // Holds B-22.
    #[test]
    fn it_is_low_below_what_is_kept_and_fine_again_an_eighth_above_it() {
        let mut room = Room { kept_mib: 64, ..Room::default() };
        let mut seen = Vec::new();
        for mib in [65, 64, 63, 64, 71, 72, 64, 63] {
            room = judged(room, mib * MIB, false);
            seen.push(room.low);
        }
        assert_eq!(seen, [false, false, true, true, true, false, false, true]);
        assert_eq!((room.free_mib, room.kept_mib), (63, 64));
    }

    // Holds B-169.
    #[test]
    fn few_inodes_are_a_full_disk_until_an_eighth_more_is_free() {
        let mut room = Room { kept_mib: 64, ..Room::default() };
        let mut seen = Vec::new();
        for free in [801, 800, 799, 800, 899, 900, 800] {
            room = judged(room, 1 << 40, are_few(free, 800, room.low));
            seen.push(room.low);
        }
        assert_eq!(seen, [false, false, true, true, true, false, false]);
        assert!(!are_few(0, 0, false), "where none are kept a disk without any is not low");
        assert_eq!(pace_of_inodes(800, 800), SOONEST);
        assert_eq!(pace_of_inodes(u64::MAX, 800), LOOK);
    }

    // Holds B-23.
    #[test]
    fn while_jails_run_it_is_looked_at_as_soon_as_they_could_have_filled_it() {
        let room = Room { kept_mib: 64, ..Room::default() };
        let millis = |mib: u64| pace(room, mib * MIB).as_millis();
        assert_eq!([0, 63, 80, 64 + 400, 64 + 4096].map(millis), [5, 5, 5, 97, 250]);
    }

    #[test]
    fn who_was_told_just_now_is_told_at_once_that_room_is_gone_and_later_of_anything_else() {
        let room = |low, free_mib| Room { low, free_mib, kept_mib: 64 };
        let (low, fine) = (room(true, 63), room(false, 80));
        assert_eq!(steadied(low, fine, true), low);
        assert_eq!((steadied(low, fine, false), steadied(fine, low, true)), (fine, low));
        for (told, now, soon, news) in [
            (fine, low, true, true),
            (low, fine, false, true),
            (low, room(true, 60), true, false),
            (low, room(true, 60), false, true),
            (fine, room(false, 79), false, false),
        ] {
            assert_eq!(is_news(told, steadied(told, now, soon)), news, "{told:?} {now:?} {soon}");
        }
    }

    #[test]
    fn where_nothing_is_kept_a_full_disk_is_not_low() {
        assert!(!judged(Room::default(), 0, false).low);
        assert!(judged(Room { kept_mib: u32::MAX, ..Room::default() }, MIB, false).low, "no sum overflows");
    }

    #[test]
    fn the_kernel_says_how_much_is_free_and_nothing_of_what_is_not_there() {
        assert!(free(Path::new("/")).is_some());
        assert_eq!(free(Path::new("/nowhere/at/all")), None);
    }
}
