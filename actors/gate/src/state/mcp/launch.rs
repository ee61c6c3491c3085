//! The jails of servers: launched by agentd when a server is first needed, found again by those that share it, and ended when nobody
//! has used them for a while.

use super::instance::{Instance, JailId, Standing};
use ipc_proto::Text;
use ipc_proto::ids::{SessionId, UserId, WorkspaceId};
use ipc_proto::mcp::{INSTALL_SECONDS, Installed, START_SECONDS, Start, Terms, Trouble};
use kit::Supervisor;
use manifest::Process;
use manifest::command::{
    Frame, Kind, LAUNCH_ATTACHED, LAUNCH_FILES, LAUNCH_NO_WORKSPACE, LAUNCH_WRITES_FILES, attached_owner,
    id_words,
};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// A server that was not used for so long is ended.
const IDLE: Duration = Duration::from_secs(600);
/// How often that is looked at.
const LOOK: Duration = Duration::from_secs(15);
/// Servers that run at once: agentd has as many slots for them.
const RUNNING: usize = 16;
/// Browsers among them, each of which may hold 1 GiB.
const BROWSERS: usize = 4;
/// The first and the longest pause after a server that did not start.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// Wall clock and CPU time of a jail: it is ended by the gate long before.
const TIME_MS: u64 = 24 * 3600 * 1000;

/// Those that share a running server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Holder {
    /// The turns of a session.
    Session(SessionId),
    /// The sessions of a user.
    User(UserId),
    /// Everybody.
    Host,
    /// The owner, who looks at what it offers.
    Owner,
}

/// The workspace of a session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workspace {
    pub(crate) id: WorkspaceId,
    pub(crate) attached: bool,
}

/// A server that runs for somebody.
pub(super) type Key = (String, Holder);

/// The jails.
pub(crate) struct Launcher {
    running: Mutex<HashMap<Key, Arc<Instance>>>,
    /// The servers that did not start: how often in a row, and when last.
    failed: Mutex<HashMap<Key, (u32, Instant)>>,
    commands: mpsc::UnboundedSender<Frame>,
}

impl Launcher {
    /// Must be called within the event loop: a task of its own sends the commands.
    pub(super) fn start(supervisor: Supervisor) -> Self {
        let (commands, mut sent) = mpsc::unbounded_channel();
        tokio::task::spawn_local(async move {
            while let Some(frame) = sent.recv().await {
                if let Err(fault) = supervisor.send(frame, &[]) {
                    tracing::warn!(%fault, "agentd does not take a command");
                }
            }
        });
        Self { running: Mutex::default(), failed: Mutex::default(), commands }
    }

    /// The server of these that runs, or one that is launched now. Waits until it has started.
    ///
    /// # Errors
    /// The reason for which there is none.
    pub(crate) async fn running(
        self: &Arc<Self>,
        terms: Terms,
        holder: Holder,
        files: Option<[u8; 16]>,
        workspace: Option<Workspace>,
    ) -> Result<Arc<Instance>, Trouble> {
        let key = (terms.server.to_string(), holder);
        let (instance, fresh) = self.find_or_make(&key, terms)?;
        if fresh {
            self.launch(&key, &instance, files, workspace);
        }
        let ready = instance.ready().await;
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        match ready {
            Ok(_) => {
                failed.remove(&key);
                Ok(instance)
            }
            Err(trouble) => {
                if fresh {
                    let times = failed.get(&key).map_or(0, |(times, _)| *times);
                    failed.insert(key, (times.saturating_add(1), Instant::now()));
                }
                Err(trouble)
            }
        }
    }

    /// Installs a package into this folder.
    ///
    /// # Errors
    /// The reason for which it was not.
    pub(crate) async fn installed(
        self: &Arc<Self>,
        terms: Terms,
        folder: [u8; 16],
    ) -> Result<Installed, Trouble> {
        let key = (terms.server.to_string(), Holder::Owner);
        self.end_one(&key);
        let (instance, _) = self.find_or_make(&key, terms)?;
        self.launch(&key, &instance, Some(folder), None);
        let installed = instance.ready().await;
        self.end(&key, &instance);
        installed?.ok_or(Trouble::NoProgram(Text::clip("nothing was installed")))
    }

    /// Ends the server of these, if it runs.
    pub(super) fn end_one(&self, key: &Key) {
        let known = self.all().get(key).cloned();
        if let Some(instance) = known {
            self.end(key, &instance);
        }
    }

    /// Has agentd remove the folder of an installed package.
    pub(crate) fn remove(&self, folder: [u8; 16]) {
        self.command(Frame::new(Kind::Remove, Process::McpRunner).with(&id_words(folder)));
    }

    fn find_or_make(&self, key: &Key, terms: Terms) -> Result<(Arc<Instance>, bool), Trouble> {
        let mut running = self.all();
        if let Some(instance) = running.get(key).filter(|instance| instance.lives()) {
            return Ok((Arc::clone(instance), false));
        }
        if running.len() >= RUNNING {
            return Err(not_launched(&format!("{RUNNING} servers run; wait until one is idle")));
        }
        let browsers = || running.values().filter(|instance| instance.terms.start == Start::Browser).count();
        if terms.start == Start::Browser && browsers() >= BROWSERS {
            return Err(not_launched(&format!(
                "{BROWSERS} browsers run; close one with browser_close, or wait 10 minutes"
            )));
        }
        if let Some((times, last)) = self.failed.lock().unwrap_or_else(PoisonError::into_inner).get(key) {
            let pause = PAUSE.0.saturating_mul(1 << times.saturating_sub(1).min(5)).min(PAUSE.1);
            let left = pause.saturating_sub(last.elapsed());
            if !left.is_zero() {
                return Err(not_launched(&format!(
                    "it failed {times} times; it is tried again in {} s",
                    left.as_secs() + 1
                )));
            }
        }
        let id = getrandom::u64().and_then(|low| getrandom::u64().map(|high| (low, high)));
        let (low, high) = id.map_err(|_| not_launched("no randomness"))?;
        let id = (u128::from(high) << 64 | u128::from(low)).to_le_bytes();
        let instance = Arc::new(Instance::new(id, terms));
        running.insert(key.clone(), Arc::clone(&instance));
        Ok((instance, true))
    }

