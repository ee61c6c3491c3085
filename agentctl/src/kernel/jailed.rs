//! Facts of a jail that other processes do not have: the mounts of its tree, the maps of its user namespace, its cgroup.
//! Also the children of a process, since only the kernel knows all runners.

use super::{Reading, facts, text};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// One mount, as the process sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    /// The kernel's number of it, by which descriptors name it.
    pub(crate) id: String,
    /// Where it is.
    pub(crate) at: String,
    /// Its attributes: `ro` or `rw`, `nosuid`, `nodev`.
    pub(crate) attributes: BTreeSet<String>,
    /// The kind of file system.
    pub(crate) kind: String,
}

/// The lines of a `mountinfo` file.
pub(crate) fn parse_mounts(text: &str) -> Vec<Mount> {
    let line = |line: &str| {
        let (place, file_system) = line.split_once(" - ")?;
        let mut place = place.split(' ');
        let (id, at) = (place.next()?.to_owned(), place.nth(3)?.to_owned());
        let attributes = place.next()?.split(',').map(str::to_owned).collect();
        Some(Mount { id, at, attributes, kind: file_system.split(' ').next()?.to_owned() })
    };
    text.lines().filter_map(line).collect()
}

/// The lines of an `uid_map` or `gid_map` file: each the first id inside, the first outside, and how many.
pub(crate) fn parse_map(text: &str) -> String {
    let line = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    text.lines().map(line).collect::<Vec<_>>().join(", ")
}

/// The cgroup of version 2 that a `cgroup` file names.
pub(super) fn cgroup(folder: &Path) -> Reading<String> {
    let text = text(&folder.join("cgroup"))?;
    let path = text.lines().find_map(|line| line.strip_prefix("0::"));
    path.map(str::to_owned).ok_or_else(|| "this process is in no cgroup of version 2".to_owned())
}

/// Its own name: the first word of its command line.
pub(super) fn name(folder: &Path) -> Reading<String> {
    let line = text(&folder.join("cmdline"))?;
    Ok(line.split('\0').next().unwrap_or_default().to_owned())
}

/// The processes whose parent this is, but those that have ended and only wait to be noticed.
pub(crate) fn children(parent: u32) -> Vec<u32> {
    let parent = parent.to_string();
    let is_child = |pid: &u32| {
        let found = facts(&Path::new("/proc").join(pid.to_string()), [0, 1]);
        found.is_some_and(|[state, its_parent]| its_parent == parent && state != "Z" && state != "X")
    };
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_child).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_line_is_read_with_any_optional_fields() {
        let text = "474 473 0:40 / / ro,nosuid,nodev,relatime - tmpfs tmpfs rw,size=1024k\n\
            489 474 0:72 / /tmp rw,nosuid shared:9 master:1 - tmpfs tmpfs rw\nnothing of the kind\n";
        let found = parse_mounts(text);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].id.as_str(), found[0].at.as_str()), ("474", "/"));
        assert!(found[0].attributes.contains("ro") && found[0].attributes.contains("nodev"));
        assert_eq!((found[1].at.as_str(), found[1].kind.as_str()), ("/tmp", "tmpfs"));
        assert_eq!(found[1].attributes, ["nosuid", "rw"].map(str::to_owned).into());
    }

    #[test]
    fn a_map_is_read_whole() {
        assert_eq!(parse_map("      1000     780064          1\n"), "1000 780064 1");
        assert_eq!(parse_map("0 1001 1\n 5 6 7\n"), "0 1001 1, 5 6 7");
    }

    #[test]
    fn a_child_is_found_by_its_parent_until_it_has_ended() {
        #[expect(clippy::disallowed_methods, reason = "a child to look at")]
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let found = children(std::process::id());
        assert!(found.contains(&child.id()), "{found:?}");
        child.kill().unwrap();
        let ended = || !children(std::process::id()).contains(&child.id());
        assert!((0..500).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            ended()
        }));
        child.wait().unwrap();
    }
}
