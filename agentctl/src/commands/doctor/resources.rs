//! Resources of the machine: the disk of the state, control groups, the clock. Read here, and judged by pure functions.

use super::{Row, Scene, Status};
use nix::sys::statvfs::statvfs;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const MIB: u64 = 1 << 20;
/// The free space below which a host begins nothing new, the default of `host.disk_reserve`, and a comfortable one.
const LITTLE: u64 = 64 * MIB;
const ENOUGH: u64 = 1024 * MIB;
/// File systems that do not survive a restart of the machine.
const FLEETING: [&str; 2] = ["tmpfs", "ramfs"];
/// File systems that cannot carry an id mapping, or whose flush promises nothing.
const STRANGE: [&str; 7] = ["overlay", "nfs", "nfs4", "cifs", "9p", "fuse", "hostfs"];
/// The time that the record may be ahead of the clock: clocks are set in steps.
const AHEAD: Duration = Duration::from_secs(60);
/// Files that daemons leave after they set the clock, and folders that exist while a daemon runs.
const SET: [&str; 2] = ["/run/systemd/timesync/synchronized", "/var/lib/systemd/timesync/clock"];
const SETTERS: [&str; 3] = ["/run/chrony", "/run/ntpd.pid", "/run/openntpd.sock"];

/// The free inodes below which a host begins nothing new, the default of `host.inode_reserve`.
const FEW_INODES: u64 = 16_384;

/// The rows of disk, control groups and clock.
pub(super) fn rows(scene: &Scene) -> Vec<Row> {
    let place = there(&scene.state);
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    vec![
        mount(&place, find_mount(&mounts, &place)),
        room(&place),
        groups(scene),
        clock(&scene.state.join("audit")),
    ]
}

/// The folder itself, or its nearest existing parent, in which a start would make it.
fn there(path: &Path) -> PathBuf {
    path.ancestors().find(|it| it.exists()).unwrap_or(Path::new("/")).to_owned()
}

/// A mount: its file system and its options.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mount {
    pub(super) kind: String,
    pub(super) options: Vec<String>,
}

/// The mount that holds `path`: the longest mount point above it, the last of equals (proc(5), mountinfo).
pub(super) fn find_mount(mounts: &str, path: &Path) -> Option<Mount> {
    let mut best: Option<(usize, Mount)> = None;
    for line in mounts.lines() {
        let Some((fields, rest)) = line.split_once(" - ") else { continue };
        let mut fields = fields.split(' ').skip(4);
        let (Some(point), Some(options)) = (fields.next(), fields.next()) else { continue };
        let length = point.len();
        if path.starts_with(point.replace("\\040", " "))
            && best.as_ref().is_none_or(|(most, _)| length >= *most)
        {
            let kind = rest.split(' ').next().unwrap_or_default().to_owned();
            best = Some((length, Mount { kind, options: options.split(',').map(str::to_owned).collect() }));
        }
    }
    best.map(|(_, mount)| mount)
}

pub(super) fn mount(place: &Path, mount: Option<Mount>) -> Row {
    let of = |status, message: String| Row::new("mounts.state", "disk of the state", status, message);
    let at = place.display();
    let Some(Mount { kind, options }) = mount else {
        return of(Status::Warn, format!("{at}: no mount is known that holds it"));
    };
    let has = |option: &str| options.iter().any(|it| it == option);
    if has("ro") {
        return of(Status::Fail, format!("{at} is on {kind} that can only be read; mount it for writing"));
    }
    if FLEETING.contains(&kind.as_str()) {
        return of(
            Status::Warn,
            format!("{at} is on {kind}: all of it is gone with the next start of the machine"),
        );
    }
    if STRANGE.iter().any(|strange| kind.starts_with(strange)) {
        let why = "its flush may promise nothing, and without workspaces for runners mode system does not start; \
                   use a local disk";
        return of(Status::Warn, format!("{at} is on {kind}: {why}"));
    }
    if has("noexec") {
        return of(Status::Warn, format!("{at} is on {kind} with noexec: what an agent builds does not run"));
    }
    of(Status::Pass, format!("{at} is on {kind}"))
}

fn room(place: &Path) -> Row {
    let of = |status, message: String| Row::new("disk.room", "free space", status, message);
    let Ok(about) = statvfs(place) else {
        return of(Status::Warn, format!("{} cannot be looked at", place.display()));
    };
    let free = about.blocks_available().saturating_mul(about.fragment_size());
    let status = if free < LITTLE {
        Status::Fail
    } else if free < ENOUGH {
        Status::Warn
    } else {
        Status::Pass
    };
    // A file system without a count of inodes cannot run out of them.
    let few = about.files() > 0 && about.files_available() < FEW_INODES;
    if few {
        let (free, at) = (about.files_available(), place.display());
        let message = format!(
            "{free} inodes are free below {at}; remove files, or a workspace (agentctl workspace list)"
        );
        return of(Status::Fail, message);
    }
    let rest = if status == Status::Pass { "" } else { "; make room, or move the state" };
    of(status, format!("{} MiB below {}{rest}", free / MIB, place.display()))
}

/// The row of control groups: without them, limits of a jail are resource limits and agentd's watch.
fn groups(scene: &Scene) -> Row {
    let of = |status, message: &str| Row::new("cgroups.delegated", "control groups", status, message);
    let root = Path::new("/sys/fs/cgroup");
    if !root.join("cgroup.controllers").exists() {
        return of(Status::Warn, "no cgroup v2 of its own: a jail's limits are resource limits and a watch");
    }
    let Some(host) = &scene.host else {
        return of(Status::Pass, "cgroup v2; whether it is delegated shows when a host runs");
    };
    let group = fs::read_to_string(format!("/proc/{}/cgroup", host.pid)).unwrap_or_default();
    let Some(path) = group.lines().find_map(|line| line.strip_prefix("0::/")) else {
        return of(Status::Warn, "the host's control group cannot be read");
    };
    // agentd may be in a group of its own below its unit's, which is the delegated one.
    let mut above = Path::new(path).ancestors();
    let unit = above.find(|group| group.extension().is_some_and(|end| end == "service"));
    let has = |name: &str| {
        let file = unit.map(|group| root.join(group).join("cgroup.controllers"));
        let controllers = file.and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default();
        controllers.split_whitespace().any(|it| it == name)
    };
    if has("memory") && has("pids") {
        return of(Status::Pass, "memory and pids are delegated");
    }
    of(Status::Warn, "memory and pids are not delegated; start the host by its unit, which has Delegate=yes")
}

fn clock(record: &Path) -> Row {
    let of = |status, message: String| Row::new("clock.sane", "clock", status, message);
    let now = SystemTime::now();
    let last = newest(record);
    if let Some(ahead) = last.and_then(|last| last.duration_since(now).ok()).filter(|ahead| *ahead > AHEAD) {
        let seconds = ahead.as_secs();
        return of(
            Status::Fail,
            format!("the record was last written {seconds} s in the future; set the clock"),
        );
    }
    let set = SET.iter().chain(&SETTERS).find(|path| Path::new(path).exists());
    match set {
        Some(by) => of(Status::Pass, format!("it is set by a time service ({by})")),
        None => {
            of(Status::Warn, "nothing is known to set it; use systemd-timesyncd, chrony or ntpd".to_owned())
        }
    }
}

/// The time of the record's last write, as far as the caller may see it.
fn newest(record: &Path) -> Option<SystemTime> {
    let entries = fs::read_dir(record).ok()?.flatten();
    entries.filter_map(|entry| entry.metadata().ok()?.modified().ok()).max()
}
