//! Adding a channel: its secrets go sealed to credproxy, bound to the messenger's hosts, the configuration gets a table, and the
//! owner a code that links the owner's own account of the messenger.

use super::edit::{Written, with, without};
use super::platforms::Platform;
use crate::app::{App, Outcome};
use crate::commands::setup::place;
use crate::commands::{config, cred};
use crate::failure::Failure;
use crate::secret_input;
use ipc_proto::Name;
use ipc_proto::channel::LinkCode;
use ipc_proto::control::method;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Bytes of a token.
const TOKEN: usize = 1024;

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
    /// A server in the place of the messenger's own; Matrix, Signal and webhooks need one
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// WhatsApp: the platform's id of the phone number
    #[arg(long, value_name = "ID")]
    number: Option<String>,
    /// The mailbox
    #[command(flatten)]
    mail: Mail,
    /// The people who may send direct messages; by default the owners alone
    #[arg(long, value_enum)]
    dm: Option<Dm>,
    /// Show what would be stored and changed, ask for nothing and change nothing
    #[arg(long)]
    dry_run: bool,
    /// The configuration to change; by default the one that the running host reads, else the usual one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// The arguments of a mailbox.
#[derive(clap::Args)]
struct Mail {
    /// E-mail: the address of the mailbox
    #[arg(long, value_name = "ADDRESS")]
    address: Option<String>,
    /// E-mail: the name to sign in with; by default the address
    #[arg(long, value_name = "NAME")]
    login: Option<String>,
    /// E-mail: the server that mail is read from, imaps://HOST:PORT
    #[arg(long, value_name = "URL")]
    imap: Option<String>,
    /// E-mail: the server that mail is sent by, smtps://HOST:PORT
    #[arg(long, value_name = "URL")]
    smtp: Option<String>,
    /// E-mail: the name of your mail server in Authentication-Results, by which senders are known
    #[arg(long, value_name = "NAME")]
    authserv: Option<String>,
}

