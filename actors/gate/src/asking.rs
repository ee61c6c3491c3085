//! Questions to people: made so that the same call makes the very same question again, kept by router, waited for,
//! and settled by a step that claims the approval once. No answer in time is a no.

use crate::answer::{self, Kept};
use crate::connection::Active;
use crate::context::TurnContext;
use crate::decide;
use crate::host::{Shared, down, is_replaced, refused};
use crate::{replay, scan, showing, taking};
use futures::future::select_all;
use ipc_proto::approval::{Question, State};
use ipc_proto::audit::{Action, Result3};
use ipc_proto::ids::{ApprovalId, TurnId};
use ipc_proto::label::Class;
use ipc_proto::model::Finish;
use ipc_proto::router::{self, CallVerdict, Released, RouterError, Step, TurnEvent, Why};
use ipc_proto::runner_gate::{GateError, Heard};
use ipc_proto::scanner::Crossing;
use ipc_proto::tool::ToolCall;
use ipc_proto::{Fault, List, Text};
use policy::{Call, Decision, Verdict};
use serde_json::{Map, Value};

/// A reply with calls that wait for a person. The runner sees it once all are settled, so none of its calls has run.
pub(crate) struct Settling {
    pub(crate) text: String,
    pub(crate) calls: Vec<Released>,
    pub(crate) finish: Finish,
    pub(crate) waiting: Vec<Question>,
}

/// When a question that is asked now ends by itself, unix ms.
pub(crate) fn expiry(shared: &Shared) -> u64 {
    kit::now_ms().saturating_add(u64::from(shared.settings.policy.approval_seconds).saturating_mul(1000))
}

/// The question about a call, or none if its action is too long to be shown whole. Its id is the action's nonce, and
/// `why` keeps the label, the version and the end, so that it can be made again to the byte.
pub(crate) fn question(
    shared: &Shared,
    id: ApprovalId,
    call: &ToolCall,
    args: &Map<String, Value>,
    verdict: &Verdict,
    why: &Why,
) -> Option<Question> {
    let (action, hash) = canonical(id, call, args, verdict.target.as_deref(), why);
    let preview = policy::preview(&shared.catalogue, &Call { tool: &call.tool, args });
    Some(Question {
        id,
        call: call.id,
        tool: call.tool.clone(),
        action: Text::new(action).ok()?,
        hash,
        scope: verdict.scope,
        preview: Text::clip(&preview),
        reason: Text::clip(&verdict.reason),
        policies: why.policies.clone(),
        label: why.label.clone(),
        declassifies: verdict.declassifies,
        grantable: verdict.grantable,
        owner_only: verdict.owner_only,
        expires_ms: why.expires_ms,
    })
}

fn canonical(
    id: ApprovalId,
    call: &ToolCall,
    args: &Map<String, Value>,
    target: Option<&str>,
    why: &Why,
) -> (String, [u8; 32]) {
    policy::canonical(&call.tool, args, target, &why.label, &why.version, &id.to_string(), why.expires_ms)
}

/// The question of a call that an earlier attempt asked about: by the same id, and the same action.
async fn again(
    shared: &Shared,
    context: &mut TurnContext,
    released: &Released,
) -> Result<Option<Question>, GateError> {
    let (CallVerdict::Asking(id), Some(args)) = (&released.verdict, args_of(&released.call)) else {
        return Ok(None);
    };
    let found = scan::scan(shared, context, Crossing::Arguments, &released.call.args).await?;
    let verdict = decide::by_policy(shared, context, &released.call.tool, &args, found.class);
    Ok(question(shared, *id, &released.call, &args, &verdict, &released.why))
}

/// Asks again what an earlier attempt asked.
pub(crate) async fn ask_again(
    shared: &Shared,
    active: &mut Active,
    settling: &mut Settling,
) -> Result<(), GateError> {
    for released in &settling.calls {
        settling.waiting.extend(again(shared, &mut active.context, released).await?);
    }
    active.context.said(&settling.text);
    ask(shared, active, settling).await
}

