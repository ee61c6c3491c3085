//! The keys of `version`, `[host]` and `[log]`. It holds no logic.

use super::{ACTORS, ALL, Key, LAST_BASE, LEVELS, VERSION};
use crate::kind::{Kind, Preset};
use manifest::Process::Agentd;
use manifest::settings;

/// The keys.
pub(super) const KEYS: &[Key] = &[
    Key {
        path: "version",
        kind: Kind::Version(VERSION),
        preset: Preset::Number(VERSION),
        seen_by: &[],
        means: "The version of this file's format. A file of a newer version is refused rather than half understood.",
    },
    Key {
        path: "host.mode",
        kind: Kind::Word(&["auto", "system", "user", "flat"]),
        preset: Preset::Text("auto"),
        seen_by: &[Agentd],
        means: "How processes are confined. `system`: started as root, every process and every runner slot has a uid \
                of its own. `user`: an ordinary user, with user namespaces. `flat`: no namespaces; it gives up what \
                they protect, so it must be asked for. `auto`: `system` as root, else `user`. A mode whose layers the \
                kernel does not grant refuses to start.",
    },
    Key {
        path: "host.uid_base",
        kind: Kind::Number { min: 1000, max: LAST_BASE },
        preset: Preset::Number(780_000),
        seen_by: &[Agentd],
        means: "The first of 256 uids and gids that belong to this host in mode `system`: the processes' where the \
                `cordon-*` users are not installed, and from the 65th on the runner slots'. None of them may be in \
                `/etc/passwd`, `/etc/group`, `/etc/subuid` or `/etc/subgid`.",
    },
    Key {
        path: "host.runner_slots",
        kind: Kind::Number { min: 1, max: settings::MAX_SLOTS as u32 },
        preset: Preset::Number(64),
        seen_by: &[Agentd],
        means: "How many runners there can be at once; in mode `system` each has a uid that no other has.",
    },
    Key {
        path: "host.disk_reserve",
        kind: Kind::Number { min: 0, max: settings::DISK_RESERVE },
        preset: Preset::Number(64),
        seen_by: &[Agentd],
        means: "MiB that are kept free on the disk of the state directory. With less, new messages, effects and jails are \
                refused with that reason and the host is degraded; what was accepted is kept and brought to its end, and a \
                jail that goes on writing is ended. It heals by itself, once an eighth more is free. `0` keeps none.",
    },
    Key {
        path: "host.inode_reserve",
        kind: Kind::Number { min: 0, max: u32::MAX },
        preset: Preset::Number(16_384),
        seen_by: &[Agentd],
        means: "Inodes that are kept free there, on a file system that counts them. With fewer the host does as with too \
                little room, and the jail whose workspace gets most files is ended. `0` keeps none.",
    },
    Key {
        path: "host.warm_runners",
        kind: Kind::Number { min: 0, max: settings::MAX_WARM as u32 },
        preset: Preset::Number(8),
        seen_by: &[Agentd],
        means: "How many runners are launched and sealed ahead of need; a turn that finds one begins sooner. Each waits \
                in a slot of its own, and none is used for a second turn. Mode `flat` has none.",
    },
    Key {
        path: "log.format",
        kind: Kind::Word(&["text", "json"]),
        preset: Preset::Text("text"),
        seen_by: ALL,
        means: "Log lines as words, or as one JSON object a line. Neither holds content or secrets.",
    },
    Key {
        path: "log.level",
        kind: Kind::Word(LEVELS),
        preset: Preset::Text("info"),
        seen_by: ACTORS,
        means: "The least grave lines that are written.",
    },
    Key {
        path: "log.rotate_bytes",
        kind: Kind::Number { min: settings::ROTATE_BYTES.0, max: settings::ROTATE_BYTES.1 },
        preset: Preset::Number(8 << 20),
        seen_by: &[Agentd],
        means: "Bytes of a log file before it is put aside and a new one begun. Unused where the journal takes the lines.",
    },
    Key {
        path: "log.levels.PROCESS",
        kind: Kind::Word(LEVELS),
        preset: Preset::Nothing,
        seen_by: ACTORS,
        means: "The level of one process, instead of `log.level`.",
    },
];
