//! What memory gives a turn before its message, where the agent's owner wants that: quoted data with its label, never
//! the host's own words. It is judged as whatever a memory's tool gives back is, and the session's label is durably
//! raised before a runner sees any of it.

use crate::answer;
use crate::context::TurnContext;
use crate::effects::{self, Problem};
use crate::host::{Shared, down};
use crate::scan;
use crate::tell::Teller;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::label::{Class, Label};
use ipc_proto::memory::{Area, Ask, Block, BlockAsk, Scope};
use ipc_proto::router::{Step, Task, TurnEvent};
use ipc_proto::runner_gate::GateError;
use ipc_proto::scanner::{Crossing, Judgement};
use ipc_proto::{Name, Text};
use policy::Passage;
use sha2::{Digest, Sha256};

/// The tool as whose output it counts.
pub(crate) const AS: &str = "memory_query";
/// The client that sessions of agents are muted by; their name there is their id.
const CLIENT: &str = "cordon";
/// Rows of one block's index, and rows that stand in it whole.
const INDEX: u16 = 50;
const FULL: u16 = 3;

/// Why nothing is given where something was there: told to the person.
type KeptBack = &'static str;

/// Asks memory what the agent is to know, once a turn: what the agent keeps for its user, then what is the user's own.
/// A turn that was begun goes on with what it was given.
pub(crate) async fn recall(
    shared: &Shared,
    context: &mut TurnContext,
    teller: &mut Teller,
) -> Result<(), GateError> {
    let wanted = context.agent.memory && context.turn.task == Task::Chat && context.turn.steps.is_empty();
    if wanted && let Some(why) = recalled(shared, context).await? {
        let notice = format!("nothing that is remembered was given to the model: {why}");
        teller.tell(shared, [TurnEvent::Notice(Text::clip(&notice))]).await?;
    }
    Ok(())
}

async fn recalled(shared: &Shared, context: &mut TurnContext) -> Result<Option<KeptBack>, GateError> {
    let whole = context.agent.memory_tokens;
    let Ok(kept) = block(shared, context, Area::Agent(context.turn.agent.clone()), whole / 2).await? else {
        return Ok(Some("it cannot be read"));
    };
    let Ok(own) = block(shared, context, Area::User, whole.saturating_sub(kept.tokens)).await? else {
        return Ok(Some("it cannot be read"));
    };
    let text = [kept.text.as_str(), own.text.as_str()].concat();
    if text.is_empty() {
        return Ok(None);
    }
    let labels = kept.label.into_iter().chain(own.label);
    let label = labels.fold(Label::bottom(), |label, one| label.join(&one));
    give(shared, context, &text, &label).await
}

/// Judges what memory gave, and keeps it with its label.
async fn give(
    shared: &Shared,
    context: &mut TurnContext,
    text: &str,
    own: &Label,
) -> Result<Option<KeptBack>, GateError> {
    let verdict = scan::scan(shared, context, Crossing::MemoryRecall, text).await?;
    if verdict.judgement == Judgement::Block {
        scan::alert(shared, context, AS, "an injection in what is remembered").await?;
        return Ok(Some("the scanner takes it for an attempt to give instructions"));
    }
    let (text, class) = match verdict.redacted {
        Some(clean) => (clean.to_string(), Class::Sensitive),
        None => (text.to_owned(), verdict.class),
    };
    let label = context.result_label(&shared.catalogue, AS, class, Some(own));
    if policy::passes(&shared.engine(), &context.session, Passage::Output, &label).is_err() {
        return Ok(Some("policy keeps it back"));
    }
    let event = Event::new(Action::MemoryGiven, Result3::Success).about(&context.turn.agent);
    let mut event = event.in_turn(context.turn.session, context.turn.id);
    event.bytes = text.len() as u64;
    event.hash = Some(Sha256::digest(&text).into());
    event.label = Some(label.clone());
    shared.record(event).await?;
    context.remember(&shared.catalogue, AS, &label, &text);
    answer::keep(shared, context, Step::Recalled { text: Text::clip(&text), label }).await?;
    kit::fault_point!("gate.recall.kept");
    Ok(None)
}

/// One area's block. Without memory the turn waits for it, as for whatever else it needs; a memory that is there and
/// cannot be read keeps nobody from being answered.
async fn block(
    shared: &Shared,
    context: &TurnContext,
    area: Area,
    tokens: u32,
) -> Result<Result<Block, Problem>, GateError> {
    let scope = Scope { owner: context.turn.user, area };
    let wanted = BlockAsk {
        project: None,
        session: Some((Name::clip(CLIENT), Text::clip(&context.turn.session.to_string()))),
        words: Text::clip(&context.turn.content.plain()),
        tokens,
        rows: INDEX,
        full: FULL,
        compacting: false,
    };
    let said = match effects::ask(shared, scope, Ask::Block(Box::new(wanted))).await {
        Ok(said) => said,
        Err(Problem::Gone) => return Err(down("memory")),
        Err(problem) => return Ok(Err(problem)),
    };
    Ok(said.block().map(|block| *block).map_err(Problem::from))
}
