//! A prompt: one message of the person, and its turn to the end. The host goes on with the turn where the editor goes away; what
//! ends it is a cancel.

use super::connection::Connection;
use super::permission;
use super::session::{Running, refusal, wrong};
use super::update::{self, Updates};
use crate::app::App;
use crate::failure::Failure;
use crate::{attach, turn, turn_end};
use agent_client_protocol_schema::v1::{ContentBlock, Error, PromptResponse, StopReason};
use futures::StreamExt;
use futures::future::LocalBoxFuture;
use futures::stream::FuturesUnordered;
use ipc_proto::control::ControlError;
use ipc_proto::ids::{ApprovalId, TurnId};
use ipc_proto::router::{End, Followed, RouterError, Task, TurnEvent};
use std::collections::HashMap;
use std::io;
use std::path::Path;
use tokio_util::sync::CancellationToken;

/// The text of a prompt. Files that the person points to are named by their path, and read by the agent as any other.
///
/// # Errors
/// It has a part that was not offered, or none.
pub(super) fn text(cwd: &Path, prompt: &[ContentBlock]) -> Result<String, Error> {
    let part = |block: &ContentBlock| match block {
        ContentBlock::Text(text) => Ok(text.text.clone()),
        ContentBlock::ResourceLink(link) => Ok(update::reference(cwd, &link.name, &link.uri)),
        _ => Err(wrong("a prompt has text and links to resources; name a file in place of its contents")),
    };
    let text = prompt.iter().map(part).collect::<Result<Vec<_>, _>>()?.concat();
    if text.trim().is_empty() { Err(wrong("the prompt is empty")) } else { Ok(text) }
}

/// Sends a prompt and shows its turn. `gone` is set when the editor is.
///
/// # Errors
/// The host refused, or the turn ended without an answer.
pub(super) async fn prompt(
    app: &App,
    connection: &Connection,
    running: &Running,
    text: String,
    gone: &CancellationToken,
) -> Result<PromptResponse, Error> {
    let open = &running.open;
    let agent = open.agent.borrow().clone().filter(|_| !open.begun.get());
    let message = turn::message(text).map_err(refusal)?;
    let ask = turn::within(turn::ask(open.name.clone(), agent, message, Task::Chat), Some(open.attached));
    let accepted = match turn::submit(app, &ask).await {
        // The host's router has restarted since, and knows attached directories no more.
        Err(Failure::Control(ControlError::Router(RouterError::NoWorkspace))) => {
            attach::attach(app, &open.cwd).await.map_err(refusal)?;
            turn::submit(app, &ask).await
        }
        sent => sent,
    };
    let accepted = accepted.map_err(refusal)?;
    open.begun.set(true);
    let end = Shown::new(app, connection, running).play(accepted.turn, gone).await?;
    stop_reason(&end, running.cancelled.is_cancelled())
}

/// A turn as the editor is shown it.
struct Shown<'a> {
    app: &'a App,
    connection: &'a Connection,
    running: &'a Running,
    updates: Updates<'a>,
    /// The questions that the editor is asked, and what withdraws each.
    questions: FuturesUnordered<LocalBoxFuture<'a, io::Result<()>>>,
    over: HashMap<ApprovalId, CancellationToken>,
}

impl<'a> Shown<'a> {
    fn new(app: &'a App, connection: &'a Connection, running: &'a Running) -> Self {
        let updates = Updates::new(&running.open.cwd);
        Self { app, connection, running, updates, questions: FuturesUnordered::new(), over: HashMap::new() }
    }

    async fn play(mut self, id: TurnId, gone: &CancellationToken) -> Result<End, Error> {
        let cancelled = self.running.cancelled.clone();
        let (mut from, mut told) = (0, false);
        loop {
            let followed = tokio::select! {
                followed = turn::follow(self.app, id, from) => followed.map_err(refusal)?,
                () = cancelled.cancelled(), if !told => {
                    told = true;
                    turn::cancel(self.app, id).await;
                    continue;
                }
                Some(asked) = self.questions.next() => {
                    asked.map_err(Error::into_internal_error)?;
                    continue;
                }
                () = gone.cancelled() => return Err(Error::request_cancelled()),
            };
            let Followed { events, next, over, .. } = followed;
            for event in &events {
                self.show(event).await.map_err(Error::into_internal_error)?;
                if let TurnEvent::Done(finished) = event {
                    self.withdraw_all().await.map_err(Error::into_internal_error)?;
                    return Ok(finished.end.clone());
                }
            }
            if over {
                return Err(Error::internal_error()
                    .data("the end of the turn was missed; look at `agentctl session show`"));
            }
            from = next;
        }
    }

    async fn show(&mut self, event: &TurnEvent) -> io::Result<()> {
        for update in self.updates.of(event) {
            self.connection.update(&self.running.open.id, update).await?;
        }
        match event {
            TurnEvent::Approval { id, call, .. } if !self.over.contains_key(id) => {
                let over = CancellationToken::new();
                self.over.insert(*id, over.clone());
                let (app, connection, session) = (self.app, self.connection, &self.running.open.id);
                self.questions.push(Box::pin(permission::ask(app, connection, session, (*id, *call), over)));
            }
            TurnEvent::Answered { id, .. } => {
                if let Some(over) = self.over.get(id) {
                    over.cancel();
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Tells the editor that no question of the turn waits any more.
    async fn withdraw_all(&mut self) -> io::Result<()> {
        self.over.values().for_each(CancellationToken::cancel);
        while let Some(withdrawn) = self.questions.next().await {
            withdrawn?;
        }
        Ok(())
    }
}

/// How a turn ended, as the protocol names it. An end that it has no name for is an error with the host's sentence.
fn stop_reason(end: &End, cancelled: bool) -> Result<PromptResponse, Error> {
    let reason = match end {
        End::Answered => StopReason::EndTurn,
        End::Cancelled | End::Recalled => StopReason::Cancelled,
        End::Blocked(_) => StopReason::Refusal,
        _ if cancelled => StopReason::Cancelled,
        _ => return Err(Error::new(Error::internal_error().code.into(), turn_end::sentence(end))),
    };
    Ok(PromptResponse::new(reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent_client_protocol_schema::v1::{ImageContent, ResourceLink};
    use ipc_proto::Text;

    #[test]
    fn a_prompt_is_its_text_with_links_to_files_and_nothing_else() {
        let cwd = Path::new("/p");
        let link = ContentBlock::ResourceLink(ResourceLink::new("a.rs", "file:///p/a.rs"));
        let all = [ContentBlock::from("see "), link];
        assert_eq!(text(cwd, &all).ok().as_deref(), Some("see [a.rs](/workspace/a.rs)"));
        assert!(text(cwd, &[]).is_err() && text(cwd, &[ContentBlock::from(" \n")]).is_err());
        assert!(text(cwd, &[ContentBlock::Image(ImageContent::new("", "image/png"))]).is_err());
    }

    #[test]
    fn a_turn_that_was_cancelled_is_no_error_and_one_that_failed_is() {
        let failed = End::Failed(Text::clip("no model"));
        assert_eq!(stop_reason(&failed, true).unwrap().stop_reason, StopReason::Cancelled);
        assert_eq!(stop_reason(&failed, false).unwrap_err().message, "no model");
        assert_eq!(stop_reason(&End::Answered, true).unwrap().stop_reason, StopReason::EndTurn);
    }
}
