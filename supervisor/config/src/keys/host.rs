//! The keys of `version`, `[host]` and `[log]`. It holds no logic.

use super::{ACTORS, ALL, Key, LAST_BASE, LEVELS, VERSION};
use crate::forms::TIME_ZONE;
use crate::kind::{Kind, Preset};
use manifest::Process::{Agentd, Gate, Scheduler};
use manifest::settings;

/// The keys.
pub(super) const KEYS: &[Key] = &[
    Key {
        path: "version",
        kind: Kind::Version(VERSION),
        preset: Preset::Number(VERSION),
        seen_by: &[],
        means: "The version of this file's format. A file with a newer version is refused.",
    },
    Key {
        path: "host.mode",
        kind: Kind::Word(&["auto", "system", "user", "flat"]),
        preset: Preset::Text("auto"),
        seen_by: &[Agentd],
        means: "The confinement of processes. `system`: agentd runs as root, and every process and every runner slot \
                has its own uid. `user`: agentd runs as an ordinary user, with user namespaces. `flat`: no namespaces; \
                it gives up what they protect, so it must be set explicitly. `auto`: `system` as root, else `user`. In \
                a mode whose layers the kernel does not grant, the host refuses to start.",
    },
    Key {
        path: "host.time_zone",
        kind: Kind::Text(&TIME_ZONE),
        preset: Preset::Nothing,
        seen_by: &[Gate, Scheduler],
        means: "The time zone in which agents are told the time, and of jobs that name none. Without it, this machine's own: that of `/etc/localtime`, \
                else UTC. Budgets are counted in UTC.",
    },
    Key {
        path: "host.uid_base",
        kind: Kind::Number { min: 1000, max: LAST_BASE },
        preset: Preset::Number(780_000),
        seen_by: &[Agentd],
        means: "The first of 256 uids and gids that belong to this host in mode `system`: the first 64 are for the \
                processes where the `cordon-*` users are not installed, the others for the runner slots. None of them \
                may be in `/etc/passwd`, `/etc/group`, `/etc/subuid` or `/etc/subgid`.",
    },
    Key {
        path: "host.runner_slots",
        kind: Kind::Number { min: 1, max: settings::MAX_SLOTS as u32 },
        preset: Preset::Number(64),
        seen_by: &[Agentd],
        means: "The most runners at once; in mode `system` each has its own uid.",
    },
    Key {
        path: "host.disk_reserve",
        kind: Kind::Number { min: 0, max: settings::DISK_RESERVE },
        preset: Preset::Number(64),
        seen_by: &[Agentd],
        means: "MiB that are kept free on the disk of the state directory. With less free space, new messages, effects \
                and jails are refused with that reason and the host is degraded; accepted work is kept and finished, \
                and a jail that goes on writing is ended. The host recovers by itself once an eighth more is free. `0` \
                keeps none.",
    },
    Key {
        path: "host.inode_reserve",
        kind: Kind::Number { min: 0, max: u32::MAX },
        preset: Preset::Number(16_384),
        seen_by: &[Agentd],
        means: "Inodes that are kept free on the disk of the state directory, if its file system counts them. With \
                fewer, the host does the same as with too little space, and the jail whose workspace gets most files is \
                ended. `0` keeps none.",
    },
    Key {
        path: "host.warm_runners",
        kind: Kind::Number { min: 0, max: settings::MAX_WARM as u32 },
        preset: Preset::Number(8),
        seen_by: &[Agentd],
        means: "The number of runners that are launched and sealed ahead of need; a turn that gets one begins sooner. \
                Each waits in a slot of its own and serves one turn. Mode `flat` has none.",
    },
    Key {
        path: "log.format",
        kind: Kind::Word(&["text", "json"]),
        preset: Preset::Text("text"),
        seen_by: ALL,
        means: "The form of log lines: plain text, or one JSON object a line. Neither contains content or secrets.",
    },
    Key {
        path: "log.level",
        kind: Kind::Word(LEVELS),
        preset: Preset::Text("info"),
        seen_by: ACTORS,
        means: "The lowest level that is logged. agentd's own lines are few, and all of them are logged.",
    },
    Key {
        path: "log.rotate_bytes",
        kind: Kind::Number { min: settings::ROTATE_BYTES.0, max: settings::ROTATE_BYTES.1 },
        preset: Preset::Number(8 << 20),
        seen_by: &[Agentd],
        means: "The size in bytes at which a log file is rotated. Not used where the journal receives the lines.",
    },
    Key {
        path: "log.levels.PROCESS",
        kind: Kind::Word(LEVELS),
        preset: Preset::Nothing,
        seen_by: ACTORS,
        means: "The level of one process, instead of `log.level`.",
    },
];
