//! The one place where a role is checked: before every call, and before any part of the call is used. A
//! method without a least role is refused; so is an unknown caller.

use crate::caller::{Caller, Identity};
use crate::state::down;
use ipc_proto::Name;
use ipc_proto::config::UserRole;
use ipc_proto::control::{
    Answer, Control, ControlError, ControlRequest, ControlResponse, Denied, least_role,
};
use ipc_proto::router::Task;
use manifest::Process;
use std::rc::Rc;
use tarpc::server::Serve;
use tarpc::{RequestName, ServerError, context::Context};

/// Looks at the caller's role before the server is asked.
#[derive(Clone)]
pub(crate) struct Guard {
    /// The owner of the connection.
    pub(crate) identity: Rc<Identity>,
    /// True if there is memory for this call and its answer.
    pub(crate) room: bool,
}

impl Serve for Guard {
    type Req = ControlRequest;
    type Resp = ControlResponse;

    async fn serve(self, context: Context, request: ControlRequest) -> Result<ControlResponse, ServerError> {
        match self.admit(&request).await {
            Ok(caller) => {
                let state = Rc::clone(&caller.state);
                let method = method(&request).to_owned();
                state.host.served_call(&method, caller.serve().serve(context, request)).await
            }
            Err(refusal) => Ok(refused(&request, refusal)),
        }
    }
}

impl Guard {
    async fn admit(&self, request: &ControlRequest) -> Answer<Caller> {
        let least = least(request);
        match self.identity.caller().await? {
            Some(caller) if reaches(caller.role(), least) => {
                if self.room {
                    Ok(caller)
                } else {
                    Err(down(Process::Control))
                }
            }
            caller => {
                let needs = word(least);
                let uid = self.identity.uid();
                self.identity.state().refuse(uid, method(request), needs).await;
                let user = caller.map(|caller| (caller.name(), Name::clip(word(Some(caller.role())))));
                Err(ControlError::NotAllowed(Denied { needs: Name::clip(needs), uid, user }))
            }
        }
    }
}

/// The method's name: tarpc names a request `Service.method`.
pub(crate) fn method(request: &ControlRequest) -> &str {
    request.name().rsplit('.').next().unwrap_or_default()
}

/// The least role for this request: the method's, and more where it works in a workspace, which guests have none of.
fn least(request: &ControlRequest) -> Option<UserRole> {
    let least = least_role(method(request))?;
    match request {
        ControlRequest::Submit { ask } if ask.task != Task::Chat || ask.workspace.is_some() => {
            Some(least.max(UserRole::User))
        }
        _ => Some(least),
    }
}

/// Returns true if this role suffices for a call that needs `least`.
pub(crate) fn reaches(role: UserRole, least: Option<UserRole>) -> bool {
    least.is_some_and(|least| role >= least)
}

/// The word for a least role.
pub(crate) const fn word(least: Option<UserRole>) -> &'static str {
    match least {
        Some(UserRole::Guest) => "guest",
        Some(UserRole::User) => "user",
        Some(UserRole::Owner) => "owner",
        None => "nobody has",
    }
}

macro_rules! refusals {
    ($($method:ident)+) => {
        /// The answer to a request that was refused.
        fn refused(request: &ControlRequest, refusal: ControlError) -> ControlResponse {
            match request {
                $( ControlRequest::$method { .. } => ControlResponse::$method(Err(refusal)), )+
            }
        }
    };
}

