//! The block of memories that a turn is given before its message, where the agent's owner wants that: quoted data with its label,
//! never the host's own text. The session's label is durably raised before a runner sees any of it. The preview of a block goes
//! through the same judgement.

use crate::inspection::scan;
use crate::memory::judging::{Judged, judge_block};
use crate::state::context::GateContext;
use crate::state::errors::relay_down;
use crate::turn::context::{self, RECALL_TOOL, TurnContext};
use crate::turn::events::EventSender;
use crate::turn::steps;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::gate::RelayError;
use ipc_proto::ids::UserId;
use ipc_proto::label::Label;
use ipc_proto::memory::{Area, Block, BlockAsk, OWN_CLIENT, Scope};
use ipc_proto::router::{Step, Task, TurnEvent};
use ipc_proto::runner_gate::GateError;
use ipc_proto::scanner::{Crossing, Subject};
use ipc_proto::{Name, Text};
use policy::{Passage, Session};
use sha2::{Digest, Sha256};
use std::time::Duration;

/// Rows of a block that are whole.
const FULL: u16 = 3;

/// The longest that a preview takes.
const PATIENCE: Duration = Duration::from_secs(25);

/// Adds the block of memories, once a turn: those that the agent keeps for its user, then the user's own. A later attempt uses
/// the saved block.
pub(crate) async fn recall(
    gate: &GateContext,
    context: &mut TurnContext,
    events: &mut EventSender,
) -> Result<(), GateError> {
    let wanted = context.agent.memory && context.turn.task == Task::Chat && context.turn.steps.is_empty();
    if !wanted {
        return Ok(());
    }
    // If memory is down the attempt ends, as with any process that a turn needs. If memory cannot be read, the turn goes on
    // without it.
    let notices = match block_for_turn(gate, context).await {
        Ok(judged) => save_block(gate, context, judged).await?,
        Err(RelayError::Down(name)) => return Err(GateError::Down(name)),
        Err(_) => kept_back("it cannot be read").withheld(),
    };
    if notices.is_empty() {
        return Ok(());
    }
    let notices = notices.iter().map(|notice| TurnEvent::Notice(Text::clip(notice)));
    events.send(gate, notices).await
}

async fn block_for_turn(gate: &GateContext, context: &TurnContext) -> Result<Judged, RelayError> {
    let session = (Name::clip(OWN_CLIENT), Text::clip(&context.turn.session.to_string()));
    let ask = BlockAsk {
        words: ipc_proto::memory::words(&context.turn.content.plain()),
        tokens: Some(context.agent.memory_tokens),
        ..BlockAsk::new(None, Some(session), FULL)
    };
    let scope = Scope { owner: context.turn.user, area: Area::Agent(context.turn.agent.clone()) };
    let subject = subject(&context.session).hiding(&context.session.canary);
    judge_block(gate, &subject, &scope, ask).await
}

fn subject(session: &Session) -> Subject {
    Subject::at(Crossing::MemoryRecall).by(scan::strictness(session.profile))
}

/// Saves the judged block with its label, if policy permits. Returns the notices for the turn's followers.
async fn save_block(
    gate: &GateContext,
    context: &mut TurnContext,
    judged: Judged,
) -> Result<Vec<String>, GateError> {
    if judged.held_secret {
        scan::alert(gate, context, "scanner", "a secret of the host").await?;
    }
    if judged.found_instructions() {
        scan::alert(gate, context, RECALL_TOOL, "an injection in what is remembered").await?;
    }
    let Judged { block, class, .. } = judged;
    if block.text.is_empty() {
        return Ok(block.withheld());
    }
    let label = context.result_label(&gate.catalogue(), RECALL_TOOL, class, Some(&label(&block)));
    if policy::passes(&gate.engine(), &context.session, Passage::Output, &label).is_err() {
        return Ok(withheld_by_policy(block).withheld());
    }
    let text = block.text.as_str();
    let event = Event::new(Action::MemoryGiven, Result3::Success).about(&context.turn.agent);
    let mut event = event.in_turn(context.turn.session, context.turn.id);
    event.bytes = text.len() as u64;
    event.hash = Some(Sha256::digest(text).into());
    event.label = Some(label.clone());
    gate.record(event).await?;
    context.add_recalled(&gate.catalogue(), RECALL_TOOL, &label, text);
    steps::save(gate, context, Step::Recalled { text: Text::clip(text), label }).await?;
    kit::fault_point!("gate.recall.kept");
    Ok(block.withheld())
}

fn label(block: &Block) -> Label {
    block.label.clone().unwrap_or_else(Label::bottom)
}

/// The block that a turn of an agent, or a client of the user's own, would be given; nothing of it is saved. `user` is the
/// owner's name.
pub(crate) async fn preview(
    gate: &GateContext,
    (owner, user): (UserId, &str),
    area: Area,
    ask: BlockAsk,
) -> Result<Box<Block>, RelayError> {
    let shown = async {
        match &area {
            Area::Agent(name) => block_for_agent(gate, (owner, user), name, ask).await,
            Area::User | Area::Global => block_for_client(gate, &Scope { owner, area }, ask).await,
        }
    };
    let shown = tokio::time::timeout(PATIENCE, shown).await;
    shown.unwrap_or_else(|_| Err(relay_down("memory"))).map(Box::new)
}

/// The block for a client. No agent's profile applies, so the scanner is at its strictest.
pub(crate) async fn block_for_client(
    gate: &GateContext,
    scope: &Scope,
    ask: BlockAsk,
) -> Result<Block, RelayError> {
    Ok(judge_block(gate, &Subject::at(Crossing::MemoryRecall), scope, ask).await?.block)
}

async fn block_for_agent(
    gate: &GateContext,
    (owner, user): (UserId, &str),
    name: &Name,
    ask: BlockAsk,
) -> Result<Block, RelayError> {
    let agent = gate.agents.get(name.as_str()).ok_or_else(|| {
        let names: Vec<&str> = gate.agents.keys().map(String::as_str).collect();
        RelayError::NoAgent(Text::clip(&names.join(", ")))
    })?;
    if !agent.memory {
        return Ok(kept_back(&format!("[agent.{name}] memory is false")));
    }
    let session = context::new_session(gate, "", (name, agent), user);
    let scope = Scope { owner, area: Area::Agent(name.clone()) };
    let tokens = ask.tokens.or(Some(agent.memory_tokens));
    let Judged { block, class, .. } =
        judge_block(gate, &subject(&session), &scope, BlockAsk { tokens, ..ask }).await?;
    let own = label(&block);
    let label = context::result_label(&gate.catalogue(), RECALL_TOOL, (class, Some(&own)), &session.label);
    if block.text.is_empty() || policy::passes(&gate.engine(), &session, Passage::Output, &label).is_ok() {
        return Ok(block);
    }
    Ok(withheld_by_policy(block))
}

fn withheld_by_policy(block: Block) -> Block {
    Block { left_out: block.left_out, ..kept_back("policy keeps it back") }
}

fn kept_back(why: &str) -> Block {
    Block { kept_back: Some(Text::clip(why)), ..Block::default() }
}
