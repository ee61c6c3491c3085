//! `agentctl key`: API keys for programs that call the host over HTTP.
//!
//! A key is made in this process and printed once. Only its hash leaves this process; nobody can show the key again.

use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::text;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ipc_proto::api::{KEY_PREFIX, KeyInfo, KeyScope, NO_MODEL, Presented, stands_for};
use ipc_proto::control::method;
use ipc_proto::model::ModelName;
use ipc_proto::{List, Name, Text};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::process::ExitCode;
use zeroize::Zeroizing;

/// Bytes of a key before they are text.
const BYTES: usize = 32;
/// The most that a key may spend in a day, US dollars.
const MOST_USD: u64 = 1_000_000;
/// The commands of `key`.
#[derive(clap::Subcommand)]
pub(crate) enum Key {
    /// Make a key and print it once
    Create(Create),
    /// List keys, without their values
    List,
    /// Revoke a key
    Revoke {
        /// Its name
        #[arg(value_parser = crate::arguments::text::<64>)]
        name: Name,
    },
}

/// The arguments of `key create`.
#[derive(clap::Args)]
pub(crate) struct Create {
    /// Its name, which is also the name of its sessions
    #[arg(value_parser = crate::arguments::text::<64>)]
    name: Name,
    /// Only this agent; may be given again; every agent by default
    #[arg(long = "agent", value_name = "AGENT", value_parser = crate::arguments::text::<64>)]
    agents: Vec<Name>,
    /// Only this model for pass-through, PROVIDER/MODEL or PROVIDER/*; may be given again; every model by default
    #[arg(long = "model", value_name = "MODEL", value_parser = crate::arguments::text::<128>)]
    models: Vec<ModelName>,
    /// Accept it from web pages of this origin; may be given again
    #[arg(long = "origin", value_name = "ORIGIN", value_parser = origin)]
    origins: Vec<Text<256>>,
    /// The most that it may spend a day, US dollars
    #[arg(long, value_name = "USD", value_parser = dollars)]
    day_usd: Option<u64>,
    /// Its validity: a number and s, m, h, d or w, such as 30d
    #[arg(long, value_name = "SPAN", value_parser = text::seconds)]
    expires: Option<u64>,
}

/// Runs the command.
pub(crate) async fn run(app: &App, command: Key) -> Outcome {
    match command {
        Key::Create(arguments) => create(app, arguments).await,
        Key::List => list(app).await,
        Key::Revoke { name } => revoke(app, name).await,
    }
}

