//! The serving end of the interface: each method becomes a message to the actor, and its answer is returned. It decides nothing; the table
//! says which process may call which method.

mod calls;

use crate::actor::RouterHandle;
use crate::interface::{
    ApiRequest, ApprovalRequest, ChannelsRequest, FireRequest, GateRequest, MessageRequest, PlatformRequest,
    SessionRequest, UserRequest,
};
use crate::state::approvals::Questions;
use crate::state::channels::Claim as Waiting;
use crate::state::requests::{AnswerPort, AnswerRequest, NewFile, NewKey, NewStep, RequeueRequest, UserEdit};
use crate::store::{Origin, Person};
use calls::{LONG_POLL, PATIENCE};
use ipc_proto::api::{Caller, Holder, KEYS, KeyInfo, KeyScope, Presented};
use ipc_proto::approval::{self, ApprovalInfo, ApprovalView, FORM, Grant, Question, State};
use ipc_proto::channel::{
    ACCOUNTS, Admitted, BATCH, Batch, CAPTION, ChannelError, ChannelInfo, ChannelView, Claim, DeliveryId,
    DeliveryInfo, FILE_PIECE, FINDINGS, FilePart, Finding, GroupRule, HOLDING, Inbound, LinkCode, LiveTurn,
    Opened, Outcome, PIECES, PairingInfo, Piece, PieceId, Press, PressAnswer, Report, SENT_BYTES, WorkBatch,
};
use ipc_proto::config::UserRole;
use ipc_proto::content::TEXT_BOUND;
use ipc_proto::engine::{STATE, SavedState, Token};
use ipc_proto::ids::{ApprovalId, CallId, MessageId, TurnId, UserId, WorkspaceId};
use ipc_proto::label::Label;
use ipc_proto::router::{
    Accepted, AgentInfo, Delegation, Finished, Fire, Fired, Followed, Input, MessageInfo, MessageView,
    NamedEvent, Node, Obstacle, Passed, QueueInfo, Released, Router, RouterError, STEERING_MESSAGES,
    SessionInfo, SessionName, SessionView, Steer, Steering, SteeringMessage, Step, Stopped, Submission, TREE,
    Turn, TurnEvent, Typed, UserInfo, WorkspaceInfo,
};
use ipc_proto::{Blob, List, Name, Text};
use manifest::Process;
use std::time::{Duration, Instant};
use tarpc::context::Context;

type Answer<T> = Result<T, RouterError>;
type ChannelAnswer<T> = Result<T, ChannelError>;

/// The serving end of one edge.
#[derive(Clone)]
pub(crate) struct RouterServer {
    pub(crate) handle: RouterHandle,
    /// The calling process.
    pub(crate) caller: Process,
}

/// Methods of persons about channels, each a request of the same arguments.
macro_rules! persons {
    ($($method:ident => $request:ident($($argument:ident: $type:ty),*) -> $answer:ty;)+) => {
        $(
            async fn $method(self, _: Context, $($argument: $type),*) -> ChannelAnswer<$answer> {
                self.about_channels(|reply| ChannelsRequest::$request { $($argument,)* reply }).await
            }
        )+
    };
}

/// Methods of a platform's process, each a request of the same arguments about one of its accounts.
macro_rules! platforms {
    ($($method:ident => $request:ident($($argument:ident: $type:ty),*) -> $answer:ty;)+) => {
        $(
            async fn $method(self, _: Context, account: Name, $($argument: $type),*) -> ChannelAnswer<$answer> {
                self.platform(account, |reply| PlatformRequest::$request { $($argument,)* reply }).await
            }
        )+
    };
}

impl Router for RouterServer {
    async fn take(self, _: Context, turn: TurnId, budget: u32) -> Answer<Turn> {
        self.request(|reply| GateRequest::Take { turn, budget, reply }).await
    }

    async fn step(
        self,
        _: Context,
        turn: TurnId,
        number: u32,
        step: Step,
        session: Label,
        workspace: Label,
    ) -> Answer<()> {
        let new = Box::new(NewStep { number, step, session, workspace });
        self.request(|reply| GateRequest::Step { turn, new, reply }).await
    }

    async fn emit(
        self,
        _: Context,
        turn: TurnId,
        from: u64,
        events: List<TurnEvent, 64>,
        waits: List<Name, 4>,
    ) -> Answer<u64> {
        self.request(|reply| GateRequest::Emit { turn, from, events, blocked_on: waits, reply }).await
    }

    async fn finish(self, _: Context, turn: TurnId, finished: Finished) -> Answer<()> {
        let finished = Box::new(finished);
        self.request(|reply| GateRequest::Finish { turn, finished, reply }).await
    }

