//! `agentctl steer`: sends a message into a running turn, once however often the call is repeated. Its effect is seen by
//! following that turn, and by `agentctl message show`.

use crate::app::{App, Outcome};
use crate::commands::chat;
use crate::failure::Failure;
use ipc_proto::Text;
use ipc_proto::bounded::TooLong;
use ipc_proto::control::{ControlError, method};
use ipc_proto::router::{RouterError, SessionName, Steer as SteeringMessage};
use serde_json::json;

/// The arguments of `steer`.
#[derive(clap::Args)]
pub(crate) struct Steer {
    /// The session
    #[arg(long, short, value_name = "NAME", value_parser = crate::arguments::text::<128>)]
    session: Option<SessionName>,
    /// Place it before other steering messages, marked as urgent
    #[arg(long, short)]
    urgent: bool,
    /// The message; `-` reads it from standard input
    #[arg(value_name = "TEXT")]
    text: String,
}

/// Sends the message.
pub(crate) async fn steer(app: &App, arguments: Steer) -> Outcome {
    let text = if arguments.text == "-" { chat::standard_input()? } else { arguments.text };
    let text = Text::new(text).map_err(|why: TooLong| Failure::TooLong { what: "the message", why })?;
    let session = arguments.session.unwrap_or_else(|| Text::clip(chat::DEFAULT_SESSION));
    let key = Text::clip(&uuid::Uuid::new_v4().to_string());
    let message = SteeringMessage { session: session.clone(), text, urgent: arguments.urgent, key };
    let steering = app.link.ask(&method::steer, async |c, cx| c.steer(cx, message.clone()).await).await;
    let steering = steering.inspect_err(|failure| remedy(app, failure, &session))?;
    let (message, into) = (steering.accepted.message.to_string(), steering.into.to_string());
    let fields = json!({ "session": session, "message": message, "turn": into });
    let sentence =
        format!("sent into turn {into} as message {message}; if that turn ends first, it is answered next");
    Ok(app.out.done(fields, &sentence)?)
}

/// Prints how to send the message if no turn can take it.
fn remedy(app: &App, failure: &Failure, session: &str) {
    let refused = matches!(
        failure,
        Failure::Control(ControlError::Router(
            RouterError::NotUnderWay | RouterError::NotSteered(_) | RouterError::BadWords
        ))
    );
    if refused {
        app.out.remark(&format!("to send it: agentctl chat --session {session} --message TEXT"));
    }
}
