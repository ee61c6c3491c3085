//! Questions to people: kept by router, waited for, and decided by a step that claims the approval once. No answer in time is a
//! refusal.

use crate::decision::question::{args_of, canonical, question};
use crate::decision::{record, verdict};
use crate::inspection::{display, scan};
use crate::state::context::GateContext;
use crate::state::errors::{down, router_refusal};
use crate::state::runners::is_replaced;
use crate::turn::attempt::Attempt;
use crate::turn::claim;
use crate::turn::context::TurnContext;
use crate::turn::pending_reply::{DecidedCall, PendingReply};
use crate::turn::steps::{self, StepOutcome};
use ipc_proto::approval::{PENDING_PER_SESSION, Question, State};
use ipc_proto::audit::{Action, Result3};
use ipc_proto::ids::{ApprovalId, TurnId};
use ipc_proto::label::Class;
use ipc_proto::router::{self, CallVerdict, Released, RouterError, Step, TurnEvent};
use ipc_proto::runner_gate::GateError;
use ipc_proto::scanner::Crossing;
use ipc_proto::{Fault, List, Text};
use policy::Decision;

/// The question of a call that an earlier attempt asked about, with the same id and the same action.
async fn again(
    gate: &GateContext,
    context: &mut TurnContext,
    released: &Released,
) -> Result<Option<Question>, GateError> {
    let (CallVerdict::Asking(id), Some(args)) = (&released.verdict, args_of(&released.call)) else {
        return Ok(None);
    };
    let found = scan::scan(gate, context, Crossing::Arguments, &released.call.args).await?;
    let verdict = verdict::by_policy(gate, context, &released.call.tool, &args, found.class);
    Ok(question(gate, *id, &released.call, &args, &verdict, &released.why))
}

/// Asks the questions of an earlier attempt again.
pub(crate) async fn ask_again(
    gate: &GateContext,
    attempt: &mut Attempt,
    reply: &mut PendingReply,
) -> Result<(), GateError> {
    for call in &mut reply.calls {
        call.question = again(gate, &mut attempt.context, &call.released).await?;
    }
    attempt.context.add_reply(&reply.text);
    ask(gate, attempt, reply).await
}

/// Gives every question to router and shows it. A question that router has no room for is refused at once; one that router holds
/// with another text, because the policies changed since, stands as it was asked.
pub(crate) async fn ask(
    gate: &GateContext,
    attempt: &mut Attempt,
    reply: &mut PendingReply,
) -> Result<(), GateError> {
    let turn = attempt.context.turn.id;
    for call in &mut reply.calls {
        let Some(question) = call.question.take() else { continue };
        let asked = gate.router.call(&router::method::ask, |router, rpc| {
            let question = question.clone();
            async move { router.ask(rpc, turn, question).await }
        });
        match asked.await.map_err(|_| down("router"))? {
            Ok(()) | Err(RouterError::BadStep) => {
                kit::fault_point!("gate.asked");
                let event = shown(gate, &attempt.context, &question).await?;
                attempt.events.send(gate, [event]).await?;
                call.question = Some(question);
            }
            Err(error @ RouterError::TooManyApprovals { .. }) => {
                refuse(gate, attempt, call, &question, (State::Void, &error.to_string())).await?;
            }
            Err(error) => return Err(router_refusal(&error)),
        }
    }
    Ok(())
}

/// A question as the turn's followers see it, without secrets. `agentctl approvals` shows it whole to the person who answers.
pub(crate) async fn shown(
    gate: &GateContext,
    context: &TurnContext,
    question: &Question,
) -> Result<TurnEvent, GateError> {
    let beginning = Text::<8192>::clip(&question.action);
    let action = display::clean(gate, context, &beginning).await?;
    let preview = display::clean(gate, context, &question.preview).await?;
    Ok(TurnEvent::Approval {
        id: question.id,
        call: question.call,
        tool: question.tool.clone(),
        preview: Text::clip(&preview),
        action: Text::clip(&action),
        hash: question.hash,
        reason: question.reason.clone(),
        grantable: question.grantable,
        expires_ms: question.expires_ms,
    })
}

/// Waits up to 20 s for an answer to any of the questions, and applies each answer.
pub(crate) async fn apply_answers(
    gate: &GateContext,
    attempt: &mut Attempt,
    reply: &mut PendingReply,
) -> Result<(), GateError> {
    let (turn, mut replaced) = (attempt.context.turn.id, attempt.replaced.clone());
    while reply.waits() {
        let questions = reply.calls.iter().filter_map(|call| call.question.as_ref());
        let ids = List::clip(questions.map(|question| question.id));
        let answered = tokio::select! {
            answered = first_answer(gate, turn, ids) => answered?,
            // A decided question releases its calls, and this attempt's runner is gone.
            () = is_replaced(&mut replaced) => return Err(down("runner")),
        };
        let Some((id, state)) = answered else { return Ok(()) };
        let asks = |call: &&mut DecidedCall| call.question.as_ref().is_some_and(|it| it.id == id);
        let waiting = reply.calls.iter_mut().find(asks);
        let Some((call, question)) = waiting.and_then(|call| call.question.take().map(|it| (call, it)))
        else {
            return Err(GateError::OutOfTurn);
        };
        let note = match state {
            State::Approved => {
                approve(gate, attempt, call, &question).await?;
                continue;
            }
            State::Denied => "a person said no",
            State::Expired => "nobody answered in time",
            State::Void | State::Claimed | State::Pending => "the question does not stand any more",
        };
        refuse(gate, attempt, call, &question, (state, note)).await?;
    }
    Ok(())
}

