//! Whether a client of the API may ask this of a model: who it is, its key's scope, its rate, the scanner, policy; in
//! that order, whatever was found out first. Nothing goes on before it is on the record, and what is refused is there
//! as well.

use super::answer::Decided;
use super::around::relayed;
use super::clean::{self, Found};
use super::rates::{Seat, Whose};
use crate::host::{Shared, down};
use ipc_proto::api::{Caller, Holder};
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::gate::RelayError;
use ipc_proto::ids::CallId;
use ipc_proto::label::Label;
use ipc_proto::model::{Embedding, Payer, Request};
use ipc_proto::router;
use ipc_proto::{List, Name};
use policy::{Passage, Profile, Session};
use std::time::Instant;

/// The agent that policies see where there is none.
const NO_AGENT: &str = "api";

/// Who asked, as far as it was found out.
pub(crate) struct Client {
    holder: Holder,
    whose: Whose,
    id: CallId,
}

impl Client {
    /// Who presented this. Router is asked each time, so that a key that was revoked is none at once.
    pub(crate) async fn of(shared: &Shared, caller: Caller) -> Result<Self, RelayError> {
        let holder = shared
            .router
            .call(&router::method::holder, |router, rpc| async move { router.holder(rpc, caller).await });
        let holder = match holder.await {
            Ok(Ok(holder)) => holder,
            Ok(Err(router::RouterError::NoKey)) => return Err(RelayError::NoKey),
            Ok(Err(_)) | Err(_) => return Err(relayed(down("router"))),
        };
        let whose = Whose::of(&holder);
        Ok(Self { holder, whose, id: CallId::random() })
    }

    /// For the record: the key's name, or the user's where there is no key.
    fn phrase(&self) -> Name {
        match self.holder.key {
            Some(_) => Name::clip(&format!("key {}", self.holder.name)),
            None => Name::clip(&format!("user {}", self.holder.user_name)),
        }
    }

    fn payer(&self) -> Payer {
        Payer {
            user: self.holder.user,
            session: None,
            agent: None,
            key: self.holder.key,
            key_day_micros: self.holder.scope.day_micros,
        }
    }

    /// Its key reaches this model, and its minute has room.
    async fn may_ask(&self, shared: &Shared, model: &str) -> Result<(), RelayError> {
        if !self.holder.may_use(model) {
            self.refused(shared, model, "not in the key's scope").await?;
            return Err(RelayError::NotInScope);
        }
        shared.rates.take(self.whose, Instant::now())
    }

    /// What was found of its texts may go to a model; on the record.
    async fn decide<T>(
        &self,
        shared: &Shared,
        model: &str,
        bytes: usize,
        cleaned: Result<(T, Found), RelayError>,
    ) -> Result<T, RelayError> {
        let (request, found) = match cleaned {
            Ok(cleaned) => cleaned,
            Err(error @ RelayError::Blocked(_)) => {
                self.refused(shared, model, "blocked by the scanner").await?;
                return Err(error);
            }
            Err(error) => return Err(error),
        };
        let label = found.label(&format!("api:{}", self.holder.name));
        let session = self.session(&label);
        if let Err(policies) = policy::passes(&shared.engine(), &session, Passage::Prompt, &label) {
            self.refused(shared, model, "policy").await?;
            return Err(RelayError::Policy(List::clip(policies)));
        }
        let mut event = self.event(model, Result3::Success).because(&self.phrase());
        event.bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        event.label = Some(label);
        shared.record(event).await.map_err(relayed)?;
        Ok(request)
    }

    /// What policies see of it: it is held to the profile that its texts are scanned by.
    fn session(&self, label: &Label) -> Session {
        let mut session = Session::new(&format!("api:{}", self.holder.name), Profile::PowerUser);
        session.agent = NO_AGENT.to_owned();
        session.user = self.holder.user_name.to_string();
        session.label = label.clone();
        session
    }

    async fn refused(&self, shared: &Shared, model: &str, why: &str) -> Result<(), RelayError> {
        let event = self.event(model, Result3::Blocked);
        let why = format!("{}: {why}", self.phrase());
        shared.record(event.because(&why)).await.map(drop).map_err(relayed)
    }

    fn event(&self, model: &str, result: Result3) -> Event {
        let mut event = Event::new(Action::ModelDecided, result).about(model);
        event.call = Some(self.id);
        event
    }
}

/// Decides on a request for an answer. Who asks is found out while the scanner reads; if it is nobody, the scanner
/// stops.
pub(crate) async fn answer(
    shared: &Shared,
    caller: Caller,
    request: Request,
) -> Result<(Decided, Seat), RelayError> {
    let (model, bytes) = (request.model.clone(), bytes(&request));
    let reading = async { Ok(clean::request(shared, request).await) };
    let (client, cleaned) = tokio::try_join!(Client::of(shared, caller), reading)?;
    client.may_ask(shared, &model).await?;
    let seat = shared.rates.seat(client.whose, Instant::now())?;
    let mut request = client.decide(shared, &model, bytes, cleaned).await?;
    request.payer = client.payer();
    Ok((Decided { request, id: client.id, whose: client.phrase() }, seat))
}

/// Decides on texts that are to be embedded.
pub(crate) async fn embedding(
    shared: &Shared,
    caller: Caller,
    request: Embedding,
) -> Result<(Embedding, Seat), RelayError> {
    let model = request.model.clone();
    let bytes = request.texts.iter().map(|text| text.len()).sum();
    let reading = async { Ok(clean::embedding(shared, request).await) };
    let (client, cleaned) = tokio::try_join!(Client::of(shared, caller), reading)?;
    client.may_ask(shared, &model).await?;
    let seat = shared.rates.seat(client.whose, Instant::now())?;
    let mut request = client.decide(shared, &model, bytes, cleaned).await?;
    request.payer = client.payer();
    Ok((request, seat))
}

/// Whether somebody may have the tokens of a request counted: nothing leaves by that, so nobody reads it.
pub(crate) async fn count(shared: &Shared, caller: Caller, model: &str) -> Result<(), RelayError> {
    Client::of(shared, caller).await?.may_ask(shared, model).await
}

/// Bytes of all texts of a conversation.
fn bytes(request: &Request) -> usize {
    request.messages.iter().map(|message| message.text.len()).sum()
}
