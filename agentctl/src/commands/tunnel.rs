//! `agentctl tunnel`: the way in for hooks from outside. A vendor's program runs in the unit `cordon-tunnel@VENDOR`, as a user of its
//! own; the unit's status is the public address. One tunnel is open at a time, and the host itself has no part in it.

mod address;
mod carry;
mod ingress;
mod state;
mod unit;
mod vendor;
mod view;

use crate::app::{App, Outcome};
use crate::commands::config;
use crate::failure::Failure;
use crate::failure::tunnel::TunnelFault;
use crate::{secret_input, text};
use ingress::Ingress;
use serde_json::json;
use state::State;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use vendor::{Provider, Vendor};
pub(crate) use view::Fault;
use zeroize::Zeroizing;

/// Bytes of a token.
const TOKEN: usize = 4096;
/// Bytes of an address that a person gives.
const URL: usize = 512;

/// The commands of `tunnel`.
#[derive(clap::Subcommand)]
pub(crate) enum Tunnel {
    /// Open the tunnel, and show its address and that of each hook
    Up(Up),
    /// Close the tunnel, and forget its token
    Down,
    /// Show the tunnel; the status is 1 if it is dead
    Status,
    /// Run the vendor's program; the unit cordon-tunnel@PROVIDER does this
    #[command(hide = true)]
    Run {
        /// The vendor
        provider: Provider,
        /// The tunnel's file
        #[arg(long, value_name = "FILE")]
        file: PathBuf,
    },
}

/// The arguments of `tunnel up`.
#[derive(clap::Args)]
pub(crate) struct Up {
    /// The provider
    provider: Provider,
    /// The address of `manual`
    #[arg(value_name = "URL")]
    url: Option<String>,
    /// The name in the address: ngrok's domain, the name of Tailscale's machine (cordon by default), or the public host name
    /// of a tunnel in Cloudflare's dashboard
    #[arg(long, value_name = "NAME")]
    domain: Option<String>,
    /// Ask for the vendor's token, also where it can do without: a tunnel of Cloudflare's dashboard, a new login of Tailscale
    #[arg(long)]
    token: bool,
}

impl Up {
    /// The command that a person typed, without an address that may hold a secret.
    fn words(&self) -> String {
        let url = if self.provider == Provider::Manual { " URL" } else { "" };
        format!("up {}{url}", self.provider.name())
    }

    /// The address of `manual`.
    fn address(&self) -> Result<Option<String>, Failure> {
        match (self.provider, &self.url) {
            (Provider::Manual, Some(url)) => Ok(Some(checked(url)?)),
            (Provider::Manual, None) => {
                Err(Failure::Usage("give the address: agentctl tunnel up manual https://HOST".to_owned()))
            }
            (_, Some(_)) => Err(Failure::Usage(
                "only manual takes an address; --domain chooses the name in a vendor's".to_owned(),
            )),
            (_, None) => Ok(None),
        }
    }
}

/// An address that a messenger can send hooks to, without a slash at its end.
fn checked(url: &str) -> Result<String, TunnelFault> {
    let bad = || TunnelFault::BadUrl(text::begin(url, 100));
    let (host, path) = url
        .strip_prefix("https://")
        .map(|rest| rest.split_once('/').unwrap_or((rest, "")))
        .ok_or_else(bad)?;
    let plain = |part: &str| part.bytes().all(|it| it.is_ascii_graphic() && !b"@?#\"\\<>".contains(&it));
    let fits = !host.is_empty() && plain(host) && plain(path) && url.len() <= URL;
    if fits { Ok(url.trim_end_matches('/').to_owned()) } else { Err(bad()) }
}

fn is_name(name: &str) -> bool {
    let plain = name.bytes().all(|it| it.is_ascii_alphanumeric() || b".-".contains(&it));
    plain && !name.is_empty() && name.len() <= 253 && !name.starts_with(['-', '.'])
}

/// Runs the command.
pub(crate) async fn run(app: &App, command: Tunnel) -> Outcome {
    match command {
        Tunnel::Up(arguments) => up(app, &arguments).await,
        Tunnel::Down => down(app),
        Tunnel::Status => view::show(app),
        Tunnel::Run { provider, file } => carry::run(app, provider, &file),
    }
}

/// The fault of the machine's tunnel, if it has one; for the host whose state is in `folder`.
pub(crate) fn fault(folder: &str) -> Option<Fault> {
    view::fault(Path::new(folder))
}

