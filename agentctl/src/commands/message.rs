//! `agentctl message`: messages with their states, and commands to recall one or to queue a dead letter again.

mod deliveries;

use crate::app::{App, Outcome};
use crate::edit::Draft;
use crate::failure::Failure;
use crate::{edit, text, turn, turn_end, view};
use ipc_proto::Text;
use ipc_proto::content::TEXT_BOUND;
use ipc_proto::control::method;
use ipc_proto::ids::MessageId;
use ipc_proto::router::{CallInfo, Effect, MessageInfo, MessageView};
use serde_json::json;
use std::process::ExitCode;

/// The message to a person who changed nothing.
const UNCHANGED: &str =
    "the text is as it was, so nothing was put into the queue; without --edit it goes as it is";

/// The most messages that are looked at.
const MOST: u16 = 256;

/// The commands of `message`.
#[derive(clap::Subcommand)]
pub(crate) enum Message {
    /// List messages, newest first
    List {
        /// Show at most this many
        #[arg(long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=256))]
        limit: u16,
        /// Only dead letters: messages that failed, or were given up after the last attempt
        #[arg(long)]
        dead: bool,
        /// Only answers that may not have reached their messenger
        #[arg(long, conflicts_with_all = ["dead", "session", "user", "state", "since"])]
        unknown: bool,
        #[command(flatten)]
        filter: Filter,
    },
    /// Show one message: its text, its states, its calls and their effects
    Show {
        /// The message's id
        id: MessageId,
    },
    /// Show every state that a message went through
    Trace {
        /// The message's id
        id: MessageId,
    },
    /// Recall a message that has not begun, and print its text
    Recall {
        /// The message's id
        id: MessageId,
    },
    /// Queue a dead letter again
    Requeue(Requeue),
    /// Send the answer again whose outcome on its messenger is unknown, or that was refused or expired
    Resend {
        /// The message's id
        id: MessageId,
    },
}

/// Options that choose among messages.
#[derive(clap::Args)]
pub(crate) struct Filter {
    /// Only messages of this session
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// Only messages of this user
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Only messages that came by this channel
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
    /// Only messages in this state, such as queued or failed
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
    /// Only messages accepted since this time: a day such as 2026-11-22, or a span of time such as 2h
    #[arg(long, value_name = "TIME", value_parser = text::moment)]
    since: Option<u64>,
}

impl Filter {
    /// Returns true if it admits every message.
    const fn is_open(&self) -> bool {
        self.session.is_none()
            && self.user.is_none()
            && self.channel.is_none()
            && self.state.is_none()
            && self.since.is_none()
    }

    fn admits(&self, message: &MessageInfo) -> bool {
        let is = |wanted: &Option<String>, found: &str| wanted.as_ref().is_none_or(|wanted| wanted == found);
        is(&self.session, &message.session)
            && is(&self.user, &message.user)
            && is(&self.channel, &message.channel)
            && is(&self.state, &view::word(message.state))
            && self.since.is_none_or(|since| message.accepted_ms >= since)
    }
}

/// The arguments of `message requeue`.
#[derive(clap::Args)]
pub(crate) struct Requeue {
    /// The message's id
    id: MessageId,
    /// Replace its text by this
    #[arg(long, value_name = "TEXT", conflicts_with = "edit")]
    text: Option<String>,
    /// Edit its text first, in `VISUAL`, `EDITOR` or vi
    #[arg(long)]
    edit: bool,
}

/// Runs the command.
pub(crate) async fn run(app: &App, command: Message) -> Outcome {
    match command {
        Message::List { limit, unknown: true, filter, .. } => {
            deliveries::list_unknown(app, limit, filter.channel.as_deref()).await
        }
        Message::List { limit, dead, filter, .. } => list(app, limit, dead, &filter).await,
        Message::Show { id } => show(app, id).await,
        Message::Trace { id } => trace(app, id).await,
        Message::Recall { id } => recall(app, id).await,
        Message::Requeue(arguments) => requeue(app, arguments).await,
        Message::Resend { id } => deliveries::resend(app, id).await,
    }
}

