//! The question to a person whether a jail's program may reach a place. It is one approval like those of tool calls: kept by router,
//! bound to its action by a hash, and used once, for this turn.

use crate::decision::{approval, question};
use crate::network::decision::{Show, TOOL, away, record, refused};
use crate::network::session::{Outbound, Place};
use crate::state::context::GateContext;
use ipc_proto::approval::{Question, State};
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::ids::{ApprovalId, CallId, SessionId, TurnId};
use ipc_proto::router::{self, RouterError, TurnEvent};
use ipc_proto::runner_gate::{GateError, NetworkError};
use ipc_proto::tool::ToolCall;
use ipc_proto::{List, Name, Text};
use policy::Verdict;
use serde_json::Value;

/// The turn whose person is asked.
#[derive(Clone, Copy)]
pub(super) struct Asking<'a> {
    pub(super) outbound: &'a Outbound,
    pub(super) turn: TurnId,
    pub(super) session: SessionId,
}

/// Asks, waits for the answer, and uses it.
pub(super) async fn ask(
    gate: &GateContext,
    asking: Asking<'_>,
    place: &Place,
    verdict: &Verdict,
    show: &Show,
) -> Result<(), NetworkError> {
    let question = question_of(gate, place, verdict, asking.outbound.facts.unattended)
        .ok_or_else(|| refused(place, "the question cannot be shown whole", "use another host"))?;
    let mut event = Event::new(Action::ApprovalAsked, Result3::Success).about(&place.subject());
    event = event.in_turn(asking.session, asking.turn);
    (event.call, event.hash, event.label) =
        (Some(question.call), Some(question.hash), Some(question.label.clone()));
    gate.record(event).await.map_err(|_| away(place, "audit"))?;
    keep(gate, asking, place, &question).await?;
    show(shown(&question));
    let state = answer(gate, asking, place, question.id).await?;
    let (result, note) = match state {
        State::Approved => use_up(gate, asking, place, &question).await?,
        State::Denied => (Result3::Blocked, "a person said no"),
        State::Expired => (Result3::Blocked, "nobody answered in time"),
        State::Void | State::Claimed | State::Pending => {
            (Result3::Blocked, "the question does not stand any more")
        }
    };
    show(TurnEvent::Answered { id: question.id, state, note: Text::clip(note) });
    record(gate, asking.outbound, place, &question.label, (result, note)).await?;
    match result {
        Result3::Success => Ok(()),
        _ => Err(refused(place, note, "go on without it, or ask the person in the chat")),
    }
}

fn question_of(gate: &GateContext, place: &Place, verdict: &Verdict, unattended: bool) -> Option<Question> {
    let arguments = place.arguments();
    let text = Value::Object(arguments.clone()).to_string();
    let call = ToolCall { id: CallId::random(), tool: Name::clip(TOOL), args: Text::clip(&text) };
    let mut why = verdict.why.clone();
    why.expires_ms = question::expiry(gate, unattended);
    question::question(gate, ApprovalId::random(), &call, &arguments, verdict, &why)
}

async fn keep(
    gate: &GateContext,
    asking: Asking<'_>,
    place: &Place,
    question: &Question,
) -> Result<(), NetworkError> {
    let asked = gate.router.call(&router::method::ask, |router, rpc| {
        let (turn, question) = (asking.turn, question.clone());
        async move { router.ask(rpc, turn, question).await }
    });
    match asked.await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(refused(place, &error.to_string(), "answer what waits: agentctl approvals")),
        Err(_) => Err(away(place, "router")),
    }
}

/// The question for the followers of the turn. Host and port are all of it that comes from the jail.
fn shown(question: &Question) -> TurnEvent {
    TurnEvent::Approval {
        id: question.id,
        call: question.call,
        tool: question.tool.clone(),
        preview: question.preview.clone(),
        action: Text::clip(&question.action),
        hash: question.hash,
        reason: question.reason.clone(),
        grantable: question.grantable,
        expires_ms: question.expires_ms,
    }
}

/// Waits until the question is settled.
async fn answer(
    gate: &GateContext,
    asking: Asking<'_>,
    place: &Place,
    id: ApprovalId,
) -> Result<State, NetworkError> {
    loop {
        match approval::first_answer(gate, asking.turn, List::clip([id])).await {
            Ok(Some((_, state))) => return Ok(state),
            Ok(None) => {}
            Err(GateError::Down(process)) => return Err(away(place, &process)),
            Err(error) => return Err(refused(place, &error.to_string(), "ask again")),
        }
    }
}

/// Uses an approval up: it holds for this turn alone.
async fn use_up(
    gate: &GateContext,
    asking: Asking<'_>,
    place: &Place,
    question: &Question,
) -> Result<(Result3, &'static str), NetworkError> {
    let (turn, id, call) = (asking.turn, question.id, question.call);
    let claimed = gate
        .router
        .call(&router::method::claim, |router, rpc| async move { router.claim(rpc, turn, id, call).await });
    match claimed.await {
        Ok(Ok(_)) => {}
        Ok(Err(RouterError::NotApproved)) => {
            return Ok((Result3::Blocked, "the approval ended before it could be used"));
        }
        Ok(Err(error)) => return Err(refused(place, &error.to_string(), "ask again")),
        Err(_) => return Err(away(place, "router")),
    }
    if question.declassifies {
        let event = Event::new(Action::Declassified, Result3::Success).about(&place.subject());
        let mut event = event.in_turn(asking.session, asking.turn);
        event.hash = Some(question.hash);
        gate.record(event).await.map_err(|_| away(place, "audit"))?;
    }
    Ok((Result3::Success, "approved by a person"))
}
