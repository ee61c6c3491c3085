//! Access to the host: its socket, and its TCP listeners. Only those that agentd holds for gateway may exist, on this
//! machine alone.

use super::{Row, Scene, Status, repair};
use crate::{kernel, text};
use manifest::Process;
use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixStream;

/// The state of a TCP socket that listens, as `/proc/net/tcp` writes it.
const LISTENING: &str = "0A";

/// The rows of sockets.
pub(super) fn rows(scene: &Scene) -> Vec<Row> {
    vec![control(scene), exposure(scene)]
}

fn control(scene: &Scene) -> Row {
    let path = scene.socket.display();
    let of = |status, message: String| Row::new("sockets.control", "control socket", status, message);
    let Ok(about) = scene.socket.symlink_metadata() else {
        return of(Status::Warn, format!("no host runs: there is no {path}; start one"));
    };
    if !about.file_type().is_socket() {
        return of(Status::Fail, format!("{path} is no socket; move it away"));
    }
    if scene.host.is_some() {
        let (mode, who) = if scene.has_own_uids() { (0o666, "everybody") } else { (0o600, "its user") };
        let found = about.permissions().mode() & 0o777;
        return if found == mode {
            of(Status::Pass, format!("{path} answers; {who} may connect, and is known by the kernel's word"))
        } else {
            of(Status::Fail, format!("{path} has mode {found:04o} instead of {mode:04o}; restart the host"))
        };
    }
    if scene.refused {
        return of(Status::Warn, format!("{path} answers, and this user may not ask what; ask as the owner"));
    }
    match UnixStream::connect(&scene.socket) {
        Ok(_) => {
            of(Status::Fail, format!("{path} is listened at and does not answer; look at the host's log"))
        }
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            of(Status::Warn, format!("{path} may not be opened by this user"))
        }
        Err(_) => stale(scene),
    }
}

/// A socket with no listener, which the next start replaces.
fn stale(scene: &Scene) -> Row {
    let message = format!("{} is left of a host that is gone", scene.socket.display());
    let mut row = Row::new("sockets.control", "control socket", Status::Warn, message);
    if scene.fix {
        match repair::stale(&scene.socket) {
            Ok(what) => row.mended.push(what),
            Err(error) => row.message.push_str(&format!("; mending: {error}")),
        }
    }
    row
}

/// A TCP socket that listens.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Listener {
    pub(super) at: String,
    pub(super) uid: u32,
    pub(super) inode: String,
}

/// The listeners that `/proc/net/tcp` or `tcp6` names.
pub(super) fn listeners(text: &str) -> Vec<Listener> {
    let lines = text.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    let of = |fields: Vec<&str>| {
        let [at, state, uid, inode] = [1, 3, 7, 9].map(|number: usize| fields.get(number).copied());
        (state? == LISTENING).then_some(())?;
        Some(Listener { at: at?.to_owned(), uid: uid?.parse().ok()?, inode: format!("socket:[{}]", inode?) })
    };
    lines.filter_map(of).collect()
}

fn exposure(scene: &Scene) -> Row {
    let of = |status, message: String| Row::new("exposure.tcp", "open ports", status, message);
    let Some(host) = &scene.host else {
        return of(Status::Pass, "no host runs, so nothing of it listens".to_owned());
    };
    let text = |name: &str| fs::read_to_string(format!("/proc/net/{name}")).unwrap_or_default();
    let found: Vec<Listener> = ["tcp", "tcp6"].iter().flat_map(|name| listeners(&text(name))).collect();
    let running = host.processes.iter().filter(|process| process.pid != 0);
    let (mut held, mut gateways) = (BTreeSet::new(), BTreeSet::new());
    let mut unread = 0_usize;
    let pids = running.clone().map(|process| (process.pid, process.name.as_str() == Process::Gateway.name()));
    for (pid, keeps) in pids.chain([(host.pid, true)]) {
        match kernel::descriptors(pid) {
            Some(Ok(descriptors)) if keeps => gateways.extend(descriptors),
            Some(Ok(descriptors)) => held.extend(descriptors),
            Some(Err(_)) => unread += 1,
            None => {}
        }
    }
    let uids: BTreeSet<u32> = running.map(|process| process.uid).filter(|_| scene.has_own_uids()).collect();
    let api: Vec<String> =
        found.iter().filter(|it| gateways.contains(&it.inode)).filter_map(|it| loopback(&it.at)).collect();
    let ours: Vec<&str> = found
        .iter()
        .filter(|it| held.contains(&it.inode) || uids.contains(&it.uid) || is_strange(it, &gateways))
        .map(|it| it.at.as_str())
        .collect();
    if !ours.is_empty() {
        return of(
            Status::Fail,
            format!("a process of the host listens at {}; stop it and ask why", ours.join(", ")),
        );
    }
    if unread > 0 && uids.is_empty() {
        return of(
            Status::Warn,
            format!(
                "no descriptors of {} are shown to this user; ask as root",
                text::count(unread, "process", "processes")
            ),
        );
    }
    if !api.is_empty() {
        let message = format!("gateway listens at {} on this machine, for who has a key", api.join(", "));
        return of(Status::Pass, message);
    }
    of(Status::Pass, format!("no process of the host listens; {} others' do", found.len()))
}

/// Returns true if other machines can reach a listener of agentd or gateway, which no configuration allows.
fn is_strange(listener: &Listener, gateways: &BTreeSet<String>) -> bool {
    gateways.contains(&listener.inode) && loopback(&listener.at).is_none()
}

/// An address of `/proc/net/tcp` in the usual form, if it is one of the two that gateway can have.
pub(super) fn loopback(at: &str) -> Option<String> {
    let (ip, port) = at.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    // The kernel writes the words of an address as they lie in memory.
    let v4 = format!("{:08X}", u32::from_ne_bytes([127, 0, 0, 1]));
    let v6 = format!("{}{:08X}", "0".repeat(24), u32::from_ne_bytes([0, 0, 0, 1]));
    match ip {
        ip if ip == v4 => Some(format!("127.0.0.1:{port}")),
        ip if ip == v6 => Some(format!("[::1]:{port}")),
        _ => None,
    }
}
