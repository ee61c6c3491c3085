//! Operating the host: its state, its processes, its logs. A command is on the record before agentd hears it.

use crate::caller::Caller;
use crate::logs;
use crate::state::{OperatorState, down, to_the_end};
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::control::{Answer, ControlError, HostStatus, Inspection, LogChunk};
use ipc_proto::embedder::{self, is_local};
use ipc_proto::memory::{self, MemoryError};
use ipc_proto::{Name, Text};
use manifest::Process;
use manifest::command::{self, Frame, Kind};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// The longest that `logs` waits for a line, ms.
const WAIT: u32 = 20_000;
/// The longest that the host's state waits for memory's.
const SOON: Duration = Duration::from_millis(300);
/// How often it looks.
const LOOK: Duration = Duration::from_millis(200);

/// The message about a damaged memory.
fn damaged_in(state_dir: &str) -> String {
    format!(
        "memory: the database is damaged and only read; see docs/guide/memory.md, \"A damaged database\": \
         {state_dir}/memory/memory.db"
    )
}

impl Caller {
    /// The host and every process.
    pub(crate) async fn host_status(&self) -> HostStatus {
        let (damaged, embedder) = tokio::join!(self.memory_is_damaged(), self.embedder_fails());
        let mut status = self.state.board.borrow().status(&self.state.config, kit::now_ms());
        let other = Some(status.reason.to_string()).filter(|reason| !reason.is_empty());
        let damaged = damaged.then(|| damaged_in(&self.state.config.state_dir));
        let reasons: Vec<String> = other.into_iter().chain(damaged).chain(embedder).collect();
        status.reason = Text::clip(&reasons.join("; "));
        status
    }

    /// Returns whether memory's database is damaged. A memory that is away or slow does not keep its host's state waiting.
    async fn memory_is_damaged(&self) -> bool {
        let asked =
            self.state.ask(&self.state.memory, &memory::method::sound, |memory, context| async move {
                memory.sound(context).await
            });
        let sound = tokio::time::timeout(SOON, asked).await;
        matches!(sound, Ok(Ok(Err(MemoryError::ReadOnly))))
    }

    /// Why the model of this machine makes no vectors, if it was tried and could not be loaded.
    async fn embedder_fails(&self) -> Option<String> {
        if !self.state.config.finding.embedder.as_deref().is_some_and(is_local) {
            return None;
        }
        let asked =
            self.state.ask(&self.state.embedder, &embedder::method::sound, |embedder, context| async move {
                embedder.sound(context).await
            });
        match tokio::time::timeout(SOON, asked).await {
            Ok(Ok(Err(error))) => Some(format!("embedder: {error}")),
            _ => None,
        }
    }

    /// The figures of one process of this host, or of agentd.
    pub(crate) fn inspect_process(&self, name: &str) -> Answer<Box<Inspection>> {
        let known: Vec<Process> =
            std::iter::once(Process::Agentd).chain(self.state.board.borrow().processes()).collect();
        let process = known.iter().find(|process| process.name() == name).copied();
        let process = process.ok_or_else(|| no_process(known.iter().map(|process| process.name())))?;
        Ok(Box::new(self.state.figures.borrow_mut().inspection(process, Instant::now())))
    }

    /// Restarts, holds or releases a process.
    pub(crate) async fn command(self, kind: Kind, name: Name) -> Answer<()> {
        let target = target(kind, &name, &self.state.board.borrow().processes().collect::<Vec<_>>())?;
        let event = self.commanded(word(kind), target);
        to_the_end(give(self.state, Frame::new(kind, target), event)).await
    }

    /// Stops the host. agentd does not answer this: it drains control along with everybody.
    pub(crate) async fn stop_host(self) -> Answer<()> {
        let event = self.commanded("shutdown", Process::Agentd);
        to_the_end(async move {
            self.state.record(event).await?;
            self.state.agentd.tell(Frame::new(Kind::Shutdown, Process::Agentd))
        })
        .await
    }

    /// Records that the kernel's view of a process and the table differ, as the caller found.
    pub(crate) async fn report_drift(self, name: Name, properties: u16) -> Answer<()> {
        let process = Process::ALL.into_iter().find(|process| process.name() == name.as_str());
        let process = process.ok_or_else(|| no_process(Process::ALL.into_iter().map(Process::name)))?;
        let event = drift(process, properties);
        to_the_end(async move { self.state.record(event).await }).await
    }

