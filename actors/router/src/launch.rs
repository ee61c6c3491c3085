//! Runners: a queued message's turn is put on the record, made durable as running, and agentd is asked for a
//! runner. What agentd says of runners that end decides between once more and no more. No turn is launched before
//! its record is durable, nor before agentd has said which runners are alive.

use crate::desk::{Desk, Live, Noted, PAUSE, Phase};
use crate::errands::Errand;
use crate::lease::{self, Lease};
use crate::store::{Head, Pass, StoreFault};
use ipc_proto::Text;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::ids::{SessionId, TurnId, WorkspaceId};
use ipc_proto::label::Label;
use ipc_proto::router::{End, EventName, Limit, MessageState, TurnEvent};
use manifest::Process;
use manifest::acts::Act;
use manifest::command::{Ended, Frame, Kind, LAUNCH_ATTACHED, id_words};
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

/// Runners that may end before their turn does, and be replaced.
pub(crate) const RETRIES: u32 = 2;
/// Runners that may be gone when this process comes back, and be replaced: not the turn's fault, yet not endless.
pub(crate) const LOSSES: u32 = 8;
/// `EAGAIN`, `ENOMEM`, `ENFILE`, `EMFILE`, `EINTR`, from `asm-generic/errno-base.h`: a launch may yet succeed.
const TRANSIENT_ERRNOS: [u64; 5] = [11, 12, 23, 24, 4];
/// How long after its wall clock a runner of which nothing is heard is given up. agentd ends it much earlier.
pub(crate) const GRACE: Duration = Duration::from_secs(30);
/// How often agentd is asked to end a runner that it does not say has ended.
const KILLS: u8 = 5;

/// What is known of runners.
#[derive(Default)]
pub(crate) struct Runners {
    /// agentd has said which are alive.
    known: bool,
    /// Those it said are alive, until it has said all.
    alive: HashSet<TurnId>,
    /// Those that are to end, and how often agentd was asked.
    ending: HashMap<TurnId, u8>,
}

/// A runner that agentd is to launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Launch {
    pub(crate) turn: TurnId,
    pub(crate) workspace: WorkspaceId,
    pub(crate) attached: bool,
    pub(crate) wall_ms: u64,
    pub(crate) cpu_ms: u64,
}

impl Launch {
    /// The command for agentd.
    pub(crate) fn frame(&self) -> Frame {
        let ([t0, t1], [w0, w1]) = (id_words(self.turn.bytes()), id_words(self.workspace.bytes()));
        let flags = if self.attached { LAUNCH_ATTACHED } else { 0 };
        Frame::new(Kind::Launch, Process::Runner).with(&[t0, t1, w0, w1, self.wall_ms, flags, self.cpu_ms])
    }
}

/// The command for agentd to end a turn's runner.
pub(crate) fn kill_frame(turn: TurnId) -> Frame {
    Frame::new(Kind::Kill, Process::Runner).with(&id_words(turn.bytes()))
}

/// The command for agentd to give a turn's runner `left` from now on.
pub(crate) fn wall_frame(turn: TurnId, left: Duration) -> Frame {
    let [t0, t1] = id_words(turn.bytes());
    let ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
    Frame::new(Kind::Wall, Process::Runner).with(&[t0, t1, ms])
}

/// A runner that ended before its turn did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fall {
    /// In the host's words.
    pub(crate) why: String,
    /// It was gone when this process came back.
    pub(crate) lost: bool,
}

/// What follows from a runner's end.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Follows {
    Again(String),
    Over(End),
}

