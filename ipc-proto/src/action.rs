//! The actions that can stand on the record: one closed enum, with the category and the severity that follow from
//! each. There is no free-form payload.

use crate::audit::Result3;
use serde::{Deserialize, Serialize};

/// An action on the record. Closed: there is no free-form payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// A message was accepted.
    MessageAccepted,
    /// The scanner's verdict on a message kept it from being answered.
    MessageBlocked,
    /// A turn was started.
    TurnStarted,
    /// A turn ended.
    TurnEnded,
    /// A runner ended before its turn did, and the turn is taken up again.
    TurnRetried,
    /// A message was given up after its last attempt, and waits among the dead letters.
    MessageQuarantined,
    /// A message that had not begun was taken back by its sender.
    MessageRecalled,
    /// A message was said into a turn under way, which takes it in; the reason is that turn's id.
    MessageTakenIn,
    /// A dead letter was put into the queue again, as it was or edited; the reason is the new message's id.
    MessageRequeued,
    /// Messages wait until further notice, or go on; the subject is the session, if it is one.
    QueuePaused,
    /// Everything of a session, or of all, was stopped at once.
    TurnsStopped,
    /// A person added, changed or removed a job of the scheduler; the subject is the job, the reason says who and what.
    JobChanged,
    /// A job's message was accepted; blocked, its time passed without one, and the reason says why. The subject is the job.
    JobFired,
    /// A job's message was not accepted or not answered; the subject is the job, the reason says why.
    JobFailed,
    /// A copy of the whole state is being made: every process stands still while it is.
    StateFrozen,
    /// The kernel's word and the table of privilege differ; the subject is the process.
    AttestDrift,
    /// The jails were tried; `bytes` is the number of acts, and an error says that some came out as they must not.
    HostProbed,
    /// An act tried in a jail came out as it must not; the subject is the process, the reason names the act.
    ProbeSurprise,
    /// A process of the host tried what its row does not allow, and was killed; the subject is the process.
    ProcessViolation,
    /// A program in a jail tried what no jail allows, and was killed or refused.
    SandboxViolation,
    /// A model call was decided on; the effect follows.
    ModelDecided,
    /// A model call ended.
    ModelEnded,
    /// An image of a person's message was put before a model, in each attempt at its turn once; the subject is its media type,
    /// `hash` and `bytes` are the image's.
    ImageGiven,
    /// A provider's count of an answer's tokens was impossible, and the answer was counted at the nearest possible
    /// value; `tokens` are the provider's own, the subject is the model.
    UsageDisbelieved,
    /// A tool call was decided on; the effect follows if it was released.
    ToolDecided,
    /// A tool call ended.
    ToolEnded,
    /// A package of a server was installed; `hash` is that of its files.
    ServerInstalled,
    /// A tool of a server was approved, or with `blocked` all of a server was forgotten; `hash` is that of what was looked at.
    ServerToolApproved,
    /// A tool of a server is not what was approved any more, and no agent has it.
    ServerToolChanged,
    /// Requests of a jail to a host were decided on; the subject is the verb and the host.
    NetworkDecided,
    /// A jail's requests to a host, counted at the end of its turn; `bytes` came in.
    NetworkUsed,
    /// A session's label was raised.
    LabelRaised,
    /// An answer was released to its receiver.
    AnswerReleased,
    /// A canary was found in what was to leave.
    CanaryLeaked,
    /// A secret was found in what was to leave, and cut out.
    SecretRedacted,
    /// A secret was put into a request.
    SecretUsed,
    /// A secret was asked for a host it is not bound to.
    SecretMisdirected,
    /// A secret was stored or replaced.
    SecretSet,
    /// A secret was removed.
    SecretRemoved,
    /// A memory row was written.
    MemoryWritten,
    /// A memory row was deleted.
    MemoryDeleted,
    /// Remembered text was put before a model with a turn's message; `hash` is of the text as it was given.
    MemoryGiven,
    /// A user was added.
    UserAdded,
    /// A user was removed.
    UserRemoved,
    /// An identity was added to a user or taken from one; the subject is the user, the reason says which.
    IdentityChanged,
    /// A pairing was asked for, approved or refused; the subject is the channel, the reason says which.
    PairingChanged,
    /// A sender's message was dropped; the subject is the channel, the reason says why, and `hash` is of the identity. Once an hour for
    /// each sender and reason.
    SenderDropped,
    /// A piece of an answer reached its platform, was refused, or has an unknown outcome; the subject is the channel.
    PieceSent,
    /// A channel's connection went up or down; the subject is the channel, the reason says which.
    ChannelChanged,
    /// A session was ended by its user.
    SessionEnded,
    /// A workspace was attached.
    WorkspaceAttached,
    /// A workspace was removed.
    WorkspaceRemoved,
    /// An operator's command was refused for want of a role.
    OperatorRefused,
    /// A process was restarted, held or released, or the host stopped, by an operator.
    OperatorCommand,
    /// A person was asked to approve a call.
    ApprovalAsked,
    /// A person answered, or nobody did in time.
    ApprovalAnswered,
    /// A grant for a session was given or taken back.
    GrantChanged,
    /// A person let one value go to one sink that its label keeps it from.
    Declassified,
    /// The tools that a turn will need were fixed before it read anything untrusted.
    PlanLocked,
    /// The owner's policies changed.
    PolicyChanged,
    /// The scanner found what is an alert: an injection, a secret of the host itself, or what a tool declares one;
    /// or audit saw too many of the same refusals.
    Alert,
    /// Less is free on the disk than is kept, and nothing new is begun (blocked); or there is room again (success).
    DiskLow,
    /// A torn last write was cut off the record at start; `bytes` says how much.
    RecordRepaired,
    /// Entries past their retention were removed, their hashes kept; the subject says which.
    RecordSealed,
    /// The record is signed with another key from here on; the hash is that of the note both keys signed.
    KeyRotated,
    /// A checkpoint of another host's record was posted here: the subject is that log's name, `bytes` its number of
    /// entries, the hash its root.
    CheckpointWitnessed,
    /// A key of the API was made; the subject is its name, the reason whose it is.
    KeyCreated,
    /// A key of the API was revoked; the subject is its name.
    KeyRevoked,
    /// A client of the API was refused: nobody's key or uid, or more than its key reaches; the reason says which.
    ApiRefused,
    /// The vault was opened with its passphrase, or made under one.
    VaultUnlocked,
    /// The passphrase or key that was given does not open the vault.
    VaultUnlockFailed,
    /// The vault was put under another passphrase or key, or every secret under a new key of its own; the reason says
    /// which.
    SecretRotated,
    /// A secret was bound to less than it was.
    SecretNarrowed,
    /// A secret was revoked: it is used no more.
    SecretRevoked,
    /// Every secret was given out with its value, sealed to who asked and showed what opens the vault.
    SecretExported,
}

