//! The interface of an actor: opened before the seal, started after it, then serving its edges.

use crate::counters::Counters;
use crate::descriptors::Descriptors;
use crate::edge::Edge;
use crate::link::{Link, Links};
use crate::listeners::{Handed, Listeners, NoListener};
use crate::outcome;
use crate::recorder::Recorder;
use crate::stubs::Stub;
use crate::supervisor::Supervisor;
use confine::secret::Mapped;
use ipc_proto::audit::AuditClient;
use manifest::Process;
use manifest::command::{Frame, Gauge, START_CREDENTIAL, START_PAGE, Worker};
use std::cell::RefCell;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::rc::Rc;
use tarpc::ServerError;

/// One process of the host.
#[expect(async_fn_in_trait, reason = "an actor's futures stay on its one thread")]
pub trait Actor: Sized + 'static {
    /// The actor's row.
    const PROCESS: Process;
    /// Its section of the configuration.
    type Config: serde::de::DeserializeOwned;
    /// The resources that it opened.
    type Opened: 'static;

    /// Opens everything it needs; it is not sealed yet, and nothing has been read from a peer.
    ///
    /// # Errors
    /// The resource that could not be opened; the process ends.
    fn open(config: Self::Config, place: &Place) -> Result<Self::Opened, OpenFault>;

    /// Starts its actors; it is sealed now.
    async fn start(opened: Self::Opened, host: Host) -> Self;

    /// Serves one edge until it ends.
    async fn serve(&self, edge: Edge);

    /// Takes a frame of agentd that is not plumbing.
    fn notice(&self, _frame: Frame, _descriptors: Vec<OwnedFd>) {}

    /// The length of its own queue.
    fn queue_depth(&self) -> u64 {
        0
    }

    /// The actors inside it, for operators.
    fn workers(&self) -> Vec<Worker> {
        Vec::new()
    }

    /// Numbers about its subject, for operators; asked every few seconds, so it must be cheap.
    fn gauges(&self) -> Vec<(Gauge, u64)> {
        Vec::new()
    }
}

/// The place of an actor's files, and the other things that agentd handed over. agentd starts every process in its own
/// folder, so no path is handed over.
#[derive(Default)]
pub struct Place {
    page: RefCell<Option<OwnedFd>>,
    credential: RefCell<Option<OwnedFd>>,
    log: [u64; 4],
}

impl Place {
    /// The process's own folder.
    #[must_use]
    pub fn own(&self) -> PathBuf {
        PathBuf::from(".")
    }

    /// A folder beside it that agentd keeps, such as `logs`.
    #[must_use]
    pub fn beside(&self, name: &str) -> PathBuf {
        PathBuf::from("..").join(name)
    }

    /// The page for keys that outlives this process, mapped; once, and for credproxy alone. `None` where agentd has none
    /// or it cannot be mapped: then a key lasts for this life only.
    #[must_use]
    pub fn page(&self) -> Option<Mapped> {
        let mapped = Mapped::new(self.page.take()?);
        mapped.inspect_err(|cause| tracing::warn!(%cause, "the page for keys cannot be mapped")).ok()
    }

    /// The credential that the vault's key may come from; once, and for credproxy alone.
    #[must_use]
    pub fn credential(&self) -> Option<File> {
        self.credential.take().map(File::from)
    }

    /// The id of this host's log, as audit reported it at start; for audit alone. `None` before there is a log.
    #[must_use]
    pub fn log(&self) -> Option<[u64; 4]> {
        Some(self.log).filter(|words| *words != [0; 4])
    }

    /// Takes the descriptors that came with the start frame besides the section, as its words say.
    pub(crate) fn new(flags: u64, log: [u64; 4], descriptors: impl IntoIterator<Item = OwnedFd>) -> Self {
        let place = Self { log, ..Self::default() };
        let mut descriptors = descriptors.into_iter();
        for (flag, slot) in [(START_PAGE, &place.page), (START_CREDENTIAL, &place.credential)] {
            if flags & flag != 0 {
                slot.replace(descriptors.next());
            }
        }
        place
    }
}

/// Something could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {cause}")]
pub struct OpenFault {
    what: String,
    cause: String,
}

impl OpenFault {
    /// The resource that could not be opened, and the cause. Neither may hold content or a secret.
    pub fn new(what: impl Into<String>, cause: impl std::fmt::Display) -> Self {
        Self { what: what.into(), cause: cause.to_string() }
    }
}

/// The rest of the host, as one actor reaches it.
#[derive(Clone)]
pub struct Host {
    pub(crate) links: Rc<Links>,
    pub(crate) supervisor: Supervisor,
    pub(crate) recorder: Recorder,
    pub(crate) counters: Rc<Counters>,
    pub(crate) handed: Rc<Handed>,
}

impl Host {
    /// The link to a callee. It exists at once and waits for its edge by itself.
    #[must_use]
    pub fn link<C: Stub>(&self) -> Link<C> {
        self.links.link()
    }

    /// The recorder that puts events on the record.
    #[must_use]
    pub fn recorder(&self) -> Recorder {
        self.recorder.clone()
    }

    /// The connection to agentd.
    #[must_use]
    pub fn supervisor(&self) -> Supervisor {
        self.supervisor.clone()
    }

    /// Descriptors that a callee passes to this process.
    #[must_use]
    pub fn descriptors(&self, callee: Process) -> Descriptors {
        self.links.descriptors(callee)
    }

    /// The listeners that agentd keeps for this process; for one task of it, and once. It waits until agentd has sent
    /// all frames of a start, so it must not be awaited in [`Actor::start`]: spawn a task that does.
    ///
    /// # Errors
    /// [`NoListener`] if there is none.
    pub async fn listeners(&self) -> Result<Listeners, NoListener> {
        self.handed.all().await
    }

    /// Serves a call that is of no interface: counted and timed as those are.
    pub async fn served<T>(&self, call: impl Future<Output = T>) -> T {
        self.counters.time(call).await
    }

    /// Serves a person's call of this process's interface, which came by another way than an edge: counted by its method.
    ///
    /// # Errors
    /// The call's own.
    pub async fn served_call<T: serde::Serialize>(
        &self,
        method: &str,
        call: impl Future<Output = Result<T, ServerError>>,
    ) -> Result<T, ServerError> {
        let key = self.counters.key(self.links.me(), method);
        self.counters.time_call(key, call, outcome::of).await
    }

    /// Counts a refused call, or a connection that was ended for its peer's message.
    pub fn refused(&self) {
        self.counters.refuse();
    }

    pub(crate) fn new(links: Rc<Links>, supervisor: Supervisor, counters: Rc<Counters>) -> Self {
        let recorder = Recorder::new(links.link::<AuditClient>());
        Self { links, supervisor, recorder, counters, handed: Rc::default() }
    }
}
