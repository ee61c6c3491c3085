//! The connection to control: opened when it is first needed, and again with back-off when it breaks.
//!
//! Every method of the interface may be repeated, so a call that lost its connection is made again, for 10 s at most. A
//! call never waits longer than its method's deadline.

use crate::failure::Failure;
use ipc_proto::control::{Answer, ControlClient, ControlError, FRAME_BOUND};
use ipc_proto::{Fault, Method};
use manifest::Process;
use std::cell::{Cell, RefCell};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tarpc::client::RpcError;
use tarpc::context::Context;
use tokio::net::UnixStream;

/// The longest absence of a host that has answered before.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// The first and the longest pause between two tries.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));
/// A call of this length did not itself break its connection.
const PROGRESS: Duration = Duration::from_secs(1);

/// The failure of one attempt.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// Nobody listens.
    Absent(io::Error),
    /// This user may not open the socket.
    Denied(io::Error),
    /// The other side speaks another version.
    Version,
    /// The connection broke; if a call was in flight, whether it took effect is unknown.
    Lost,
    /// As many connections are open as there may be.
    NoSlot,
    /// No answer within the deadline.
    Slow,
    /// Refused without being read.
    Refused(io::ErrorKind),
    /// A process behind control is away.
    Down(ControlError),
}

impl Trouble {
    fn into_failure(self, path: &Path, others: &[PathBuf]) -> Failure {
        let unreachable =
            |cause: String| Failure::Unreachable { path: path.to_owned(), others: others.to_vec(), cause };
        match self {
            Self::Absent(cause) => unreachable(cause.to_string()),
            Self::Denied(cause) => Failure::SocketDenied { path: path.to_owned(), cause },
            Self::Version => Failure::WrongVersion,
            Self::Lost => unreachable("the connection broke and did not come back".to_owned()),
            Self::NoSlot => Failure::NoSlot,
            Self::Slow => Failure::Deadline,
            Self::Refused(kind) => Failure::Refused(kind),
            Self::Down(error) => Failure::Control(error),
        }
    }
}

/// The process that made the socket, which is agentd. The kernel says so, not control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    /// Its pid; 0 if it cannot be seen from here.
    pub(crate) pid: u32,
    /// Its uid.
    pub(crate) uid: u32,
}

/// The connection to control.
pub(crate) struct Link {
    path: PathBuf,
    /// Sockets that were looked for first, and are not there.
    others: Vec<PathBuf>,
    client: RefCell<Option<ControlClient>>,
    /// The peer of this command's first connection. Once it is set, an absence is probably short.
    met: Cell<Option<Peer>>,
}

impl Link {
    /// A connection to the host at `path`, opened at the first call.
    pub(crate) const fn new(path: PathBuf) -> Self {
        Self::found(path, Vec::new())
    }

    /// The same, after none was found at the `others`.
    pub(crate) const fn found(path: PathBuf, others: Vec<PathBuf>) -> Self {
        Self { path, others, client: RefCell::new(None), met: Cell::new(None) }
    }

    /// The socket.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The process that made the socket.
    ///
    /// # Errors
    /// No call was made yet, so no peer is known.
    pub(crate) fn peer(&self) -> Result<Peer, Failure> {
        let nobody =
            || Trouble::Absent(io::ErrorKind::NotConnected.into()).into_failure(&self.path, &self.others);
        self.met.get().ok_or_else(nobody)
    }

    /// Makes a call, and repeats it while control or a process behind it restarts.
    ///
    /// # Errors
    /// Control's own, or that it is away.
    pub(crate) async fn ask<T>(
        &self,
        method: &Method,
        call: impl AsyncFn(ControlClient, Context) -> Result<Answer<T>, RpcError>,
    ) -> Result<T, Failure> {
        let answer = self
            .patiently(async || match self.once(method, &call).await? {
                Err(down @ ControlError::Down(_)) => Err(Trouble::Down(down)),
                answer => Ok(answer),
            })
            .await?;
        answer.map_err(Failure::Control)
    }

