//! Tasks that a turn hands to other agents. Each is a message of a fresh session of the same user, and its turn has a place besides those
//! of people's messages, so that a turn which waits for its tasks keeps none of them from starting. No task outlives the turn that handed
//! it out.

use crate::channels::DELEGATION;
use crate::state::RouterState;
use crate::state::live::Phase;
use crate::store::{Head, StoreFault, StoredDelegation};
use crate::submit::Beside;
use ipc_proto::content::Content;
use ipc_proto::ids::{CallId, TurnId, UserId};
use ipc_proto::router::{ALIVE, CHILDREN, DEPTH, Delegation, Node, RouterError, Submission, TREE, Task};
use ipc_proto::{List, Name, Text};

impl RouterState {
    /// Accepts the task that a call of a turn hands to an agent; returns the turn that will work on it.
    pub(crate) fn delegate(
        &mut self,
        turn: TurnId,
        call: CallId,
        delegation: Delegation,
    ) -> Result<TurnId, RouterError> {
        self.renew_lease(turn);
        let above = self.under_way(turn)?;
        let key = format!("{turn}:{call}");
        if let Some(head) = self.store.message_keyed(above.user, DELEGATION, &key)? {
            return Ok(head.turn);
        }
        let Delegation { agent, task, label, terms } = delegation;
        let over = self.store.delegation_of(above.seq)?;
        let depth = over.as_ref().map_or(0, |over| over.terms.depth()).saturating_add(1);
        if depth > DEPTH || terms.depth() != depth {
            return Err(RouterError::TooDeep);
        }
        self.may_hand_out(turn)?;
        let submission = Submission {
            user: above.user,
            session: Text::clip(&format!("task:{key}")),
            agent: Some(agent),
            channel: Name::clip(DELEGATION),
            key: Text::clip(&key),
            content: Content::text(Text::clip(&task)),
            task: Task::Chat,
            workspace: Some(self.store.session(above.session)?.workspace),
            workspace_label: None,
        };
        let root = over.map_or(above.seq, |over| over.root);
        let task = StoredDelegation { parent: turn, root, label, terms };
        let beside = Beside { delegation: Some(&task), ..Beside::default() };
        let stored = self.store_submission(&submission, above.key, beside, &[])?;
        Ok(self.announce(stored).turn)
    }

    /// Fails if a turn, or the host, has as many tasks under way as may be.
    fn may_hand_out(&self, turn: TurnId) -> Result<(), RouterError> {
        let tasks: Vec<i64> =
            self.heads_where(|live| live.head.channel.as_str() == DELEGATION).map(|head| head.seq).collect();
        let most = |most: usize| RouterError::TooManyTasks { most: u32::try_from(most).unwrap_or(u32::MAX) };
        if tasks.len() >= ALIVE {
            return Err(most(ALIVE));
        }
        if self.live_tasks_of(turn)?.len() >= CHILDREN { Err(most(CHILDREN)) } else { Ok(()) }
    }

    /// The tasks of a turn that are not over.
    fn live_tasks_of(&self, turn: TurnId) -> Result<Vec<i64>, StoreFault> {
        let mut tasks = self.store.tasks_of(turn)?;
        tasks.retain(|seq| self.live.get(*seq).is_some_and(|live| !matches!(live.phase, Phase::Ending(_))));
        Ok(tasks)
    }

    /// Cancels the tasks of a turn that is over.
    pub(crate) fn cancel_tasks_of(&mut self, turn: TurnId) {
        match self.live_tasks_of(turn) {
            Ok(tasks) => tasks.into_iter().for_each(|seq| self.cancel_live(seq, OVER)),
            Err(fault) => tracing::error!(%fault, "the tasks of a turn that is over are not known"),
        }
    }

    /// Returns true if a message is a task whose turn above is over. The process may have ended in between.
    pub(crate) fn is_orphan(&mut self, head: &Head) -> Result<bool, StoreFault> {
        let Some(task) = self.delegation(head)? else { return Ok(false) };
        Ok(self.live_turn(task.parent).is_none_or(|live| matches!(live.phase, Phase::Ending(_))))
    }

    /// The part of a message that only a task has.
    pub(crate) fn delegation(&self, head: &Head) -> Result<Option<StoredDelegation>, StoreFault> {
        if head.channel.as_str() == DELEGATION { self.store.delegation_of(head.seq) } else { Ok(None) }
    }

    /// The message at the top of the tree of a message: of one that is no task, itself.
    pub(crate) fn top_of(&self, head: &Head) -> Result<Head, StoreFault> {
        match self.delegation(head)? {
            Some(task) => self.store.message_at(task.root)?.ok_or(StoreFault::Missing("message")),
            None => Ok(head.clone()),
        }
    }

    /// A turn and those that work on its tasks, each before those below it.
    pub(crate) fn tree(&self, user: Option<UserId>, turn: TurnId) -> Result<List<Node, TREE>, RouterError> {
        let top = self.store.message_of(turn)?.filter(|head| user.is_none_or(|user| user == head.user));
        let mut left = vec![top.ok_or(RouterError::NoTurn)?];
        let mut nodes = Vec::new();
        while let Some(head) = left.pop().filter(|_| nodes.len() < TREE) {
            let task = self.delegation(&head)?;
            let session = self.store.session(head.session)?;
            nodes.push(Node {
                turn: head.turn,
                parent: task.as_ref().map(|task| task.parent),
                depth: task.map_or(0, |task| task.terms.depth()),
                agent: session.agent,
                session: session.name,
                state: head.state,
            });
            for seq in self.store.tasks_of(head.turn)?.into_iter().rev() {
                left.extend(self.store.message_at(seq)?);
            }
        }
        Ok(List::clip(nodes))
    }
}

/// The reason for which a task ends with the turn above it.
pub(crate) const OVER: &str = "the turn that handed it out is over";
