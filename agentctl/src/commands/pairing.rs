//! `agentctl pairing`: people who asked by a messenger to be admitted.

use super::user::Role;
use crate::app::{App, Outcome};
use crate::{text, view};
use ipc_proto::Name;
use ipc_proto::channel::{PairingInfo, PairingState};
use ipc_proto::config::UserRole;
use ipc_proto::control::method;
use serde_json::{Value, json};

/// The commands of `pairing`.
#[derive(clap::Subcommand)]
pub(crate) enum Pairing {
    /// List the pairings of the last day, newest first
    List,
    /// Approve a pairing by the code that the person has
    Approve {
        /// The code
        #[arg(value_parser = crate::arguments::text::<64>)]
        code: Name,
        /// The user that the person is from now on; a new name is a new user
        #[arg(long = "as", value_name = "USER", value_parser = crate::arguments::text::<64>)]
        user: Name,
        /// The role of a new user
        #[arg(long, value_enum, default_value_t = Role::Guest)]
        role: Role,
    },
    /// Refuse a pairing by its code
    Refuse {
        /// The code
        #[arg(value_parser = crate::arguments::text::<64>)]
        code: Name,
    },
}

/// Runs the command.
pub(crate) async fn run(app: &App, command: Pairing) -> Outcome {
    match command {
        Pairing::List => list(app).await,
        Pairing::Approve { code, user, role } => approve(app, code, user, role.into()).await,
        Pairing::Refuse { code } => refuse(app, code).await,
    }
}

const fn state(state: PairingState) -> &'static str {
    match state {
        PairingState::Pending => "pending",
        PairingState::Approved => "approved",
        PairingState::Refused => "refused",
        PairingState::Expired => "expired",
    }
}

fn document(info: &PairingInfo) -> Value {
    json!({
        "channel": info.channel,
        "identity": info.identity,
        "display": info.display,
        "state": state(info.state),
        "asked_ms": info.asked_ms,
        "until_ms": info.until_ms,
    })
}

/// Lists pairings. Anybody can choose any display name, so it is shown in quotes and hides no character.
async fn list(app: &App) -> Outcome {
    let found = app.link.ask(&method::pairings, async |c, cx| c.pairings(cx).await).await?;
    let head = ["CHANNEL", "IDENTITY", "STATE", "ASKED", "UNTIL", "CALLS ITSELF"];
    Ok(app.out.list("pairings", &found, document, &head, |info| {
        vec![
            info.channel.to_string(),
            info.identity.to_string(),
            state(info.state).to_owned(),
            text::utc(info.asked_ms),
            text::utc(info.until_ms),
            format!("\"{}\"", text::exact(&info.display)),
        ]
    })?)
}

async fn approve(app: &App, code: Name, user: Name, role: UserRole) -> Outcome {
    let approved = app
        .link
        .ask(&method::approve_pairing, async |c, cx| {
            c.approve_pairing(cx, code.clone(), user.clone(), role).await
        })
        .await?;
    let sentence = format!("approved: the person is {}, {}", approved.name, view::word(approved.role));
    Ok(app.out.done(json!({ "user": view::user(&approved) }), &sentence)?)
}

async fn refuse(app: &App, code: Name) -> Outcome {
    let refused =
        app.link.ask(&method::refuse_pairing, async |c, cx| c.refuse_pairing(cx, code.clone()).await);
    refused.await?;
    Ok(app.out.done(json!({ "refused": true }), "refused")?)
}
