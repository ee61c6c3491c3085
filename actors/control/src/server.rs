//! The interface: each method names the function that serves it. It holds no logic; the guard checked the role before.

mod approvals;
mod channels;
mod creds;
mod curating;
mod freeze;
mod keys;
mod memories;
mod models;
mod operations;
mod people;
mod policies;
mod probes;
mod queue;
mod records;
mod schedules;
mod servers;
mod sessions;

use crate::caller::Caller;
use ipc_proto::api::{KEYS, KeyInfo, KeyScope, Presented};
use ipc_proto::approval::{ApprovalInfo, ApprovalView, FORM, Grant, Reply};
use ipc_proto::audit::{Consistency, Filter, NOTE, Page, Proof, Record, Report, Rotation, Stats, TreeHead};
use ipc_proto::channel::{
    ACCOUNTS, ChannelInfo, ChannelView, DeliveryId, DeliveryInfo, FINDINGS, Finding, GroupRule, LinkCode,
    PairingInfo,
};
use ipc_proto::config::UserRole;
use ipc_proto::content::TEXT_BOUND;
use ipc_proto::control::{Answer, Ask, Control, HostStatus, Inspection, LogChunk, Probed};
use ipc_proto::credproxy::{
    Binding, EXPORT_BOUND, Lease, PARCEL_BOUND, SECRET_BOUND, SecretInfo, VaultInfo, Verb,
};
use ipc_proto::curator::{Edit, JobState, JobView, Listing, PromptJob};
use ipc_proto::gate::{POLICY_BOUND, PolicySet, Tried};
use ipc_proto::ids::{ApprovalId, CallId, JobId, MemoryId, MessageId, SessionId, TurnId, WorkspaceId};
use ipc_proto::mcp::{self, Act, Approving, SERVER_TOOLS, SERVERS, TOOL_NAME};
use ipc_proto::memory::{
    self, Answered, Area, Block, BlockAsk, Capture, Entry, Forget, Forgotten, HITS, MOST_IDS, Muted,
    Neighbourhood, Project, Question, Raw, Restored, RestoredSession, Row, SessionRow, Start, Unread,
};
use ipc_proto::model::{BudgetInfo, GroupBy, ModelInfo, ModelName, UsageRow};
use ipc_proto::router::{
    Accepted, AgentInfo, Followed, MessageInfo, MessageView, NamedEvent, Node, Passed, QueueInfo, Released,
    SessionInfo, SessionName, SessionView, Steer, Steering, Stopped, TREE, Typed, UserInfo, WorkspaceInfo,
};
use ipc_proto::scheduler::{Change, FireInfo, JOBS, JobInfo, JobName, JobView as ScheduledView, NewJob};
use ipc_proto::{Blob, List, Name, Text};
use manifest::command::Kind;
use tarpc::context::Context;

/// Methods that a function of the caller serves, a line each.
macro_rules! serves {
    ($($method:ident => $function:ident($($argument:ident: $type:ty),*) -> $answer:ty;)+) => {
        $(
            async fn $method(self, _: Context, $($argument: $type),*) -> Answer<$answer> {
                self.$function($($argument),*).await
            }
        )+
    };
}

impl Control for Caller {
    async fn whoami(self, _: Context) -> Answer<UserInfo> {
        self.user().await
    }

    async fn status(self, _: Context) -> Answer<HostStatus> {
        Ok(self.host_status().await)
    }

    async fn inspect(self, _: Context, name: Name) -> Answer<Box<Inspection>> {
        self.inspect_process(&name)
    }

    async fn restart(self, _: Context, name: Name) -> Answer<()> {
        self.command(Kind::Restart, name).await
    }

    async fn hold(self, _: Context, name: Name) -> Answer<()> {
        self.command(Kind::Hold, name).await
    }

    async fn release(self, _: Context, name: Name) -> Answer<()> {
        self.command(Kind::Release, name).await
    }

    async fn shutdown(self, _: Context) -> Answer<()> {
        self.stop_host().await
    }

    async fn freeze(self, _: Context, ms: u32) -> Answer<()> {
        self.freeze_host(ms).await
    }

    async fn thaw(self, _: Context) -> Answer<bool> {
        self.thaw_host().await
    }

    async fn drift(self, _: Context, name: Name, properties: u16) -> Answer<()> {
        self.report_drift(name, properties).await
    }

    async fn probe(self, _: Context, name: Name, act: Name) -> Answer<Probed> {
        self.try_act(name, act).await
    }

