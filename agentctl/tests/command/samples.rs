//! The contents of canned answers: one of each kind, always the same.

use ipc_proto::api::{KeyInfo, KeyScope};
use ipc_proto::approval::Grant;
use ipc_proto::audit::{Action, Event, NOTE, Record, Result3, Serial};
use ipc_proto::config::UserRole;
use ipc_proto::control::{CallFigures, Denied, EndFigures, Inspection, ProcessStatus};
use ipc_proto::credproxy::{Binding, Lease, LoginInfo, SecretInfo, Verb};
use ipc_proto::curator::{AnswerType, JobInfo, JobKind, JobState, JobView, Priority};
use ipc_proto::gate::Tried;
use ipc_proto::ids::{
    ApprovalId, CallId, JobId, KeyId, MemoryId, MessageId, SessionId, TurnId, UserId, WorkspaceId,
};
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::memory::{Area, Detail, Entry, Row, SessionRow, SessionStatus};
use ipc_proto::model::{BudgetInfo, ModelInfo, Per, Usage, UsageRow};
use ipc_proto::router::{
    CallInfo, Effect, End, Finished, MessageInfo, MessageState, MessageView, Passed, SessionInfo, TurnEvent,
    UserInfo,
};
use ipc_proto::tool::Outcome;
use ipc_proto::{Blob, List, Name, Text};

pub(crate) const TURN: TurnId = TurnId::from_bytes([1; 16]);
pub(crate) const SESSION: SessionId = SessionId::from_bytes([2; 16]);
pub(crate) const MESSAGE: MessageId = MessageId::from_bytes([3; 16]);
/// The message that replaced a dead letter.
pub(crate) const AFTER: MessageId = MessageId::from_bytes([13; 16]);
pub(crate) const CALL: CallId = CallId::from_bytes([4; 16]);
pub(crate) const USER: UserId = UserId::from_bytes([5; 16]);
pub(crate) const WORKSPACE: WorkspaceId = WorkspaceId::from_bytes([6; 16]);
pub(crate) const MEMORY: MemoryId = MemoryId::from_bytes([7; 16]);

/// A refusal of a user who has not this role.
pub(crate) fn denied(needs: &str) -> Denied {
    Denied { needs: Name::clip(needs), uid: 1001, user: Some((Name::clip("ann"), Name::clip("guest"))) }
}

pub(crate) fn label() -> Label {
    Label::of(Trust::Untrusted, Class::Internal, "web")
}

/// The last event of a turn.
pub(crate) fn done(end: End, text: &str) -> TurnEvent {
    TurnEvent::Done(finished(end, text))
}

fn finished(end: End, text: &str) -> Finished {
    let usage = Usage { input: 10, output: 5, ..Usage::default() };
    Finished { end, text: Text::clip(text), label: label(), usage, duration_ms: 12, attempts: 1 }
}

pub(crate) fn message_info(state: MessageState) -> MessageInfo {
    MessageInfo {
        id: MESSAGE,
        turn: TURN,
        session: Text::clip("s1"),
        user: Name::clip("ann"),
        channel: Name::clip("cli"),
        state,
        attempts: 1,
        accepted_ms: 1_000,
        bytes: 5,
    }
}

/// A dead letter with a call that came back and one of which nothing is known.
pub(crate) fn message_view() -> MessageView {
    let call = |number, effect| CallInfo {
        id: CallId::from_bytes([number; 16]),
        tool: Name::clip("bash"),
        effect,
        record: number.into(),
    };
    let passed = |state, at_ms| Passed { state, at_ms, attempt: 1, note: Text::clip("") };
    MessageView {
        info: message_info(MessageState::Quarantined),
        text: Text::clip("pay the \u{1b}[31mharbour fee"),
        label: Some(label()),
        states: List::clip([passed(MessageState::Accepted, 1_000), passed(MessageState::Quarantined, 1_250)]),
        calls: List::clip([call(4, Effect::Done), call(5, Effect::Unknown)]),
        finished: Some(finished(End::Quarantined(Text::clip("the runner was ended by signal 9")), "")),
        stands_for: None,
        replaced_by: Some(AFTER),
    }
}

pub(crate) fn key_info(name: Name, scope: KeyScope) -> KeyInfo {
    KeyInfo {
        id: KeyId::from_bytes([15; 16]),
        name,
        user: Name::clip("ann"),
        scope,
        created_ms: 1_000,
        used_ms: 60_000,
        revoked_ms: None,
    }
}

pub(crate) fn job() -> JobView {
    let info = JobInfo {
        id: JobId::from_bytes([16; 16]),
        kind: JobKind::Ask,
        state: JobState::Dead,
        priority: Priority::Low,
        owner: USER,
        area: Area::User,
        about: Text::default(),
        model: Some(Text::clip("corp/small")),
        attempts: 3,
        created_ms: 1_000,
        due_ms: 2_000,
        reason: Text::clip("LLM_TIMEOUT: the provider did not answer in time"),
    };
    JobView { info, wants: AnswerType::Json, prompt: Text::clip("what is a?"), answer: Text::default() }
}

pub(crate) fn said(text: &str) -> TurnEvent {
    TurnEvent::Text(Text::clip(text))
}

pub(crate) fn output(error: bool, bytes: &[u8]) -> TurnEvent {
    TurnEvent::Output { error, bytes: Blob::new(bytes).unwrap() }
}

/// A call that was released, or refused.
pub(crate) fn tool(refused: Option<&str>) -> TurnEvent {
    TurnEvent::ToolStart {
        call: CALL,
        tool: Name::clip("read"),
        args: Text::clip("{\"path\":\"notes\"}"),
        refused: refused.map(Text::clip),
        record: 42,
    }
}

