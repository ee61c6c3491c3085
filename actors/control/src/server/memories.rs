//! Memory: always the caller's own, whoever the caller is. What a client may not say of itself is said here: how far a
//! row is to be trusted.

use crate::caller::Caller;
use ipc_proto::control::{Answer, ControlError};
use ipc_proto::embedder::{self, is_local};
use ipc_proto::gate;
use ipc_proto::ids::UserId;
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::memory::{
    Area, Ask, Entry, Manner, MemoryError, Question, Said, Scope, SourceType, Vector, method,
};
use ipc_proto::model::{Embedding, Payer};
use ipc_proto::{Blob, List, Name, Text};

impl Caller {
    /// Asks memory in the caller's own scope: no other can be expressed here.
    pub(crate) async fn ask_memory(&self, area: Area, ask: Ask) -> Answer<Said> {
        if writes(&ask) {
            self.desk.disk_has_room()?;
        }
        let ask = labelled(ask);
        let scope = Scope { owner: self.user().await?.id, area };
        let ask = match ask {
            Ask::Find(question) => Ask::Find(self.understood(scope.owner, question).await?),
            ask => ask,
        };
        let answer = self.desk.ask(&self.desk.memory, &method::ask, |memory, context| {
            let (scope, ask) = (scope.clone(), ask.clone());
            async move { memory.ask(context, scope, ask).await }
        });
        answer.await?.map_err(ControlError::Memory)
    }
}

impl Caller {
    /// The question with what the configured embedder makes of its words, where rows are ranked by that. An embedder that
    /// fails is an error: nothing takes its place unseen.
    async fn understood(&self, owner: UserId, mut question: Box<Question>) -> Answer<Box<Question>> {
        let by_meaning = matches!(question.manner, Manner::Meaning | Manner::Fused | Manner::Weighted);
        let embedder = self.desk.config.embedder.as_deref().filter(|_| by_meaning);
        question.vector = match embedder {
            Some(embedder) if !question.words.trim().is_empty() => {
                Some(self.vector(owner, embedder, &question.words).await?)
            }
            _ => None,
        };
        Ok(question)
    }

    async fn vector(&self, owner: UserId, embedder: &str, words: &str) -> Answer<Vector> {
        if is_local(embedder) {
            return self.vector_here(embedder, words).await;
        }
        let label = Label::of(Trust::User, Class::Internal, "control");
        let request = Embedding {
            model: Text::clip(embedder),
            texts: List::clip([Text::clip(words)]),
            dimensions: None,
            // The gate fills it in.
            payer: Payer::of(owner),
        };
        let embedded = self.desk.ask(&self.desk.gate, &gate::method::background_embed, |gate, context| {
            let (label, request) = (label.clone(), request.clone());
            async move { gate.background_embed(context, owner, label, request).await }
        });
        let embedded = embedded.await?.map_err(ControlError::Relay)?;
        let values =
            embedded.vectors.first().map(|values| values.iter().flat_map(|value| value.to_le_bytes()));
        let values = values.and_then(|bytes| Blob::new(bytes.collect::<Vec<u8>>()).ok());
        let values = values.ok_or(ControlError::Memory(MemoryError::OtherEmbedder))?;
        Ok(Vector { by: Name::clip(embedder), values })
    }

    /// What the model of this machine makes of a question.
    async fn vector_here(&self, embedder: &str, words: &str) -> Answer<Vector> {
        let (by, text) = (Name::clip(embedder), Text::clip(words));
        let vector = self.desk.ask(&self.desk.embedder, &embedder::method::embed, |embedder, context| {
            let (by, text) = (by.clone(), text.clone());
            async move { embedder.embed(context, by, text).await }
        });
        vector.await?.map_err(ControlError::Embedder)
    }
}

/// Whether it needs room on the disk.
const fn writes(ask: &Ask) -> bool {
    matches!(ask, Ask::Write(_) | Ask::Capture(_) | Ask::Revise { .. } | Ask::Restore { .. })
}

/// The same with the labels that rows get which come through here.
fn labelled(ask: Ask) -> Ask {
    match ask {
        Ask::Write(entry) => Ask::Write(of_this_host(entry)),
        Ask::Revise { id, entry, reason } => Ask::Revise { id, entry: of_this_host(entry), reason },
        Ask::Restore { mut row, raw, over, mine } => {
            row.entry = of_elsewhere(row.entry, mine);
            Ask::Restore { row, raw, over, mine }
        }
        ask => ask,
    }
}

/// What a person says is theirs keeps its label, and nobody's is the host's own; what is not said to be theirs was written
/// by a stranger, whatever it says of itself.
fn of_elsewhere(mut entry: Entry, mine: bool) -> Entry {
    if mine {
        entry.label.trust = entry.label.trust.max(Trust::User);
    } else {
        entry.detail.source.external = true;
        entry.label = entry.label.join(&Label::of(Trust::Untrusted, Class::Internal, "import"));
    }
    entry
}

/// What a person typed is theirs; what a model concluded, a tool answered or another host kept is a stranger's.
fn of_this_host(mut entry: Box<Entry>) -> Box<Entry> {
    let source = &entry.detail.source;
    let own = matches!(source.r#type, SourceType::ExplicitSave | SourceType::UserMessage) && !source.external;
    let trust = if own { Trust::User } else { Trust::Untrusted };
    entry.label = Label::of(trust, entry.label.class.max(Class::Internal), "control");
    entry
}
