//! The listener: who comes in, how many, and with how much memory. One connection cannot cost another anything
//! but its own share.

mod attach;
mod connection;
mod hello;
mod meter;
mod shares;

use crate::state::OperatorState;
use kit::{Connections, Room, Seldom};
use manifest::Process;
use shares::Shares;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::net::{UnixListener, UnixStream};
use wire::hello::{Hello, Purpose};

/// Connections, of one uid and in all, and those kept for root and the host's owner. The row has 256 descriptors.
const CONNECTIONS: Room = Room { total: 128, each: 16, reserve: 16 };
/// Bytes of large requests and answers of one uid at a time.
const ROOM_EACH: usize = 48 << 20;
/// The same of everybody but root and the host's owner. With their 48 MiB it stays under the row's 256 MiB.
const ROOM_OTHERS: usize = 128 << 20;
/// The pause after an accept that failed, such as for want of descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// The open connections, and the resources that they use.
pub(crate) struct Door {
    state: Rc<OperatorState>,
    connections: Connections<u32>,
    room: Rc<Shares>,
    warnings: Seldom,
}

/// Takes connections on this listener from now on.
pub(crate) fn open(state: &Rc<OperatorState>, listener: UnixListener) {
    let owner = state.config.owner_uid;
    let door = Rc::new(Door {
        state: Rc::clone(state),
        connections: Connections::new(CONNECTIONS),
        room: Shares::new(owner, ROOM_EACH, ROOM_OTHERS),
        warnings: Seldom::default(),
    });
    drop(tokio::task::spawn_local(accept(door, listener)));
}

async fn accept(door: Rc<Door>, listener: UnixListener) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => door.admit(stream),
            Err(error) => {
                tracing::warn!(%error, "cannot accept");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

impl Door {
    /// Gives a connection its seat, or closes it.
    fn admit(self: &Rc<Self>, stream: UnixStream) {
        let Ok(peer) = stream.peer_cred() else {
            return self.turn_away(None, "the kernel does not say who it is");
        };
        let uid = peer.uid();
        let own = uid == 0 || uid == self.state.config.owner_uid;
        let (seat, closed) = match self.connections.enter(uid, own) {
            Ok(place) => place,
            Err(refusal) => {
                let word = Hello::new(Process::Control, Purpose::NoSlot).encode();
                // Best effort: it fits the socket of anybody who reads at all.
                let _ = stream.try_write(&word);
                return self.turn_away(Some(uid), &refusal.to_string());
            }
        };
        let door = Rc::clone(self);
        tokio::task::spawn_local(async move {
            tokio::select! {
                () = connection::serve(&door, uid, stream, &seat) => {}
                _ = closed => door.turn_away(Some(uid), "closed for a user who had no connection"),
            }
        });
    }

    /// Counts a connection that was ended for what it is or what it sent. Anybody can have that happen at any rate, so
    /// the log has one a minute.
    fn turn_away(&self, uid: Option<u32>, reason: &str) {
        self.state.host.refused();
        if let Some(others) = self.warnings.admit(Instant::now()) {
            tracing::warn!(uid, reason, others, "connection ended");
        }
    }
}
