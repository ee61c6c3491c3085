//! The outcomes of a call across an edge besides its answer.

/// Why a call has no answer. Domain errors are part of the answer and stand in the interface file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Fault {
    /// The table does not let this caller use this method.
    #[error("not allowed by the table")]
    NotAllowed,
    /// The peer speaks another version of the protocol.
    #[error("the peer speaks another version")]
    WrongVersion,
    /// The peer went away while the call was in flight: whether it took effect is unknown. Only methods that may
    /// not be repeated come to this; the others have been asked again.
    #[error("the peer restarted while the call was in flight")]
    PeerRestarted,
    /// The peer is not there and did not come back in time; the call was not sent.
    #[error("the peer is not running")]
    Unreachable,
    /// The peer has no room for another connection of this caller's.
    #[error("no room for another connection")]
    NoSlot,
    /// No answer within the method's deadline.
    #[error("no answer within the deadline")]
    Deadline,
}

impl Fault {
    /// Returns true if the call had no effect for certain: it was not sent, or was refused.
    #[must_use]
    pub const fn never_left(self) -> bool {
        !matches!(self, Self::PeerRestarted | Self::Deadline)
    }
}
