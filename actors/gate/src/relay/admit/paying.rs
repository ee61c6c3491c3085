//! Who pays for what a client asks of a model, and waits for the money: pure but for the orders that somebody waits for.

use super::{Background, Client, Who};
use crate::host::Shared;
use crate::money::Patience;
use ipc_proto::Name;
use ipc_proto::gate::RelayError;
use ipc_proto::model::{ModelError, Payer};

impl Client {
    /// How long it waits for money that is only set aside. Clients of the API repeat a request by themselves, and so does curator.
    pub(in crate::relay) const fn patience(&self) -> Patience {
        match &self.who {
            Who::Run(_) => Patience::OF_A_PROGRAM,
            Who::Holder(_) | Who::Background(_) => Patience::NONE,
        }
    }

    /// Who pays for what it asks.
    pub(in crate::relay) fn payer(&self, shared: &Shared) -> Result<Payer, RelayError> {
        Ok(match &self.who {
            Who::Holder(holder) => Payer {
                user: holder.user,
                session: None,
                agent: None,
                key: holder.key,
                key_day_micros: holder.scope.day_micros,
            },
            Who::Run(asker) => Payer {
                user: asker.user,
                session: Some(asker.session),
                agent: Some(asker.agent.clone()),
                key: asker.key.map(|key| key.id),
                key_day_micros: asker.key.and_then(|key| key.day_micros),
            },
            Who::Background(Background { order: Some(id), owner, .. }) => {
                let payer = shared.orders.payer(*id).filter(|payer| payer.user == *owner);
                // Nobody waits for it any more.
                payer.ok_or(RelayError::Model(ModelError::NoStream))?
            }
            Who::Background(work) => Payer {
                user: work.owner,
                session: None,
                agent: work.is_behind().then(|| Name::clip(work.by.name())),
                key: None,
                key_day_micros: None,
            },
        })
    }
}