fn args_of(call: &ToolCall) -> Option<Map<String, Value>> {
    match toolset::parse_args(&call.args) {
        Ok(Value::Object(args)) => Some(args),
        _ => None,
    }
}

/// Has router keep every question, and shows them. One that router has no room for is settled at once; one that it has
/// with other words, because the policies changed since it was asked, stands as it was asked.
pub(crate) async fn ask(
    shared: &Shared,
    active: &mut Active,
    settling: &mut Settling,
) -> Result<(), GateError> {
    let questions = std::mem::take(&mut settling.waiting);
    for question in questions {
        let turn = active.context.turn.id;
        let asked = shared.router.call(&router::method::ask, |router, rpc| {
            let question = question.clone();
            async move { router.ask(rpc, turn, question).await }
        });
        match asked.await.map_err(|_| down("router"))? {
            Ok(()) | Err(RouterError::BadStep) => {
                kit::fault_point!("gate.asked");
                let event = shown(shared, &active.context, &question).await?;
                active.teller.tell(shared, [event]).await?;
                settling.waiting.push(question);
            }
            Err(error @ RouterError::TooManyApprovals { .. }) => {
                let note = error.to_string();
                refuse(shared, active, settling, &question, State::Void, &note).await?;
            }
            Err(error) => return Err(refused(&error)),
        }
    }
    Ok(())
}

