//! Adding a channel: the token goes sealed to credproxy, bound to the messenger's host, the configuration gets a table, and the
//! owner a code that links the owner's own account of the messenger.

use super::edit::{Written, with, without};
use crate::app::{App, Outcome};
use crate::commands::setup::place;
use crate::commands::{config, cred};
use crate::failure::Failure;
use crate::secret_input;
use ipc_proto::channel::LinkCode;
use ipc_proto::control::method;
use ipc_proto::credproxy::{At, Binding, Verb};
use ipc_proto::{List, Name, Text};
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

/// Bytes of a token.
const TOKEN: usize = 1024;
/// The host of Telegram's Bot API.
const TELEGRAM: &str = "api.telegram.org";

/// A messenger.
#[derive(Clone, Copy, clap::ValueEnum)]
pub(crate) enum Platform {
    /// Telegram, by a bot's token of @BotFather
    Telegram,
}

/// Admission to direct messages.
#[derive(Clone, Copy, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum Dm {
    /// The owners alone
    OwnerOnly,
    /// Users of the host; anybody else asks to be paired
    Pairing,
    /// Users of the host, and the senders that the configuration lists
    Allowlist,
    /// Nobody
    Disabled,
}

/// The arguments of `channel add`.
#[derive(clap::Args)]
pub(crate) struct Add {
    /// The messenger
    #[arg(value_enum)]
    platform: Platform,
    /// The channel's name
    #[arg(default_value = "main", value_parser = crate::arguments::text::<64>)]
    name: Name,
    /// A server in the place of the messenger's own
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// The people who may send direct messages; by default the owners alone
    #[arg(long, value_enum)]
    dm: Option<Dm>,
    /// The configuration to change; by default the one that the running host reads, else the usual one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// The arguments of `channel remove`.
#[derive(clap::Args)]
pub(crate) struct Remove {
    /// The channel's name in the configuration
    #[arg(value_parser = crate::arguments::text::<64>)]
    name: Name,
    /// The configuration to change; by default the one that the running host reads, else the usual one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

const fn dm(dm: Dm) -> &'static str {
    match dm {
        Dm::OwnerOnly => "owner_only",
        Dm::Pairing => "pairing",
        Dm::Allowlist => "allowlist",
        Dm::Disabled => "disabled",
    }
}

/// `host[:port]` of an address.
fn authority(url: &str) -> Result<&str, Failure> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let host = rest.and_then(|rest| rest.split('/').next()).filter(|host| !host.is_empty());
    host.ok_or_else(|| Failure::Usage("--base-url is no address: give https://HOST[:PORT]".to_owned()))
}

/// The use of a bot's token: in a segment of the path of a POST to this host.
fn binding(host: &str) -> Result<Binding, Failure> {
    let host = Text::new(host).map_err(|why| Failure::TooLong { what: "--base-url", why })?;
    Ok(Binding {
        hosts: List::clip([host]),
        verbs: List::clip([Verb::Post]),
        paths: List::default(),
        at: List::clip([At::Segment]),
    })
}

/// Adds a channel.
pub(super) async fn add(app: &App, add: Add) -> Outcome {
    let Platform::Telegram = add.platform;
    let url = add.base_url.as_deref().map(|url| url.trim_end_matches('/'));
    let server = url.map(authority).transpose()?;
    let secret = Name::clip(&format!("telegram-{}", add.name));
    let token = secret_input::value("Token of the bot, from @BotFather (not shown): ", TOKEN)?;
    cred::store(app, &secret, binding(server.unwrap_or(TELEGRAM))?, token).await?;
    let path = config::file(app, add.config).await;
    let plain = server.filter(|_| url.is_some_and(|url| url.starts_with("http://")));
    let written = Written {
        name: &add.name,
        platform: "telegram",
        secret: &secret,
        base_url: url,
        dm: add.dm.map(dm),
        plain,
    };
    let changed = place::change(&path, |old| with(old, &written).map_err(|fault| fault.to_string()))?;
    let link = link(app).await?;
    let fields = json!({
        "channel": add.name,
        "secret": secret,
        "config": path.display().to_string(),
        "changed": changed.is_some(),
        "link": link.code,
        "user": link.user,
        "until_ms": link.until_ms,
    });
    if app.out.json {
        app.out.document(fields)?;
        return Ok(ExitCode::SUCCESS);
    }
    app.out.line(&format!("the token is stored as {secret}, for {} alone", server.unwrap_or(TELEGRAM)))?;
    if changed.is_some() {
        app.out.line(&format!(
            "{} has the channel; restart the host: {}",
            path.display(),
            place::restart()
        ))?;
    }
    app.out.line(&format!("then: agentctl channel test {}", add.name))?;
    app.out.line(&format!(
        "and within 10 minutes send the bot this message from your own account, which is {} from then on:",
        link.user
    ))?;
    app.out.line(&format!("  /link {}", link.code))?;
    Ok(ExitCode::SUCCESS)
}

/// A code that links the caller's own account of the messenger.
async fn link(app: &App) -> Result<LinkCode, Failure> {
    let user = app.link.ask(&method::whoami, async |c, cx| c.whoami(cx).await).await?.name;
    app.link.ask(&method::create_link, async |c, cx| c.create_link(cx, user.clone()).await).await
}

/// Removes a channel from the configuration.
pub(super) async fn remove(app: &App, remove: &Remove) -> Outcome {
    let path = config::file(app, remove.config.clone()).await;
    let name = &remove.name;
    let changed = place::change(&path, |old| without(old, name).map_err(|fault| fault.to_string()))?;
    let sentence = match changed {
        Some(_) => format!(
            "{name} is out of {}; restart the host: {}; its secret stays until `agentctl cred revoke telegram-{name}`",
            path.display(),
            place::restart()
        ),
        None => format!("{} has no channel {name}", path.display()),
    };
    Ok(app.out.done(json!({ "channel": name, "removed": changed.is_some() }), &sentence)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_bound_to_the_servers_host_and_to_a_segment_of_the_path() {
        let bound = binding(authority("http://127.0.0.1:9/x").unwrap()).unwrap();
        assert_eq!(bound.hosts.first().map(Text::as_str), Some("127.0.0.1:9"));
        assert_eq!(bound.at.first(), Some(&At::Segment));
        assert!(matches!(authority("ftp://a"), Err(Failure::Usage(_))));
        assert!(matches!(authority("https:///a"), Err(Failure::Usage(_))));
    }
}
