//! The tunnel as it is shown: its address, those of the hooks, and its fault with the command that mends it.

use super::ingress;
use super::state::{self, State};
use super::unit::{self, Unit};
use super::vendor::Provider;
use crate::app::{App, Outcome};
use crate::failure::tunnel::TunnelFault;
use crate::{places, text};
use serde_json::{Value, json};
use std::path::Path;
use std::process::ExitCode;

/// How a tunnel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Health {
    /// It has an address, and its program runs.
    Active,
    /// Its program has not said an address yet.
    Starting,
    /// Its program does not run.
    Dead,
}

impl Health {
    const fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Starting => "starting",
            Self::Dead => "dead",
        }
    }
}

/// A tunnel that does not do its work.
pub(crate) struct Fault {
    /// `dead`, or `active` where it leads elsewhere.
    pub(crate) state: &'static str,
    /// The fault, and the command that mends it.
    pub(crate) sentence: String,
}

/// The tunnel and its unit.
struct Seen {
    state: State,
    health: Health,
    url: Option<String>,
    since_ms: u64,
    /// The reason that the vendor's program gave last.
    why: String,
}

fn seen(state: State) -> Result<Seen, TunnelFault> {
    let unit = state.provider.vendor().map(unit::look).transpose()?;
    Ok(judged(state, unit))
}

/// Judges a tunnel by its unit; one of the person's own has none.
fn judged(state: State, unit: Option<Unit>) -> Seen {
    let Some(unit) = unit else {
        let (url, since_ms) = (state.url.clone(), state.started_ms);
        return Seen { state, health: Health::Active, url, since_ms, why: String::new() };
    };
    let health = match (unit.active.as_str(), unit.sub.as_str()) {
        ("active", _) => Health::Active,
        // A program that ended is started again after a while.
        ("activating", sub) if !sub.starts_with("auto-restart") => Health::Starting,
        _ => Health::Dead,
    };
    let is_address = unit.status.starts_with("https://");
    let url = Some(unit.status.clone()).filter(|_| is_address && health == Health::Active);
    let why = if is_address { String::new() } else { unit.status };
    Seen { state, health, url, since_ms: unit.since_ms, why }
}

impl Seen {
    /// The fault, and the command that mends it; `None` if the tunnel does its work, or is about to.
    fn fault(&self) -> Option<Fault> {
        let name = self.state.provider.name();
        if self.health == Health::Dead {
            let why = if self.why.is_empty() { String::new() } else { format!(" ({})", self.why) };
            let unit = self.state.provider.vendor().map(super::vendor::Vendor::unit).unwrap_or_default();
            let sentence = format!(
                "the tunnel by {name} is dead{why}, so no hook comes from outside; start it again: systemctl restart {unit}; \
                 its lines: journalctl -u {unit}"
            );
            return Some(Fault { state: "dead", sentence });
        }
        let listen = ingress::read(&self.state.config).ok()?.listen;
        if listen == Some(self.state.listen) || self.state.provider == Provider::Manual {
            return None;
        }
        let now = listen.map_or_else(|| "not set".to_owned(), |it| it.to_string());
        let sentence = format!(
            "the tunnel by {name} leads to {}, and [ingress] listen is {now}; open it again: agentctl tunnel down, \
             then agentctl tunnel up {name}",
            self.state.listen
        );
        Some(Fault { state: self.health.word(), sentence })
    }

    /// The channels that take hooks, each with its address.
    fn hooks(&self) -> Vec<(String, String)> {
        let Some(url) = &self.url else { return Vec::new() };
        let channels = ingress::read(&self.state.config).unwrap_or_default().channels;
        channels
            .into_iter()
            .map(|name| {
                let at = format!("{url}/hook/{name}");
                (name, at)
            })
            .collect()
    }

    fn document(&self, fault: Option<&Fault>) -> Value {
        let hooks = self.hooks();
        json!({
            "provider": self.state.provider.name(),
            "state": self.health.word(),
            "active": self.health == Health::Active,
            "url": self.url,
            "since_ms": Some(self.since_ms).filter(|ms| *ms > 0),
            "started_ms": self.state.started_ms,
            "listen": self.state.listen,
            "domain": self.state.domain,
            "hooks": hooks.iter().map(|(name, url)| json!({ "channel": name, "url": url })).collect::<Vec<_>>(),
            "fault": fault.map(|fault| fault.sentence.as_str()),
        })
    }
}

