//! Starts turns: the start of a queued message's turn goes on the record, becomes durable as running, and agentd is asked for a runner.
//! No turn is launched before its record is durable, nor before agentd has reported which runners are alive.

use crate::labels::raised;
use crate::state::RouterState;
use crate::state::effects::{Effect, Launch, Recorded};
use crate::state::lease::{GRACE, Lease};
use crate::state::live::{Acceptance, Live, Phase};
use crate::state::moment::PAUSE;
use crate::store::{Head, StoreFault, Transition};
use ipc_proto::Text;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::config::AgentLimits;
use ipc_proto::content::image_label;
use ipc_proto::ids::TurnId;
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::model::ModelError;
use ipc_proto::router::{End, EventName, MessageState, TurnEvent};
use manifest::Process;
use std::time::{Duration, Instant};

/// How long a runner may live, and the row of the table that confines it.
struct RunnerTime {
    runner: Process,
    wall_ms: u64,
    cpu_ms: u64,
}

impl RouterState {
    /// Starts turns while there are lanes with something to start.
    pub(crate) fn start_next(&mut self) {
        if !self.runners.are_known() || self.disk_has_room().is_err() {
            return;
        }
        while let Some(seq) = self.next_to_start() {
            if let Err(fault) = self.start(seq) {
                tracing::error!(%fault, "a turn could not be started; it waits");
                self.put_back(seq);
            }
        }
    }

    /// The next message that may start.
    fn next_to_start(&mut self) -> Option<i64> {
        let (live, pauses) = (&self.live, &self.pauses);
        self.lanes.next(|seq| live.get(seq).is_none_or(|live| pauses.allow(&live.head)))
    }

    /// Has a turn's start put on the record, and before that the label that it raises.
    fn start(&mut self, seq: i64) -> Result<(), StoreFault> {
        // A message that is ending keeps its place until its end is durable.
        let queued = self.live(seq).filter(|live| matches!(live.phase, Phase::Queued));
        let Some(live) = queued else { return Ok(()) };
        let head = live.head.clone();
        live.phase = Phase::Starting;
        let session = self.store.session(head.session)?;
        let shows = self.shows(seq)?;
        let workspace = self.store.workspace(session.workspace)?;
        let lost = workspace.is_some_and(|it| it.attached && !self.owns(it.user, it.id));
        let why = match self.config.agents.get(session.agent.as_str()) {
            _ if lost => Some(
                "the directory that its session works in is another user's now; use one of your own: \
                 agentctl chat --workspace DIR"
                    .to_owned(),
            ),
            None => Some(
                "its agent is configured no longer; use another session and agent, or configure it again"
                    .to_owned(),
            ),
            // The agent's model took images when the message was accepted.
            Some(agent) if shows && !agent.sees => Some(ModelError::NoVision.to_string()),
            Some(_) => None,
        };
        if let Some(why) = why {
            self.end_without_answer(seq, End::Failed(Text::clip(&why)), "", None);
            return Ok(());
        }
        // A message without a label has not been scanned; its default label is the lowest trust.
        let mut label = session.label.join(&self.store.message_label(seq)?.unwrap_or_default());
        if let Some(engine) = self.engine_of(&head, &session.agent)? {
            // The engine's output comes from a jail, so the session is raised before there is any.
            label = label.join(&Label::of(Trust::Untrusted, Class::Internal, &format!("engine:{engine}")));
        }
        if self.has_way_out(&head, &session.agent)? {
            // Its programs may fetch anything and leave it in the workspace.
            label = label.join(&Label::of(Trust::Untrusted, Class::Internal, "network"));
        }
        if shows {
            label = label.join(&image_label());
        }
        let mut event = Event::new(Action::TurnStarted, Result3::Success)
            .about(&session.agent)
            .in_turn(head.session, head.turn);
        event.label = Some(label.clone());
        match raised(head.session, head.turn, &session.label, &label) {
            None => self.record(event, Recorded::Start { seq, label }),
            Some(raised) => {
                self.record(raised, Recorded::RaisedAtStart { seq, label, start: Box::new(event) });
            }
        }
        Ok(())
    }

    /// The label that a turn's start raises is on the record, or could not be put there.
    pub(crate) fn raised_at_start(&mut self, seq: i64, label: Label, start: Event, recorded: bool) {
        if recorded {
            self.record(start, Recorded::Start { seq, label });
        } else {
            self.started(seq, &label, false);
        }
    }

    /// A turn's start is on the record, or could not be put there.
    pub(crate) fn started(&mut self, seq: i64, label: &Label, recorded: bool) {
        if !matches!(self.live(seq), Some(Live { phase: Phase::Starting, .. })) {
            return;
        }
        kit::fault_point!("router.start.recorded");
        let ran = if recorded { self.run(seq, label) } else { Ok(false) };
        if let Err(fault) = &ran {
            tracing::error!(%fault, "a turn could not be started; it waits");
        }
        if !matches!(ran, Ok(true)) {
            self.put_back(seq);
        }
        self.drive_now = true;
    }

