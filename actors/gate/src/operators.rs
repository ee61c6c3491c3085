//! What operators ask of the gate: the models, and the owner's policies. A change of those is on the record before it
//! holds.

use crate::host::Shared;
use crate::policies::Change;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::gate::{Gate, POLICY_BOUND, PolicyError, PolicySet};
use ipc_proto::model::ModelInfo;
use ipc_proto::{List, Name, Text};
use sha2::{Digest, Sha256};
use tarpc::context::Context;

#[derive(Clone)]
pub(crate) struct Operators {
    pub(crate) shared: Shared,
}

impl Operators {
    /// Records a checked change, makes it durable, and lets it hold.
    async fn make(
        &self,
        policies: &mut crate::policies::Policies,
        change: Change,
        event: Event,
    ) -> Result<Name, PolicyError> {
        let version = change.version();
        self.shared.record(event.clone()).await.map_err(|_| PolicyError::NotDurable)?;
        if let Err(error) = policies.make(change) {
            tracing::error!(%error, "a policy file could not be written");
            // What the record says happened did not: that is said after it.
            let failed = Event { result: Result3::Error, ..event };
            drop(self.shared.record(failed).await);
            return Err(PolicyError::NotDurable);
        }
        self.shared.swap(policies.engine());
        Ok(version)
    }
}

impl Gate for Operators {
    async fn models(self, _: Context) -> List<ModelInfo, 256> {
        List::clip(self.shared.models().await.unwrap_or_default())
    }

    async fn policies(self, _: Context) -> PolicySet {
        self.shared.policies.lock().await.list()
    }

    async fn set_policy(
        self,
        _: Context,
        name: Name,
        text: Text<POLICY_BOUND>,
        by: Name,
    ) -> Result<Name, PolicyError> {
        let mut policies = self.shared.policies.lock().await;
        let change = policies.setting(&name, &text)?;
        let mut event = changed(&name, &format!("set by {by}"));
        event.bytes = text.len() as u64;
        event.hash = Some(Sha256::digest(text.as_bytes()).into());
        self.make(&mut policies, change, event).await
    }

    async fn remove_policy(self, _: Context, name: Name, by: Name) -> Result<Name, PolicyError> {
        let mut policies = self.shared.policies.lock().await;
        let change = policies.removing(&name)?;
        self.make(&mut policies, change, changed(&name, &format!("removed by {by}"))).await
    }
}

fn changed(name: &str, why: &str) -> Event {
    Event::new(Action::PolicyChanged, Result3::Success).about(name).because(why)
}

/// The owner's files do not hold: every call is refused, and the record says why.
pub(crate) async fn record_broken(shared: Shared) {
    let event =
        Event::new(Action::PolicyChanged, Result3::Blocked).because("a policy file does not hold: deny all");
    if shared.record(event).await.is_err() {
        tracing::warn!("that the policies do not hold could not be recorded");
    }
}