    async fn postpone(
        self,
        _: Context,
        turn: TurnId,
        obstacle: Obstacle,
        why: Text<512>,
        again_s: u32,
    ) -> Answer<bool> {
        self.request(|reply| GateRequest::Postpone { turn, obstacle, why, again_s, reply }).await
    }

    async fn check_fire(self, _: Context, fire: Fire) -> Answer<()> {
        self.request(|reply| FireRequest::Check { fire: Box::new(fire), reply }).await
    }

    async fn fire(self, _: Context, fire: Fire) -> Answer<Accepted> {
        self.request(|reply| FireRequest::Fire { fire: Box::new(fire), reply }).await
    }

    async fn fired(self, _: Context, user: UserId, key: Text<256>) -> Answer<Fired> {
        self.request(|reply| FireRequest::State { user, key, reply }).await
    }

    async fn ask(self, _: Context, turn: TurnId, question: Question) -> Answer<()> {
        let question = Box::new(question);
        self.request(|reply| GateRequest::Ask { turn, question, reply }).await
    }

    async fn first_answer(
        self,
        _: Context,
        turn: TurnId,
        ids: Questions,
    ) -> Answer<Option<(ApprovalId, State)>> {
        if ids.is_empty() {
            return Ok(None);
        }
        let answer = self.handle.call(LONG_POLL, |reply| GateRequest::FirstAnswer { turn, ids, reply }).await;
        answer.unwrap_or(Ok(None))
    }

    async fn claim(self, _: Context, turn: TurnId, id: ApprovalId, call: CallId) -> Answer<Text<FORM>> {
        self.request(|reply| GateRequest::Claim { turn, id, call, reply }).await
    }

    async fn holder(self, _: Context, caller: Caller) -> Answer<Holder> {
        self.request(|reply| ApiRequest::Holder { caller, reply }).await
    }

    async fn api_submit(self, _: Context, caller: Caller, submission: Submission) -> Answer<Accepted> {
        let submission = Box::new(submission);
        self.request(|reply| ApiRequest::Submit { caller, submission, reply }).await
    }

    async fn steering(self, _: Context, turn: TurnId) -> Answer<List<SteeringMessage, STEERING_MESSAGES>> {
        self.request(|reply| GateRequest::SteeringMessages { turn, reply }).await
    }

    async fn labels(self, _: Context, turn: TurnId) -> Answer<(Label, Label)> {
        self.request(|reply| GateRequest::Labels { turn, reply }).await
    }

    async fn inbox(self, _: Context, turn: TurnId, number: u8, from: u64) -> Answer<Blob<FILE_PIECE>> {
        self.request(|reply| GateRequest::Inbox { turn, number, from, reply }).await
    }

    async fn send_file(
        self,
        _: Context,
        turn: TurnId,
        call: CallId,
        name: Text<255>,
        caption: Text<CAPTION>,
        bytes: Blob<SENT_BYTES>,
    ) -> Answer<()> {
        let file = Box::new(NewFile { call, name, caption, bytes });
        self.request(|reply| GateRequest::SendFile { turn, file, reply }).await
    }

    async fn api_steer(self, _: Context, caller: Caller, steer: Steer) -> Answer<Steering> {
        let steer = Box::new(steer);
        self.request(|reply| ApiRequest::Steer { caller, steer, reply }).await
    }

    async fn api_follow(
        self,
        _: Context,
        caller: Caller,
        turn: TurnId,
        from: u64,
        credit: u16,
    ) -> Answer<Followed> {
        self.followed(from, |reply| ApiRequest::Follow { caller, turn, from, credit, reply }).await
    }

    async fn api_waits(self, _: Context, caller: Caller, turn: TurnId) -> Answer<List<Name, 8>> {
        self.request(|reply| ApiRequest::BlockedOn { caller, turn, reply }).await
    }

