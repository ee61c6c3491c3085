//! The interface: each method hands what it was given to the desk and gives back what the desk says. It decides
//! nothing; who may call what stands in the table.

use crate::answers::Given;
use crate::desk::Desk;
use crate::keys::Wanted;
use crate::letters::Again;
use crate::queue::{Port, Queue};
use crate::store::{Origin, Person};
use crate::turn::NewStep;
use ipc_proto::api::{Caller, Holder, KEYS, KeyInfo, KeyScope, Presented};
use ipc_proto::approval::{self, ApprovalInfo, ApprovalView, Grant, Question, State};
use ipc_proto::config::UserRole;
use ipc_proto::content::TEXT_BOUND;
use ipc_proto::engine::{STATE, SavedState, Token};
use ipc_proto::ids::{ApprovalId, CallId, MessageId, TurnId, UserId, WorkspaceId};
use ipc_proto::label::Label;
use ipc_proto::router::{
    Accepted, AgentInfo, Finished, Followed, Input, MessageInfo, MessageView, NamedEvent, Passed, QueueInfo,
    Released, Router, RouterError, SessionInfo, SessionName, SessionView, Steer, Steering, Step, Stopped,
    Submission, Turn, TurnEvent, Typed, UserInfo, WORDS, Word, WorkspaceInfo,
};
use ipc_proto::{Blob, List, Name, Text};
use std::time::{Duration, Instant};
use tarpc::context::Context;

/// How long a follower waits for the first event, and at most whoever waits for named events.
const LONG_POLL: Duration = Duration::from_secs(20);
/// How long whatever goes on the record first may take; within each method's deadline.
const PATIENCE: Duration = Duration::from_secs(9);

type Reply<T> = Result<T, RouterError>;

/// The serving end of one edge.
#[derive(Clone)]
pub(crate) struct RouterServer(pub(crate) Queue);

impl RouterServer {
    /// Asks for what is answered at once.
    async fn now<T: Send + 'static>(
        self,
        work: impl FnOnce(&mut Desk) -> Reply<T> + Send + 'static,
    ) -> Reply<T> {
        self.0.ask(PATIENCE, work).await.unwrap_or(Err(RouterError::NotDurable))
    }

    /// Asks for what may have to wait for the record.
    async fn when_recorded<T: Send + 'static>(
        self,
        work: impl FnOnce(&mut Desk, Port<Reply<T>>) + Send + 'static,
    ) -> Reply<T> {
        self.0.await_answer(PATIENCE, work).await.unwrap_or(Err(RouterError::NotDurable))
    }

    /// Named events after `after`: those that there are, or the first within `wait`.
    async fn events_within(self, after: u64, wait: Duration) -> List<NamedEvent, 256> {
        if wait.is_zero() {
            return self.0.ask(PATIENCE, move |desk| desk.events.after(after)).await.unwrap_or_default();
        }
        self.0.await_answer(wait, move |desk, port| desk.watch(after, port)).await.unwrap_or_default()
    }
}

impl Router for RouterServer {
    async fn take(self, _: Context, turn: TurnId, budget: u32) -> Reply<Turn> {
        self.now(move |desk| desk.take(turn, budget)).await
    }

    async fn step(
        self,
        _: Context,
        turn: TurnId,
        number: u32,
        step: Step,
        session: Label,
        workspace: Label,
    ) -> Reply<()> {
        let new = NewStep { number, step, session, workspace };
        self.when_recorded(move |desk, port| desk.step(turn, new, port)).await
    }

    async fn emit(
        self,
        _: Context,
        turn: TurnId,
        from: u64,
        events: List<TurnEvent, 64>,
        waits: List<Name, 4>,
    ) -> Reply<u64> {
        self.when_recorded(move |desk, port| {
            desk.hear_waits(turn, waits);
            desk.emit(turn, from, events, port);
        })
        .await
    }

    async fn finish(self, _: Context, turn: TurnId, finished: Finished) -> Reply<()> {
        self.when_recorded(move |desk, port| desk.finish(turn, finished, port)).await
    }

    async fn ask(self, _: Context, turn: TurnId, question: Question) -> Reply<()> {
        self.now(move |desk| desk.ask(turn, &question)).await
    }

    async fn answer_of(self, _: Context, turn: TurnId, id: ApprovalId) -> Reply<State> {
        let answer = self.0.await_answer(LONG_POLL, move |desk, port| desk.answer_of(turn, id, port));
        answer.await.unwrap_or(Ok(State::Pending))
    }

    async fn holder(self, _: Context, caller: Caller) -> Reply<Holder> {
        self.now(move |desk| desk.holder(caller)).await
    }

    async fn api_submit(self, _: Context, caller: Caller, submission: Submission) -> Reply<Accepted> {
        self.when_recorded(move |desk, port| desk.api_submit(caller, submission, port)).await
    }

    async fn words(self, _: Context, turn: TurnId) -> Reply<List<Word, WORDS>> {
        self.now(move |desk| desk.words(turn)).await
    }

    async fn labels(self, _: Context, turn: TurnId) -> Reply<(Label, Label)> {
        self.now(move |desk| desk.labels(turn)).await
    }

