//! `sd_notify`: a datagram to systemd, where `NOTIFY_SOCKET` is set.

use std::env;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// The way to systemd, if there is one.
#[derive(Debug)]
pub(crate) struct Notify {
    socket: Option<(UnixDatagram, SocketAddr)>,
    /// Half of what the unit's watchdog allows.
    pub(crate) watchdog: Option<Duration>,
}

impl Notify {
    /// Takes the way from the environment.
    pub(crate) fn from_environment() -> Self {
        let socket = env::var_os("NOTIFY_SOCKET").and_then(|path| {
            let address = match path.as_bytes().strip_prefix(b"@") {
                Some(name) => SocketAddr::from_abstract_name(name),
                None => SocketAddr::from_pathname(&path),
            };
            Some((UnixDatagram::unbound().ok()?, address.ok()?))
        });
        let watchdog = env::var("WATCHDOG_USEC").ok().and_then(|text| text.parse().ok());
        Self { socket, watchdog: watchdog.map(|micros: u64| Duration::from_micros(micros / 2)) }
    }

    /// Tells systemd. That it does not listen is its own affair.
    pub(crate) fn tell(&self, text: &str) {
        if let Some((socket, address)) = &self.socket {
            drop(socket.send_to_addr(text.as_bytes(), address));
        }
    }
}
