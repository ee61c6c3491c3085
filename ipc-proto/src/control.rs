//! The operations of `agentctl`. The caller is known from the socket's peer credentials; each method's least
//! role stands beside it, and the guard refuses a method without one.

mod inspection;
mod refusal;
mod status;

use crate::api::{KEYS, KeyInfo, KeyScope, Presented};
use crate::approval::{ApprovalInfo, ApprovalView, FORM, Grant, Reply};
use crate::audit::{Consistency, Filter, NOTE, Page, Proof, Record, Report, Rotation, Stats, TreeHead};
use crate::channel::{
    ACCOUNTS, ChannelInfo, ChannelView, DeliveryId, DeliveryInfo, FINDINGS, Finding, GroupRule, LinkCode,
    PairingInfo,
};
use crate::content::{Content, TEXT_BOUND};
use crate::credproxy::{
    Binding, EXPORT_BOUND, Lease, PARCEL_BOUND, SECRET_BOUND, SecretInfo, VaultInfo, Verb,
};
use crate::curator::{Edit, JobState, JobView, Listing, PromptJob};
use crate::gate::{POLICY_BOUND, PolicySet, Tried};
use crate::ids::{ApprovalId, CallId, JobId, MemoryId, MessageId, SessionId, TurnId, WorkspaceId};
use crate::label::{Class, Trust};
use crate::mcp::{
    self, Act, Approving, Installed, LoginTerms, SERVER_TOOLS, SERVERS, ServerInfo, ServerView, TOOL_NAME,
};
use crate::memory::{
    self, Answered, Area, Block, BlockAsk, Capture, Entry, Forget, Forgotten, HITS, MOST_IDS, Muted,
    Neighbourhood, Project, Question, Raw, Restored, RestoredSession, Row, SessionRow, Start, Unread,
};
use crate::model::{BudgetInfo, GroupBy, ModelInfo, ModelName, UsageRow};
use crate::role::UserRole;
use crate::router::{
    Accepted, AgentInfo, Followed, MessageInfo, MessageView, NamedEvent, Node, Passed, QueueInfo, Released,
    SessionInfo, SessionName, SessionView, Steer, Steering, Stopped, TREE, Task, Typed, UserInfo,
    WorkspaceInfo,
};
use crate::scheduler::{Change, FireInfo, JOBS, JobInfo, JobName, JobView as ScheduledView, NewJob};
use crate::service::service;
use crate::{Blob, List, Name, Text};
use serde::{Deserialize, Serialize};

pub use inspection::{CallFigures, EndFigures, GaugeFigure, Inspection, PEOPLE, WorkerFigures};
pub use refusal::{ControlError, Denied};
pub use status::{HostStatus, Probed, ProcessStatus};

/// A chat message, command, put or get from `agentctl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// The session; made if it is new.
    pub session: SessionName,
    /// The agent.
    pub agent: Option<Name>,
    /// The message.
    pub content: Content,
    /// The task.
    pub task: Task,
    /// A directory that was attached over the attach connection.
    pub workspace: Option<WorkspaceId>,
    /// The label that its owner declares for that directory.
    pub workspace_label: Option<(Trust, Class)>,
    /// The same key twice is one message: lets `agentctl` ask again when control restarted.
    pub key: Text<256>,
}

/// A line that a process wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogChunk {
    /// Whole lines of text.
    pub text: Text<65536>,
    /// Where to go on.
    pub next: u64,
}

/// The answer of a method.
pub type Answer<T> = Result<T, ControlError>;

