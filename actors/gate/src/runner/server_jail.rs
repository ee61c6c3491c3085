//! The bridge of one server's jail, as it reaches the gate: it takes requests, and gives back what the server said.

use crate::state::context::GateContext;
use crate::state::errors::down;
use crate::state::mcp::{Instance, Standing};
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::mcp::{Offer, Reply, Report, Request, Terms};
use ipc_proto::runner_gate::GateError;
use std::sync::Arc;
use std::time::Duration;

/// How long the bridge waits for a request before it asks again.
const WAIT: Duration = Duration::from_secs(20);

/// One jail's bridge.
#[derive(Clone)]
pub(crate) struct ServerJail {
    gate: GateContext,
    /// None for a jail that is no server's, and for one that the gate does not know any more.
    instance: Option<Arc<Instance>>,
}

impl ServerJail {
    pub(crate) const fn new(gate: GateContext, instance: Option<Arc<Instance>>) -> Self {
        Self { gate, instance }
    }

    fn instance(&self) -> Result<&Arc<Instance>, GateError> {
        self.instance.as_ref().filter(|instance| instance.lives()).ok_or(GateError::Over)
    }

    pub(crate) fn terms(&self) -> Result<Terms, GateError> {
        Ok(self.instance()?.terms.clone())
    }

    pub(crate) async fn next(&self) -> Result<Option<Request>, GateError> {
        let instance = self.instance()?;
        tokio::select! {
            next = instance.next(WAIT) => Ok(next),
            () = instance.ended() => Err(GateError::Over),
        }
    }

    pub(crate) fn reply(&self, id: u64, reply: Reply) -> Result<(), GateError> {
        self.instance()?.reply(id, reply);
        Ok(())
    }

    /// Takes a report. Approved tools that are others now are withdrawn, which is on the record, before anybody can use the server.
    pub(crate) async fn report(&self, report: Report) -> Result<(), GateError> {
        let instance = self.instance()?;
        match report {
            Report::Offers(offer) => {
                self.offered(&instance.terms.server, *offer).await?;
                instance.set(Standing::Ready(None));
            }
            Report::Opened => instance.set(Standing::Ready(None)),
            Report::Installed(installed) => instance.set(Standing::Ready(Some(installed))),
            Report::Failed(trouble) => instance.set(Standing::Ended(trouble)),
        }
        Ok(())
    }

    async fn offered(&self, server: &str, offer: Offer) -> Result<(), GateError> {
        let changed = self.gate.mcp.offered(server, offer).map_err(|cause| {
            tracing::error!(%cause, "what a server offers could not be stored");
            down("gate")
        })?;
        for tool in changed {
            let event = Event::new(Action::ServerToolChanged, Result3::Blocked);
            let event = event.about(&format!("{server}{}{tool}", ipc_proto::mcp::SEPARATOR));
            self.gate.record(event.because("it is not what was approved; no agent has it")).await?;
        }
        Ok(())
    }

    /// Notes that the bridge has gone.
    pub(crate) fn gone(&self) {
        if let Some(instance) = &self.instance {
            self.gate.mcp.launcher.jail_ended(instance.id, "the bridge has gone");
        }
    }
}
