//! Usage, cost and health of models: the gate asks model and the record. Here ids become the names that people
//! know, as far as the router is there to give them.

use crate::caller::Caller;
use ipc_proto::control::{Answer, ControlError};
use ipc_proto::gate::{GateClient, RelayError, Tried, method};
use ipc_proto::model::{BudgetInfo, GroupBy, ModelError, ModelName, Per, UsageRow};
use ipc_proto::{List, Method, Text};
use std::collections::HashMap;
use tarpc::client::RpcError;
use tarpc::context::Context;

/// Names by their ids.
type Names = HashMap<String, String>;

impl Caller {
    /// Has a model answer one short question, as the caller. An unknown model is refused with the valid names.
    pub(crate) async fn try_model(&self, model: ModelName) -> Answer<Tried> {
        let by = self.user().await?.name;
        let tried = self.relay(&method::try_model, |gate, context| {
            let (model, by) = (model.clone(), by.clone());
            async move { gate.try_model(context, model, by).await }
        });
        match tried.await {
            Err(ControlError::Relay(RelayError::Model(ModelError::UnknownModel))) => {
                let models = self.list_models().await?;
                // One that embeds answers nothing, and is refused by the same word.
                let answering = models.iter().filter(|model| !model.embeds);
                let names: Vec<&str> = answering.map(|model| model.name.as_str()).collect();
                Err(ControlError::NoModel(Text::clip(&names.join(", "))))
            }
            tried => tried,
        }
    }

    /// Usage since then.
    pub(crate) async fn read_usage(&self, by: GroupBy, since_ms: u64) -> Answer<List<UsageRow, 256>> {
        let rows = self
            .relay(&method::usage, |gate, context| async move { gate.usage(context, by, since_ms).await });
        let rows = rows.await?;
        let names = match by {
            GroupBy::Model | GroupBy::Day | GroupBy::Agent => return Ok(rows),
            GroupBy::Session => self.session_names().await,
            GroupBy::Key => self.key_names().await,
            GroupBy::User => self.user_names().await,
        };
        let named = |row: UsageRow| UsageRow { group: named(&names, row.group), ..row };
        Ok(List::clip(rows.into_iter().map(named)))
    }

    /// Every budget and how it stands.
    pub(crate) async fn read_budgets(&self) -> Answer<List<BudgetInfo, 64>> {
        let ask = |gate: GateClient, context| async move { gate.budgets(context).await };
        let rows = self.relay(&method::budgets, ask).await?;
        let has = |per| rows.iter().any(|row| row.per == per);
        let sessions = if has(Per::Session) { self.session_names().await } else { Names::new() };
        let keys = if has(Per::Key) { self.key_names().await } else { Names::new() };
        let named = |row: BudgetInfo| match row.per {
            Per::Session => BudgetInfo { whose: named(&sessions, row.whose), ..row },
            Per::Key => BudgetInfo { whose: named(&keys, row.whose), ..row },
            Per::Day | Per::Month | Per::Agent => row,
        };
        Ok(List::clip(rows.into_iter().map(named)))
    }

    async fn session_names(&self) -> Names {
        let found = self.list_sessions().await.unwrap_or_default();
        found.iter().map(|it| (it.id.to_string(), it.name.to_string())).collect()
    }

    async fn key_names(&self) -> Names {
        let found = self.list_keys().await.unwrap_or_default();
        found.iter().map(|it| (it.id.to_string(), it.name.to_string())).collect()
    }

    async fn user_names(&self) -> Names {
        let found = self.list_users().await.unwrap_or_default();
        found.iter().map(|it| (it.id.to_string(), it.name.to_string())).collect()
    }

    async fn relay<R, F, Fut>(&self, method: &Method, ask: F) -> Answer<R>
    where
        F: Fn(GateClient, Context) -> Fut,
        Fut: Future<Output = Result<Result<R, RelayError>, RpcError>>,
    {
        self.state.ask(&self.state.gate, method, ask).await?.map_err(ControlError::Relay)
    }
}

/// The name of an id; the id itself of what is gone.
fn named(names: &Names, id: Text<128>) -> Text<128> {
    names.get(id.as_str()).map_or(id, |name| Text::clip(name))
}