/// The first of a turn's questions that is settled; none if none is within 20 s. One call waits for all of them: the edge to
/// router serves 256 calls at once, which have to be left for the other turns.
pub(crate) async fn first_answer(
    gate: &GateContext,
    turn: TurnId,
    ids: List<ApprovalId, PENDING_PER_SESSION>,
) -> Result<Option<(ApprovalId, State)>, GateError> {
    let answer = gate.router.call(&router::method::first_answer, |router, rpc| {
        let ids = ids.clone();
        async move { router.first_answer(rpc, turn, ids).await }
    });
    match answer.await {
        Ok(Ok(answered)) => Ok(answered),
        Ok(Err(error)) => Err(router_refusal(&error)),
        // The questions can be polled again.
        Err(Fault::Deadline) => Ok(None),
        Err(_) => Err(down("router")),
    }
}

/// Applies an approval, which holds for exactly this action under exactly these policies. If either changed, the call is refused.
async fn approve(
    gate: &GateContext,
    attempt: &mut Attempt,
    call: &mut DecidedCall,
    question: &Question,
) -> Result<(), GateError> {
    if let Err(note) = still_holds(gate, &mut attempt.context, &call.released, question) {
        return refuse(gate, attempt, call, question, (State::Approved, &note)).await;
    }
    let context = &mut attempt.context;
    let event = record::event(gate, context, Action::ToolDecided, Result3::Success, &call.released.call);
    let record = gate.record(event.because("approved by a person")).await?.index;
    if question.declassifies {
        let mut event =
            record::event(gate, context, Action::Declassified, Result3::Success, &call.released.call);
        event.hash = Some(question.hash);
        gate.record(event).await?;
    }
    context.raise_workspace_for(&call.released.call.tool);
    let step = Step::Decided { call: question.call, verdict: CallVerdict::Run, record };
    if steps::try_save(gate, context, step).await? != StepOutcome::Durable {
        let note = "the approval ended before it could be used";
        return refuse(gate, attempt, call, question, (State::Expired, note)).await;
    }
    kit::fault_point!("gate.approval.claimed");
    if question.grantable {
        claim::refresh_grants(gate, context).await?;
    }
    (call.released.verdict, call.released.record) = (CallVerdict::Run, record);
    show(gate, attempt, call, question, (State::Approved, "approved")).await
}

/// Checks that an approved call is still the one that was asked about, and permitted. The error is the note of the refusal.
fn still_holds(
    gate: &GateContext,
    context: &mut TurnContext,
    released: &Released,
    question: &Question,
) -> Result<(), String> {
    if released.why.version.as_str() != gate.engine().version() {
        return Err("the policies changed after this was asked; ask for it again".to_owned());
    }
    verdict::has_room(gate, &released.call.tool).map_err(|refusal| refusal.to_string())?;
    let same = args_of(&released.call).is_some_and(|args| {
        let verdict = verdict::by_policy(gate, context, &released.call.tool, &args, Class::Public);
        let target = (verdict.target.as_deref(), verdict.irreversible);
        // An earlier call of unknown outcome may have raised the label since; a call that is denied by now is not run.
        verdict.decision != Decision::Deny
            && canonical(question.id, &released.call, &args, target, &released.why).1 == question.hash
    });
    if same { Ok(()) } else { Err("the action is not the one that was approved".to_owned()) }
}

/// Refuses a call for good. `state` is that of its question.
async fn refuse(
    gate: &GateContext,
    attempt: &mut Attempt,
    call: &mut DecidedCall,
    question: &Question,
    (state, note): (State, &str),
) -> Result<(), GateError> {
    let tool_call = &call.released.call;
    let event = record::event(gate, &attempt.context, Action::ToolDecided, Result3::Blocked, tool_call);
    let record = gate.record(event.because(note)).await?.index;
    record::alert(gate, &attempt.context, &tool_call.tool, "blocked").await?;
    let verdict = CallVerdict::Refused(Text::clip(&format!("{note}: {}", question.reason)));
    let step = Step::Decided { call: question.call, verdict: verdict.clone(), record };
    steps::save(gate, &mut attempt.context, step).await?;
    (call.released.verdict, call.released.record) = (verdict, record);
    show(gate, attempt, call, question, (state, note)).await
}

/// Stores a decided call, and shows the answer and the call.
async fn show(
    gate: &GateContext,
    attempt: &mut Attempt,
    call: &DecidedCall,
    question: &Question,
    (state, note): (State, &str),
) -> Result<(), GateError> {
    attempt.context.calls.insert(call.released.clone(), None);
    let start = display::start(gate, &attempt.context, &call.released).await?;
    let answered = TurnEvent::Answered { id: question.id, state, note: Text::clip(note) };
    attempt.events.send(gate, [answered, start]).await
}
