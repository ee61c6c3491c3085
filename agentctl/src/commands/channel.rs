//! `agentctl channel`: accounts of messengers, added, shown, paused, resumed, tested and removed.

mod add;
mod edit;
mod group;
mod platforms;
mod test;
mod totp;

use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::text;
use ipc_proto::channel::{ChannelInfo, ChannelView};
use ipc_proto::control::method;
use ipc_proto::{Name, Text};
use serde_json::{Value, json};

/// The commands of `channel`.
#[derive(clap::Subcommand)]
pub(crate) enum Channel {
    /// Add an account of a messenger: its token is stored bound to the messenger's host, and the configuration gets its table
    Add(add::Add),
    /// List channels
    List,
    /// Show one channel: its connection, its admission, its deliveries and what it dropped
    Show {
        /// The channel's name in the configuration
        #[arg(value_parser = crate::arguments::text::<64>)]
        name: Name,
    },
    /// Pause a channel: nothing is received and nothing is sent
    Pause {
        /// The channel's name in the configuration
        #[arg(value_parser = crate::arguments::text::<64>)]
        name: Name,
    },
    /// Resume a channel
    Resume {
        /// The channel's name in the configuration
        #[arg(value_parser = crate::arguments::text::<64>)]
        name: Name,
    },
    /// Remove a channel from the configuration; its secret stays until it is revoked
    Remove(add::Remove),
    /// Test that the messenger accepts the account, or with --to send a line to somebody
    Test {
        /// The channel's name in the configuration
        #[arg(value_parser = crate::arguments::text::<64>)]
        name: Name,
        /// Send one line as the host to this conversation, which the channel must admit: a group or a person by the
        /// messenger's own id
        #[arg(long, value_name = "ID", value_parser = crate::arguments::text::<128>, allow_hyphen_values = true)]
        to: Option<Text<128>>,
    },
    /// Make the secret of the six digits that approvals on a channel need, and show it once for an authenticator
    Totp {
        /// The channel's name in the configuration
        #[arg(value_parser = crate::arguments::text::<64>)]
        name: Name,
    },
    /// Groups in which the agent answers
    #[command(subcommand)]
    Group(group::Group),
}

/// Runs the command.
pub(crate) async fn run(app: &App, command: Channel) -> Outcome {
    match command {
        Channel::Add(arguments) => add::add(app, arguments).await,
        Channel::List => list(app).await,
        Channel::Show { name } => show(app, &name).await,
        Channel::Pause { name } => pause(app, &name, true).await,
        Channel::Resume { name } => pause(app, &name, false).await,
        Channel::Remove(arguments) => add::remove(app, &arguments).await,
        Channel::Test { name, to: None } => test::contact(app, &name).await,
        Channel::Test { name, to: Some(to) } => test::line(app, &name, to).await,
        Channel::Totp { name } => totp::enrol(app, &name).await,
        Channel::Group(command) => group::run(app, command).await,
    }
}

/// The channel as a document.
fn document(info: &ChannelInfo) -> Value {
    json!({
        "name": info.name,
        "platform": info.platform.name(),
        "paused": info.paused,
        "link": info.link.name(),
        "reason": info.reason,
        "admitted_ms": info.admitted_ms,
        "sent_ms": info.sent_ms,
    })
}

/// The state in a word: `paused` stands before the connection.
const fn state(info: &ChannelInfo) -> &'static str {
    if info.paused { "paused" } else { info.link.name() }
}

/// A time, or that there was none.
fn when(ms: u64) -> String {
    if ms == 0 { "never".to_owned() } else { text::utc(ms) }
}

/// Lists channels.
async fn list(app: &App) -> Outcome {
    let found = app.link.ask(&method::channels, async |c, cx| c.channels(cx).await).await?;
    let head = ["CHANNEL", "PLATFORM", "STATE", "ADMITTED", "SENT", "REASON"];
    Ok(app.out.list("channels", &found, document, &head, |info| {
        vec![
            info.name.to_string(),
            info.platform.name().to_owned(),
            state(info).to_owned(),
            when(info.admitted_ms),
            when(info.sent_ms),
            info.reason.to_string(),
        ]
    })?)
}

async fn fetch(app: &App, name: &Name) -> Result<ChannelView, Failure> {
    app.link.ask(&method::channel, async |c, cx| c.channel(cx, name.clone()).await).await
}

/// Shows one channel.
async fn show(app: &App, name: &Name) -> Outcome {
    let view = fetch(app, name).await?;
    let dropped: Vec<String> = view.dropped.iter().map(|(why, count)| format!("{why} {count}")).collect();
    let groups: Vec<String> = view.groups.iter().map(|group| group.group.to_string()).collect();
    let mut fields = document(&view.info);
    if let Some(fields) = fields.as_object_mut() {
        fields.insert("dm".to_owned(), json!(view.dm));
        fields.insert("waiting".to_owned(), json!(view.waiting));
        fields.insert("unknown".to_owned(), json!(view.unknown));
        fields.insert("pairings".to_owned(), json!(view.pairings));
        fields.insert("malformed".to_owned(), json!(view.malformed));
        let counts: serde_json::Map<String, Value> =
            view.dropped.iter().map(|(why, count)| (why.to_string(), json!(count))).collect();
        fields.insert("dropped".to_owned(), Value::Object(counts));
        fields.insert("trouble".to_owned(), json!(view.trouble.name()));
        fields.insert("clock_s".to_owned(), json!(view.clock_s));
        fields.insert("groups".to_owned(), view.groups.iter().map(group::document).collect());
    }
    let none = |list: &[String]| if list.is_empty() { "none".to_owned() } else { list.join(", ") };
    let facts = [
        ("channel", view.info.name.to_string()),
        ("platform", view.info.platform.name().to_owned()),
        ("state", state(&view.info).to_owned()),
        ("reason", view.info.reason.to_string()),
        ("direct messages", view.dm.to_string()),
        ("last admitted", when(view.info.admitted_ms)),
        ("last sent", when(view.info.sent_ms)),
        ("to send", view.waiting.to_string()),
        ("of unknown outcome", view.unknown.to_string()),
        ("pairings that wait", view.pairings.to_string()),
        ("unreadable", view.malformed.to_string()),
        ("dropped", none(&dropped)),
        ("groups", none(&groups)),
    ];
    Ok(app.out.facts(json!({ "channel": fields }), &facts)?)
}

/// Pauses a channel, or resumes it.
async fn pause(app: &App, name: &Name, paused: bool) -> Outcome {
    let changed =
        app.link.ask(&method::pause_channel, async |c, cx| c.pause_channel(cx, name.clone(), paused).await);
    changed.await?;
    let sentence = if paused { format!("{name} is paused") } else { format!("{name} goes on") };
    Ok(app.out.done(json!({ "channel": name, "paused": paused }), &sentence)?)
}
