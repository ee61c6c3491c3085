//! Questions of a turn that the editor may answer. It may answer by itself, without its person, so it is asked once and for the
//! exact action, and never about what cannot be taken back, declassifies, or is the owner's alone: for those it is told the command.

use super::connection::Connection;
use super::update::{changed, content, kind, said};
use crate::app::App;
use crate::approval;
use crate::failure::Failure;
use crate::text;
use crate::tool_line;
use agent_client_protocol_schema::v1::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, SessionId, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use ipc_proto::Text;
use ipc_proto::approval::{ApprovalView, Question, Reply, SERVER_ASKS, State};
use ipc_proto::control::ControlError;
use ipc_proto::ids::{ApprovalId, CallId};
use ipc_proto::router::RouterError;
use serde_json::Value;
use std::io;
use tokio_util::sync::CancellationToken;

/// The ids of the two answers.
const ALLOW: &str = "allow";
const REJECT: &str = "reject";

/// Asks the editor, or tells it the command by which its person answers. `over` is set when the question is settled elsewhere.
///
/// # Errors
/// The editor is gone.
pub(super) async fn ask(
    app: &App,
    connection: &Connection,
    session: &SessionId,
    (id, call): (ApprovalId, CallId),
    over: CancellationToken,
) -> io::Result<()> {
    let view = match approval::fetch(app, id).await {
        Ok(view) if view.info.state != State::Pending => return Ok(()),
        Ok(view) if may_answer(&view.question) => view,
        Ok(_) => return tell(connection, session, (id, call), "no editor may answer this").await,
        Err(failure) => return tell(connection, session, (id, call), &failure.to_string()).await,
    };
    let mut answer = connection.ask("session/request_permission", request(session, &view)).await?;
    let answered = tokio::select! {
        answered = answer.wait() => answered,
        () = over.cancelled() => return answer.withdraw().await,
    };
    let outcome = answered.map_err(|error| error.message).and_then(|value| {
        let response: RequestPermissionResponse =
            serde_json::from_value(value).map_err(|error| error.to_string())?;
        Ok(response.outcome)
    });
    let reply = match outcome.as_ref().map(reply) {
        Ok(Some(reply)) => reply,
        // The turn was cancelled, which ends the question.
        Ok(None) => return Ok(()),
        Err(why) => {
            return tell(connection, session, (id, call), &format!("the editor did not answer: {why}")).await;
        }
    };
    match approval::answer(app, &view.question, reply, &Text::default()).await {
        Ok(_) => Ok(()),
        // Somebody else answered first, or the turn is over.
        Err(Failure::Control(ControlError::Router(RouterError::NotPending(_)))) => Ok(()),
        Err(failure) => tell(connection, session, (id, call), &failure.to_string()).await,
    }
}

/// Returns true if an editor may answer. The action says itself if it cannot be taken back; one that does not say so is none.
fn may_answer(question: &Question) -> bool {
    let action: Option<Value> = serde_json::from_str(&question.action).ok();
    let reversible = action.is_some_and(|action| action.get("irreversible") == Some(&Value::Bool(false)));
    reversible && !question.declassifies && !question.owner_only && question.tool.as_str() != SERVER_ASKS
}

/// The answer that an outcome is; `None` if the turn was cancelled. An answer that was not offered is a no.
fn reply(outcome: &RequestPermissionOutcome) -> Option<Reply> {
    match outcome {
        RequestPermissionOutcome::Cancelled => None,
        RequestPermissionOutcome::Selected(selected) if &*selected.option_id.0 == ALLOW => Some(Reply::Once),
        _ => Some(Reply::Deny),
    }
}

/// The question with every fact of it and the exact bytes of the action, in which nothing can hide.
fn request(session: &SessionId, view: &ApprovalView) -> RequestPermissionRequest {
    let question = &view.question;
    let action: Option<Value> = serde_json::from_str(&question.action).ok();
    let args =
        action.as_ref().and_then(|action| action.get("args")).map(Value::to_string).unwrap_or_default();
    let fields = ToolCallUpdateFields::new()
        .title(tool_line::sentence(&question.tool, &args))
        .kind(kind(&question.tool))
        .status(ToolCallStatus::Pending)
        .content(content(&fenced(&facts(view))))
        .raw_input(action);
    let option = |id: &'static str, name: &str, kind| PermissionOption::new(id, name, kind);
    RequestPermissionRequest::new(
        session.clone(),
        ToolCallUpdate::new(question.call.to_string(), fields),
        vec![
            option(ALLOW, "Allow once", PermissionOptionKind::AllowOnce),
            option(REJECT, "Reject", PermissionOptionKind::RejectOnce),
        ],
    )
}

fn facts(view: &ApprovalView) -> String {
    let mut lines: Vec<String> =
        approval::facts(view).into_iter().map(|(name, value)| format!("{name:<10}  {value}")).collect();
    lines.push(format!("{:<10}  {}", "action", text::exact(&view.question.action)));
    lines.join("\n")
}

/// The text in a fence that nothing in it can close.
fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{text}\n{fence}")
}

/// Tells how the question is answered where the editor may or did not.
async fn tell(
    connection: &Connection,
    session: &SessionId,
    (id, call): (ApprovalId, CallId),
    why: &str,
) -> io::Result<()> {
    let words = format!("{why}; it waits for you in a terminal: agentctl approvals approve {id} (or deny)");
    connection.update(session, changed(call, ToolCallUpdateFields::new().content(content(&words)))).await?;
    connection.update(session, said(&format!("\n\n> {words}\n\n"))).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent_client_protocol_schema::v1::SelectedPermissionOutcome;
    use ipc_proto::List;
    use ipc_proto::label::Label;

    fn question(action: &str) -> Question {
        Question {
            id: ApprovalId::random(),
            call: CallId::random(),
            tool: Text::clip("bash"),
            action: Text::clip(action),
            hash: [0; 32],
            scope: [0; 32],
            preview: Text::default(),
            reason: Text::default(),
            policies: List::default(),
            label: Label::bottom(),
            declassifies: false,
            grantable: false,
            owner_only: false,
            expires_ms: 0,
        }
    }

    // Holds P13-03.
    #[test]
    fn an_editor_answers_only_what_says_that_it_can_be_taken_back() {
        let mild = r#"{"irreversible":false,"tool":"bash"}"#;
        for (question, may) in [
            (question(mild), true),
            (question(r#"{"irreversible":true}"#), false),
            (question(r#"{"args":{"irreversible":false}}"#), false),
            (question(r#"{"irreversible":"false"}"#), false),
            (question("no JSON"), false),
            (Question { declassifies: true, ..question(mild) }, false),
            (Question { owner_only: true, ..question(mild) }, false),
            (Question { tool: Text::clip(SERVER_ASKS), ..question(mild) }, false),
        ] {
            assert_eq!(may_answer(&question), may, "{question:?}");
        }
    }

    #[test]
    fn only_the_offered_yes_is_a_yes() {
        let selected =
            |id: &'static str| RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(id));
        assert_eq!(reply(&selected("allow")), Some(Reply::Once));
        for other in ["reject", "allow_always", "Allow", ""] {
            assert_eq!(reply(&selected(other)), Some(Reply::Deny), "{other}");
        }
        assert_eq!(reply(&RequestPermissionOutcome::Cancelled), None);
    }

    #[test]
    fn a_fence_is_longer_than_any_within() {
        assert!(fenced("a ``` b").starts_with("````\n"));
        assert!(fenced("plain").starts_with("```\n"));
    }
}
