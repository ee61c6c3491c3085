//! What the gate takes and keeps: a turn with all that went before, and its steps. A step is durable, and the
//! labels it raises are, before the gate lets go on what depends on it.

use crate::desk::{Desk, Live, Phase};
use crate::history::{self, Fit};
use crate::launch::raised;
use crate::queue::Port;
use crate::store::{Head, Kept, StoreFault};
use crate::{state, steering};
use ipc_proto::List;
use ipc_proto::audit::Event;
use ipc_proto::content::{Content, Media, Part, Place};
use ipc_proto::ids::{ApprovalId, CallId, SessionId, TurnId, UserId};
use ipc_proto::label::Label;
use ipc_proto::model::{MESSAGES, Message, Role};
use ipc_proto::router::{
    CallVerdict, Labelled, MessageState, Released, RouterError, Run, Step, Task, Turn, WORDS, method,
};
use std::collections::VecDeque;

/// Messages of history in one turn: half of what a request has, so that the other half is left for the turn itself. Were
/// there more, the newest would not fit behind them.
const HISTORY: usize = MESSAGES / 2;
/// Steps of one turn.
const STEPS: u32 = 256;
/// A step is a message at most; the rest is for the turn's own, the host's, the workspace's and the skills'.
const _: () = assert!(HISTORY + STEPS as usize + WORDS < MESSAGES);
/// Bytes of a turn's frame that are kept free for what is not text: labels, names and lengths.
const CHROME: usize = 2 * 1024 * 1024;
/// Earlier messages that are looked up at once.
const BATCH: u32 = 32;

/// Which turns of a session are wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// For a model: conversations that are over and that it may see.
    ForModel,
    /// For a person: everything.
    All,
}

/// A step on its way to the store.
pub(crate) struct NewStep {
    pub(crate) number: u32,
    pub(crate) step: Step,
    pub(crate) session: Label,
    pub(crate) workspace: Label,
}

impl Desk {
    /// Gives the gate a running turn, its history cut to `budget` bytes of text.
    pub(crate) fn take(&mut self, turn: TurnId, budget: u32) -> Result<Turn, RouterError> {
        self.heard_of(turn);
        let Some(Live { head, phase: Phase::Running(_), taken, .. }) = self.live_turn(turn) else {
            return Self::no_turn();
        };
        *taken = true;
        let head = head.clone();
        kit::fault_point!("router.take.asked");
        Ok(self.turn(&head, budget)?)
    }

    fn turn(&self, head: &Head, budget: u32) -> Result<Turn, StoreFault> {
        let (content, task, label) = self.store.said(head.seq)?;
        let session = self.store.session(head.session)?;
        let workspace = self.store.workspace(session.workspace)?.ok_or(StoreFault::Missing("workspace"))?;
        let room = method::take.bound.saturating_sub(CHROME + weight(&content, &task));
        let budget = usize::try_from(budget).unwrap_or(usize::MAX).min(room / 2);
        let history = self.past(head.session, head.seq, Which::ForModel, Fit::new(budget, HISTORY))?;
        let mut steps: Vec<Step> = self.store.steps(head.seq)?.into_iter().map(|kept| kept.step).collect();
        let unthought = history::cut_steps(&mut steps, room - budget);
        Ok(Turn {
            id: head.turn,
            session: head.session,
            user: head.user,
            user_name: session.user_name,
            agent: session.agent,
            task,
            content,
            label: label.unwrap_or_default(),
            history: List::clip(history),
            steps: List::clip(steps),
            unthought,
            session_label: session.label,
            workspace_label: workspace.label,
            attached: workspace.attached,
            grants: List::clip(self.store.grants_in(head.session)?),
            attempt: head.attempts,
            key: head.key.map(|id| self.bound_of(id)),
        })
    }

    /// The messages of a session before `seq`, as many as fit.
    pub(crate) fn past(
        &self,
        session: SessionId,
        mut seq: i64,
        which: Which,
        mut fit: Fit,
    ) -> Result<Vec<Labelled>, StoreFault> {
        loop {
            let heads = self.store.earlier(session, seq, BATCH)?;
            if heads.is_empty() {
                return Ok(fit.done());
            }
            for head in heads {
                seq = head.seq;
                let turn = self.told(&head, which)?;
                if turn.is_some_and(|turn| !fit.older(turn)) {
                    return Ok(fit.done());
                }
            }
        }
    }