/// A question as whoever follows the turn sees it, secrets cut out. What a person answers by is shown by
/// `agentctl approvals`, which has it whole.
async fn shown(shared: &Shared, context: &TurnContext, question: &Question) -> Result<TurnEvent, GateError> {
    let beginning = Text::<8192>::clip(&question.action);
    let action = showing::clean(shared, context, &beginning).await?;
    let preview = showing::clean(shared, context, &question.preview).await?;
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

/// Waits up to 20 s for an answer to any of the questions, and settles what is answered.
pub(crate) async fn settle(
    shared: &Shared,
    active: &mut Active,
    settling: &mut Settling,
) -> Result<(), GateError> {
    let (turn, mut replaced) = (active.context.turn.id, active.replaced.clone());
    while !settling.waiting.is_empty() {
        let polls = settling.waiting.iter().map(|question| Box::pin(answer_of(shared, turn, question.id)));
        let (state, index, _) = tokio::select! {
            answered = select_all(polls) => answered,
            // Who settles a question gives its calls out, and this attempt's runner is no more.
            () = is_replaced(&mut replaced) => return Err(down("runner")),
        };
        let state = state?;
        if state == State::Pending {
            return Ok(());
        }
        let question = settling.waiting.remove(index);
        match state {
            State::Approved => approved(shared, active, settling, &question).await?,
            State::Denied => refuse(shared, active, settling, &question, state, "a person said no").await?,
            State::Expired => {
                refuse(shared, active, settling, &question, state, "nobody answered in time").await?;
            }
            State::Void | State::Claimed | State::Pending => {
                refuse(shared, active, settling, &question, state, "the question does not stand any more")
                    .await?;
            }
        }
    }
    Ok(())
}

async fn answer_of(shared: &Shared, turn: TurnId, id: ApprovalId) -> Result<State, GateError> {
    let answer = shared
        .router
        .call(&router::method::answer_of, |router, rpc| async move { router.answer_of(rpc, turn, id).await });
    match answer.await {
        Ok(Ok(state)) => Ok(state),
        Ok(Err(error)) => Err(refused(&error)),
        // Nothing is lost by asking again.
        Err(Fault::Deadline) => Ok(State::Pending),
        Err(_) => Err(down("router")),
    }
}

/// A person said yes: to exactly this action, under exactly these policies. What is not the same any more is refused.
async fn approved(
    shared: &Shared,
    active: &mut Active,
    settling: &mut Settling,
    question: &Question,
) -> Result<(), GateError> {
    let Some(released) = settling.calls.iter().find(|it| it.call.id == question.call).cloned() else {
        return Err(GateError::OutOfTurn);
    };
    if released.why.version.as_str() != shared.engine().version() {
        let note = "the policies changed after this was asked; ask for it again";
        return refuse(shared, active, settling, question, State::Approved, note).await;
    }
    if let Err(refusal) = decide::has_room(shared, &released.call.tool) {
        return refuse(shared, active, settling, question, State::Approved, &refusal.to_string()).await;
    }
    let context = &mut active.context;
    let same = args_of(&released.call).is_some_and(|args| {
        let verdict = decide::by_policy(shared, context, &released.call.tool, &args, Class::Public);
        let target = verdict.target.as_deref();
        // An earlier call of unknown outcome may have raised the label since; what is denied now is not run.
        verdict.decision != Decision::Deny
            && canonical(question.id, &released.call, &args, target, &released.why).1 == question.hash
    });
    if !same {
        let note = "the action is not the one that was approved";
        return refuse(shared, active, settling, question, State::Approved, note).await;
    }
    let event = decide::event(shared, context, Action::ToolDecided, Result3::Success, &released.call);
    let record = shared.record(event.because("approved by a person")).await?.index;
    if question.declassifies {
        let mut event =
            decide::event(shared, context, Action::Declassified, Result3::Success, &released.call);
        event.hash = Some(question.hash);
        shared.record(event).await?;
    }
    let (call, verdict) = (question.call, CallVerdict::Run);
    let step = Step::Decided { call, verdict: verdict.clone(), record };
    if answer::claim(shared, context, step).await? != Kept::Durable {
        let note = "the approval ended before it could be used";
        return refuse(shared, active, settling, question, State::Expired, note).await;
    }
    kit::fault_point!("gate.approval.claimed");
    if question.grantable {
        taking::refresh_grants(shared, context).await?;
    }
    decided(shared, active, settling, question, (verdict, record), State::Approved, "approved").await
}

/// The call is refused for good.
async fn refuse(
    shared: &Shared,
    active: &mut Active,
    settling: &mut Settling,
    question: &Question,
    state: State,
    note: &str,
) -> Result<(), GateError> {
    let Some(released) = settling.calls.iter().find(|it| it.call.id == question.call).cloned() else {
        return Err(GateError::OutOfTurn);
    };
    let event = decide::event(shared, &active.context, Action::ToolDecided, Result3::Blocked, &released.call);
    let record = shared.record(event.because(note)).await?.index;
    decide::alert(shared, &active.context, &released.call.tool, "blocked").await?;
    let verdict = CallVerdict::Refused(Text::clip(&format!("{note}: {}", question.reason)));
    let step = Step::Decided { call: question.call, verdict: verdict.clone(), record };
    answer::keep(shared, &mut active.context, step).await?;
    decided(shared, active, settling, question, (verdict, record), state, note).await
}

/// Takes a settled call up, and shows it.
async fn decided(
    shared: &Shared,
    active: &mut Active,
    settling: &mut Settling,
    question: &Question,
    (verdict, record): (CallVerdict, u64),
    state: State,
    note: &str,
) -> Result<(), GateError> {
    let Some(released) = settling.calls.iter_mut().find(|it| it.call.id == question.call) else {
        return Err(GateError::OutOfTurn);
    };
    (released.verdict, released.record) = (verdict, record);
    active.context.calls.insert(question.call, (released.clone(), None));
    let start = showing::start(shared, &active.context, released).await?;
    let answered = TurnEvent::Answered { id: question.id, state, note: Text::clip(note) };
    active.teller.tell(shared, [answered, start]).await
}

/// The reply with its calls as they are settled.
pub(crate) fn reply(settling: Settling) -> Heard {
    let message = replay::assistant(&settling.text, &settling.calls);
    Heard::Reply { message, calls: List::clip(settling.calls), finish: settling.finish }
}
