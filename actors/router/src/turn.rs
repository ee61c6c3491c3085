//! A turn at the gate: the gate takes it with the conversation before it, and stores its steps. A step, and the labels that it raises, are
//! durable before the gate releases anything that depends on it.

use crate::channels;
use crate::ending::steering_note;
use crate::history::{self, Fit};
use crate::labels::raised;
use crate::port::Reply;
use crate::state::RouterState;
use crate::state::effects::Recorded;
use crate::state::live::{Live, Phase};
use crate::state::requests::NewStep;
use crate::store::{Head, StoreFault, StoredStep, Transition};
use crate::transcript::{HISTORY, TranscriptFor};
use ipc_proto::audit::Event;
use ipc_proto::content::{Content, Media, Part, Place};
use ipc_proto::ids::{ApprovalId, CallId, TurnId, UserId};
use ipc_proto::label::Label;
use ipc_proto::model::MESSAGES;
use ipc_proto::router::{
    CallVerdict, MessageState, Released, RouterError, Run, STEERING_MESSAGES, Step, Target, Task, Turn,
    method,
};
use ipc_proto::{List, Name};
use std::collections::VecDeque;

/// Steps of one turn.
const STEPS: u32 = 256;
/// A step is one message at most; the rest is for the turn's own message, the host's, the workspace's and the skills'.
const _: () = assert!(HISTORY + STEPS as usize + STEERING_MESSAGES < MESSAGES);
/// Bytes of a turn's frame that are left free for labels, names and lengths.
const CHROME: usize = 2 * 1024 * 1024;

impl RouterState {
    /// Gives the gate a running turn, its history cut to `budget` bytes of text.
    pub(crate) fn take(&mut self, turn: TurnId, budget: u32) -> Result<Turn, RouterError> {
        self.renew_lease(turn);
        let Some(Live { head, phase: Phase::Running(_), claimed, .. }) = self.live_turn(turn) else {
            return Err(RouterError::NoTurn);
        };
        *claimed = true;
        let head = head.clone();
        kit::fault_point!("router.take.asked");
        Ok(self.turn(&head, budget)?)
    }

