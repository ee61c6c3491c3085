//! What the canned host answers.

use ipc_proto::audit::{Action, Event, Record, Report, Result3, Serial};
use ipc_proto::config::UserRole;
use ipc_proto::control::{Answer, Ask, Control, ControlError, HostStatus, LogChunk, ProcessStatus};
use ipc_proto::credproxy::SecretInfo;
use ipc_proto::ids::{CallId, MemoryId, MessageId, SessionId, TurnId, UserId, WorkspaceId};
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::memory::{Area, Entry, Hit, Row};
use ipc_proto::model::{Message, ModelInfo, Role, Usage};
use ipc_proto::router::{
    Accepted, AgentInfo, End, EventName, Finished, Followed, Labelled, MessageInfo, MessageState, NamedEvent,
    Passed, RouterError, SessionInfo, SessionName, SessionView, TurnEvent, UserInfo, WorkspaceInfo,
};
use ipc_proto::tool::Outcome;
use ipc_proto::{Blob, List, Name, PROTOCOL_VERSION, Text};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use tarpc::context::Context;
use tokio::sync::Notify;

/// What the host does, and what was asked of it.
#[derive(Default)]
pub(crate) struct State {
    /// The protocol version it claims, if not ours.
    pub(crate) version: Option<u32>,
    /// Events of the one turn.
    pub(crate) events: Vec<TurnEvent>,
    /// Event numbers at which following breaks the connection, once each.
    pub(crate) cuts: BTreeSet<u64>,
    /// The first so many submits break the connection after they were taken.
    pub(crate) cut_submits: usize,
    /// What every command is answered with, if anything.
    pub(crate) refuse: Option<ControlError>,
    /// Pids to list as running processes.
    pub(crate) processes: Vec<(&'static str, u32)>,
    /// The state directory.
    pub(crate) state_dir: String,
    /// How often the process `router` was started.
    pub(crate) generation: u64,
    /// `restart` breaks the connection after it took effect.
    pub(crate) cut_restart: bool,
    /// Entries of the record.
    pub(crate) records: u64,
    /// The record is broken.
    pub(crate) broken: bool,
    /// What attaching is answered with, if not 0.
    pub(crate) attach: u8,
    // What was asked.
    pub(crate) asks: Vec<Ask>,
    pub(crate) follows: Vec<u64>,
    pub(crate) cancelled: usize,
    pub(crate) restarts: usize,
    pub(crate) ended: Vec<String>,
    pub(crate) removed: Vec<WorkspaceId>,
    pub(crate) secrets: Vec<(String, Vec<String>, Vec<u8>)>,
    pub(crate) directories: Vec<u64>,
    pub(crate) added: Vec<(MemoryId, String, Vec<String>)>,
}

/// The canned host.
#[derive(Clone, Default)]
pub(crate) struct Canned {
    state: Arc<Mutex<State>>,
    /// Breaks every connection.
    pub(crate) cut: Arc<Notify>,
    changed: Arc<Notify>,
}

pub(crate) const TURN: TurnId = TurnId::from_bytes([1; 16]);
pub(crate) const SESSION: SessionId = SessionId::from_bytes([2; 16]);
pub(crate) const MESSAGE: MessageId = MessageId::from_bytes([3; 16]);
pub(crate) const CALL: CallId = CallId::from_bytes([4; 16]);
pub(crate) const USER: UserId = UserId::from_bytes([5; 16]);
pub(crate) const WORKSPACE: WorkspaceId = WorkspaceId::from_bytes([6; 16]);
pub(crate) const MEMORY: MemoryId = MemoryId::from_bytes([7; 16]);

pub(crate) fn label() -> Label {
    Label::of(Trust::Untrusted, Class::Internal, "web")
}

/// The last event of a turn.
pub(crate) fn done(end: End, text: &str) -> TurnEvent {
    let usage = Usage { input: 10, output: 5, ..Usage::default() };
    TurnEvent::Done(Finished {
        end,
        text: Text::clip(text),
        label: label(),
        usage,
        duration_ms: 12,
        attempts: 1,
    })
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

impl Canned {
    /// A host whose one turn has these events.
    pub(crate) fn with(events: Vec<TurnEvent>) -> Self {
        let canned = Self::default();
        canned.set(|state| state.events = events);
        canned
    }

    /// Changes what it does.
    pub(crate) fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap());
        self.changed.notify_waiters();
    }

