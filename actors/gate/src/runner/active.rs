//! A turn that is under way at its runner.

use crate::completion::model_call::{self, ModelCall};
use crate::completion::plan::Planning;
use crate::effects::delegation::TasksCall;
use crate::effects::server_call::ServerCall;
use crate::runner::progress::EngineProgress;
use crate::turn::attempt::Attempt;
use crate::turn::heartbeat::Heartbeat;
use crate::turn::pending_reply::PendingReply;

/// A turn that is under way.
pub(crate) struct Active {
    pub(crate) attempt: Attempt,
    pub(crate) stage: Option<Stage>,
    /// The runner has requested a reply before.
    pub(crate) has_asked: bool,
    /// The progress of the engine, where one answers.
    pub(crate) engine_progress: EngineProgress,
    /// The call of a server that is under way.
    pub(crate) server_call: Option<ServerCall>,
    /// The call under way that waits for tasks.
    pub(crate) tasks_call: Option<TasksCall>,
    pub(crate) over: bool,
    /// Runs while the turn is under way here.
    pub(crate) _heartbeat: Heartbeat,
}

/// The stage of the reply that a runner waits for.
pub(crate) enum Stage {
    /// The plan. The prompt for the reply that follows it is ready.
    Planning(Box<Planning>, model_call::Prompt),
    /// The model's answer.
    ModelCall(Box<ModelCall>),
    /// People's decisions.
    PendingReply(PendingReply),
}