/// Only root changes the machine's units, and files below `/etc`.
fn for_root(words: &str) -> Result<(), TunnelFault> {
    if nix::unistd::geteuid().is_root() { Ok(()) } else { Err(TunnelFault::NotRoot(words.to_owned())) }
}

/// Opens a tunnel.
async fn up(app: &App, up: &Up) -> Outcome {
    let url = up.address()?;
    if let Some(domain) = up.domain.as_ref().filter(|name| !is_name(name)) {
        return Err(TunnelFault::BadDomain(text::begin(domain, 100)).into());
    }
    for_root(&up.words())?;
    let config = config::file(app, None).await;
    let Ingress { listen, .. } = ingress::read(&config)?;
    let listen = listen.ok_or_else(|| TunnelFault::NoIngress(config.clone()))?;
    if let Some(there) = state::read()? {
        return Err(TunnelFault::Another(there.provider.name()).into());
    }
    let token = match up.provider.vendor() {
        Some(vendor) => ready(vendor, listen, up.token)?,
        None => Zeroizing::default(),
    };
    let (provider, domain) = (up.provider, up.domain.clone());
    let state = State { provider, listen, domain, url, config, started_ms: text::now_ms() };
    if let Err(fault) = open(app, &state, &token) {
        // Nothing is left of a tunnel that did not open; the first failure is the one to see.
        drop(state::remove());
        return Err(fault.into());
    }
    view::show(app)
}

/// Writes the tunnel down, and starts the vendor's unit.
fn open(app: &App, state: &State, token: &[u8]) -> Result<(), TunnelFault> {
    state::write(state, token)?;
    let Some(vendor) = state.provider.vendor() else { return Ok(()) };
    app.out.remark(&format!("{} is started; its address can take 90 seconds", vendor.unit()));
    unit::start(vendor)
}

/// Looks whether the vendor's tunnel can be opened, and asks for its token.
fn ready(vendor: Vendor, listen: SocketAddr, asked: bool) -> Result<Zeroizing<Vec<u8>>, Failure> {
    if !unit::is_there() {
        return Err(TunnelFault::NoSystemd { program: vendor.programs().first().unwrap_or(&"") }.into());
    }
    if let Some(program) = unit::missing(vendor) {
        return Err(TunnelFault::NoProgram { program, page: vendor.page() }.into());
    }
    if vendor == Vendor::Tailscale && !listen.is_ipv4() {
        return Err(TunnelFault::OtherLoopback.into());
    }
    let needed = match vendor {
        Vendor::Tailscale => !state::is_known(vendor),
        Vendor::Cloudflare => false,
        Vendor::Ngrok => true,
    };
    if needed || asked {
        secret_input::line(vendor.question(), TOKEN, false)
    } else {
        Ok(Zeroizing::default())
    }
}

/// Closes the tunnel.
fn down(app: &App) -> Outcome {
    for_root("down")?;
    let there = match state::read() {
        Ok(there) => there.map(|it| it.provider),
        // Whichever it was, none is open afterwards.
        Err(TunnelFault::Damaged { .. }) => None,
        Err(fault) => return Err(fault.into()),
    };
    let units = there.map_or(vendor::ALL.to_vec(), |it| it.vendor().into_iter().collect());
    if unit::is_there() {
        units.into_iter().try_for_each(unit::stop)?;
    }
    state::remove()?;
    let name = there.map(Provider::name);
    let sentence = match there {
        Some(Provider::Manual) => "the address is forgotten; your own tunnel is yours to stop".to_owned(),
        Some(provider) => format!("the tunnel by {} is closed", provider.name()),
        None => "no tunnel is up".to_owned(),
    };
    app.out.done(json!({ "provider": name, "closed": there.is_some() }), &sentence)?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_a_persons_own_is_one_that_hooks_can_be_sent_to() {
        assert_eq!(checked("https://a.example.com/").unwrap(), "https://a.example.com");
        assert_eq!(checked("https://a.example.com:8443/in/").unwrap(), "https://a.example.com:8443/in");
        for url in [
            "http://a", "a.example.com", "https://", "https:///x", "https://u:p@a", "https://a/?b",
            "https://a b",
        ] {
            assert!(checked(url).is_err(), "{url}");
        }
    }

    #[test]
    fn a_name_in_an_address_holds_no_option_and_no_path() {
        assert!(is_name("a.ngrok.app") && is_name("cordon-2"));
        for name in ["", "-x", ".a", "a/b", "a b", "a:1"] {
            assert!(!is_name(name), "{name}");
        }
    }
}
