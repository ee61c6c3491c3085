//! Freezing: agentd has every process but this one stand still, so that a copy of the state is of one instant.

use crate::caller::Caller;
use crate::desk::{down, to_the_end};
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::control::{Answer, ControlError};
use manifest::Process;
use manifest::command::{self, Frame, Kind};
use std::time::{Duration, Instant};

/// The longest that everything stands still, ms.
const LONGEST: u32 = 30_000;

impl Caller {
    /// Has everything stand still for `ms` at most. It is on the record first: afterwards audit stands still too.
    pub(crate) async fn freeze_host(self, ms: u32) -> Answer<()> {
        let (ms, reason) = (ms.min(LONGEST), format!("freeze by uid {}", self.uid));
        let event =
            Event::new(Action::StateFrozen, Result3::Success).about(Process::Agentd.name()).because(&reason);
        let desk = self.desk;
        to_the_end(async move {
            // Audit stands still as well, so this must not wait for it.
            if desk.is_still() {
                return Err(ControlError::Frozen);
            }
            desk.record(event).await?;
            match desk.agentd.ask(Frame::new(Kind::Freeze, Process::Agentd).with(&[ms.into()]), &[]).await? {
                command::Answer::Ok => {
                    desk.set_still(Some(Instant::now() + Duration::from_millis(ms.into())));
                    Ok(())
                }
                command::Answer::Frozen => Err(ControlError::Frozen),
                command::Answer::Restless => Err(ControlError::Restless),
                _ => Err(down(Process::Agentd)),
            }
        })
        .await
    }

    /// Lets everything go on; whether it stood still until now.
    pub(crate) async fn thaw_host(self) -> Answer<bool> {
        let desk = self.desk;
        to_the_end(async move {
            let answer = desk.agentd.ask(Frame::new(Kind::Thaw, Process::Agentd), &[]).await?;
            desk.set_still(None);
            Ok(answer == command::Answer::Ok)
        })
        .await
    }
}
