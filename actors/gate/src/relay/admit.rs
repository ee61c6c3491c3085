//! Whether a client of the API may ask this of a model: who it is, its key's scope, its rate, the scanner, policy; in
//! that order, whatever was found out first. Nothing goes on before it is on the record, and what is refused is there
//! as well.

mod ahead;
mod paying;
mod telling;

pub(crate) use ahead::Callers;

use super::answer::{Decided, Decision};
use super::around::relayed;
use super::clean::{self, Cleaned, Found};
use super::rates::{Load, Seat, Whose};
use crate::host::{Shared, down};
use crate::running::Asker;
use ahead::Ahead;
use ipc_proto::api::{Caller, Holder};
use ipc_proto::audit::Event;
use ipc_proto::gate::RelayError;
use ipc_proto::ids::{CallId, UserId};
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::model::{Embedding, Request};
use ipc_proto::router;
use ipc_proto::{List, Name};
use manifest::Process;
use policy::{Passage, Profile, Session};
use std::time::Instant;

/// The agent that policies see where there is none.
const NO_AGENT: &str = "api";

/// Questions to memory that count as one request: a tool that gives out or takes in many rows asks one for each.
const QUESTIONS: u32 = 32;

/// What is asked: of which model, and how many bytes of text.
#[derive(Clone, Copy)]
struct Asked<'a> {
    model: &'a str,
    bytes: usize,
}

/// What one request takes of what there is.
pub(crate) type Room = (Seat, Load);

/// Who asked, as far as it was found out.
pub(crate) struct Client {
    who: Who,
    whose: Whose,
    id: CallId,
}

/// Who may ask.
enum Who {
    /// A client of the API.
    Holder(Holder),
    /// A program that a person runs.
    Run(Asker),
    /// Background work.
    Background(Background),
}

/// Work that is done for a user: whose, what is known of what it reads, and by whom: curator, behind them, or control, which
/// they asked themselves.
#[derive(Clone, Debug)]
pub(crate) struct Background {
    pub(crate) owner: UserId,
    pub(crate) label: Label,
    pub(crate) by: Process,
    /// The rows that it puts into order, which somebody waits and pays for.
    pub(crate) order: Option<u64>,
}

impl Background {
    /// Nobody waits for it.
    fn is_behind(&self) -> bool {
        self.by == Process::Curator
    }
}

impl Client {
    /// Who presented this. Router is asked each time, so that a key that was revoked is none at once.
    pub(crate) async fn of(shared: &Shared, caller: Caller) -> Result<Self, RelayError> {
        let holder = shared
            .router
            .call(&router::method::holder, |router, rpc| async move { router.holder(rpc, caller).await });
        let holder = match holder.await {
            Ok(Ok(holder)) => holder,
            Ok(Err(router::RouterError::NoKey)) => {
                shared.callers.learn(caller, None);
                return Err(RelayError::NoKey);
            }
            Ok(Err(_)) | Err(_) => return Err(relayed(down("router"))),
        };
        shared.callers.learn(caller, Some(&holder));
        Ok(Self::holding(holder))
    }

    /// Whom router knows.
    fn holding(holder: Holder) -> Self {
        let whose = Whose::of(&holder);
        Self { who: Who::Holder(holder), whose, id: CallId::random() }
    }

    /// A program that a person runs: who it is was known before it began. It shares its person's rate.
    pub(crate) fn run(asker: &Asker) -> Self {
        Self { who: Who::Run(asker.clone()), whose: Whose::User(asker.user), id: CallId::random() }
    }

    /// Work for a user, who need not be there. It has a rate of its own, so that it never takes a person's.
    pub(crate) fn background(work: Background) -> Self {
        let whose = if work.is_behind() { Whose::Background(work.owner) } else { Whose::User(work.owner) };
        Self { who: Who::Background(work), whose, id: CallId::random() }
    }

    /// Its key reaches every agent, and with them what they remember, and its minute has room. Gives whose memory it is,
    /// and who it is for a label.
    pub(crate) fn may_remember(&self, shared: &Shared) -> Result<(UserId, Name), RelayError> {
        let owner = match &self.who {
            Who::Holder(holder) if holder.scope.agents.is_empty() => holder.user,
            Who::Holder(_) | Who::Run(_) | Who::Background(_) => return Err(RelayError::NoMemory),
        };
        shared.rates.take_part(self.whose, QUESTIONS, Instant::now())?;
        Ok((owner, Name::clip(&format!("api:{}", self.phrase()))))
    }

    /// Room of a request, counted as this client's.
    pub(super) fn load(&self, load: Load) -> Result<Load, RelayError> {
        load.of(self.whose, Instant::now())
    }

    /// Whose it is.
    pub(super) fn user(&self) -> UserId {
        match &self.who {
            Who::Holder(holder) => holder.user,
            Who::Run(asker) => asker.user,
            Who::Background(work) => work.owner,
        }
    }

