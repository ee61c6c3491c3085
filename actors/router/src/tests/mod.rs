//! Lives of the router, played out: every test drives the real router and the real database, and plays audit, the
//! scanner, agentd and the gate by answering its effects, so that a crash can be put at any place.

mod accepting;
mod approving;
mod channel_approvals;
mod channel_files;
mod channel_host;
mod channel_matrix;
mod channels;
mod chaos;
mod crash;
mod dead_letters;
mod delegating;
mod engines;
mod following;
mod granting;
mod images;
mod input;
mod keys;
mod leases;
mod lives;
mod migrating;
mod outbox;
mod pausing;
mod postponing;
mod refusals;
mod runners;
mod sessions;
mod steering;
mod stepping;
mod stopping;
mod taking;
mod unpaid;
mod world;

pub(crate) use sessions::bob;
pub(crate) use world::World;

use crate::state::approvals::Questions;
use ipc_proto::approval::Question;
use ipc_proto::config::{self, Agent, AgentLimits, UserRole};
use ipc_proto::content::Content;
use ipc_proto::ids::{ApprovalId, CallId, UserId};
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::model::Usage;
use ipc_proto::router::{CallVerdict, End, Finished, MessageState, Released, Step, Submission, Task, Why};
use ipc_proto::tool::{Outcome, ToolCall, ToolResult};
use ipc_proto::{List, Name, Text};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// A configuration with the agent `default`, three turns at once, two of one user, and small queues.
pub(crate) fn config() -> config::Router {
    let limits = AgentLimits {
        tool_calls: 50,
        tool_failures: 3,
        seconds: 120,
        cpu_seconds: 60,
        run_seconds: 3600,
        run_cpu_seconds: 3600,
        output_tokens: 4096,
        model_calls_per_hour: 100,
        same_call: 3,
    };
    let agent = Agent {
        model: "offline/reader".into(),
        prompt: String::new(),
        tools: vec!["read".into()],
        delegates: vec![],
        profile: "paranoid".into(),
        blocks_own_words: false,
        memory: false,
        memory_tokens: 4000,
        limits,
        sees: true,
        engine: None,
        network: None,
        browser_isolate: false,
    };
    config::Router {
        users: vec![user("ann", &[1001], UserRole::User), user("guy", &[1002], UserRole::Guest)],
        agents: BTreeMap::from([("default".to_owned(), agent.clone()), ("other".to_owned(), agent)]),
        owner_uid: 1000,
        queue_per_session: 5,
        queue_per_user: 64,
        turns_per_user: 2,
        turns_asking: 9,
        turns_delegated: 4,
        queue_total: 16,
        turns_at_once: 3,
        channels: BTreeMap::new(),
    }
}

/// A configured user.
pub(crate) fn user(name: &str, uids: &[u32], role: UserRole) -> config::User {
    config::User { name: name.into(), uids: uids.to_vec(), role, identities: vec![] }
}

/// A chat message of `user`.
pub(crate) fn said(user: UserId, session: &str, key: &str, text: &str) -> Submission {
    Submission {
        user,
        session: Text::clip(session),
        agent: None,
        channel: Name::clip("control"),
        key: Text::clip(key),
        content: Content::text(Text::clip(text)),
        task: Task::Chat,
        workspace: None,
        workspace_label: None,
    }
}

/// An answer of the gate.
pub(crate) fn answer(text: &str) -> Finished {
    Finished {
        end: End::Answered,
        text: Text::clip(text),
        label: Label::of(Trust::User, Class::Internal, "control"),
        usage: Usage { input: 3, output: 4, ..Usage::default() },
        duration_ms: 0,
        attempts: 0,
    }
}

/// A reply that has call `n` released.
pub(crate) fn reply(n: u8) -> Step {
    let call = ToolCall { id: CallId::from_bytes([n; 16]), tool: Name::clip("read"), args: Text::clip("{}") };
    let released = Released { call, verdict: CallVerdict::Run, record: u64::from(n), why: Why::default() };
    Step::Reply { text: Text::clip("let me see"), calls: List::clip([released]), thoughts: List::default() }
}

/// A reply that has a person asked about call `n`.
pub(crate) fn asking(n: u8) -> Step {
    let call = ToolCall { id: CallId::from_bytes([n; 16]), tool: Name::clip("bash"), args: Text::clip("{}") };
    let verdict = CallVerdict::Asking(approval(n));
    let released = Released { call, verdict, record: u64::from(n), why: Why::default() };
    Step::Reply { text: Text::clip("may I?"), calls: List::clip([released]), thoughts: List::default() }
}

/// The step that decides call `n` in the end.
pub(crate) fn decided(n: u8, verdict: CallVerdict) -> Step {
    Step::Decided { call: CallId::from_bytes([n; 16]), verdict, record: u64::from(n) + 100 }
}

/// The id of the question about call `n`.
pub(crate) fn approval(n: u8) -> ApprovalId {
    ApprovalId::from_bytes([n; 16])
}

/// One question, to wait for.
pub(crate) fn one(id: ApprovalId) -> Questions {
    List::clip([id])
}

/// The question about call `n`, whose scope is its own; it ends at `expires_ms`.
pub(crate) fn question(n: u8, expires_ms: u64) -> Question {
    let action = format!(r#"{{"nonce":{n},"tool":"bash"}}"#);
    Question {
        id: approval(n),
        call: CallId::from_bytes([n; 16]),
        tool: Name::clip("bash"),
        hash: Sha256::digest(action.as_bytes()).into(),
        action: Text::clip(&action),
        scope: [n; 32],
        preview: Text::clip("runs a command"),
        reason: Text::clip("outside the plan"),
        policies: List::clip([Name::clip("standard")]),
        label: web(),
        declassifies: false,
        grantable: true,
        owner_only: false,
        expires_ms,
    }
}

/// The result of call `n`.
pub(crate) fn result(n: u8, output: &str) -> Step {
    let result = ToolResult {
        call: CallId::from_bytes([n; 16]),
        outcome: Outcome::Success,
        output: Text::clip(output),
        duration_ms: 1,
        snapshot: None,
    };
    Step::Result { result, label: web() }
}

/// The label of something from the web.
pub(crate) fn web() -> Label {
    Label::of(Trust::Untrusted, Class::Internal, "web")
}

/// The states of a trace.
pub(crate) fn states(trace: &[ipc_proto::router::Passed]) -> Vec<MessageState> {
    trace.iter().map(|passed| passed.state).collect()
}
