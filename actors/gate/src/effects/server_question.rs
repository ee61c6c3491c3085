//! Questions of a server for a person, in the middle of a call. Each is an approval like those of calls: kept by router, bound by a hash to
//! what the person was shown, and used once. No model sees it. What cannot be asked is answered with no.

use crate::decision::{approval, question};
use crate::effects::server_form::filled;
use crate::inspection::scan;
use crate::state::context::GateContext;
use crate::state::errors::{down, router_refusal};
use crate::state::mcp::{Held, Instance};
use crate::turn::attempt::Attempt;
use ipc_proto::approval::{Question, SERVER_ASKS, State};
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::ids::{ApprovalId, CallId};
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::mcp::{Ask, AskAnswer, AskAnswers, Asks, Field, FieldKind};
use ipc_proto::router::{self, RouterError, TurnEvent, Why};
use ipc_proto::runner_gate::GateError;
use ipc_proto::scanner::Crossing;
use ipc_proto::tool::ToolCall;
use ipc_proto::{List, Name, Text};
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use std::sync::Arc;

/// Questions of one call that a person is asked; what comes after them is answered with no.
const ASKED: usize = 8;

/// A request that waits for a person.
pub(crate) struct Asking {
    pub(crate) instance: Arc<Instance>,
    pub(crate) request: u64,
    left: VecDeque<Ask>,
    answers: Vec<AskAnswer>,
    /// The question that the person has before them.
    open: Option<(Ask, Question)>,
    /// A server does not end for being idle meanwhile.
    _held: Held,
}

impl Asking {
    pub(crate) fn of(instance: Arc<Instance>, request: u64, asks: Asks) -> Self {
        let held = instance.hold();
        let left = asks.into_iter().collect();
        Self { instance, request, left, answers: Vec::new(), open: None, _held: held }
    }

    /// Asks one question after the other; none while a person is still to answer.
    pub(crate) async fn poll(
        &mut self,
        gate: &GateContext,
        attempt: &mut Attempt,
        server: &str,
        asked: &mut usize,
    ) -> Result<Option<AskAnswers>, GateError> {
        loop {
            if let Some((ask, question)) = self.open.take() {
                let turn = attempt.context.turn.id;
                let Some((_, state)) = approval::first_answer(gate, turn, List::clip([question.id])).await?
                else {
                    self.open = Some((ask, question));
                    return Ok(None);
                };
                let answer = self.settled(gate, attempt, (&ask, &question), state).await?;
                self.answers.push(answer);
            }
            let Some(ask) = self.left.pop_front() else {
                return Ok(Some(List::clip(self.answers.drain(..))));
            };
            let question = match *asked < ASKED && self.instance.lives() {
                true => self.ask(gate, attempt, server, &ask).await?,
                false => None,
            };
            *asked += 1;
            match question {
                Some(question) => self.open = Some((ask, question)),
                None => self.answers.push(AskAnswer::Cancelled),
            }
        }
    }

    /// Asks a person. None if nobody may be asked, or there is no room for a question.
    async fn ask(
        &self,
        gate: &GateContext,
        attempt: &mut Attempt,
        server: &str,
        ask: &Ask,
    ) -> Result<Option<Question>, GateError> {
        let context = &attempt.context;
        // Nobody sits before the message of a job that does not ask.
        if context.asks_nobody() {
            return Ok(None);
        }
        let label = Label::of(Trust::Untrusted, Class::Internal, &format!("mcp:{server}"));
        let label = label.join(&self.instance.label());
        let Some(question) = question_of(gate, server, ask, label, context.session.unattended) else {
            return Ok(None);
        };
        let event =
            Event::new(Action::ApprovalAsked, Result3::Success).about(&format!("{SERVER_ASKS} {server}"));
        let mut event = event.in_turn(context.turn.session, context.turn.id);
        (event.call, event.hash, event.label) =
            (Some(question.call), Some(question.hash), Some(question.label.clone()));
        gate.record(event).await?;
        let turn = context.turn.id;
        let kept = gate.router.call(&router::method::ask, |router, rpc| {
            let question = question.clone();
            async move { router.ask(rpc, turn, question).await }
        });
        match kept.await.map_err(|_| down("router"))? {
            Ok(()) => {}
            Err(RouterError::TooManyApprovals { .. }) => return Ok(None),
            Err(error) => return Err(router_refusal(&error)),
        }
        let event = approval::shown(gate, &attempt.context, &question).await?;
        attempt.events.send(gate, [event]).await?;
        Ok(Some(question))
    }

