//! One approval: fetched, shown and answered. The answer holds for exactly the action that was shown: the hash that is
//! sent is computed here, from the bytes that were printed.

use crate::app::App;
use crate::approval_card::Card;
use crate::failure::Failure;
use crate::{text, view};
use ipc_proto::Text;
use ipc_proto::approval::{ApprovalInfo, ApprovalView, FORM, Question, Reply, State};
use ipc_proto::control::{ControlError, method};
use ipc_proto::ids::ApprovalId;
use ipc_proto::router::RouterError;
use sha2::{Digest, Sha256};
use std::cell::Cell;

/// The time left of a pending approval, or the name of the user who answered it.
pub(crate) fn ends(info: &ApprovalInfo, now_ms: u64) -> String {
    match (info.state, &info.answered_by) {
        (State::Pending, _) => format!("in {}", text::span(info.expires_ms.saturating_sub(now_ms))),
        (_, Some(by)) => format!("by {by}"),
        (_, None) => text::utc(info.expires_ms),
    }
}

/// Fetches one approval in full.
///
/// # Errors
/// Control's own, such as that this person may not see it.
pub(crate) async fn fetch(app: &App, id: ApprovalId) -> Result<ApprovalView, Failure> {
    app.link.ask(&method::approval, async |c, cx| c.approval(cx, id).await).await
}

/// Sends the answer to exactly this action, with the values of a form.
///
/// # Errors
/// Control's own, such as that somebody else answered first.
pub(crate) async fn answer(
    app: &App,
    question: &Question,
    reply: Reply,
    form: &Text<FORM>,
) -> Result<ApprovalInfo, Failure> {
    let (id, hash) = (question.id, Sha256::digest(question.action.as_bytes()).into());
    let tries = Cell::new(0_u32);
    let asked = app.link.ask(&method::answer, async |c, cx| {
        tries.set(tries.get().saturating_add(1));
        c.answer(cx, id, hash, reply, form.clone()).await
    });
    match asked.await {
        // The connection was lost and the answer was sent again: the first attempt may be the one that counted.
        Err(lost) if tries.get() > 1 => was_ours(app, id, reply, lost).await,
        answered => answered,
    }
}

/// Returns the approval if its answer is the caller's own and the same, else the failure `lost`.
async fn was_ours(app: &App, id: ApprovalId, reply: Reply, lost: Failure) -> Result<ApprovalInfo, Failure> {
    let Failure::Control(ControlError::Router(RouterError::NotPending(state))) = &lost else {
        return Err(lost);
    };
    if (*state == State::Denied) != (reply == Reply::Deny) {
        return Err(lost);
    }
    let me = app.link.ask(&method::whoami, async |c, cx| c.whoami(cx).await).await?;
    let info = fetch(app, id).await?.info;
    if info.answered_by == Some(me.name) { Ok(info) } else { Err(lost) }
}

/// The card of an approval.
pub(crate) fn card(view: &ApprovalView) -> Card {
    let question = &view.question;
    let mut card = Card::new(&question.tool, &question.action, &question.preview, &question.reason);
    if question.declassifies {
        card.note("it lets out what its label keeps in");
    }
    if question.owner_only {
        card.note("the owner alone may answer");
    }
    card
}

/// Shows the approval with all its details on standard error, with every character that could hide something escaped.
pub(crate) fn present(app: &App, view: &ApprovalView) {
    for (name, value) in facts(view) {
        app.out.remark(&format!("  {name:<10}  {value}"));
    }
    app.out.remark(&format!("  {:<10}  {}", "action", text::exact(&view.question.action)));
}

/// The facts of an approval in order, with every character that could hide something escaped.
pub(crate) fn facts(view: &ApprovalView) -> Vec<(&'static str, String)> {
    let (info, question) = (&view.info, &view.question);
    let policies: Vec<&str> = question.policies.iter().map(|name| name.as_str()).collect();
    let hash: [u8; 32] = Sha256::digest(question.action.as_bytes()).into();
    let mut facts = vec![
        ("id", info.id.to_string()),
        ("state", view::word(info.state)),
        ("session", format!("{} of {}", info.session, info.user)),
        ("tool", question.tool.to_string()),
        ("reason", question.reason.to_string()),
        ("policies", policies.join(", ")),
        ("label", view::label(&question.label)),
        ("ends", ends(info, text::now_ms())),
        ("sha256", text::hex(&hash)),
    ];
    if question.declassifies {
        facts.push(("lets out", "this value goes where its label keeps it from".to_owned()));
    }
    if question.owner_only {
        facts.push(("answers", "the owner alone".to_owned()));
    }
    // The gate escapes line breaks of the call, so those that are left separate its arguments.
    let lines = question.preview.lines().enumerate();
    let preview = lines.map(|(number, line)| (if number == 0 { "preview" } else { "" }, line.to_owned()));
    drop(facts.splice(4..4, preview));
    facts.into_iter().map(|(name, value)| (name, text::exact(&value))).collect()
}
