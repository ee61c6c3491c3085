//! The free space of the state directory's disk. agentd looks at it with every tick and reports it to the processes that begin new
//! work. The space that is kept free is for accepted work, which is finished, on the record, instead of stopping halfway.
//!
//! It asks the kernel for two numbers and touches no file. A low disk ends no process and restarts none; it ends only jails that
//! go on filling it: [`crate::spill`].

use crate::inodes::{self, WorkspaceFiles};
use crate::jails::Jails;
use crate::runners::Runners;
use crate::spill::Spill;
use manifest::Process as Name;
use manifest::command::Room;
use nix::sys::statvfs::statvfs;
use std::path::Path;
use std::time::{Duration, Instant};

/// The time between two looks: a look costs microseconds.
const LOOK: Duration = Duration::from_millis(250);
/// The shortest time between two looks while jails run, which can fill the disk; and the most bytes that they write in a second.
const SOONEST: Duration = Duration::from_millis(5);
const FASTEST: u64 = 4 << 30;
/// The most inodes that jails use up in a millisecond.
const INODES_A_MS: u64 = 500;
/// The processes that begin new work, or show people why none begins.
pub(crate) const CONCERNED: [Name; 4] = [Name::Router, Name::Gate, Name::Control, Name::Gateway];
/// The divisor of the kept space that gives the further space which must be free before there is room again: at the edge itself,
/// each accepted message would be the last.
const SLACK: u64 = 8;

/// The state of the disk.
#[derive(Debug)]
pub(crate) struct Disk {
    /// Its free space; while it is low, as it was reported last.
    pub(crate) room: Room,
    looked: Option<Instant>,
    /// Free bytes at that look.
    bytes: u64,
    /// The time of the last report.
    reported: Option<Instant>,
    spill: Spill,
    /// Inodes that are kept free.
    kept_inodes: u64,
    lack: Lack,
    /// Free inodes at the last look.
    inodes: Option<u64>,
    files: WorkspaceFiles,
}

impl Disk {
    /// A disk that was not looked at yet, of which so many MiB and inodes are kept free.
    pub(crate) fn new(kept_mib: u32, kept_inodes: u32) -> Self {
        let room = Room { kept_mib, ..Room::default() };
        Self {
            room,
            looked: None,
            bytes: u64::MAX,
            reported: None,
            spill: Spill::default(),
            kept_inodes: kept_inodes.into(),
            lack: Lack::default(),
            inodes: None,
            files: WorkspaceFiles::default(),
        }
    }

    /// Looks at the disk if it is time, and ends a jail that fills it. Returns the change, if it has looked.
    pub(crate) fn look(&mut self, jails: &Jails, runners: &mut Runners) -> Option<Change> {
        if self.due(runners).is_some_and(|due| due > Instant::now()) {
            return None;
        }
        self.looked = Some(Instant::now());
        self.bytes = free(&jails.state)?;
        self.inodes = inodes::free(&jails.state);
        let soon = self.reported.is_some_and(|at| at.elapsed() < LOOK);
        let before = self.room;
        let inodes = self.inodes.map(|free| (free, self.kept_inodes));
        self.lack = self.lack.after((self.bytes, kept_bytes(before)), inodes, soon);
        let Lack { bytes: low, inodes: few } = self.lack;
        self.room = steadied(before, judged(before, self.bytes, low || few), soon);
        let mut lines = Vec::new();
        if self.spill.end_worst(Room { low, ..self.room }, self.bytes, runners) {
            lines.push("a jail was ended: it used the space of the disk that is kept free".to_owned());
        }
        if !few {
            self.files.forget();
        } else if self.files.end_worst(jails, runners) {
            lines.push("a jail was ended: it used the inodes of the disk that are kept free".to_owned());
        }
        if before.low != self.room.low {
            lines.push(self.summary());
            lines.extend(few.then(|| self.inode_summary()));
        }
        let is_news = is_news(before, self.room);
        if is_news {
            self.reported = self.looked;
        }
        Some(Change { is_news, lines })
    }

    fn summary(&self) -> String {
        let Room { low, free_mib, kept_mib, .. } = self.room;
        let how = if low { "nothing new is begun" } else { "there is room again" };
        format!("{free_mib} MiB of the disk are free, {kept_mib} are kept: {how}")
    }

    fn inode_summary(&self) -> String {
        let (free, kept) = (self.inodes.unwrap_or_default(), self.kept_inodes);
        format!("{free} inodes of the disk are free, {kept} are kept: remove files, or a workspace")
    }

    /// The time of the next look; `None` if it was never looked at.
    pub(crate) fn due(&self, runners: &Runners) -> Option<Instant> {
        let pace = if runners.live.is_empty() {
            LOOK
        } else {
            let inodes = self.inodes.map_or(LOOK, |free| pace_of_inodes(free, self.kept_inodes));
            pace(self.room, self.bytes).min(inodes)
        };
        self.looked.map(|at| at + pace)
    }
}

/// The things that the disk lacks. Each has a margin of its own: where only one of them is few, no jail is ended for the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Lack {
    bytes: bool,
    inodes: bool,
}

impl Lack {
    /// The next state with so many free, of so many that are kept. Soon after a report bytes stay few, as [`steadied`] has it.
    fn after(self, bytes: (u64, u64), inodes: Option<(u64, u64)>, soon: bool) -> Self {
        let (free, kept) = bytes;
        Self {
            bytes: are_few(free, kept, self.bytes) || (soon && self.bytes),
            inodes: inodes.is_some_and(|(free, kept)| are_few(free, kept, self.inodes)),
        }
    }
}

