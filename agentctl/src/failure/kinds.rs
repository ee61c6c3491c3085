//! The fixed names of the host's errors, as they stand in `error.type`. A released name is never changed.

use ipc_proto::audit::AuditError;
use ipc_proto::control::ControlError;
use ipc_proto::credproxy::CredError;
use ipc_proto::curator::CuratorError;
use ipc_proto::gate::{PolicyError, RelayError};
use ipc_proto::mcp::McpError;
use ipc_proto::memory::MemoryError;
use ipc_proto::model::ModelError;
use ipc_proto::router::RouterError;
use ipc_proto::scheduler::SchedulerError;

pub(super) const fn control(error: &ControlError) -> &'static str {
    match error {
        ControlError::NotAllowed(_) => "not_allowed",
        ControlError::NoProcess(_) => "no_process",
        ControlError::Down(_) => "down",
        ControlError::Router(error) => router(error),
        ControlError::Memory(error) => memory(*error),
        ControlError::Curator(error) => curator(*error),
        ControlError::Cred(error) => cred(*error),
        ControlError::Audit(AuditError::NotDurable) => "not_durable",
        ControlError::Audit(AuditError::Broken) => "broken",
        ControlError::Audit(AuditError::NoEntry) => "no_entry",
        ControlError::Audit(AuditError::Sealed) => "sealed",
        ControlError::Audit(AuditError::NoDigest) => "no_digest",
        ControlError::NoModel(_) => "no_model",
        ControlError::NoAct(_) => "no_act",
        ControlError::Frozen => "frozen",
        ControlError::Restless => "restless",
        ControlError::Policy(error) => policy(error),
        ControlError::Mcp(error) => mcp(error),
        ControlError::Relay(error) => relay(error),
        ControlError::Schedule(error) => schedule(error),
        ControlError::NoScheduler => "no_scheduler",
        ControlError::Channel(_) => "channel",
        ControlError::Embedder(_) => "embedder",
    }
}

const fn mcp(error: &McpError) -> &'static str {
    match error {
        McpError::NoServer(_) => "no_server",
        McpError::Trouble { .. } => "server",
        McpError::Login { .. } => "login",
        McpError::NoAnswer => "no_answer",
        McpError::NotDurable => "not_durable",
    }
}

const fn schedule(error: &SchedulerError) -> &'static str {
    match error {
        SchedulerError::NoJob | SchedulerError::NotProposed => "no_job",
        SchedulerError::BadExpression(_) => "bad_expression",
        SchedulerError::BadTime(_) => "bad_time",
        SchedulerError::Past(_) => "past",
        SchedulerError::NoZone(..) => "no_zone",
        SchedulerError::BadInterval(_) => "bad_interval",
        SchedulerError::NameTaken(_) => "name_taken",
        SchedulerError::BadName => "bad_name",
        SchedulerError::NoPrompt => "no_prompt",
        SchedulerError::TooMany(_) => "too_many_jobs",
        SchedulerError::StillRuns(_) => "still_runs",
        SchedulerError::Over => "over",
        SchedulerError::Router(error) => router(error),
        SchedulerError::NoRouter => "down",
        SchedulerError::NotDurable => "not_durable",
    }
}

const fn curator(error: CuratorError) -> &'static str {
    match error {
        CuratorError::NoJob => "no_job",
        CuratorError::Busy => "queue_busy",
        CuratorError::NotSo => "not_so",
        CuratorError::NoModel => "no_model",
        CuratorError::NotRecorded => "not_recorded",
        CuratorError::Storage => "storage",
    }
}

const fn relay(error: &RelayError) -> &'static str {
    match error {
        RelayError::NoKey => "no_key",
        RelayError::NotInScope => "not_in_scope",
        RelayError::Policy(_) => "policy",
        RelayError::Blocked(_) => "blocked",
        RelayError::Busy { .. } => "busy",
        RelayError::Model(error) => model(*error),
        RelayError::Down(_) => "down",
        RelayError::NoMemory => "no_memory_access",
        RelayError::NoAgent(_) => "no_agent",
        RelayError::Memory(error) => memory(*error),
        RelayError::Embedder(_) => "embedder",
    }
}

const fn model(error: ModelError) -> &'static str {
    match error {
        ModelError::UnknownModel => "no_model",
        ModelError::RateLimited { .. } => "rate_limited",
        ModelError::Timeout => "timeout",
        ModelError::InvalidJson => "invalid_json",
        ModelError::Truncated => "truncated",
        ModelError::Auth => "auth",
        ModelError::Rejected { .. } | ModelError::NoVision => "rejected",
        ModelError::Server { .. } => "server",
        ModelError::Credentials(error) => cred(error),
        ModelError::Script => "script",
        ModelError::NoStream => "no_stream",
        ModelError::Busy => "busy",
        ModelError::Budget { .. } => "budget",
        ModelError::TooLong { .. } => "too_long",
        ModelError::CoolingDown { .. } => "cooling_down",
        ModelError::Ledger => "ledger",
        ModelError::Unpriced => "unpriced",
    }
}