    fn turn(&self, head: &Head, budget: u32) -> Result<Turn, StoreFault> {
        let (content, task, label) = self.store.content(head.seq)?;
        let session = self.store.session(head.session)?;
        let workspace = self.store.workspace(session.workspace)?.ok_or(StoreFault::Missing("workspace"))?;
        let room = method::take.bound.saturating_sub(CHROME + weight(&content, &task));
        let budget = usize::try_from(budget).unwrap_or(usize::MAX).min(room / 2);
        let history =
            self.transcript(head.session, head.seq, TranscriptFor::Model, Fit::new(budget, HISTORY))?;
        let mut steps: Vec<Step> =
            self.store.steps(head.seq)?.into_iter().map(|stored| stored.step).collect();
        let unthought = history::cut_steps(&mut steps, room - budget);
        let delegated = self.delegation(head)?.map(|task| Box::new(task.terms));
        let of_job = self.store.fire_of(head.seq)?.map(|fire| fire.unattended);
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
            workspace: session.workspace,
            attached: workspace.attached,
            grants: List::clip(self.store.grants_in(head.session)?),
            attempt: head.attempts,
            key: head.key.map(|id| self.bound_of(id)),
            files: List::clip(self.store.files_of(head.seq)?.into_iter().map(|(_, file)| file)),
            conversation: self.came_from(head)?,
            unattended: of_job.or(delegated.as_ref().and_then(|terms| terms.unattended)),
            delegated,
        })
    }

    /// The conversation that a message came from, if it came by a platform.
    fn came_from(&self, head: &Head) -> Result<Option<Target>, StoreFault> {
        let account = channels::account(&head.channel).map(Name::clip);
        let arrival =
            account.and_then(|account| Some((account, self.store.arrival_of(head.seq).transpose()?)));
        arrival.map(|(account, arrival)| Ok(Target { account, id: arrival?.conversation.id })).transpose()
    }

    /// Stores a step of a turn and the labels that it raises.
    pub(crate) fn step(&mut self, turn: TurnId, new: NewStep, port: Reply<()>) {
        self.renew_lease(turn);
        match self.events_before_step(turn, &new) {
            Ok(events) => {
                if let Step::Steered { message, .. } = &new.step {
                    self.pending_steering.entry(*message).or_default();
                }
                self.store_step_after(turn, Box::new(new), events, port);
            }
            Err(refusal) => drop(port.send(Err(refusal))),
        }
    }

    /// Stores a step once these events are on the record.
    fn store_step_after(
        &mut self,
        turn: TurnId,
        new: Box<NewStep>,
        mut events: VecDeque<Event>,
        port: Reply<()>,
    ) {
        let Some(event) = events.pop_front() else {
            drop(port.send(self.store_step(turn, &new)));
            return self.answer_waiting_recalls(&new.step);
        };
        self.record(event, Recorded::BeforeStep { turn, new, others: events, port });
    }

    /// An event that comes before a step is on the record, or could not be put there.
    pub(crate) fn before_step_recorded(
        &mut self,
        turn: TurnId,
        new: Box<NewStep>,
        others: VecDeque<Event>,
        port: Reply<()>,
        recorded: bool,
    ) {
        if recorded {
            kit::fault_point!("router.step.recorded");
            self.store_step_after(turn, new, others, port);
        } else {
            drop(port.send(Err(RouterError::NotDurable)));
            self.answer_waiting_recalls(&new.step);
        }
    }

    /// The events that come before a step: it raises the session's label, or takes a steering message in.
    fn events_before_step(&mut self, turn: TurnId, new: &NewStep) -> Result<VecDeque<Event>, RouterError> {
        let head = self.under_way(turn)?;
        let before = self.store.session(head.session)?.label;
        let rise = raised(head.session, turn, &before, &before.join(&new.session));
        Ok(rise.into_iter().chain(self.steering_event(&head, new)?).collect())
    }

    /// The labels of a turn's session and of its workspace, as they are by now.
    pub(crate) fn labels(&mut self, turn: TurnId) -> Result<(Label, Label), RouterError> {
        let head = self.under_way(turn)?;
        let session = self.store.session(head.session)?;
        let workspace = self.store.workspace(session.workspace)?.ok_or(StoreFault::Missing("workspace"))?;
        Ok((session.label, workspace.label))
    }

    fn store_step(&mut self, turn: TurnId, new: &NewStep) -> Result<(), RouterError> {
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
        let steered = self
            .steering_of_step(&head, &new.step)?
            .map(|steered| (self.steering_end(&steered, turn), steered));
        let session = self.store.session(head.session)?;
        let stored = StoredStep { step: new.step.clone(), label: session.label.join(&new.session) };
        let (now_ms, note) = (self.now.ms, steering_note(turn));
        let used = self.store.commit(|tx| {
            match settles {
                Some((id, call, true)) if !tx.claim(id, turn, call, now_ms)? => return Ok(false),
                Some((id, _, false)) => tx.void_approval(id, turn, now_ms)?,
                _ => {}
            }
            tx.raise_session(session.id, &new.session)?;
            tx.raise_workspace(session.workspace, &new.workspace)?;
            tx.store_step(head.seq, new.number, head.attempts, &stored)?;
            if let Some((finished, steered)) = &steered {
                tx.insert_outbox(steered.seq, finished, now_ms)?;
                let over = Transition::of(steered, MessageState::TakenIn, now_ms);
                tx.transition(&Transition { note: &note, ..over })?;
            }
            Ok(true)
        })?;
        kit::fault_point!("router.step.committed");
        // Its model answered: messages that wait for the same obstacle may go on.
        if matches!(new.step, Step::Reply { .. }) {
            self.went_on(turn);
        }
        if let Some((id, ..)) = settles {
            self.schedule_expiry();
            self.wake_asker(id);
            self.clock(head.seq);
        }
        if let Some((finished, steered)) = steered {
            self.steering_taken(&steered, finished);
        }
        if used { Ok(()) } else { Err(RouterError::NotApproved) }
    }

    /// The question that a step settles, the call it was about, and whether that is to run. A plan is locked
    /// once, and memory gives once.
    fn settles(&self, seq: i64, step: &Step) -> Result<Option<(ApprovalId, CallId, bool)>, RouterError> {
        let before = || self.store.steps(seq).map(|steps| steps.into_iter().map(|stored| stored.step));
        match step {
            Step::Reply { .. } | Step::Result { .. } | Step::Steered { .. } => Ok(None),
            Step::Plan { .. } | Step::Recalled { .. } => {
                let kind = std::mem::discriminant(step);
                let twice = before()?.any(|it| std::mem::discriminant(&it) == kind);
                if twice { Err(RouterError::BadStep) } else { Ok(None) }
            }
            Step::Decided { verdict: CallVerdict::Asking(_), .. } => Err(RouterError::BadStep),
            Step::Decided { call, verdict, .. } => {
                let id = history::open_question(before()?, *call).ok_or(RouterError::NotApproved)?;
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
        let steps = self.store.steps(head.seq)?.into_iter().skip(number).map(|stored| stored.step);
        history::decided(steps, id).ok_or(RouterError::NoCall)
    }
}

/// Bytes of a message's content and task.
fn weight(content: &Content, task: &Task) -> usize {
    let medium = |medium: &Media| match &medium.place {
        Place::Url(url) => url.len(),
        Place::Bytes(bytes) => bytes.len(),
    };
    let parts = content.parts.iter().map(|part| match part {
        Part::Text(text) => text.len(),
        Part::Foreign { text, .. } => text.len(),
        Part::Image(it) | Part::File(it) | Part::Audio(it) | Part::Video(it) => medium(it),
    });
    let task = match task {
        Task::Chat => 0,
        Task::Command { argv } | Task::Run(Run { argv, .. }) => {
            argv.iter().map(|argument| argument.len()).sum()
        }
        Task::Put { bytes, .. } => bytes.len(),
        Task::Get { path } => path.len(),
    };
    parts.sum::<usize>() + task
}