refusals! {
    Whoami Status Inspect Restart Hold Release Shutdown Freeze Thaw Drift Probe Probed Logs Events Submit Steer Follow
    ScheduleList ScheduleShow ScheduleAdd ScheduleChange ScheduleHistory
    McpServers McpServer McpApprove McpInstall McpForget McpLoginTerms McpRegister McpAsk Tree Cancel TypeIn Sessions Session EndSession Messages Message Recall Requeue Pause Stop Queue Trace Users AddUser
    EditUser RemoveUser Channels Channel PauseChannel SetGroup Pairings ApprovePairing RefusePairing CreateLink LinkUser
    UnlinkUser CheckChannel TestChannel Deliveries Resend Agents Models Workspaces RemoveWorkspace MemoryRead MemoryRaw MemoryList MemoryFind MemoryTimeline
    MemoryHistory MemorySessions MemoryBlock MemoryStats MemoryUnread MemoryWrite MemoryRevise MemoryRemove
    MemoryRestore MemoryCapture MemoryJudge MemoryUnremove MemoryAccept MemoryForget MemoryRestoreSession
    MemoryMute MemoryReindex CuratorJobs CuratorJob CuratorAsk CuratorEdit CuratorRequeue CuratorDrop CuratorPause
    CuratorAbort CuratorRun AuditTail AuditVerify AuditProve AuditConsistency AuditCheckpoint AuditStats
    AuditQuery AuditDigest AuditRotateKey AuditWitness CredSet CredList CredRemove Approvals Approval Answer
    Grants Revoke Call Policies SetPolicy RemovePolicy KeyCreate KeyList KeyRevoke ModelTest ModelUsage
    ModelBudgets CredBind CredRevoke CredVault CredUnlock CredPassphrase CredRotate CredExport CredTest
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::Text;
    use ipc_proto::content::Content;
    use ipc_proto::control::{Ask, METHODS};
    use ipc_proto::ids::WorkspaceId;
    use ipc_proto::router::{Profile, Run};

    /// The methods that the owner alone reaches, in the order of the interface.
    const OWNERS: &[&str] = &[
        "restart",
        "hold",
        "release",
        "shutdown",
        "freeze",
        "thaw",
        "drift",
        "probe",
        "probed",
        "logs",
        "events",
        "users",
        "add_user",
        "edit_user",
        "remove_user",
        "channels",
        "channel",
        "pause_channel",
        "set_group",
        "pairings",
        "approve_pairing",
        "refuse_pairing",
        "create_link",
        "link_user",
        "unlink_user",
        "check_channel",
        "test_channel",
        "curator_jobs",
        "curator_job",
        "curator_ask",
        "curator_edit",
        "curator_requeue",
        "curator_drop",
        "curator_pause",
        "curator_abort",
        "curator_run",
        "audit_tail",
        "audit_verify",
        "audit_prove",
        "audit_consistency",
        "audit_checkpoint",
        "audit_stats",
        "audit_query",
        "audit_digest",
        "audit_rotate_key",
        "audit_witness",
        "cred_set",
        "cred_list",
        "cred_remove",
        "policies",
        "set_policy",
        "remove_policy",
        "mcp_servers",
        "mcp_server",
        "mcp_approve",
        "mcp_install",
        "mcp_forget",
        "mcp_login_terms",
        "mcp_register",
        "mcp_ask",
        "model_test",
        "model_usage",
        "model_budgets",
        "cred_bind",
        "cred_revoke",
        "cred_vault",
        "cred_unlock",
        "cred_passphrase",
        "cred_rotate",
        "cred_export",
        "cred_test",
    ];

    fn reached(role: UserRole) -> Vec<&'static str> {
        METHODS.iter().map(|it| it.name).filter(|it| reaches(role, least_role(it))).collect()
    }

    #[test]
    fn a_guest_reaches_what_talking_needs_and_nothing_else() {
        let guests = ["whoami", "submit", "steer", "follow", "tree", "cancel", "recall", "stop"];
        assert_eq!(reached(UserRole::Guest), guests);
    }

    // Holds P5-65.
    #[test]
    fn a_guest_sees_and_answers_no_approval() {
        for method in ["approvals", "approval", "answer", "grants", "revoke", "call"] {
            assert!(
                !reaches(UserRole::Guest, least_role(method)) && reaches(UserRole::User, least_role(method))
            );
        }
    }

    #[test]
    fn a_user_reaches_everything_but_what_operates_the_host_or_shows_others() {
        let all = reached(UserRole::Owner);
        assert_eq!(all.len(), METHODS.len());
        let user = reached(UserRole::User);
        let beyond: Vec<_> = all.into_iter().filter(|method| !user.contains(method)).collect();
        assert_eq!(beyond, OWNERS);
    }

    // Holds P3-08.
    #[test]
    fn a_method_that_names_no_least_role_is_reached_by_nobody() {
        for role in [UserRole::Guest, UserRole::User, UserRole::Owner] {
            assert!(!reaches(role, least_role("no_such_method")));
        }
    }

    fn submit(task: Task, workspace: Option<WorkspaceId>) -> ControlRequest {
        let content = Content::text(Text::clip("hello"));
        let ask = Ask {
            session: Text::clip("s"),
            agent: None,
            content,
            task,
            workspace,
            workspace_label: None,
            key: Text::clip("k"),
        };
        ControlRequest::Submit { ask }
    }

    #[test]
    fn a_guest_may_talk_but_not_run_commands_or_use_a_workspace() {
        let path = || Text::clip("a");
        let run = Run {
            argv: Default::default(),
            profile: Profile::Plain,
            terminal: None,
            allow: Default::default(),
        };
        let workspace = Some(WorkspaceId::from_bytes([1; 16]));
        for (request, expected) in [
            (submit(Task::Chat, None), UserRole::Guest),
            (submit(Task::Chat, workspace), UserRole::User),
            (submit(Task::Command { argv: Default::default() }, None), UserRole::User),
            (submit(Task::Put { path: path(), bytes: Default::default() }, None), UserRole::User),
            (submit(Task::Get { path: path() }, None), UserRole::User),
            (submit(Task::Run(run), None), UserRole::User),
        ] {
            assert_eq!(least(&request), Some(expected));
        }
    }

    #[test]
    fn a_refusal_answers_the_method_that_was_asked() {
        let refusal = ControlError::NotAllowed(Denied { needs: Name::clip("owner"), uid: 7, user: None });
        let shutdown = refused(&ControlRequest::Shutdown {}, refusal.clone());
        assert!(matches!(shutdown, ControlResponse::Shutdown(Err(error)) if error == refusal));
        assert_eq!(method(&ControlRequest::AuditVerify {}), "audit_verify");
    }
}
