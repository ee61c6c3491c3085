//! `agentctl cred`: stores secrets, and exports them only to a user who could open the vault anyway.
//!
//! A value comes from standard input, a prompt without echo or, once and on request, from the usual environment
//! variables, never from an argument; it leaves this process only sealed to credproxy's public key. The key's path comes
//! from control, so the file is trusted only if it lies where nobody but agentd and credproxy can write.

mod environment;
mod flags;
pub(crate) mod login;
mod seal;
mod transfer;
pub(crate) mod vault;

use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::secret_input;
use crate::{text, view};
use flags::Bound;
use ipc_proto::control::method;
use ipc_proto::credproxy::{Binding, Lease, SECRET_BOUND, SecretInfo, Verb, binding};
use ipc_proto::{Blob, Name, Text};
use serde_json::json;
use zeroize::Zeroizing;

/// The commands of `cred`.
#[derive(clap::Subcommand)]
pub(crate) enum Cred {
    /// Store a secret; its value is read from standard input or a prompt
    Set {
        /// Its name
        #[arg(value_parser = crate::arguments::text::<64>)]
        name: Name,
        /// A host that may receive it; may be given again
        #[arg(long = "host", value_name = "HOST", required = true, value_parser = flags::host)]
        hosts: Vec<Text<253>>,
        #[command(flatten)]
        bound: Bound,
    },
    /// Log in to an account by OAuth in a browser, and store the login
    Login(login::Arguments),
    /// List secrets, without their values
    List,
    /// Show one secret, without its value
    Show {
        /// Its name
        #[arg(value_parser = crate::arguments::text::<64>)]
        name: Name,
    },
    /// Try a secret with one GET or HEAD request to its host; only the status is shown
    Test {
        /// Its name
        #[arg(value_parser = crate::arguments::text::<64>)]
        name: Name,
        /// The URL; `__cordon_secret__` in its path stands for the secret
        #[arg(value_parser = crate::arguments::text::<2048>)]
        url: Text<2048>,
        /// Send a HEAD request
        #[arg(long)]
        head: bool,
    },
    /// Narrow the binding of a secret; to widen it, set the secret again
    Bind {
        /// Its name
        #[arg(value_parser = crate::arguments::text::<64>)]
        name: Name,
        /// A host that may still receive it; may be given again
        #[arg(long = "host", value_name = "HOST", value_parser = flags::host)]
        hosts: Vec<Text<253>>,
        #[command(flatten)]
        bound: Bound,
    },
    /// Revoke a secret; replies are still searched for it
    Revoke {
        /// Its name
        #[arg(value_parser = crate::arguments::text::<64>)]
        name: Name,
    },
    /// Delete a secret
    Remove {
        /// Its name
        #[arg(value_parser = crate::arguments::text::<64>)]
        name: Name,
    },
    /// Open a locked vault with its passphrase, or make the first vault
    Unlock(vault::Unlock),
    /// Change the passphrase of the vault
    Passphrase(vault::Passphrase),
    /// Encrypt every secret with a new key; also make a new key of the vault, if that is a file
    Rotate,
    /// Write every secret with its value to a file, encrypted with a passphrase
    Export(transfer::Export),
    /// Import the secrets of such a file, or of the usual environment variables
    Import(transfer::Import),
}

/// Runs the command.
pub(crate) async fn run(app: &App, command: Cred) -> Outcome {
    match command {
        Cred::Set { name, hosts, bound } => set(app, name, hosts, bound).await,
        Cred::Login(arguments) => login::login(app, arguments).await,
        Cred::List => list(app).await,
        Cred::Show { name } => show(app, &name).await,
        Cred::Test { name, url, head } => test(app, name, url, head).await,
        Cred::Bind { name, hosts, bound } => bind(app, name, hosts, bound).await,
        Cred::Revoke { name } => revoke(app, name).await,
        Cred::Remove { name } => remove(app, name).await,
        Cred::Unlock(arguments) => vault::unlock(app, arguments).await,
        Cred::Passphrase(arguments) => vault::passphrase(app, arguments).await,
        Cred::Rotate => vault::rotate(app).await,
        Cred::Export(arguments) => transfer::export(app, arguments).await,
        Cred::Import(arguments) => transfer::import(app, arguments).await,
    }
}

/// Seals a value together with its binding, so that no process on the way can change the binding, and stores it. Prints
/// nothing.
///
/// # Errors
/// The value is too long, the public key is not to be trusted, or what credproxy refuses.
pub(crate) async fn store(
    app: &App,
    name: &Name,
    binding: Binding,
    value: Zeroizing<Vec<u8>>,
) -> Result<(), Failure> {
    store_for(app, name, &binding, Lease::default(), &value).await
}

