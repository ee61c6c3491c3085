//! The answers of the canned host.

use crate::channels::channel_methods;
use crate::recalled::memory_methods;
use crate::samples::{
    AFTER, MESSAGE, TRIED, budget_info, grant, inspection, job, key_info, message_info, message_view,
    model_info, note, process, record, secret_info, session_info, usage_row, user_info,
};
pub(crate) use crate::samples::{
    CALL, MEMORY, SESSION, TURN, USER, WORKSPACE, denied, done, label, output, said, tool, tool_end,
};
use crate::scheduled::schedule_methods;
use crate::servers::server_methods;
pub(crate) use crate::state::Canned;
use ipc_proto::api::{KEYS, KeyInfo, KeyScope, Presented};
use ipc_proto::approval::{self, ApprovalInfo, ApprovalView, FORM, Grant, Reply};
use ipc_proto::audit::{
    Action, AuditError, Consistency, Count, Filter, NOTE, Page, Proof, Record, Report, Result3, Rotation,
    Stats, TreeHead,
};
use ipc_proto::config::{KeySource, UserRole};
use ipc_proto::content::TEXT_BOUND;
use ipc_proto::control::{Answer, Ask, Control, ControlError, HostStatus, Inspection, LogChunk, Probed};
use ipc_proto::credproxy::{
    Binding, EXPORT_BOUND, Lease, PARCEL_BOUND, SECRET_BOUND, SecretInfo, VaultInfo, Verb,
};
use ipc_proto::curator::{CuratorError, Edit, JobState, JobView, Listing, PromptJob};
use ipc_proto::gate::{POLICY_BOUND, PolicyInfo, PolicySet, Tried};
use ipc_proto::ids::{ApprovalId, CallId, JobId, MessageId, TurnId, WorkspaceId};
use ipc_proto::model::{BudgetInfo, GroupBy, Message, ModelInfo, ModelName, Role, UsageRow};
use ipc_proto::router::{
    Accepted, AgentInfo, CallVerdict, End, EventName, Followed, Labelled, MessageInfo, MessageState,
    MessageView, NamedEvent, Node, Passed, QueueInfo, Released, RouterError, SessionInfo, SessionName,
    SessionView, Steer, Steering, Stopped, TREE, TurnEvent, Typed, UserInfo, Why, WorkspaceInfo,
};
use ipc_proto::tool::ToolCall;
use ipc_proto::{Blob, List, Name, Text};
use tarpc::context::Context;

impl Control for Canned {
    async fn whoami(self, _: Context) -> Answer<UserInfo> {
        self.guard()?;
        let role = self.get(|state| state.role).unwrap_or(UserRole::Owner);
        Ok(UserInfo { role, ..user_info() })
    }

    async fn status(self, _: Context) -> Answer<HostStatus> {
        self.guard()?;
        let listed = self.get(|state| state.processes.clone());
        let generation = self.get(|state| state.generation);
        let some = if listed.is_empty() { vec![("router", 4242), ("gate", 0)] } else { listed };
        Ok(HostStatus {
            state: Name::clip("degraded"),
            mode: Name::clip("user"),
            limits: Name::clip("watch"),
            self_check: Text::clip("passed in 84 ms"),
            version: Name::clip("0.1.0"),
            pid: std::process::id(),
            uptime_ms: 90_000_000,
            reason: Text::clip("disk: 3 MiB free, 64 are kept"),
            state_dir: Text::clip(&self.get(|state| state.state_dir.clone())),
            config: Text::clip(&self.get(|state| state.config.clone())),
            processes: List::clip(some.into_iter().map(|(name, pid)| process(name, pid, generation))),
        })
    }