/// The outcome of a look.
#[derive(Debug)]
pub(crate) struct Change {
    /// The processes of [`CONCERNED`] are to be told.
    pub(crate) is_news: bool,
    /// Lines for the log.
    pub(crate) lines: Vec<String>,
}

/// The shortest time until no more bytes are free than are kept.
fn pace(room: Room, bytes: u64) -> Duration {
    let left = bytes.saturating_sub(kept_bytes(room));
    Duration::from_millis(left / (FASTEST / 1000)).clamp(SOONEST, LOOK)
}

/// The shortest time until no more inodes are free than are kept.
fn pace_of_inodes(free: u64, kept: u64) -> Duration {
    Duration::from_millis(free.saturating_sub(kept) / INODES_A_MS).clamp(SOONEST, LOOK)
}

/// Bytes that are kept free.
fn kept_bytes(room: Room) -> u64 {
    u64::from(room.kept_mib) << 20
}

/// Returns true if fewer bytes or inodes are free than are kept, and then until an eighth more are free.
const fn are_few(free: u64, kept: u64, before: bool) -> bool {
    free < if before { kept + kept / SLACK } else { kept }
}

/// Bytes that processes which are not root can still have; `None` if the kernel does not say.
pub(crate) fn free(state: &Path) -> Option<u64> {
    let about = statvfs(state).ok()?;
    Some(about.blocks_available().saturating_mul(about.fragment_size()))
}

/// The state with so many bytes free, after the state `before`.
fn judged(before: Room, bytes: u64, low: bool) -> Room {
    Room { low, free_mib: u32::try_from(bytes >> 20).unwrap_or(u32::MAX), ..before }
}

/// Soon after the last report only the loss of room counts: a jail that takes space and frees it again would otherwise cause a
/// report with each look, and a process that is frozen for a copy of the state loses frames that do not fit into its socket.
const fn steadied(before: Room, after: Room, soon: bool) -> Room {
    if soon && (before.low || !after.low) { before } else { after }
}

/// Returns true if the change is reported.
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
            room = judged(room, mib * MIB, are_few(mib * MIB, kept_bytes(room), room.low));
            seen.push(room.low);
        }
        assert_eq!(seen, [false, false, true, true, true, false, false, true]);
        assert_eq!((room.free_mib, room.kept_mib), (63, 64));
    }

    // Holds B-169.
    #[test]
    fn few_inodes_are_a_full_disk_until_an_eighth_more_is_free() {
        let mut few = false;
        let mut seen = Vec::new();
        for free in [801, 800, 799, 800, 899, 900, 800] {
            few = are_few(free, 800, few);
            seen.push(judged(Room { kept_mib: 64, ..Room::default() }, 1 << 40, few).low);
        }
        assert_eq!(seen, [false, false, true, true, true, false, false]);
        assert!(!are_few(0, 0, false), "where none are kept a disk without any is not low");
        assert_eq!(pace_of_inodes(800, 800), SOONEST);
        assert_eq!(pace_of_inodes(u64::MAX, 800), LOOK);
    }

    // Holds B-22, B-169.
    #[test]
    fn bytes_and_inodes_are_few_each_within_its_own_margin() {
        let lack = |bytes, inodes| Lack { bytes, inodes };
        let fine = (800, 800);
        for (before, bytes, inodes, soon, after) in [
            (lack(false, true), fine, Some((850, 800)), false, lack(false, true)),
            (lack(true, false), (850, 800), Some(fine), false, lack(true, false)),
            (lack(true, true), (900, 800), Some((900, 800)), false, lack(false, false)),
            (lack(true, true), (900, 800), Some((900, 800)), true, lack(true, false)),
            (lack(false, true), fine, None, false, lack(false, false)),
            (lack(false, false), (799, 800), Some((799, 800)), true, lack(true, true)),
        ] {
            assert_eq!(before.after(bytes, inodes, soon), after, "{before:?} {bytes:?} {inodes:?} {soon}");
        }
    }

    // Holds B-23.
    #[test]
    fn while_jails_run_it_is_looked_at_as_soon_as_they_could_have_filled_it() {
        let room = Room { kept_mib: 64, ..Room::default() };
        let millis = |mib: u64| pace(room, mib * MIB).as_millis();
        assert_eq!([0, 63, 80, 64 + 400, 64 + 4096].map(millis), [5, 5, 5, 97, 250]);
    }

    #[test]
    fn loss_of_room_is_reported_at_once_and_anything_else_later() {
        let room = |low, free_mib| Room { low, free_mib, kept_mib: 64 };
        let (low, fine) = (room(true, 63), room(false, 80));
        assert_eq!(steadied(low, fine, true), low);
        assert_eq!((steadied(low, fine, false), steadied(fine, low, true)), (fine, low));
        for (reported, now, soon, news) in [
            (fine, low, true, true),
            (low, fine, false, true),
            (low, room(true, 60), true, false),
            (low, room(true, 60), false, true),
            (fine, room(false, 79), false, false),
        ] {
            assert_eq!(is_news(reported, steadied(reported, now, soon)), news, "{reported:?} {now:?} {soon}");
        }
    }

    #[test]
    fn where_nothing_is_kept_a_full_disk_is_not_low() {
        assert!(!are_few(0, kept_bytes(Room::default()), false));
        let most = kept_bytes(Room { kept_mib: u32::MAX, ..Room::default() });
        assert!(are_few(MIB, most, false) && are_few(most, most, true), "no sum overflows");
    }

    #[test]
    fn the_kernel_says_how_much_is_free_and_nothing_of_what_is_not_there() {
        assert!(free(Path::new("/")).is_some());
        assert_eq!(free(Path::new("/nowhere/at/all")), None);
    }
}
