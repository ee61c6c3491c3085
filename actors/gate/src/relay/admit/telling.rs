//! What the record is told of a client's requests: who asked, that one was refused and why, and the alert that a client has a
//! secret of the host's. Nothing of what was asked is ever in it.

use super::super::around::relayed;
use super::{Asked, Client, Who};
use crate::host::Shared;
use crate::relay::clean::Found;
use ipc_proto::Name;
use ipc_proto::api::Holder;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::gate::RelayError;
use ipc_proto::label::Label;

impl Client {
    /// For the record: the key's name, or the user's where there is no key.
    pub(in crate::relay) fn phrase(&self) -> Name {
        match &self.who {
            Who::Holder(Holder { key: Some(_), name, .. }) => Name::clip(&format!("key {name}")),
            Who::Holder(holder) => Name::clip(&format!("user {}", holder.user_name)),
            Who::Run(asker) => Name::clip(&format!("run by {}", asker.user_name)),
            Who::Background(work) => Name::clip(&format!("{} for {}", work.by.name(), work.owner)),
        }
    }

    pub(super) async fn refused(&self, shared: &Shared, model: &str, why: &str) -> Result<(), RelayError> {
        let event = self.event(model, Result3::Blocked);
        let why = format!("{}: {why}", self.phrase());
        shared.record(event.because(&why)).await.map(drop).map_err(relayed)
    }

    /// A secret of the host's own among its texts is an alert, which names the client: those of one keep no other's quiet.
    pub(super) async fn alarm(&self, shared: &Shared, found: Found) -> Result<(), RelayError> {
        if !found.held_secret {
            return Ok(());
        }
        let why = "a secret of the host in a request of the API";
        shared
            .alert(self.told(Action::Alert, Result3::Blocked, &self.phrase()).because(why))
            .await
            .map_err(relayed)
    }

    /// That what is asked may go to its model.
    pub(super) fn permitted(&self, asked: Asked<'_>, label: Label) -> Event {
        let mut event = self.event(asked.model, Result3::Success).because(&self.phrase());
        event.bytes = u64::try_from(asked.bytes).unwrap_or(u64::MAX);
        event.label = Some(label);
        event
    }

    pub(super) fn event(&self, model: &str, result: Result3) -> Event {
        self.told(Action::ModelDecided, result, model)
    }

    /// An event of this request; without anything of what is asked or said.
    pub(in crate::relay) fn told(&self, action: Action, result: Result3, about: &str) -> Event {
        let mut event = Event::new(action, result).about(about);
        if let Who::Run(asker) = &self.who {
            event = event.in_turn(asker.session, asker.turn);
        }
        event.call = Some(self.id);
        event
    }
}
