//! Events about a client's requests: the client, a refusal and its reason, and the alert that a request holds a secret of the
//! host. They never hold any content.

use crate::passthrough::clean::Found;
use crate::passthrough::client::{Asked, Client, ClientKind};
use crate::state::context::GateContext;
use crate::state::errors::to_relay_error;
use ipc_proto::Name;
use ipc_proto::api::Holder;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::gate::RelayError;
use ipc_proto::label::Label;

impl Client {
    /// The client's name for the record: the key's, or the user's where there is no key.
    pub(crate) fn display_name(&self) -> Name {
        match &self.kind {
            ClientKind::Holder(Holder { key: Some(_), name, .. }) => Name::clip(&format!("key {name}")),
            ClientKind::Holder(holder) => Name::clip(&format!("user {}", holder.user_name)),
            ClientKind::Run(requester) => Name::clip(&format!("run by {}", requester.user_name)),
            ClientKind::Background(work) => Name::clip(&format!("{} for {}", work.by.name(), work.owner)),
        }
    }

    pub(crate) async fn refused(&self, gate: &GateContext, model: &str, why: &str) -> Result<(), RelayError> {
        let event = self.event(model, Result3::Blocked);
        let why = format!("{}: {why}", self.display_name());
        gate.record(event.because(&why)).await.map(drop).map_err(to_relay_error)
    }

    /// Raises an alert if a secret of the host is among its texts. The alert names the client, so that one client's alerts do not
    /// suppress another's.
    pub(crate) async fn alert_on_secret(&self, gate: &GateContext, found: Found) -> Result<(), RelayError> {
        if !found.held_secret {
            return Ok(());
        }
        let why = "a secret of the host in a request of the API";
        gate.alert(self.event_about(Action::Alert, Result3::Blocked, &self.display_name()).because(why))
            .await
            .map_err(to_relay_error)
    }

    /// The event that permits a request.
    pub(crate) fn permitted(&self, asked: Asked<'_>, label: Label) -> Event {
        let mut event = self.event(asked.model, Result3::Success).because(&self.display_name());
        event.bytes = u64::try_from(asked.bytes).unwrap_or(u64::MAX);
        event.label = Some(label);
        event
    }

    pub(crate) fn event(&self, model: &str, result: Result3) -> Event {
        self.event_about(Action::ModelDecided, result, model)
    }

    /// An event of this request, without content.
    pub(crate) fn event_about(&self, action: Action, result: Result3, about: &str) -> Event {
        let mut event = Event::new(action, result).about(about);
        if let ClientKind::Run(requester) = &self.kind {
            event = event.in_turn(requester.session, requester.turn);
        }
        event.call = Some(self.id);
        event
    }
}
