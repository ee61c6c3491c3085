//! A client of the pass-through: its identity, its key's scope, its rate, and policy's verdict on its requests.

mod events;
mod payer;

use crate::passthrough::answer::decided::{Decided, Decision};
use crate::passthrough::clean::{Cleaned, Found};
use crate::state::context::GateContext;
use crate::state::errors::{relay_down, to_relay_error};
use crate::state::rates::{Load, RateKey, StreamPermit};
use crate::turn::requester::Requester;
use ipc_proto::api::{Caller, Holder};
use ipc_proto::audit::Event;
use ipc_proto::gate::RelayError;
use ipc_proto::ids::{CallId, UserId};
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::model::Request;
use ipc_proto::{List, Name, router};
use manifest::Process;
use policy::{Passage, Profile, Session};
use std::time::Instant;

/// The agent that policies see where there is none.
const NO_AGENT: &str = "api";

/// Queries to memory that count as one request: a tool that reads or writes many rows sends one for each.
const QUESTIONS: u32 = 32;

/// The size of a request, and its model.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) model: &'a str,
    pub(crate) bytes: usize,
}

/// A client, as far as it is known.
pub(crate) struct Client {
    pub(crate) kind: ClientKind,
    pub(crate) rate_key: RateKey,
    id: CallId,
}

/// The kinds of clients.
pub(crate) enum ClientKind {
    /// A client of the API.
    Holder(Holder),
    /// A program that a person runs.
    Run(Requester),
    /// Background work.
    Background(Background),
}

/// Background work for a user: the owner, the label of the texts it reads, and the process that does it, which is curator, or
/// control where the user asked.
#[derive(Clone, Debug)]
pub(crate) struct Background {
    pub(crate) owner: UserId,
    pub(crate) label: Label,
    pub(crate) by: Process,
    /// The ranking that it makes, which somebody waits and pays for.
    pub(crate) order: Option<u64>,
}

impl Background {
    /// Returns true if nobody waits for it.
    pub(crate) fn is_behind(&self) -> bool {
        self.by == Process::Curator
    }
}

impl Client {
    /// The client that presented this credential. Router is asked each time, so that a revoked key ends at once.
    pub(crate) async fn of(gate: &GateContext, caller: Caller) -> Result<Self, RelayError> {
        let holder = gate
            .router
            .call(&router::method::holder, |router, rpc| async move { router.holder(rpc, caller).await });
        let holder = match holder.await {
            Ok(Ok(holder)) => holder,
            Ok(Err(router::RouterError::NoKey)) => {
                gate.callers.learn(caller, None);
                return Err(RelayError::NoKey);
            }
            Ok(Err(_)) | Err(_) => return Err(relay_down("router")),
        };
        gate.callers.learn(caller, Some(&holder));
        Ok(Self::holding(holder))
    }

    /// The client of this holder.
    pub(crate) fn holding(holder: Holder) -> Self {
        let rate_key = RateKey::of(&holder);
        Self { kind: ClientKind::Holder(holder), rate_key, id: CallId::random() }
    }

    /// The client of a program in a jail, which was known before it began. It shares its user's rate.
    pub(crate) fn run(requester: &Requester) -> Self {
        Self {
            kind: ClientKind::Run(requester.clone()),
            rate_key: RateKey::User(requester.user),
            id: CallId::random(),
        }
    }

    /// The client of background work. Curator's work has a rate of its own, so that it never takes its user's.
    pub(crate) fn background(work: Background) -> Self {
        let rate_key =
            if work.is_behind() { RateKey::Background(work.owner) } else { RateKey::User(work.owner) };
        Self { kind: ClientKind::Background(work), rate_key, id: CallId::random() }
    }

    /// Checks that its key reaches every agent, and with them their memories, and that its rate permits the query. Returns the
    /// owner of the memory, and the client's name for a label.
    pub(crate) fn may_use_memory(&self, gate: &GateContext) -> Result<(UserId, Name), RelayError> {
        let owner = match &self.kind {
            ClientKind::Holder(holder) if holder.scope.agents.is_empty() => holder.user,
            ClientKind::Holder(_) | ClientKind::Run(_) | ClientKind::Background(_) => {
                return Err(RelayError::NoMemory);
            }
        };
        gate.rates.take_part(self.rate_key, QUESTIONS, Instant::now())?;
        Ok((owner, Name::clip(&format!("api:{}", self.display_name()))))
    }

    /// Counts the room of a request as this client's.
    pub(crate) fn load(&self, load: Load) -> Result<Load, RelayError> {
        load.of(self.rate_key, Instant::now())
    }

    /// The user whose client this is.
    pub(crate) fn user(&self) -> UserId {
        match &self.kind {
            ClientKind::Holder(holder) => holder.user,
            ClientKind::Run(requester) => requester.user,
            ClientKind::Background(work) => work.owner,
        }
    }

