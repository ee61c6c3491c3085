//! The mechanism that enforces the limits of a jail as a whole: it must be the one that the host reports, and a cgroup
//! must hold the table's values. Reads the cgroups beside agentd's own and changes nothing.

use super::findings::{Finding, Verdict, finding};
use crate::kernel::Reading;
use manifest::Process;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// agentd's own group in the cgroup that it divides; the slots' groups are beside it.
pub(super) const HOST: &str = "host";
pub(super) const RUNNERS: &str = "runners";
/// The reason for no comparison: without cgroups the kernel has no values.
pub(super) const CGROUP: &str = "cgroup";

/// The cgroups that the kernel shows.
#[derive(Debug)]
pub(super) struct Groups(Reading<Option<PathBuf>>);

/// Reads agentd's cgroup.
pub(super) fn read(agentd: u32) -> Groups {
    let text = |path: String| fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"));
    let found = || {
        let (own, mounts) =
            (text(format!("/proc/{agentd}/cgroup"))?, text("/proc/self/mountinfo".to_owned())?);
        Ok(groups(&own, &mounts).filter(|path| path.is_dir()))
    };
    Groups(found())
}

/// The folder of the slots' groups, if agentd divides a cgroup.
fn groups(own: &str, mounts: &str) -> Option<PathBuf> {
    let own = Path::new(own.lines().find_map(|line| line.strip_prefix("0::"))?);
    let base = own.parent().filter(|_| own.file_name().is_some_and(|name| name == HOST))?;
    let (root, at) = mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let mut fields = place.split(' ').skip(3);
        kind.starts_with("cgroup2 ").then_some((fields.next()?, fields.next()?))
    })?;
    Some(Path::new(at).join(base.strip_prefix(root).ok()?).join(RUNNERS))
}

/// The comparison.
pub(super) fn judge(claimed: &str, groups: &Groups) -> Vec<Finding> {
    let me = Process::Runner;
    let reading = groups.0.as_ref().map_err(Clone::clone);
    let holder = reading.clone().map(|path| if path.is_some() { CGROUP } else { "watch" }.to_owned());
    let mut holder = finding(me, "limits by", claimed, holder, |found| found == claimed);
    if holder.verdict == Verdict::Equal && claimed != CGROUP {
        holder.reason = "limits of each process, and agentd's watch on the jail's sum".to_owned();
    }
    let Ok(Some(path)) = reading else { return vec![holder] };
    let rows = || Process::RUNNERS.iter().map(|runner| limits(*runner));
    let values = [
        ("memory.max", rows().map(|(memory, _)| memory.to_string()).collect()),
        ("memory.swap.max", vec!["0".to_owned()]),
        ("memory.oom.group", vec!["1".to_owned()]),
        ("pids.max", rows().map(|(_, processes)| processes.to_string()).collect()),
        ("cpu.max", vec!["100000 100000".to_owned()]),
    ];
    // A slot has the values of its last jail, which is of any row.
    let values = values.map(|(name, expected): (_, Vec<String>)| {
        let kept = kept(path, name);
        let holds = |found: &str| found.split(", ").all(|value| expected.iter().any(|one| one == value));
        finding(me, name, expected.first().cloned().unwrap_or_default(), kept, |found| holds(found))
    });
    std::iter::once(holder).chain(values).collect()
}

/// Memory in bytes and processes of a jail of this row.
fn limits(row: Process) -> (u64, u32) {
    let limits = manifest::row(row).map(|row| row.limits);
    limits.map_or((0, 0), |it| (u64::from(it.memory_mib) << 20, it.processes))
}

/// The value of this file in the slots' groups, if they agree. A controller that is not delegated has no file.
fn kept(runners: &Path, name: &str) -> Reading<String> {
    let slots = fs::read_dir(runners).map_err(|error| format!("{}: {error}", runners.display()))?;
    let files =
        slots.flatten().map(|slot| slot.path()).filter(|slot| slot.is_dir()).map(|slot| slot.join(name));
    let mut values = BTreeSet::new();
    for file in files {
        let value = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        values.insert(value.trim().to_owned());
    }
    if values.is_empty() {
        Err("no slot has a group".to_owned())
    } else {
        Ok(Vec::from_iter(values).join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "31 24 0:27 / /sys/fs/cgroup rw,relatime shared:9 - cgroup2 cgroup2 rw\n";

    fn slots(values: &[(&str, &str)]) -> tempfile::TempDir {
        let runners = tempfile::tempdir().unwrap();
        for slot in ["slot-0", "slot-1"] {
            fs::create_dir(runners.path().join(slot)).unwrap();
            for (name, value) in values {
                fs::write(runners.path().join(slot).join(name), value).unwrap();
            }
        }
        runners
    }

    const GOOD: [(&str, &str); 5] = [
        ("memory.max", "536870912\n"),
        ("memory.swap.max", "0\n"),
        ("memory.oom.group", "1\n"),
        ("pids.max", "128\n"),
        ("cpu.max", "100000 100000\n"),
    ];

    #[test]
    fn groups_are_beside_agentd_and_nowhere_else() {
        let own = "1:cpu:/x\n0::/system.slice/cordon.service/host\n";
        let runners = "/sys/fs/cgroup/system.slice/cordon.service/runners";
        assert_eq!(groups(own, MOUNTS), Some(PathBuf::from(runners)));
        assert_eq!(groups("0::/system.slice/cordon.service\n", MOUNTS), None);
        assert_eq!(groups(own, "31 24 0:27 / /x rw - cgroup cgroup rw,cpu\n"), None);
    }

    // Holds P9-09.
    #[test]
    fn each_cgroup_value_is_compared_and_one_slot_suffices_to_differ() {
        let runners = slots(&GOOD);
        let groups = Groups(Ok(Some(runners.path().to_owned())));
        let verdicts = |claimed: &str| -> Vec<Verdict> {
            judge(claimed, &groups).iter().map(|finding| finding.verdict).collect()
        };
        assert_eq!(verdicts("cgroup"), [Verdict::Equal; 6]);
        for (name, value) in [("memory.max", "4294967296\n"), ("pids.max", "512\n")] {
            fs::write(runners.path().join("slot-1").join(name), value).unwrap();
        }
        assert_eq!(verdicts("cgroup"), [Verdict::Equal; 6], "a person's own program was in it last");
        assert_eq!(verdicts("watch").first(), Some(&Verdict::Different), "the host says something else");
        for (at, (name, _)) in GOOD.iter().enumerate() {
            fs::write(runners.path().join("slot-1").join(name), "max\n").unwrap();
            assert_eq!(verdicts("cgroup").get(at + 1), Some(&Verdict::Different), "{name}");
        }
        fs::remove_file(runners.path().join("slot-0/cpu.max")).unwrap();
        assert_eq!(verdicts("cgroup").get(5), Some(&Verdict::Unreadable));
    }

    #[test]
    fn a_watch_is_what_the_host_says_it_is_where_there_are_no_groups() {
        let findings = judge("watch", &Groups(Ok(None)));
        assert!(matches!(&findings[..], [one] if one.verdict == Verdict::Equal && !one.reason.is_empty()));
        assert_eq!(judge("cgroup", &Groups(Ok(None)))[0].verdict, Verdict::Different);
    }
}
