//! Runners: a queued message's turn is put on the record, made durable as running, and agentd is asked for a
//! runner. What agentd says of runners that end decides between once more and no more. No turn is launched before
//! its record is durable, nor before agentd has said which runners are alive.

use crate::desk::{Desk, Live, Noted, PAUSE, Phase};
use crate::errands::Errand;
use crate::falling::{Fall, Follows, follows};
use crate::lease::{self, Lease};
use crate::store::{Head, Pass, StoreFault};
use ipc_proto::Text;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::config::AgentLimits;
use ipc_proto::content::image_label;
use ipc_proto::ids::{SessionId, TurnId, WorkspaceId};
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::model::ModelError;
use ipc_proto::router::{End, EventName, MessageState, Task, TurnEvent};
use manifest::Process;
use manifest::command::{Ended, Frame, Kind, LAUNCH_ATTACHED, attached_owner, id_words};
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

/// How long after its wall clock a runner of which nothing is heard is given up. agentd ends it much earlier.
pub(crate) const GRACE: Duration = Duration::from_secs(30);
/// How often agentd is asked to end a runner that it does not say has ended.
const KILLS: u8 = 5;

/// What is known of runners.
#[derive(Default)]
pub(crate) struct Runners {
    /// agentd has said which are alive.
    pub(crate) known: bool,
    /// Those it said are alive, until it has said all.
    alive: HashSet<TurnId>,
    /// Those that are to end, and how often agentd was asked.
    ending: HashMap<TurnId, u8>,
}

/// A runner that agentd is to launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Launch {
    pub(crate) turn: TurnId,
    pub(crate) session: SessionId,
    pub(crate) workspace: WorkspaceId,
    pub(crate) attached: bool,
    pub(crate) wall_ms: u64,
    pub(crate) cpu_ms: u64,
    /// Of which row.
    pub(crate) runner: Process,
}

impl Launch {
    /// The command for agentd.
    pub(crate) fn frame(&self) -> Frame {
        let ([t0, t1], [w0, w1]) = (id_words(self.turn.bytes()), id_words(self.workspace.bytes()));
        let flags = if self.attached { LAUNCH_ATTACHED } else { 0 };
        let uid = attached_owner(self.workspace.bytes());
        let [s0, s1] = id_words(self.session.bytes());
        let words = [t0, t1, w0, w1, self.wall_ms, flags, self.cpu_ms, uid.into(), s0, s1];
        Frame::new(Kind::Launch, self.runner).with(&words)
    }
}

/// How long a runner may live, and of which row it is.
struct Time {
    runner: Process,
    wall_ms: u64,
    cpu_ms: u64,
}

/// The command for agentd to end a turn's runner.
pub(crate) fn kill_frame(turn: TurnId) -> Frame {
    Frame::new(Kind::Kill, Process::Runner).with(&id_words(turn.bytes()))
}

/// To agentd: this workspace was removed.
pub(crate) fn remove_frame(workspace: WorkspaceId) -> Frame {
    Frame::new(Kind::Remove, Process::Runner).with(&id_words(workspace.bytes()))
}

/// To agentd: no session works in this attached directory any more.
pub(crate) fn forget_frame(workspace: WorkspaceId) -> Frame {
    Frame::new(Kind::Forget, Process::Runner).with(&id_words(workspace.bytes()))
}

/// The command for agentd to give a turn's runner `left` from now on.
pub(crate) fn wall_frame(turn: TurnId, left: Duration) -> Frame {
    let [t0, t1] = id_words(turn.bytes());
    let ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
    Frame::new(Kind::Wall, Process::Runner).with(&[t0, t1, ms])
}

impl Desk {
    /// Starts turns while there are lanes with something to start.
    pub(crate) fn start_next(&mut self) {
        if !self.runners.known || self.disk_has_room().is_err() {
            return;
        }
        while let Some(seq) = self.next() {
            if let Err(fault) = self.start(seq) {
                tracing::error!(%fault, "a turn could not be started; it waits");
                self.back(seq);
            }
        }
    }

