//! The room on the disk, as agentd tells it: below what is kept free nothing new is accepted and no turn is begun or
//! taken up again. What was accepted stays where it is, and goes on once there is room.

use crate::desk::Desk;
use ipc_proto::router::RouterError;
use manifest::command::Room;

impl Desk {
    /// agentd says how it is; what has waited for room is begun.
    pub(crate) fn hear_of_disk(&mut self, room: Room) {
        self.disk = room;
        self.drive();
    }

    /// Returns whether one more message fits the disk.
    pub(crate) const fn disk_has_room(&self) -> Result<(), RouterError> {
        let Room { low, free_mib, kept_mib } = self.disk;
        if low { Err(RouterError::NoRoom { free_mib, kept_mib }) } else { Ok(()) }
    }
}