    /// Has agentd launch the jail, and ends it when it has not started in time or is not used any more.
    fn launch(
        self: &Arc<Self>,
        key: &Key,
        instance: &Arc<Instance>,
        files: Option<[u8; 16]>,
        workspace: Option<Workspace>,
    ) {
        let installs = matches!(instance.terms.start, Start::Install(_));
        self.command(frame(instance, installs, files, workspace));
        let (launcher, key, instance) = (Arc::clone(self), key.clone(), Arc::clone(instance));
        tokio::spawn(async move {
            let seconds = if installs { INSTALL_SECONDS + START_SECONDS } else { 2 * START_SECONDS };
            let started = tokio::time::timeout(Duration::from_secs(seconds.into()), instance.ready()).await;
            if started.is_err() {
                instance.set(Standing::Ended(Trouble::TooSlow));
            }
            // An installation is ended by who waits for its outcome, which would be lost here.
            if installs {
                return;
            }
            while instance.lives() {
                if instance.idle().is_some_and(|idle| idle >= IDLE) {
                    break;
                }
                drop(tokio::time::timeout(LOOK, instance.ended()).await);
            }
            launcher.end(&key, &instance);
        });
    }

    /// Ends a jail; a later call gets another.
    fn end(&self, key: &Key, instance: &Arc<Instance>) {
        let mut running = self.all();
        if running.get(key).is_some_and(|known| Arc::ptr_eq(known, instance)) {
            running.remove(key);
        }
        drop(running);
        instance.set(Standing::Ended(Trouble::JailEnded(Text::clip("nobody used it"))));
        self.command(Frame::new(Kind::Kill, process(instance)).with(&id_words(instance.id)));
    }

    /// Ends every jail of a server.
    pub(crate) fn end_all(&self, server: &str) {
        let of_server: Vec<(Key, Arc<Instance>)> = self
            .all()
            .iter()
            .filter(|((name, _), _)| name == server)
            .map(|(key, instance)| (key.clone(), Arc::clone(instance)))
            .collect();
        for (key, instance) in of_server {
            self.end(&key, &instance);
        }
    }

    /// The server of these, if it runs.
    pub(super) fn known(&self, key: &Key) -> Option<Arc<Instance>> {
        self.all().get(key).filter(|instance| instance.lives()).cloned()
    }

    /// The running server whose jail has this id.
    pub(crate) fn by_id(&self, id: JailId) -> Option<Arc<Instance>> {
        self.all().values().find(|instance| instance.id == id).cloned()
    }

    /// How many jails of a server run.
    pub(crate) fn count(&self, server: &str) -> usize {
        self.all().iter().filter(|((name, _), instance)| name == server && instance.lives()).count()
    }

    /// Takes agentd's report that a jail has ended.
    pub(crate) fn jail_ended(&self, id: JailId, why: &str) {
        if let Some(instance) = self.by_id(id) {
            instance.set(Standing::Ended(Trouble::JailEnded(Text::clip(why))));
        }
    }

    fn command(&self, frame: Frame) {
        if self.commands.send(frame).is_err() {
            tracing::warn!("agentd gets no commands any more: this process ends");
        }
    }

    fn all(&self) -> MutexGuard<'_, HashMap<Key, Arc<Instance>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The command to agentd that launches a jail.
fn frame(
    instance: &Instance,
    installs: bool,
    files: Option<[u8; 16]>,
    workspace: Option<Workspace>,
) -> Frame {
    let mut flags = if workspace.is_some_and(|workspace| workspace.attached) { LAUNCH_ATTACHED } else { 0 };
    if workspace.is_none() {
        flags |= LAUNCH_NO_WORKSPACE;
    }
    if files.is_some() {
        flags |= LAUNCH_FILES;
    }
    if installs {
        flags |= LAUNCH_WRITES_FILES;
    }
    let shown = workspace.map_or([0; 16], |workspace| workspace.id.bytes());
    let owner = if flags & LAUNCH_ATTACHED == 0 { 0 } else { attached_owner(shown) };
    let ([low, high], [first, second]) = (id_words(instance.id), id_words(shown));
    let [files_low, files_high] = id_words(files.unwrap_or_default());
    let words =
        [low, high, first, second, TIME_MS, flags, TIME_MS, owner.into(), 0, 0, files_low, files_high];
    Frame::new(Kind::Launch, process(instance)).with(&words)
}

/// The jail that a server or a browser lives in.
const fn process(instance: &Instance) -> Process {
    match instance.terms.start {
        Start::Browser => Process::BrowserRunner,
        Start::Program(_) | Start::Url { .. } | Start::Install(_) => Process::McpRunner,
    }
}

fn not_launched(why: &str) -> Trouble {
    Trouble::NotLaunched(Text::clip(why))
}
