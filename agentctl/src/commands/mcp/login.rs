//! `agentctl mcp login`: OAuth at a server elsewhere. The host finds the addresses, and the person sees them before any is used. The one
//! to consent at is printed and given to no program. The code goes to credproxy sealed, which exchanges it: no token is ever in this
//! process.

use super::edit::with_token_url;
use crate::app::{App, Outcome};
use crate::commands::config;
use crate::commands::cred::login::{self, Awaited, Consent, listen, pasted, random, secret, value_of};
use crate::commands::cred::{self, vault};
use crate::commands::setup::place;
use crate::failure::Failure;
use ipc_proto::control::{ControlError, method};
use ipc_proto::credproxy::{At, Binding, CredError, Grant, Login};
use ipc_proto::mcp::{LoginTerms, secret_of};
use ipc_proto::{List, Name, Text};
use serde_json::json;
use std::io::Read;
use std::path::PathBuf;
use zeroize::Zeroizing;

/// Bytes of an address that is pasted.
const PASTED: u64 = 16 * 1024;

/// The arguments of `mcp login`.
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// The server's name in the configuration
    #[arg(value_parser = crate::arguments::text::<64>)]
    name: Name,
    /// Forget the login
    #[arg(long, conflicts_with_all = ["paste", "yes", "client_id", "client_secret", "scopes", "config"])]
    forget: bool,
    /// Read the address that the browser is sent to from standard input, when the browser runs on another machine
    #[arg(long)]
    paste: bool,
    /// Log in without a question
    #[arg(long)]
    yes: bool,
    /// The client id under which the authorization server knows this host, or the https address of its metadata; without it
    /// one is registered
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// Read the client's secret from standard input or a prompt
    #[arg(long, requires = "client_id")]
    client_secret: bool,
    /// A scope to ask for instead of those that the server names; may be given again
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// The configuration to change; by default the one that the running host reads, else the usual one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Logs in, or forgets a login.
pub(super) async fn login(app: &App, arguments: Arguments) -> Outcome {
    let name = &arguments.name;
    if arguments.forget {
        let sentence = if forget(app, name).await? {
            format!(
                "the login at {name} is forgotten; tokens that its server gave may hold there until they expire"
            )
        } else {
            format!("nobody was logged in at {name}")
        };
        return Ok(app.out.done(json!({ "server": name, "logged_in": false }), &sentence)?);
    }
    vault::open(app).await?;
    let terms =
        app.link.ask(&method::mcp_login_terms, async |c, cx| c.mcp_login_terms(cx, name.clone()).await);
    let terms = terms.await?;
    show(app, &terms)?;
    if !arguments.yes && !confirmed(app, &terms)? {
        return Ok(app.out.done(json!({ "server": name, "logged_in": false }), "nobody is logged in")?);
    }
    if !terms.configured {
        return configure(app, &arguments, &terms).await;
    }
    let client_secret = arguments.client_secret.then(|| secret(name)).transpose()?;
    let login = consented(app, &arguments, &terms, client_secret).await?;
    let header = At::Header { name: Name::clip("Authorization"), prefix: Text::clip("Bearer ") };
    let binding = Binding {
        hosts: List::clip([Text::clip(&terms.host)]),
        at: List::clip([header]),
        ..Binding::default()
    };
    cred::store(app, &Name::clip(&secret_of(name)), binding, value_of(&login)?).await?;
    let sentence = format!("logged in at {name}; the token goes to {} alone", terms.host);
    Ok(app.out.done(json!({ "server": name, "logged_in": true, "host": terms.host }), &sentence)?)
}

/// Forgets the login at a server; returns whether there was one.
pub(super) async fn forget(app: &App, name: &Name) -> Result<bool, Failure> {
    let secret = Name::clip(&secret_of(name));
    let removed = app.link.ask(&method::cred_remove, async |c, cx| c.cred_remove(cx, secret.clone()).await);
    match removed.await {
        Ok(()) => Ok(true),
        Err(Failure::Control(ControlError::Cred(CredError::NoSecret))) => Ok(false),
        Err(failure) => Err(failure),
    }
}

