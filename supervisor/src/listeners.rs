//! The listeners: made once, open for as long as the host runs, and passed to their process after each of its starts. A client
//! that connects while that process is down waits in the kernel's queue and is served by the next life.

use crate::exit::{Fault, at};
use crate::process::Process;
use manifest::command::{Frame, Kind, ListenerKind};
use manifest::settings::{Loopback, Settings};
use manifest::{Inherited, Process as Name};
use nix::sys::socket::{Backlog, listen};
use std::fs::{self, Permissions};
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;

/// A listener, its process, and its kind.
#[derive(Debug)]
struct Listener {
    of: Name,
    kind: ListenerKind,
    end: OwnedFd,
}

/// Every listener of the host.
#[derive(Debug)]
pub(crate) struct Listeners(Vec<Listener>);

impl Listeners {
    /// Makes them. With `everybody` any user may connect to the Unix sockets: the kernel identifies the client.
    pub(crate) fn make(runtime: &Path, settings: &Settings, everybody: bool) -> Result<Self, Fault> {
        let mut all = vec![unix(Name::Control, &runtime.join("control.sock"), everybody)?];
        let path = runtime.join("gateway.sock");
        if settings.enabled(Name::Gateway) {
            all.push(unix(Name::Gateway, &path, everybody)?);
        } else {
            remove(&path)?;
        }
        if let Some(loopback) = settings.listen {
            all.push(Listener { of: Name::Gateway, kind: ListenerKind::Tcp, end: tcp(loopback)? });
        }
        if let Some(loopback) = settings.ingress {
            all.push(Listener { of: Name::Ingress, kind: ListenerKind::Tcp, end: tcp(loopback)? });
        }
        Ok(Self(all))
    }

    /// Passes `process` its own.
    pub(crate) fn hand_over(&self, process: &Process) {
        let name = process.row.process;
        let inherits =
            |listener: &Listener| process.row.inherits.contains(&Inherited::Listener(listener.kind));
        for listener in self.0.iter().filter(|listener| listener.of == name && inherits(listener)) {
            let frame = Frame::new(Kind::Listener, name).with(&[listener.kind as u64]);
            process.send(frame, &[listener.end.as_fd()]);
        }
    }
}

fn unix(of: Name, path: &Path, everybody: bool) -> Result<Listener, Fault> {
    remove(path)?;
    let listener = UnixListener::bind(path).map_err(at("cannot listen on", path))?;
    let mode = if everybody { 0o666 } else { 0o600 };
    fs::set_permissions(path, Permissions::from_mode(mode)).map_err(at("cannot set the mode of", path))?;
    listener.set_nonblocking(true).map_err(at("cannot listen on", path))?;
    Ok(Listener { of, kind: ListenerKind::Unix, end: listener.into() })
}

/// Removes a socket that a killed host left.
fn remove(path: &Path) -> Result<(), Fault> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(at("cannot replace", path)(error)),
        _ => Ok(()),
    }
}

fn tcp(loopback: Loopback) -> Result<OwnedFd, Fault> {
    let address = loopback.address().to_string();
    let failed = |cause| Fault::Place { what: "cannot listen on", path: address.clone(), cause };
    let listener = TcpListener::bind(loopback.address()).map_err(failed)?;
    // std asks for a queue of 128: a client that finds it full is late by a second.
    listen(&listener, Backlog::MAXCONN).map_err(|error| failed(error.into()))?;
    listener.set_nonblocking(true).map_err(failed)?;
    Ok(listener.into())
}
