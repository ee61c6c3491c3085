//! The world around a desk: audit, scanner, agentd and gate, each as good as their last word. It keeps what they
//! saw, so that a test can say what must never have happened.

use super::config;
use crate::answers::Given;
use crate::desk::{Desk, Moment};
use crate::errands::Errand;
use crate::launch::Launch;
use crate::letters::Again;
use crate::queue::Port;
use crate::state;
use crate::turn::NewStep;
use ipc_proto::approval::{ApprovalInfo, Question, Reply, State};
use ipc_proto::audit::{Action, Event};
use ipc_proto::config as conf;
use ipc_proto::ids::{ApprovalId, MessageId, TurnId, UserId, WorkspaceId};
use ipc_proto::label::{Class, Label};
use ipc_proto::router::{
    Accepted, Finished, MessageState, RouterError, Steer, Steering, Step, Stopped, Submission, Word,
};
use ipc_proto::scanner::{Conversation, Judgement, Subject, Verdict};
use ipc_proto::{List, Name, Text};
use manifest::command::Ended;
use ractor::concurrency::oneshot;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Where an answer of the desk comes out.
pub(crate) type Answer<T> = ractor::concurrency::OneshotReceiver<T>;

/// A desk and the world around it.
pub(crate) struct World {
    pub(crate) folder: TempDir,
    pub(crate) config: conf::Router,
    desk: Option<Desk>,
    began: Instant,
    pub(crate) ms: u64,
    /// How far the wall clock is off the one that never steps.
    pub(crate) off: i64,
    pub(crate) audit: bool,
    pub(crate) scanner: Option<Judgement>,
    /// agentd launches what it is asked to.
    pub(crate) agentd: bool,
    /// The gate beats for every turn that is under way.
    pub(crate) beats: bool,
    /// The router dies with every event that it puts on the record, before it hears that it is there.
    pub(crate) deaf: bool,
    /// Errands that are done before the next ones are lost; `None` for all.
    pub(crate) errands_left: Option<usize>,
    pub(crate) record: Vec<Event>,
    pub(crate) launched: Vec<Launch>,
    pub(crate) killed: Vec<TurnId>,
    pub(crate) runners: Vec<TurnId>,
    /// What the scanner was asked to judge by.
    pub(crate) scans: Vec<Subject>,
    /// What agentd was told of wall clocks.
    pub(crate) walls: Vec<(TurnId, Duration)>,
    /// Workspaces whose folders agentd was told to remove.
    pub(crate) removed: Vec<WorkspaceId>,
    /// Attached directories that agentd was told to close.
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
            desk: None,
            began: Instant::now(),
            ms: 1_000_000,
            off: 0,
            audit: true,
            scanner: Some(Judgement::Pass),
            agentd: true,
            beats: true,
            deaf: false,
            errands_left: None,
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
        self.desk = None;
        let file = self.folder.path().join("queue.db");
        self.desk = Some(Desk::open(&file, self.config.clone(), self.now()).unwrap());
        for turn in self.runners.clone() {
            self.act(|desk| desk.runner_alive(turn));
        }
        self.act(Desk::runners_known);
    }

    /// The router ends for good; its files stay.
    pub(crate) fn into_folder(self) -> TempDir {
        drop(self.desk);
        self.folder
    }

    fn now(&self) -> Moment {
        let at = self.began + Duration::from_millis(self.ms - 1_000_000);
        Moment { at, ms: self.ms.saturating_add_signed(self.off) }
    }

    /// Has the desk do something, and does what follows from it.
    pub(crate) fn act<T>(&mut self, work: impl FnOnce(&mut Desk) -> T) -> T {
        let now = self.now();
        let desk = self.desk.as_mut().unwrap();
        desk.at(now);
        let done = work(desk);
        self.settle();
        done
    }

    /// Time passes, with beats and ticks.
    pub(crate) fn pass(&mut self, ms: u64) {
        for _ in 0..ms.div_ceil(500) {
            self.ms += 500;
            let heard = if self.beats { self.runners.clone() } else { vec![] };
            for turn in heard {
                drop(self.begin(|desk, port| desk.emit(turn, 0, List::default(), port)));
            }
            self.act(Desk::tick);
        }
    }

    fn settle(&mut self) {
        loop {
            let desk = self.desk.as_mut().unwrap();
            if desk.is_behind {
                desk.drive();
            }
            let errands: Vec<Errand> = desk.errands.drain(..).collect();
            if errands.is_empty() {
                return;
            }
            for errand in errands {
                match &mut self.errands_left {
                    Some(0) => continue,
                    Some(left) => *left -= 1,
                    None => {}
                }
                self.perform(errand);
            }
        }
    }

    fn perform(&mut self, errand: Errand) {
        let desk = self.desk.as_mut().unwrap();
        match errand {
            Errand::Record(event, then) => {
                if self.audit {
                    self.record.push(*event);
                }
                if !self.deaf {
                    then(desk, self.audit);
                }
            }
            Errand::Scan(subject, _, then) => {
                let verdict = self.scanner.map(|judgement| verdict(judgement, subject.conversation));
                self.scans.push(subject);
                then(desk, verdict);
            }
            Errand::Launch(launch) => {
                self.launched.push(launch);
                if self.agentd {
                    self.runners.push(launch.turn);
                }
            }
            Errand::Wall(turn, left) => self.walls.push((turn, left)),
            Errand::Remove(workspace) => self.removed.push(workspace),
            Errand::Forget(workspace) => self.let_go.push(workspace),
            Errand::Kill(turn) => {
                self.killed.push(turn);
                if self.runners.contains(&turn) {
                    self.runners.retain(|it| *it != turn);
                    desk.runner_ended(turn, Some(Ended::Killed), 9);
                }
            }
        }
    }

    /// The user with this uid.
    pub(crate) fn id(&mut self, uid: u32) -> UserId {
        self.act(|desk| desk.identify(uid)).unwrap().id
    }

    pub(crate) fn submit(&mut self, submission: &Submission) -> Result<Accepted, RouterError> {
        self.act(|desk| desk.submit(submission))
    }

    /// Ann says something in a session, under a key of its own.
    pub(crate) fn say(&mut self, session: &str, text: &str) -> Accepted {
        let ann = self.id(1001);
        let key = format!("{session}/{text}");
        self.submit(&super::said(ann, session, &key, text)).unwrap()
    }

    /// Ann says something into the turn that is under way in a session, under a key of its own.
    pub(crate) fn steer(&mut self, session: &str, text: &str, urgent: bool) -> Result<Steering, RouterError> {
        let ann = self.id(1001);
        let key = Text::clip(&format!("{session}/{text}"));
        let steer = Steer { session: Text::clip(session), text: Text::clip(text), urgent, key };
        self.act(|desk| desk.steer(ann, &steer))
    }

    /// The gate takes words in as this step of a turn.
    pub(crate) fn take_in(&mut self, turn: TurnId, number: u32, word: &Word) -> Result<(), RouterError> {
        self.ask(|desk, port| desk.step(turn, taking(number, word), port))
            .unwrap_or(Err(RouterError::NotDurable))
    }

    /// The runner of a turn ends.
    pub(crate) fn runner_ends(&mut self, turn: TurnId, how: Ended, code: u64) {
        self.runners.retain(|it| *it != turn);
        self.act(|desk| desk.runner_ended(turn, Some(how), code));
    }

    /// The gate ends a turn; the runner ends of itself.
    pub(crate) fn finish(&mut self, turn: TurnId, finished: Finished) -> Option<Result<(), RouterError>> {
        let answer = self.ask(|desk, port| desk.finish(turn, finished, port));
        if answer == Some(Ok(())) {
            self.runner_ends(turn, Ended::Exited, 0);
        }
        answer
    }

    /// Asks for something that may be answered later.
    pub(crate) fn begin<T: Send + 'static>(&mut self, work: impl FnOnce(&mut Desk, Port<T>)) -> Answer<T> {
        let (sender, receiver) = oneshot();
        self.act(|desk| work(desk, sender.into()));
        receiver
    }

    /// Asks for something; `None` if it is not answered yet.
    pub(crate) fn ask<T: Send + 'static>(&mut self, work: impl FnOnce(&mut Desk, Port<T>)) -> Option<T> {
        self.begin(work).try_recv().ok()
    }

    /// The gate keeps a step that raises nothing.
    pub(crate) fn keep(&mut self, turn: TurnId, number: u32, step: Step) -> Result<(), RouterError> {
        let new = NewStep { number, step, session: Label::bottom(), workspace: Label::bottom() };
        self.ask(|desk, port| desk.step(turn, new, port)).unwrap()
    }

    /// The gate asks about call `n` as the turn's first step, for five minutes.
    pub(crate) fn inquire(&mut self, turn: TurnId, n: u8) -> Question {
        let question = super::question(n, self.ms + 300_000);
        self.keep(turn, 0, super::asking(n)).unwrap();
        self.act(|desk| desk.ask(turn, &question)).unwrap();
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
        self.ask(|desk, port| desk.answer(Given { user, by, id, hash, reply, port })).unwrap()
    }

    /// Where a question is, as the gate is told; `None` if it goes on waiting.
    pub(crate) fn told(&mut self, turn: TurnId, id: ApprovalId) -> Option<Result<State, RouterError>> {
        self.ask(|desk, port| desk.answer_of(turn, id, port))
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
        self.ask(|desk, port| desk.stop((user, &Name::clip("mia")), session, again, port))
    }

    /// A person pauses a session, or everything, or takes that back.
    pub(crate) fn pause(
        &mut self,
        user: Option<UserId>,
        session: Option<&str>,
        paused: bool,
    ) -> Option<Result<(), RouterError>> {
        let session = session.map(Text::clip);
        self.ask(|desk, port| desk.pause(user, &Name::clip("mia"), session, paused, port))
    }

    /// Somebody takes a message back; what was said comes back.
    pub(crate) fn recall(
        &mut self,
        user: Option<UserId>,
        message: MessageId,
    ) -> Option<Result<String, RouterError>> {
        let said = self.ask(|desk, port| desk.recall(user, message, port));
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
        let again = Again { user, by, id: message, text, key: None };
        self.ask(|desk, port| desk.requeue(again, port))
    }

    /// Ann says something that kills every runner.
    pub(crate) fn poison(&mut self, session: &str) -> Accepted {
        let accepted = self.say(session, "poison");
        while !state::over(self.state(accepted.message)) {
            if self.runners.contains(&accepted.turn) {
                self.runner_ends(accepted.turn, Ended::Killed, 11);
            }
            self.pass(500);
        }
        accepted
    }

    pub(crate) fn trace(&mut self, message: MessageId) -> Vec<MessageState> {
        super::states(&self.act(|desk| desk.trace(None, message)).unwrap())
    }

    /// Where a message is.
    pub(crate) fn state(&mut self, message: MessageId) -> MessageState {
        *self.trace(message).last().unwrap()
    }

    /// What the record says of how a turn ended.
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

/// A step that takes words in.
pub(crate) fn taking(number: u32, word: &Word) -> NewStep {
    let Word { message, text, label } = word.clone();
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