/// Shows the tunnel; the status is 1 if it is dead.
pub(super) fn show(app: &App) -> Outcome {
    let Some(state) = state::read()? else {
        let sentence = "no tunnel is up; agentctl tunnel up PROVIDER opens one";
        return Ok(app.out.done(json!({ "tunnel": null }), sentence)?);
    };
    let seen = seen(state)?;
    let fault = seen.fault();
    let hooks = seen.hooks();
    let url = seen.url.clone().unwrap_or_else(|| "none".to_owned());
    let mut facts = vec![
        ("provider", seen.state.provider.name().to_owned()),
        ("state", seen.health.word().to_owned()),
        ("address", url),
        ("since", text::utc(seen.since_ms)),
        ("leads to", seen.state.listen.to_string()),
    ];
    let names: Vec<String> = hooks.iter().map(|(name, _)| format!("hook of {name}")).collect();
    facts.extend(names.iter().zip(&hooks).map(|(name, (_, url))| (name.as_str(), url.clone())));
    app.out.facts(json!({ "tunnel": seen.document(fault.as_ref()) }), &facts)?;
    if let (Some(fault), false) = (&fault, app.out.json) {
        app.out.line(&format!("\n{}", fault.sentence))?;
    }
    Ok(if seen.health == Health::Dead { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The fault of the machine's tunnel; none for a host that is not the machine's, whose state lies elsewhere.
pub(super) fn fault(folder: &Path) -> Option<Fault> {
    if folder != Path::new(places::SYSTEM_STATE) {
        return None;
    }
    match state::read().and_then(|state| state.map(seen).transpose()) {
        Ok(seen) => seen.and_then(|seen| seen.fault()),
        Err(fault) => Some(Fault { state: "unknown", sentence: fault.to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(provider: Provider, unit: Option<(&str, &str, &str)>) -> Seen {
        let listen = ([127, 0, 0, 1], 8787).into();
        let url = unit.is_none().then(|| "https://own.example.com".to_owned());
        let state =
            State { provider, listen, domain: None, url, config: "/nonexistent".into(), started_ms: 5 };
        let unit = unit.map(|(active, sub, status)| Unit {
            active: active.to_owned(),
            sub: sub.to_owned(),
            status: status.to_owned(),
            since_ms: 7,
        });
        judged(state, unit)
    }

    #[test]
    fn a_tunnel_is_judged_by_its_unit() {
        let cloudflare = |active, sub, status| of(Provider::Cloudflare, Some((active, sub, status)));
        let up = cloudflare("active", "running", "https://a.trycloudflare.com");
        assert_eq!((up.health, up.url.as_deref()), (Health::Active, Some("https://a.trycloudflare.com")));
        assert_eq!(cloudflare("activating", "start", "").health, Health::Starting);
        for (active, sub) in
            [("activating", "auto-restart"), ("failed", "failed"), ("inactive", "dead"), ("", "")]
        {
            let dead = cloudflare(active, sub, "https://a.trycloudflare.com");
            assert_eq!((dead.health, dead.url.as_deref()), (Health::Dead, None), "{active}");
        }
        let own = of(Provider::Manual, None);
        assert_eq!((own.health, own.since_ms, own.url.is_some()), (Health::Active, 5, true));
        assert!(own.fault().is_none());
    }

    #[test]
    fn a_dead_tunnel_says_why_and_how_it_is_started_again() {
        let dead = of(Provider::Ngrok, Some(("activating", "auto-restart", "ngrok ended with status 1")));
        let fault = dead.fault().unwrap();
        assert_eq!(fault.state, "dead");
        assert!(fault.sentence.contains("(ngrok ended with status 1)"), "{}", fault.sentence);
        assert!(fault.sentence.contains("systemctl restart cordon-tunnel@ngrok"), "{}", fault.sentence);
        let elsewhere =
            of(Provider::Ngrok, Some(("active", "running", "https://a.ngrok.app"))).fault().unwrap();
        assert!(elsewhere.sentence.contains("listen is not set; open it again"), "{}", elsewhere.sentence);
    }
}