/// The category of an action. Derived, so that it cannot differ from the action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Category {
    /// Permissions and secrets.
    Auth,
    /// Model and tool calls, and what was decided of them.
    Tool,
    /// The memory store.
    Memory,
    /// Labels, and what they hold back.
    Label,
    /// Messages, turns and answers.
    Channel,
    /// The host's own settings and its record.
    Config,
    /// Workspaces and jails.
    Sandbox,
}

/// How much an event matters; greater matters more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A step on the way.
    Debug,
    /// An action that was done.
    Info,
    /// An action that was refused.
    Warning,
    /// An action that failed.
    Error,
    /// An action that a person must see; kept for ever.
    Critical,
}

impl Action {
    /// The category of this action.
    #[must_use]
    #[expect(clippy::too_many_lines, reason = "a table, a line for each action")]
    pub const fn category(self) -> Category {
        match self {
            Self::MessageAccepted
            | Self::MessageBlocked
            | Self::TurnStarted
            | Self::TurnEnded
            | Self::TurnRetried
            | Self::MessageQuarantined
            | Self::MessageRecalled
            | Self::MessageTakenIn
            | Self::MessageRequeued
            | Self::QueuePaused
            | Self::TurnsStopped
            | Self::JobChanged
            | Self::JobFired
            | Self::JobFailed
            | Self::AnswerReleased
            | Self::SenderDropped
            | Self::PieceSent
            | Self::ChannelChanged
            | Self::SessionEnded => Category::Channel,
            Self::ModelDecided
            | Self::ModelEnded
            | Self::ImageGiven
            | Self::UsageDisbelieved
            | Self::ToolDecided
            | Self::ToolEnded
            | Self::ServerInstalled
            | Self::ServerToolApproved
            | Self::ServerToolChanged
            | Self::NetworkDecided
            | Self::NetworkUsed
            | Self::PlanLocked
            | Self::ApprovalAsked
            | Self::ApprovalAnswered => Category::Tool,
            Self::LabelRaised | Self::CanaryLeaked | Self::SecretRedacted | Self::Declassified => {
                Category::Label
            }
            Self::SecretUsed
            | Self::SecretMisdirected
            | Self::SecretSet
            | Self::SecretRemoved
            | Self::VaultUnlocked
            | Self::VaultUnlockFailed
            | Self::SecretRotated
            | Self::SecretNarrowed
            | Self::SecretRevoked
            | Self::SecretExported
            | Self::UserAdded
            | Self::UserRemoved
            | Self::IdentityChanged
            | Self::PairingChanged
            | Self::OperatorRefused
            | Self::GrantChanged
            | Self::KeyCreated
            | Self::KeyRevoked
            | Self::ApiRefused
            | Self::Alert => Category::Auth,
            Self::MemoryWritten | Self::MemoryDeleted | Self::MemoryGiven => Category::Memory,
            Self::OperatorCommand
            | Self::StateFrozen
            | Self::PolicyChanged
            | Self::DiskLow
            | Self::RecordRepaired
            | Self::RecordSealed
            | Self::KeyRotated
            | Self::CheckpointWitnessed => Category::Config,
            Self::WorkspaceAttached
            | Self::WorkspaceRemoved
            | Self::HostProbed
            | Self::ProbeSurprise
            | Self::AttestDrift
            | Self::ProcessViolation
            | Self::SandboxViolation => Category::Sandbox,
        }
    }

    /// How much it matters, having come out so.
    #[must_use]
    pub const fn severity(self, result: Result3) -> Severity {
        match (self, result) {
            (
                Self::CanaryLeaked
                | Self::SecretMisdirected
                | Self::SecretExported
                | Self::Declassified
                | Self::ServerToolChanged
                | Self::Alert
                | Self::AttestDrift
                | Self::ProbeSurprise
                | Self::ProcessViolation
                | Self::RecordRepaired
                | Self::RecordSealed
                | Self::KeyRotated,
                _,
            ) => Severity::Critical,
            (_, Result3::Error) => Severity::Error,
            (_, Result3::Blocked) => Severity::Warning,
            (Self::TurnStarted | Self::ModelDecided | Self::PlanLocked, Result3::Success) => Severity::Debug,
            (_, Result3::Success) => Severity::Info,
        }
    }
}
