//! Router stores users, sessions, inbox, transcript and outbox. It accepts a message by making it durable, and
//! it asks agentd for the runner that answers it. It holds no model, no tool and no secret.

mod delegation;
mod error;
mod fire;
mod submission;
mod task;
mod turn;
mod user_name;
mod view;

use crate::api::{Caller, Holder, KEYS, KeyInfo, KeyScope, Presented};
use crate::approval::{self, ApprovalInfo, ApprovalView, FORM, Grant, PENDING_PER_SESSION, Question};
use crate::channel::{
    ACCOUNTS, Admitted, BATCH, Batch, CAPTION, ChannelError, ChannelInfo, ChannelView, Claim, DeliveryId,
    DeliveryInfo, FILE_PIECE, FINDINGS, FilePart, Finding, GroupRule, HOLDING, Inbound, LinkCode, LiveTurn,
    Opened, Outcome, PIECES, PairingInfo, Piece, PieceId, Press, PressAnswer, Report, SENT_BYTES, WorkBatch,
};
use crate::content::TEXT_BOUND;
pub use crate::engine::Profile;
use crate::engine::{STATE, SavedState, Token};
pub use crate::ids::SessionName;
use crate::ids::{ApprovalId, CallId, MessageId, TurnId, UserId, WorkspaceId};
use crate::label::Label;
use crate::role::UserRole;
use crate::service::service;
use crate::{Blob, List, Name, Text};
pub use delegation::{
    ALIVE, ALL_TOOLS, CHILDREN, DEPTH, Delegation, Node, PLACES, SECONDS, TASK, TREE, Terms,
};
pub use error::RouterError;
pub use fire::{Fire, FireEnd, Fired, Target, Unattended};
pub use submission::{
    Accepted, STEERING_BOUND, STEERING_MESSAGES, Steer, Steering, SteeringMessage, Submission,
};
pub use task::{FILE_BOUND, Input, OUTPUT_CHUNK, Run, Size, TYPED_CHUNK, Task, Terminal, Typed};
pub use turn::{
    CallVerdict, End, Finished, Labelled, Limit, MESSAGE_TEXT, Obstacle, PayingKey, Released, Step, Turn,
    TurnEvent, Why,
};
pub use user_name::{USER_NAME, is_user_name};
pub use view::{
    AgentInfo, CallInfo, Effect, EventName, Followed, MessageInfo, MessageState, MessageView, NamedEvent,
    Passed, QueueInfo, SessionInfo, SessionView, Stopped, UserInfo, WorkspaceInfo,
};

