//! Every crossing of text, and the scanner's verdict on it. Without the scanner nothing crosses. What is logged of a
//! scan is where it was and how it came out, never the text.

use crate::context::TurnContext;
use crate::host::{Shared, down};
use crate::waits;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::runner_gate::GateError;
use ipc_proto::scanner::{self, Crossing, Release, Subject, Verdict};
use ipc_proto::{Name, Text};

/// Has a whole text judged.
pub(crate) async fn judge(shared: &Shared, subject: &Subject, text: &str) -> Result<Verdict, GateError> {
    let scanned = shared.scanner.call(&scanner::method::scan, |scanner, rpc| {
        let (subject, text) = (subject.clone(), Text::clip(text));
        async move { scanner.scan(rpc, subject, text).await }
    });
    waits::on("scanner", scanned).await.map_err(|_| down("scanner"))
}

/// Has a whole text of a turn judged.
pub(crate) async fn scan(
    shared: &Shared,
    context: &TurnContext,
    crossing: Crossing,
    text: &str,
) -> Result<Verdict, GateError> {
    let subject =
        Subject::at(crossing).by(strictness(context.session.profile)).hiding(&context.session.canary);
    let verdict = judge(shared, &subject, text).await?;
    tracing::debug!(?crossing, judgement = ?verdict.judgement, turn = %context.turn.id, "scanned");
    if verdict.held_secret {
        alert(shared, context, "scanner", "a secret of the host").await?;
    }
    Ok(verdict)
}

/// Says how much of a stream may go on.
pub(crate) async fn ready(
    shared: &Shared,
    pending: &str,
    last: bool,
    canary: Option<&str>,
) -> Result<Release, GateError> {
    let released = shared.scanner.call(&scanner::method::hold_back, |scanner, rpc| {
        let (pending, canary) = (Text::clip(pending), canary.map(Name::clip));
        async move { scanner.hold_back(rpc, pending, last, canary).await }
    });
    waits::on("scanner", released).await.map_err(|_| down("scanner"))
}

/// Takes what was let go off the front of what is pending.
pub(crate) fn consume(pending: &mut String, release: &Release) {
    let consumed = usize::try_from(release.consumed).unwrap_or(usize::MAX).min(pending.len());
    let consumed = if pending.is_char_boundary(consumed) { consumed } else { 0 };
    pending.drain(..consumed);
}

/// Says how much of a turn's reply may go on.
pub(crate) async fn hold_back(
    shared: &Shared,
    context: &TurnContext,
    pending: &str,
    last: bool,
) -> Result<Release, GateError> {
    let release = ready(shared, pending, last, Some(&context.session.canary)).await?;
    let (crossing, leaked) = (Crossing::ModelStream, release.canary_leaked);
    tracing::debug!(?crossing, leaked, redactions = release.redactions, turn = %context.turn.id, "scanned");
    Ok(release)
}

/// Puts an alert on the record: about what, and why in a fixed phrase.
pub(crate) async fn alert(
    shared: &Shared,
    context: &TurnContext,
    about: &str,
    why: &str,
) -> Result<(), GateError> {
    let event = Event::new(Action::Alert, Result3::Blocked).about(about).because(why);
    let mut event = event.in_turn(context.turn.session, context.turn.id);
    event.label = Some(context.session.label.clone());
    shared.alert(event).await
}

/// An agent's profile in the scanner's words.
pub(crate) const fn strictness(profile: policy::Profile) -> scanner::Profile {
    match profile {
        policy::Profile::Paranoid => scanner::Profile::Paranoid,
        policy::Profile::Standard => scanner::Profile::Standard,
        policy::Profile::PowerUser => scanner::Profile::PowerUser,
    }
}