    /// The label of its query to memory, before inspection.
    pub(crate) fn question(&self) -> Label {
        match &self.kind {
            ClientKind::Holder(holder) => {
                Label::of(Trust::User, Class::Internal, &format!("api:{}", holder.name))
            }
            ClientKind::Run(requester) => requester.label.clone(),
            ClientKind::Background(work) => work.label.clone(),
        }
    }

    /// Checks that its key reaches this model and that its rate permits the request.
    pub(crate) async fn may_ask(&self, gate: &GateContext, model: &str) -> Result<(), RelayError> {
        if !self.reaches(model) {
            self.refused(gate, model, "not in the key's scope").await?;
            return Err(RelayError::NotInScope);
        }
        gate.rates.take(self.rate_key, Instant::now())
    }

    /// Returns true if its key reaches this model.
    pub(crate) fn reaches(&self, model: &str) -> bool {
        !matches!(&self.kind, ClientKind::Holder(holder) if !holder.may_use(model))
    }

    /// Checks the model and the rate, and takes a permit for one answer.
    pub(crate) async fn permit(&self, gate: &GateContext, model: &str) -> Result<StreamPermit, RelayError> {
        self.may_ask(gate, model).await?;
        gate.rates.permit(self.rate_key, Instant::now())
    }

    /// Takes a permit for a conversation that the scanner has read, and decides on it.
    pub(crate) async fn decided_with_permit(
        &self,
        gate: &GateContext,
        asked: Asked<'_>,
        cleaned: Cleaned<Request>,
        load: Load,
    ) -> Result<(Decided, StreamPermit), RelayError> {
        self.alert_on_secret(gate, cleaned.1).await?;
        let permit = self.permit(gate, asked.model).await?;
        let load = self.load(load)?;
        Ok((self.decided(gate, asked, cleaned, load).await?, permit))
    }

    /// Decides on a conversation.
    pub(crate) async fn decided(
        &self,
        gate: &GateContext,
        asked: Asked<'_>,
        cleaned: Cleaned<Request>,
        load: Load,
    ) -> Result<Decided, RelayError> {
        let (mut request, event) = self.judge(gate, asked, cleaned).await?;
        request.payer = self.payer(gate)?;
        let (requester, patience) = (self.display_name(), self.patience());
        Ok(Decided { request, id: self.id, requester, load, patience, decision: Decision::Due(event) })
    }

    /// Decides on texts that the scanner has read, on the record.
    pub(crate) async fn decide<T>(
        &self,
        gate: &GateContext,
        model: &str,
        bytes: usize,
        cleaned: Cleaned<T>,
    ) -> Result<T, RelayError> {
        let (request, decision) = self.judge(gate, Asked { model, bytes }, cleaned).await?;
        gate.record(decision).await.map_err(to_relay_error)?;
        Ok(request)
    }

    /// Judges texts that the scanner has read. The returned event is to be recorded before they go to a model; a refusal is
    /// recorded here.
    async fn judge<T>(
        &self,
        gate: &GateContext,
        asked: Asked<'_>,
        cleaned: Cleaned<T>,
    ) -> Result<(T, Event), RelayError> {
        let model = asked.model;
        let (request, found) = match cleaned {
            (Ok(request), found) => (request, found),
            (Err(error @ RelayError::Blocked(_)), _) => {
                self.refused(gate, model, "blocked by the scanner").await?;
                return Err(error);
            }
            (Err(error), _) => return Err(error),
        };
        let label = self.label(found);
        let session = self.session(&label);
        if let Err(policies) = policy::passes(&gate.engine(), &session, Passage::Prompt, &label) {
            self.refused(gate, model, "policy").await?;
            return Err(RelayError::Policy(List::clip(policies)));
        }
        Ok((request, self.permitted(asked, label)))
    }

    /// The label of its request, from the scanner's findings.
    pub(crate) fn label(&self, found: Found) -> Label {
        match &self.kind {
            ClientKind::Holder(holder) => found.label(&format!("api:{}", holder.name)),
            // A program has read its workspace.
            ClientKind::Run(requester) => found.label("run").join(&requester.label),
            ClientKind::Background(work) => found.label(work.by.name()).join(&work.label),
        }
    }

    /// The session that policies see: a client has the profile that its texts are scanned by, a program its agent's.
    pub(crate) fn session(&self, label: &Label) -> Session {
        let mut session = match &self.kind {
            ClientKind::Holder(holder) => {
                let mut session = Session::new(&format!("api:{}", holder.name), Profile::PowerUser);
                session.agent = NO_AGENT.to_owned();
                session.user = holder.user_name.to_string();
                session
            }
            ClientKind::Run(requester) => {
                let profile = requester.profile.parse().unwrap_or_default();
                let mut session = Session::new(&requester.session.to_string(), profile);
                session.agent = requester.agent.to_string();
                session.user = requester.user_name.to_string();
                session
            }
            ClientKind::Background(work) => {
                let mut session = Session::new(work.by.name(), Profile::default());
                session.agent = work.by.name().to_owned();
                session.user = work.owner.to_string();
                session
            }
        };
        session.label = label.clone();
        session
    }
}
