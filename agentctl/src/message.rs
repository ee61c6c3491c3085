//! `agentctl message`: where messages are, and every state they went through.

use crate::app::{App, Outcome};
use crate::{text, view};
use ipc_proto::control::method;
use ipc_proto::ids::MessageId;
use serde_json::json;
use std::process::ExitCode;

/// The commands of `message`.
#[derive(clap::Subcommand)]
pub(crate) enum Message {
    /// List messages, newest first
    List {
        /// At most so many
        #[arg(long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=256))]
        limit: u16,
    },
    /// Show every state that a message went through
    Trace {
        /// The message's id
        id: MessageId,
    },
}

/// Lists messages.
pub(crate) async fn list(app: &App, limit: u16) -> Outcome {
    let found = app.link.ask(&method::messages, async |c, cx| c.messages(cx, limit).await).await?;
    let head = ["MESSAGE", "SESSION", "USER", "CHANNEL", "STATE", "ATTEMPTS", "ACCEPTED", "BYTES"];
    Ok(app.out.list("messages", &found, view::message, &head, |message| {
        vec![
            message.id.to_string(),
            message.session.to_string(),
            message.user.to_string(),
            message.channel.to_string(),
            view::word(message.state),
            message.attempts.to_string(),
            text::utc(message.accepted_ms),
            message.bytes.to_string(),
        ]
    })?)
}

/// Shows the states of one message, with the time since it was accepted.
pub(crate) async fn trace(app: &App, id: MessageId) -> Outcome {
    let states = app.link.ask(&method::trace, async |c, cx| c.trace(cx, id).await).await?;
    let first = states.first().map_or(0, |state| state.at_ms);
    if app.out.json {
        let states: Vec<_> = states.iter().map(view::passed).collect();
        app.out.document(json!({ "message": id.to_string(), "states": states }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let rows = states.iter().map(|passed| {
        vec![
            text::utc(passed.at_ms),
            format!("+{}ms", passed.at_ms.saturating_sub(first)),
            view::word(passed.state),
            passed.attempt.to_string(),
            passed.note.to_string(),
        ]
    });
    app.out.table(&["TIME", "AFTER", "STATE", "ATTEMPT", "NOTE"], rows.collect())?;
    Ok(ExitCode::SUCCESS)
}