    /// Has a turn's start put on the record, and what it raises before that.
    fn start(&mut self, seq: i64) -> Result<(), StoreFault> {
        // One whose end is under way keeps its place until that is durable.
        let queued = self.live(seq).filter(|live| matches!(live.phase, Phase::Queued));
        let Some(live) = queued else { return Ok(()) };
        let head = live.head.clone();
        live.phase = Phase::Starting;
        let session = self.store.session(head.session)?;
        let shows = self.shows(seq)?;
        let workspace = self.store.workspace(session.workspace)?;
        let lost = workspace.is_some_and(|it| it.attached && !self.owns(it.user, it.id));
        let why = match self.config.agents.get(session.agent.as_str()) {
            _ if lost => Some("the directory that its session works in is another user's now".to_owned()),
            None => Some("its agent is configured no longer".to_owned()),
            // It saw when the message was accepted.
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
            // Whatever it will say is a jail's, so the session is raised before there is anything to say.
            label = label.join(&Label::of(Trust::Untrusted, Class::Internal, &format!("engine:{engine}")));
        }
        if shows {
            label = label.join(&image_label());
        }
        let mut event = Event::new(Action::TurnStarted, Result3::Success)
            .about(&session.agent)
            .in_turn(head.session, head.turn);
        event.label = Some(label.clone());
        match raised(head.session, head.turn, &session.label, &label) {
            None => self.record(event, move |desk, recorded| desk.started(seq, &label, recorded)),
            Some(raised) => self.record(raised, move |desk, recorded| {
                if recorded {
                    desk.record(event, move |desk, recorded| desk.started(seq, &label, recorded));
                } else {
                    desk.started(seq, &label, false);
                }
            }),
        }
        Ok(())
    }

    /// Returns whether a message's turn puts images before a model.
    fn shows(&self, seq: i64) -> Result<bool, StoreFault> {
        if !self.store.has_parts(seq)? {
            return Ok(false);
        }
        let (content, task, _) = self.store.said_without_media(seq)?;
        Ok(task.images(&content).next().is_some())
    }

    /// A turn's start is on the record, or could not be put there.
    fn started(&mut self, seq: i64, label: &Label, recorded: bool) {
        if !matches!(self.live(seq), Some(Live { phase: Phase::Starting, .. })) {
            return;
        }
        kit::fault_point!("router.start.recorded");
        let ran = if recorded { self.run(seq, label) } else { Ok(false) };
        if let Err(fault) = &ran {
            tracing::error!(%fault, "a turn could not be started; it waits");
        }
        if !matches!(ran, Ok(true)) {
            self.back(seq);
        }
        self.drive();
    }

    /// Makes a turn durable as running and asks for its runner.
    fn run(&mut self, seq: i64, label: &Label) -> Result<bool, StoreFault> {
        let Some(live) = self.live(seq) else { return Ok(true) };
        let mut head = live.head.clone();
        head.attempts += 1;
        head.state = MessageState::Running;
        let session = self.store.session(head.session)?;
        let workspace = self.store.workspace(session.workspace)?.ok_or(StoreFault::Missing("workspace"))?;
        let pass = Pass::of(&head, MessageState::Running, self.now.ms);
        self.store.commit(|tx| {
            // What runs in a workspace may leave anything in it that it has seen.
            tx.raise_session(head.session, label)?;
            tx.raise_workspace(workspace.id, label)?;
            tx.pass(&pass)
        })?;
        kit::fault_point!("router.start.committed");
        self.tell_where(&head, EventName::MessageProcessing, None);
        let (now, due) = (self.now.at, self.overdue_at(&head));
        let flag = self.admission.flag(seq);
        self.ring_begins(head.turn, head.attempts, flag);
        let Time { runner, wall_ms, cpu_ms } = self.time(&session.agent, self.is_jailed_apart(&head)?);
        self.errands.push(Errand::Launch(Launch {
            turn: head.turn,
            session: head.session,
            workspace: workspace.id,
            attached: workspace.attached,
            wall_ms,
            cpu_ms,
            runner,
        }));
        if let Some(live) = self.live(seq) {
            let phase = Phase::Running(Lease::from(now));
            let (noted, due) = (Noted::Yes, Some(due));
            *live = Live { head, phase, noted, due, left: None, taken: false, waits: None };
        }
        // An earlier attempt's question may still wait for its answer.
        self.clock(seq);
        Ok(true)
    }