impl Mail {
    /// The keys of the configuration that were given.
    fn keys(&self) -> Vec<(&'static str, &str)> {
        let all = [
            ("address", &self.address),
            ("login", &self.login),
            ("imap", &self.imap),
            ("smtp", &self.smtp),
            ("authserv", &self.authserv),
        ];
        all.into_iter().filter_map(|(key, value)| Some((key, value.as_deref()?))).collect()
    }
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
fn authority(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_once("://")?;
    let known = ["https", "http", "imaps", "imap", "smtps", "smtp"].contains(&scheme);
    rest.split('/').next().filter(|host| known && !host.is_empty())
}

/// The hosts that the account's secrets are bound to: its own servers, or those of the platform.
fn hosts(add: &Add) -> Result<Vec<String>, Failure> {
    let own = [("--base-url", &add.base_url), ("--imap", &add.mail.imap), ("--smtp", &add.mail.smtp)];
    let mut hosts = Vec::new();
    for (option, url) in own {
        let Some(url) = url else { continue };
        let usage = || Failure::Usage(format!("{option} is no address: give SCHEME://HOST[:PORT]"));
        hosts.push(authority(url).ok_or_else(usage)?.to_owned());
    }
    let needs = match add.platform {
        Platform::Whatsapp if add.number.is_none() => Some("--number ID"),
        Platform::Matrix | Platform::Signal | Platform::Webhook if add.base_url.is_none() => {
            Some("--base-url URL")
        }
        Platform::Email if add.mail.address.is_none() => Some("--address ADDRESS"),
        Platform::Email if hosts.len() < 2 => Some("--imap URL and --smtp URL"),
        _ => None,
    };
    if let Some(needs) = needs {
        return Err(Failure::Usage(format!("an account of {} needs {needs}", add.platform.name())));
    }
    if hosts.is_empty() {
        hosts.extend(add.platform.hosts().iter().map(|host| (*host).to_owned()));
    }
    Ok(hosts)
}

/// The names of the account's secrets, by the keys that name them.
fn named(add: &Add) -> Vec<(&'static str, String)> {
    let name = |suffix| Name::clip(&format!("{}-{}{suffix}", add.platform.name(), add.name)).into_string();
    add.platform.tokens().iter().map(|token| (token.key, name(token.suffix))).collect()
}

/// Asks for the secrets of the account and stores each, bound to these hosts.
async fn store(app: &App, add: &Add, hosts: &[String]) -> Result<(), Failure> {
    let tokens = add.platform.tokens();
    for (token, (_, name)) in tokens.iter().zip(named(add)) {
        let value = match tokens {
            [_] => secret_input::value(token.question, TOKEN)?,
            _ => secret_input::line(token.question, TOKEN, false)?,
        };
        token.check(&value)?;
        cred::store(app, &Name::clip(&name), token.binding(hosts)?, value).await?;
    }
    Ok(())
}

/// Adds a channel.
pub(super) async fn add(app: &App, add: Add) -> Outcome {
    let hosts = hosts(&add)?;
    let secrets = named(&add);
    let url = add.base_url.as_deref().map(|url| url.trim_end_matches('/'));
    let mut keys: Vec<(&str, &str)> = secrets.iter().map(|(key, name)| (*key, name.as_str())).collect();
    keys.extend(url.map(|url| ("base_url", url)));
    keys.extend(add.number.as_deref().map(|number| ("number", number)));
    keys.extend(add.mail.keys());
    keys.extend(add.dm.map(|admission| ("dm", dm(admission))));
    let plain = url.filter(|url| url.starts_with("http://")).and_then(authority);
    let written = Written { name: &add.name, platform: add.platform.name(), keys: &keys, plain };
    let path = config::file(app, add.config.clone()).await;
    if add.dry_run {
        return dry_run(app, &path, &written, (&secrets, &hosts));
    }
    // A change that the configuration cannot hold is refused before a secret is asked for.
    drop(place::proposed(&path, |old| with(old, &written).map_err(|fault| fault.to_string()))?);
    store(app, &add, &hosts).await?;
    let changed = place::change(&path, |old| with(old, &written).map_err(|fault| fault.to_string()))?;
    let link = link(app).await?;
    if app.out.json {
        app.out.document(json!({
            "channel": add.name,
            "secret": secrets.first().map(|(_, name)| name),
            "secrets": secrets.iter().map(|(_, name)| name).collect::<Vec<_>>(),
            "config": path.display().to_string(),
            "changed": changed.is_some(),
            "link": link.code,
            "user": link.user,
            "until_ms": link.until_ms,
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    for (_, name) in &secrets {
        app.out.line(&format!("the secret is stored as {name}, for {} alone", hosts.join(" and ")))?;
    }
    if changed.is_some() {
        app.out.line(&format!(
            "{} has the channel; restart the host: {}",
            path.display(),
            place::restart()
        ))?;
    }
    app.out.line(&format!("then: agentctl channel test {}", add.name))?;
    app.out.line(&format!(
        "and within 10 minutes send this {}, from your own account, which is the user {} from then on:",
        add.platform.receiver(),
        link.user
    ))?;
    app.out.line(&format!("  {} {}", add.platform.link_command(), link.code))?;
    Ok(ExitCode::SUCCESS)
}

/// Shows what would be stored and changed.
fn dry_run(
    app: &App,
    path: &Path,
    written: &Written<'_>,
    (secrets, hosts): (&[(&'static str, String)], &[String]),
) -> Outcome {
    let (old, new) = place::proposed(path, |old| with(old, written).map_err(|fault| fault.to_string()))?;
    let added: Vec<&str> = new.lines().filter(|line| !old.lines().any(|before| before == *line)).collect();
    let names: Vec<&str> = secrets.iter().map(|(_, name)| name.as_str()).collect();
    if app.out.json {
        app.out.document(json!({
            "channel": written.name, "dry_run": true, "secrets": names, "hosts": hosts,
            "config": path.display().to_string(), "added": added,
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    for name in names {
        app.out.line(&format!(
            "would ask for a secret and store it as {name}, for {} alone",
            hosts.join(" and ")
        ))?;
    }
    match added.as_slice() {
        [] => app.out.line(&format!("would leave {} as it is", path.display()))?,
        added => app.out.line(&format!("would add to {}:\n  {}", path.display(), added.join("\n  ")))?,
    }
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
            "{name} is out of {}; restart the host: {}; its secrets stay until `agentctl cred revoke PLATFORM-{name}`",
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
    fn the_host_of_an_address_is_read_with_its_port() {
        assert_eq!(authority("http://127.0.0.1:9/x"), Some("127.0.0.1:9"));
        assert_eq!(authority("imaps://mail.example.com:993"), Some("mail.example.com:993"));
        assert_eq!(authority("ftp://a"), None);
        assert_eq!(authority("https:///a"), None);
    }
}
