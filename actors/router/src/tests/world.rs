//! The world around a router: audit, scanner, agentd and gate. It records their calls, so that a test can say what must never have
//! happened.

use super::{config, one};
use crate::message_state;
use crate::port::Port;
use crate::state::RouterState;
use crate::state::effects::{Effect, Launch};
use crate::state::moment::Moment;
use crate::state::requests::{AnswerPort, AnswerRequest, NewStep, RequeueRequest};
use ipc_proto::approval::{ApprovalInfo, Question, Reply, State};
use ipc_proto::audit::{Action, Event};
use ipc_proto::config as conf;
use ipc_proto::ids::{ApprovalId, MessageId, TurnId, UserId, WorkspaceId};
use ipc_proto::label::{Class, Label};
use ipc_proto::router::{
    Accepted, Finished, MessageState, RouterError, Steer, Steering, SteeringMessage, Step, Stopped,
    Submission,
};
use ipc_proto::scanner::{Conversation, Judgement, Subject, Verdict};
use ipc_proto::{List, Name, Text};
use manifest::command::Ended;
use ractor::concurrency::oneshot;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Where an answer of the router comes out.
pub(crate) type Answer<T> = ractor::concurrency::OneshotReceiver<T>;

/// A router and the world around it.
pub(crate) struct World {
    pub(crate) folder: TempDir,
    pub(crate) config: conf::Router,
    router: Option<RouterState>,
    began: Instant,
    pub(crate) ms: u64,
    /// How far the wall clock is off the one that never steps.
    pub(crate) off: i64,
    pub(crate) audit: bool,
    pub(crate) scanner: Option<Judgement>,
    /// agentd launches what it is asked to.
    pub(crate) agentd: bool,
    /// agentd has no free runner slot, and refuses launches.
    pub(crate) full: bool,
    /// The gate sends heartbeats for every running turn.
    pub(crate) beats: bool,
    /// The router dies with every event that it puts on the record, before it hears that it is there.
    pub(crate) deaf: bool,
    /// Effects that are performed before the next ones are lost; `None` for all.
    pub(crate) effects_left: Option<usize>,
    /// The code of six digits that credproxy finds right; `None` while credproxy is away.
    pub(crate) digits: Option<&'static str>,
    pub(crate) record: Vec<Event>,
    pub(crate) launched: Vec<Launch>,
    pub(crate) killed: Vec<TurnId>,
    pub(crate) runners: Vec<TurnId>,
    /// The subjects that the scanner was asked to judge.
    pub(crate) scans: Vec<Subject>,
    /// The deadlines that agentd was given.
    pub(crate) walls: Vec<(TurnId, Duration)>,
    /// Workspaces whose folders agentd had to remove.
    pub(crate) removed: Vec<WorkspaceId>,
    /// Attached directories that agentd had to close.
    pub(crate) let_go: Vec<WorkspaceId>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(config())
    }

    pub(crate) fn with(config: conf::Router) -> Self {
        Self::over(tempfile::tempdir().unwrap(), config)
    }

    /// A world whose router finds what is in `folder`.
    pub(crate) fn over(folder: TempDir, config: conf::Router) -> Self {
        let mut world = Self {
            folder,
            config,
            router: None,
            began: Instant::now(),
            ms: 1_000_000,
            off: 0,
            audit: true,
            scanner: Some(Judgement::Pass),
            agentd: true,
            full: false,
            beats: true,
            deaf: false,
            effects_left: None,
            digits: None,
            record: vec![],
            launched: vec![],
            killed: vec![],
            runners: vec![],
            scans: vec![],
            walls: vec![],
            removed: vec![],
            let_go: Vec::new(),
        };
        world.restart();
        world
    }

    /// The router begins: as after a kill, if it was there before. What was under way is lost.
    pub(crate) fn restart(&mut self) {
        self.router = None;
        let file = self.folder.path().join("queue.db");
        self.router = Some(RouterState::open(&file, self.config.clone(), self.now()).unwrap());
        for turn in self.runners.clone() {
            self.act(|router| router.runner_alive(turn));
        }
        self.act(RouterState::runners_known);
    }

    /// The router ends for good; its files stay.
    pub(crate) fn into_folder(self) -> TempDir {
        drop(self.router);
        self.folder
    }

    fn now(&self) -> Moment {
        let at = self.began + Duration::from_millis(self.ms - 1_000_000);
        Moment { at, ms: self.ms.saturating_add_signed(self.off) }
    }

    /// Has the router do something, and does what follows from it.
    pub(crate) fn act<T>(&mut self, work: impl FnOnce(&mut RouterState) -> T) -> T {
        let now = self.now();
        let router = self.router.as_mut().unwrap();
        router.at(now);
        let done = work(router);
        router.wake_channels();
        self.settle();
        done
    }

    /// Time passes, with beats and ticks.
    pub(crate) fn pass(&mut self, ms: u64) {
        for _ in 0..ms.div_ceil(500) {
            self.ms += 500;
            let heard = if self.beats { self.runners.clone() } else { vec![] };
            for turn in heard {
                drop(self.begin(|router, port| router.emit(turn, 0, List::default(), port)));
            }
            self.act(RouterState::tick);
        }
    }

    fn settle(&mut self) {
        loop {
            let router = self.router.as_mut().unwrap();
            if router.drive_now || router.drive_after_reply {
                router.drive();
            }
            let effects: Vec<Effect> = router.effects.drain(..).collect();
            if effects.is_empty() {
                return;
            }
            for effect in effects {
                match &mut self.effects_left {
                    Some(0) => continue,
                    Some(left) => *left -= 1,
                    None => {}
                }
                self.perform(effect);
            }
        }
    }

    fn perform(&mut self, effect: Effect) {
        let router = self.router.as_mut().unwrap();
        match effect {
            Effect::Record(event, then) => {
                if self.audit {
                    self.record.push(*event);
                }
                if !self.deaf {
                    router.recorded(then, self.audit);
                }
            }
            Effect::Scan(subject, _, job) => {
                let verdict = self.scanner.map(|judgement| verdict(judgement, subject.conversation));
                self.scans.push(subject);
                router.scanned(&job, verdict.as_ref());
            }
            Effect::Verify { digits, then, .. } => {
                let holds = self.digits.map(|right| right == digits.as_str());
                router.code_verified(*then, holds);
            }
            Effect::Launch(launch) => {
                self.launched.push(launch);
                if self.full {
                    router.runner_ended(launch.turn, Some(Ended::NotLaunched), 11);
                } else if self.agentd {
                    self.runners.push(launch.turn);
                }
            }
            Effect::SetDeadline(turn, left) => self.walls.push((turn, left)),
            Effect::RemoveWorkspace(workspace) => self.removed.push(workspace),
            Effect::CloseDirectory(workspace) => self.let_go.push(workspace),
            Effect::Kill(turn) => {
                self.killed.push(turn);
                if self.runners.contains(&turn) {
                    self.runners.retain(|it| *it != turn);
                    router.runner_ended(turn, Some(Ended::Killed), 9);
                }
            }
        }
    }

    /// The user with this uid.
    pub(crate) fn id(&mut self, uid: u32) -> UserId {
        self.act(|router| router.identify(uid)).unwrap().id
    }

    pub(crate) fn submit(&mut self, submission: &Submission) -> Result<Accepted, RouterError> {
        self.act(|router| router.submit(submission))
    }

    /// Ann says something in a session, under a key of its own.
    pub(crate) fn say(&mut self, session: &str, text: &str) -> Accepted {
        let ann = self.id(1001);
        let key = format!("{session}/{text}");
        self.submit(&super::said(ann, session, &key, text)).unwrap()
    }

    /// Ann steers the running turn of a session, under a key of its own.
    pub(crate) fn steer(&mut self, session: &str, text: &str, urgent: bool) -> Result<Steering, RouterError> {
        let ann = self.id(1001);
        let key = Text::clip(&format!("{session}/{text}"));
        let steer = Steer { session: Text::clip(session), text: Text::clip(text), urgent, key };
        self.act(|router| router.steer(ann, &steer))
    }

    /// The gate takes a steering message in as this step of a turn.
    pub(crate) fn take_in(
        &mut self,
        turn: TurnId,
        number: u32,
        word: &SteeringMessage,
    ) -> Result<(), RouterError> {
        self.ask(|router, port| router.step(turn, steered(number, word), port))
            .unwrap_or(Err(RouterError::NotDurable))
    }

    /// The runner of a turn ends.
    pub(crate) fn runner_ends(&mut self, turn: TurnId, how: Ended, code: u64) {
        self.runners.retain(|it| *it != turn);
        self.act(|router| router.runner_ended(turn, Some(how), code));
    }

    /// The gate ends a turn; the runner ends of itself.
    pub(crate) fn finish(&mut self, turn: TurnId, finished: Finished) -> Option<Result<(), RouterError>> {
        let answer = self.ask(|router, port| router.finish(turn, finished, port));
        if answer == Some(Ok(())) {
            self.runner_ends(turn, Ended::Exited, 0);
        }
        answer
    }

    /// Asks for something that may be answered later.
    pub(crate) fn begin<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut RouterState, Port<T>),
    ) -> Answer<T> {
        let (sender, receiver) = oneshot();
        self.act(|router| work(router, sender.into()));
        receiver
    }

    /// Asks for something; `None` if it is not answered yet.
    pub(crate) fn ask<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut RouterState, Port<T>),
    ) -> Option<T> {
        self.begin(work).try_recv().ok()
    }

    /// The gate keeps a step that raises nothing.
    pub(crate) fn keep(&mut self, turn: TurnId, number: u32, step: Step) -> Result<(), RouterError> {
        let new = NewStep { number, step, session: Label::bottom(), workspace: Label::bottom() };
        self.ask(|router, port| router.step(turn, new, port)).unwrap()
    }

    /// The gate asks about call `n` as the turn's first step, for five minutes.
    pub(crate) fn inquire(&mut self, turn: TurnId, n: u8) -> Question {
        let question = super::question(n, self.ms + 300_000);
        self.keep(turn, 0, super::asking(n)).unwrap();
        self.act(|router| router.ask(turn, &question)).unwrap();
        question
    }

    /// Somebody answers what they were shown; the owner's `user` is `None`.
    pub(crate) fn answer(
        &mut self,
        user: Option<UserId>,
        question: &Question,
        reply: Reply,
    ) -> Result<ApprovalInfo, RouterError> {
        let (id, hash, by) = (question.id, question.hash, Name::clip("mia"));
        self.ask(|router, port| {
            let port = AnswerPort::Person(port);
            router.answer(AnswerRequest { user, by, id, hash, reply, form: Text::default(), port });
        })
        .unwrap()
    }

    /// The state of a question as the gate gets it; `None` if it goes on waiting.
    pub(crate) fn told(&mut self, turn: TurnId, id: ApprovalId) -> Option<Result<State, RouterError>> {
        let answered = self.ask(|router, port| router.first_answer(turn, one(id), port))?;
        Some(answered.map(|answered| answered.unwrap().1))
    }

    /// A person stops a session, or everything; everybody's without a user.
    pub(crate) fn stop(
        &mut self,
        user: Option<UserId>,
        session: Option<&str>,
    ) -> Option<Result<Stopped, RouterError>> {
        self.stop_as(user, session, false)
    }

    /// The same, asked once more because nobody answered.
    pub(crate) fn stop_again(
        &mut self,
        user: Option<UserId>,
        session: Option<&str>,
    ) -> Option<Result<Stopped, RouterError>> {
        self.stop_as(user, session, true)
    }

    fn stop_as(
        &mut self,
        user: Option<UserId>,
        session: Option<&str>,
        again: bool,
    ) -> Option<Result<Stopped, RouterError>> {
        let session = session.map(Text::clip);
        self.ask(|router, port| router.stop((user, &Name::clip("mia")), session, again, port))
    }

    /// A person pauses a session, or everything, or takes that back.
    pub(crate) fn pause(
        &mut self,
        user: Option<UserId>,
        session: Option<&str>,
        paused: bool,
    ) -> Option<Result<(), RouterError>> {
        let session = session.map(Text::clip);
        self.ask(|router, port| router.pause(user, &Name::clip("mia"), session, paused, port))
    }

    /// Somebody takes a message back; what was said comes back.
    pub(crate) fn recall(
        &mut self,
        user: Option<UserId>,
        message: MessageId,
    ) -> Option<Result<String, RouterError>> {
        let said = self.ask(|router, port| router.recall(user, message, port));
        said.map(|said| said.map(Text::into_string))
    }

    /// Somebody puts a dead letter into the queue again.
    pub(crate) fn requeue(
        &mut self,
        user: Option<UserId>,
        message: MessageId,
        text: Option<&str>,
    ) -> Option<Result<Accepted, RouterError>> {
        let (by, text) = (Name::clip("mia"), text.map(Text::clip));
        let again = RequeueRequest { user, by, id: message, text, key: None };
        self.ask(|router, port| router.requeue(again, port))
    }

    /// Ann says something that kills every runner.
    pub(crate) fn poison(&mut self, session: &str) -> Accepted {
        let accepted = self.say(session, "poison");
        while !message_state::over(self.state(accepted.message)) {
            if self.runners.contains(&accepted.turn) {
                self.runner_ends(accepted.turn, Ended::Killed, 11);
            }
            self.pass(500);
        }
        accepted
    }

    pub(crate) fn trace(&mut self, message: MessageId) -> Vec<MessageState> {
        super::states(&self.act(|router| router.trace(None, message)).unwrap())
    }

    /// Where a message is.
    pub(crate) fn state(&mut self, message: MessageId) -> MessageState {
        *self.trace(message).last().unwrap()
    }

    /// The state of a turn's message.
    pub(crate) fn state_of_turn(&mut self, turn: TurnId) -> MessageState {
        self.act(|router| router.store.message_of(turn)).unwrap().unwrap().state
    }

    /// The events on the record that end a turn.
    pub(crate) fn ends_on_record(&self, turn: TurnId) -> Vec<Action> {
        let ends = [
            Action::TurnEnded,
            Action::MessageBlocked,
            Action::MessageRecalled,
            Action::MessageQuarantined,
            Action::MessageTakenIn,
        ];
        let of_turn = self.record.iter().filter(|event| event.turn == Some(turn));
        of_turn.map(|event| event.action).filter(|action| ends.contains(action)).collect()
    }

    /// How often something of this kind is on the record for a turn.
    pub(crate) fn recorded(&self, action: Action, turn: TurnId) -> usize {
        self.record.iter().filter(|event| event.action == action && event.turn == Some(turn)).count()
    }
}

/// A step that takes a steering message in.
pub(crate) fn steered(number: u32, word: &SteeringMessage) -> NewStep {
    let SteeringMessage { message, text, label } = word.clone();
    let step = Step::Steered { message, text, label: label.clone() };
    NewStep { number, step, session: label, workspace: Label::bottom() }
}

/// A scanner's verdict; it counts one more turn, and an attempt for what it blocks.
pub(crate) fn verdict(judgement: Judgement, before: Conversation) -> Verdict {
    let tried = u16::from(judgement == Judgement::Block);
    let rules = if judgement == Judgement::Pass { vec![] } else { vec![Name::clip("override")] };
    Verdict {
        judgement,
        score: 0,
        rules: List::clip(rules),
        canary_leaked: false,
        class: Class::Internal,
        redacted: None,
        threats: List::default(),
        spans: List::default(),
        held_secret: false,
        conversation: Conversation {
            turns: before.turns + 1,
            overriding: before.overriding + tried,
            ..before
        },
    }
}