pub(crate) fn tool_end() -> TurnEvent {
    TurnEvent::ToolEnd { call: CALL, outcome: Outcome::Success, duration_ms: 7 }
}

pub(crate) fn process(name: &str, pid: u32, generation: u64) -> ProcessStatus {
    ProcessStatus {
        name: Name::clip(name),
        state: Name::clip(if pid == 0 { "held" } else { "ready" }),
        pid,
        uid: 900,
        generation,
        restarts: generation.saturating_sub(1),
        uptime_ms: 61_000,
        pss_kib: 1536,
        rss_kib: 4096,
        calls: 12,
        refused: 1,
        p50_us: 20,
        p99_us: 300,
        in_flight: 1,
        queue: 2,
    }
}

/// A process that was called once over one edge, and ended once.
pub(crate) fn inspection() -> Inspection {
    let call = CallFigures {
        caller: Name::clip("control"),
        callee: Name::clip("router"),
        method: Name::clip("queue"),
        waits: false,
        calls: 7,
        rate_milli: 250,
        errors: 1,
        refused: 0,
        abandoned: 0,
        in_flight: 1,
        oldest_ms: 40,
        p50_us: 20,
        p99_us: 300,
    };
    let end = EndFigures {
        process: Name::clip("router"),
        at_ms: 1_795_831_413_043,
        lived_ms: 61_000,
        ended: 1,
        code: 9,
        cause: 3,
    };
    Inspection {
        cpu_ms: Some(30),
        threads: Some(2),
        calls: List::clip([call]),
        ends: List::clip([end]),
        ..Inspection::default()
    }
}

pub(crate) fn session_info(name: &str) -> SessionInfo {
    SessionInfo {
        id: SESSION,
        name: Text::clip(name),
        user: Name::clip("ann"),
        agent: Name::clip("default"),
        status: Name::clip("active"),
        label: label(),
        workspace: WORKSPACE,
        messages: 3,
        created_ms: 1_000,
        used_ms: 2_000,
    }
}

pub(crate) fn user_info() -> UserInfo {
    UserInfo {
        id: USER,
        name: Name::clip("ann"),
        role: UserRole::Owner,
        uids: List::clip([0, 1000]),
        identities: List::clip([Text::clip("chat:ann")]),
        configured: true,
    }
}

pub(crate) fn row() -> Row {
    let entry = Entry {
        id: MEMORY,
        content: Text::clip("the harbour office opens at 07:40"),
        tags: List::clip([Name::clip("harbour")]),
        label: label(),
        session: Some(SESSION),
        detail: Detail::default(),
    };
    Row::new(entry, Area::User, 5)
}

pub(crate) fn client_session() -> SessionRow {
    SessionRow {
        id: SESSION,
        client: Name::clip("opencode"),
        name: Text::clip("ses_1"),
        project: Text::clip("/src/ferry"),
        started_ms: 5,
        ended_ms: None,
        status: SessionStatus::Idle,
        observations: 3,
        summary: None,
        muted: false,
    }
}

pub(crate) fn record(index: u64) -> Record {
    let event = Event::new(Action::ToolDecided, Result3::Blocked).about("bash").in_turn(SESSION, TURN);
    Record {
        index,
        time_ms: 1_000 + index,
        witness: Name::clip("gate"),
        serial: Serial { life: u64::MAX, number: index },
        event,
        hash: [0xab; 32],
    }
}

/// A checkpoint of 7 entries, as audit signs them.
pub(crate) fn note() -> Text<NOTE> {
    Text::clip(
        "cordon/canned\n7\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\n\u{2014} cordon/canned AAAAAA==\n",
    )
}

/// How a model did that was tried.
pub(crate) const TRIED: Tried = Tried { first_ms: 120, whole_ms: 300, tokens: (9, 2), cost_micros: 57 };

pub(crate) fn usage_row(group: &str) -> UsageRow {
    UsageRow {
        group: Text::clip(group),
        answers: 3,
        input: 40,
        output: 8,
        cache_read: 5,
        cache_write: 0,
        estimated: 1,
        disbelieved: 1,
        cost_micros: 1_500_000,
        claimed_micros: 9_000_000,
    }
}

pub(crate) fn budget_info() -> BudgetInfo {
    BudgetInfo {
        per: Per::Day,
        whose: Text::clip("*"),
        limit_micros: 2_000_000,
        spent_micros: 1_500_000,
        reserved_micros: 1,
        at_limit: Name::clip("block"),
    }
}

pub(crate) fn secret_info() -> SecretInfo {
    SecretInfo {
        name: Name::clip("key"),
        binding: Binding {
            hosts: List::clip([Text::clip("api.example.com")]),
            verbs: List::clip([Verb::Get, Verb::Post]),
            ..Binding::default()
        },
        lease: Lease { until_ms: None, uses: Some(3) },
        revoked: false,
        set_ms: 1,
        uses: 2,
        used_ms: 0,
        login: Some(LoginInfo { until_ms: Some(9_000), renews: true }),
    }
}

pub(crate) fn model_info() -> ModelInfo {
    ModelInfo {
        name: Text::clip("offline/reader"),
        context: 8192,
        output: 4096,
        tools: true,
        vision: false,
        embeds: false,
        priced: true,
        input_micros: 0,
        output_micros: 0,
    }
}

pub(crate) fn grant() -> Grant {
    Grant {
        id: ApprovalId::from_bytes([8; 16]),
        session: SESSION,
        tool: Name::clip("bash"),
        scope: [0xef; 32],
        given_by: Name::clip("ann"),
        given_ms: 1_000,
    }
}
