//! Somebody who asks control over one connection, one thing after the other, and connects again when it broke.

use ipc_proto::Method;
use ipc_proto::control::{Answer, ControlClient, ControlError, FRAME_BOUND};
use ipc_proto::memory::MemoryError;
use ipc_proto::router::RouterError;
use manifest::Process;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tarpc::client::{Config, RpcError};
use tarpc::context::Context;
use tokio::net::UnixStream;
use tokio::runtime::Runtime;

/// How long a hello may take.
const HELLO: Duration = Duration::from_secs(5);
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(100);

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// Somebody was away, or the host cannot do it just now: what was asked may have taken effect.
    Away(String),
    /// The host's own refusal.
    Refused(ControlError),
}

/// The connection.
pub(crate) struct Asker {
    socket: PathBuf,
    runtime: Runtime,
    client: Option<ControlClient>,
    /// How long an answer may take at most, whatever its method allows.
    patience: Duration,
}

impl Asker {
    /// One that will connect to this socket, and waits for an answer as long as its method allows.
    pub(crate) fn new(socket: &Path) -> io::Result<Self> {
        Self::hurried(socket, Duration::MAX)
    }

    /// One that waits no longer than this.
    pub(crate) fn hurried(socket: &Path, patience: Duration) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { socket: socket.to_owned(), runtime, client: None, patience })
    }

    /// Asks once.
    pub(crate) fn once<T>(
        &mut self,
        method: &Method,
        call: impl AsyncFn(&ControlClient, Context) -> Result<Answer<T>, RpcError>,
    ) -> Result<T, Trouble> {
        let Self { socket, runtime, client, patience } = self;
        let asked = runtime.block_on(async {
            let connected = match client.take() {
                Some(connected) => connected,
                None => connect(socket, HELLO.min(*patience)).await?,
            };
            let mut context = tarpc::context::current();
            context.deadline = Instant::now() + method.deadline.min(*patience);
            let answer = call(&connected, context).await.map_err(|fault| fault.to_string())?;
            *client = Some(connected);
            Ok::<_, String>(answer)
        });
        match asked {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) if passes(&error) => Err(Trouble::Away(error.to_string())),
            Ok(Err(error)) => Err(Trouble::Refused(error)),
            Err(fault) => Err(Trouble::Away(fault)),
        }
    }

    /// Asks again and again, while `going` and somebody is away.
    pub(crate) fn patiently<T>(
        &mut self,
        method: &Method,
        going: impl Fn() -> bool,
        call: impl AsyncFn(&ControlClient, Context) -> Result<Answer<T>, RpcError>,
    ) -> Result<T, Trouble> {
        loop {
            match self.once(method, &call) {
                Err(Trouble::Away(_)) if going() => std::thread::sleep(PAUSE),
                came => return came,
            }
        }
    }
}

async fn connect(socket: &Path, time: Duration) -> Result<ControlClient, String> {
    let connected = async {
        let stream = UnixStream::connect(socket).await.map_err(|error| error.to_string())?;
        wire::client(stream, Process::Agentd, FRAME_BOUND).await.map_err(|fault| fault.to_string())
    };
    let transport = tokio::time::timeout(time, connected).await.map_err(|_| "no hello".to_owned())??;
    Ok(ControlClient::new(Config::default(), transport).spawn())
}

/// Refusals that mend by themselves.
fn passes(error: &ControlError) -> bool {
    match error {
        ControlError::Down(_) | ControlError::Audit(_) => true,
        ControlError::Router(error) => {
            matches!(error, RouterError::NotDurable | RouterError::NoRoom { .. } | RouterError::Busy { .. })
        }
        ControlError::Memory(error) => {
            matches!(error, MemoryError::ScannerDown | MemoryError::NotRecorded | MemoryError::Storage)
        }
        _ => false,
    }
}
