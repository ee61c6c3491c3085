//! `agentctl user`: the users of the host.

use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::view;
use ipc_proto::config::UserRole;
use ipc_proto::control::{ControlError, method};
use ipc_proto::router::{RouterError, USER_NAME, UserInfo, is_user_name};
use ipc_proto::{List, Name, Text};
use serde_json::json;

/// The commands of `user`.
#[derive(clap::Subcommand)]
pub(crate) enum User {
    /// List users
    List,
    /// Add a user
    Add(Add),
    /// Remove a user that was added; sessions stay for the record
    Remove {
        /// The user
        #[arg(value_parser = crate::arguments::text::<64>)]
        name: Name,
    },
    /// Show your user at the host
    Whoami,
}

/// The arguments of `user add`.
#[derive(clap::Args)]
pub(crate) struct Add {
    /// The user's name: ASCII letters, digits, `-`, `_`, `.` and `@`, and not digits alone
    #[arg(value_parser = user_name)]
    name: Name,
    /// The user's role
    #[arg(long, value_enum, default_value_t = Role::User)]
    role: Role,
    /// A uid of this user; may be given again
    #[arg(long = "uid", value_name = "UID")]
    uids: Vec<u32>,
    /// A `channel:platform-id` of this user; may be given again
    #[arg(long = "identity", value_name = "CHANNEL:ID", value_parser = crate::arguments::text::<256>)]
    identities: Vec<Text<256>>,
}

/// The role of a user.
#[derive(Clone, Copy, clap::ValueEnum)]
pub(crate) enum Role {
    /// Talk to agents
    Guest,
    /// Talk to agents, with sessions, memory and workspaces of their own
    User,
    /// Everything
    Owner,
}

impl From<Role> for UserRole {
    fn from(role: Role) -> Self {
        match role {
            Role::Guest => Self::Guest,
            Role::User => Self::User,
            Role::Owner => Self::Owner,
        }
    }
}

/// Runs the command.
pub(crate) async fn run(app: &App, command: User) -> Outcome {
    match command {
        User::List => list(app).await,
        User::Add(arguments) => add(app, arguments).await,
        User::Remove { name } => remove(app, name).await,
        User::Whoami => whoami(app).await,
    }
}

/// Reads the name of a new user.
fn user_name(text: &str) -> Result<Name, String> {
    let name = is_user_name(text).then(|| Name::new(text).ok()).flatten();
    name.ok_or_else(|| format!("valid: {USER_NAME}"))
}

/// Lists users.
async fn list(app: &App) -> Outcome {
    let found = app.link.ask(&method::users, async |c, cx| c.users(cx).await).await?;
    let head = ["USER", "ROLE", "UIDS", "IDENTITIES", "FROM"];
    Ok(app.out.list("users", &found, view::user, &head, |user| {
        let from = if user.configured { "configuration" } else { "command" };
        vec![user.name.to_string(), view::word(user.role), uids(user), identities(user), from.to_owned()]
    })?)
}

/// Adds a user.
async fn add(app: &App, add: Add) -> Outcome {
    let uids: List<u32, 16> = List::new(add.uids).map_err(|why| Failure::TooLong { what: "--uid", why })?;
    let identities: List<Text<256>, 16> =
        List::new(add.identities).map_err(|why| Failure::TooLong { what: "--identity", why })?;
    let (name, role) = (&add.name, UserRole::from(add.role));
    let added = app.link.ask(&method::add_user, async |c, cx| {
        c.add_user(cx, name.clone(), role, uids.clone(), identities.clone()).await
    });
    let user = added.await?;
    Ok(app.out.done(json!({ "user": view::user(&user) }), &format!("added {}", user.name))?)
}

/// Removes a user.
async fn remove(app: &App, name: Name) -> Outcome {
    let removed =
        app.link.ask(&method::remove_user, async |c, cx| c.remove_user(cx, name.clone()).await).await;
    match removed {
        Err(Failure::Control(ControlError::Router(RouterError::NoUser))) => Err(Failure::NoSuchUser),
        Err(failure) => Err(failure),
        Ok(()) => Ok(app.out.done(json!({ "user": name }), &format!("removed {name}"))?),
    }
}

/// Shows the caller's own user.
async fn whoami(app: &App) -> Outcome {
    let user = app.link.ask(&method::whoami, async |c, cx| c.whoami(cx).await).await?;
    let facts = [
        ("user", user.name.to_string()),
        ("role", view::word(user.role)),
        ("id", user.id.to_string()),
        ("uids", uids(&user)),
        ("identities", identities(&user)),
    ];
    Ok(app.out.facts(json!({ "user": view::user(&user) }), &facts)?)
}

fn uids(user: &UserInfo) -> String {
    user.uids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn identities(user: &UserInfo) -> String {
    user.identities.iter().map(|identity| identity.as_str()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_reads_as_another_or_as_a_uid_is_refused() {
        assert_eq!(user_name("ann").unwrap().as_str(), "ann");
        for name in ["ａｎｎ", "1000", ""] {
            let refused = user_name(name).unwrap_err();
            assert!(refused.contains("ASCII letters") && refused.contains("not digits alone"), "{refused}");
        }
    }
}