    async fn probed(self, _: Context, acts: u32, surprises: u32) -> Answer<()> {
        self.report_probes(acts, surprises).await
    }

    async fn logs(self, _: Context, name: Name, from: Option<u64>, wait_ms: u32) -> Answer<LogChunk> {
        self.read_log(&name, from, wait_ms).await
    }

    async fn events(self, _: Context, after: u64, wait_ms: u32) -> Answer<List<NamedEvent, 256>> {
        self.named_events(after, wait_ms).await
    }

    async fn submit(self, _: Context, ask: Ask) -> Answer<Accepted> {
        self.send(ask).await
    }

    async fn steer(self, _: Context, steer: Steer) -> Answer<Steering> {
        self.say_into(steer).await
    }

    async fn follow(self, _: Context, turn: TurnId, from: u64, credit: u16) -> Answer<Followed> {
        self.follow_turn(turn, from, credit).await
    }

    async fn type_in(self, _: Context, turn: TurnId, number: u64, typed: Typed) -> Answer<bool> {
        self.type_into(turn, number, typed).await
    }

    async fn session(self, _: Context, name: SessionName) -> Answer<SessionView> {
        self.show_session(name).await
    }

    async fn end_session(self, _: Context, name: SessionName) -> Answer<()> {
        self.close_session(name).await
    }

    async fn messages(self, _: Context, limit: u16, dead: bool) -> Answer<List<MessageInfo, 256>> {
        self.list_messages(limit, dead).await
    }

    async fn message(self, _: Context, id: MessageId) -> Answer<MessageView> {
        self.show_message(id).await
    }

    async fn requeue(self, _: Context, id: MessageId, text: Option<Text<TEXT_BOUND>>) -> Answer<Accepted> {
        self.requeue_message(id, text).await
    }

    async fn pause(self, _: Context, session: Option<SessionName>, paused: bool) -> Answer<()> {
        self.pause_queue(session, paused).await
    }

    async fn stop(self, _: Context, session: Option<SessionName>, again: bool) -> Answer<Stopped> {
        self.stop_turns(session, again).await
    }

    async fn add_user(
        self,
        _: Context,
        name: Name,
        role: UserRole,
        uids: List<u32, 16>,
        identities: List<Text<256>, 16>,
    ) -> Answer<UserInfo> {
        self.put_user(name, role, uids, identities).await
    }