    /// Uses a person's answer.
    async fn settled(
        &self,
        gate: &GateContext,
        attempt: &mut Attempt,
        (ask, question): (&Ask, &Question),
        state: State,
    ) -> Result<AskAnswer, GateError> {
        let (answer, note) = match state {
            State::Approved => self.accepted(gate, attempt, ask, question).await?,
            State::Denied => (AskAnswer::Declined, "a person said no".to_owned()),
            State::Expired => (AskAnswer::Cancelled, "nobody answered in time".to_owned()),
            State::Void | State::Claimed | State::Pending => {
                (AskAnswer::Cancelled, "the question does not stand any more".to_owned())
            }
        };
        let result =
            if matches!(answer, AskAnswer::Accepted(_)) { Result3::Success } else { Result3::Blocked };
        let turn = &attempt.context.turn;
        let event = Event::new(Action::ToolDecided, result).about(SERVER_ASKS).because(&note);
        let mut event = event.in_turn(turn.session, turn.id);
        (event.call, event.label) = (Some(question.call), Some(question.label.clone()));
        gate.record(event).await?;
        let answered = TurnEvent::Answered { id: question.id, state, note: Text::clip(&note) };
        attempt.events.send(gate, [answered]).await?;
        Ok(answer)
    }

    /// The values that the person gave. The server's label is raised to theirs before it gets them.
    async fn accepted(
        &self,
        gate: &GateContext,
        attempt: &Attempt,
        ask: &Ask,
        question: &Question,
    ) -> Result<(AskAnswer, String), GateError> {
        let (turn, id, call) = (attempt.context.turn.id, question.id, question.call);
        let claimed = gate.router.call(&router::method::claim, |router, rpc| async move {
            router.claim(rpc, turn, id, call).await
        });
        let form = match claimed.await.map_err(|_| down("router"))? {
            Ok(form) => form,
            Err(_) => {
                return Ok((AskAnswer::Cancelled, "the answer ended before it could be used".to_owned()));
            }
        };
        let Ask::Form { fields, .. } = ask else {
            return Ok((AskAnswer::Accepted(Text::default()), "a person agreed".to_owned()));
        };
        let values = match filled(fields, &form) {
            Ok(values) => values,
            Err(why) => return Ok((AskAnswer::Cancelled, why)),
        };
        let found = scan::scan(gate, &attempt.context, Crossing::Arguments, &values).await?;
        if found.canary_leaked || found.held_secret {
            let why = "the answer has a secret of the host, which no server gets";
            return Ok((AskAnswer::Cancelled, why.to_owned()));
        }
        self.instance.raise_to(&Label::of(Trust::User, found.class.max(Class::Internal), "form"));
        Ok((AskAnswer::Accepted(values), "a person filled it in".to_owned()))
    }
}

fn question_of(
    gate: &GateContext,
    server: &str,
    ask: &Ask,
    label: Label,
    unattended: bool,
) -> Option<Question> {
    let args = arguments(server, ask);
    let text = Value::Object(args.clone()).to_string();
    let call = ToolCall { id: CallId::random(), tool: Name::clip(SERVER_ASKS), args: Text::new(text).ok()? };
    let (id, expires_ms) = (ApprovalId::random(), question::expiry(gate, unattended));
    let why = Why { version: Name::clip(gate.engine().version()), label, expires_ms, ..Why::default() };
    let next = match ask {
        Ask::Form { .. } => "what you enter goes to that server",
        Ask::Page { .. } => "open the address yourself, if you trust it; nothing opens it for you",
    };
    let reason = format!("the MCP server {server} asks you, not Cordon and not your agent; {next}");
    question::plain(gate, id, &call, &args, &reason, &why)
}

/// The arguments that the person is shown, and agrees to.
fn arguments(server: &str, ask: &Ask) -> Map<String, Value> {
    let shown = match ask {
        Ask::Form { message, fields } => {
            let fields: Vec<Value> = fields.iter().map(shown).collect();
            json!({"server": server, "message": message, "fields": fields})
        }
        Ask::Page { message, url } => json!({"server": server, "message": message, "url": url}),
    };
    shown.as_object().cloned().unwrap_or_default()
}

fn shown(field: &Field) -> Value {
    let (kind, choices) = match &field.kind {
        FieldKind::Text => ("text", None),
        FieldKind::Integer => ("integer", None),
        FieldKind::Number => ("number", None),
        FieldKind::Boolean => ("boolean", None),
        FieldKind::One(choices) => ("one of", Some(choices)),
        FieldKind::Several(choices) => ("any of", Some(choices)),
    };
    let mut shown = json!({"name": field.name, "kind": kind, "required": field.required});
    let more = [
        ("description", (!field.description.is_empty()).then(|| json!(field.description))),
        ("choices", choices.map(|choices| json!(choices))),
        ("default", serde_json::from_str(&field.default).ok()),
    ];
    if let Some(fields) = shown.as_object_mut() {
        fields.extend(more.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    }
    shown
}
