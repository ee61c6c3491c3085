//! What `agentctl` may ask. Who asks is known from the socket's peer credentials; each method names its least
//! role beside the method; the guard refuses a method without one.

mod status;

use crate::api::{KEYS, KeyInfo, KeyScope, Presented};
use crate::approval::{ApprovalInfo, ApprovalView, Grant, Reply};
use crate::audit::{
    AuditError, Consistency, Filter, NOTE, Page, Proof, Record, Report, Rotation, Stats, TreeHead,
};
use crate::content::{Content, TEXT_BOUND};
use crate::credproxy::{
    Binding, CredError, EXPORT_BOUND, Lease, PARCEL_BOUND, SECRET_BOUND, SecretInfo, VaultInfo, Verb,
};
use crate::curator::{CuratorError, Edit, JobState, JobView, Listing, PromptJob};
use crate::embedder::EmbedderError;
use crate::gate::{POLICY_BOUND, PolicyError, PolicySet, RelayError, Tried};
use crate::ids::{ApprovalId, CallId, JobId, MessageId, TurnId, WorkspaceId};
use crate::label::{Class, Trust};
use crate::memory::{self, Area, MemoryError, Said};
use crate::model::{BudgetInfo, GroupBy, ModelInfo, ModelName, UsageRow};
use crate::role::UserRole;
use crate::router::{
    Accepted, AgentInfo, Followed, MessageInfo, MessageView, NamedEvent, Passed, QueueInfo, Released,
    RouterError, SessionInfo, SessionName, SessionView, Steer, Steering, Stopped, Task, Typed, UserInfo,
    WorkspaceInfo,
};
use crate::service::service;
use crate::{Blob, List, Name, Text};
use serde::{Deserialize, Serialize};

pub use status::{HostStatus, Probed, ProcessStatus};

/// A chat message, command, put or get from `agentctl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// In which session; made if it is new.
    pub session: SessionName,
    /// With which agent.
    pub agent: Option<Name>,
    /// What is said.
    pub content: Content,
    /// What is to be done.
    pub task: Task,
    /// A directory that was attached over the attach connection.
    pub workspace: Option<WorkspaceId>,
    /// What its owner declares of that directory.
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

/// Why control refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum ControlError {
    /// This uid is nobody's, or their role does not reach.
    #[error("not allowed: this needs the role {0}")]
    NotAllowed(Name),
    /// No such process; the valid names are listed.
    #[error("no such process; there are: {0}")]
    NoProcess(Text<512>),
    /// A process that is needed for this is not there.
    #[error("{0} is not there just now; try again")]
    Down(Name),
    /// The router's reason.
    #[error("{0}")]
    Router(RouterError),
    /// Memory's reason.
    #[error("{0}")]
    Memory(MemoryError),
    /// Curator's reason.
    #[error("{0}")]
    Curator(CuratorError),
    /// Embedder's reason.
    #[error("{0}")]
    Embedder(EmbedderError),
    /// Credproxy's reason.
    #[error("{0}")]
    Cred(CredError),
    /// Audit's reason.
    #[error("{0}")]
    Audit(AuditError),
    /// The gate's reason.
    #[error("{0}")]
    Policy(PolicyError),
    /// The gate's reason for not asking a model.
    #[error("{0}")]
    Relay(RelayError),
    /// The workspace is not a directory, not the caller's, or too many are attached.
    #[error("the workspace {0}")]
    Workspace(Name),
    /// No model of this name; the valid names are listed.
    #[error("no such model; there are: {0}")]
    NoModel(Text<512>),
    /// No such act, or not in this jail.
    #[error("{0}; `agentctl redteam --list` names the acts")]
    NoAct(Text<256>),
    /// Every process stands still for another copy of the state.
    #[error("every process stands still for another copy of the state; try again when that is made")]
    Frozen,
    /// Some process could not be brought to stand still; all go on.
    #[error("some process could not be brought to stand still; all go on, try again")]
    Restless,
}

/// The answer of a method.
pub type Answer<T> = Result<T, ControlError>;