    async fn api_steer(self, _: Context, caller: Caller, steer: Steer) -> Reply<Steering> {
        self.now(move |desk| desk.api_steer(caller, steer)).await
    }

    async fn api_follow(
        self,
        _: Context,
        caller: Caller,
        turn: TurnId,
        from: u64,
        credit: u16,
    ) -> Reply<Followed> {
        let followed = self
            .0
            .await_answer(LONG_POLL, move |desk, port| desk.api_follow(caller, turn, (from, credit), port));
        let nothing = Followed { from, events: List::default(), next: from, over: false };
        followed.await.unwrap_or(Ok(nothing))
    }

    async fn api_waits(self, _: Context, caller: Caller, turn: TurnId) -> Reply<List<Name, 8>> {
        self.now(move |desk| desk.api_waits(caller, turn)).await
    }

    async fn api_events(
        self,
        _: Context,
        caller: Caller,
        after: u64,
        wait_ms: u32,
    ) -> Reply<List<NamedEvent, 256>> {
        // Nobody waits for what they may not see.
        drop(self.clone().now(move |desk| desk.sight(caller)).await?);
        let until = Instant::now() + Duration::from_millis(u64::from(wait_ms)).min(LONG_POLL);
        let mut after = after;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let events = self.clone().events_within(after, left).await;
            let Some(last) = events.last().map(|event| event.number) else { return Ok(events) };
            // Looked up anew: a key that was revoked meanwhile sees nothing of what came since.
            let seen = move |desk: &mut Desk| desk.sight(caller).map(|sight| desk.seen(&sight, events));
            let seen = self.clone().now(seen).await?;
            if !seen.is_empty() {
                return Ok(seen);
            }
            // Others' events only: what comes after them is waited for.
            after = last;
        }
    }

    async fn api_queue(self, _: Context, caller: Caller) -> Reply<QueueInfo> {
        self.now(move |desk| desk.api_queue(caller)).await
    }

    async fn create_key(
        self,
        _: Context,
        user: UserId,
        by: Name,
        name: Name,
        scope: KeyScope,
        presented: Presented,
    ) -> Reply<KeyInfo> {
        let wanted = Wanted { user, by, name, scope, presented };
        self.when_recorded(move |desk, port| desk.create_key(wanted, port)).await
    }

    async fn keys(self, _: Context, user: Option<UserId>) -> Reply<List<KeyInfo, KEYS>> {
        self.now(move |desk| Ok(desk.list_keys(user))).await
    }

    async fn revoke_key(self, _: Context, user: Option<UserId>, by: Name, name: Name) -> Reply<()> {
        self.when_recorded(move |desk, port| desk.revoke_key(user, &by, &name, port)).await
    }

    async fn approvals(self, _: Context, user: Option<UserId>, all: bool) -> Reply<List<ApprovalInfo, 256>> {
        self.now(move |desk| desk.approvals(user, all)).await
    }

    async fn approval(self, _: Context, user: Option<UserId>, id: ApprovalId) -> Reply<ApprovalView> {
        self.now(move |desk| desk.approval(user, id)).await
    }

    async fn answer(
        self,
        _: Context,
        user: Option<UserId>,
        by: Name,
        id: ApprovalId,
        hash: [u8; 32],
        reply: approval::Reply,
    ) -> Reply<ApprovalInfo> {
        self.when_recorded(move |desk, port| desk.answer(Given { user, by, id, hash, reply, port })).await
    }

    async fn grants(self, _: Context, user: Option<UserId>) -> Reply<List<Grant, 256>> {
        self.now(move |desk| desk.grants(user)).await
    }

    async fn revoke(self, _: Context, user: Option<UserId>, by: Name, id: ApprovalId) -> Reply<()> {
        self.when_recorded(move |desk, port| desk.revoke(user, &by, id, port)).await
    }

    async fn call(self, _: Context, user: Option<UserId>, id: CallId) -> Reply<Released> {
        self.now(move |desk| desk.call(user, id)).await
    }

    async fn identify(self, _: Context, uid: u32) -> Reply<UserInfo> {
        self.now(move |desk| desk.identify(uid)).await
    }

    async fn attach(self, _: Context, user: UserId, workspace: WorkspaceId) -> Reply<()> {
        self.now(move |desk| desk.attach(user, workspace)).await
    }

    async fn submit(self, _: Context, submission: Submission) -> Reply<Accepted> {
        self.now(move |desk| desk.submit(&submission)).await
    }

    async fn steer(self, _: Context, user: UserId, steer: Steer) -> Reply<Steering> {
        self.now(move |desk| desk.steer(user, &steer)).await
    }

    async fn follow(
        self,
        _: Context,
        user: Option<UserId>,
        turn: TurnId,
        from: u64,
        credit: u16,
    ) -> Reply<Followed> {
        let followed =
            self.0.await_answer(LONG_POLL, move |desk, port| desk.follow(user, turn, from, credit, port));
        let nothing = Followed { from, events: List::default(), next: from, over: false };
        followed.await.unwrap_or(Ok(nothing))
    }

    async fn cancel(self, _: Context, user: Option<UserId>, turn: TurnId) -> Reply<()> {
        self.when_recorded(move |desk, port| desk.cancel(user, turn, port)).await
    }

    async fn typed(self, _: Context, turn: TurnId, from: u64) -> Reply<Input> {
        let typed = self.0.await_answer(LONG_POLL, move |desk, port| desk.typed(turn, from, port));
        typed.await.unwrap_or_else(|| Ok(Input { from, typed: List::default() }))
    }

    async fn engine_state(self, _: Context, turn: TurnId, engine: Name) -> Reply<Option<SavedState>> {
        self.now(move |desk| desk.engine_state(turn, &engine)).await
    }

    async fn keep_engine_state(
        self,
        _: Context,
        turn: TurnId,
        engine: Name,
        token: Token,
        state: Blob<STATE>,
    ) -> Reply<()> {
        self.now(move |desk| desk.keep_engine_state(turn, &engine, token, state)).await
    }

    async fn type_in(
        self,
        _: Context,
        user: Option<UserId>,
        turn: TurnId,
        number: u64,
        typed: Typed,
    ) -> Reply<bool> {
        self.now(move |desk| desk.type_in(user, turn, number, typed)).await
    }

    async fn sessions(self, _: Context, user: Option<UserId>) -> Reply<List<SessionInfo, 256>> {
        self.now(move |desk| desk.sessions(user)).await
    }

    async fn session(self, _: Context, user: Option<UserId>, name: SessionName) -> Reply<SessionView> {
        self.now(move |desk| desk.session(user, &name)).await
    }

    async fn end_session(self, _: Context, user: Option<UserId>, name: SessionName) -> Reply<()> {
        self.when_recorded(move |desk, port| desk.end_session(user, &name, port)).await
    }

    async fn messages(
        self,
        _: Context,
        user: Option<UserId>,
        limit: u16,
        dead: bool,
    ) -> Reply<List<MessageInfo, 256>> {
        self.now(move |desk| desk.messages(user, limit, dead)).await
    }

    async fn message(self, _: Context, user: Option<UserId>, id: MessageId) -> Reply<MessageView> {
        self.now(move |desk| desk.message(user, id)).await
    }

    async fn recall(self, _: Context, user: Option<UserId>, id: MessageId) -> Reply<Text<TEXT_BOUND>> {
        self.when_recorded(move |desk, port| desk.recall(user, id, port)).await
    }

    async fn requeue(
        self,
        _: Context,
        user: Option<UserId>,
        by: Name,
        id: MessageId,
        text: Option<Text<TEXT_BOUND>>,
    ) -> Reply<Accepted> {
        let again = Again { user, by, id, text, key: None };
        self.when_recorded(move |desk, port| desk.requeue(again, port)).await
    }

    async fn pause(
        self,
        _: Context,
        user: Option<UserId>,
        by: Name,
        session: Option<SessionName>,
        paused: bool,
    ) -> Reply<()> {
        self.when_recorded(move |desk, port| desk.pause(user, &by, session, paused, port)).await
    }

    async fn stop(
        self,
        _: Context,
        user: Option<UserId>,
        by: Name,
        session: Option<SessionName>,
        again: bool,
    ) -> Reply<Stopped> {
        self.when_recorded(move |desk, port| desk.stop((user, &by), session, again, port)).await
    }

    async fn queue(self, _: Context, user: Option<UserId>) -> Reply<QueueInfo> {
        self.now(move |desk| desk.queue(user)).await
    }

    async fn trace(self, _: Context, user: Option<UserId>, message: MessageId) -> Reply<List<Passed, 128>> {
        self.now(move |desk| desk.trace(user, message)).await
    }

    async fn users(self, _: Context) -> Reply<List<UserInfo, 256>> {
        self.now(|desk| Ok(desk.users())).await
    }

    async fn add_user(
        self,
        _: Context,
        name: Name,
        role: UserRole,
        uids: List<u32, 16>,
        identities: List<Text<256>, 16>,
    ) -> Reply<UserInfo> {
        let person = Person { id: UserId::random(), name, role, uids, identities, origin: Origin::Added };
        self.when_recorded(move |desk, port| desk.add_user(person, port)).await
    }

    async fn remove_user(self, _: Context, name: Name) -> Reply<()> {
        self.when_recorded(move |desk, port| desk.remove_user(&name, port)).await
    }

    async fn agents(self, _: Context) -> List<AgentInfo, 64> {
        self.0.ask(PATIENCE, |desk| desk.agents()).await.unwrap_or_default()
    }

    async fn workspaces(self, _: Context, user: Option<UserId>) -> Reply<List<WorkspaceInfo, 256>> {
        self.now(move |desk| desk.workspaces(user)).await
    }

    async fn remove_workspace(self, _: Context, user: Option<UserId>, id: WorkspaceId) -> Reply<()> {
        self.when_recorded(move |desk, port| desk.remove_workspace(user, id, port)).await
    }

    async fn events(self, _: Context, after: u64, wait_ms: u32) -> List<NamedEvent, 256> {
        self.events_within(after, Duration::from_millis(u64::from(wait_ms)).min(LONG_POLL)).await
    }
}