    serves! {
        schedule_list => list_scheduled() -> List<JobInfo, JOBS>;
        schedule_show => show_scheduled(job: JobName) -> Box<ScheduledView>;
        schedule_add => schedule_job(id: JobId, job: NewJob) -> Box<ScheduledView>;
        schedule_change => change_scheduled(job: JobName, change: Change) -> JobInfo;
        schedule_history => scheduled_times(job: Option<JobName>) -> List<FireInfo, 256>;
        mcp_servers => list_servers() -> List<mcp::ServerInfo, SERVERS>;
        mcp_server => show_server(name: Name, start: bool) -> Box<mcp::ServerView>;
        mcp_approve => approve_tools(name: Name, tools: List<Approving, SERVER_TOOLS>) -> List<Text<TOOL_NAME>, SERVER_TOOLS>;
        mcp_install => install_server(name: Name) -> Option<mcp::Installed>;
        mcp_forget => forget_server(name: Name) -> ();
        mcp_login_terms => show_login(name: Name) -> Box<mcp::LoginTerms>;
        mcp_register => register_client(name: Name, redirect_uri: Text<256>) -> Text<1024>;
        mcp_ask => ask_server(name: Name, act: Act) -> mcp::Reply;
        tree => show_tree(turn: TurnId) -> List<Node, TREE>;
        cancel => cancel_turn(turn: TurnId) -> ();
        sessions => list_sessions() -> List<SessionInfo, 256>;
        recall => recall_message(id: MessageId) -> Text<TEXT_BOUND>;
        queue => show_queue() -> QueueInfo;
        trace => trace_message(message: MessageId) -> List<Passed, 128>;
        users => list_users() -> List<UserInfo, 256>;
        edit_user => change_user(name: Name, role: Option<UserRole>, uids: Option<List<u32, 16>>) -> UserInfo;
        remove_user => lose_user(name: Name) -> ();
        agents => list_agents() -> List<AgentInfo, 64>;
        models => list_models() -> List<ModelInfo, 256>;
        workspaces => list_workspaces() -> List<WorkspaceInfo, 256>;
        remove_workspace => forget_workspace(id: WorkspaceId) -> ();
        channels => list_channels() -> List<ChannelInfo, ACCOUNTS>;
        channel => show_channel(name: Name) -> ChannelView;
        pause_channel => hold_channel(name: Name, paused: bool) -> ();
        set_group => put_group(channel: Name, group: Text<128>, rule: Option<GroupRule>) -> ();
        pairings => list_pairings() -> List<PairingInfo, 256>;
        approve_pairing => accept_pairing(code: Name, user: Name, role: UserRole) -> UserInfo;
        refuse_pairing => reject_pairing(code: Name) -> ();
        create_link => make_link(user: Name) -> LinkCode;
        link_user => add_identity(user: Name, identity: Text<256>) -> UserInfo;
        unlink_user => remove_identity(user: Name, identity: Text<256>) -> UserInfo;
        check_channel => look_at_channel(name: Name) -> List<Finding, FINDINGS>;
        test_channel => try_channel(name: Name, to: Text<128>) -> DeliveryId;
        deliveries => list_deliveries(message: Option<MessageId>, unknown: bool) -> List<DeliveryInfo, 256>;
        resend => resend_message(message: MessageId) -> u32;
        answer => answer_approval(id: ApprovalId, hash: [u8; 32], reply: Reply, form: Text<FORM>) -> ApprovalInfo;
        memory_read => read_memories(area: Area, ids: List<MemoryId, MOST_IDS>) -> List<Row, HITS>;
        memory_raw => show_material(area: Area, id: MemoryId) -> Raw;
        memory_list => list_memories(area: Area, filter: memory::Filter, limit: u16, start: Start) -> List<Row, HITS>;
        memory_find => find_memories(area: Area, question: Box<Question>) -> Box<Answered>;
        memory_timeline => memories_around(area: Area, around: Neighbourhood) -> List<Row, HITS>;
        memory_history => memory_revisions(area: Area, id: MemoryId) -> List<Row, HITS>;
        memory_sessions => client_sessions(
            area: Area, project: Option<Project>, limit: u16, start: Start<SessionId>
        ) -> List<SessionRow, HITS>;
        memory_block => recall_memories(area: Area, ask: Box<BlockAsk>) -> Box<Block>;
        memory_stats => count_memories(area: Area) -> memory::Stats;
        memory_unread => unreadable_memories(area: Area, each: bool) -> Unread;
        memory_write => write_memory(area: Area, entry: Box<Entry>) -> MemoryId;
        memory_revise => revise_memory(area: Area, id: MemoryId, entry: Box<Entry>, reason: Text<512>) -> MemoryId;
        memory_remove => remove_row(area: Area, id: MemoryId, reason: Text<512>) -> ();
        memory_restore => restore_memory(area: Area, row: Box<Restored>) -> Option<MemoryId>;
        memory_capture => capture_event(area: Area, capture: Box<Capture>) -> Option<MemoryId>;
        memory_judge => judge_memory(area: Area, entry: Box<Entry>) -> ();
        memory_unremove => unremove_memory(area: Area, id: MemoryId) -> ();
        memory_accept => accept_memory(area: Area, id: MemoryId) -> ();
        memory_forget => forget_memories(area: Area, what: Forget, purge: bool, dry_run: bool) -> Forgotten;
        memory_restore_session => restore_client_session(area: Area, session: Box<RestoredSession>) -> bool;
        memory_mute => mute_memory(area: Area, what: Muted, mute: bool) -> ();
        memory_reindex => reindex_memories(area: Area) -> memory::Stats;
        curator_jobs => list_jobs(state: Option<JobState>) -> Listing;
        curator_job => show_job(id: JobId) -> JobView;
        curator_ask => ask_in_background(id: JobId, job: PromptJob) -> JobView;
        curator_edit => edit_job(id: JobId, edit: Edit) -> JobView;
        curator_requeue => requeue_job(id: JobId) -> JobView;
        curator_drop => remove_job(id: JobId) -> ();
        curator_pause => pause_jobs(paused: bool) -> ();
        curator_abort => abort_jobs(id: Option<JobId>) -> u32;
        curator_run => run_jobs() -> u32;
    }

    async fn audit_tail(self, _: Context, from: u64, max: u16, wait_ms: u32) -> Answer<List<Record, 256>> {
        self.read_record(from, max, wait_ms).await
    }

    async fn audit_verify(self, _: Context) -> Answer<Report> {
        self.verify_record().await
    }

    async fn audit_prove(self, _: Context, index: u64) -> Answer<Proof> {
        self.prove_entry(index).await
    }

