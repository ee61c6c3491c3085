//! The payer of a client's model calls, and its wait for money. Only rankings that somebody waits for are looked up; the rest is
//! pure.

use crate::model::budget::Patience;
use crate::passthrough::client::{Background, Client, ClientKind};
use crate::state::context::GateContext;
use ipc_proto::Name;
use ipc_proto::gate::RelayError;
use ipc_proto::model::{ModelError, Payer};

impl Client {
    /// The time that it waits for money that is set aside. Clients of the API repeat a request by themselves, and so does
    /// curator.
    pub(crate) const fn patience(&self) -> Patience {
        match &self.kind {
            ClientKind::Run(_) => Patience::PROGRAM,
            ClientKind::Holder(_) | ClientKind::Background(_) => Patience::NONE,
        }
    }

    /// The payer of its model calls.
    pub(crate) fn payer(&self, gate: &GateContext) -> Result<Payer, RelayError> {
        Ok(match &self.kind {
            ClientKind::Holder(holder) => Payer {
                user: holder.user,
                session: None,
                agent: None,
                key: holder.key,
                key_day_micros: holder.scope.day_micros,
            },
            ClientKind::Run(requester) => Payer {
                user: requester.user,
                session: Some(requester.session),
                agent: Some(requester.agent.clone()),
                key: requester.key.map(|key| key.id),
                key_day_micros: requester.key.and_then(|key| key.day_micros),
            },
            ClientKind::Background(Background { order: Some(id), owner, .. }) => {
                let payer = gate.reranks.payer(*id).filter(|payer| payer.user == *owner);
                // Nobody waits for this ranking any more.
                payer.ok_or(RelayError::Model(ModelError::NoStream))?
            }
            ClientKind::Background(work) => Payer {
                user: work.owner,
                session: None,
                agent: work.is_behind().then(|| Name::clip(work.by.name())),
                key: None,
                key_day_micros: None,
            },
        })
    }
}
