//! `agentctl channel group`: groups in which the agent answers.

use crate::app::{App, Outcome};
use ipc_proto::channel::{GroupInfo, GroupRule};
use ipc_proto::control::method;
use ipc_proto::{Name, Text};
use serde_json::{Value, json};

/// The commands of `channel group`.
#[derive(clap::Subcommand)]
pub(crate) enum Group {
    /// List the groups of a channel that were allowed by command
    List {
        /// The channel's name in the configuration
        #[arg(value_parser = crate::arguments::text::<64>)]
        name: Name,
    },
    /// Have the agent answer in a group
    Allow(Allow),
    /// Have the agent answer in a group no longer
    Deny {
        /// The channel's name in the configuration
        #[arg(value_parser = crate::arguments::text::<64>)]
        name: Name,
        /// The messenger's own id of the group
        #[arg(value_parser = crate::arguments::text::<128>, allow_hyphen_values = true)]
        group: Text<128>,
    },
}

/// The arguments of `channel group allow`.
#[derive(clap::Args)]
pub(crate) struct Allow {
    /// The channel's name in the configuration
    #[arg(value_parser = crate::arguments::text::<64>)]
    name: Name,
    /// The messenger's own id of the group
    #[arg(value_parser = crate::arguments::text::<128>, allow_hyphen_values = true)]
    group: Text<128>,
    /// The people who may speak to the agent there; by default users of the host alone
    #[arg(long, value_enum)]
    senders: Option<Senders>,
    /// Answer messages that do not mention the account, too
    #[arg(long)]
    no_mention: bool,
}

/// The people of a group who may speak to the agent.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Senders {
    /// Users of the host
    Paired,
    /// Every member of the group
    Members,
}

/// Runs the command.
pub(super) async fn run(app: &App, command: Group) -> Outcome {
    match command {
        Group::List { name } => list(app, &name).await,
        Group::Allow(allow) => {
            let members = allow.senders == Some(Senders::Members);
            let rule = GroupRule { members, require_mention: !allow.no_mention };
            set(app, &allow.name, &allow.group, Some(rule)).await
        }
        Group::Deny { name, group } => set(app, &name, &group, None).await,
    }
}

/// A group as a document.
pub(super) fn document(info: &GroupInfo) -> Value {
    let GroupRule { members, require_mention } = info.rule;
    json!({ "group": info.group, "members": members, "require_mention": require_mention })
}

async fn list(app: &App, name: &Name) -> Outcome {
    let view = super::fetch(app, name).await?;
    Ok(app.out.list("groups", &view.groups, document, &["GROUP", "SENDERS", "MENTION"], |info| {
        let senders = if info.rule.members { "members" } else { "paired" };
        let mention = if info.rule.require_mention { "required" } else { "not required" };
        vec![info.group.to_string(), senders.to_owned(), mention.to_owned()]
    })?)
}

async fn set(app: &App, name: &Name, group: &Text<128>, rule: Option<GroupRule>) -> Outcome {
    let changed = app
        .link
        .ask(&method::set_group, async |c, cx| c.set_group(cx, name.clone(), group.clone(), rule).await);
    changed.await?;
    let sentence = match rule {
        Some(_) => format!("the agent answers in {group}"),
        None => format!("the agent answers in {group} no longer"),
    };
    Ok(app.out.done(json!({ "channel": name, "group": group, "allowed": rule.is_some() }), &sentence)?)
}