/// Shows the addresses. They are strangers' words.
fn show(app: &App, terms: &LoginTerms) -> Result<(), Failure> {
    if app.out.json {
        return Ok(());
    }
    let scopes: Vec<&str> = terms.scopes.iter().map(Text::as_str).collect();
    let registers = match (&terms.registration_endpoint, terms.client_documents) {
        (Some(url), _) => url.to_string(),
        (None, true) => {
            "no; it reads a client's metadata at the client's own address (--client-id)".to_owned()
        }
        (None, false) => "no (--client-id)".to_owned(),
    };
    app.out.pairs(&[
        ("server", terms.resource.to_string()),
        ("authorization server", terms.issuer.to_string()),
        ("you consent at", terms.authorization_endpoint.to_string()),
        ("tokens come from", terms.token_endpoint.to_string()),
        ("tokens go to", terms.host.to_string()),
        ("registers clients", registers),
        ("scopes", if scopes.is_empty() { "none named".to_owned() } else { scopes.join(" ") }),
    ])?;
    Ok(())
}

fn confirmed(app: &App, terms: &LoginTerms) -> Result<bool, Failure> {
    if !app.out.can_ask() {
        return Err(Failure::Usage("look at the addresses and say --yes".to_owned()));
    }
    app.out.ask(&format!("log in there, by {}? [y/N] ", terms.issuer))?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Writes the token endpoint, which credproxy reaches once the host was started with it.
async fn configure(app: &App, arguments: &Arguments, terms: &LoginTerms) -> Outcome {
    let name = &arguments.name;
    let path = config::file(app, arguments.config.clone()).await;
    place::change(&path, |old| {
        with_token_url(old, name, &terms.token_endpoint).map_err(|fault| fault.to_string())
    })?;
    let shown = path.display().to_string();
    let sentence = format!(
        "{shown} has the token endpoint now; restart the host: {}\nthen log in: agentctl mcp login {name}",
        place::restart()
    );
    Ok(app.out.done(json!({ "server": name, "logged_in": false, "config": shown }), &sentence)?)
}

/// A login whose code nobody has used.
async fn consented(
    app: &App,
    arguments: &Arguments,
    terms: &LoginTerms,
    client_secret: Option<String>,
) -> Result<Login, Failure> {
    let (listener, redirect_uri) = listen().await?;
    let client_id = match &arguments.client_id {
        Some(id) => id.clone(),
        None => registered(app, &arguments.name, &redirect_uri).await?,
    };
    let (verifier, state) = (random()?, random()?);
    let named: Vec<&str> = terms.scopes.iter().map(Text::as_str).collect();
    let scope = if arguments.scopes.is_empty() { named.join(" ") } else { arguments.scopes.join(" ") };
    let asked = Consent {
        client_id: &client_id,
        redirect_uri: &redirect_uri,
        scope: &scope,
        verifier: &verifier,
        state: &state,
        resource: &terms.resource,
    };
    let url = asked.at(&terms.authorization_endpoint);
    let awaited = Awaited { state: &state, issuer: Some(&terms.issuer), names_issuer: terms.names_issuer };
    let code = if arguments.paste {
        app.out.hint(&format!("open this address in a browser, and consent there: {url}"));
        app.out.hint("then paste the whole address to which the browser was sent, though it shows no page, and press Enter");
        pasted(&line()?, &redirect_uri, awaited)?
    } else {
        app.out.hint(&format!(
            "open this address in a browser on this machine, and consent there (with a browser elsewhere: --paste): {url}"
        ));
        login::consented(&listener, awaited).await?
    };
    let grant = Grant::Code { code, verifier: verifier.to_string(), redirect_uri };
    let (token_url, resource) = (terms.token_endpoint.to_string(), Some(terms.resource.to_string()));
    Ok(Login { token_url, client_id, client_secret, resource, grant })
}

async fn registered(app: &App, name: &Name, redirect_uri: &str) -> Result<String, Failure> {
    let registered = app.link.ask(&method::mcp_register, async |c, cx| {
        c.mcp_register(cx, name.clone(), Text::clip(redirect_uri)).await
    });
    Ok(registered.await?.to_string())
}

/// One line of standard input. It has a code in it.
fn line() -> Result<Zeroizing<String>, Failure> {
    let mut line = Zeroizing::new(String::new());
    for byte in std::io::stdin().lock().take(PASTED).bytes() {
        match byte? {
            b'\n' => break,
            byte => line.push(char::from(byte)),
        }
    }
    Ok(line)
}
