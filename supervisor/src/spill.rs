//! No jail takes what is kept free of the disk: below that, a part of it that goes costs the jail its end that wrote half as much or
//! more to a disk meanwhile; where none did, one that wrote as much to anything, since not every file system has the kernel count.
//! What others fill a disk with ends no jail that writes less than that, and what a jail left in its workspace stays there for
//! its owner. It reads what the kernel counts of jails, and no file of theirs.

use crate::host::Host;
use crate::runners;
use crate::usage::{self, Written};
use manifest::command::{Ended, Room};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Jails are held to account for each so much that goes of what is kept, as a part of that; one is ended for half of it.
const PART: u64 = 16;
/// How many times as long as a look at all jails took none is made after it: room that a jail takes and gives back again and
/// again would else be all that agentd, which has one thread, looks at.
const REST: u32 = 4;
/// The longest of these: a jail may write tens of MiB meanwhile.
const LONGEST: Duration = Duration::from_millis(50);

/// How low the disk was when it was last held against what jails had written, and what they had.
#[derive(Debug, Default)]
pub(crate) struct Spill {
    mark: Option<u64>,
    /// By the pid of each runner.
    written: HashMap<i32, Written>,
    /// Until when they are not looked at again.
    rests: Option<Instant>,
}

/// What there is to do with so many bytes free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Nothing,
    /// To see what jails have written by now.
    Note,
    /// To end one that has written this much since then.
    End(u64),
}

impl Spill {
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
}

/// Ends the jail that wrote most since the last look, where the disk has so many bytes left and they go on getting fewer.
pub(crate) fn look(host: &mut Host, bytes: u64) {
    let began = Instant::now();
    if host.disk.spill.rests.is_some_and(|until| began < until) {
        return;
    }
    let due = host.disk.spill.due(host.disk.room, bytes);
    if due == Due::Nothing {
        return;
    }
    let before = std::mem::take(&mut host.disk.spill.written);
    let (mut now, mut since) = (HashMap::new(), Vec::new());
    for (at, runner) in host.runners.live.iter().enumerate().filter(|(_, runner)| runner.over.is_none()) {
        let pid = runner.child.pid;
        let written = usage::written(pid, runner.row.limits.processes);
        since.push((at, written.since(before.get(&pid).copied().unwrap_or_default())));
        now.insert(pid, written);
    }
    host.disk.spill.written = now;
    host.disk.spill.rests = Some(Instant::now() + (began.elapsed() * REST).min(LONGEST));
    let Due::End(least) = due else { return };
    if let Some(runner) = worst(&since, least).and_then(|at| host.runners.live.get_mut(at)) {
        runner.over = Some(Ended::Disk);
        runners::end(runner);
        host.logs.write("agentd", "a jail was ended: it took of the disk what is kept free");
    }
}

/// Which of them wrote most, if that is as much as this.
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
    fn who_wrote_to_a_disk_is_ended_before_who_wrote_more_to_pipes_and_nobody_for_little() {
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
    fn jails_are_looked_at_once_the_disk_is_low_and_for_each_part_that_goes_of_what_is_kept() {
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