async fn store_for(
    app: &App,
    name: &Name,
    bound: &Binding,
    lease: Lease,
    value: &[u8],
) -> Result<(), Failure> {
    let before = binding(name, bound, lease);
    secret_input::fits(value, SECRET_BOUND.saturating_sub(seal::SEAL + before.len()))?;
    // Allocated at once: a buffer that grows leaves copies behind.
    let mut plain = Zeroizing::new(Vec::with_capacity(before.len() + value.len()));
    plain.extend_from_slice(&before);
    plain.extend_from_slice(value);
    seal::send(app, &plain, async |sealed| {
        let sealed: Blob<SECRET_BOUND> = seal::bounded(sealed)?;
        let call = app.link.ask(&method::cred_set, async |c, cx| {
            c.cred_set(cx, name.clone(), bound.clone(), lease, sealed.clone()).await
        });
        call.await
    })
    .await
}

async fn set(app: &App, name: Name, hosts: Vec<Text<253>>, bound: Bound) -> Outcome {
    let (binding, lease) = bound.whole(hosts)?;
    let question = format!("value of {name} (not shown): ");
    let value = secret_input::value(&question, SECRET_BOUND)?;
    store_for(app, &name, &binding, lease, &value).await?;
    let fields = json!({ "name": name, "hosts": binding.hosts });
    Ok(app.out.done(fields, &format!("secret {name} is stored"))?)
}

/// Every secret, without its value.
async fn secrets(app: &App) -> Result<Vec<SecretInfo>, Failure> {
    let found = app.link.ask(&method::cred_list, async |c, cx| c.cred_list(cx).await).await?;
    Ok(found.into_vec())
}

async fn secret(app: &App, name: &str) -> Result<SecretInfo, Failure> {
    let found = secrets(app).await?.into_iter().find(|secret| secret.name.as_str() == name);
    let none = ipc_proto::credproxy::CredError::NoSecret;
    found.ok_or(Failure::Control(ipc_proto::control::ControlError::Cred(none)))
}

async fn list(app: &App) -> Outcome {
    let found = secrets(app).await?;
    let head = ["SECRET", "HOSTS", "STATE", "SET", "USES", "LAST USED", "LOGIN"];
    let now_ms = text::now_ms();
    Ok(app.out.list("secrets", &found, view::secret, &head, |secret| {
        vec![
            secret.name.to_string(),
            flags::hosts(secret),
            flags::state(secret, now_ms).to_owned(),
            text::utc(secret.set_ms),
            secret.uses.to_string(),
            text::utc(secret.used_ms),
            flags::login(secret, now_ms),
        ]
    })?)
}

async fn show(app: &App, name: &str) -> Outcome {
    let (secret, now_ms) = (secret(app, name).await?, text::now_ms());
    let facts = [
        ("secret", secret.name.to_string()),
        ("hosts", flags::hosts(&secret)),
        ("verbs", flags::verbs(&secret)),
        ("paths", flags::paths(&secret)),
        ("goes into", flags::places(&secret)),
        ("state", flags::state(&secret, now_ms).to_owned()),
        ("until", secret.lease.until_ms.map_or_else(|| "-".to_owned(), text::utc)),
        ("uses left", secret.lease.uses.map_or_else(|| "-".to_owned(), |uses| uses.to_string())),
        ("set", text::utc(secret.set_ms)),
        ("uses", secret.uses.to_string()),
        ("last used", text::utc(secret.used_ms)),
        ("login", flags::login(&secret, now_ms)),
    ];
    Ok(app.out.facts(json!({ "secret": view::secret(&secret) }), &facts)?)
}

async fn test(app: &App, name: Name, url: Text<2048>, head: bool) -> Outcome {
    let verb = if head { Verb::Head } else { Verb::Get };
    let call = app
        .link
        .ask(&method::cred_test, async |c, cx| c.cred_test(cx, name.clone(), verb, url.clone()).await);
    let status = call.await?;
    let fields = json!({ "name": name, "status": status });
    Ok(app.out.done(fields, &format!("{} answered {status} to secret {name}", verb.word()))?)
}

async fn bind(app: &App, name: Name, hosts: Vec<Text<253>>, bound: Bound) -> Outcome {
    if hosts.is_empty() && bound.is_empty() {
        let what = "say what it is bound to from now on: --host, --verb, --path, --header, --query, --segment, --field, \
                    --expires or --uses";
        return Err(Failure::Usage(what.to_owned()));
    }
    let held = secret(app, &name).await?;
    let (binding, lease) = bound.instead(hosts, &held)?;
    let call = app
        .link
        .ask(&method::cred_bind, async |c, cx| c.cred_bind(cx, name.clone(), binding.clone(), lease).await);
    call.await?;
    Ok(app.out.done(json!({ "name": name }), &format!("secret {name} is bound to less"))?)
}

async fn revoke(app: &App, name: Name) -> Outcome {
    app.link.ask(&method::cred_revoke, async |c, cx| c.cred_revoke(cx, name.clone()).await).await?;
    Ok(app.out.done(json!({ "name": name }), &format!("secret {name} is used no more"))?)
}

async fn remove(app: &App, name: Name) -> Outcome {
    app.link.ask(&method::cred_remove, async |c, cx| c.cred_remove(cx, name.clone()).await).await?;
    Ok(app.out.done(json!({ "name": name }), &format!("secret {name} is forgotten"))?)
}