    /// A turn that could not be started goes back to the front of its lane for a while.
    fn back(&mut self, seq: i64) {
        if let Some(live) = self.live(seq) {
            let session = live.head.session;
            self.lanes.again(session, seq);
            self.later(seq, Phase::Queued, PAUSE);
        }
    }

    /// agentd says that a runner lives; it does so for each before it says that it has said all.
    pub(crate) fn runner_alive(&mut self, turn: TurnId) {
        self.runners.alive.insert(turn);
    }

    /// agentd has said which runners are alive. Whatever runs without one is taken up again; a runner whose turn
    /// is over is ended.
    pub(crate) fn runners_known(&mut self) {
        if std::mem::replace(&mut self.runners.known, true) {
            return;
        }
        self.repeat_removals();
        let mut alive = std::mem::take(&mut self.runners.alive);
        for seq in self.live_where(|live| matches!(live.phase, Phase::Running(_))) {
            let Some(turn) = self.live(seq).map(|live| live.head.turn) else { continue };
            if !alive.remove(&turn) {
                self.fall(
                    seq,
                    Fall {
                        why: "its runner was gone when the router came back".into(),
                        lost: true,
                        began: true,
                    },
                );
            }
        }
        for turn in alive {
            self.kill(turn);
        }
        self.drive();
    }

    /// agentd says that a runner ended.
    pub(crate) fn runner_ended(&mut self, turn: TurnId, how: Option<Ended>, code: u64) {
        self.runners.alive.remove(&turn);
        self.runners.ending.remove(&turn);
        let Some(Live { head, phase: Phase::Running(lease), taken, .. }) = self.live_turn(turn) else {
            return;
        };
        let (seq, lapsed) = (head.seq, lease.has_lapsed());
        let began = *taken && how != Some(Ended::NotLaunched);
        match follows(how, code) {
            Follows::Again(why) => {
                let why = if lapsed { lease::UNHEARD.into() } else { why };
                self.fall(seq, Fall { why, lost: false, began });
            }
            Follows::Over(end) => self.end_without_answer(seq, end, "", None),
        }
        self.drive();
    }

    /// Has agentd end a runner, and asks again until it says that it has.
    pub(crate) fn kill(&mut self, turn: TurnId) {
        self.runners.ending.insert(turn, 1);
        self.errands.push(Errand::Kill(turn));
    }

    pub(crate) fn repeat_kills(&mut self) {
        self.runners.ending.retain(|_, asked| *asked < KILLS);
        for (turn, asked) in &mut self.runners.ending {
            *asked += 1;
            self.errands.push(Errand::Kill(*turn));
        }
    }

    /// agentd has not said that a runner ended although its wall clock has long run out.
    pub(crate) fn overdue(&mut self, seq: i64) {
        let Some(turn) = self.live(seq).map(|live| live.head.turn) else { return };
        tracing::error!(%turn, "a runner outlived its wall clock");
        self.kill(turn);
        self.end_without_answer(seq, End::TimedOut, "", None);
    }

    /// When a turn that starts now is given up.
    pub(crate) fn overdue_at(&self, head: &Head) -> Instant {
        let agent = self.store.session(head.session).map(|session| session.agent);
        let apart = self.is_jailed_apart(head).unwrap_or(false);
        let wall = agent.map_or(0, |agent| self.time(&agent, apart).wall_ms);
        self.now.at + Duration::from_millis(wall) + GRACE
    }

    /// Returns whether a message's turn is to run a program that asks models by itself.
    pub(crate) fn runs(&self, seq: i64) -> Result<bool, StoreFault> {
        Ok(matches!(self.store.said_without_media(seq)?.1, Task::Run(_)))
    }

    /// Returns whether a message's turn is to run what a person typed, of which nobody knows what it has done once its jail is gone.
    pub(crate) fn is_own_program(&self, seq: i64) -> Result<bool, StoreFault> {
        Ok(matches!(self.store.said_without_media(seq)?.1, Task::Run(_) | Task::Command { .. }))
    }

