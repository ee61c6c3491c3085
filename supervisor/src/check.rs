//! `agentd check`: tells, before anything is stopped for an upgrade, if this program would run the configuration and the state that
//! are there. It changes nothing, opens no database for work and starts no process of the host.
//!
//! It may run beside a host that is up: of a database it reads the first page and the log, and the record is verified by the audit
//! program.

use crate::args::Options;
use crate::configure;
use crate::disk;
use crate::exit::{self, Fault, at};
use crate::inodes;
use crate::ownership::{self, Place};
use crate::places;
use confine::probe;
use manifest::command::Mode;
use manifest::schemas::{self, Database};
use std::cmp::Ordering;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::process::{Command, Stdio};

/// Bytes of a database's log that are read.
const LOG: u64 = 256 << 20;
/// Bytes that a start needs besides those of the databases: for logs, the record, sockets.
const ROOM: u64 = 64 << 20;
/// Inodes that a start needs: its folders, sockets and logs.
const INODES: u64 = 256;

/// Prints all its findings.
pub(crate) fn check(options: &Options) -> Result<(), Fault> {
    let places = places::find(options);
    let configuration = configure::check(options).and_then(|()| configure::read(options));
    let mode = configuration.as_ref().map(|it| it.settings.mode);
    let usual = if nix::unistd::geteuid().is_root() { Mode::System } else { Mode::User };
    let mut sound = configuration.is_ok();
    sound &= kernel(mode.ok().flatten().unwrap_or(usual));
    let state = &places.state;
    // The user who asks may be another than the one who runs the host.
    let folders = [(state, Place::State), (&places.runtime, Place::Runtime)];
    for refused in folders.into_iter().filter_map(|(path, place)| ownership::look(path, place, None).err()) {
        if matches!(refused, Fault::NotOurs { .. }) {
            say("folder", &refused.to_string());
            sound = false;
        }
    }
    if state.exists() {
        let kept = configuration.as_ref().map_or(0, |it| u64::from(it.settings.disk_reserve) << 20);
        sound &= databases(state, ROOM.max(kept))?;
        sound &= record(state)?;
    } else {
        say("state", &format!("{} is not there: a start makes it", state.display()));
    }
    match configuration {
        Err(fault) => Err(fault),
        Ok(_) if sound => Ok(()),
        Ok(_) => Err(Fault::Unfit),
    }
}

fn say(what: &str, words: &str) {
    exit::print(&format!("{what:<10} {words}\n"));
}

fn kernel(mode: Mode) -> bool {
    let name = mode.name();
    match probe::require(mode) {
        Ok(()) => say("kernel", &format!("every layer of mode {name} is there")),
        Err(fault) => {
            say("kernel", &fault.to_string());
            return false;
        }
    }
    true
}

/// Compares every database with the version of this program, and the free space with `room` and the copies that migrations make.
fn databases(state: &Path, room: u64) -> Result<bool, Fault> {
    let (mut sound, mut room) = (true, room);
    for database in schemas::DATABASES {
        let path = state.join(database.path());
        let Some((version, bytes)) = look(&path)? else { continue };
        let (fits, words) = judge(database, version);
        if fits && version != Some(database.version) {
            room = room.saturating_add(bytes);
        }
        sound &= fits;
        say("database", &format!("{}: {words}", path.display()));
    }
    let free = disk::free(state)
        .ok_or_else(|| at("cannot look at the disk of", state)(io::Error::last_os_error()))?;
    let (free, room) = (free >> 20, room >> 20);
    if free < room {
        say("disk", &format!("{free} MiB are free below {}, and a start needs {room}", state.display()));
        return Ok(false);
    }
    say("disk", &format!("{free} MiB are free below {}; a start needs {room}", state.display()));
    if let Some(free) = inodes::free(state) {
        say("inodes", &format!("{free} are free below {}; a start needs {INODES}", state.display()));
        sound &= free >= INODES;
    }
    Ok(sound)
}

/// The effect of a start on a database of this version: false if it would be refused, and the words for it.
fn judge(database: &Database, version: Option<u32>) -> (bool, String) {
    let known = database.version;
    let Some(version) = version else { return (false, "no database".to_owned()) };
    match version.cmp(&known) {
        Ordering::Equal => (true, format!("version {version}, as this program has it")),
        Ordering::Less => (
            true,
            format!("version {version}; a start brings it to version {known}, and keeps a copy until then"),
        ),
        Ordering::Greater => {
            let words = format!("version {version}, and this program knows {known}: a newer one wrote it");
            (false, words)
        }
    }
}

/// The version of a database and its bytes; `None` if there is none.
fn look(path: &Path) -> Result<Option<(Option<u32>, u64)>, Fault> {
    let Some((head, bytes)) = read(path, schemas::HEAD as u64)? else { return Ok(None) };
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let (log, more) = read(Path::new(&log), LOG)?.unwrap_or_default();
    Ok(Some((schemas::version(&head, &log), bytes.saturating_add(more))))
}

/// The first bytes of a file, and its length.
fn read(path: &Path, most: u64) -> Result<Option<(Vec<u8>, u64)>, Fault> {
    let opened = || -> io::Result<(Vec<u8>, u64)> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes)?;
        Ok((bytes, length))
    };
    match opened() {
        Ok(read) => Ok(Some(read)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(at("cannot read", path)(error)),
    }
}

/// Verifies the record with audit's program. A last write that a running host has not finished is no fault.
fn record(state: &Path) -> Result<bool, Fault> {
    let folder = state.join("audit");
    if !folder.join("key.pub").exists() {
        say("record", "there is none yet");
        return Ok(true);
    }
    let kernel = |cause| Fault::Kernel("cannot run audit", cause);
    let own = std::env::current_exe().map_err(kernel)?;
    #[expect(
        clippy::disallowed_methods,
        reason = "the check of a folder, run as the caller and without a host; it ends before this program does"
    )]
    let mut audit = Command::new(own.with_file_name("audit"));
    audit.env_clear().stdin(Stdio::null()).args(["--offline", "verify", "--dir"]).arg(&folder);
    let output = audit.output().map_err(kernel)?;
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let line = said.lines().next().unwrap_or("audit says nothing").to_owned();
    say("record", &line);
    Ok(output.status.success() || is_torn_alone(&said))
}

/// Returns true if an unfinished last write is the only fault: a start cuts it off.
fn is_torn_alone(said: &str) -> bool {
    let mut faults = said.lines().take_while(|line| !line.starts_with("the record of ")).peekable();
    faults.peek().is_some() && faults.all(|fault| fault.starts_with("torn: "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_that_was_not_finished_is_no_fault_and_anything_beside_it_is() {
        let of = "the record of cordon/1 does not hold: 1 faults\ntrustworthy: all";
        assert!(is_torn_alone(&format!("torn: entry 7, the last, was not finished\n{of}")));
        for other in ["", "the record of cordon/1 holds", "edited: entry 3\n", "torn: x\nedited: y\n"] {
            assert!(!is_torn_alone(&format!("{other}{of}")), "{other}");
        }
    }

    #[test]
    fn an_older_database_is_migrated_and_a_newer_one_is_refused() {
        let database = schemas::DATABASES.first().unwrap();
        let known = database.version;
        let fits = |version| judge(database, version).0;
        assert!(fits(Some(known)) && fits(Some(0)));
        assert!(!fits(Some(known + 1)) && !fits(None));
        assert!(judge(database, Some(0)).1.contains(&format!("brings it to version {known}")));
        assert!(judge(database, Some(known + 1)).1.contains("a newer one wrote it"));
    }
}