/// Tells what will mend by itself from what will not.
fn follows(how: Option<Ended>, code: u64) -> Follows {
    let failed = |why: String| Follows::Over(End::Failed(Text::clip(&why)));
    match how {
        Some(Ended::TimedOut) => Follows::Over(End::TimedOut),
        // The same work would go over the same limit.
        Some(Ended::Memory) => Follows::Over(End::OverLimit(Limit::Memory)),
        Some(Ended::Cpu) => Follows::Over(End::OverLimit(Limit::Cpu)),
        Some(Ended::Processes) => Follows::Over(End::OverLimit(Limit::Processes)),
        Some(Ended::Killed) => Follows::Again(format!("the runner was ended by signal {code}")),
        Some(Ended::Exited) if code == 0 => Follows::Again("the runner ended without ending its turn".into()),
        // By these the runner says that the fault was not its turn's: the gate is gone, or it could not begin.
        Some(Ended::Exited) if (128..=191).contains(&code) => {
            Follows::Again(format!("the runner ended with status {code}"))
        }
        Some(Ended::Exited) => failed(format!("the runner ended with status {code}")),
        Some(Ended::NotLaunched) if TRANSIENT_ERRNOS.contains(&code) => {
            Follows::Again(format!("the runner could not be started (errno {code})"))
        }
        Some(Ended::NotLaunched) => failed(format!("the runner could not be started (errno {code})")),
        Some(Ended::NoWorkspace) => failed(
            "the attached workspace is not known any more (the host was restarted); attach it again".into(),
        ),
        Some(Ended::Unproven) => {
            let act = u16::try_from(code).ok().and_then(Act::numbered).map_or("an act", |act| act.id);
            failed(format!(
                "this host serves no runner: its self-check failed ({act} was not refused in a jail); see agentctl status"
            ))
        }
        None => failed("the runner ended in a way this program does not know".into()),
    }
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
        if !self.config.agents.contains_key(session.agent.as_str()) {
            self.end_without_answer(
                seq,
                End::Failed(Text::clip("its agent is configured no longer")),
                "",
                None,
            );
            return Ok(());
        }
        // A message without a label has not been scanned; its default label is the lowest trust.
        let label = session.label.join(&self.store.message_label(seq)?.unwrap_or_default());
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
        self.ring_begins(head.turn, head.attempts);
        self.errands.push(Errand::Launch(Launch {
            turn: head.turn,
            workspace: workspace.id,
            attached: workspace.attached,
            wall_ms: self.wall(&session.agent),
            cpu_ms: self.cpu(&session.agent),
        }));
        if let Some(live) = self.live(seq) {
            let lease = Lease::from(now);
            *live =
                Live { head, phase: Phase::Running(lease), noted: Noted::Yes, due: Some(due), left: None };
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
        let mut alive = std::mem::take(&mut self.runners.alive);
        for seq in self.live_where(|live| matches!(live.phase, Phase::Running(_))) {
            let Some(turn) = self.live(seq).map(|live| live.head.turn) else { continue };
            if !alive.remove(&turn) {
                self.fall(
                    seq,
                    Fall { why: "its runner was gone when the router came back".into(), lost: true },
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
        let Some(Live { head, phase: Phase::Running(lease), .. }) = self.live_turn(turn) else { return };
        let (seq, lapsed) = (head.seq, lease.has_lapsed());
        match follows(how, code) {
            Follows::Again(why) => {
                let why = if lapsed { lease::UNHEARD.into() } else { why };
                self.fall(seq, Fall { why, lost: false });
            }
            Follows::Over(end) => self.end_without_answer(seq, end, "", None),
        }
        self.drive();
    }

    /// A runner ended before its turn did: it is replaced, or it was once too often.
    pub(crate) fn fall(&mut self, seq: i64, fall: Fall) {
        let Some(live) = self.live(seq) else { return };
        let (failures, losses) = counted(&live.head, &fall);
        if failures > RETRIES || losses > LOSSES {
            let Head { id, attempts, .. } = live.head;
            let why = format!("given up after {attempts} attempts: {}", fall.why);
            tracing::error!(message = %id, attempts, "a message is given up; it is among the dead letters");
            return self.end_without_answer(seq, End::Quarantined(Text::clip(&why)), "", None);
        }
        live.phase = Phase::Fallen(fall);
        live.due = None;
        self.record_fall(seq);
    }

    /// Has the end of a runner put on the record, which comes before its successor.
    pub(crate) fn record_fall(&mut self, seq: i64) {
        let Some(Live { head, phase: Phase::Fallen(fall), .. }) = self.live(seq) else { return };
        let event = Event::new(Action::TurnRetried, Result3::Error)
            .because(&fall.why)
            .in_turn(head.session, head.turn);
        self.record(event, move |desk, recorded| desk.fall_recorded(seq, recorded));
    }

    fn fall_recorded(&mut self, seq: i64, recorded: bool) {
        let Some(Live { head, phase: Phase::Fallen(fall), due, .. }) = self.live(seq) else { return };
        let (mut head, fall) = (head.clone(), fall.clone());
        *due = None;
        (head.failures, head.losses) = counted(&head, &fall);
        head.state = MessageState::Queued;
        let pass = Pass { note: &fall.why, ..Pass::of(&head, MessageState::Queued, self.now.ms) };
        let committed = recorded.then(|| self.store.commit(|tx| tx.pass(&pass)));
        if !matches!(committed, Some(Ok(()))) {
            return self.later(seq, Phase::Fallen(fall), PAUSE);
        }
        kit::fault_point!("router.retry.committed");
        let (session, failures) = (head.session, head.failures);
        self.lanes.again(session, seq);
        if let Some(live) = self.live(seq) {
            live.head = head;
        }
        // A runner that failed is given time, the more the more often; one that was lost is not to blame.
        let pause = if fall.lost { Duration::ZERO } else { PAUSE * failures };
        self.later(seq, Phase::Queued, pause);
        if fall.lost {
            self.lanes.clear(session, seq);
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
        let wall = agent.map_or(0, |agent| self.wall(&agent));
        self.now.at + Duration::from_millis(wall) + GRACE
    }

    /// An agent's wall clock, ms.
    fn wall(&self, agent: &str) -> u64 {
        self.config.agents.get(agent).map_or(120_000, |agent| u64::from(agent.limits.seconds) * 1000)
    }

    /// An agent's CPU time, ms.
    fn cpu(&self, agent: &str) -> u64 {
        self.config.agents.get(agent).map_or(60_000, |agent| u64::from(agent.limits.cpu_seconds) * 1000)
    }

    /// The ring of a turn of which an attempt begins.
    fn ring_begins(&mut self, turn: TurnId, attempt: u32) {
        let again =
            "the runner ended before its turn did; the turn is taken up again from what it has recorded";
        let notice = (attempt > 1).then(|| TurnEvent::Notice(Text::clip(again)));
        self.audience.begin(turn, attempt, notice);
        self.wake(turn);
    }
}

/// How often a message's runners have failed and been lost, this one included.
fn counted(head: &Head, fall: &Fall) -> (u32, u32) {
    if fall.lost { (head.failures, head.losses + 1) } else { (head.failures + 1, head.losses) }
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
    use ipc_proto::label::{Class, Trust};

    #[test]
    fn what_will_mend_by_itself_is_told_from_what_will_not() {
        let again = [
            (Ended::Killed, 9),
            (Ended::Killed, 31),
            (Ended::Exited, 0),
            (Ended::Exited, 128),
            (Ended::Exited, 191),
            (Ended::NotLaunched, 11),
            (Ended::NotLaunched, 12),
        ];
        for (how, code) in again {
            assert!(matches!(follows(Some(how), code), Follows::Again(_)), "{how:?} {code}");
        }
        let over = [
            (Ended::Exited, 1),
            (Ended::Exited, 127),
            (Ended::Exited, 192),
            (Ended::NotLaunched, 2),
            (Ended::NoWorkspace, 0),
            (Ended::Unproven, 3),
        ];
        for (how, code) in over {
            assert!(matches!(follows(Some(how), code), Follows::Over(End::Failed(_))), "{how:?} {code}");
        }
        assert_eq!(follows(Some(Ended::TimedOut), 0), Follows::Over(End::TimedOut));
        for (how, limit) in
            [(Ended::Memory, Limit::Memory), (Ended::Cpu, Limit::Cpu), (Ended::Processes, Limit::Processes)]
        {
            assert_eq!(follows(Some(how), 9), Follows::Over(End::OverLimit(limit)));
        }
        assert!(matches!(follows(None, 7), Follows::Over(End::Failed(_))));
    }

    #[test]
    fn a_launch_says_turn_workspace_wall_clock_and_whether_it_is_attached() {
        let (turn, workspace) = (TurnId::from_bytes([1; 16]), WorkspaceId::from_bytes([2; 16]));
        let launch = Launch { turn, workspace, attached: true, wall_ms: 120_000, cpu_ms: 60_000 };
        let frame = launch.frame();
        assert_eq!((frame.kind, frame.id(0), frame.id(1)), (Kind::Launch, turn.bytes(), workspace.bytes()));
        assert_eq!(frame.words[4..7], [120_000, LAUNCH_ATTACHED, 60_000]);
        assert_eq!(Launch { attached: false, ..launch }.frame().words[5], 0);
        assert_eq!((kill_frame(turn).kind, kill_frame(turn).id(0)), (Kind::Kill, turn.bytes()));
        let wall = wall_frame(turn, Duration::from_secs(7));
        assert_eq!((wall.kind, wall.id(0), wall.words[2]), (Kind::Wall, turn.bytes(), 7000));
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