service! {
    /// Operations.
    pub trait Control {
        /// The caller's own user.
        [idempotent, 16, 15, Guest]
        async fn whoami() -> Answer<UserInfo>;
        /// The host and every process.
        [idempotent, 64, 10, User]
        async fn status() -> Answer<HostStatus>;
        /// Figures of a process: its calls, its actors, its ends.
        [idempotent, 256, 10, User]
        async fn inspect(name: Name) -> Answer<Box<Inspection>>;
        /// Restarts a process.
        [idempotent, 4, 15, Owner]
        async fn restart(name: Name) -> Answer<()>;
        /// Stops a process and leaves it stopped.
        [idempotent, 4, 15, Owner]
        async fn hold(name: Name) -> Answer<()>;
        /// Starts a held process.
        [idempotent, 4, 15, Owner]
        async fn release(name: Name) -> Answer<()>;
        /// Stops the host.
        [idempotent, 4, 15, Owner]
        async fn shutdown() -> Answer<()>;
        /// Freezes every process but control for at most `ms` (30,000 at most), so that the state on disk is of one
        /// instant.
        [idempotent, 4, 15, Owner]
        async fn freeze(ms: u32) -> Answer<()>;
        /// Resumes them; returns true if they were frozen until now.
        [idempotent, 4, 15, Owner]
        async fn thaw() -> Answer<bool>;
        /// Records that the kernel's view of this process differs from the table in this many properties.
        [idempotent, 4, 15, Owner]
        async fn drift(name: Name, properties: u16) -> Answer<()>;
        /// Has a probe try this act in the jail of this process. An unexpected outcome is on the record.
        [idempotent, 4, 60, Owner]
        async fn probe(name: Name, act: Name) -> Answer<Probed>;
        /// Records that the jails were tried by `acts` acts, and that `surprises` of them had an unexpected outcome.
        [idempotent, 4, 15, Owner]
        async fn probed(acts: u32, surprises: u32) -> Answer<()>;
        /// The log of a process from byte `from` on; waits up to `wait_ms` (20,000 at most).
        [idempotent + wait, 128, 30, Owner]
        async fn logs(name: Name, from: Option<u64>, wait_ms: u32) -> Answer<LogChunk>;
        /// Named events after number `after`.
        [idempotent + wait, 256, 30, Owner]
        async fn events(after: u64, wait_ms: u32) -> Answer<List<NamedEvent, 256>>;
        /// Accepts a message.
        [idempotent, 8192, 20, Guest]
        async fn submit(ask: Ask) -> Answer<Accepted>;
        /// Accepts a message into a turn that is under way in one of the caller's sessions.
        [idempotent, 64, 20, Guest]
        async fn steer(steer: Steer) -> Answer<Steering>;
        /// Events of a turn from number `from` on; waits up to 20 s for the first.
        [idempotent + wait, 2560, 35, Guest]
        async fn follow(turn: TurnId, from: u64, credit: u16) -> Answer<Followed>;
        /// A turn and those that work on its tasks, each before those below it.
        [idempotent, 128, 15, Guest]
        async fn tree(turn: TurnId) -> Answer<List<Node, TREE>>;
        /// Cancels a turn.
        [idempotent, 4, 15, Guest]
        async fn cancel(turn: TurnId) -> Answer<()>;
        /// Sends input to the program of a turn, as [`crate::router::Router::type_in`].
        [idempotent, 32, 15, User]
        async fn type_in(turn: TurnId, number: u64, typed: Typed) -> Answer<bool>;
        /// Sessions; of everyone for the owner.
        [idempotent, 1024, 15, User]
        async fn sessions() -> Answer<List<SessionInfo, 256>>;
        /// One session.
        [idempotent, 12288, 15, User]
        async fn session(name: SessionName) -> Answer<SessionView>;
        /// Ends a session.
        [idempotent, 4, 15, User]
        async fn end_session(name: SessionName) -> Answer<()>;
        /// Messages, newest first.
        [idempotent, 512, 15, User]
        async fn messages(limit: u16, dead: bool) -> Answer<List<MessageInfo, 256>>;
        /// One message in full.
        [idempotent, 2560, 15, User]
        async fn message(id: MessageId) -> Answer<MessageView>;
        /// Takes back a message that has not begun; returns its text.
        [idempotent, 512, 15, Guest]
        async fn recall(id: MessageId) -> Answer<Text<TEXT_BOUND>>;
        /// Puts a failed message into the queue again, with another text if there is one.
        [idempotent, 512, 20, User]
        async fn requeue(id: MessageId, text: Option<Text<TEXT_BOUND>>) -> Answer<Accepted>;
        /// Pauses the queue of one of the caller's sessions, or of all of them (of everyone's for the owner), or
        /// resumes it.
        [idempotent, 4, 15, User]
        async fn pause(session: Option<SessionName>, paused: bool) -> Answer<()>;
        /// Ends every turn of one of the caller's sessions, or of all of them (of everyone's for the owner), and the
        /// messages that wait behind it. With `again`, after a call without an answer, the numbers are those of both
        /// calls.
        [idempotent, 4, 15, Guest]
        async fn stop(session: Option<SessionName>, again: bool) -> Answer<Stopped>;
        /// The queue in numbers.
        [idempotent, 16, 15, User]
        async fn queue() -> Answer<QueueInfo>;
        /// Every state of a message so far.
        [idempotent, 64, 15, User]
        async fn trace(message: MessageId) -> Answer<List<Passed, 128>>;
        /// All users.
        [idempotent, 2048, 15, Owner]
        async fn users() -> Answer<List<UserInfo, 256>>;
        /// Adds a user.
        [idempotent, 16, 15, Owner]
        async fn add_user(name: Name, role: UserRole, uids: List<u32, 16>, identities: List<Text<256>, 16>) -> Answer<UserInfo>;
        /// Changes the role of a user that was added, or all uids; `None` leaves them.
        [idempotent, 16, 20, Owner]
        async fn edit_user(name: Name, role: Option<UserRole>, uids: Option<List<u32, 16>>) -> Answer<UserInfo>;
        /// Removes a user.
        [idempotent, 4, 15, Owner]
        async fn remove_user(name: Name) -> Answer<()>;
        /// Every channel.
        [idempotent, 64, 15, Owner]
        async fn channels() -> Answer<List<ChannelInfo, ACCOUNTS>>;
        /// One channel in full.
        [idempotent, 64, 15, Owner]
        async fn channel(name: Name) -> Answer<ChannelView>;
        /// Pauses a channel, or resumes it.
        [idempotent, 4, 20, Owner]
        async fn pause_channel(name: Name, paused: bool) -> Answer<()>;
        /// Admits a group, or no longer.
        [idempotent, 4, 20, Owner]
        async fn set_group(channel: Name, group: Text<128>, rule: Option<GroupRule>) -> Answer<()>;
        /// Pairings of the last day, newest first.
        [idempotent, 256, 15, Owner]
        async fn pairings() -> Answer<List<PairingInfo, 256>>;
        /// Approves a pairing.
        [once, 16, 20, Owner]
        async fn approve_pairing(code: Name, user: Name, role: UserRole) -> Answer<UserInfo>;
        /// Refuses a pairing.
        [once, 4, 20, Owner]
        async fn refuse_pairing(code: Name) -> Answer<()>;
        /// Makes a one-time code that links the identity which sends it to this user.
        [once, 4, 20, Owner]
        async fn create_link(user: Name) -> Answer<LinkCode>;
        /// Adds an identity to a user.
        [idempotent, 16, 20, Owner]
        async fn link_user(user: Name, identity: Text<256>) -> Answer<UserInfo>;
        /// Takes an identity from a user.
        [idempotent, 16, 20, Owner]
        async fn unlink_user(user: Name, identity: Text<256>) -> Answer<UserInfo>;
        /// Has a channel's process look at its account; waits up to 20 s for what it found.
        [idempotent + wait, 16, 40, Owner]
        async fn check_channel(name: Name) -> Answer<List<Finding, FINDINGS>>;
        /// Sends a line of the host's own to a conversation that a channel admits.
        [once, 4, 20, Owner]
        async fn test_channel(name: Name, to: Text<128>) -> Answer<DeliveryId>;
        /// Deliveries of one message, or of all the caller's, of everyone's for the owner; newest first.
        [idempotent, 128, 15, User]
        async fn deliveries(message: Option<MessageId>, unknown: bool) -> Answer<List<DeliveryInfo, 256>>;
        /// Sends again what of this message is unknown, refused or expired.
        [idempotent, 4, 20, User]
        async fn resend(message: MessageId) -> Answer<u32>;
        /// The agents.
        [idempotent, 1024, 15, User]
        async fn agents() -> Answer<List<AgentInfo, 64>>;
        /// The models.
        [idempotent, 256, 15, User]
        async fn models() -> Answer<List<ModelInfo, 256>>;
        /// Workspaces.
        [idempotent, 512, 15, User]
        async fn workspaces() -> Answer<List<WorkspaceInfo, 256>>;
        /// Forgets a workspace.
        [idempotent, 4, 15, User]
        async fn remove_workspace(id: WorkspaceId) -> Answer<()>;
        /// Rows of the caller's own memory by their ids. [`memory::Memory`] describes this and the following methods in
        /// full.
        [idempotent, 20480, 20, User]
        async fn memory_read(area: Area, ids: List<MemoryId, MOST_IDS>) -> Answer<List<Row, HITS>>;
        /// The material that an observation was made from.
        [idempotent, 128, 20, User]
        async fn memory_raw(area: Area, id: MemoryId) -> Answer<Raw>;
        /// Rows, newest first.
        [idempotent, 20480, 20, User]
        async fn memory_list(area: Area, filter: memory::Filter, limit: u16, start: Start) -> Answer<List<Row, HITS>>;
        /// The rows that answer a question best.
        [idempotent, 20480, 40, User]
        async fn memory_find(area: Area, question: Box<Question>) -> Answer<Box<Answered>>;
        /// Rows around an anchor in time.
        [idempotent, 20480, 20, User]
        async fn memory_timeline(area: Area, around: Neighbourhood) -> Answer<List<Row, HITS>>;
        /// Every revision of a row.
        [idempotent, 20480, 20, User]
        async fn memory_history(area: Area, id: MemoryId) -> Answer<List<Row, HITS>>;
        /// Sessions of clients, newest first.
        [idempotent, 256, 20, User]
        async fn memory_sessions(
            area: Area, project: Option<Project>, limit: u16, start: Start<SessionId>
        ) -> Answer<List<SessionRow, HITS>>;
        /// The block that is put before a model, as the gate gives it.
        [idempotent, 512, 40, User]
        async fn memory_block(area: Area, ask: Box<BlockAsk>) -> Answer<Box<Block>>;
        /// The size of the area, in numbers.
        [idempotent, 64, 20, User]
        async fn memory_stats(area: Area) -> Answer<memory::Stats>;
        /// Rows that cannot be read.
        [idempotent, 4, 20, User]
        async fn memory_unread(area: Area, each: bool) -> Answer<Unread>;
        /// Stores a row. One that a person did not type, as its source says, is marked so.
        [idempotent, 512, 20, User]
        async fn memory_write(area: Area, entry: Box<Entry>) -> Answer<MemoryId>;
        /// Writes a new row in the place of one.
        [idempotent, 512, 20, User]
        async fn memory_revise(area: Area, id: MemoryId, entry: Box<Entry>, reason: Text<512>) -> Answer<MemoryId>;
        /// Removes a row and leaves a tombstone.
        [idempotent, 4, 20, User]
        async fn memory_remove(area: Area, id: MemoryId, reason: Text<512>) -> Answer<()>;
        /// Puts back a row that was exported.
        [idempotent, 640, 20, User]
        async fn memory_restore(area: Area, row: Box<Restored>) -> Answer<Option<MemoryId>>;
        /// Stores an event that a client's hook captured.
        [idempotent, 128, 20, User]
        async fn memory_capture(area: Area, capture: Box<Capture>) -> Answer<Option<MemoryId>>;
        /// Checks a row as `memory_write` does and stores nothing.
        [idempotent, 512, 20, User]
        async fn memory_judge(area: Area, entry: Box<Entry>) -> Answer<()>;
        /// Makes a removed row current again.
        [idempotent, 4, 20, User]
        async fn memory_unremove(area: Area, id: MemoryId) -> Answer<()>;
        /// Accepts a proposed row.
        [idempotent, 4, 20, User]
        async fn memory_accept(area: Area, id: MemoryId) -> Answer<()>;
        /// Forgets rows.
        [idempotent, 4, 20, User]
        async fn memory_forget(area: Area, what: Forget, purge: bool, dry_run: bool) -> Answer<Forgotten>;
        /// Puts back a client's session that was exported.
        [idempotent, 4, 20, User]
        async fn memory_restore_session(area: Area, session: Box<RestoredSession>) -> Answer<bool>;
        /// Turns the block and the capture of a session or a project off, or on again.
        [idempotent, 4, 20, User]
        async fn memory_mute(area: Area, what: Muted, mute: bool) -> Answer<()>;
        /// Builds the indexes anew and has every vector made again.
        [idempotent, 64, 20, User]
        async fn memory_reindex(area: Area) -> Answer<memory::Stats>;
        /// The queue of background work; with a state, only jobs in it.
        [idempotent, 512, 20, Owner]
        async fn curator_jobs(state: Option<JobState>) -> Answer<Listing>;
        /// One job of it.
        [idempotent, 512, 20, Owner]
        async fn curator_job(id: JobId) -> Answer<JobView>;
        /// Puts a prompt into it; the same id twice is one job.
        [idempotent, 512, 20, Owner]
        async fn curator_ask(id: JobId, job: PromptJob) -> Answer<JobView>;
        /// Changes a job that waits or was given up.
        [idempotent, 512, 20, Owner]
        async fn curator_edit(id: JobId, edit: Edit) -> Answer<JobView>;
        /// Puts a job that was given up into the queue again.
        [idempotent, 512, 20, Owner]
        async fn curator_requeue(id: JobId) -> Answer<JobView>;
        /// Takes a job out.
        [idempotent, 4, 20, Owner]
        async fn curator_drop(id: JobId) -> Answer<()>;
        /// Pauses the queue, or resumes it.
        [idempotent, 4, 20, Owner]
        async fn curator_pause(paused: bool) -> Answer<()>;
        /// Interrupts a running job, or all; returns how many.
        [idempotent, 4, 20, Owner]
        async fn curator_abort(id: Option<JobId>) -> Answer<u32>;
        /// Looks for work now; returns how many jobs wait.
        [idempotent, 4, 20, Owner]
        async fn curator_run() -> Answer<u32>;
        /// Entries of the record from `from` on; waits up to `wait_ms` (20,000 at most).
        [idempotent + wait, 256, 35, Owner]
        async fn audit_tail(from: u64, max: u16, wait_ms: u32) -> Answer<List<Record, 256>>;
        /// Has audit verify the record.
        [idempotent, 4, 65, Owner]
        async fn audit_verify() -> Answer<Report>;
        /// An entry of the record, with proof that it is in it.
        [idempotent, 64, 20, Owner]
        async fn audit_prove(index: u64) -> Answer<Proof>;
        /// Proof that the record only grew since it had `from` entries.
        [idempotent, 32, 20, Owner]
        async fn audit_consistency(from: u64) -> Answer<Consistency>;
        /// The signed note of the record as it is now.
        [idempotent, 32, 20, Owner]
        async fn audit_checkpoint() -> Answer<Text<NOTE>>;
        /// The record in numbers.
        [idempotent, 32, 20, Owner]
        async fn audit_stats() -> Answer<Stats>;
        /// Entries of the record from `from` on that `filter` admits.
        [idempotent, 256, 35, Owner]
        async fn audit_query(from: u64, filter: Filter) -> Answer<Page>;
        /// The signed digest of a day, counted in days since 1970-01-01 (UTC).
        [idempotent, 32, 20, Owner]
        async fn audit_digest(day: u32) -> Answer<Text<NOTE>>;
        /// Has audit sign with a new key; a repeated call makes two rotations, which is harmless.
        [idempotent, 32, 20, Owner]
        async fn audit_rotate_key() -> Answer<Rotation>;
        /// Records a checkpoint of another host on this host's record; a repeated call records it twice.
        [idempotent, 4, 20, Owner]
        async fn audit_witness(head: TreeHead) -> Answer<()>;
        /// Stores a secret that was sealed to credproxy's public key.
        [idempotent, 32, 135, Owner]
        async fn cred_set(name: Name, binding: Binding, lease: Lease, sealed: Blob<SECRET_BOUND>) -> Answer<()>;
        /// Every secret, without its value.
        [idempotent, 2048, 15, Owner]
        async fn cred_list() -> Answer<List<SecretInfo, 256>>;
        /// Forgets a secret.
        [idempotent, 4, 15, Owner]
        async fn cred_remove(name: Name) -> Answer<()>;
        /// Approvals that wait, the caller's or, for the owner, everyone's; with `all` also those answered.
        [idempotent, 512, 15, User]
        async fn approvals(all: bool) -> Answer<List<ApprovalInfo, 256>>;
        /// One approval in full.
        [idempotent, 640, 15, User]
        async fn approval(id: ApprovalId) -> Answer<ApprovalView>;
        /// Answers one: `hash` is that of the action that the caller was shown; `form` are the values of a form, a JSON object.
        [idempotent, 20, 20, User]
        async fn answer(id: ApprovalId, hash: [u8; 32], reply: Reply, form: Text<FORM>) -> Answer<ApprovalInfo>;
        /// Grants that hold.
        [idempotent, 128, 15, User]
        async fn grants() -> Answer<List<Grant, 256>>;
        /// Revokes a grant.
        [idempotent, 4, 15, User]
        async fn revoke(id: ApprovalId) -> Answer<()>;
        /// A call that was decided on, with the grounds of the decision.
        [idempotent, 640, 15, User]
        async fn call(id: CallId) -> Answer<Released>;
        /// Every policy file that holds.
        [idempotent, 2700, 15, Owner]
        async fn policies() -> Answer<PolicySet>;
        /// Adds or replaces a policy file of the owner.
        [idempotent, 128, 25, Owner]
        async fn set_policy(name: Name, text: Text<POLICY_BOUND>) -> Answer<Name>;
        /// Removes one.
        [idempotent, 4, 25, Owner]
        async fn remove_policy(name: Name) -> Answer<Name>;
        /// The servers of the Model Context Protocol.
        [idempotent, 128, 15, Owner]
        async fn mcp_servers() -> Answer<List<ServerInfo, SERVERS>>;
        /// One of them with its tools; it is started first if `start`.
        [idempotent, 4096, 70, Owner]
        async fn mcp_server(name: Name, start: bool) -> Answer<Box<ServerView>>;
        /// Approves tools as they were looked at.
        [idempotent, 64, 25, Owner]
        async fn mcp_approve(
            name: Name,
            tools: List<Approving, SERVER_TOOLS>,
        ) -> Answer<List<Text<TOOL_NAME>, SERVER_TOOLS>>;
        /// Installs the package of a server, or goes on waiting for that, up to 20 s; none if it is still under way.
        [idempotent + wait, 80, 45, Owner]
        async fn mcp_install(name: Name) -> Answer<Option<Installed>>;
        /// Forgets what was approved of a server, and removes its files.
        [idempotent, 4, 25, Owner]
        async fn mcp_forget(name: Name) -> Answer<()>;
        /// The addresses that a server publishes for logging in at it.
        [idempotent, 16, 100, Owner]
        async fn mcp_login_terms(name: Name) -> Answer<Box<LoginTerms>>;
        /// Registers a client at the authorization server of a server, for this redirect address; its id.
        [once, 16, 130, Owner]
        async fn mcp_register(name: Name, redirect_uri: Text<256>) -> Answer<Text<1024>>;
        /// Asks a server for a resource or a prompt.
        [idempotent, 1280, 130, Owner]
        async fn mcp_ask(name: Name, act: Act) -> Answer<mcp::Reply>;
        /// The caller's jobs; everyone's for the owner, and so below.
        [idempotent, 512, 15, User]
        async fn schedule_list() -> Answer<List<JobInfo, JOBS>>;
        /// One of them in full.
        [idempotent, 64, 15, User]
        async fn schedule_show(job: JobName) -> Answer<Box<ScheduledView>>;
        /// Adds a job of the caller's. The same id twice is one job.
        [idempotent, 64, 45, User]
        async fn schedule_add(id: JobId, job: NewJob) -> Answer<Box<ScheduledView>>;
        /// Changes one.
        [idempotent, 4, 45, User]
        async fn schedule_change(job: JobName, change: Change) -> Answer<JobInfo>;
        /// Fires of one of them or of all, latest first.
        [idempotent, 512, 15, User]
        async fn schedule_history(job: Option<JobName>) -> Answer<List<FireInfo, 256>>;
        /// Stores a key of the API for the caller, by the hash of the secret that its client will present.
        [idempotent, 32, 20, User]
        async fn key_create(name: Name, scope: KeyScope, presented: Presented) -> Answer<KeyInfo>;
        /// The caller's keys; everyone's for the owner.
        [idempotent, 2048, 15, User]
        async fn key_list() -> Answer<List<KeyInfo, KEYS>>;
        /// Revokes one.
        [idempotent, 4, 20, User]
        async fn key_revoke(name: Name) -> Answer<()>;
        /// Has a model answer one short question, and returns its times and cost.
        [once, 4, 155, Owner]
        async fn model_test(model: ModelName) -> Answer<Tried>;
        /// Usage since `since_ms`.
        [idempotent, 256, 30, Owner]
        async fn model_usage(by: GroupBy, since_ms: u64) -> Answer<List<UsageRow, 256>>;
        /// Every budget and how it stands.
        [idempotent, 64, 30, Owner]
        async fn model_budgets() -> Answer<List<BudgetInfo, 64>>;
        /// Narrows the permitted use of a secret.
        [idempotent, 16, 15, Owner]
        async fn cred_bind(name: Name, binding: Binding, lease: Lease) -> Answer<()>;
        /// Revokes a secret.
        [idempotent, 4, 15, Owner]
        async fn cred_revoke(name: Name) -> Answer<()>;
        /// The vault as a whole.
        [idempotent, 4, 15, Owner]
        async fn cred_vault() -> Answer<VaultInfo>;
        /// Opens the vault with a passphrase that was sealed to credproxy's public key.
        [idempotent, 8, 45, Owner]
        async fn cred_unlock(sealed: Blob<PARCEL_BOUND>) -> Answer<()>;
        /// Puts the vault under another passphrase; both are sealed.
        [idempotent, 8, 45, Owner]
        async fn cred_passphrase(sealed: Blob<PARCEL_BOUND>) -> Answer<()>;
        /// Seals every secret under a new key of its own.
        [idempotent, 4, 45, Owner]
        async fn cred_rotate() -> Answer<()>;
        /// Every secret with its value, sealed to the caller, who has sealed the key that opens the vault.
        [idempotent, 4352, 45, Owner]
        async fn cred_export(sealed: Blob<PARCEL_BOUND>) -> Answer<Blob<EXPORT_BOUND>>;
        /// Sends one request with a secret in it; gives the status of the reply and nothing else.
        [once, 8, 135, Owner]
        async fn cred_test(name: Name, verb: Verb, url: Text<2048>) -> Answer<u16>;
    }
}

/// The least role for a method; `None` for an unknown method, which is refused.
#[must_use]
pub fn least_role(method: &str) -> Option<UserRole> {
    METHODS.iter().find(|it| it.name == method).and_then(|it| it.role)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_names_its_least_role() {
        for method in METHODS {
            assert!(method.role.is_some(), "{}", method.name);
        }
    }
}