    /// How many messages a model would be told between message `after` and this one; more than a turn brings along are not
    /// counted.
    pub(crate) fn told_since(&self, head: &Head, after: i64) -> Result<u32, StoreFault> {
        let (mut seq, mut count) = (head.seq, 0_usize);
        loop {
            let heads = self.store.earlier(head.session, seq, BATCH)?;
            let Some(oldest) = heads.last().map(|head| head.seq) else { break };
            for head in heads.iter().filter(|head| head.seq > after) {
                count += self.told(head, Which::ForModel)?.map_or(0, |messages| messages.len());
            }
            if oldest <= after || count >= HISTORY {
                break;
            }
            seq = oldest;
        }
        Ok(u32::try_from(count).unwrap_or(u32::MAX))
    }

    /// One turn as messages; `None` if it is not wanted.
    fn told(&self, head: &Head, which: Which) -> Result<Option<Vec<Labelled>>, StoreFault> {
        // It stands in the turn that took it in.
        if head.state == MessageState::TakenIn {
            return Ok(None);
        }
        let (content, task, label) = self.store.said_without_media(head.seq)?;
        let withheld = matches!(head.state, MessageState::Blocked | MessageState::Recalled);
        let unseen = task != Task::Chat || withheld || !state::over(head.state);
        if which == Which::ForModel && unseen {
            return Ok(None);
        }
        let words = if which == Which::ForModel { content.past() } else { content.plain() };
        // What has no label yet has the default one: the lowest trust.
        let said = Message::text(Role::User, &words);
        let said = Labelled { message: said, label: label.unwrap_or_default() };
        let answered = matches!(head.state, MessageState::Answered | MessageState::Delivered);
        let answer = if answered { self.store.finished(head.seq)? } else { None };
        Ok(Some(history::compose(said, self.store.steps(head.seq)?, answer, closing(head.state))))
    }

    /// Keeps a step of a turn and the labels that it raises.
    pub(crate) fn step(&mut self, turn: TurnId, new: NewStep, port: Port<Result<(), RouterError>>) {
        self.heard_of(turn);
        match self.first(turn, &new) {
            Ok(events) => {
                if let Step::Steered { message, .. } = &new.step {
                    self.taking.entry(*message).or_default();
                }
                self.keep_after(turn, new, events, port);
            }
            Err(refusal) => drop(port.send(Err(refusal))),
        }
    }

    /// Keeps a step once these are on the record.
    fn keep_after(
        &mut self,
        turn: TurnId,
        new: NewStep,
        mut events: VecDeque<Event>,
        port: Port<Result<(), RouterError>>,
    ) {
        let Some(event) = events.pop_front() else {
            drop(port.send(self.keep_step(turn, &new)));
            return self.has_taken(&new.step);
        };
        self.record(event, move |desk, recorded| {
            if recorded {
                kit::fault_point!("router.step.recorded");
                desk.keep_after(turn, new, events, port);
            } else {
                drop(port.send(Err(RouterError::NotDurable)));
                desk.has_taken(&new.step);
            }
        });
    }

    /// What has to be on the record before the step is kept: that it raises the session's label, and that it takes words in.
    fn first(&mut self, turn: TurnId, new: &NewStep) -> Result<VecDeque<Event>, RouterError> {
        let head = self.under_way(turn)?;
        let before = self.store.session(head.session)?.label;
        let rise = raised(head.session, turn, &before, &before.join(&new.session));
        Ok(rise.into_iter().chain(self.taking_in(&head, new)?).collect())
    }

    /// The labels of a turn's session and of its workspace, as they are by now.
    pub(crate) fn labels(&mut self, turn: TurnId) -> Result<(Label, Label), RouterError> {
        let head = self.under_way(turn)?;
        let session = self.store.session(head.session)?;
        let workspace = self.store.workspace(session.workspace)?.ok_or(StoreFault::Missing("workspace"))?;
        Ok((session.label, workspace.label))
    }