    async fn api_events(
        self,
        _: Context,
        caller: Caller,
        after: u64,
        wait_ms: u32,
    ) -> Answer<List<NamedEvent, 256>> {
        // A client without rights does not wait.
        self.visible(caller, List::default()).await?;
        let until = Instant::now() + Duration::from_millis(u64::from(wait_ms)).min(LONG_POLL);
        let mut after = after;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let events = self.events_within(after, left).await;
            let Some(last) = events.last().map(|event| event.number) else { return Ok(events) };
            // Looked up anew: a key that was revoked meanwhile sees nothing of what came since.
            let seen = self.visible(caller, events).await?;
            if !seen.is_empty() {
                return Ok(seen);
            }
            // Others' events only: what comes after them is waited for.
            after = last;
        }
    }

    async fn api_queue(self, _: Context, caller: Caller) -> Answer<QueueInfo> {
        self.request(|reply| ApiRequest::Queue { caller, reply }).await
    }

    async fn create_key(
        self,
        _: Context,
        user: UserId,
        by: Name,
        name: Name,
        scope: KeyScope,
        presented: Presented,
    ) -> Answer<KeyInfo> {
        let key = Box::new(NewKey { user, by, name, scope, presented });
        self.request(|reply| UserRequest::CreateKey { key, reply }).await
    }

    async fn keys(self, _: Context, user: Option<UserId>) -> Answer<List<KeyInfo, KEYS>> {
        self.value(|reply| UserRequest::Keys { user, reply }).await
    }

    async fn revoke_key(self, _: Context, user: Option<UserId>, by: Name, name: Name) -> Answer<()> {
        self.request(|reply| UserRequest::RevokeKey { user, by, name, reply }).await
    }

    async fn approvals(self, _: Context, user: Option<UserId>, all: bool) -> Answer<List<ApprovalInfo, 256>> {
        self.request(|reply| ApprovalRequest::List { user, all, reply }).await
    }

    async fn approval(self, _: Context, user: Option<UserId>, id: ApprovalId) -> Answer<ApprovalView> {
        self.request(|reply| ApprovalRequest::Show { user, id, reply }).await
    }

    async fn answer(
        self,
        _: Context,
        user: Option<UserId>,
        by: Name,
        id: ApprovalId,
        hash: [u8; 32],
        (reply, form): (approval::Reply, Text<FORM>),
    ) -> Answer<ApprovalInfo> {
        self.request(|port| {
            ApprovalRequest::Answer(Box::new(AnswerRequest {
                user,
                by,
                id,
                hash,
                reply,
                form,
                port: AnswerPort::Person(port),
            }))
        })
        .await
    }

    async fn grants(self, _: Context, user: Option<UserId>) -> Answer<List<Grant, 256>> {
        self.request(|reply| ApprovalRequest::Grants { user, reply }).await
    }

    async fn revoke(self, _: Context, user: Option<UserId>, by: Name, id: ApprovalId) -> Answer<()> {
        self.request(|reply| ApprovalRequest::RevokeGrant { user, by, id, reply }).await
    }

    async fn call(self, _: Context, user: Option<UserId>, id: CallId) -> Answer<Released> {
        self.request(|reply| ApprovalRequest::Call { user, id, reply }).await
    }

    async fn identify(self, _: Context, uid: u32) -> Answer<UserInfo> {
        self.request(|reply| UserRequest::Identify { uid, reply }).await
    }

    async fn attach(self, _: Context, user: UserId, workspace: WorkspaceId) -> Answer<()> {
        self.request(|reply| SessionRequest::Attach { user, workspace, reply }).await
    }

    async fn submit(self, _: Context, submission: Submission) -> Answer<Accepted> {
        let submission = Box::new(submission);
        self.request(|reply| MessageRequest::Submit { submission, reply }).await
    }

    async fn steer(self, _: Context, user: UserId, steer: Steer) -> Answer<Steering> {
        let steer = Box::new(steer);
        self.request(|reply| MessageRequest::Steer { user, steer, reply }).await
    }

    async fn follow(
        self,
        _: Context,
        user: Option<UserId>,
        turn: TurnId,
        from: u64,
        credit: u16,
    ) -> Answer<Followed> {
        self.followed(from, |reply| MessageRequest::Follow { user, turn, from, credit, reply }).await
    }

    async fn tree(self, _: Context, user: Option<UserId>, turn: TurnId) -> Answer<List<Node, TREE>> {
        self.request(|reply| MessageRequest::Tree { user, turn, reply }).await
    }

    async fn delegate(
        self,
        _: Context,
        turn: TurnId,
        call: CallId,
        delegation: Box<Delegation>,
    ) -> Answer<TurnId> {
        self.request(|reply| GateRequest::Delegate { turn, call, delegation, reply }).await
    }

    async fn cancel(self, _: Context, user: Option<UserId>, turn: TurnId) -> Answer<()> {
        self.request(|reply| MessageRequest::Cancel { user, turn, reply }).await
    }

    async fn typed(self, _: Context, turn: TurnId, from: u64) -> Answer<Input> {
        let input = self.handle.call(LONG_POLL, |reply| GateRequest::FetchInput { turn, from, reply }).await;
        input.unwrap_or_else(|| Ok(Input { from, typed: List::default() }))
    }

    async fn engine_state(self, _: Context, turn: TurnId, engine: Name) -> Answer<Option<SavedState>> {
        self.request(|reply| GateRequest::EngineState { turn, engine, reply }).await
    }

    async fn keep_engine_state(
        self,
        _: Context,
        turn: TurnId,
        engine: Name,
        token: Token,
        state: Blob<STATE>,
    ) -> Answer<()> {
        self.request(|reply| GateRequest::StoreEngineState { turn, engine, token, state, reply }).await
    }

    async fn type_in(
        self,
        _: Context,
        user: Option<UserId>,
        turn: TurnId,
        number: u64,
        typed: Typed,
    ) -> Answer<bool> {
        self.request(|reply| MessageRequest::SendInput { user, turn, number, piece: typed, reply }).await
    }

    async fn sessions(self, _: Context, user: Option<UserId>) -> Answer<List<SessionInfo, 256>> {
        self.request(|reply| SessionRequest::List { user, reply }).await
    }

    async fn session(self, _: Context, user: Option<UserId>, name: SessionName) -> Answer<SessionView> {
        self.request(|reply| SessionRequest::Show { user, name, reply }).await
    }

    async fn end_session(self, _: Context, user: Option<UserId>, name: SessionName) -> Answer<()> {
        self.request(|reply| SessionRequest::End { user, name, reply }).await
    }

    async fn messages(
        self,
        _: Context,
        user: Option<UserId>,
        limit: u16,
        dead: bool,
    ) -> Answer<List<MessageInfo, 256>> {
        self.request(|reply| MessageRequest::List { user, limit, dead, reply }).await
    }

    async fn message(self, _: Context, user: Option<UserId>, id: MessageId) -> Answer<MessageView> {
        self.request(|reply| MessageRequest::Show { user, id, reply }).await
    }

    async fn recall(self, _: Context, user: Option<UserId>, id: MessageId) -> Answer<Text<TEXT_BOUND>> {
        self.request(|reply| MessageRequest::Recall { user, id, reply }).await
    }

    async fn requeue(
        self,
        _: Context,
        user: Option<UserId>,
        by: Name,
        id: MessageId,
        text: Option<Text<TEXT_BOUND>>,
    ) -> Answer<Accepted> {
        let request = Box::new(RequeueRequest { user, by, id, text, key: None });
        self.request(|reply| MessageRequest::Requeue { request, reply }).await
    }

    async fn pause(
        self,
        _: Context,
        user: Option<UserId>,
        by: Name,
        session: Option<SessionName>,
        paused: bool,
    ) -> Answer<()> {
        self.request(|reply| MessageRequest::Pause { user, by, session, paused, reply }).await
    }

    async fn stop(
        self,
        _: Context,
        user: Option<UserId>,
        by: Name,
        session: Option<SessionName>,
        again: bool,
    ) -> Answer<Stopped> {
        self.request(|reply| MessageRequest::Stop { user, by, session, again, reply }).await
    }

    async fn queue(self, _: Context, user: Option<UserId>) -> Answer<QueueInfo> {
        self.request(|reply| MessageRequest::Queue { user, reply }).await
    }

    async fn trace(self, _: Context, user: Option<UserId>, message: MessageId) -> Answer<List<Passed, 128>> {
        self.request(|reply| MessageRequest::Trace { user, id: message, reply }).await
    }

    async fn users(self, _: Context) -> Answer<List<UserInfo, 256>> {
        self.value(|reply| UserRequest::List { reply }).await
    }

    async fn add_user(
        self,
        _: Context,
        name: Name,
        role: UserRole,
        uids: List<u32, 16>,
        identities: List<Text<256>, 16>,
    ) -> Answer<UserInfo> {
        let id = UserId::random();
        let person = Box::new(Person { id, name, role, uids, identities, origin: Origin::Added });
        self.request(|reply| UserRequest::Add { person, reply }).await
    }

    async fn edit_user(
        self,
        _: Context,
        name: Name,
        role: Option<UserRole>,
        uids: Option<List<u32, 16>>,
    ) -> Answer<UserInfo> {
        let edit = Box::new(UserEdit { name, role, uids });
        self.request(|reply| UserRequest::Edit { edit, reply }).await
    }

    async fn remove_user(self, _: Context, name: Name) -> Answer<()> {
        self.request(|reply| UserRequest::Remove { name, reply }).await
    }

    async fn agents(self, _: Context) -> List<AgentInfo, 64> {
        self.handle.call(PATIENCE, |reply| SessionRequest::Agents { reply }).await.unwrap_or_default()
    }

    async fn workspaces(self, _: Context, user: Option<UserId>) -> Answer<List<WorkspaceInfo, 256>> {
        self.request(|reply| SessionRequest::Workspaces { user, reply }).await
    }

    async fn remove_workspace(self, _: Context, user: Option<UserId>, id: WorkspaceId) -> Answer<()> {
        self.request(|reply| SessionRequest::RemoveWorkspace { user, id, reply }).await
    }

    async fn events(self, _: Context, after: u64, wait_ms: u32) -> List<NamedEvent, 256> {
        self.events_within(after, Duration::from_millis(u64::from(wait_ms)).min(LONG_POLL)).await
    }

    async fn channels(self, _: Context) -> Answer<List<ChannelInfo, ACCOUNTS>> {
        let channels = self.about_channels(|reply| ChannelsRequest::List { reply }).await;
        channels.map_err(|_| RouterError::NotDurable)
    }

    persons! {
        channel => Show(name: Name) -> ChannelView;
        pause_channel => Pause(by: Name, name: Name, paused: bool) -> ();
        set_group => Group(by: Name, channel: Name, group: Text<128>, rule: Option<GroupRule>) -> ();
        pairings => Pairings() -> List<PairingInfo, 256>;
        approve_pairing => Approve(by: Name, code: Name, user: Name, role: UserRole) -> UserInfo;
        refuse_pairing => Refuse(by: Name, code: Name) -> ();
        create_link => CreateLink(by: Name, user: Name) -> LinkCode;
        link_user => Link(by: Name, user: Name, identity: Text<256>) -> UserInfo;
        unlink_user => Unlink(by: Name, user: Name, identity: Text<256>) -> UserInfo;
        test_channel => Test(by: Name, name: Name, to: Text<128>) -> DeliveryId;
        deliveries => Deliveries(
            user: Option<UserId>, message: Option<MessageId>, unknown: bool
        ) -> List<DeliveryInfo, 256>;
        resend => Resend(user: Option<UserId>, by: Name, message: MessageId) -> u32;
    }

    platforms! {
        channel_open => Open() -> Opened;
        channel_accept => Accept(batch: Batch) -> List<Admitted, BATCH>;
        channel_wants => Wants(messages: List<Inbound, BATCH>) -> List<bool, BATCH>;
        channel_file => File(part: FilePart) -> Option<[u8; 32]>;
        channel_plan => Plan(delivery: DeliveryId, pieces: List<Piece, PIECES>) -> ();
        channel_take => Take(life: u64, piece: PieceId, preview: Option<Text<128>>) -> Claim;
        channel_done => Done(piece: PieceId, outcome: Outcome) -> ();
        channel_turns => Turns() -> List<LiveTurn, 64>;
        channel_may_show => MayPreview(turn: TurnId) -> bool;
        channel_preview => Preview(turn: TurnId, id: Text<128>) -> ();
        channel_invited => Invited(sender: Text<128>) -> bool;
        channel_press => Press(press: Press) -> PressAnswer;
        channel_report => Report(report: Report) -> ();
        channel_checked => Checked(check: u64, findings: List<Finding, FINDINGS>) -> ();
    }

    async fn check_channel(self, _: Context, name: Name) -> ChannelAnswer<List<Finding, FINDINGS>> {
        let request = |reply| ChannelsRequest::Check { name, reply };
        self.handle.call(LONG_POLL, request).await.unwrap_or(Err(ChannelError::NoAnswer))
    }

    async fn channel_claim(
        self,
        _: Context,
        account: Name,
        life: u64,
        holding: List<PieceId, HOLDING>,
    ) -> ChannelAnswer<WorkBatch> {
        let caller = self.caller;
        let request = |port| {
            let request =
                PlatformRequest::Claim { claim: Waiting { life, holding: holding.into_vec(), port } };
            ChannelsRequest::Platform { caller, account, request }
        };
        self.handle.call(LONG_POLL, request).await.unwrap_or_else(|| Ok(WorkBatch::default()))
    }

    async fn channel_follow(
        self,
        _: Context,
        account: Name,
        turn: TurnId,
        from: u64,
        credit: u16,
    ) -> ChannelAnswer<Followed> {
        let caller = self.caller;
        let request = |reply| {
            let request = PlatformRequest::Follow { turn, from, credit, reply };
            ChannelsRequest::Platform { caller, account, request }
        };
        self.followed(from, request).await.map_err(|refusal| match refusal {
            RouterError::NotDurable => ChannelError::NotDurable,
            _ => ChannelError::NoTurn,
        })
    }
}
