//! Servers of the Model Context Protocol: each runs in a jail of its own, which the gate has agentd launch and reaches by the bridge
//! there. An agent may use the tools that the owner approved, for as long as the server describes them as it did then. Browsers of
//! sessions are launched and reached in the same way.

mod browsing;
mod instance;
mod launch;
mod pins;
mod tools;

pub(crate) use browsing::{NO_PAGE, User, origin_of};
pub(crate) use instance::{Held, Instance, Lost, Standing};
pub(crate) use launch::{Holder, Workspace};
pub(crate) use pins::Placed;
pub(crate) use tools::{calls_server, found_in, is_foreign, parts, servers_of};

use ipc_proto::config::{McpServer, McpStart};
use ipc_proto::ids::{SessionId, WorkspaceId};
use ipc_proto::mcp::{Argv, Installed, Offer, PinState, Start, Terms, ToolView, Trouble};
use ipc_proto::tool::ToolSpec;
use ipc_proto::{List, Name, Text};
use kit::{OpenFault, Supervisor};
use launch::Launcher;
use pins::Pins;
use policy::Catalogue;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use tokio::sync::watch;
use tools::{capability, full_name, reading};
use toolset::server_tools::MCP_READ;

/// Tools of servers that a model is told of at once, and bytes of their schemas; more are to be found by words.
const LISTED_TOOLS: usize = 40;
const LISTED_BYTES: usize = 16 * 1024;

/// The name of a browser among the servers. No server of the configuration can have it.
const BROWSER: &str = "runner@browser";

/// An installation under way, and its outcome.
pub(crate) type Installation = watch::Receiver<Option<Result<Installed, Trouble>>>;

/// The servers of the configuration: what each offers and what of it is approved, and those that run.
pub(crate) struct Mcp {
    pub(crate) servers: BTreeMap<String, McpServer>,
    pins: Mutex<Pins>,
    pub(crate) launcher: Arc<Launcher>,
    installing: Mutex<HashMap<String, Installation>>,
    /// The capabilities of the host's own tools, and of those that the configuration declares.
    declared: Catalogue,
    /// The same with those of the servers' approved tools.
    catalogue: RwLock<Arc<Catalogue>>,
}

/// The servers as they are read before the seal.
pub(crate) struct Opened {
    servers: BTreeMap<String, McpServer>,
    pins: Pins,
}

impl Opened {
    /// Reads what was approved.
    pub(crate) fn read(servers: BTreeMap<String, McpServer>, folder: &Path) -> Result<Self, OpenFault> {
        let pins = Pins::open(folder, servers.keys().map(String::as_str))
            .map_err(|cause| OpenFault::new("the approved tools of servers", cause))?;
        Ok(Self { servers, pins })
    }
}

impl Mcp {
    /// Must be called within the event loop.
    pub(crate) fn new(opened: Opened, declared: Catalogue, supervisor: Supervisor) -> Self {
        let mcp = Self {
            servers: opened.servers,
            pins: Mutex::new(opened.pins),
            launcher: Arc::new(Launcher::start(supervisor)),
            installing: Mutex::default(),
            catalogue: RwLock::new(Arc::new(declared.clone())),
            declared,
        };
        mcp.declare();
        mcp
    }

    /// The capabilities of all tools now.
    pub(crate) fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.catalogue.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The running server of these, or one that is launched now; waits until it has started.
    ///
    /// # Errors
    /// The reason for which there is none.
    pub(crate) async fn running(
        &self,
        name: &str,
        holder: Holder,
        workspace: Option<Workspace>,
    ) -> Result<Arc<Instance>, Trouble> {
        let Some(server) = self.servers.get(name) else {
            return Err(Trouble::NotLaunched(Text::clip("it is not in the configuration")));
        };
        let (start, placed) = match &server.start {
            McpStart::Command(words) => (Start::Program(argv(words.iter().map(String::as_str))), None),
            McpStart::Url { origin, path, .. } => {
                (Start::Url { origin: origin.clone(), path: Text::clip(path) }, None)
            }
            McpStart::Package { package, arguments } => {
                let placed = self.pins().placed(name).filter(|placed| placed.package == *package).cloned();
                let placed = placed.ok_or(Trouble::NotYet)?;
                let program = placed.installed.programs.first().ok_or(Trouble::NotYet)?.to_string();
                let words = std::iter::once(program.as_str()).chain(arguments.iter().map(String::as_str));
                (Start::Program(argv(words)), Some(placed))
            }
        };
        let tree = placed.as_ref().map(|placed| placed.installed.tree);
        let terms = Terms {
            server: Name::clip(name),
            start,
            tree,
            network: !server.network.is_empty() || !server.opaque.is_empty(),
            opaque: List::clip(server.opaque.iter().map(|at| Text::clip(at))),
        };
        self.launcher.running(terms, holder, placed.map(|placed| placed.folder), workspace).await
    }

