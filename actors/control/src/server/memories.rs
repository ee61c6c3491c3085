//! Memory: always the caller's own, whoever the caller is. What a client may not say of itself is said here: how far a
//! row is to be trusted.

use crate::caller::Caller;
use ipc_proto::control::{Answer, ControlError};
use ipc_proto::gate::{self, RelayError};
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::memory::{Area, Ask, BlockAsk, Entry, Question, Said, Scope, SourceType, method};
use ipc_proto::router::RouterError;

impl Caller {
    /// Asks memory in the caller's own scope: no other can be expressed here.
    pub(crate) async fn ask_memory(&self, area: Area, ask: Ask) -> Answer<Said> {
        if writes(&ask) {
            self.desk.disk_has_room()?;
        }
        let ask = labelled(ask);
        let scope = Scope { owner: self.user().await?.id, area };
        let finding = &self.desk.config.finding;
        let ask = match ask {
            Ask::Block(ask) => return self.recall(scope, *ask).await,
            Ask::Find(question) if finding.embeds(&question) || finding.reorders(&question) => {
                return self.find(scope, *question).await;
            }
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
    /// A question in which a model has a part: the gate asks models, and memory for it.
    async fn find(&self, scope: Scope, question: Question) -> Answer<Said> {
        let found = self.desk.ask(&self.desk.gate, &gate::method::find, |gate, context| {
            let (Scope { owner, area }, question) = (scope.clone(), question.clone());
            async move { gate.find(context, owner, area, question).await }
        });
        found.await?.map(Said::Found).map_err(of_the_gate)
    }

    /// What a model is given of what is remembered: the gate judges it for whoever is to have it or to see it.
    async fn recall(&self, scope: Scope, ask: BlockAsk) -> Answer<Said> {
        let user = self.user().await?.name;
        let block = self.desk.ask(&self.desk.gate, &gate::method::recall, |gate, context| {
            let (Scope { owner, area }, user, ask) = (scope.clone(), user.clone(), ask.clone());
            async move { gate.recall(context, owner, user, area, ask).await }
        });
        block.await?.map(Said::Block).map_err(of_the_gate)
    }
}

fn of_the_gate(error: RelayError) -> ControlError {
    match error {
        RelayError::Memory(error) => ControlError::Memory(error),
        RelayError::Embedder(error) => ControlError::Embedder(error),
        RelayError::NoAgent(names) => ControlError::Router(RouterError::NoAgent(names)),
        RelayError::Down(name) => ControlError::Down(name),
        error => ControlError::Relay(error),
    }
}

/// Returns whether it needs room on the disk.
const fn writes(ask: &Ask) -> bool {
    matches!(
        ask,
        Ask::Write(_)
            | Ask::Capture(_)
            | Ask::Revise { .. }
            | Ask::Restore { dry_run: false, .. }
            | Ask::RestoreSession { dry_run: false, .. }
    )
}

/// The same with the labels that rows get which come through here.
fn labelled(ask: Ask) -> Ask {
    match ask {
        Ask::Write(entry) => Ask::Write(of_this_host(entry)),
        Ask::Judge(entry) => Ask::Judge(of_this_host(entry)),
        Ask::Revise { id, entry, reason } => Ask::Revise { id, entry: of_this_host(entry), reason },
        Ask::Restore { mut row, raw, over, mine, dry_run } => {
            row.entry = of_elsewhere(row.entry, mine);
            Ask::Restore { row, raw, over, mine, dry_run }
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
