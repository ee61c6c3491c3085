//! The unit: it must be installed, of this version, enabled and watched. Read from files, without a service manager.

use super::{Row, Scene, Status};
use std::fs;
use std::path::{Path, PathBuf};

/// The unit that this version ships.
const SYSTEM_UNIT: &str = include_str!("../../../../deploy/cordon.service");
const USER_UNIT: &str = include_str!("../../../../deploy/cordon-user.service");
/// The folders of units; the first that has the unit counts (systemd.unit(5)).
const SYSTEM_PLACES: [&str; 4] = [
    "/etc/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
];
const USER_PLACES: [&str; 3] = ["/etc/systemd/user", "/usr/local/lib/systemd/user", "/usr/lib/systemd/user"];
const NAME: &str = "cordon.service";

/// An installed unit with its drop-ins.
pub(super) struct Unit {
    pub(super) path: PathBuf,
    pub(super) text: String,
    pub(super) added: Vec<(PathBuf, String)>,
    pub(super) enabled: bool,
}

/// The rows of the unit.
pub(super) fn rows(scene: &Scene) -> Vec<Row> {
    let (places, shipped) = if scene.uid == 0 {
        (SYSTEM_PLACES.map(PathBuf::from).to_vec(), SYSTEM_UNIT)
    } else {
        let own = super::of_user("XDG_CONFIG_HOME", ".config").with_file_name("systemd/user");
        (std::iter::once(own).chain(USER_PLACES.map(PathBuf::from)).collect(), USER_UNIT)
    };
    judge(find(&places).as_ref(), shipped, Path::new("/run/systemd/system").exists())
}

fn find(places: &[PathBuf]) -> Option<Unit> {
    let (place, text) =
        places.iter().find_map(|place| Some((place, fs::read_to_string(place.join(NAME)).ok()?)))?;
    let mut added = Vec::new();
    for folder in places.iter().rev().map(|place| place.join(format!("{NAME}.d"))) {
        let mut files: Vec<PathBuf> =
            fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        files.sort();
        let of_unit = files.into_iter().filter(|path| path.extension().is_some_and(|end| end == "conf"));
        added.extend(of_unit.filter_map(|path| Some((path.clone(), fs::read_to_string(&path).ok()?))));
    }
    let wanted = |place: &PathBuf| {
        let targets = ["multi-user.target.wants", "default.target.wants"];
        targets.iter().any(|target| place.join(target).join(NAME).symlink_metadata().is_ok())
    };
    Some(Unit { path: place.join(NAME), text, added, enabled: places.iter().any(wanted) })
}

pub(super) fn judge(unit: Option<&Unit>, shipped: &str, systemd: bool) -> Vec<Row> {
    let none = if systemd { Status::Warn } else { Status::Pass };
    let Some(unit) = unit else {
        let message = if systemd {
            "it is not installed: a host that was started by hand is not restarted; `make install` or the package has it"
        } else {
            "it is not installed, and systemd does not run here"
        };
        return vec![Row::new("unit.installed", "unit", none, message)];
    };
    let at = unit.path.display();
    let current = if unit.text == shipped {
        Row::new("unit.current", "unit's version", Status::Pass, "as this version ships it")
    } else {
        let message = format!(
            "{at} is not the one that this version ships; install it again, and change it by drop-ins"
        );
        Row::new("unit.current", "unit's version", Status::Warn, message)
    };
    let enabled = if unit.enabled {
        Row::new("unit.enabled", "start with the machine", Status::Pass, "it is enabled")
    } else {
        Row::new("unit.enabled", "start with the machine", Status::Warn, "it is not: systemctl enable cordon")
    };
    vec![
        Row::new("unit.installed", "unit", Status::Pass, format!("{at}")),
        current,
        enabled,
        watchdog(unit),
        in_the_way(unit),
    ]
}

/// The last value of a directive, in the unit and its drop-ins.
fn last<'a>(unit: &'a Unit, directive: &str) -> Option<&'a str> {
    let texts = std::iter::once(unit.text.as_str()).chain(unit.added.iter().map(|(_, text)| text.as_str()));
    let lines = texts.flat_map(str::lines).filter_map(|line| line.trim().split_once('='));
    lines.filter(|(name, _)| name.trim() == directive).map(|(_, value)| value.trim()).next_back()
}

fn watchdog(unit: &Unit) -> Row {
    let of = |status, message: String| Row::new("unit.watchdog", "watchdog", status, message);
    match last(unit, "WatchdogSec") {
        Some(value) if !matches!(value, "" | "0" | "infinity") => {
            of(Status::Pass, format!("a supervisor that stands still for {value} is restarted"))
        }
        _ => of(Status::Warn, "there is none: a supervisor that hangs is not noticed".to_owned()),
    }
}

/// Settings that a drop-in must not add, since each disables a layer of the jails.
const IN_THE_WAY: [&str; 7] = [
    "RestrictNamespaces",
    "MemoryDenyWriteExecute",
    "RestrictSUIDSGID",
    "ProtectHostname",
    "PrivateUsers",
    "PrivateNetwork",
    "User",
];

fn in_the_way(unit: &Unit) -> Row {
    let of = |status, message: String| Row::new("unit.drop-ins", "drop-ins", status, message);
    let is_set = |directive: &&str| {
        last(unit, directive)
            .is_some_and(|value| !matches!(value, "" | "no" | "false" | "0" | "off" | "root"))
    };
    let found: Vec<&str> = IN_THE_WAY.into_iter().filter(is_set).collect();
    if found.is_empty() {
        return of(Status::Pass, format!("{} of them, none in the way of a jail", unit.added.len()));
    }
    let files: Vec<String> = unit.added.iter().map(|(path, _)| path.display().to_string()).collect();
    of(Status::Fail, format!("{} refuses what jails need; look in {}", found.join(", "), files.join(", ")))
}
