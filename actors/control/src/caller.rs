//! The caller: the uid that the kernel names, and the user that the router knows it as. While the router is
//! away the host's own uids may still operate the host, and every other uid is unknown.

use crate::state::{OperatorState, down};
use ipc_proto::channel::ChannelError;
use ipc_proto::config::UserRole;
use ipc_proto::control::{Answer, ControlError};
use ipc_proto::ids::UserId;
use ipc_proto::router::{RouterClient, RouterError, UserInfo, method};
use ipc_proto::{Method, Name};
use manifest::Process;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tarpc::client::RpcError;
use tarpc::context::Context;

/// The time for which the router's answer about a uid holds: a removed user is unknown after it.
const FRESH: Duration = Duration::from_secs(1);
/// How long the router is waited for where the host can be operated without it.
const BRIEF: Duration = Duration::from_secs(2);

/// The owner of a connection.
pub(crate) struct Identity {
    state: Rc<OperatorState>,
    uid: u32,
    /// The router's latest answer, and its time; `None` inside if the uid is nobody's.
    known: RefCell<Option<(Instant, Option<UserInfo>)>>,
}

/// Somebody with a role.
#[derive(Clone)]
pub(crate) struct Caller {
    /// The state that all connections share.
    pub(crate) state: Rc<OperatorState>,
    /// The uid that the kernel names.
    pub(crate) uid: u32,
    /// The user; `None` for the host's own uids while the router is away.
    user: Option<UserInfo>,
}

impl Identity {
    pub(crate) const fn new(state: Rc<OperatorState>, uid: u32) -> Self {
        Self { state, uid, known: RefCell::new(None) }
    }

    pub(crate) const fn state(&self) -> &Rc<OperatorState> {
        &self.state
    }

    pub(crate) const fn uid(&self) -> u32 {
        self.uid
    }

    /// The caller; `None` if the uid is nobody's.
    ///
    /// # Errors
    /// The router is away, and the uid is not the host's own.
    pub(crate) async fn caller(&self) -> Answer<Option<Caller>> {
        let own = self.state.is_own(self.uid);
        let user = match self.user(own).await {
            Ok(None) => return Ok(None),
            Ok(user) => user,
            Err(_) if own => None,
            Err(fault) => return Err(fault),
        };
        Ok(Some(Caller { state: Rc::clone(&self.state), uid: self.uid, user }))
    }

    /// Returns true if the uid is a user's, as far as that is known soon.
    pub(crate) async fn is_known(&self) -> bool {
        if !self.state.router.is_up() {
            return self.state.is_own(self.uid);
        }
        let soon = tokio::time::timeout(BRIEF, self.caller()).await;
        matches!(soon, Ok(Ok(Some(_))))
    }

    async fn user(&self, own: bool) -> Answer<Option<UserInfo>> {
        if let Some((when, user)) = &*self.known.borrow()
            // Nobody can be removed while the router stands still.
            && (when.elapsed() < FRESH || self.state.is_frozen())
        {
            return Ok(user.clone());
        }
        if self.state.is_frozen() || own && !self.state.router.is_up() {
            return Err(down(Process::Router));
        }
        let asked = identify(&self.state, self.uid);
        let user = if own {
            tokio::time::timeout(BRIEF, asked).await.unwrap_or_else(|_| Err(down(Process::Router)))?
        } else {
            asked.await?
        };
        self.known.replace(Some((Instant::now(), user.clone())));
        Ok(user)
    }
}

impl Caller {
    /// The caller's role. The router names root and the host's own uid owner, and so it is without the router.
    pub(crate) fn role(&self) -> UserRole {
        self.user.as_ref().map_or(UserRole::Owner, |user| user.role)
    }

    /// The caller's name; for the host's own uids `owner` while the router is away.
    pub(crate) fn name(&self) -> Name {
        self.user.as_ref().map_or_else(|| Name::clip("owner"), |user| user.name.clone())
    }

    /// The caller's user; waits for the router if it has not answered yet.
    pub(crate) async fn user(&self) -> Answer<UserInfo> {
        match &self.user {
            Some(user) => Ok(user.clone()),
            None => identify(&self.state, self.uid).await?.ok_or(ControlError::Router(RouterError::NoUser)),
        }
    }

    /// The user whose sessions and messages the caller may see and end; everyone's for the owner.
    pub(crate) fn scope(&self) -> Option<UserId> {
        self.user.as_ref().filter(|user| user.role != UserRole::Owner).map(|user| user.id)
    }

    /// Asks the router about channels.
    pub(crate) async fn channels<R, F, Fut>(&self, method: &Method, ask: F) -> Answer<R>
    where
        F: Fn(RouterClient, Context) -> Fut,
        Fut: Future<Output = Result<Result<R, ChannelError>, RpcError>>,
    {
        self.state.ask(&self.state.router, method, ask).await?.map_err(ControlError::Channel)
    }

    /// Asks the router.
    pub(crate) async fn router<R, F, Fut>(&self, method: &Method, ask: F) -> Answer<R>
    where
        F: Fn(RouterClient, Context) -> Fut,
        Fut: Future<Output = Result<Result<R, RouterError>, RpcError>>,
    {
        self.state.ask(&self.state.router, method, ask).await?.map_err(ControlError::Router)
    }
}

async fn identify(state: &OperatorState, uid: u32) -> Answer<Option<UserInfo>> {
    let answer = state.ask(&state.router, &method::identify, |router, context| async move {
        router.identify(context, uid).await
    });
    match answer.await? {
        Ok(user) => Ok(Some(user)),
        Err(RouterError::NoUser) => Ok(None),
        Err(fault) => Err(ControlError::Router(fault)),
    }
}
