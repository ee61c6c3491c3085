//! What memory gives a turn before its message, where the agent's owner wants that: quoted data with its label, never
//! the host's own words. The session's label is durably raised before a runner sees any of it. Whoever is shown what would
//! be given is shown what comes of the same judgement.

mod judging;

use crate::answer;
use crate::context::{self, TurnContext};
use crate::host::Shared;
use crate::scan;
use crate::tell::Teller;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::gate::RelayError;
use ipc_proto::ids::UserId;
use ipc_proto::label::Label;
use ipc_proto::memory::{Area, Block, BlockAsk, OWN_CLIENT, Scope};
use ipc_proto::router::{Step, Task, TurnEvent};
use ipc_proto::runner_gate::GateError;
use ipc_proto::scanner::{Crossing, Subject};
use ipc_proto::{Name, Text};
use judging::{Judged, judged};
use policy::{Passage, Session};
use sha2::{Digest, Sha256};
use std::time::Duration;

/// The tool as whose output it counts.
pub(crate) const AS: &str = "memory_query";
/// Rows that stand whole in a block.
const FULL: u16 = 3;
/// How long whoever wants to see it waits.
const PATIENCE: Duration = Duration::from_secs(25);

/// Asks memory what the agent is to know, once a turn: what the agent keeps for its user, then what is the user's own.
/// A turn that was begun goes on with what it was given.
pub(crate) async fn recall(
    shared: &Shared,
    context: &mut TurnContext,
    teller: &mut Teller,
) -> Result<(), GateError> {
    let wanted = context.agent.memory && context.turn.task == Task::Chat && context.turn.steps.is_empty();
    if !wanted {
        return Ok(());
    }
    // Without memory the turn waits for it, as for whatever else it needs; a memory that is there and cannot be read keeps
    // nobody from being answered.
    let notices = match of_turn(shared, context).await {
        Ok(judged) => give(shared, context, judged).await?,
        Err(RelayError::Down(name)) => return Err(GateError::Down(name)),
        Err(_) => kept_back("it cannot be read").withheld(),
    };
    if notices.is_empty() {
        return Ok(());
    }
    let events = notices.iter().map(|notice| TurnEvent::Notice(Text::clip(notice)));
    teller.tell(shared, events).await
}

async fn of_turn(shared: &Shared, context: &TurnContext) -> Result<Judged, RelayError> {
    let session = (Name::clip(OWN_CLIENT), Text::clip(&context.turn.session.to_string()));
    let ask = BlockAsk {
        words: ipc_proto::memory::words(&context.turn.content.plain()),
        tokens: Some(context.agent.memory_tokens),
        ..BlockAsk::new(None, Some(session), FULL)
    };
    let scope = Scope { owner: context.turn.user, area: Area::Agent(context.turn.agent.clone()) };
    let subject = subject(&context.session).hiding(&context.session.canary);
    judged(shared, &subject, &scope, ask).await
}

fn subject(session: &Session) -> Subject {
    Subject::at(Crossing::MemoryRecall).by(scan::strictness(session.profile))
}

/// Keeps what was judged with its label, if policy lets it go on. Gives back what the person is told.
async fn give(shared: &Shared, context: &mut TurnContext, judged: Judged) -> Result<Vec<String>, GateError> {
    if judged.held_secret {
        scan::alert(shared, context, "scanner", "a secret of the host").await?;
    }
    if judged.found_instructions() {
        scan::alert(shared, context, AS, "an injection in what is remembered").await?;
    }
    let Judged { block, class, .. } = judged;
    if block.text.is_empty() {
        return Ok(block.withheld());
    }
    let label = context.result_label(&shared.catalogue, AS, class, Some(&label(&block)));
    if policy::passes(&shared.engine(), &context.session, Passage::Output, &label).is_err() {
        return Ok(by_policy(block).withheld());
    }
    let text = block.text.as_str();
    let event = Event::new(Action::MemoryGiven, Result3::Success).about(&context.turn.agent);
    let mut event = event.in_turn(context.turn.session, context.turn.id);
    event.bytes = text.len() as u64;
    event.hash = Some(Sha256::digest(text).into());
    event.label = Some(label.clone());
    shared.record(event).await?;
    context.remember(&shared.catalogue, AS, &label, text);
    answer::keep(shared, context, Step::Recalled { text: Text::clip(text), label }).await?;
    kit::fault_point!("gate.recall.kept");
    Ok(block.withheld())
}

fn label(block: &Block) -> Label {
    block.label.clone().unwrap_or_else(Label::bottom)
}

/// What a turn of an agent, or a client of the person's own, would be given: nothing is kept of it. `user`: the owner's
/// name.
pub(crate) async fn shown(
    shared: &Shared,
    (owner, user): (UserId, &str),
    area: Area,
    ask: BlockAsk,
) -> Result<Box<Block>, RelayError> {
    let shown = async {
        match &area {
            Area::Agent(name) => of_agent(shared, (owner, user), name, ask).await,
            Area::User | Area::Global => of_client(shared, &Scope { owner, area }, ask).await,
        }
    };
    let shown = tokio::time::timeout(PATIENCE, shown).await;
    shown.unwrap_or_else(|_| Err(RelayError::Down(Name::clip("memory")))).map(Box::new)
}

/// Where no agent's profile says otherwise, the scanner is as strict as it can be.
pub(crate) async fn of_client(shared: &Shared, scope: &Scope, ask: BlockAsk) -> Result<Block, RelayError> {
    Ok(judged(shared, &Subject::at(Crossing::MemoryRecall), scope, ask).await?.block)
}

async fn of_agent(
    shared: &Shared,
    (owner, user): (UserId, &str),
    name: &Name,
    ask: BlockAsk,
) -> Result<Block, RelayError> {
    let agent = shared.agents.get(name.as_str()).ok_or_else(|| {
        let names: Vec<&str> = shared.agents.keys().map(String::as_str).collect();
        RelayError::NoAgent(Text::clip(&names.join(", ")))
    })?;
    if !agent.memory {
        return Ok(kept_back(&format!("[agent.{name}] memory is false")));
    }
    let session = context::session(shared, "", (name, agent), user);
    let scope = Scope { owner, area: Area::Agent(name.clone()) };
    let tokens = ask.tokens.or(Some(agent.memory_tokens));
    let Judged { block, class, .. } =
        judged(shared, &subject(&session), &scope, BlockAsk { tokens, ..ask }).await?;
    let own = label(&block);
    let label = context::result_label(&shared.catalogue, AS, (class, Some(&own)), &session.label);
    if block.text.is_empty() || policy::passes(&shared.engine(), &session, Passage::Output, &label).is_ok() {
        return Ok(block);
    }
    Ok(by_policy(block))
}

fn by_policy(block: Block) -> Block {
    Block { left_out: block.left_out, ..kept_back("policy keeps it back") }
}

fn kept_back(why: &str) -> Block {
    Block { kept_back: Some(Text::clip(why)), ..Block::default() }
}
