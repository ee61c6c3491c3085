//! The scanner's verdict on each text that crosses a boundary. Without the scanner nothing crosses. The log holds the boundary
//! and the verdict, never the text.

use crate::state::blocked_on;
use crate::state::context::GateContext;
use crate::state::errors::down;
use crate::turn::context::TurnContext;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::runner_gate::GateError;
use ipc_proto::scanner::{self, Crossing, Release, Subject, Verdict};
use ipc_proto::{Name, Text};

/// Judges a whole text.
pub(crate) async fn judge(gate: &GateContext, subject: &Subject, text: &str) -> Result<Verdict, GateError> {
    let scanned = gate.scanner.call(&scanner::method::scan, |scanner, rpc| {
        let (subject, text) = (subject.clone(), Text::clip(text));
        async move { scanner.scan(rpc, subject, text).await }
    });
    blocked_on::during("scanner", scanned).await.map_err(|_| down("scanner"))
}

/// Judges a whole text of a turn.
pub(crate) async fn scan(
    gate: &GateContext,
    context: &TurnContext,
    crossing: Crossing,
    text: &str,
) -> Result<Verdict, GateError> {
    let subject =
        Subject::at(crossing).by(strictness(context.session.profile)).hiding(&context.session.canary);
    let verdict = judge(gate, &subject, text).await?;
    tracing::debug!(?crossing, judgement = ?verdict.judgement, turn = %context.turn.id, "scanned");
    if verdict.held_secret {
        alert(gate, context, "scanner", "a secret of the host").await?;
    }
    Ok(verdict)
}

/// Returns the part of a stream that may be released.
pub(crate) async fn ready(
    gate: &GateContext,
    pending: &str,
    last: bool,
    canary: Option<&str>,
) -> Result<Release, GateError> {
    let released = gate.scanner.call(&scanner::method::hold_back, |scanner, rpc| {
        let (pending, canary) = (Text::clip(pending), canary.map(Name::clip));
        async move { scanner.hold_back(rpc, pending, last, canary).await }
    });
    blocked_on::during("scanner", released).await.map_err(|_| down("scanner"))
}

/// Removes the released part from the front of the pending text.
pub(crate) fn consume(pending: &mut String, release: &Release) {
    let consumed = usize::try_from(release.consumed).unwrap_or(usize::MAX).min(pending.len());
    let consumed = if pending.is_char_boundary(consumed) { consumed } else { 0 };
    pending.drain(..consumed);
}

/// Returns the part of a turn's reply that may be released.
pub(crate) async fn hold_back(
    gate: &GateContext,
    context: &TurnContext,
    pending: &str,
    last: bool,
) -> Result<Release, GateError> {
    let release = ready(gate, pending, last, Some(&context.session.canary)).await?;
    let (crossing, leaked) = (Crossing::ModelStream, release.canary_leaked);
    tracing::debug!(?crossing, leaked, redactions = release.redactions, turn = %context.turn.id, "scanned");
    Ok(release)
}

/// Records an alert about `about`; `why` is a fixed phrase.
pub(crate) async fn alert(
    gate: &GateContext,
    context: &TurnContext,
    about: &str,
    why: &str,
) -> Result<(), GateError> {
    gate.alert(alert_event(context, about, why)).await
}

/// The event of an alert in a turn.
pub(crate) fn alert_event(context: &TurnContext, about: &str, why: &str) -> Event {
    let event = Event::new(Action::Alert, Result3::Blocked).about(about).because(why);
    let mut event = event.in_turn(context.turn.session, context.turn.id);
    event.label = Some(context.session.label.clone());
    event
}

/// The scanner's profile for an agent's.
pub(crate) const fn strictness(profile: policy::Profile) -> scanner::Profile {
    match profile {
        policy::Profile::Paranoid => scanner::Profile::Paranoid,
        policy::Profile::Standard => scanner::Profile::Standard,
        policy::Profile::PowerUser => scanner::Profile::PowerUser,
    }
}