/// Lists messages.
async fn list(app: &App, limit: u16, dead: bool, filter: &Filter) -> Outcome {
    let looked_at = if filter.is_open() { limit } else { MOST };
    let found = app.link.ask(&method::messages, async |c, cx| c.messages(cx, looked_at, dead).await).await?;
    let all = found.len() < usize::from(MOST);
    let found: Vec<MessageInfo> = found.into_vec().into_iter().filter(|it| filter.admits(it)).collect();
    let found: Vec<MessageInfo> = found.into_iter().take(limit.into()).collect();
    if !filter.is_open() && !all && found.len() < usize::from(limit) {
        app.out.remark(&format!("looked at the newest {MOST} messages; older ones may fit too"));
    }
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
async fn trace(app: &App, id: MessageId) -> Outcome {
    let states = app.link.ask(&method::trace, async |c, cx| c.trace(cx, id).await).await?;
    if app.out.json {
        let states: Vec<_> = states.iter().map(view::passed).collect();
        app.out.document(json!({ "message": id.to_string(), "states": states }))?;
    } else {
        print_states(app, &states)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn print_states(app: &App, states: &[ipc_proto::router::Passed]) -> std::io::Result<()> {
    let first = states.first().map_or(0, |state| state.at_ms);
    let rows = states.iter().map(|passed| {
        vec![
            text::utc(passed.at_ms),
            format!("+{}ms", passed.at_ms.saturating_sub(first)),
            view::word(passed.state),
            passed.attempt.to_string(),
            passed.note.to_string(),
        ]
    });
    app.out.table(&["TIME", "AFTER", "STATE", "ATTEMPT", "NOTE"], rows.collect())
}

async fn fetch(app: &App, id: MessageId) -> Result<MessageView, Failure> {
    app.link.ask(&method::message, async |c, cx| c.message(cx, id).await).await
}

/// Shows everything that is known of one message.
async fn show(app: &App, id: MessageId) -> Outcome {
    let view = fetch(app, id).await?;
    let found = deliveries::of(app, &view).await?;
    if app.out.json {
        let mut message = view::message_view(&view);
        if !found.is_empty()
            && let Some(fields) = message.as_object_mut()
        {
            fields.insert("deliveries".to_owned(), found.iter().map(deliveries::document).collect());
        }
        app.out.document(json!({ "message": message }))?;
    } else {
        print(app, &view)?;
        deliveries::print(app, &found)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn print(app: &App, view: &MessageView) -> std::io::Result<()> {
    app.out.pairs(&facts(view))?;
    app.out.line(&format!("\n{}\n", view.text.trim_end()))?;
    print_states(app, &view.states)?;
    if view.calls.is_empty() {
        return Ok(());
    }
    app.out.line("")?;
    let row = |call: &CallInfo| {
        let id = call.id.to_string();
        vec![call.tool.to_string(), view::word(call.effect), call.record.to_string(), id]
    };
    app.out.table(&["TOOL", "EFFECT", "RECORD", "CALL"], view.calls.iter().map(row).collect())?;
    for call in view.calls.iter().filter(|call| call.effect == Effect::Unknown) {
        app.out.line(&format!("{} {}: {}", call.tool, call.id, view::UNKNOWN_EFFECT))?;
    }
    Ok(())
}

fn facts(view: &MessageView) -> Vec<(&'static str, String)> {
    let info = &view.info;
    let mut facts = vec![
        ("message", info.id.to_string()),
        ("turn", info.turn.to_string()),
        ("session", format!("{} of {}", info.session, info.user)),
        ("channel", info.channel.to_string()),
        ("state", view::word(info.state)),
        ("attempts", info.attempts.to_string()),
        ("accepted", text::utc(info.accepted_ms)),
        ("label", view.label.as_ref().map_or_else(|| "not scanned yet".to_owned(), view::label)),
    ];
    if let Some(finished) = &view.finished {
        facts.push(("ended", turn_end::sentence(&finished.end)));
        facts.push(("after", text::span(finished.duration_ms.into())));
        facts.push(("answer", format!("{} bytes", finished.text.len())));
    }
    facts.extend(view.stands_for.map(|id| ("stands for", id.to_string())));
    facts.extend(view.replaced_by.map(|id| ("replaced by", id.to_string())));
    facts
}

/// Recalls a message.
async fn recall(app: &App, id: MessageId) -> Outcome {
    let recalled = app.link.ask(&method::recall, async |c, cx| c.recall(cx, id).await).await?;
    app.out.remark("recalled; its text:");
    Ok(app.out.done(json!({ "message": id.to_string(), "text": recalled }), &recalled)?)
}

/// Queues a dead letter again.
async fn requeue(app: &App, arguments: Requeue) -> Outcome {
    let id = arguments.id;
    let (text, draft) = match requeue_text(app, &arguments).await? {
        RequeueText::Own => (None, None),
        RequeueText::New(text, draft) => (Some(text), draft),
        RequeueText::Unchanged => {
            let fields = json!({ "requeued": false, "replaces": id.to_string() });
            return Ok(app.out.done(fields, UNCHANGED)?);
        }
    };
    let accepted = app.link.ask(&method::requeue, async |c, cx| c.requeue(cx, id, text.clone()).await).await;
    let accepted = match draft {
        Some(draft) => draft.settle(accepted)?,
        None => accepted?,
    };
    let fields = json!({
        "requeued": true,
        "replaces": id.to_string(),
        "message": accepted.message.to_string(),
        "turn": accepted.turn.to_string(),
        "waiting": accepted.waiting,
    });
    let sentence =
        format!("message {} stands in its place; {} wait before it", accepted.message, accepted.waiting);
    Ok(app.out.done(fields, &sentence)?)
}

/// The text with which a dead letter is requeued.
enum RequeueText {
    Own,
    /// A new text, with the draft of an editor if it came from one.
    New(Text<TEXT_BOUND>, Option<Draft>),
    /// The person closed the editor without a change.
    Unchanged,
}

async fn requeue_text(app: &App, arguments: &Requeue) -> Result<RequeueText, Failure> {
    if let Some(text) = &arguments.text {
        return Ok(RequeueText::New(turn::message(text.clone())?, None));
    }
    if !arguments.edit {
        return Ok(RequeueText::Own);
    }
    let before = fetch(app, arguments.id).await?.text;
    let draft = edit::edited(&before)?;
    match turn::message(draft.text.clone()) {
        Ok(after) if after == before => Ok(RequeueText::Unchanged),
        Ok(after) => Ok(RequeueText::New(after, Some(draft))),
        Err(too_long) => draft.settle(Err(too_long)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::Name;
    use ipc_proto::ids::TurnId;
    use ipc_proto::router::MessageState;

    #[test]
    fn messages_are_chosen_by_session_user_channel_state_and_time() {
        let message = MessageInfo {
            id: MessageId::from_bytes([1; 16]),
            turn: TurnId::from_bytes([2; 16]),
            session: Text::clip("work"),
            user: Name::clip("ann"),
            channel: Name::clip("api"),
            state: MessageState::Queued,
            attempts: 1,
            accepted_ms: 100,
            bytes: 5,
        };
        let open = || Filter { session: None, user: None, channel: None, state: None, since: None };
        let text = |text: &str| Some(text.to_owned());
        assert!(open().is_open() && open().admits(&message));
        for (filter, admitted) in [
            (Filter { session: text("work"), state: text("queued"), ..open() }, true),
            (Filter { session: text("other"), ..open() }, false),
            (Filter { user: text("bob"), ..open() }, false),
            (Filter { channel: text("api"), since: Some(100), ..open() }, true),
            (Filter { since: Some(101), ..open() }, false),
            (Filter { state: text("failed"), ..open() }, false),
        ] {
            assert!(!filter.is_open());
            assert_eq!(filter.admits(&message), admitted);
        }
    }
}
