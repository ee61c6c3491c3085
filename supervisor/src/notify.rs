//! `sd_notify`: a datagram to systemd, where `NOTIFY_SOCKET` is set.

use std::env;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::{Duration, Instant};

/// The socket to systemd, if there is one.
#[derive(Debug)]
pub(crate) struct Notify {
    socket: Option<(UnixDatagram, SocketAddr)>,
    /// Half of the time that the unit's watchdog allows.
    watchdog: Option<Duration>,
    /// The time of the last sign of life.
    fed: Instant,
}

impl Notify {
    /// Reads the socket's address from the environment.
    pub(crate) fn from_environment() -> Self {
        let socket = env::var_os("NOTIFY_SOCKET").and_then(|path| {
            let address = match path.as_bytes().strip_prefix(b"@") {
                Some(name) => SocketAddr::from_abstract_name(name),
                None => SocketAddr::from_pathname(&path),
            };
            Some((UnixDatagram::unbound().ok()?, address.ok()?))
        });
        let watchdog = env::var("WATCHDOG_USEC").ok().and_then(|text| text.parse().ok());
        let watchdog = watchdog.map(|micros: u64| Duration::from_micros(micros / 2));
        Self { socket, watchdog, fed: Instant::now() }
    }

    /// Gives systemd's watchdog a sign of life, at half of the time that it allows.
    pub(crate) fn feed_watchdog(&mut self) {
        if self.watchdog.is_some_and(|half| self.fed.elapsed() >= half) {
            self.send("WATCHDOG=1");
            self.fed = Instant::now();
        }
    }

    /// Sends to systemd; a failure is ignored.
    pub(crate) fn send(&self, text: &str) {
        if let Some((socket, address)) = &self.socket {
            drop(socket.send_to_addr(text.as_bytes(), address));
        }
    }
}
