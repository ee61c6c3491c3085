//! The room on the disk, as agentd tells it: shown by `status`, put on the record when it runs low and when there is
//! room again, and a reason to begin nothing new. What only shows goes on.

use super::OperatorState;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::control::{Answer, ControlError};
use ipc_proto::router::RouterError;
use manifest::command::Room;
use std::rc::Rc;
use std::time::Duration;

/// How long until what could not be recorded is tried again.
const PAUSE: Duration = Duration::from_secs(1);
/// The subject on the record: the mount point is the machine's affair.
const SUBJECT: &str = "state";

/// Takes what agentd tells.
pub(crate) fn hear(state: &Rc<OperatorState>, room: Room) {
    let before = std::mem::replace(&mut state.board.borrow_mut().room, room);
    if before.low != room.low {
        tokio::task::spawn_local(record(Rc::clone(state), room));
    }
}

/// Puts it on the record, as soon as that can be done and for as long as it is so: a disk that is full before it is
/// low cannot take the record of it either.
async fn record(state: Rc<OperatorState>, room: Room) {
    while state.board.borrow().room.low == room.low {
        match state.record(event(room)).await {
            Ok(()) => return,
            Err(fault) => {
                tracing::warn!(%fault, low = room.low, "the state of the disk is not on the record yet")
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn event(room: Room) -> Event {
    let result = if room.low { Result3::Blocked } else { Result3::Success };
    Event::new(Action::DiskLow, result).about(SUBJECT).because(&words(room))
}

/// How much is free, and how much is kept.
pub(crate) fn words(room: Room) -> String {
    format!("disk: {} MiB free, {} are kept", room.free_mib, room.kept_mib)
}

impl OperatorState {
    /// Returns whether something new may be begun.
    pub(crate) fn disk_has_room(&self) -> Answer<()> {
        let Room { low, free_mib, kept_mib } = self.board.borrow().room;
        if low { Err(ControlError::Router(RouterError::NoRoom { free_mib, kept_mib })) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_says_how_much_is_free_and_whether_that_is_too_little() {
        let room = Room { low: true, free_mib: 12, kept_mib: 64 };
        for (room, result) in [(room, Result3::Blocked), (Room { low: false, ..room }, Result3::Success)] {
            let event = event(room);
            assert_eq!((event.action, event.result), (Action::DiskLow, result));
            assert_eq!(event.reason.as_deref(), Some("disk: 12 MiB free, 64 are kept"));
        }
    }
}
