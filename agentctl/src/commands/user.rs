//! `agentctl user`: the users of the host.

use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::view;
use ipc_proto::config::UserRole;
use ipc_proto::control::{ControlError, Denied, method};
use ipc_proto::router::{RouterError, USER_NAME, UserInfo, is_user_name};
use ipc_proto::{List, Name, Text};
use serde_json::json;

/// The commands of `user`.
#[derive(clap::Subcommand)]
pub(crate) enum User {
    /// List users
    List,
    /// Add a user: a login of this machine by its name, or any name with --uid or --identity
    Add(Add),
    /// Change the role or the uids of a user that was added
    Edit(Edit),
    /// Remove a user that was added; sessions stay for the record
    Remove {
        /// The user
        #[arg(value_parser = crate::arguments::text::<64>)]
        name: Name,
    },
    /// Show your user at the host, or that you are none
    Whoami,
    /// Add an identity of a messenger to a user that was added
    Link(Identity),
    /// Remove an identity from a user that was added
    Unlink(Identity),
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
    /// A uid of this user; may be given again. By default the uid of the login of this name
    #[arg(long = "uid", value_name = "UID")]
    uids: Vec<u32>,
    /// An identity of a messenger of this user, such as telegram:main:1234; may be given again
    #[arg(long = "identity", value_name = "PLATFORM:CHANNEL:ID", value_parser = crate::arguments::text::<256>)]
    identities: Vec<Text<256>>,
}

/// The arguments of `user edit`.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("change").required(true).multiple(true).args(["role", "uids"]))]
pub(crate) struct Edit {
    /// The user
    #[arg(value_parser = crate::arguments::text::<64>)]
    name: Name,
    /// The new role
    #[arg(long, value_enum)]
    role: Option<Role>,
    /// A uid of this user, in place of those there are; may be given again
    #[arg(long = "uid", value_name = "UID")]
    uids: Vec<u32>,
}

