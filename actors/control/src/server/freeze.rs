//! Freezing: agentd stops every process but this one, so that a copy of the state is of one instant.

use crate::caller::Caller;
use crate::state::{down, to_the_end};
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::control::{Answer, ControlError};
use manifest::Process;
use manifest::command::{self, Frame, Kind};
use std::time::{Duration, Instant};

/// The longest freeze, ms.
const LONGEST: u32 = 30_000;

impl Caller {
    /// Freezes every process for `ms` at most. It is on the record first: afterwards audit is stopped too.
    pub(crate) async fn freeze_host(self, ms: u32) -> Answer<()> {
        let (ms, reason) = (ms.min(LONGEST), format!("freeze by uid {}", self.uid));
        let event =
            Event::new(Action::StateFrozen, Result3::Success).about(Process::Agentd.name()).because(&reason);
        let state = self.state;
        to_the_end(async move {
            // Audit is stopped as well, so this must not wait for it.
            if state.is_frozen() {
                return Err(ControlError::Frozen);
            }
            state.record(event).await?;
            match state.agentd.ask(Frame::new(Kind::Freeze, Process::Agentd).with(&[ms.into()]), &[]).await? {
                command::Answer::Ok => {
                    state.set_frozen(Some(Instant::now() + Duration::from_millis(ms.into())));
                    Ok(())
                }
                command::Answer::Frozen => Err(ControlError::Frozen),
                command::Answer::Restless => Err(ControlError::Restless),
                _ => Err(down(Process::Agentd)),
            }
        })
        .await
    }

    /// Resumes every process; returns true if they were stopped until now.
    pub(crate) async fn thaw_host(self) -> Answer<bool> {
        let state = self.state;
        to_the_end(async move {
            let answer = state.agentd.ask(Frame::new(Kind::Thaw, Process::Agentd), &[]).await?;
            state.set_frozen(None);
            Ok(answer == command::Answer::Ok)
        })
        .await
    }
}
