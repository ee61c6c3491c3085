//! Dialer's one method: decide, resolve once, decide on the addresses, connect, pass the descriptor on.
//!
//! The descriptor goes out before the answer that names its ticket, so a caller never waits for it in vain.

use crate::connect::{self, connect};
use crate::names::Names;
use crate::routes::{LocalNetworks, RouteTables};
use crate::rule::{Rules, target};
use ipc_proto::Text;
use ipc_proto::config;
use ipc_proto::dialer::{DialError, Dialer as _, FRAME_BOUND, Ticket};
use kit::{DescriptorChannel, Edge, Host, OpenFault, Place};
use manifest::Process;
use std::cell::Cell;
use std::os::fd::AsFd;
use std::rc::Rc;
use tarpc::context::Context;
use tokio::sync::Semaphore;

/// Connections that are being made at once.
const AT_ONCE: usize = 128;
/// Bytes of a file of the system that are read.
const FILE_BOUND: u64 = 1024 * 1024;

/// The process.
pub(crate) struct Dialer(Rc<State>);

/// The state that all edges share.
pub(crate) struct State {
    rules: Rules,
    names: Names,
    routes: RouteTables,
    slots: Semaphore,
    next: Cell<u64>,
}

impl kit::Actor for Dialer {
    const PROCESS: Process = Process::Dialer;
    type Config = config::Dialer;
    type Opened = State;

    fn open(config: config::Dialer, _: &Place) -> Result<State, OpenFault> {
        let rules = Rules::new(&config).map_err(|fault| OpenFault::new("the configuration", fault))?;
        let hosts = read("/etc/hosts").unwrap_or_default();
        let mut names = Names::new(&String::from_utf8_lossy(&hosts));
        let asked = read("/etc/resolv.conf").map_err(|fault| fault.to_string());
        if let Err(fault) = asked.and_then(|text| names.ask(&text).map_err(|fault| fault.to_string())) {
            tracing::warn!(%fault, "names other than those of /etc/hosts will not resolve");
        }
        let routes = RouteTables::open().map_err(|fault| OpenFault::new("the route tables", fault))?;
        // Tickets grow over all lives of this process, so that the lowest is always the oldest.
        let (slots, next) = (Semaphore::new(AT_ONCE), Cell::new(kit::now_ms() << 16));
        Ok(State { rules, names, routes, slots, next })
    }

    async fn start(opened: State, _: Host) -> Self {
        Self(Rc::new(opened))
    }

    async fn serve(&self, edge: Edge) {
        let server =
            DialerServer { state: Rc::clone(&self.0), caller: edge.caller(), channel: edge.descriptors() };
        edge.serve(FRAME_BOUND, server.serve()).await;
    }

    fn queue_depth(&self) -> u64 {
        u64::try_from(AT_ONCE.saturating_sub(self.0.slots.available_permits())).unwrap_or(0)
    }
}

fn read(path: &str) -> std::io::Result<Vec<u8>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(FILE_BOUND).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[derive(Clone)]
struct DialerServer {
    state: Rc<State>,
    caller: Process,
    channel: Option<DescriptorChannel>,
}

impl ipc_proto::dialer::Dialer for DialerServer {
    async fn dial(self, _: Context, host: Text<253>, port: u16) -> Result<Ticket, DialError> {
        let made = self.state.dial(self.caller, &host, port).await;
        if let Err(fault) = &made {
            tracing::info!(caller = self.caller.name(), %fault, "not connected");
        }
        let connection = made?;
        let ticket = self.state.ticket();
        let channel = self.channel.ok_or(DialError::Down)?;
        channel.send(ticket.0, connection.as_fd()).map_err(|_| DialError::Busy)?;
        Ok(ticket)
    }
}

impl State {
    async fn dial(&self, caller: Process, host: &str, port: u16) -> Result<tokio::net::TcpStream, DialError> {
        let target = target(host, port)?;
        self.rules.may_ask(caller, &target)?;
        let _slot = self.slots.try_acquire().map_err(|_| DialError::Busy)?;
        let addresses = self.names.resolve(&target.host).await?;
        self.rules.decide(caller, &target, &addresses, || self.local())?;
        connect(&addresses, port, connect::PATIENCE).await
    }

    fn local(&self) -> Result<LocalNetworks, DialError> {
        self.routes.read().map_err(|fault| {
            tracing::error!(%fault, "no address can be judged");
            DialError::Routes
        })
    }

    fn ticket(&self) -> Ticket {
        let next = self.next.get() + 1;
        self.next.set(next);
        Ticket(next)
    }
}