    /// The browser of a session, or one that is launched now; waits until it has started.
    ///
    /// # Errors
    /// The reason for which there is none.
    pub(crate) async fn browser(&self, session: SessionId) -> Result<Arc<Instance>, Trouble> {
        let terms = Terms {
            server: Name::clip(BROWSER),
            start: Start::Browser,
            tree: None,
            network: true,
            opaque: List::default(),
        };
        self.launcher.running(terms, Holder::Session(session), None, None).await
    }

    /// The browser of a session that runs.
    pub(crate) fn open_browser(&self, session: SessionId) -> Option<Arc<Instance>> {
        self.launcher.known(&(BROWSER.to_owned(), Holder::Session(session)))
    }

    /// Ends the browser of a session; a later address launches another.
    pub(crate) fn close_browser(&self, session: SessionId) {
        self.launcher.end_one(&(BROWSER.to_owned(), Holder::Session(session)));
    }

    /// Installs the package of a server in a jail that reaches its registry alone. It is of no use before it is [placed](Self::place).
    ///
    /// # Errors
    /// The reason for which it was not.
    pub(crate) async fn fetch(&self, name: &str) -> Result<Placed, Trouble> {
        let package = match self.servers.get(name).map(|server| &server.start) {
            Some(McpStart::Package { package, .. }) => package.clone(),
            _ => return Err(Trouble::NoProgram(Text::clip("it is no package"))),
        };
        let folder = WorkspaceId::random().bytes();
        let terms = Terms {
            server: Name::clip(name),
            start: Start::Install(package.clone()),
            tree: None,
            network: true,
            opaque: List::default(),
        };
        let installed = self.launcher.installed(terms, folder).await;
        let installed = installed.inspect_err(|_| self.launcher.remove(folder))?;
        Ok(Placed { package, folder, installed })
    }

    /// Has a server use an installed package from now on.
    ///
    /// # Errors
    /// It could not be noted; the package is removed.
    pub(crate) fn place(&self, name: &str, placed: Placed) -> Result<(), Trouble> {
        let folder = placed.folder;
        let before = self.pins().place(name, placed).map_err(|cause| {
            self.launcher.remove(folder);
            Trouble::NotInstalled(Text::clip(&format!("it could not be noted: {cause}")))
        })?;
        self.launcher.end_all(name);
        if let Some(before) = before {
            self.launcher.remove(before);
        }
        Ok(())
    }

    /// The installation of a server's package that is under way; `begin` begins one where there is none.
    pub(crate) fn installation(&self, name: &str, begin: impl FnOnce() -> Installation) -> Installation {
        let mut all = self.installing.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(name.to_owned()).or_insert_with(begin).clone()
    }

    /// Forgets an installation that is over.
    pub(crate) fn end_installation(&self, name: &str) {
        self.installing.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    }

    /// The names of the tools that an agent may use: approved, unchanged and granted.
    pub(crate) fn granted(&self, agent: &str) -> Vec<String> {
        let pins = self.pins();
        let servers = self.servers.iter().filter(|(_, server)| server.agents.iter().any(|one| one == agent));
        servers
            .flat_map(|(name, server)| {
                let tools = pins.approved(name);
                let tools = tools.filter(|tool| {
                    server.tools.is_empty() || server.tools.iter().any(|one| *one == *tool.name)
                });
                tools.filter_map(|tool| full_name(name, &tool.name)).collect::<Vec<_>>()
            })
            .collect()
    }