/// The arguments of `user link` and `user unlink`.
#[derive(clap::Args)]
pub(crate) struct Identity {
    /// The user
    #[arg(value_parser = crate::arguments::text::<64>)]
    name: Name,
    /// The identity: the platform, the channel and the platform's own id of the person, such as telegram:main:1234
    #[arg(value_name = "PLATFORM:CHANNEL:ID", value_parser = crate::arguments::text::<256>)]
    identity: Text<256>,
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
        User::Edit(arguments) => edit(app, arguments).await,
        User::Remove { name } => remove(app, name).await,
        User::Whoami => whoami(app).await,
        User::Link(arguments) => link(app, arguments).await,
        User::Unlink(arguments) => unlink(app, arguments).await,
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

/// The uids of a new user. A name without a uid and an identity is the login of that name: nobody could be a user without
/// either.
fn uids_of(add: &Add, login: impl FnOnce(&str) -> Option<u32>) -> Result<Vec<u32>, Failure> {
    if !add.uids.is_empty() || !add.identities.is_empty() {
        return Ok(add.uids.clone());
    }
    let name = &add.name;
    let nobody = || {
        Failure::Usage(format!(
            "{name} is no login of this machine, so nobody could be this user: give --uid N, or --identity \
             PLATFORM:CHANNEL:ID"
        ))
    };
    login(name).map(|uid| vec![uid]).ok_or_else(nobody)
}

/// The uid of a login of this machine.
fn login(name: &str) -> Option<u32> {
    nix::unistd::User::from_name(name).ok().flatten().map(|user| user.uid.as_raw())
}

/// Adds a user.
async fn add(app: &App, add: Add) -> Outcome {
    let uids: List<u32, 16> =
        List::new(uids_of(&add, login)?).map_err(|why| Failure::TooLong { what: "--uid", why })?;
    let identities: List<Text<256>, 16> =
        List::new(add.identities).map_err(|why| Failure::TooLong { what: "--identity", why })?;
    let (name, role) = (&add.name, UserRole::from(add.role));
    let added = app.link.ask(&method::add_user, async |c, cx| {
        c.add_user(cx, name.clone(), role, uids.clone(), identities.clone()).await
    });
    let user = added.await?;
    Ok(app.out.done(json!({ "user": view::user(&user) }), &format!("added {}", described(&user)))?)
}

/// The user in a sentence: the name, the role, and by which uids and identities it is known.
fn described(user: &UserInfo) -> String {
    let (uids, identities) = (uids(user), identities(user));
    let by = match (uids.is_empty(), identities.is_empty()) {
        (true, true) => "by no uid and no identity".to_owned(),
        (true, false) => identities,
        (false, true) => format!("uid {uids}"),
        (false, false) => format!("uid {uids}, {identities}"),
    };
    format!("{}, {} ({by})", user.name, view::word(user.role))
}

/// Changes a user.
async fn edit(app: &App, edit: Edit) -> Outcome {
    let uids: List<u32, 16> = List::new(edit.uids).map_err(|why| Failure::TooLong { what: "--uid", why })?;
    let (name, role) = (edit.name, edit.role.map(UserRole::from));
    let uids = (!uids.is_empty()).then_some(uids);
    let changed = app
        .link
        .ask(&method::edit_user, async |c, cx| c.edit_user(cx, name.clone(), role, uids.clone()).await);
    match changed.await {
        Err(Failure::Control(ControlError::Router(RouterError::NoUser))) => Err(Failure::NoSuchUser),
        Err(failure) => Err(failure),
        Ok(user) => {
            let sentence = format!("changed: {}", described(&user));
            Ok(app.out.done(json!({ "user": view::user(&user) }), &sentence)?)
        }
    }
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

/// Adds an identity to a user.
async fn link(app: &App, Identity { name, identity }: Identity) -> Outcome {
    let linked =
        app.link.ask(&method::link_user, async |c, cx| c.link_user(cx, name.clone(), identity.clone()).await);
    let user = linked.await?;
    Ok(app.out.done(json!({ "user": view::user(&user) }), &format!("linked: {}", described(&user)))?)
}

/// Removes an identity from a user.
async fn unlink(app: &App, Identity { name, identity }: Identity) -> Outcome {
    let unlinked = app
        .link
        .ask(&method::unlink_user, async |c, cx| c.unlink_user(cx, name.clone(), identity.clone()).await);
    let user = unlinked.await?;
    Ok(app.out.done(json!({ "user": view::user(&user) }), &format!("unlinked: {}", described(&user)))?)
}

/// Shows the caller's own user, or that the caller is none.
async fn whoami(app: &App) -> Outcome {
    let user = match app.link.ask(&method::whoami, async |c, cx| c.whoami(cx).await).await {
        Ok(user) => user,
        Err(Failure::Control(ControlError::NotAllowed(Denied { uid, user: None, .. }))) => {
            return Ok(stranger(app, uid)?);
        }
        Err(failure) => return Err(failure),
    };
    let facts = [
        ("user", user.name.to_string()),
        ("role", view::word(user.role)),
        ("id", user.id.to_string()),
        ("uids", uids(&user)),
        ("identities", identities(&user)),
    ];
    Ok(app.out.facts(json!({ "user": view::user(&user) }), &facts)?)
}

/// Shows a caller who is no user of the host, and the command that would make one.
fn stranger(app: &App, uid: u32) -> std::io::Result<std::process::ExitCode> {
    let known = nix::unistd::User::from_uid(uid.into()).ok().flatten().map(|user| user.name);
    let known = known.filter(|name| is_user_name(name));
    let add = match &known {
        Some(name) => format!("agentctl user add {name} --uid {uid}"),
        None => format!("agentctl user add NAME --uid {uid}"),
    };
    let facts = [
        ("user", "none: you are no user of this host".to_owned()),
        ("uid", uid.to_string()),
        ("login", known.clone().unwrap_or_else(|| "-".to_owned())),
        ("to become one", format!("an owner runs: {add}")),
    ];
    app.out.facts(json!({ "user": null, "uid": uid, "login": known, "add": add }), &facts)
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
    fn a_user_without_a_uid_is_the_login_of_that_name_and_nobody_else() {
        let add = |uids: &[u32], identities: &[&str]| Add {
            name: Name::clip("bob"),
            role: Role::User,
            uids: uids.to_vec(),
            identities: identities.iter().map(|identity| Text::clip(identity)).collect(),
        };
        let login = |name: &str| (name == "bob").then_some(1001);
        assert_eq!(uids_of(&add(&[], &[]), login).unwrap(), [1001]);
        assert_eq!(uids_of(&add(&[7], &[]), login).unwrap(), [7]);
        assert!(
            uids_of(&add(&[], &["chat:bob"]), login).unwrap().is_empty(),
            "a person of a channel has no uid"
        );
        let refused = uids_of(&add(&[], &[]), |_| None).unwrap_err();
        assert!(matches!(&refused, Failure::Usage(why) if why.contains("--uid N")), "{refused}");
    }

    #[test]
    fn a_name_that_reads_as_another_or_as_a_uid_is_refused() {
        assert_eq!(user_name("ann").unwrap().as_str(), "ann");
        for name in ["ａｎｎ", "1000", ""] {
            let refused = user_name(name).unwrap_err();
            assert!(refused.contains("ASCII letters") && refused.contains("not digits alone"), "{refused}");
        }
    }
}
