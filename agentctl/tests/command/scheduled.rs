//! The canned host's answers about jobs.

use ipc_proto::ids::JobId;
use ipc_proto::scheduler::{FireInfo, FireState, JobInfo, JobState, JobView, Missed, Moment, When};
use ipc_proto::{List, Name, Text};

/// The methods of control for jobs.
macro_rules! schedule_methods {
    () => {
        async fn schedule_list(
            self,
            _: Context,
        ) -> Answer<ipc_proto::List<ipc_proto::scheduler::JobInfo, { ipc_proto::scheduler::JOBS }>> {
            self.guard()?;
            Ok(ipc_proto::List::clip([crate::scheduled::info()]))
        }

        async fn schedule_show(
            self,
            _: Context,
            _: ipc_proto::scheduler::JobName,
        ) -> Answer<Box<ipc_proto::scheduler::JobView>> {
            self.guard()?;
            Ok(Box::new(crate::scheduled::view()))
        }

        async fn schedule_add(
            self,
            _: Context,
            _: JobId,
            _: ipc_proto::scheduler::NewJob,
        ) -> Answer<Box<ipc_proto::scheduler::JobView>> {
            self.guard()?;
            Ok(Box::new(crate::scheduled::view()))
        }

        async fn schedule_change(
            self,
            _: Context,
            _: ipc_proto::scheduler::JobName,
            _: ipc_proto::scheduler::Change,
        ) -> Answer<ipc_proto::scheduler::JobInfo> {
            self.guard()?;
            Ok(crate::scheduled::info())
        }

        async fn schedule_history(
            self,
            _: Context,
            _: Option<ipc_proto::scheduler::JobName>,
        ) -> Answer<ipc_proto::List<ipc_proto::scheduler::FireInfo, 256>> {
            self.guard()?;
            Ok(ipc_proto::List::clip([crate::scheduled::fire()]))
        }
    };
}
pub(crate) use schedule_methods;

/// 2026-12-01 at 8 in Berlin.
const DUE: u64 = 1_796_108_400_000;

fn moment() -> Moment {
    Moment { ms: DUE, shown: Text::clip("2026-12-01 08:00 Europe/Berlin") }
}

pub(crate) fn info() -> JobInfo {
    JobInfo {
        id: JobId::from_bytes([5; 16]),
        name: Name::clip("notes"),
        user: Name::clip("ada"),
        when: When::Cron(Text::clip("0 8 * * 1-5")),
        zone: Text::clip("Europe/Berlin"),
        state: JobState::Active,
        why: Text::default(),
        next: Some(moment()),
        last: Some((DUE - 86_400_000, FireState::Answered)),
        failures: 0,
    }
}

pub(crate) fn view() -> JobView {
    JobView {
        info: info(),
        prompt: Text::clip("Summarise my notes"),
        agent: None,
        session: Text::clip("job:notes"),
        to: None,
        missed: Missed::Once,
        asks: false,
        proposed: false,
        tokens: 4096,
        created_ms: DUE - 864_000_000,
        next: List::clip([moment()]),
    }
}

pub(crate) fn fire() -> FireInfo {
    FireInfo {
        job: info().id,
        name: info().name,
        due_ms: DUE - 86_400_000,
        at_ms: DUE - 86_390_000,
        state: FireState::Answered,
        message: None,
        reason: Text::default(),
    }
}
