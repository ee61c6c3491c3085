//! Why control refused: the role that is missing, or the reason of the process that was asked.

use crate::audit::AuditError;
use crate::channel::ChannelError;
use crate::credproxy::CredError;
use crate::curator::CuratorError;
use crate::embedder::EmbedderError;
use crate::gate::{PolicyError, RelayError};
use crate::mcp::McpError;
use crate::memory::MemoryError;
use crate::router::RouterError;
use crate::scheduler::SchedulerError;
use crate::{Name, Text};
use serde::{Deserialize, Serialize};

/// A caller whose role does not suffice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denied {
    /// The least role for the call.
    pub needs: Name,
    /// The caller's uid, as the kernel names it.
    pub uid: u32,
    /// The caller's name and role; `None` for a uid that is no user's.
    pub user: Option<(Name, Name)>,
}

impl std::fmt::Display for Denied {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { needs, uid, user } = self;
        match user {
            None => write!(
                f,
                "uid {uid} is no user of this host, and this needs the role {needs}; an owner adds the user: agentctl user add NAME \
                 --uid {uid} --role {needs}"
            ),
            Some((name, role)) => write!(
                f,
                "{name} (uid {uid}) has the role {role}, and this needs the role {needs}; an owner gives it: agentctl user edit \
                 {name} --role {needs}"
            ),
        }
    }
}

/// The reason for which control refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum ControlError {
    /// The uid is no user's, or their role does not suffice.
    #[error("not allowed: {0}")]
    NotAllowed(Denied),
    /// No such process; the valid names are listed.
    #[error("no such process; name one of: {0}")]
    NoProcess(Text<512>),
    /// A process that the call needs is not available.
    #[error(
        "{0} is held or away; try again, and if `agentctl status` shows it as held: `agentctl release {0}`"
    )]
    Down(Name),
    /// The router's reason.
    #[error("{0}")]
    Router(RouterError),
    /// The router's reason about a channel.
    #[error("{0}")]
    Channel(ChannelError),
    /// Memory's reason.
    #[error("{0}")]
    Memory(MemoryError),
    /// Curator's reason.
    #[error("{0}")]
    Curator(CuratorError),
    /// Embedder's reason.
    #[error("{0}")]
    Embedder(EmbedderError),
    /// Credproxy's reason.
    #[error("{0}")]
    Cred(CredError),
    /// Audit's reason.
    #[error("{0}")]
    Audit(AuditError),
    /// The gate's reason.
    #[error("{0}")]
    Policy(PolicyError),
    /// The gate's reason about a server.
    #[error("{0}")]
    Mcp(McpError),
    /// The gate's reason for not asking a model.
    #[error("{0}")]
    Relay(RelayError),
    /// The scheduler's reason.
    #[error("{0}")]
    Schedule(SchedulerError),
    /// The scheduler does not run.
    #[error(
        "this host runs no scheduler; an owner writes `[scheduler]` with `enabled = true` into cordon.toml and restarts agentd"
    )]
    NoScheduler,
    /// No model of this name; the valid names are listed.
    #[error("no such model; name one of: {0}")]
    NoModel(Text<512>),
    /// No such act, or not in this jail.
    #[error("{0}; `agentctl redteam --list` names the acts")]
    NoAct(Text<256>),
    /// Every process is frozen for another copy of the state.
    #[error("every process stands still for another copy of the state; try again when that is made")]
    Frozen,
    /// Some process could not be frozen; all were resumed.
    #[error("some process could not be brought to stand still; all go on, try again")]
    Restless,
}