/// Makes a key.
async fn create(app: &App, arguments: Create) -> Outcome {
    let Create { name, agents, models, origins, day_usd, expires } = arguments;
    let many = |what| move |why| Failure::TooLong { what, why };
    let scope = KeyScope {
        agents: List::new(agents).map_err(many("--agent"))?,
        models: List::new(models).map_err(many("--model"))?,
        origins: List::new(origins).map_err(many("--origin"))?,
        day_micros: day_usd,
        expires_ms: expires.map(|seconds| text::now_ms().saturating_add(seconds.saturating_mul(1000))),
    };
    let (key, presented) = fresh()?;
    let call = app.link.ask(&method::key_create, async |c, cx| {
        c.key_create(cx, name.clone(), scope.clone(), presented).await
    });
    let made = call.await?;
    if app.out.json {
        let mut document = described(&made);
        if let Some(fields) = document.as_object_mut() {
            fields.insert("key".to_owned(), Value::String(key.to_string()));
        }
        app.out.document(document)?;
    } else {
        app.out.line(&key)?;
        app.out.remark(&format!("key {name} is made; it is shown this once"));
        if let Some(strange) = unknown(app, &scope.models).await {
            app.out.remark(&strange);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A remark on models of the scope that do not exist now: such a key is made all the same, since the configuration may still
/// get them. Scripts are in no list.
async fn unknown(app: &App, wanted: &[ModelName]) -> Option<String> {
    let strange: Vec<&ModelName> =
        wanted.iter().filter(|name| name.as_str() != NO_MODEL && !name.starts_with("scripted/")).collect();
    if strange.is_empty() {
        return None;
    }
    let there = app.link.ask(&method::models, async |c, cx| c.models(cx).await).await.ok()?;
    let fits = |wanted: &str| there.iter().any(|model| stands_for(wanted, &model.name));
    let joined = |names: Vec<&str>| names.join(", ");
    let strange =
        strange.into_iter().map(|name| name.as_str()).filter(|name| !fits(name)).collect::<Vec<_>>();
    let there = there.iter().map(|model| model.name.as_str()).collect();
    (!strange.is_empty()).then(|| {
        format!("no model now is what the key is for: {}; there are: {}", joined(strange), joined(there))
    })
}

/// A key, and the value that its client presents.
fn fresh() -> Result<(Zeroizing<String>, Presented), Failure> {
    let mut bytes = Zeroizing::new([0; BYTES]);
    getrandom::fill(bytes.as_mut_slice()).map_err(Failure::Random)?;
    let key = Zeroizing::new(format!("{KEY_PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes.as_slice())));
    let presented = Presented(Sha256::digest(key.as_bytes()).into());
    Ok((key, presented))
}

/// Lists keys.
async fn list(app: &App) -> Outcome {
    let found = app.link.ask(&method::key_list, async |c, cx| c.key_list(cx).await).await?;
    let head = ["KEY", "USER", "STATE", "LAST USED", "AGENTS", "MODELS", "A DAY"];
    let now_ms = text::now_ms();
    Ok(app.out.list("keys", &found, described, &head, |key| {
        let some = |names: Vec<&str>| if names.is_empty() { "all".to_owned() } else { names.join(", ") };
        vec![
            key.name.to_string(),
            key.user.to_string(),
            state(key, now_ms).to_owned(),
            if key.used_ms == 0 { "never".to_owned() } else { text::utc(key.used_ms) },
            some(key.scope.agents.iter().map(|it| it.as_str()).collect()),
            some(key.scope.models.iter().map(|it| it.as_str()).collect()),
            key.scope.day_micros.map_or_else(|| "no bound".to_owned(), text::usd),
        ]
    })?)
}

/// Revokes a key.
async fn revoke(app: &App, name: Name) -> Outcome {
    app.link.ask(&method::key_revoke, async |c, cx| c.key_revoke(cx, name.clone()).await).await?;
    Ok(app.out.done(json!({ "name": name }), &format!("key {name} is revoked"))?)
}

fn described(key: &KeyInfo) -> Value {
    json!({
        "id": key.id.to_string(), "name": key.name, "user": key.user, "state": state(key, text::now_ms()),
        "agents": key.scope.agents, "models": key.scope.models, "origins": key.scope.origins,
        "day_micros": key.scope.day_micros, "expires_ms": key.scope.expires_ms, "created_ms": key.created_ms,
        "used_ms": key.used_ms, "revoked_ms": key.revoked_ms,
    })
}

fn state(key: &KeyInfo, now_ms: u64) -> &'static str {
    match (key.revoked_ms, key.scope.expires_ms) {
        (Some(_), _) => "revoked",
        (None, Some(ends)) if ends <= now_ms => "ended",
        _ => "active",
    }
}

/// A scheme and a host, with or without a port, as a browser sends it: no other form would ever match.
fn origin(text: &str) -> Result<Text<256>, String> {
    let legal = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let parts = text.split_once("://").filter(|(scheme, at)| {
        let scheme = scheme.bytes().all(|b| legal(b) || b"+-.".contains(&b)) && !scheme.is_empty();
        scheme && !at.is_empty() && at.bytes().all(|b| legal(b) || b"-.:[]_".contains(&b))
    });
    parts.ok_or_else(|| {
        "an origin is as a browser sends it, such as https://chat.example or http://localhost:3000".to_owned()
    })?;
    Text::new(text).map_err(|why| why.to_string())
}

/// Dollars as millionths of a dollar, exactly.
fn dollars(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is no sum of 0.000001 to {MOST_USD} dollars");
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.len() <= 7 && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(part) || part.len() > 6 {
        return Err(wrong());
    }
    let micros = format!("{whole}{part:0<6}").parse().map_err(|_| wrong())?;
    if (1..=MOST_USD * 1_000_000).contains(&micros) { Ok(micros) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_new_each_time_and_what_leaves_is_its_hash() {
        let (one, presented) = fresh().unwrap();
        let (other, _) = fresh().unwrap();
        assert_ne!(one, other);
        let text = one.strip_prefix(KEY_PREFIX).unwrap();
        assert_eq!(URL_SAFE_NO_PAD.decode(text).unwrap().len(), BYTES);
        assert_eq!(presented.0, <[u8; 32]>::from(Sha256::digest(one.as_bytes())));
        assert_eq!(format!("{presented:?}"), "Presented");
    }

    #[test]
    fn an_origin_is_what_a_browser_sends_and_nothing_that_it_never_would() {
        for good in
            ["https://chat.example", "http://localhost:3000", "chrome-extension://abcdef", "http://[::1]:80"]
        {
            assert!(origin(good).is_ok(), "{good}");
        }
        for bad in
            ["chat.example", "https://chat.example/", "https://", "*", "null", "HTTPS://chat.example", ""]
        {
            assert!(origin(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sums_are_read_exactly_or_not_at_all() {
        for (text, micros) in
            [("1", 1_000_000), ("0.5", 500_000), ("12.000001", 12_000_001), ("1000000", 1_000_000_000_000)]
        {
            assert_eq!(dollars(text), Ok(micros), "{text}");
        }
        for text in ["", "0", "-1", "1.", ".5", "1.0000001", "1e3", "1000000.000001", "12345678", "1,5", "ａ"]
        {
            assert!(dollars(text).is_err(), "{text}");
        }
    }
}
