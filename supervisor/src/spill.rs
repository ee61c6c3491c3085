//! Ends jails that fill the part of the disk that is kept free. Each time that a fixed share of it is gone, agentd ends the jail
//! that meanwhile wrote most to disks, if that is half of the share or more; if there is none, the one that wrote as much to
//! anything, since not every file system has the kernel count. A disk that others fill ends no jail that writes less than that.
//! Files that a jail left in its workspace stay for their owner. It reads the kernel's counters of jails, and no file of theirs.

use crate::rest::Rest;
use crate::runners::Runners;
use crate::usage::{self, Written};
use manifest::command::{Ended, Room};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The share of the kept space, as its divisor, that makes agentd look at jails again; a jail is ended for half of it.
const PART: u64 = 16;
/// The longest pause after a look: a jail may write tens of MiB meanwhile.
const LONGEST: Duration = Duration::from_millis(50);

/// The free space at the last look at the jails, and the bytes that each had written by then.
#[derive(Debug, Default)]
pub(crate) struct Spill {
    mark: Option<u64>,
    /// By the pid of each runner.
    written: HashMap<i32, Written>,
    rest: Rest,
}

/// The next step at some number of free bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Nothing,
    /// Read the counters of all jails.
    Note,
    /// End the jail that has written this much since then, or more.
    End(u64),
}

impl Spill {
    /// `room` is low where bytes are few, whatever the inodes.
    fn due(&mut self, room: Room, bytes: u64) -> Due {
        let part = (u64::from(room.kept_mib) << 20) / PART;
        match self.mark {
            _ if !room.low => {
                self.mark = None;
                Due::Nothing
            }
            Some(mark) if bytes.saturating_add(part) > mark => {
                self.mark = Some(mark.max(bytes));
                Due::Nothing
            }
            mark => {
                self.mark = Some(bytes);
                if mark.is_some() { Due::End(part / 2) } else { Due::Note }
            }
        }
    }

    /// Ends the jail that wrote most since the last look, if the disk has so many bytes left and loses more. Returns true if it
    /// ended one.
    pub(crate) fn end_worst(&mut self, room: Room, bytes: u64, runners: &mut Runners) -> bool {
        let began = Instant::now();
        if self.rest.lasts() {
            return false;
        }
        let due = self.due(room, bytes);
        if due == Due::Nothing {
            return false;
        }
        let before = std::mem::take(&mut self.written);
        let mut since = Vec::new();
        for (at, runner) in runners.live.iter().enumerate().filter(|(_, runner)| runner.over.is_none()) {
            let pid = runner.child.pid;
            let written = usage::written(pid, runner.row.limits.processes);
            since.push((at, written.since(before.get(&pid).copied().unwrap_or_default())));
            self.written.insert(pid, written);
        }
        self.rest.begin(began, LONGEST);
        let Due::End(least) = due else { return false };
        let worst = worst(&since, least).and_then(|at| runners.live.get_mut(at));
        worst.map(|runner| runner.end(Ended::Disk)).is_some()
    }
}

/// The jail that wrote most, if that is at least `least`.
fn worst(since: &[(usize, Written)], least: u64) -> Option<usize> {
    let by = |bytes: fn(&Written) -> u64| {
        let most = since.iter().max_by_key(|(_, written)| bytes(written));
        most.filter(|(_, written)| bytes(written) >= least).map(|(at, _)| *at)
    };
    by(|written| written.disk).or_else(|| by(|written| written.any))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds B-23.
    #[test]
    fn a_writer_to_disk_is_ended_before_a_writer_to_pipes_and_none_for_little() {
        let (part, written) = (1024, |disk, any| Written { disk, any });
        for (jails, ended) in [
            ([written(0, 9000), written(2048, 2048), written(1500, 8000)], Some(1)),
            ([written(0, 9000), written(1000, 1000), written(1023, 8000)], Some(0)),
            ([written(0, 1023), written(1023, 0), written(0, 0)], None),
        ] {
            let jails: Vec<(usize, Written)> = jails.into_iter().enumerate().collect();
            assert_eq!(worst(&jails, part), ended, "{jails:?}");
        }
    }

    // Holds B-23.
    #[test]
    fn jails_are_looked_at_on_a_low_disk_and_for_each_share_that_is_gone() {
        let (mut spill, mib) = (Spill::default(), |mib: u64| mib << 20);
        let room = |low| Room { low, kept_mib: 64, ..Room::default() };
        let part = Due::End(mib(2));
        for (low, free, due) in [
            (false, 65, Due::Nothing),
            (true, 63, Due::Note),
            (true, 60, Due::Nothing),
            (true, 59, part),
            (true, 56, Due::Nothing),
            (true, 55, part),
            (true, 70, Due::Nothing),
            (true, 67, Due::Nothing),
            (true, 66, part),
            (false, 80, Due::Nothing),
            (true, 40, Due::Note),
            (true, 36, part),
        ] {
            assert_eq!(spill.due(room(low), mib(free)), due, "{free}");
        }
    }
}