    /// Makes a call once.
    ///
    /// # Errors
    /// The reason why there is no answer.
    pub(crate) async fn once<T>(
        &self,
        method: &Method,
        call: &impl AsyncFn(ControlClient, Context) -> Result<Answer<T>, RpcError>,
    ) -> Result<Answer<T>, Trouble> {
        let client = self.client().await?;
        let mut context = tarpc::context::current();
        context.deadline = Instant::now() + method.deadline;
        match call(client, context).await {
            Ok(answer) => Ok(answer),
            Err(RpcError::DeadlineExceeded) => Err(Trouble::Slow),
            Err(RpcError::Server(error)) => Err(Trouble::Refused(error.kind)),
            Err(RpcError::Shutdown | RpcError::Send(_) | RpcError::Channel(_)) => {
                self.client.replace(None);
                Err(Trouble::Lost)
            }
        }
    }

    /// Tries until it succeeds, fails for good, or patience ends.
    ///
    /// # Errors
    /// The last trouble.
    pub(crate) async fn patiently<T>(
        &self,
        attempt: impl AsyncFn() -> Result<T, Trouble>,
    ) -> Result<T, Failure> {
        let (mut pause, longest) = PAUSES;
        let mut end = None;
        loop {
            let began = Instant::now();
            let trouble = match attempt().await {
                Ok(value) => return Ok(value),
                Err(trouble) => trouble,
            };
            if matches!(trouble, Trouble::Lost)
                && began.elapsed() > PROGRESS
                && self.client.borrow().is_none()
            {
                end = None;
                pause = PAUSES.0;
            }
            let since = if matches!(trouble, Trouble::Down(_)) { began } else { Instant::now() };
            let end = *end.get_or_insert(since + PATIENCE);
            if !self.may_pass(&trouble) || Instant::now() + pause > end {
                return Err(trouble.into_failure(&self.path, &self.others));
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(longest);
        }
    }

    fn may_pass(&self, trouble: &Trouble) -> bool {
        match trouble {
            Trouble::Lost | Trouble::NoSlot | Trouble::Down(_) => true,
            Trouble::Absent(_) => self.met.get().is_some(),
            Trouble::Denied(_) | Trouble::Version | Trouble::Slow | Trouble::Refused(_) => false,
        }
    }

    async fn client(&self) -> Result<ControlClient, Trouble> {
        if let Some(client) = self.client.borrow().as_ref() {
            return Ok(client.clone());
        }
        let stream = UnixStream::connect(&self.path).await.map_err(absent)?;
        let peer = stream.peer_cred().map_err(absent)?;
        let pid = peer.pid().and_then(|pid| u32::try_from(pid).ok()).unwrap_or_default();
        self.met.set(Some(Peer { pid, uid: peer.uid() }));
        // The name of the speaker is only used in messages; an operator has the supervisor's place.
        let hello = wire::client(stream, Process::Agentd, FRAME_BOUND);
        let transport = match tokio::time::timeout(PATIENCE, hello).await {
            Ok(Ok(transport)) => transport,
            Ok(Err(Fault::WrongVersion)) => return Err(Trouble::Version),
            Ok(Err(Fault::NoSlot)) => return Err(Trouble::NoSlot),
            Ok(Err(_)) => return Err(Trouble::Lost),
            Err(_) => return Err(Trouble::Slow),
        };
        let client = ControlClient::new(tarpc::client::Config::default(), transport).spawn();
        self.client.replace(Some(client.clone()));
        Ok(client)
    }
}

/// The trouble that a failed connection means.
pub(crate) fn absent(error: io::Error) -> Trouble {
    if error.kind() == io::ErrorKind::PermissionDenied {
        Trouble::Denied(error)
    } else {
        Trouble::Absent(error)
    }
}