    /// What a turn of an agent's has, and of which row its runner is.
    fn time(&self, agent: &str, apart: bool) -> Time {
        let limits = self.config.agents.get(agent).map(|agent| &agent.limits);
        let ms =
            |of: fn(&AgentLimits) -> u32, or: u64| limits.map_or(or, |limits| u64::from(of(limits)) * 1000);
        if apart {
            let (wall_ms, cpu_ms) = (ms(|it| it.run_seconds, 0), ms(|it| it.run_cpu_seconds, 0));
            return Time { runner: Process::AgentRunner, wall_ms, cpu_ms };
        }
        let (wall_ms, cpu_ms) = (ms(|it| it.seconds, 120_000), ms(|it| it.cpu_seconds, 60_000));
        Time { runner: Process::Runner, wall_ms, cpu_ms }
    }

    /// The ring of a turn of which an attempt begins. `flag`: what its sender is told of their message.
    fn ring_begins(&mut self, turn: TurnId, attempt: u32, flag: Option<Text<512>>) {
        let again =
            "the runner ended before its turn did; the turn is taken up again from what it has recorded";
        let notice = (attempt > 1).then(|| Text::clip(again)).or(flag).map(TurnEvent::Notice);
        self.audience.begin(turn, attempt, notice);
        self.wake(turn);
    }
}

/// The record of a session's label that rises in trust or class; a session's first label is no rise.
pub(crate) fn raised(session: SessionId, turn: TurnId, before: &Label, after: &Label) -> Option<Event> {
    let rises = after.trust > before.trust || after.class > before.class;
    if !rises || *before == Label::bottom() {
        return None;
    }
    let mut event = Event::new(Action::LabelRaised, Result3::Success).in_turn(session, turn);
    event.label = Some(after.clone());
    Some(event)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_says_turn_session_workspace_wall_clock_and_whether_it_is_attached() {
        let (turn, workspace) = (TurnId::from_bytes([1; 16]), WorkspaceId::from_bytes([2; 16]));
        let (runner, session) = (Process::Runner, SessionId::from_bytes([3; 16]));
        let launch =
            Launch { turn, session, workspace, attached: true, wall_ms: 120_000, cpu_ms: 60_000, runner };
        let frame = launch.frame();
        assert_eq!((frame.kind, frame.id(0), frame.id(1)), (Kind::Launch, turn.bytes(), workspace.bytes()));
        assert_eq!(frame.words[4..7], [120_000, LAUNCH_ATTACHED, 60_000]);
        assert_eq!((frame.id(4), frame.words[7]), (session.bytes(), 0x0202_0202), "the owner is in the id");
        assert_eq!(Launch { attached: false, ..launch }.frame().words[5], 0);
        let other = Launch { runner: Process::AgentRunner, ..launch }.frame();
        assert_eq!((frame.peer, other.peer), (Process::Runner, Process::AgentRunner));
        assert_eq!((kill_frame(turn).kind, kill_frame(turn).id(0)), (Kind::Kill, turn.bytes()));
        let wall = wall_frame(turn, Duration::from_secs(7));
        assert_eq!((wall.kind, wall.id(0), wall.words[2]), (Kind::Wall, turn.bytes(), 7000));
    }

    #[test]
    fn a_workspace_that_is_removed_is_named() {
        let workspace = WorkspaceId::from_bytes([2; 16]);
        let frame = remove_frame(workspace);
        assert_eq!((frame.kind, frame.id(0)), (Kind::Remove, workspace.bytes()));
    }

    #[test]
    fn a_rise_is_one_of_trust_or_class_over_a_label_that_was_there() {
        let (session, turn) = (SessionId::random(), TurnId::random());
        let user = Label::of(Trust::User, Class::Internal, "control");
        let web = user.join(&Label::of(Trust::Untrusted, Class::Public, "web"));
        let source = user.join(&Label::of(Trust::User, Class::Internal, "other"));
        assert!(raised(session, turn, &Label::bottom(), &user).is_none());
        assert!(raised(session, turn, &user, &source).is_none());
        assert!(raised(session, turn, &user, &user).is_none());
        assert_eq!(raised(session, turn, &user, &web).and_then(|event| event.label), Some(web));
    }
}
