//! The bounds of one turn's requests.

use ipc_proto::ids::TurnId;
use ipc_proto::runner_gate::NetworkError;
use ipc_proto::{Name, Text};

/// Requests and replies that are open at once.
const OPEN: usize = 32;
/// Bytes of bodies of one jail that are held at once, for which a person may have to be asked first.
const HELD: u64 = 16 << 20;
/// Bytes of bodies of all jails that are held at once.
pub(super) const HELD_IN_ALL: u64 = 64 << 20;
/// Requests of a turn.
const REQUESTS: u64 = 1200;
/// The same of a turn's browser, whose pages have many parts.
const BROWSER_REQUESTS: u64 = 5000;
/// Bytes that a turn sends as bodies.
const UP: u64 = 32 << 20;
/// Bytes of one reply.
const REPLY: u64 = 512 << 20;
/// Bytes that a turn receives.
const DOWN: u64 = 4 << 30;

/// The use of a turn so far.
#[derive(Debug, Default)]
pub(super) struct Bounds {
    open: usize,
    held: u64,
    requests: u64,
    up: u64,
    down: u64,
    /// The turn of a browser that they count for.
    browser: Option<TurnId>,
}

impl Bounds {
    /// Counts for this turn of a browser, from nothing where it is another than before.
    pub(super) fn begin_turn(&mut self, turn: TurnId) {
        if self.browser != Some(turn) {
            (self.requests, self.up, self.down) = (0, 0, 0);
            self.browser = Some(turn);
        }
    }

    /// Holds a request with a body of this many bytes.
    ///
    /// # Errors
    /// [`NetworkError::Bound`].
    pub(super) fn hold(&mut self, body: usize) -> Result<(), NetworkError> {
        if self.open >= OPEN {
            return Err(bound("requests at once", OPEN as u64, "make fewer at once"));
        }
        let held = self.held.saturating_add(body as u64);
        if held > HELD {
            return Err(bound("bytes held at once", HELD, "send less at once"));
        }
        (self.open, self.held) = (self.open + 1, held);
        Ok(())
    }

    /// Lets a request go that was held.
    pub(super) fn let_go(&mut self, body: usize) {
        self.open = self.open.saturating_sub(1);
        self.held = self.held.saturating_sub(body as u64);
    }

    /// Counts a request that is to go out.
    ///
    /// # Errors
    /// [`NetworkError::Bound`].
    pub(super) fn send(&mut self, body: usize) -> Result<(), NetworkError> {
        let most = if self.browser.is_some() { BROWSER_REQUESTS } else { REQUESTS };
        if self.requests >= most {
            return Err(bound("requests of a turn", most, "send another message for more"));
        }
        self.pass(body)?;
        self.requests += 1;
        Ok(())
    }

    /// Counts bytes that go into a connection that is open already.
    ///
    /// # Errors
    /// [`NetworkError::Bound`].
    pub(super) fn pass(&mut self, bytes: usize) -> Result<(), NetworkError> {
        let up = self.up.saturating_add(bytes as u64);
        if up > UP {
            return Err(bound("bytes sent by a turn", UP, "send another message for more"));
        }
        self.up = up;
        Ok(())
    }

    /// Counts bytes of a reply that has brought `reply` bytes with them.
    ///
    /// # Errors
    /// [`NetworkError::Bound`].
    pub(super) fn receive(&mut self, bytes: usize, reply: u64) -> Result<(), NetworkError> {
        self.down = self.down.saturating_add(bytes as u64);
        if reply > REPLY {
            return Err(bound("bytes of a reply", REPLY, "fetch it in parts"));
        }
        if self.down > DOWN {
            return Err(bound("bytes received by a turn", DOWN, "send another message for more"));
        }
        Ok(())
    }

    /// Counts a reply that is open.
    pub(super) fn open(&mut self) {
        self.open += 1;
    }

    /// Counts the end of a reply.
    pub(super) fn end(&mut self) {
        self.open = self.open.saturating_sub(1);
    }
}

/// A bound that is reached.
pub(super) fn bound(what: &str, limit: u64, next: &str) -> NetworkError {
    NetworkError::Bound { what: Name::clip(what), limit, next: Text::clip(next) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reached(result: Result<(), NetworkError>) -> Option<String> {
        match result {
            Err(NetworkError::Bound { what, .. }) => Some(what.to_string()),
            _ => None,
        }
    }

    #[test]
    fn each_bound_of_a_turn_holds() {
        let mut bounds = Bounds::default();
        for _ in 0..OPEN {
            bounds.hold(0).unwrap();
        }
        assert_eq!(reached(bounds.hold(0)).as_deref(), Some("requests at once"));
        bounds.let_go(0);
        bounds.hold(16 << 20).unwrap();
        bounds.end();
        assert_eq!(reached(bounds.hold(1)).as_deref(), Some("bytes held at once"));
        bounds.let_go(16 << 20);
        bounds.hold(1).unwrap();
        for _ in 0..REQUESTS {
            bounds.send(0).unwrap();
        }
        assert_eq!(reached(bounds.send(0)).as_deref(), Some("requests of a turn"));
        let turn = TurnId::random();
        bounds.begin_turn(turn);
        for _ in 0..BROWSER_REQUESTS {
            bounds.send(0).unwrap();
        }
        bounds.begin_turn(turn);
        assert_eq!(reached(bounds.send(0)).as_deref(), Some("requests of a turn"));
        bounds.begin_turn(TurnId::random());
        bounds.send(0).unwrap();
        let mut bounds = Bounds::default();
        bounds.send(32 << 20).unwrap();
        assert_eq!(reached(bounds.send(1)).as_deref(), Some("bytes sent by a turn"));
        assert_eq!(reached(bounds.pass(1)).as_deref(), Some("bytes sent by a turn"));
        assert_eq!(reached(bounds.receive(1, REPLY + 1)).as_deref(), Some("bytes of a reply"));
        assert_eq!(reached(bounds.receive(4 << 30, 1)).as_deref(), Some("bytes received by a turn"));
    }
}
