//! Listeners that agentd made and keeps: it hands them over after each start, so that a client that waits in one while
//! its process is away is served by the next life. Nothing is made here, and nothing is bound.

use manifest::command::{Frame, Kind, ListenerKind};
use std::cell::RefCell;
use std::io;
use std::os::fd::OwnedFd;
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::Notify;

/// The descriptors that agentd handed over.
#[derive(Debug)]
pub struct Listeners {
    /// The peer is known from the kernel: `peer_cred` of the accepted connection. None for a process whose row has TCP alone.
    pub unix: Option<UnixListener>,
    /// TCP on loopback, where it is configured. `TCP_NODELAY` is the one option that its row may set on an accepted
    /// connection.
    pub tcp: Option<TcpListener>,
}

/// The reason why there is no listener.
#[derive(Debug, thiserror::Error)]
pub enum NoListener {
    /// agentd handed over none.
    #[error("agentd handed over no listener")]
    Missing,
    /// The event loop does not accept it.
    #[error("the listener cannot be used: {0}")]
    Unusable(#[from] io::Error),
}

/// The descriptors handed over so far, and if they are complete.
#[derive(Default)]
pub(crate) struct Handed {
    unix: RefCell<Option<OwnedFd>>,
    tcp: RefCell<Option<OwnedFd>>,
    all: Notify,
}

impl Handed {
    /// Takes a frame of agentd; `false` if it is no listener.
    pub(crate) fn take(&self, frame: &Frame, descriptors: &mut Vec<OwnedFd>) -> bool {
        match (frame.kind, frame.words) {
            (Kind::Listener, [door, ..]) => {
                let place = match ListenerKind::from_number(door) {
                    Some(ListenerKind::Unix) => &self.unix,
                    Some(ListenerKind::Tcp) => &self.tcp,
                    None => return false,
                };
                drop(place.replace(descriptors.pop()));
                true
            }
            (Kind::Plumbed, _) => {
                // Stored for a later caller: agentd sends it once in a life.
                self.all.notify_one();
                false
            }
            _ => false,
        }
    }

    pub(crate) async fn all(&self) -> Result<Listeners, NoListener> {
        self.all.notified().await;
        let unix = self.unix.take().map(std::os::unix::net::UnixListener::from);
        let tcp = self.tcp.take().map(std::net::TcpListener::from);
        if unix.is_none() && tcp.is_none() {
            return Err(NoListener::Missing);
        }
        unix.as_ref().map(|unix| unix.set_nonblocking(true)).transpose()?;
        tcp.as_ref().map(|tcp| tcp.set_nonblocking(true)).transpose()?;
        Ok(Listeners {
            unix: unix.map(UnixListener::from_std).transpose()?,
            tcp: tcp.map(TcpListener::from_std).transpose()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use manifest::Process;

    fn waited(handed: &Handed) -> Result<Listeners, NoListener> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(handed.all())
    }

    fn hand(handed: &Handed, door: ListenerKind, end: impl Into<OwnedFd>) -> bool {
        let frame = Frame::new(Kind::Listener, Process::Gateway).with(&[door as u64]);
        handed.take(&frame, &mut vec![end.into()])
    }

    // Holds P3-13.
    #[test]
    fn what_was_handed_over_before_plumbing_was_over_is_there_and_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let unix = |name: &str| std::os::unix::net::UnixListener::bind(folder.path().join(name)).unwrap();
        let plumbed = Frame::new(Kind::Plumbed, Process::Gateway);
        let handed = Handed::default();
        assert!(!handed.take(&plumbed, &mut Vec::new()));
        assert!(matches!(waited(&handed), Err(NoListener::Missing)));
        for with_tcp in [false, true] {
            let handed = Handed::default();
            assert!(hand(&handed, ListenerKind::Unix, unix(&with_tcp.to_string())));
            if with_tcp {
                assert!(hand(
                    &handed,
                    ListenerKind::Tcp,
                    std::net::TcpListener::bind("127.0.0.1:0").unwrap()
                ));
            }
            assert!(!handed.take(&plumbed, &mut Vec::new()));
            assert_eq!(waited(&handed).unwrap().tcp.is_some(), with_tcp);
        }
    }
}
