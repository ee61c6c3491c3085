//! Connections that dialer makes, for the processes that speak to servers outside.

use crate::actor::Host;
use crate::descriptors::Descriptors;
use crate::link::Link;
use ipc_proto::dialer::{self, DialError, DialerClient, HostPort};
use ipc_proto::{Fault, Text};
use manifest::Process;
use std::os::fd::OwnedFd;

/// The way to dialer.
pub struct Dial {
    dialer: Link<DialerClient>,
    descriptors: Descriptors,
}

impl Dial {
    /// The way to the dialer of this host.
    #[must_use]
    pub fn new(host: &Host) -> Self {
        Self { dialer: host.link(), descriptors: host.descriptors(Process::Dialer) }
    }

    /// A connection to this host, whose addresses dialer has checked.
    ///
    /// # Errors
    /// Dialer's own; [`DialError::Down`] if it is not there, or its descriptor did not come.
    pub async fn connect(&self, target: &HostPort) -> Result<OwnedFd, DialError> {
        let host = Text::new(target.host.to_string()).map_err(|_| DialError::NotAllowed)?;
        let dialled = self.dialer.call(&dialer::method::dial, |dialer, context| {
            let (host, port) = (host.clone(), target.port);
            async move { dialer.dial(context, host, port).await }
        });
        let ticket = dialled.await.map_err(|fault| match fault {
            Fault::Deadline => DialError::TimedOut,
            _ => DialError::Down,
        })??;
        self.descriptors.take(ticket.0).await.map_err(|_| DialError::Down)
    }
}
