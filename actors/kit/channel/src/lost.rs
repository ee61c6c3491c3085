//! A request that has no reply: what is known of its effect, and what becomes of the connection and of the piece that it carried.

use crate::platform::PollFault;
use ipc_proto::channel::{Link, Outcome};
use ipc_proto::credproxy::CredError;
use ipc_proto::{Fault, Text};

/// The pause before a piece is tried again that never left this machine, ms.
const UNSENT_MS: u32 = 1_000;

/// The reason for which a request has no reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// Nothing of it left this machine.
    #[error("{0}")]
    Unsent(CredError),
    /// Credproxy was not asked.
    #[error("credproxy is not running")]
    NotAsked,
    /// It may have had its effect.
    #[error("no reply, or one that cannot be read")]
    Unknown,
}

impl From<CredError> for Lost {
    fn from(error: CredError) -> Self {
        if error.never_left() { Self::Unsent(error) } else { Self::Unknown }
    }
}

impl From<Fault> for Lost {
    fn from(fault: Fault) -> Self {
        if fault.never_left() { Self::NotAsked } else { Self::Unknown }
    }
}

impl Lost {
    /// Returns true if only a person mends it: the secret is missing, is not for this server, or has ended.
    #[must_use]
    pub const fn needs_person(&self) -> bool {
        let Self::Unsent(error) = self else { return false };
        matches!(
            error,
            CredError::NoSecret
                | CredError::NotBound
                | CredError::BadUrl
                | CredError::Locked
                | CredError::Revoked
                | CredError::Expired
                | CredError::Spent
        )
    }

    /// The state of the connection after it; `server` names the other side in the reason.
    #[must_use]
    pub fn fault(&self, server: &str) -> PollFault {
        let (link, reason) = if self.needs_person() {
            (Link::Refused, self.to_string())
        } else {
            (Link::Down, format!("{server} cannot be reached: {self}"))
        };
        PollFault { link, reason, after: None }
    }

    /// The outcome of the piece that it carried.
    #[must_use]
    pub const fn outcome(&self) -> Outcome {
        match self {
            Self::Unsent(_) | Self::NotAsked => Outcome::Unsent { after_ms: UNSENT_MS },
            Self::Unknown => Outcome::Unknown,
        }
    }
}

/// A refusal of a piece that nothing mends.
#[must_use]
pub fn refused(why: &str) -> Outcome {
    Outcome::Refused { why: Text::clip(why), finally: true }
}