    /// What is known of what it asks memory, before anybody looked at it.
    pub(super) fn question(&self) -> Label {
        match &self.who {
            Who::Holder(holder) => Label::of(Trust::User, Class::Internal, &format!("api:{}", holder.name)),
            Who::Run(asker) => asker.label.clone(),
            Who::Background(work) => work.label.clone(),
        }
    }

    /// Its key reaches this model, and its minute has room.
    async fn may_ask(&self, shared: &Shared, model: &str) -> Result<(), RelayError> {
        if !self.reaches(model) {
            self.refused(shared, model, "not in the key's scope").await?;
            return Err(RelayError::NotInScope);
        }
        shared.rates.take(self.whose, Instant::now())
    }

    /// Returns whether its key reaches this model.
    fn reaches(&self, model: &str) -> bool {
        !matches!(&self.who, Who::Holder(holder) if !holder.may_use(model))
    }

    /// The same, and there is room for one more that comes at once.
    async fn seat(&self, shared: &Shared, model: &str) -> Result<Seat, RelayError> {
        self.may_ask(shared, model).await?;
        shared.rates.seat(self.whose, Instant::now())
    }

    /// A conversation that has no seat yet, once the scanner has read it.
    async fn seated(
        &self,
        shared: &Shared,
        asked: Asked<'_>,
        cleaned: Cleaned<Request>,
        load: Load,
    ) -> Result<(Decided, Seat), RelayError> {
        self.alarm(shared, cleaned.1).await?;
        let seat = self.seat(shared, asked.model).await?;
        let load = self.load(load)?;
        Ok((self.decided(shared, asked, cleaned, load).await?, seat))
    }

    /// A conversation that was decided on.
    async fn decided(
        &self,
        shared: &Shared,
        asked: Asked<'_>,
        cleaned: Cleaned<Request>,
        load: Load,
    ) -> Result<Decided, RelayError> {
        let (mut request, event) = self.judge(shared, asked, cleaned).await?;
        request.payer = self.payer(shared)?;
        let (whose, patience) = (self.phrase(), self.patience());
        Ok(Decided { request, id: self.id, whose, load, patience, decision: Decision::Due(event) })
    }

    /// What was found of its texts may go to a model; on the record.
    async fn decide<T>(
        &self,
        shared: &Shared,
        model: &str,
        bytes: usize,
        cleaned: Cleaned<T>,
    ) -> Result<T, RelayError> {
        let (request, decision) = self.judge(shared, Asked { model, bytes }, cleaned).await?;
        shared.record(decision).await.map_err(relayed)?;
        Ok(request)
    }

    /// What was found of its texts may go to a model once this is on the record; what may not is there already.
    async fn judge<T>(
        &self,
        shared: &Shared,
        asked: Asked<'_>,
        cleaned: Cleaned<T>,
    ) -> Result<(T, Event), RelayError> {
        let model = asked.model;
        let (request, found) = match cleaned {
            (Ok(request), found) => (request, found),
            (Err(error @ RelayError::Blocked(_)), _) => {
                self.refused(shared, model, "blocked by the scanner").await?;
                return Err(error);
            }
            (Err(error), _) => return Err(error),
        };
        let label = self.label(found);
        let session = self.session(&label);
        if let Err(policies) = policy::passes(&shared.engine(), &session, Passage::Prompt, &label) {
            self.refused(shared, model, "policy").await?;
            return Err(RelayError::Policy(List::clip(policies)));
        }
        Ok((request, self.permitted(asked, label)))
    }

    /// The label of what it asks, of which this was found.
    fn label(&self, found: Found) -> Label {
        match &self.who {
            Who::Holder(holder) => found.label(&format!("api:{}", holder.name)),
            // It has read its workspace.
            Who::Run(asker) => found.label("run").join(&asker.label),
            Who::Background(work) => found.label(work.by.name()).join(&work.label),
        }
    }