    /// Returns true if these are more tools than a model is told of at once.
    pub(crate) fn are_too_many(&self, tools: &[String]) -> bool {
        let pins = self.pins();
        let schema = |tool: &String| {
            let (server, own) = parts(tool)?;
            Some(pins.approved(server).find(|pinned| *pinned.name == *own)?.input.len())
        };
        tools.len() > LISTED_TOOLS || tools.iter().filter_map(schema).sum::<usize>() > LISTED_BYTES
    }

    /// The servers whose resources an agent may read: those of which it has a tool.
    pub(crate) fn readable(&self, agent: &str) -> Vec<String> {
        let pins = self.pins();
        let servers = self.servers.iter().filter(|(_, server)| server.agents.iter().any(|one| one == agent));
        let servers =
            servers.filter(|(name, _)| pins.approved(name).next().is_some() && pins.offer_of(name).resources);
        servers.map(|(name, _)| name.clone()).collect()
    }

    /// Such a tool as a model is told of it.
    pub(crate) fn spec(&self, tool: &str) -> Option<ToolSpec> {
        let (server, own) = parts(tool)?;
        let pins = self.pins();
        let pinned = pins.approved(server).find(|pinned| *pinned.name == *own)?;
        Some(tools::spec(tool, pinned))
    }

    /// Takes what a server offers; returns the tools that were approved and are others now.
    ///
    /// # Errors
    /// It could not be written.
    pub(crate) fn offered(&self, server: &str, offer: Offer) -> io::Result<Vec<String>> {
        let changed = self.pins().offer(server, offer)?;
        self.declare();
        Ok(changed)
    }

    /// Approves tools of a server as they are offered now, each by its hash.
    ///
    /// # Errors
    /// It could not be written.
    pub(crate) fn approve(&self, server: &str, tools: &[(String, [u8; 32])]) -> io::Result<Vec<String>> {
        let approved = self.pins().approve(server, tools)?;
        self.declare();
        Ok(approved)
    }

    /// Forgets all of a server.
    ///
    /// # Errors
    /// It could not be removed.
    pub(crate) fn forget(&self, server: &str) -> io::Result<()> {
        self.launcher.end_all(server);
        let placed = self.pins().placed(server).map(|placed| placed.folder);
        self.pins().forget(server)?;
        if let Some(folder) = placed {
            self.launcher.remove(folder);
        }
        self.declare();
        Ok(())
    }

    /// Returns false for a package that is not installed.
    pub(crate) fn is_installed(&self, server: &str) -> bool {
        match self.servers.get(server).map(|server| &server.start) {
            Some(McpStart::Package { package, .. }) => {
                self.pins().placed(server).is_some_and(|placed| placed.package == *package)
            }
            _ => true,
        }
    }

    /// The tools of a server, each with its state.
    pub(crate) fn views(&self, server: &str) -> Vec<ToolView> {
        self.pins().views(server)
    }

    /// The last offer of a server, without its tools; empty if there was none.
    pub(crate) fn offer(&self, server: &str) -> Offer {
        self.pins().offer_of(server)
    }

    /// The state of a tool.
    pub(crate) fn state(&self, server: &str, tool: &str) -> Option<PinState> {
        self.pins().state(server, tool)
    }

    fn pins(&self) -> MutexGuard<'_, Pins> {
        self.pins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Declares the capabilities of the approved tools anew. What the configuration declares of a tool stands.
    fn declare(&self) {
        let mut catalogue = self.declared.clone();
        let pins = self.pins();
        for (name, server) in &self.servers {
            for tool in pins.approved(name) {
                let Some(full) = full_name(name, &tool.name) else { continue };
                if self.declared.get(&full).is_none()
                    && let Err(error) = catalogue.declare(&full, capability(server, tool))
                {
                    tracing::error!(%error, "the tool is not declared, so each call of it is refused");
                }
            }
        }
        drop(pins);
        if !self.servers.is_empty()
            && self.declared.get(MCP_READ).is_none()
            && let Err(error) = catalogue.declare(MCP_READ, reading(self.servers.values()))
        {
            tracing::error!(%error, "the tool is not declared, so each call of it is refused");
        }
        *self.catalogue.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(catalogue);
    }
}

fn argv<'a>(words: impl Iterator<Item = &'a str>) -> Argv {
    List::clip(words.map(Text::clip))
}
