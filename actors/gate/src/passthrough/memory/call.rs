//! A client's call of memory. A call that reads is decided on and recorded like an agent's call of the tool that reads the
//! same; a call that changes memory is recorded by memory itself.

use super::shown::Shown;
use crate::passthrough::client::Client;
use crate::passthrough::deps::Dependencies;
use crate::state::context::GateContext;
use crate::state::elapsed::ms;
use crate::state::errors::to_relay_error;
use crate::state::rates::{AGAIN, Load};
use ipc_proto::api::Caller;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::gate::RelayError;
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::memory::{Area, Scope};
use ipc_proto::{List, Name};
use policy::{Decision, Passage};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::time::Instant;

/// A call that was admitted.
pub(super) struct Call<'a> {
    gate: &'a GateContext,
    client: Client,
    load: Load,
    tool: &'static str,
    begun: Instant,
    /// The user's own area of memory.
    pub(super) scope: Scope,
    /// The client's name in the label of a row that it writes.
    pub(super) by: Name,
}

impl<'a> Call<'a> {
    /// Admits a call with `bytes` of text that changes memory.
    pub(super) async fn changing(
        gate: &'a GateContext,
        caller: Caller,
        bytes: usize,
    ) -> Result<Self, RelayError> {
        let begun = Instant::now();
        let load = gate.rates.hold(bytes)?;
        let client = Client::of(gate, caller).await?;
        let (owner, by) = client.may_use_memory(gate)?;
        let load = client.load(load)?;
        Ok(Self { gate, client, load, tool: "", begun, scope: Scope { owner, area: Area::User }, by })
    }

    /// Admits a call with `bytes` of text that reads as this tool of agents does. There is no person to ask: a call for
    /// which policy demands an approval is refused.
    pub(super) async fn reading(
        gate: &'a GateContext,
        caller: Caller,
        tool: &'static str,
        bytes: usize,
    ) -> Result<Self, RelayError> {
        let call = Self { tool, ..Self::changing(gate, caller, bytes).await? };
        call.decide().await?;
        Ok(call)
    }

    /// The client.
    pub(super) const fn client(&self) -> &Client {
        &self.client
    }

    /// Returns if the client may read so; the decision is on the record.
    async fn decide(&self) -> Result<(), RelayError> {
        let (gate, client, tool) = (self.gate, &self.client, self.tool);
        let label = Label::of(Trust::User, Class::Internal, &self.by);
        let (session, args) =
            (client.session(&label), Map::from_iter([("scope".to_owned(), Value::from("user"))]));
        let call = policy::Call { tool, args: &args };
        let verdict = policy::decide(&gate.engine(), &gate.catalogue(), &session, &call);
        if verdict.decision == Decision::Allow {
            let event = client
                .event_about(Action::ToolDecided, Result3::Success, tool)
                .because(&client.display_name());
            return gate.record(event).await.map(drop).map_err(to_relay_error);
        }
        let why = format!("{}: policy", client.display_name());
        let event = client.event_about(Action::ToolDecided, Result3::Blocked, tool).because(&why);
        gate.record(event).await.map_err(to_relay_error)?;
        Err(RelayError::Policy(verdict.why.policies))
    }

    /// Releases memory's answer to the client, if policy lets it pass; its size and hash are on the record first.
    pub(super) async fn release<T: Shown>(mut self, answer: Result<T, RelayError>) -> Result<T, RelayError> {
        let answer = answer.map(Shown::without_proposed).and_then(|answer| {
            let summary = Summary::of(&answer);
            let bytes = usize::try_from(summary.bytes).unwrap_or(usize::MAX);
            // There may be no room for as much as memory answers.
            if self.load.grow(bytes) {
                Ok((answer, summary))
            } else {
                Err(RelayError::Busy { retry_s: AGAIN })
            }
        });
        let (gate, client) = (self.gate, &self.client);
        let mut ended = client
            .event_about(Action::ToolEnded, Result3::Success, self.tool)
            .because(&client.display_name());
        ended.duration_ms = ms(self.begun.elapsed());
        let (answer, Summary { label, bytes, hash }) = match answer {
            Ok(released) => released,
            Err(error) => {
                gate.record_later(Event { result: Result3::Error, ..ended });
                return Err(error);
            }
        };
        let session = client.session(&label);
        ended.bytes = bytes;
        if policy::passes(&gate.engine(), &session, Passage::Log, &label).is_ok() {
            ended.hash = Some(hash);
        }
        let passes = policy::passes(&gate.engine(), &session, Passage::Output, &label);
        ended.label = Some(label);
        match passes {
            Ok(()) => {
                gate.record(ended).await.map_err(to_relay_error)?;
                Ok(answer)
            }
            Err(policies) => {
                gate.record(Event { result: Result3::Blocked, ..ended }).await.map_err(to_relay_error)?;
                Err(RelayError::Policy(List::clip(policies)))
            }
        }
    }
}

/// The facts about an answer that go on the record.
struct Summary {
    /// The join of the labels of all its parts.
    label: Label,
    /// Bytes of its texts.
    bytes: u64,
    /// The hash of its texts, each before a zero byte.
    hash: [u8; 32],
}

impl Summary {
    fn of(answer: &impl Shown) -> Self {
        let (mut label, mut bytes, mut hash) = (Label::bottom(), 0_u64, Sha256::new());
        answer.texts(&mut |text, its| {
            label = label.join(its);
            bytes += u64::try_from(text.len()).unwrap_or(u64::MAX);
            hash.update(text);
            hash.update([0]);
        });
        if let Some(read) = answer.read_by_model() {
            label = label.join(read);
        }
        Self { label, bytes, hash: hash.finalize().into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::Text;
    use ipc_proto::ids::MemoryId;
    use ipc_proto::memory::{Entry, HITS, Row};

    // Holds P5-46.
    #[test]
    fn the_record_has_the_size_and_label_and_hash_of_an_answer() {
        let row = |content: &str, trust| {
            let label = Label::of(trust, Class::Sensitive, content);
            Row::new(Entry::new(MemoryId::random(), Text::clip(content), label), Area::User, 1)
        };
        let rows = |rows: [Row; 2]| Summary::of(&List::<Row, HITS>::clip(rows));
        let (one, other) = (row("ab", Trust::User), row("cde", Trust::Untrusted));
        let summary = rows([one.clone(), other.clone()]);
        assert_eq!(
            (summary.bytes, summary.label.trust, summary.label.class),
            (5, Trust::Untrusted, Class::Sensitive)
        );
        assert_ne!(summary.hash, rows([other, one]).hash);
    }
}