    /// What policies see of it: a client is held to the profile that its texts are scanned by, a program to its agent's.
    pub(super) fn session(&self, label: &Label) -> Session {
        let mut session = match &self.who {
            Who::Holder(holder) => {
                let mut session = Session::new(&format!("api:{}", holder.name), Profile::PowerUser);
                session.agent = NO_AGENT.to_owned();
                session.user = holder.user_name.to_string();
                session
            }
            Who::Run(asker) => {
                let profile = asker.profile.parse().unwrap_or_default();
                let mut session = Session::new(&asker.session.to_string(), profile);
                session.agent = asker.agent.to_string();
                session.user = asker.user_name.to_string();
                session
            }
            Who::Background(work) => {
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

/// Decides on a request for an answer. Who asks is found out while the scanner reads; if it is nobody, the scanner
/// stops. Where they have asked before, the decision is on its way to the record meanwhile.
pub(crate) async fn answer(
    shared: &Shared,
    caller: Caller,
    request: Request,
) -> Result<(Decided, Seat), RelayError> {
    let (model, bytes) = (request.model.clone(), clean::bytes(&request));
    let asked = Asked { model: &model, bytes };
    let load = shared.rates.hold(clean::size(&request))?;
    let ahead = Ahead::send(shared, caller, asked, Found::expected(&request)).await;
    let reading = async { Ok(clean::request(shared, request).await) };
    let (client, cleaned) = tokio::try_join!(Client::of(shared, caller), reading)?;
    match ahead {
        Some(ahead) => ahead.confirm(client, cleaned, load).await,
        None => client.seated(shared, asked, cleaned, load).await,
    }
}

/// The same of what a program asks that a person runs.
pub(crate) async fn run(
    shared: &Shared,
    asker: &Asker,
    request: Request,
) -> Result<(Decided, Seat), RelayError> {
    known(shared, Client::run(asker), request).await
}

/// The same of background work.
pub(crate) async fn background(
    shared: &Shared,
    work: Background,
    request: Request,
) -> Result<(Decided, Seat), RelayError> {
    known(shared, Client::background(work), request).await
}

/// Of who was known before nothing is read that the rate refuses, or they could keep the scanner from everybody else.
async fn known(shared: &Shared, client: Client, request: Request) -> Result<(Decided, Seat), RelayError> {
    let (model, bytes) = (request.model.clone(), clean::bytes(&request));
    let seat = client.seat(shared, &model).await?;
    let load = shared.rates.hold(clean::size(&request))?.of(client.whose, Instant::now())?;
    let cleaned = clean::request(shared, request).await;
    client.alarm(shared, cleaned.1).await?;
    Ok((client.decided(shared, Asked { model: &model, bytes }, cleaned, load).await?, seat))
}

/// Decides on texts that are to be embedded.
pub(crate) async fn embedding(
    shared: &Shared,
    caller: Caller,
    request: Embedding,
) -> Result<(Embedding, Room), RelayError> {
    let model = request.model.clone();
    let bytes = request.texts.iter().map(|text| text.len()).sum();
    let load = shared.rates.hold(bytes)?;
    let reading = async { Ok(clean::embedding(shared, request).await) };
    let (client, cleaned) = tokio::try_join!(Client::of(shared, caller), reading)?;
    client.alarm(shared, cleaned.1).await?;
    let load = load.of(client.whose, Instant::now())?;
    let (request, seat) = to_embed(shared, &client, &model, bytes, cleaned).await?;
    Ok((request, (seat, load)))
}

/// The same of background work.
pub(crate) async fn background_embedding(
    shared: &Shared,
    work: Background,
    request: Embedding,
) -> Result<(Embedding, Room), RelayError> {
    let model = request.model.clone();
    let bytes = request.texts.iter().map(|text| text.len()).sum();
    let load = shared.rates.hold(bytes)?;
    let client = Client::background(work);
    let cleaned = clean::embedding(shared, request).await;
    client.alarm(shared, cleaned.1).await?;
    let (request, seat) = to_embed(shared, &client, &model, bytes, cleaned).await?;
    Ok((request, (seat, load)))
}

async fn to_embed(
    shared: &Shared,
    client: &Client,
    model: &str,
    bytes: usize,
    cleaned: Cleaned<Embedding>,
) -> Result<(Embedding, Seat), RelayError> {
    let seat = client.seat(shared, model).await?;
    let mut request = client.decide(shared, model, bytes, cleaned).await?;
    request.payer = client.payer(shared)?;
    Ok((request, seat))
}

/// Decides on a question to memory that is to be embedded. The embedder is the host's own choice and no key's, and the question
/// itself was counted; who asks pays.
pub(super) async fn question(
    shared: &Shared,
    client: &Client,
    request: Embedding,
) -> Result<(Embedding, Room), RelayError> {
    let model = request.model.clone();
    let bytes = request.texts.iter().map(|text| text.len()).sum();
    let load = shared.rates.hold(bytes)?.of(client.whose, Instant::now())?;
    let seat = shared.rates.seat(client.whose, Instant::now())?;
    let cleaned = clean::embedding(shared, request).await;
    client.alarm(shared, cleaned.1).await?;
    let mut request = client.decide(shared, &model, bytes, cleaned).await?;
    request.payer = client.payer(shared)?;
    Ok((request, (seat, load)))
}

/// Returns whether somebody may have the tokens of a request counted: nothing leaves by that, so nobody reads it.
pub(crate) async fn count(shared: &Shared, caller: Caller, request: &Request) -> Result<Load, RelayError> {
    let load = shared.rates.hold(clean::size(request))?;
    Client::of(shared, caller).await?.may_ask(shared, &request.model).await?;
    Ok(load)
}

/// The same of what a program asks that a person runs.
pub(crate) fn count_run(shared: &Shared, asker: &Asker, request: &Request) -> Result<Load, RelayError> {
    shared.rates.take(Client::run(asker).whose, Instant::now())?;
    shared.rates.hold(clean::size(request))
}