    async fn audit_consistency(self, _: Context, from: u64) -> Answer<Consistency> {
        self.prove_growth(from).await
    }

    async fn audit_checkpoint(self, _: Context) -> Answer<Text<NOTE>> {
        self.record_checkpoint().await
    }

    async fn audit_stats(self, _: Context) -> Answer<Stats> {
        self.record_stats().await
    }

    async fn audit_query(self, _: Context, from: u64, filter: Filter) -> Answer<Page> {
        self.query_record(from, filter).await
    }

    async fn audit_digest(self, _: Context, day: u32) -> Answer<Text<NOTE>> {
        self.record_digest(day).await
    }

    async fn audit_rotate_key(self, _: Context) -> Answer<Rotation> {
        self.rotate_record_key().await
    }

    async fn audit_witness(self, _: Context, head: TreeHead) -> Answer<()> {
        self.witness_record(head).await
    }

    async fn cred_set(
        self,
        _: Context,
        name: Name,
        binding: Binding,
        lease: Lease,
        sealed: Blob<SECRET_BOUND>,
    ) -> Answer<()> {
        self.keep_secret(name, binding, lease, sealed).await
    }

    async fn cred_list(self, _: Context) -> Answer<List<SecretInfo, 256>> {
        self.list_secrets().await
    }

    async fn cred_remove(self, _: Context, name: Name) -> Answer<()> {
        self.forget_secret(name).await
    }

    async fn cred_bind(self, _: Context, name: Name, binding: Binding, lease: Lease) -> Answer<()> {
        self.narrow_secret(name, binding, lease).await
    }

    async fn cred_revoke(self, _: Context, name: Name) -> Answer<()> {
        self.revoke_secret(name).await
    }

    async fn cred_vault(self, _: Context) -> Answer<VaultInfo> {
        self.show_vault().await
    }

    async fn cred_unlock(self, _: Context, sealed: Blob<PARCEL_BOUND>) -> Answer<()> {
        self.unlock_vault(sealed).await
    }

    async fn cred_passphrase(self, _: Context, sealed: Blob<PARCEL_BOUND>) -> Answer<()> {
        self.change_passphrase(sealed).await
    }

    async fn cred_rotate(self, _: Context) -> Answer<()> {
        self.rotate_vault().await
    }

    async fn cred_export(self, _: Context, sealed: Blob<PARCEL_BOUND>) -> Answer<Blob<EXPORT_BOUND>> {
        self.export_secrets(sealed).await
    }

    async fn cred_test(self, _: Context, name: Name, verb: Verb, url: Text<2048>) -> Answer<u16> {
        self.try_secret(name, verb, url).await
    }

    async fn approvals(self, _: Context, all: bool) -> Answer<List<ApprovalInfo, 256>> {
        self.list_approvals(all).await
    }

    async fn approval(self, _: Context, id: ApprovalId) -> Answer<ApprovalView> {
        self.show_approval(id).await
    }

    async fn grants(self, _: Context) -> Answer<List<Grant, 256>> {
        self.list_grants().await
    }

    async fn revoke(self, _: Context, id: ApprovalId) -> Answer<()> {
        self.take_back(id).await
    }

    async fn call(self, _: Context, id: CallId) -> Answer<Released> {
        self.show_call(id).await
    }

    async fn key_create(
        self,
        _: Context,
        name: Name,
        scope: KeyScope,
        presented: Presented,
    ) -> Answer<KeyInfo> {
        self.make_key(name, scope, presented).await
    }

    async fn key_list(self, _: Context) -> Answer<List<KeyInfo, KEYS>> {
        self.list_keys().await
    }

    async fn key_revoke(self, _: Context, name: Name) -> Answer<()> {
        self.lose_key(name).await
    }

    async fn model_test(self, _: Context, model: ModelName) -> Answer<Tried> {
        self.try_model(model).await
    }

    async fn model_usage(self, _: Context, by: GroupBy, since_ms: u64) -> Answer<List<UsageRow, 256>> {
        self.read_usage(by, since_ms).await
    }

    async fn model_budgets(self, _: Context) -> Answer<List<BudgetInfo, 64>> {
        self.read_budgets().await
    }

    async fn policies(self, _: Context) -> Answer<PolicySet> {
        self.list_policies().await
    }

    async fn set_policy(self, _: Context, name: Name, text: Text<POLICY_BOUND>) -> Answer<Name> {
        self.put_policy(name, text).await
    }

    async fn remove_policy(self, _: Context, name: Name) -> Answer<Name> {
        self.lose_policy(name).await
    }
}