    fn keep_step(&mut self, turn: TurnId, new: &NewStep) -> Result<(), RouterError> {
        let head = self.under_way(turn)?;
        let have = self.store.step_count(head.seq)?;
        if new.number < have {
            let same = self.store.step(head.seq, new.number)?.is_some_and(|step| step == new.step);
            return if same { Ok(()) } else { Err(RouterError::BadStep) };
        }
        if new.number > have || new.number >= STEPS {
            return Err(RouterError::BadStep);
        }
        let settles = self.settles(head.seq, &new.step)?;
        let word = self.word(&head, &new.step)?.map(|word| (self.ending_of(&word, turn), word));
        let session = self.store.session(head.session)?;
        let kept = Kept { step: new.step.clone(), label: session.label.join(&new.session) };
        let now_ms = self.now.ms;
        let used = self.store.commit(|tx| {
            match settles {
                Some((id, call, true)) if !tx.claim(id, turn, call, now_ms)? => return Ok(false),
                Some((id, _, false)) => tx.void_approval(id, turn, now_ms)?,
                _ => {}
            }
            tx.raise_session(session.id, &new.session)?;
            tx.raise_workspace(session.workspace, &new.workspace)?;
            tx.keep_step(head.seq, new.number, head.attempts, &kept)?;
            if let Some((finished, word)) = &word {
                tx.put_out(word.seq, finished, now_ms)?;
                tx.pass(&steering::pass_of(word, &steering::note_of(turn), now_ms))?;
            }
            Ok(true)
        })?;
        kit::fault_point!("router.step.committed");
        if let Some((id, ..)) = settles {
            self.look_ahead();
            self.wake_asker(id);
            self.clock(head.seq);
        }
        if let Some((finished, word)) = word {
            self.taken_in(&word, finished);
        }
        if used { Ok(()) } else { Err(RouterError::NotApproved) }
    }

    /// The question that a step settles, the call it was about, and whether that is to run. A plan is locked
    /// once, and memory gives once.
    fn settles(&self, seq: i64, step: &Step) -> Result<Option<(ApprovalId, CallId, bool)>, RouterError> {
        let before = || self.store.steps(seq).map(|kept| kept.into_iter().map(|kept| kept.step));
        match step {
            Step::Reply { .. } | Step::Result { .. } | Step::Steered { .. } => Ok(None),
            Step::Plan { .. } | Step::Recalled { .. } => {
                let kind = std::mem::discriminant(step);
                let twice = before()?.any(|it| std::mem::discriminant(&it) == kind);
                if twice { Err(RouterError::BadStep) } else { Ok(None) }
            }
            Step::Decided { verdict: CallVerdict::Asking(_), .. } => Err(RouterError::BadStep),
            Step::Decided { call, verdict, .. } => {
                let id = history::waits(before()?, *call).ok_or(RouterError::NotApproved)?;
                Ok(Some((id, *call, *verdict == CallVerdict::Run)))
            }
        }
    }

    /// A call that was decided on, as it was decided in the end.
    pub(crate) fn call(&self, user: Option<UserId>, id: CallId) -> Result<Released, RouterError> {
        let (seq, number) = self.store.call(id)?.ok_or(RouterError::NoCall)?;
        let head = self.store.message_at(seq)?.filter(|head| user.is_none_or(|user| user == head.user));
        let head = head.ok_or(RouterError::NoCall)?;
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        let steps = self.store.steps(head.seq)?.into_iter().skip(number).map(|kept| kept.step);
        history::decided(steps, id).ok_or(RouterError::NoCall)
    }

    /// The message of a turn that has begun and has not ended.
    pub(crate) fn under_way(&mut self, turn: TurnId) -> Result<Head, RouterError> {
        match self.live_turn(turn) {
            Some(live) if live.head.attempts > 0 && !matches!(live.phase, Phase::Ending(_)) => {
                Ok(live.head.clone())
            }
            _ => Self::no_turn(),
        }
    }
}

/// What stands for the answer of a turn that ended without one.
const fn closing(state: MessageState) -> &'static str {
    match state {
        MessageState::Cancelled => "[this turn was cancelled before it was answered]",
        MessageState::Failed => "[this turn failed and was not answered]",
        MessageState::Blocked => "[this message was blocked and not answered]",
        MessageState::Recalled => "[this message was taken back before it was answered]",
        MessageState::Quarantined => "[this turn was given up and not answered]",
        MessageState::Requeued => "[this turn was given up; its message was put into the queue again]",
        _ => "",
    }
}

/// Bytes of what a message brings with it.
fn weight(content: &Content, task: &Task) -> usize {
    let medium = |medium: &Media| match &medium.place {
        Place::Url(url) => url.len(),
        Place::Bytes(bytes) => bytes.len(),
    };
    let parts = content.parts.iter().map(|part| match part {
        Part::Text(text) => text.len(),
        Part::Image(it) | Part::File(it) | Part::Audio(it) | Part::Video(it) => medium(it),
    });
    let task = match task {
        Task::Chat => 0,
        Task::Command { argv } | Task::Run(Run { argv, .. }) => argv.iter().map(|word| word.len()).sum(),
        Task::Put { bytes, .. } => bytes.len(),
        Task::Get { path } => path.len(),
    };
    parts.sum::<usize>() + task
}