    /// Looks at what was asked.
    pub(crate) fn get<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.state.lock().unwrap())
    }

    pub(crate) fn version(&self) -> u32 {
        self.get(|state| state.version).unwrap_or(PROTOCOL_VERSION)
    }

    /// Takes a directory.
    pub(crate) fn attached(&self, about: &std::fs::Metadata) -> Vec<u8> {
        use std::os::unix::fs::MetadataExt;
        assert!(about.is_dir());
        self.set(|state| state.directories.push(about.ino()));
        match self.get(|state| state.attach) {
            0 => [&[0][..], &crate::host::ATTACHED_ID.bytes()].concat(),
            refusal => [&[refusal][..], &[0; 16]].concat(),
        }
    }

    fn guard(&self) -> Answer<()> {
        self.get(|state| state.refuse.clone()).map_or(Ok(()), Err)
    }

    /// Breaks the connection, and never answers.
    async fn break_off(&self) -> ! {
        self.cut.notify_waiters();
        loop {
            std::future::pending::<()>().await;
        }
    }
}

fn process(name: &str, pid: u32, generation: u64) -> ProcessStatus {
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

fn user_info() -> UserInfo {
    UserInfo {
        id: USER,
        name: Name::clip("ann"),
        role: UserRole::Owner,
        uids: List::clip([0, 1000]),
        identities: List::clip([Text::clip("chat:ann")]),
        configured: true,
    }
}

fn row() -> Row {
    let entry = Entry {
        id: MEMORY,
        content: Text::clip("the harbour office opens at 07:40"),
        tags: List::clip([Name::clip("harbour")]),
        label: label(),
        session: Some(SESSION),
    };
    Row { entry, area: Area::User, created_ms: 5 }
}

fn record(index: u64) -> Record {
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

impl Control for Canned {
    async fn whoami(self, _: Context) -> Answer<UserInfo> {
        self.guard()?;
        Ok(user_info())
    }

    async fn status(self, _: Context) -> Answer<HostStatus> {
        self.guard()?;
        let listed = self.get(|state| state.processes.clone());
        let generation = self.get(|state| state.generation);
        let some = if listed.is_empty() { vec![("router", 4242), ("gate", 0)] } else { listed };
        Ok(HostStatus {
            state: Name::clip("degraded"),
            mode: Name::clip("user"),
            version: Name::clip("0.1.0"),
            pid: std::process::id(),
            uptime_ms: 90_000_000,
            state_dir: Text::clip(&self.get(|state| state.state_dir.clone())),
            processes: List::clip(some.into_iter().map(|(name, pid)| process(name, pid, generation))),
        })
    }

    async fn restart(self, _: Context, name: Name) -> Answer<()> {
        self.guard()?;
        if manifest::row_named(&name).is_none() {
            return Err(ControlError::NoProcess(Text::clip("router, gate")));
        }
        self.set(|state| {
            state.restarts += 1;
            state.generation += 1;
        });
        if self.get(|state| state.cut_restart) {
            self.break_off().await;
        }
        Ok(())
    }

    async fn hold(self, _: Context, _: Name) -> Answer<()> {
        self.guard()
    }

    async fn release(self, _: Context, _: Name) -> Answer<()> {
        self.guard()
    }

    async fn shutdown(self, _: Context) -> Answer<()> {
        self.guard()
    }

    async fn logs(self, _: Context, name: Name, from: Option<u64>, _: u32) -> Answer<LogChunk> {
        self.guard()?;
        let text = format!("{name} WARN slow\n{name} INFO \u{1b}[2Jready\n");
        Ok(match from {
            None => LogChunk { text: Text::clip(&text), next: text.len() as u64 },
            Some(next) => LogChunk { text: Text::clip(""), next },
        })
    }

    async fn events(self, _: Context, after: u64, _: u32) -> Answer<List<NamedEvent, 256>> {
        self.guard()?;
        let event = |number| NamedEvent {
            number,
            at_ms: number,
            name: EventName::ToolCompleted,
            session: Some(SESSION),
            turn: Some(TURN),
            message: None,
            subject: Some(Name::clip("read")),
            detail: Some(Name::clip("success")),
        };
        Ok(List::clip((after + 1..=3).map(event)))
    }

    async fn submit(self, _: Context, ask: Ask) -> Answer<Accepted> {
        self.guard()?;
        self.set(|state| state.asks.push(ask));
        if self.get(|state| state.asks.len() <= state.cut_submits) {
            self.break_off().await;
        }
        Ok(Accepted { message: MESSAGE, turn: TURN, session: SESSION, waiting: 0 })
    }

    async fn follow(self, _: Context, turn: TurnId, from: u64, credit: u16) -> Answer<Followed> {
        assert_eq!(turn, TURN);
        self.set(|state| state.follows.push(from));
        let mut cut = false;
        self.set(|state| cut = state.cuts.remove(&from));
        if cut {
            self.break_off().await;
        }
        loop {
            let changed = self.changed.notified();
            let from_index = usize::try_from(from).unwrap();
            // Two at a time, and never over a cut, so that following goes on in pieces.
            let events: Vec<TurnEvent> = self.get(|state| {
                let to_cut = state
                    .cuts
                    .range(from + 1..)
                    .next()
                    .map_or(usize::MAX, |cut| usize::try_from(cut - from).unwrap());
                let most = 2.min(to_cut).min(usize::from(credit));
                state.events.iter().skip(from_index).take(most).cloned().collect()
            });
            if events.is_empty() {
                changed.await;
                continue;
            }
            let next = from + events.len() as u64;
            let over = matches!(events.last(), Some(TurnEvent::Done(_)));
            return Ok(Followed { from, events: List::clip(events), next, over });
        }
    }

    async fn cancel(self, _: Context, _: TurnId) -> Answer<()> {
        self.set(|state| {
            state.cancelled += 1;
            state.events.push(done(End::Cancelled, ""));
        });
        Ok(())
    }

    async fn sessions(self, _: Context) -> Answer<List<SessionInfo, 256>> {
        self.guard()?;
        Ok(List::clip([session_info("s1")]))
    }

    async fn session(self, _: Context, name: SessionName) -> Answer<SessionView> {
        self.guard()?;
        if name.as_str() == "gone" {
            return Err(ControlError::Router(RouterError::NoSession(Text::clip("s1"))));
        }
        let said = Labelled { message: Message::text(Role::User, "hello \u{1b}[31mred"), label: label() };
        Ok(SessionView { info: session_info(&name), transcript: List::clip([said]) })
    }

    async fn end_session(self, _: Context, name: SessionName) -> Answer<()> {
        self.guard()?;
        self.set(|state| state.ended.push(name.to_string()));
        Ok(())
    }

    async fn messages(self, _: Context, limit: u16) -> Answer<List<MessageInfo, 256>> {
        self.guard()?;
        let message = MessageInfo {
            id: MESSAGE,
            turn: TURN,
            session: Text::clip("s1"),
            user: Name::clip("ann"),
            channel: Name::clip("cli"),
            state: MessageState::Delivered,
            attempts: 1,
            accepted_ms: 1_000,
            bytes: 5,
        };
        Ok(List::clip(std::iter::repeat_n(message, usize::from(limit.min(1)))))
    }

    async fn trace(self, _: Context, _: MessageId) -> Answer<List<Passed, 128>> {
        self.guard()?;
        let passed = |state, at_ms| Passed { state, at_ms, attempt: 1, note: Text::clip("") };
        Ok(List::clip([passed(MessageState::Accepted, 1_000), passed(MessageState::Answered, 1_250)]))
    }

    async fn users(self, _: Context) -> Answer<List<UserInfo, 256>> {
        self.guard()?;
        Ok(List::clip([user_info()]))
    }

    async fn add_user(
        self,
        _: Context,
        name: Name,
        role: UserRole,
        uids: List<u32, 16>,
        identities: List<Text<256>, 16>,
    ) -> Answer<UserInfo> {
        self.guard()?;
        Ok(UserInfo { name, role, uids, identities, configured: false, id: USER })
    }

    async fn remove_user(self, _: Context, name: Name) -> Answer<()> {
        self.guard()?;
        if name.as_str() == "nobody" { Err(ControlError::Router(RouterError::NoUser)) } else { Ok(()) }
    }

    async fn agents(self, _: Context) -> Answer<List<AgentInfo, 64>> {
        self.guard()?;
        Ok(List::clip([AgentInfo {
            name: Name::clip("default"),
            model: Text::clip("offline/reader"),
            profile: Name::clip("paranoid"),
            tools: List::clip([Name::clip("read")]),
            limits: (50, 3, 120, 4096, 1000),
        }]))
    }

    async fn models(self, _: Context) -> Answer<List<ModelInfo, 256>> {
        self.guard()?;
        Ok(List::clip([ModelInfo {
            name: Text::clip("offline/reader"),
            context: 8192,
            output: 4096,
            tools: true,
        }]))
    }

    async fn workspaces(self, _: Context) -> Answer<List<WorkspaceInfo, 256>> {
        self.guard()?;
        Ok(List::clip([WorkspaceInfo {
            id: WORKSPACE,
            session: Text::clip("s1"),
            user: Name::clip("ann"),
            attached: false,
            label: label(),
        }]))
    }

    async fn remove_workspace(self, _: Context, id: WorkspaceId) -> Answer<()> {
        self.guard()?;
        self.set(|state| state.removed.push(id));
        Ok(())
    }

    async fn memory_add(
        self,
        _: Context,
        id: MemoryId,
        _: Area,
        content: Text<100_000>,
        tags: List<Name, 16>,
    ) -> Answer<MemoryId> {
        self.guard()?;
        let tags = tags.iter().map(ToString::to_string).collect();
        self.set(|state| state.added.push((id, content.to_string(), tags)));
        Ok(id)
    }

    async fn memory_search(self, _: Context, _: Area, _: Text<2048>, _: u16) -> Answer<List<Hit, 100>> {
        self.guard()?;
        Ok(List::clip([Hit { row: row(), snippet: Text::clip("the [harbour] office"), score: 900 }]))
    }

    async fn memory_show(self, _: Context, _: Area, _: MemoryId) -> Answer<Row> {
        self.guard()?;
        Ok(row())
    }

    async fn memory_list(self, _: Context, _: Area, _: u16, _: u32) -> Answer<List<Row, 100>> {
        self.guard()?;
        Ok(List::clip([row()]))
    }

    async fn memory_delete(self, _: Context, _: Area, _: MemoryId) -> Answer<()> {
        self.guard()
    }

    async fn audit_tail(self, _: Context, from: u64, max: u16, _: u32) -> Answer<List<Record, 256>> {
        self.guard()?;
        let records = self.get(|state| state.records);
        Ok(List::clip((from..records).take(usize::from(max)).map(record)))
    }

    async fn audit_verify(self, _: Context) -> Answer<Report> {
        self.guard()?;
        let broken = self.get(|state| state.broken);
        Ok(Report {
            entries: 7,
            broken_at: broken.then_some(7),
            fault: broken.then(|| Name::clip("the hash does not match")),
            head: [0xcd; 32],
        })
    }

    async fn cred_set(
        self,
        _: Context,
        name: Name,
        hosts: List<Text<253>, 8>,
        sealed: Blob<16384>,
    ) -> Answer<()> {
        self.guard()?;
        let hosts = hosts.iter().map(ToString::to_string).collect();
        self.set(|state| state.secrets.push((name.to_string(), hosts, sealed.to_vec())));
        Ok(())
    }

    async fn cred_list(self, _: Context) -> Answer<List<SecretInfo, 256>> {
        self.guard()?;
        let secret = SecretInfo {
            name: Name::clip("key"),
            hosts: List::clip([Text::clip("api.example.com")]),
            set_ms: 1,
            uses: 2,
            used_ms: 0,
        };
        Ok(List::clip([secret]))
    }

    async fn cred_remove(self, _: Context, _: Name) -> Answer<()> {
        self.guard()
    }
}
