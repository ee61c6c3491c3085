//! Who asks: the uid that the kernel names, and the user that the router knows it as. While the router is away
//! the host's own uids may still operate the host; nobody else is anybody.

use crate::desk::{Desk, down};
use ipc_proto::Method;
use ipc_proto::config::UserRole;
use ipc_proto::control::{Answer, ControlError};
use ipc_proto::ids::UserId;
use ipc_proto::router::{RouterClient, RouterError, UserInfo, method};
use manifest::Process;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tarpc::client::RpcError;
use tarpc::context::Context;

/// How long what the router said of a uid holds: a user who was removed is nobody after this.
const FRESH: Duration = Duration::from_secs(1);
/// How long the router is waited for where the host can be operated without it.
const BRIEF: Duration = Duration::from_secs(2);

/// Who a connection belongs to.
pub(crate) struct Identity {
    desk: Rc<Desk>,
    uid: u32,
    /// What the router said last, and when; `None` inside if the uid is nobody's.
    known: RefCell<Option<(Instant, Option<UserInfo>)>>,
}

/// Somebody with a role.
#[derive(Clone)]
pub(crate) struct Caller {
    /// What every connection shares.
    pub(crate) desk: Rc<Desk>,
    /// The uid that the kernel names.
    pub(crate) uid: u32,
    /// Who that is; `None` for the host's own uids while the router is away.
    user: Option<UserInfo>,
}

impl Identity {
    pub(crate) const fn new(desk: Rc<Desk>, uid: u32) -> Self {
        Self { desk, uid, known: RefCell::new(None) }
    }

    pub(crate) const fn desk(&self) -> &Rc<Desk> {
        &self.desk
    }

    pub(crate) const fn uid(&self) -> u32 {
        self.uid
    }

    /// Who asks; `None` if the uid is nobody's.
    ///
    /// # Errors
    /// The router is away, and the uid is not the host's own.
    pub(crate) async fn caller(&self) -> Answer<Option<Caller>> {
        let own = self.desk.is_own(self.uid);
        let user = match self.user(own).await {
            Ok(None) => return Ok(None),
            Ok(user) => user,
            Err(_) if own => None,
            Err(fault) => return Err(fault),
        };
        Ok(Some(Caller { desk: Rc::clone(&self.desk), uid: self.uid, user }))
    }

    /// Returns whether the uid is somebody's as far as can be said soon.
    pub(crate) async fn is_somebody(&self) -> bool {
        if !self.desk.router.is_up() {
            return self.desk.is_own(self.uid);
        }
        let soon = tokio::time::timeout(BRIEF, self.caller()).await;
        matches!(soon, Ok(Ok(Some(_))))
    }

    async fn user(&self, own: bool) -> Answer<Option<UserInfo>> {
        if let Some((when, user)) = &*self.known.borrow()
            // Nobody can be removed while the router stands still.
            && (when.elapsed() < FRESH || self.desk.is_still())
        {
            return Ok(user.clone());
        }
        if self.desk.is_still() || own && !self.desk.router.is_up() {
            return Err(down(Process::Router));
        }
        let asked = identify(&self.desk, self.uid);
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
    /// What they may do. The router names root and the host's own uid owner, and so it is without the router.
    pub(crate) fn role(&self) -> UserRole {
        self.user.as_ref().map_or(UserRole::Owner, |user| user.role)
    }

    /// Who they are; waits for the router if it has not said so yet.
    pub(crate) async fn user(&self) -> Answer<UserInfo> {
        match &self.user {
            Some(user) => Ok(user.clone()),
            None => identify(&self.desk, self.uid).await?.ok_or(ControlError::Router(RouterError::NoUser)),
        }
    }

    /// Whose sessions and messages they may see and end: everyone's for the owner.
    pub(crate) fn scope(&self) -> Option<UserId> {
        self.user.as_ref().filter(|user| user.role != UserRole::Owner).map(|user| user.id)
    }

    /// Asks the router.
    pub(crate) async fn router<R, F, Fut>(&self, method: &Method, ask: F) -> Answer<R>
    where
        F: Fn(RouterClient, Context) -> Fut,
        Fut: Future<Output = Result<Result<R, RouterError>, RpcError>>,
    {
        self.desk.ask(&self.desk.router, method, ask).await?.map_err(ControlError::Router)
    }
}

async fn identify(desk: &Desk, uid: u32) -> Answer<Option<UserInfo>> {
    let answer = desk.ask(&desk.router, &method::identify, |router, context| async move {
        router.identify(context, uid).await
    });
    match answer.await? {
        Ok(user) => Ok(Some(user)),
        Err(RouterError::NoUser) => Ok(None),
        Err(fault) => Err(ControlError::Router(fault)),
    }
}