service! {
    /// Sessions, messages and turns.
    pub trait Router {
        // The gate's.
        /// Returns the turn that this runner was launched for. History is cut to `budget` bytes of text.
        [idempotent, 12288, 15]
        async fn take(turn: TurnId, budget: u32) -> Result<Turn, RouterError>;
        /// Stores step `number` (from 0) of a turn, and the session's and the workspace's label, in one
        /// commit. A repeated number is one step.
        [idempotent, 4096, 15]
        async fn step(turn: TurnId, number: u32, step: Step, session: Label, workspace: Label) -> Result<(), RouterError>;
        /// Appends events to the turn's ring, the first with number `from`; returns the number that the ring needs next,
        /// so that a sender can repeat events after router restarted. The gate numbers its events of each attempt from 0;
        /// `Started` and `Done` are router's own. Events that the ring has are skipped. After a gap none is appended,
        /// unless the same call comes again: then no older event exists. A call without events only asks for the number.
        /// The answer may be held back for 5 s while a follower is behind. `waits` names the causes that the turn waits
        /// for meanwhile.
        [idempotent, 2560, 10]
        async fn emit(turn: TurnId, from: u64, events: List<TurnEvent, 64>, waits: List<Name, 4>)
            -> Result<u64, RouterError>;
        /// Ends a turn; durable before any follower is notified.
        [idempotent, 2560, 15]
        async fn finish(turn: TurnId, finished: Finished) -> Result<(), RouterError>;
        /// Has a turn wait in the queue, once its runner has ended, for an obstacle that its message is not to blame for. It is
        /// tried again by itself, after `again_s` seconds at the latest (0 if nobody knows). Returns false for a client of the API
        /// that is to be refused at once: it waits for processes alone.
        [idempotent, 4, 15]
        async fn postpone(turn: TurnId, obstacle: Obstacle, why: Text<512>, again_s: u32) -> Result<bool, RouterError>;

        /// Stores a question to a person; durable when this returns. A repeated id is one question.
        [idempotent, 640, 15]
        async fn ask(turn: TurnId, question: Question) -> Result<(), RouterError>;
        /// The first of these questions of the turn that is settled, and its state; waits up to 20 s while all are pending, and
        /// then returns nothing. The gate asks once for all questions of a turn, so that no more of these calls wait than
        /// there are turns.
        [idempotent + wait, 4, 30]
        async fn first_answer(turn: TurnId, ids: List<ApprovalId, PENDING_PER_SESSION>)
            -> Result<Option<(ApprovalId, approval::State)>, RouterError>;

        /// Input of the person for the program of this turn from number `from` on; waits up to 20 s for the first.
        /// Earlier input is dropped.
        [idempotent + wait, 1100, 30]
        async fn typed(turn: TurnId, from: u64) -> Result<Input, RouterError>;
        /// The stored state of this engine for the turn's session.
        [idempotent, 1100, 15]
        async fn engine_state(turn: TurnId, engine: Name) -> Result<Option<SavedState>, RouterError>;
        /// Stores the engine's state after this turn, in place of any earlier state.
        [idempotent, 1100, 15]
        async fn keep_engine_state(turn: TurnId, engine: Name, token: Token, state: Blob<STATE>)
            -> Result<(), RouterError>;

        /// Messages that were sent into this turn and are not read yet, in order.
        [idempotent, 640, 10]
        async fn steering(turn: TurnId) -> Result<List<SteeringMessage, STEERING_MESSAGES>, RouterError>;
        /// A piece of file `number` of a turn's message, from this byte on; empty at its end.
        [idempotent, 272, 15]
        async fn inbox(turn: TurnId, number: u8, from: u64) -> Result<Blob<FILE_PIECE>, RouterError>;
        /// Puts a file for the conversation that a turn answers into the outbox; durable when this returns. A repeated call is
        /// one file.
        [idempotent, 2304, 15]
        async fn send_file(turn: TurnId, call: CallId, name: Text<255>, caption: Text<CAPTION>, bytes: Blob<SENT_BYTES>)
            -> Result<(), RouterError>;
        /// Uses up a person's approval of an act of a turn that is no step of its transcript, once. Returns the values of the form
        /// that the person filled in, a JSON object; empty without one.
        [idempotent, 20, 15]
        async fn claim(turn: TurnId, id: ApprovalId, call: CallId) -> Result<Text<FORM>, RouterError>;
        /// The current labels of a turn's session and of its workspace.
        [idempotent, 16, 10]
        async fn labels(turn: TurnId) -> Result<(Label, Label), RouterError>;

        /// Accepts the task that this call of a turn hands to an agent, as a message of a fresh session of the same user; durable when
        /// this returns. A repeated call is one task. Its turn is cancelled when the one above it ends.
        [idempotent, 4, 15]
        async fn delegate(turn: TurnId, call: CallId, delegation: Box<Delegation>) -> Result<TurnId, RouterError>;

        // Scheduler's: `fire.user` must be a user who may have jobs, and the session one of theirs.
        /// Fails as `fire` would now. Nothing of it is stored.
        [idempotent, 64, 15]
        async fn check_fire(fire: Fire) -> Result<(), RouterError>;
        /// Accepts the message of a job on the channel `schedule`; durable when this returns. The same key twice is one message.
        [idempotent, 64, 15]
        async fn fire(fire: Fire) -> Result<Accepted, RouterError>;
        /// The state of a message of a job.
        [idempotent, 4, 10]
        async fn fired(user: UserId, key: Text<256>) -> Result<Fired, RouterError>;

        // Gateway's: a client's permissions follow from the key or uid that it presented, never from gateway's word.
        /// Finds the holder of the presented key or uid. Gate calls it as well.
        [idempotent, 32, 10]
        async fn holder(caller: Caller) -> Result<Holder, RouterError>;
        /// Accepts a message of a client of the API. User, channel and workspace are filled in here, whatever the submission
        /// says; its session is one of this client's own, named `api:NAME:` and what the submission calls it; its agent,
        /// `default` if it names none, must be one of the key's.
        [idempotent, 8192, 15]
        async fn api_submit(caller: Caller, submission: Submission) -> Result<Accepted, RouterError>;
        /// Accepts a message of a client into a turn that is under way in one of its own sessions.
        [idempotent, 64, 15]
        async fn api_steer(caller: Caller, steer: Steer) -> Result<Steering, RouterError>;
        /// Events of a turn of this client, as `follow` gives them.
        [idempotent + wait, 2560, 30]
        async fn api_follow(caller: Caller, turn: TurnId, from: u64, credit: u16) -> Result<Followed, RouterError>;
        /// Names the causes that a turn of this client waits for now: processes that an answer needs, and room on the
        /// disk.
        [idempotent, 4, 10]
        async fn api_waits(caller: Caller, turn: TurnId) -> Result<List<Name, 8>, RouterError>;
        /// Named events after `after` of this client's own sessions; of the whole host for an owner who is known by uid.
        [idempotent + wait, 256, 30]
        async fn api_events(caller: Caller, after: u64, wait_ms: u32) -> Result<List<NamedEvent, 256>, RouterError>;
        /// The queue in numbers, for `/metrics`: the whole host's for the owner's keys, and no names with them.
        [idempotent, 16, 10]
        async fn api_queue(caller: Caller) -> Result<QueueInfo, RouterError>;

        // Control's.
        /// Stores a key, by the hash of the secret that its client will present.
        [idempotent, 32, 15]
        async fn create_key(user: UserId, by: Name, name: Name, scope: KeyScope, presented: Presented)
            -> Result<KeyInfo, RouterError>;
        /// Keys, newest first, revoked ones included; of one user or of all.
        [idempotent, 2048, 10]
        async fn keys(user: Option<UserId>) -> Result<List<KeyInfo, KEYS>, RouterError>;
        /// Revokes a key.
        [idempotent, 4, 15]
        async fn revoke_key(user: Option<UserId>, by: Name, name: Name) -> Result<(), RouterError>;
        /// Approvals that wait, oldest first; with `all` also the last 256 that were answered.
        [idempotent, 512, 10]
        async fn approvals(user: Option<UserId>, all: bool) -> Result<List<ApprovalInfo, 256>, RouterError>;
        /// One approval in full.
        [idempotent, 640, 10]
        async fn approval(user: Option<UserId>, id: ApprovalId) -> Result<ApprovalView, RouterError>;
        /// Answers the action with this hash for a person; one answer wins. `by` answers, and only for
        /// sessions of `user`; the owner answers for all (`None`). With the reply come the values of a form, a JSON object;
        /// empty without one.
        [idempotent, 20, 15]
        async fn answer(
            user: Option<UserId>, by: Name, id: ApprovalId, hash: [u8; 32], reply: (approval::Reply, Text<FORM>),
        ) -> Result<ApprovalInfo, RouterError>;
        /// Grants that hold.
        [idempotent, 128, 10]
        async fn grants(user: Option<UserId>) -> Result<List<Grant, 256>, RouterError>;
        /// Revokes a grant.
        [idempotent, 4, 10]
        async fn revoke(user: Option<UserId>, by: Name, id: ApprovalId) -> Result<(), RouterError>;
        /// A call that was decided on, with the grounds of the decision.
        [idempotent, 640, 10]
        async fn call(user: Option<UserId>, id: CallId) -> Result<Released, RouterError>;
        /// The user with this uid.
        [idempotent, 16, 10]
        async fn identify(uid: u32) -> Result<UserInfo, RouterError>;
        /// Permits a user to work in a directory that they attached, under the id that agentd gave it. Valid until router
        /// restarts.
        [idempotent, 4, 15]
        async fn attach(user: UserId, workspace: WorkspaceId) -> Result<(), RouterError>;
        /// Accepts a message: durable when this returns.
        [idempotent, 8192, 15]
        async fn submit(submission: Submission) -> Result<Accepted, RouterError>;
        /// Accepts a message of this user into a turn that is under way in one of their sessions: durable when this
        /// returns.
        [idempotent, 64, 15]
        async fn steer(user: UserId, steer: Steer) -> Result<Steering, RouterError>;
        /// Events of a turn from number `from` on, at most `credit`; waits up to 20 s for the first.
        /// `user` must be the owner of the turn; the owner may follow any (`None`).
        [idempotent + wait, 2560, 30]
        async fn follow(user: Option<UserId>, turn: TurnId, from: u64, credit: u16) -> Result<Followed, RouterError>;
        /// A turn and those that work on its tasks, each before those below it.
        [idempotent, 128, 10]
        async fn tree(user: Option<UserId>, turn: TurnId) -> Result<List<Node, TREE>, RouterError>;
        /// Cancels a turn.
        [idempotent, 4, 10]
        async fn cancel(user: Option<UserId>, turn: TurnId) -> Result<(), RouterError>;
        /// Sends input to the program of a turn; `number` counts the inputs from 0, and a repeated number is one input.
        /// Returns false if too much input waits; the caller then sends it again later.
        [idempotent, 32, 10]
        async fn type_in(user: Option<UserId>, turn: TurnId, number: u64, typed: Typed) -> Result<bool, RouterError>;
        /// Sessions, last used first; of one user or of all.
        [idempotent, 1024, 10]
        async fn sessions(user: Option<UserId>) -> Result<List<SessionInfo, 256>, RouterError>;
        /// One session with its transcript.
        [idempotent, 12288, 10]
        async fn session(user: Option<UserId>, name: SessionName) -> Result<SessionView, RouterError>;
        /// Ends a session.
        [idempotent, 4, 10]
        async fn end_session(user: Option<UserId>, name: SessionName) -> Result<(), RouterError>;
        /// Messages, newest first; with `dead` only those that failed or are quarantined.
        [idempotent, 512, 10]
        async fn messages(user: Option<UserId>, limit: u16, dead: bool) -> Result<List<MessageInfo, 256>, RouterError>;
        /// One message in full.
        [idempotent, 2560, 10]
        async fn message(user: Option<UserId>, id: MessageId) -> Result<MessageView, RouterError>;
        /// Takes back a message that has not begun; returns its text. A repeated call is one.
        [idempotent, 512, 10]
        async fn recall(user: Option<UserId>, id: MessageId) -> Result<Text<TEXT_BOUND>, RouterError>;
        /// Puts a failed message into the queue again, with another text if there is one, as a new message at the end
        /// of its session's lane. A repeated call is one message.
        [idempotent, 512, 15]
        async fn requeue(user: Option<UserId>, by: Name, id: MessageId, text: Option<Text<TEXT_BOUND>>)
            -> Result<Accepted, RouterError>;
        /// Pauses the queue of this session, or of all: turns that have begun go on. Or resumes it.
        [idempotent, 4, 10]
        async fn pause(user: Option<UserId>, by: Name, session: Option<SessionName>, paused: bool) -> Result<(), RouterError>;
        /// Ends every turn of a session, or of all, and the messages that wait behind it. With `again`, after a call
        /// without an answer, the numbers are those of both calls.
        [idempotent, 4, 10]
        async fn stop(user: Option<UserId>, by: Name, session: Option<SessionName>, again: bool)
            -> Result<Stopped, RouterError>;
        /// The queue in numbers.
        [idempotent, 16, 10]
        async fn queue(user: Option<UserId>) -> Result<QueueInfo, RouterError>;
        /// Every state of a message so far.
        [idempotent, 64, 10]
        async fn trace(user: Option<UserId>, message: MessageId) -> Result<List<Passed, 128>, RouterError>;
        /// All users.
        [idempotent, 2048, 10]
        async fn users() -> Result<List<UserInfo, 256>, RouterError>;
        /// Adds a user.
        [idempotent, 16, 10]
        async fn add_user(name: Name, role: UserRole, uids: List<u32, 16>, identities: List<Text<256>, 16>)
            -> Result<UserInfo, RouterError>;
        /// Changes the role of a user that was added, or all uids; `None` leaves them.
        [idempotent, 16, 10]
        async fn edit_user(name: Name, role: Option<UserRole>, uids: Option<List<u32, 16>>)
            -> Result<UserInfo, RouterError>;
        /// Removes a user that was added; sessions stay for the record.
        [idempotent, 4, 10]
        async fn remove_user(name: Name) -> Result<(), RouterError>;
        /// The agents.
        [idempotent, 1024, 10]
        async fn agents() -> List<AgentInfo, 64>;
        /// Workspaces.
        [idempotent, 512, 10]
        async fn workspaces(user: Option<UserId>) -> Result<List<WorkspaceInfo, 256>, RouterError>;
        /// Forgets a workspace whose session has ended.
        [idempotent, 4, 10]
        async fn remove_workspace(user: Option<UserId>, id: WorkspaceId) -> Result<(), RouterError>;
        /// Named events after `after`, at most 256; waits up to `wait_ms` (20,000 at most) for the first.
        [idempotent + wait, 256, 30]
        async fn events(after: u64, wait_ms: u32) -> List<NamedEvent, 256>;
        /// Every channel.
        [idempotent, 64, 10]
        async fn channels() -> Result<List<ChannelInfo, ACCOUNTS>, RouterError>;
        /// One channel in full.
        [idempotent, 64, 10]
        async fn channel(name: Name) -> Result<ChannelView, ChannelError>;
        /// Pauses a channel, or resumes it.
        [idempotent, 4, 15]
        async fn pause_channel(by: Name, name: Name, paused: bool) -> Result<(), ChannelError>;
        /// Admits a group, or no longer.
        [idempotent, 4, 15]
        async fn set_group(by: Name, channel: Name, group: Text<128>, rule: Option<GroupRule>) -> Result<(), ChannelError>;
        /// Pairings of the last day, newest first.
        [idempotent, 256, 10]
        async fn pairings() -> Result<List<PairingInfo, 256>, ChannelError>;
        /// Approves a pairing: its identity is the user of this name from now on, who is made with this role if there is none.
        [once, 16, 15]
        async fn approve_pairing(by: Name, code: Name, user: Name, role: UserRole) -> Result<UserInfo, ChannelError>;
        /// Refuses a pairing.
        [once, 4, 15]
        async fn refuse_pairing(by: Name, code: Name) -> Result<(), ChannelError>;
        /// Makes a one-time code that links the identity which sends it to this user; valid for 10 min.
        [once, 4, 15]
        async fn create_link(by: Name, user: Name) -> Result<LinkCode, ChannelError>;
        /// Adds an identity to a user.
        [idempotent, 16, 15]
        async fn link_user(by: Name, user: Name, identity: Text<256>) -> Result<UserInfo, ChannelError>;
        /// Takes an identity from a user.
        [idempotent, 16, 15]
        async fn unlink_user(by: Name, user: Name, identity: Text<256>) -> Result<UserInfo, ChannelError>;
        /// Has the platform's process look at the account; waits up to 20 s for what it found.
        [idempotent + wait, 16, 30]
        async fn check_channel(name: Name) -> Result<List<Finding, FINDINGS>, ChannelError>;
        /// Sends a line of the host's own to a conversation that the account admits: the id of a group, or of a person.
        /// Durable when this returns.
        [once, 4, 15]
        async fn test_channel(by: Name, name: Name, to: Text<128>) -> Result<DeliveryId, ChannelError>;
        /// Deliveries of one message, or of all; newest first; with `unknown` only those of unknown outcome.
        [idempotent, 128, 10]
        async fn deliveries(user: Option<UserId>, message: Option<MessageId>, unknown: bool)
            -> Result<List<DeliveryInfo, 256>, ChannelError>;
        /// Sends again what of this message is unknown, refused or expired. A repeated call is one. Returns how many pieces.
        [idempotent, 4, 15]
        async fn resend(user: Option<UserId>, by: Name, message: MessageId) -> Result<u32, ChannelError>;

        // A channel's process: `account` is the name of a `[channel.NAME]` of its own platform; any other is refused.
        /// An account as it stands: its cursor, and whether it is paused.
        [idempotent, 16, 10]
        async fn channel_open(account: Name) -> Result<Opened, ChannelError>;
        /// Says of each of these messages whether its files are to be fetched: it is new, and its sender is admitted. Nothing of it
        /// is stored.
        [idempotent, 8192, 15]
        async fn channel_wants(account: Name, messages: List<Inbound, BATCH>) -> Result<List<bool, BATCH>, ChannelError>;
        /// Stores a part of a file of a message that is not accepted yet, durably. With the last one it returns SHA-256 of the
        /// whole. A file that no accepted message names is dropped after an hour.
        [idempotent, 272, 15]
        async fn channel_file(account: Name, part: FilePart) -> Result<Option<[u8; 32]>, ChannelError>;
        /// Accepts messages: those that are admitted, pairings and the cursor are durable in one commit when this returns.
        /// The fates are in the order of the messages.
        [idempotent, 8192, 15]
        async fn channel_accept(account: Name, batch: Batch) -> Result<List<Admitted, BATCH>, ChannelError>;
        /// Work for an account; waits up to 20 s for the first. `life` is a random number of the calling process, and `holding` are
        /// the pieces that it holds without an outcome, of which it is told nothing. Those that this life took and does not
        /// hold were never sent, and are due again; those that another life took have an unknown outcome from then on.
        [idempotent + wait, 4096, 30]
        async fn channel_claim(account: Name, life: u64, holding: List<PieceId, HOLDING>) -> Result<WorkBatch, ChannelError>;
        /// Stores the plan of a delivery, durably. A plan that is stored is never replaced: a second one is answered
        /// with [`ChannelError::BadPlan`], and the first holds.
        [idempotent, 4096, 15]
        async fn channel_plan(account: Name, delivery: DeliveryId, pieces: List<Piece, PIECES>) -> Result<(), ChannelError>;
        /// Takes a piece that is due, at the moment when it can be sent: it is `sending`, durably, before it is given out. `preview`
        /// is the platform's id of the preview that it replaces, if the process knows one. [`ChannelError::NoDelivery`] if it
        /// is not due any more.
        [idempotent, 4096, 15]
        async fn channel_take(account: Name, life: u64, piece: PieceId, preview: Option<Text<128>>) -> Result<Claim, ChannelError>;
        /// Stores how a piece came out. A repeated outcome is one.
        [idempotent, 4, 15]
        async fn channel_done(account: Name, piece: PieceId, outcome: Outcome) -> Result<(), ChannelError>;
        /// The turns of an account that are not over.
        [idempotent, 64, 10]
        async fn channel_turns(account: Name) -> Result<List<LiveTurn, 64>, ChannelError>;
        /// Returns true if the preview of a turn may be sent: nothing of its conversation waits that was to be sent before.
        [idempotent, 4, 10]
        async fn channel_may_show(account: Name, turn: TurnId) -> Result<bool, ChannelError>;
        /// Stores the platform's id of the preview of a turn: the answer is an edit of it, unless that is being sent by now.
        [idempotent, 4, 15]
        async fn channel_preview(account: Name, turn: TurnId, id: Text<128>) -> Result<(), ChannelError>;
        /// Events of a turn of the account, as `follow` gives them.
        [idempotent + wait, 2560, 30]
        async fn channel_follow(account: Name, turn: TurnId, from: u64, credit: u16) -> Result<Followed, ChannelError>;
        /// Returns true if an account may join a conversation that this sender invites it to: the sender is a user, somebody whose
        /// direct messages the account takes, or anybody while a link's code waits.
        [idempotent, 4, 10]
        async fn channel_invited(account: Name, sender: Text<128>) -> Result<bool, ChannelError>;
        /// The press of a button. A nonce has its effect once.
        [idempotent, 8, 15]
        async fn channel_press(account: Name, press: Press) -> Result<PressAnswer, ChannelError>;
        /// The health of an account, for operators.
        [idempotent, 8, 10]
        async fn channel_report(account: Name, report: Report) -> Result<(), ChannelError>;
        /// The findings of the look at an account that was asked for under this number.
        [idempotent, 16, 10]
        async fn channel_checked(account: Name, check: u64, findings: List<Finding, FINDINGS>) -> Result<(), ChannelError>;
    }
}