service! {
    /// Operations.
    pub trait Control {
        /// Who the caller is.
        [idempotent, 16, 15, Guest]
        async fn whoami() -> Answer<UserInfo>;
        /// The host and every process.
        [idempotent, 64, 10, User]
        async fn status() -> Answer<HostStatus>;
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
        /// Has every process but control stand still for at most `ms` (30,000 at most), so that the state on disk is
        /// of one instant.
        [idempotent, 4, 15, Owner]
        async fn freeze(ms: u32) -> Answer<()>;
        /// Lets them go on; whether they stood still until now.
        [idempotent, 4, 15, Owner]
        async fn thaw() -> Answer<bool>;
        /// Puts on the record that the kernel's word on this process differs from the table in so many properties.
        [idempotent, 4, 15, Owner]
        async fn drift(name: Name, properties: u16) -> Answer<()>;
        /// Has a twin of this process try this act in its jail. What comes out as it must not is on the record.
        [idempotent, 4, 60, Owner]
        async fn probe(name: Name, act: Name) -> Answer<Probed>;
        /// Puts on the record that the jails were tried by so many acts, of which so many came out as they must not.
        [idempotent, 4, 15, Owner]
        async fn probed(acts: u32, surprises: u32) -> Answer<()>;
        /// What a process wrote, from byte `from` of its log on; waits up to `wait_ms` (20,000 at most).
        [idempotent, 128, 30, Owner]
        async fn logs(name: Name, from: Option<u64>, wait_ms: u32) -> Answer<LogChunk>;
        /// Named events after number `after`.
        [idempotent, 256, 30, Owner]
        async fn events(after: u64, wait_ms: u32) -> Answer<List<NamedEvent, 256>>;
        /// Accepts a message.
        [idempotent, 8192, 20, Guest]
        async fn submit(ask: Ask) -> Answer<Accepted>;
        /// Accepts words for a turn that is under way in one of the caller's sessions.
        [idempotent, 64, 20, Guest]
        async fn steer(steer: Steer) -> Answer<Steering>;
        /// Events of a turn from number `from` on; waits up to 20 s for the first.
        [idempotent, 2560, 35, Guest]
        async fn follow(turn: TurnId, from: u64, credit: u16) -> Answer<Followed>;
        /// Cancels a turn.
        [idempotent, 4, 15, Guest]
        async fn cancel(turn: TurnId) -> Answer<()>;
        /// Types for the program of a turn, as [`crate::router::Router::type_in`].
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
        /// Takes back a message that has not begun; gives what was said.
        [idempotent, 512, 15, Guest]
        async fn recall(id: MessageId) -> Answer<Text<TEXT_BOUND>>;
        /// Puts a dead letter into the queue again, with other words if there are some.
        [idempotent, 512, 20, User]
        async fn requeue(id: MessageId, text: Option<Text<TEXT_BOUND>>) -> Answer<Accepted>;
        /// Has nothing be started in one of the caller's sessions, or in all of them (in everyone's for the owner); or
        /// takes that back.
        [idempotent, 4, 15, User]
        async fn pause(session: Option<SessionName>, paused: bool) -> Answer<()>;
        /// Ends every turn of one of the caller's sessions, or of all of them (of everyone's for the owner), and what
        /// waits behind it. Asked `again`, because nobody answered, the numbers are of both times.
        [idempotent, 4, 15, Guest]
        async fn stop(session: Option<SessionName>, again: bool) -> Answer<Stopped>;
        /// The queue in numbers.
        [idempotent, 16, 15, User]
        async fn queue() -> Answer<QueueInfo>;
        /// Every state a message went through.
        [idempotent, 64, 15, User]
        async fn trace(message: MessageId) -> Answer<List<Passed, 128>>;
        /// All users.
        [idempotent, 2048, 15, Owner]
        async fn users() -> Answer<List<UserInfo, 256>>;
        /// Adds a user.
        [idempotent, 16, 15, Owner]
        async fn add_user(name: Name, role: UserRole, uids: List<u32, 16>, identities: List<Text<256>, 16>) -> Answer<UserInfo>;
        /// Removes a user.
        [idempotent, 4, 15, Owner]
        async fn remove_user(name: Name) -> Answer<()>;
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
        /// Asks or changes the caller's own memory. What was not typed by a person, as its source says, is marked so.
        [idempotent, 20480, 40, User]
        async fn memory(area: Area, ask: memory::Ask) -> Answer<Said>;
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
        [idempotent, 256, 35, Owner]
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
        /// Has audit sign with a new key; asked twice, there are two rotations, which is no harm.
        [idempotent, 32, 20, Owner]
        async fn audit_rotate_key() -> Answer<Rotation>;
        /// Keeps a checkpoint of another host's record on this one's; asked twice, it stands there twice.
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
        /// Answers one: `hash` is that of the action the caller was shown.
        [idempotent, 4, 20, User]
        async fn answer(id: ApprovalId, hash: [u8; 32], reply: Reply) -> Answer<ApprovalInfo>;
        /// Grants that hold.
        [idempotent, 128, 15, User]
        async fn grants() -> Answer<List<Grant, 256>>;
        /// Takes a grant back.
        [idempotent, 4, 15, User]
        async fn revoke(id: ApprovalId) -> Answer<()>;
        /// A call that was decided on, with what the decision rests on.
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
        /// Keeps a key of the API for the caller, by the hash of what its client will send.
        [idempotent, 32, 20, User]
        async fn key_create(name: Name, scope: KeyScope, presented: Presented) -> Answer<KeyInfo>;
        /// The caller's keys; everyone's for the owner.
        [idempotent, 2048, 15, User]
        async fn key_list() -> Answer<List<KeyInfo, KEYS>>;
        /// Revokes one.
        [idempotent, 4, 20, User]
        async fn key_revoke(name: Name) -> Answer<()>;
        /// Has a model answer one short question, and says how it did.
        [once, 4, 155, Owner]
        async fn model_test(model: ModelName) -> Answer<Tried>;
        /// What was used since `since_ms`.
        [idempotent, 256, 30, Owner]
        async fn model_usage(by: GroupBy, since_ms: u64) -> Answer<List<UsageRow, 256>>;
        /// Every budget and how it stands.
        [idempotent, 64, 30, Owner]
        async fn model_budgets() -> Answer<List<BudgetInfo, 64>>;
        /// Binds a secret to less than it is bound to.
        [idempotent, 16, 15, Owner]
        async fn cred_bind(name: Name, binding: Binding, lease: Lease) -> Answer<()>;
        /// Has a secret be used no more.
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
        /// Every secret with its value, sealed to who asks, who has sealed what opens the vault.
        [idempotent, 4352, 45, Owner]
        async fn cred_export(sealed: Blob<PARCEL_BOUND>) -> Answer<Blob<EXPORT_BOUND>>;
        /// Sends one request with a secret in it; gives the status of the reply and nothing else.
        [once, 8, 135, Owner]
        async fn cred_test(name: Name, verb: Verb, url: Text<2048>) -> Answer<u16>;
    }
}

/// The least role for a method; `None` for one that there is not, which is refused.
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