    /// The log of a process.
    pub(crate) async fn read_log(&self, name: &str, from: Option<u64>, wait_ms: u32) -> Answer<LogChunk> {
        let path = logs::file(&self.state.logs, name).ok_or_else(|| no_process(logs::names()))?;
        let until = Instant::now() + Duration::from_millis(wait_ms.min(WAIT).into());
        let mut from = from;
        loop {
            let chunk = logs::read(&path, from).map_err(|error| {
                tracing::warn!(name, %error, "a log cannot be read");
                ControlError::Down(Name::clip("the log"))
            })?;
            if !chunk.text.is_empty() || Instant::now() >= until {
                return Ok(chunk);
            }
            from = Some(chunk.next);
            tokio::time::sleep(LOOK).await;
        }
    }

    fn commanded(&self, what: &str, target: Process) -> Event {
        let reason = format!("{what} by uid {}", self.uid);
        Event::new(Action::OperatorCommand, Result3::Success).about(target.name()).because(&reason)
    }
}

/// Records a command and gives it.
async fn give(state: Rc<OperatorState>, frame: Frame, event: Event) -> Answer<()> {
    // The command that restarts audit cannot wait for the record; it is recorded as soon as audit serves again.
    if frame.peer == Process::Audit && !state.audit.is_up() {
        let given = ask(&state, frame).await;
        tokio::task::spawn_local(async move {
            if let Err(fault) = state.record(event).await {
                tracing::error!(%fault, "a command to audit is not on the record");
            }
        });
        return given;
    }
    state.record(event).await?;
    if frame.peer == Process::Control {
        // This process ends by the command, so agentd's answer would not be read.
        return state.agentd.tell(frame);
    }
    ask(&state, frame).await
}

async fn ask(state: &OperatorState, frame: Frame) -> Answer<()> {
    match state.agentd.ask(frame, &[]).await? {
        command::Answer::Ok => Ok(()),
        command::Answer::NoSuchProcess => {
            Err(no_process(state.board.borrow().processes().map(Process::name)))
        }
        _ => Err(down(Process::Agentd)),
    }
}

/// The named process. control cannot be held, since it alone could release it.
fn target(kind: Kind, name: &str, running: &[Process]) -> Answer<Process> {
    let may = |process: &&Process| !(kind == Kind::Hold && **process == Process::Control);
    let targets = || running.iter().filter(may);
    let found = targets().find(|process| process.name() == name).copied();
    found.ok_or_else(|| no_process(targets().map(|process| process.name())))
}

fn drift(process: Process, properties: u16) -> Event {
    let reason = if properties == 1 {
        "1 property differs".to_owned()
    } else {
        format!("{properties} properties differ")
    };
    Event::new(Action::AttestDrift, Result3::Error).about(process.name()).because(&reason)
}

fn no_process(names: impl Iterator<Item = &'static str>) -> ControlError {
    ControlError::NoProcess(Text::clip(&names.collect::<Vec<_>>().join(", ")))
}

const fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Restart => "restart",
        Kind::Hold => "hold",
        Kind::Release => "release",
        _ => "command",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_process_is_refused_with_the_valid_names() {
        let running = [Process::Audit, Process::Router, Process::Control];
        assert_eq!(target(Kind::Restart, "router", &running), Ok(Process::Router));
        assert_eq!(target(Kind::Restart, "control", &running), Ok(Process::Control));
        let all = Err(ControlError::NoProcess(Text::clip("audit, router, control")));
        for name in ["agentd", "runner", "memory", "", "Router", "router "] {
            assert_eq!(target(Kind::Release, name, &running), all, "{name}");
        }
    }

    #[test]
    fn drift_names_the_process_and_how_much_of_it_differs() {
        for (properties, reason) in [(1, "1 property differs"), (3, "3 properties differ")] {
            let event = drift(Process::Memory, properties);
            assert_eq!((event.action, event.result), (Action::AttestDrift, Result3::Error));
            assert_eq!((event.subject.as_deref(), event.reason.as_deref()), (Some("memory"), Some(reason)));
        }
    }

    #[test]
    fn control_cannot_be_held() {
        let running = [Process::Audit, Process::Control];
        let refused = Err(ControlError::NoProcess(Text::clip("audit")));
        assert_eq!(target(Kind::Hold, "control", &running), refused);
        assert_eq!(target(Kind::Hold, "audit", &running), Ok(Process::Audit));
    }
}
