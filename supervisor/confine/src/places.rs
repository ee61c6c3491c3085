//! The folders that a runner may use, and equally the probe of its jail. They are fixed in the jail; in mode flat they are the
//! directory that it was started in and its temporary folder.

use crate::seal::RunnerPlaces;
use manifest::command::Mode;
use manifest::{Network, Process, Row};
use std::path::{Path, PathBuf};

/// System folders that programs are started from.
const SYSTEM: &[&str] = &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/skills"];
/// In the jail all of `/etc` is the jail's own; on the host only the files that programs read.
const ETC_FLAT: &[&str] =
    &["/etc/ld.so.cache", "/etc/ssl", "/etc/alternatives", "/etc/localtime", "/etc/passwd", "/etc/group"];
/// Terminals of the jail's own.
const TERMINALS: &[&str] = &["/dev/pts"];
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];
/// Writable folders of a jail. The workspace is mounted late, and landlock checks the folder above a mountpoint.
const WORK: &[&str] = &["/ws", "/tmp"];
/// The files of a server, mounted read-only but where they are installed.
const FILES: &str = "/sv";

impl RunnerPlaces {
    /// The places of a runner of this row and mode; `workspace` and `tmp` matter in mode flat alone.
    #[must_use]
    pub fn of(row: &Row, mode: Mode, workspace: &Path, tmp: &Path) -> Self {
        let paths = |list: &[&str]| list.iter().map(PathBuf::from).collect::<Vec<_>>();
        let flat = mode == Mode::Flat;
        let files: &[&str] = if row.process == Process::McpRunner { &[FILES] } else { &[] };
        let terminals = if row.network == Network::Loopback { TERMINALS } else { &[] };
        Self {
            work: if flat {
                vec![workspace.to_owned(), tmp.to_owned()]
            } else {
                paths(&[WORK, files].concat())
            },
            system: paths(SYSTEM),
            read: paths(if flat { ETC_FLAT } else { &["/etc", "/proc"] }),
            devices: paths(&[DEVICES, terminals].concat()),
        }
    }
}
