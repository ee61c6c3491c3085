//! What other processes ask of the gate: the models and what they cost, the owner's policies, and what clients of the
//! API want passed through. A change of policies is on the record before it holds. Handlers translate; who may call
//! which of them is the table's affair.

use crate::host::Shared;
use crate::policies::Change;
use crate::recalling;
use crate::relay::{self, Background, Client, Relays};
use ipc_proto::api::Caller;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::gate::{
    Begun, Gate, POLICY_BOUND, PolicyError, PolicySet, RelayError, TO_ORDER, ToOrder, Tried,
};
use ipc_proto::ids::UserId;
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::memory::{Answered, Area, Ask, Block, BlockAsk, Question, Said, Scope};
use ipc_proto::model::{
    self, BudgetInfo, Embedded, Embedding, GroupBy, ModelInfo, ModelName, Piece, Request, StreamId, UsageRow,
};
use ipc_proto::{List, Name, Text};
use manifest::Process;
use sha2::{Digest, Sha256};
use tarpc::context::Context;

// The methods' work is boxed: a call's future is as large as that of the largest method, and is moved some times.
#[derive(Clone)]
pub(crate) struct Operators {
    pub(crate) shared: Shared,
    /// The answers that come over this edge.
    pub(crate) relays: Relays,
    /// Whose edge it is.
    pub(crate) by: Process,
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

    async fn away(self, _: Context) -> List<Name, 8> {
        Box::pin(crate::ready::away(&self.shared)).await
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

    async fn relay(self, _: Context, caller: Caller, request: Request) -> Result<Begun, RelayError> {
        Box::pin(self.relays.begin(&self.shared, caller, request)).await
    }

    async fn relayed(self, _: Context, stream: StreamId, credit: u16) -> Result<List<Piece, 64>, RelayError> {
        Box::pin(self.relays.pull(&self.shared, stream, credit)).await
    }

    async fn relay_end(self, _: Context, stream: StreamId) {
        Box::pin(self.relays.end(&self.shared, stream)).await;
    }

    async fn relay_embed(
        self,
        _: Context,
        caller: Caller,
        request: Embedding,
    ) -> Result<Embedded, RelayError> {
        Box::pin(relay::embed(&self.shared, caller, request)).await
    }

    async fn relay_count(self, _: Context, caller: Caller, request: Request) -> Result<u32, RelayError> {
        Box::pin(relay::count(&self.shared, caller, request)).await
    }

    async fn background(
        self,
        _: Context,
        owner: UserId,
        label: Label,
        order: Option<u64>,
        request: Request,
    ) -> Result<StreamId, RelayError> {
        let work = Background { owner, label, by: self.by, order };
        Box::pin(self.relays.begin_background(&self.shared, work, request)).await
    }

    async fn background_embed(
        self,
        _: Context,
        owner: UserId,
        label: Label,
        request: Embedding,
    ) -> Result<Embedded, RelayError> {
        let work = Background { owner, label, by: self.by, order: None };
        Box::pin(relay::embed_background(&self.shared, work, request)).await
    }

    async fn memory(self, _: Context, caller: Caller, ask: Ask) -> Result<Said, RelayError> {
        Box::pin(relay::memory(&self.shared, caller, ask)).await
    }

    async fn find(
        self,
        _: Context,
        owner: UserId,
        area: Area,
        question: Question,
    ) -> Result<Box<Answered>, RelayError> {
        let label = Label::of(Trust::User, Class::Internal, self.by.name());
        let client = Client::background(Background { owner, label, by: self.by, order: None });
        Box::pin(relay::find(&self.shared, &client, Scope { owner, area }, question)).await
    }

    async fn recall(
        self,
        _: Context,
        owner: UserId,
        user: Name,
        area: Area,
        ask: BlockAsk,
    ) -> Result<Box<Block>, RelayError> {
        Box::pin(recalling::shown(&self.shared, (owner, &user), area, ask)).await
    }

    async fn to_order(self, _: Context, wait_ms: u32) -> Option<ToOrder> {
        self.shared.orders.next(wait_ms).await
    }

    async fn ordered(self, _: Context, id: u64, order: Result<List<u8, TO_ORDER>, Text<200>>) {
        self.shared.orders.tell(id, order);
    }

    async fn try_model(self, _: Context, model: ModelName, by: Name) -> Result<Tried, RelayError> {
        Box::pin(relay::try_model(&self.shared, model, &by)).await
    }

    async fn usage(self, _: Context, by: GroupBy, since_ms: u64) -> Result<List<UsageRow, 256>, RelayError> {
        let usage = self
            .shared
            .model
            .call(&model::method::usage, |model, rpc| async move { model.usage(rpc, by, since_ms).await });
        usage.await.map_err(|_| RelayError::Down(Name::clip("model")))?.map_err(RelayError::Model)
    }

    async fn budgets(self, _: Context) -> Result<List<BudgetInfo, 64>, RelayError> {
        let budgets = self
            .shared
            .model
            .call(&model::method::budgets, |model, rpc| async move { model.budgets(rpc).await });
        budgets.await.map_err(|_| RelayError::Down(Name::clip("model")))?.map_err(RelayError::Model)
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