    /// Makes a turn durable as running and asks for its runner.
    fn run(&mut self, seq: i64, label: &Label) -> Result<bool, StoreFault> {
        let Some(live) = self.live(seq) else { return Ok(true) };
        let mut head = live.head.clone();
        head.attempts += 1;
        head.state = MessageState::Running;
        let session = self.store.session(head.session)?;
        let workspace = self.store.workspace(session.workspace)?.ok_or(StoreFault::Missing("workspace"))?;
        let RunnerTime { runner, wall_ms, cpu_ms } = self.time_of(&head, &session.agent)?;
        let transition = Transition::of(&head, MessageState::Running, self.now.ms);
        // Nothing fails after the commit: a turn that is running in the store alone would never be launched.
        self.store.commit(|tx| {
            // A turn may leave anything in its workspace that it has seen.
            tx.raise_session(head.session, label)?;
            tx.raise_workspace(workspace.id, label)?;
            tx.transition(&transition)
        })?;
        kit::fault_point!("router.start.committed");
        self.publish_progress(&head, EventName::MessageProcessing, None);
        let (now, due) = (self.now.at, self.overdue_after(wall_ms));
        let flag = self.admission.flag(seq);
        let waited = self.live(seq).is_some_and(|live| live.postponed.is_some());
        self.ring_begins(head.turn, head.attempts, flag, waited);
        self.effects.push(Effect::Launch(Launch {
            turn: head.turn,
            session: head.session,
            workspace: workspace.id,
            attached: workspace.attached,
            wall_ms,
            cpu_ms,
            runner,
        }));
        if let Some(live) = self.live(seq) {
            let (due, refused, postponed) = (Some(due), live.refused, live.postponed.take());
            let running = Phase::Running(Lease::from(now));
            *live = Live { due, refused, postponed, ..Live::new(head, running, Acceptance::Recorded) };
        }
        // An earlier attempt's question may still wait for its answer.
        self.clock(seq);
        Ok(true)
    }

    /// A turn that could not be started goes back to the front of its lane for a while.
    fn put_back(&mut self, seq: i64) {
        if let Some(live) = self.live(seq) {
            let session = live.head.session;
            self.lanes.put_back(session, seq);
            self.delay(seq, Phase::Queued, PAUSE);
        }
    }

    /// When a turn that starts now is given up.
    pub(crate) fn overdue_at(&self, head: &Head) -> Instant {
        let agent = self.store.session(head.session).map(|session| session.agent);
        let time = agent.and_then(|agent| self.time_of(head, &agent));
        self.overdue_after(time.map_or(0, |time| time.wall_ms))
    }

    /// When a turn whose runner has this time is given up.
    fn overdue_after(&self, wall_ms: u64) -> Instant {
        self.now.at + Duration::from_millis(wall_ms) + GRACE
    }

    /// The time that a message's turn has, and the row of its runner. A task takes no longer than it was given.
    fn time_of(&self, head: &Head, agent: &str) -> Result<RunnerTime, StoreFault> {
        let mut time = self.runner_time(agent, self.jail_of(head, agent)?);
        if let Some(task) = self.delegation(head)? {
            time.wall_ms = time.wall_ms.min(u64::from(task.terms.seconds) * 1000);
        }
        Ok(time)
    }

    /// The time that a turn of this agent has, and the row of its runner.
    fn runner_time(&self, agent: &str, runner: Process) -> RunnerTime {
        let limits = self.config.agents.get(agent).map(|agent| &agent.limits);
        let ms =
            |of: fn(&AgentLimits) -> u32, or: u64| limits.map_or(or, |limits| u64::from(of(limits)) * 1000);
        if runner == Process::AgentRunner {
            let (wall_ms, cpu_ms) = (ms(|it| it.run_seconds, 0), ms(|it| it.run_cpu_seconds, 0));
            return RunnerTime { runner, wall_ms, cpu_ms };
        }
        let (wall_ms, cpu_ms) = (ms(|it| it.seconds, 120_000), ms(|it| it.cpu_seconds, 60_000));
        RunnerTime { runner, wall_ms, cpu_ms }
    }

    /// Begins an attempt in the ring of a turn. `flag` is the scanner's notice to the message's sender; `waited` says that the turn
    /// waited for an obstacle.
    fn ring_begins(&mut self, turn: TurnId, attempt: u32, flag: Option<Text<512>>, waited: bool) {
        let again = if waited {
            "the turn is tried again"
        } else {
            "the runner ended before its turn did; the turn is taken up again from what it has recorded"
        };
        let notice = (attempt > 1).then(|| Text::clip(again)).or(flag).map(TurnEvent::Notice);
        self.subscribers.begin(turn, attempt, notice);
        self.wake(turn);
    }
}