    async fn inspect(self, _: Context, _: Name) -> Answer<Box<Inspection>> {
        self.guard()?;
        Ok(Box::new(inspection()))
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

    async fn freeze(self, _: Context, _: u32) -> Answer<()> {
        self.guard()
    }

    async fn thaw(self, _: Context) -> Answer<bool> {
        self.guard().map(|()| true)
    }

    async fn drift(self, _: Context, name: Name, properties: u16) -> Answer<()> {
        self.guard()?;
        if self.get(|state| state.refuse_drift) {
            return Err(ControlError::NotAllowed(denied("owner")));
        }
        self.set(|state| state.drifts.push((name.to_string(), properties)));
        Ok(())
    }

    /// Everything is refused, save what the test names.
    async fn probe(self, _: Context, name: Name, act: Name) -> Answer<Probed> {
        self.guard()?;
        let act = (name.to_string(), act.to_string());
        Ok(Probed {
            ended: 0,
            code: if self.get(|state| state.weak.clone()) == Some(act) { 200 } else { 13 },
        })
    }

    async fn probed(self, _: Context, acts: u32, surprises: u32) -> Answer<()> {
        self.guard().map(|()| self.set(|state| state.probed.push((acts, surprises))))
    }

    async fn logs(self, _: Context, name: Name, from: Option<u64>, _: u32) -> Answer<LogChunk> {
        self.guard()?;
        let text = format!(
            "2026-11-22T01:53:43.081866Z  WARN {name}: slow\n2026-11-22T01:53:44.081866Z  INFO {name}: \u{1b}[2Jready\n"
        );
        let (told, next) = match from.filter(|from| *from > 0) {
            None => (text.as_str(), text.len() as u64),
            Some(next) => ("", next),
        };
        Ok(LogChunk { text: Text::clip(told), next })
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

    async fn steer(self, _: Context, steer: Steer) -> Answer<Steering> {
        self.guard()?;
        if steer.session.as_str() == "quiet" {
            return Err(ControlError::Router(RouterError::NotUnderWay));
        }
        self.set(|state| state.said.push(steer));
        let accepted = Accepted { message: MESSAGE, turn: TURN, session: SESSION, waiting: 1 };
        Ok(Steering { accepted, into: TURN })
    }

    async fn follow(self, _: Context, turn: TurnId, from: u64, credit: u16) -> Answer<Followed> {
        assert_eq!(turn, TURN);
        let (mut cut, mut silent) = (false, false);
        self.set(|state| (cut, silent) = state.followed(from));
        if cut {
            self.break_off().await;
        }
        if silent {
            return Ok(Followed { from, events: List::default(), next: from, over: false });
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

    async fn tree(self, _: Context, _: TurnId) -> Answer<List<Node, TREE>> {
        self.guard().map(|()| List::default())
    }
    async fn type_in(self, _: Context, _: TurnId, _: u64, _: Typed) -> Answer<bool> {
        Ok(true)
    }

    async fn cancel(self, _: Context, _: TurnId) -> Answer<()> {
        self.set(|state| {
            state.cancelled += 1;
            state.events.push(done(End::Cancelled, ""));
        });
        Ok(())
    }

    async fn sessions(self, _: Context) -> Answer<List<SessionInfo, 256>> {
        self.guard().map(|()| List::clip([session_info("s1")]))
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
        self.guard().map(|()| self.set(|state| state.ended.push(name.to_string())))
    }

    async fn messages(self, _: Context, limit: u16, dead: bool) -> Answer<List<MessageInfo, 256>> {
        self.guard()?;
        let state = if dead { MessageState::Quarantined } else { MessageState::Delivered };
        Ok(List::clip(std::iter::repeat_n(message_info(state), usize::from(limit.min(1)))))
    }

    async fn message(self, _: Context, _: MessageId) -> Answer<MessageView> {
        self.guard().map(|()| message_view())
    }

    async fn recall(self, _: Context, id: MessageId) -> Answer<Text<TEXT_BOUND>> {
        self.guard()?;
        if id != MESSAGE {
            return Err(ControlError::Router(RouterError::TooLate(MessageState::Running)));
        }
        Ok(message_view().text)
    }

    async fn requeue(self, _: Context, id: MessageId, text: Option<Text<TEXT_BOUND>>) -> Answer<Accepted> {
        self.guard()?;
        assert_eq!(id, MESSAGE);
        self.set(|state| state.requeued.push(text.map(|text| text.to_string())));
        Ok(Accepted { message: AFTER, turn: TURN, session: SESSION, waiting: 2 })
    }

    async fn pause(self, _: Context, session: Option<SessionName>, paused: bool) -> Answer<()> {
        self.guard()?;
        self.set(|state| state.pauses.push((session.map(|name| name.to_string()), paused)));
        Ok(())
    }

    async fn stop(self, _: Context, session: Option<SessionName>, _: bool) -> Answer<Stopped> {
        self.guard()?;
        self.set(|state| state.stops.push(session.map(|name| name.to_string())));
        Ok(Stopped { running: 1, waiting: 2 })
    }

    async fn queue(self, _: Context) -> Answer<QueueInfo> {
        self.guard()?;
        let paused_sessions = List::clip([Text::clip("s1")]);
        Ok(QueueInfo { paused: false, paused_sessions, waiting: 3, running: 1, dead: 2 })
    }

    async fn trace(self, _: Context, _: MessageId) -> Answer<List<Passed, 128>> {
        self.guard()?;
        let passed = |state, at_ms| Passed { state, at_ms, attempt: 1, note: Text::clip("") };
        Ok(List::clip([passed(MessageState::Accepted, 1_000), passed(MessageState::Answered, 1_250)]))
    }

    channel_methods!();
    server_methods!();
    schedule_methods!();
    async fn agents(self, _: Context) -> Answer<List<AgentInfo, 64>> {
        self.guard()?;
        Ok(List::clip([AgentInfo {
            name: Name::clip("default"),
            model: Text::clip("offline/reader"),
            profile: Name::clip("paranoid"),
            engine: Name::clip("native"),
            tools: List::clip([Name::clip("read")]),
            limits: (50, 3, 120, 60, 4096, 1000, 3),
        }]))
    }

    async fn models(self, _: Context) -> Answer<List<ModelInfo, 256>> {
        self.guard().map(|()| List::clip([model_info()]))
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
        self.guard().map(|()| self.set(|state| state.removed.push(id)))
    }

    async fn curator_jobs(self, _: Context, _: Option<JobState>) -> Answer<Listing> {
        self.guard()?;
        Ok(Listing { waiting: 1, tokens_today: 7, jobs: List::clip([job().info]), ..Listing::default() })
    }

    async fn curator_job(self, _: Context, _: JobId) -> Answer<JobView> {
        self.guard().map(|()| job())
    }

    async fn curator_ask(self, _: Context, _: JobId, _: PromptJob) -> Answer<JobView> {
        self.guard().map(|()| job())
    }

    async fn curator_edit(self, _: Context, _: JobId, _: Edit) -> Answer<JobView> {
        self.guard().map(|()| job())
    }

    async fn curator_requeue(self, _: Context, _: JobId) -> Answer<JobView> {
        self.guard().map(|()| job())
    }

    async fn curator_drop(self, _: Context, _: JobId) -> Answer<()> {
        self.guard()?;
        Err(ControlError::Curator(CuratorError::Busy))
    }

    async fn curator_pause(self, _: Context, _: bool) -> Answer<()> {
        self.guard()
    }

    async fn curator_abort(self, _: Context, _: Option<JobId>) -> Answer<u32> {
        self.guard().map(|()| 2)
    }

    async fn curator_run(self, _: Context) -> Answer<u32> {
        self.guard().map(|()| 2)
    }

    memory_methods!();

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
            late: self.get(|state| state.late),
        })
    }

    async fn audit_prove(self, _: Context, index: u64) -> Answer<Proof> {
        self.guard()?;
        Ok(Proof {
            index,
            entry: Blob::new(*b"{\"index\":3}").unwrap(),
            inclusion: List::clip([[0xee; 32]]),
            checkpoint: note(),
            key: Text::clip("cordon/canned+00000000+AQ=="),
        })
    }

    async fn audit_consistency(self, _: Context, from: u64) -> Answer<Consistency> {
        self.guard().map(|()| Consistency { from, proof: List::default(), checkpoint: note() })
    }

    async fn audit_checkpoint(self, _: Context) -> Answer<Text<NOTE>> {
        self.guard().map(|()| note())
    }

    async fn audit_stats(self, _: Context) -> Answer<Stats> {
        self.guard()?;
        let count = Count { action: Action::ToolDecided, result: Result3::Success, total: 7, today: 2 };
        let entries = self.get(|state| state.records).max(7);
        Ok(Stats { entries, signed: 7, origin: Name::clip("cordon/canned"), counts: List::clip([count]) })
    }

    async fn audit_query(self, _: Context, from: u64, filter: Filter) -> Answer<Page> {
        self.guard()?;
        self.set(|state| {
            state.queries += 1;
            state.least_asked = Some(state.least_asked.map_or(from, |least| least.min(from)));
        });
        let (records, page) = self.get(|state| (state.records, state.page.unwrap_or(2)));
        let found =
            (from..records).map(record).filter(|record| filter.admits(record)).take(page).collect::<Vec<_>>();
        let next = found.last().map(|record| record.index + 1).filter(|next| *next < records);
        Ok(Page { records: List::clip(found), next })
    }

    async fn audit_digest(self, _: Context, day: u32) -> Answer<Text<NOTE>> {
        self.guard()?;
        if day == 20_778 { Ok(note()) } else { Err(ControlError::Audit(AuditError::NoDigest)) }
    }

    async fn audit_rotate_key(self, _: Context) -> Answer<Rotation> {
        self.guard().map(|()| Rotation { note: note(), key: Text::clip("cordon/canned+11111111+AQ==") })
    }

    async fn audit_witness(self, _: Context, _: TreeHead) -> Answer<()> {
        self.guard()
    }

    async fn cred_set(
        self,
        _: Context,
        name: Name,
        binding: Binding,
        lease: Lease,
        sealed: Blob<SECRET_BOUND>,
    ) -> Answer<()> {
        self.guard()?;
        self.set(|state| state.secrets.push((name.to_string(), binding, lease, sealed.to_vec())));
        Ok(())
    }

    async fn cred_list(self, _: Context) -> Answer<List<SecretInfo, 256>> {
        self.guard().map(|()| List::clip([secret_info()]))
    }

    async fn cred_remove(self, _: Context, _: Name) -> Answer<()> {
        self.guard()
    }

    async fn cred_bind(self, _: Context, name: Name, binding: Binding, lease: Lease) -> Answer<()> {
        self.guard()?;
        self.set(|state| state.secrets.push((name.to_string(), binding, lease, Vec::new())));
        Ok(())
    }

    async fn cred_revoke(self, _: Context, _: Name) -> Answer<()> {
        self.guard()
    }

    async fn cred_vault(self, _: Context) -> Answer<VaultInfo> {
        self.guard().map(|()| VaultInfo { key: KeySource::Passphrase, locked: true, empty: false })
    }

    async fn cred_unlock(self, _: Context, sealed: Blob<PARCEL_BOUND>) -> Answer<()> {
        self.guard().map(|()| self.set(|state| state.parcels.push(sealed.to_vec())))
    }

    async fn cred_passphrase(self, _: Context, sealed: Blob<PARCEL_BOUND>) -> Answer<()> {
        self.guard().map(|()| self.set(|state| state.parcels.push(sealed.to_vec())))
    }

    async fn cred_rotate(self, _: Context) -> Answer<()> {
        self.guard()
    }

    async fn cred_export(self, _: Context, sealed: Blob<PARCEL_BOUND>) -> Answer<Blob<EXPORT_BOUND>> {
        self.guard()?;
        self.set(|state| state.parcels.push(sealed.to_vec()));
        Ok(Blob::default())
    }

    async fn cred_test(self, _: Context, _: Name, verb: Verb, _: Text<2048>) -> Answer<u16> {
        self.guard().map(|()| if verb == Verb::Head { 204 } else { 200 })
    }

    async fn approvals(self, _: Context, all: bool) -> Answer<List<ApprovalInfo, 256>> {
        self.guard()?;
        let listed = self.get(|state| state.approvals.clone());
        let shown = listed.into_iter().map(|view| view.info);
        Ok(List::clip(shown.filter(|info| all || info.state == approval::State::Pending)))
    }

    async fn approval(self, _: Context, id: ApprovalId) -> Answer<ApprovalView> {
        self.guard()?;
        let found = self.get(|state| state.approvals.iter().find(|view| view.info.id == id).cloned());
        found.ok_or(ControlError::Router(RouterError::NoApproval))
    }

    async fn answer(
        self,
        _: Context,
        id: ApprovalId,
        hash: [u8; 32],
        reply: Reply,
        _: Text<FORM>,
    ) -> Answer<ApprovalInfo> {
        self.guard()?;
        self.set(|state| state.answers.push((id, hash, reply)));
        let mut info = self.clone().approval(tarpc::context::current(), id).await?.info;
        let to = if reply == Reply::Deny { approval::State::Denied } else { approval::State::Approved };
        (info.state, info.answered_by) = (to, Some(Name::clip("ann")));
        self.set(|state| {
            state.events.push(TurnEvent::Answered {
                id,
                state: to,
                note: Text::clip(if reply == Reply::Deny { "a person said no" } else { "approved" }),
            });
            state.events.push(done(End::Answered, "done"));
        });
        Ok(info)
    }

    async fn grants(self, _: Context) -> Answer<List<Grant, 256>> {
        self.guard().map(|()| List::clip([grant()]))
    }

    async fn revoke(self, _: Context, id: ApprovalId) -> Answer<()> {
        self.guard().map(|()| self.set(|state| state.revoked.push(id)))
    }

    async fn call(self, _: Context, id: CallId) -> Answer<Released> {
        self.guard()?;
        let call = ToolCall { id, tool: Name::clip("bash"), args: Text::clip("{}") };
        Ok(Released { call, verdict: CallVerdict::Run, record: 7, why: Why::default() })
    }

    async fn key_create(
        self,
        _: Context,
        name: Name,
        scope: KeyScope,
        presented: Presented,
    ) -> Answer<KeyInfo> {
        self.guard()?;
        self.set(|state| state.presented = Some(presented));
        Ok(key_info(name, scope))
    }

    async fn key_list(self, _: Context) -> Answer<List<KeyInfo, KEYS>> {
        self.guard()?;
        let revoked = KeyInfo { revoked_ms: Some(2), ..key_info(Name::clip("old"), KeyScope::default()) };
        Ok(List::clip([key_info(Name::clip("bar"), KeyScope::default()), revoked]))
    }

    async fn key_revoke(self, _: Context, _: Name) -> Answer<()> {
        self.guard()
    }

    async fn model_test(self, _: Context, model: ModelName) -> Answer<Tried> {
        self.guard()?;
        if model.as_str() == "none/x" {
            return Err(ControlError::NoModel(Text::clip("offline/reader")));
        }
        Ok(TRIED)
    }

    async fn model_usage(self, _: Context, by: GroupBy, _: u64) -> Answer<List<UsageRow, 256>> {
        self.guard()?;
        let group = if by == GroupBy::Model { "offline/reader" } else { "2026-11-22" };
        Ok(List::clip([usage_row(group), usage_row(group)]))
    }

    async fn model_budgets(self, _: Context) -> Answer<List<BudgetInfo, 64>> {
        self.guard().map(|()| List::clip([budget_info()]))
    }

    async fn policies(self, _: Context) -> Answer<PolicySet> {
        self.guard()?;
        let built_in = PolicyInfo {
            name: Name::clip("invariants"),
            built_in: true,
            policies: 3,
            text: Text::clip("forbid (principal, action, resource);"),
        };
        Ok(PolicySet { version: Name::clip("v1"), files: List::clip([built_in]) })
    }

    async fn set_policy(self, _: Context, _: Name, _: Text<POLICY_BOUND>) -> Answer<Name> {
        self.guard().map(|()| Name::clip("v2"))
    }

    async fn remove_policy(self, _: Context, _: Name) -> Answer<Name> {
        self.guard().map(|()| Name::clip("v3"))
    }
}