const fn router(error: &RouterError) -> &'static str {
    match error {
        RouterError::NoTurn => "no_turn",
        RouterError::NoSession(_) => "no_session",
        RouterError::SessionOver => "session_over",
        RouterError::NoMessage => "no_message",
        RouterError::NoUser => "not_allowed",
        RouterError::NoAgent(_) => "no_agent",
        RouterError::NoWorkspace => "no_workspace",
        RouterError::Taken => "taken",
        RouterError::BadMessage => "bad_message",
        RouterError::UserExists => "user_exists",
        RouterError::Busy { .. } => "busy",
        RouterError::NoRoom { .. } => "no_room",
        RouterError::NotDurable => "not_durable",
        RouterError::NoTarget(_) => "no_target",
        RouterError::NotByChannel => "not_by_channel",
        RouterError::BadStep => "bad_step",
        RouterError::InUse => "in_use",
        RouterError::BadUser => "bad_user",
        RouterError::NoApproval => "no_approval",
        RouterError::NotPending(_) => "not_pending",
        RouterError::WrongHash => "wrong_hash",
        RouterError::TooManyApprovals { .. } => "too_many_approvals",
        RouterError::TooManyRuns { .. } => "too_many_runs",
        RouterError::TooManyTasks { .. } => "too_many_tasks",
        RouterError::TooDeep => "too_deep",
        RouterError::NotUnderWay => "not_under_way",
        RouterError::BadWords => "bad_words",
        RouterError::NoVision(_) => "no_vision",
        RouterError::NotSteered(_) => "not_steered",
        RouterError::OwnerOnly => "owner_only",
        RouterError::NotGrantable => "not_grantable",
        RouterError::NotApproved => "not_approved",
        RouterError::NoCall => "no_call",
        RouterError::TooLate(_) => "too_late",
        RouterError::NotDead(_) => "not_dead",
        RouterError::NoKey => "no_key",
        RouterError::NotInScope(_) => "not_in_scope",
        RouterError::KeyExists => "key_exists",
        RouterError::TooManyKeys { .. } => "too_many_keys",
        RouterError::BadKey => "bad_key",
        RouterError::KeyReused => "key_reused",
    }
}

const fn policy(error: &PolicyError) -> &'static str {
    match error {
        PolicyError::Invalid { .. } => "invalid_policy",
        PolicyError::BadName(_) => "bad_name",
        PolicyError::NoPolicy(_) => "no_policy",
        PolicyError::Full => "full",
        PolicyError::NotDurable => "not_durable",
    }
}

const fn memory(error: MemoryError) -> &'static str {
    match error {
        MemoryError::NotFound => "no_memory",
        MemoryError::Refused(_) => "refused",
        MemoryError::ScannerDown => "scanner_down",
        MemoryError::NotRecorded => "not_recorded",
        MemoryError::Full | MemoryError::ShareFull => "full",
        MemoryError::NeedsPerson => "needs_person",
        MemoryError::NotCurrent(_) => "not_current",
        MemoryError::OtherEmbedder => "other_embedder",
        MemoryError::ReadOnly => "read_only",
        MemoryError::Damaged => "damaged",
        MemoryError::Storage => "storage",
    }
}

const fn cred(error: CredError) -> &'static str {
    match error {
        CredError::NoSecret => "no_secret",
        CredError::NotBound => "not_bound",
        CredError::BadUrl => "bad_url",
        CredError::NotSealed => "not_sealed",
        CredError::Vault => "vault",
        CredError::BadHeader => "bad_header",
        CredError::BadValue => "bad_value",
        CredError::BadBinding => "bad_binding",
        CredError::Full => "full",
        CredError::NotRecorded => "not_recorded",
        CredError::Locked => "locked",
        CredError::WrongPassphrase => "wrong_passphrase",
        CredError::BadPassphrase => "bad_passphrase",
        CredError::NotByPassphrase => "not_by_passphrase",
        CredError::Revoked => "revoked",
        CredError::Expired => "expired",
        CredError::Spent => "spent",
        CredError::Widens => "widens",
        CredError::NoTrial => "no_trial",
        CredError::Misplaced => "misplaced",
        CredError::Login => "login",
        CredError::Dial(_)
        | CredError::Tls
        | CredError::Upstream
        | CredError::Compressed
        | CredError::Stalled
        | CredError::Unsent
        | CredError::NoUpgrade { .. }
        | CredError::NoReply => "upstream",
    }
}
