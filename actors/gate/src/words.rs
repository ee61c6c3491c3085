//! What a person says into a turn under way: taken in between its calls, by a step that ends their message, and only then
//! put before the model or handed to an engine. It is the person's own word as their message is, with the label that it got
//! when it was accepted.

use crate::answer::{self, Kept};
use crate::connection::Active;
use crate::host::{Shared, down, refused};
use ipc_proto::ids::TurnId;
use ipc_proto::router::{self, Step, TurnEvent, WORDS, WORDS_BOUND, Word};
use ipc_proto::runner_gate::GateError;
use ipc_proto::{List, Text};

/// Takes in what was said since this was asked last.
pub(crate) async fn take_in(
    shared: &Shared,
    active: &mut Active,
) -> Result<List<Text<WORDS_BOUND>, WORDS>, GateError> {
    let mut said = Vec::new();
    for Word { message, text, label } in waiting(shared, active.context.turn.id).await? {
        let context = &mut active.context;
        let before = (context.session.label.clone(), context.workspace_label.clone());
        context.reach(&label);
        let step = Step::Steered { message, text: text.clone(), label: label.clone() };
        match answer::claim(shared, context, step).await? {
            Kept::Durable => {}
            // Its person took it back meanwhile.
            Kept::Gone | Kept::NotApproved => {
                (context.session.label, context.workspace_label) = before;
                continue;
            }
        }
        kit::fault_point!("gate.words.kept");
        context.told(&label, &text);
        let notice = format!("what you said meanwhile was taken in (message {message})");
        active.teller.tell(shared, [TurnEvent::Notice(Text::clip(&notice))]).await?;
        said.push(text);
    }
    Ok(List::clip(said))
}

async fn waiting(shared: &Shared, turn: TurnId) -> Result<List<Word, WORDS>, GateError> {
    let words = shared
        .router
        .call(&router::method::words, |router, rpc| async move { router.words(rpc, turn).await });
    words.await.map_err(|_| down("router"))?.map_err(|error| refused(&error))
}
