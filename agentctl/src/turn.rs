//! A turn from its message to its end: submit once, follow by turn id and event number, cancel on Ctrl-C, and ask the
//! person for approvals.
//!
//! Control and router may restart meanwhile: the message has an idempotency key, so submitting it again is not another
//! message, and following continues at the next event.

use crate::app::App;
use crate::approval_prompt::ApprovalPrompt;
use crate::attach::Attached;
use crate::failure::Failure;
use crate::host;
use crate::interrupt::Interrupt;
use ipc_proto::Text;
use ipc_proto::config::UserRole;
use ipc_proto::content::{Content, TEXT_BOUND};
use ipc_proto::control::{Ask, ControlError, method};
use ipc_proto::ids::TurnId;
use ipc_proto::router::{Accepted, Finished, Followed, RouterError, SessionName, Task, TurnEvent};
use ipc_proto::{Name, bounded::TooLong};
use std::time::Instant;

/// Events in one answer.
const CREDIT: u16 = 64;

/// A turn that has ended.
pub(crate) struct Ended {
    /// As it was accepted.
    pub(crate) accepted: Accepted,
    /// How it ended.
    pub(crate) finished: Finished,
    /// From the question to the first text, ms; none if there was none.
    pub(crate) first_text_ms: Option<u64>,
    /// From the question to the end, ms.
    pub(crate) total_ms: u64,
}

/// A message, with a key that makes it one message however often it is sent.
pub(crate) fn ask(session: SessionName, agent: Option<Name>, content: Text<TEXT_BOUND>, task: Task) -> Ask {
    Ask {
        session,
        agent,
        content: Content::text(content),
        task,
        workspace: None,
        workspace_label: None,
        key: Text::clip(&uuid::Uuid::new_v4().to_string()),
    }
}

/// The same in an attached directory.
pub(crate) fn within(mut ask: Ask, workspace: Option<Attached>) -> Ask {
    ask.workspace = workspace.map(|it| it.id);
    ask.workspace_label = workspace.and_then(|it| it.label);
    ask
}

/// A message of this text.
///
/// # Errors
/// [`Failure::TooLong`] with the bound.
pub(crate) fn message(text: String) -> Result<Text<TEXT_BOUND>, Failure> {
    Text::new(text).map_err(|why: TooLong| Failure::TooLong { what: "the message", why })
}

/// Sends `ask` and gives `on_event` every event until the end.
///
/// # Errors
/// Control's own, what `on_event` returns, or [`Failure::Interrupted`] on a second Ctrl-C.
pub(crate) async fn play(
    app: &App,
    ask: &Ask,
    mut on_event: impl FnMut(&TurnEvent) -> std::io::Result<()>,
) -> Result<Ended, Failure> {
    let began = Instant::now();
    let interrupt = Interrupt::new()?;
    let accepted = submit(app, ask).await?;
    if accepted.waiting > 0 {
        app.out.remark(&format!("(message {} waits behind {})", accepted.message, accepted.waiting));
    }
    let mut first_text_ms = None;
    let mut from = 0;
    let mut prompt = ApprovalPrompt::new(app);
    let (mut pressed, mut waited) = (false, false);
    loop {
        let followed = tokio::select! {
            followed = follow(app, accepted.turn, from) => followed?,
            () = interrupt.pressed() => {
                if pressed {
                    return Err(Failure::Interrupted);
                }
                pressed = true;
                cancel(app, accepted.turn).await;
                continue;
            }
            line = prompt.line(), if prompt.is_asked() => {
                prompt.answer(app, line).await?;
                continue;
            }
        };
        if followed.events.is_empty() && !waited && !prompt.is_asked() {
            waited = true;
            let why = waiting(app, &ask.session).await;
            // With `--json` nothing else is printed before the end, which may take long.
            if app.out.json { app.out.hint(&why) } else { app.out.remark(&format!("({why})")) }
        }
        for event in &followed.events {
            if matches!(event, TurnEvent::Text(_)) {
                first_text_ms.get_or_insert(elapsed(began));
            }
            on_event(event)?;
            prompt.on_event(app, event).await?;
            if let TurnEvent::Done(finished) = event {
                let total_ms = elapsed(began);
                return Ok(Ended { accepted, finished: finished.clone(), first_text_ms, total_ms });
            }
        }
        if followed.over {
            // The end itself was missed, which happens only if the host ended.
            return Err(Failure::Control(ControlError::Router(RouterError::NoTurn)));
        }
        from = followed.next;
    }
}

/// Sends `ask`.
///
/// # Errors
/// Control's own; [`Failure::NoAgent`] with the name where nobody has it.
pub(crate) async fn submit(app: &App, ask: &Ask) -> Result<Accepted, Failure> {
    let sent = app.link.ask(&method::submit, async |c, cx| c.submit(cx, ask.clone()).await).await;
    sent.map_err(|failure| match (failure, &ask.agent) {
        (Failure::Control(ControlError::Router(RouterError::NoAgent(there))), Some(name)) => {
            Failure::NoAgent { name: name.to_string(), there: there.into_string() }
        }
        (Failure::Control(ControlError::Router(RouterError::Taken)), _) => {
            let session = &ask.session;
            let message = format!(
                "session {session} already has another agent or workspace: agentctl session show {session}; \
                 --session names another"
            );
            Failure::Turn { kind: "taken", message }
        }
        (failure, _) => failure,
    })
}

pub(crate) async fn follow(app: &App, turn: TurnId, from: u64) -> Result<Followed, Failure> {
    app.link.ask(&method::follow, async |c, cx| c.follow(cx, turn, from, CREDIT).await).await
}

/// The note for a person after 20 s without an event: what is paused or not ready, if the host says so.
async fn waiting(app: &App, session: &str) -> String {
    let still = || "still waiting".to_owned();
    // A guest may not ask for the state of the host, and a refusal counts for an alert.
    let person = app.link.ask(&method::whoami, async |c, cx| c.whoami(cx).await).await;
    if !person.is_ok_and(|person| person.role >= UserRole::User) {
        return still();
    }
    let Ok(host) = host::status(app).await else { return still() };
    let away: Vec<String> =
        host::degraded(&host).map(|process| format!("{} is {}", process.name, process.state)).collect();
    if !away.is_empty() {
        return format!("waiting: {}", away.join(", "));
    }
    let halted = host::queue(app).await.ok().and_then(|queue| host::halted(&queue, session));
    halted.map_or_else(still, |why| format!("waiting: {why}"))
}

/// A turn that has ended meanwhile cannot be cancelled, and need not be: its end is seen by following it.
pub(crate) async fn cancel(app: &App, turn: TurnId) {
    let _ = app.link.ask(&method::cancel, async |c, cx| c.cancel(cx, turn).await).await;
}

fn elapsed(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
