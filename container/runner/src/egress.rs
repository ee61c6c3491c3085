//! The way out of a jail that has one: a proxy on the jail's own loopback. It ends TLS here, by an authority that is made for this
//! jail and whose key never leaves this process, so that the gate sees method, host and path of each request and decides on it. The
//! proxy decides nothing: whatever it says, the gate judges and egress builds the request anew.

mod authority;
mod environment;
mod forward;
mod proxy;
mod tunnel;

pub(crate) use environment::{address, environment, ways};

use crate::RunnerFault;
use crate::gate::Gate;
use crate::places::Places;
use authority::Authority;
use ipc_proto::Text;
use ipc_proto::credproxy::PLACEHOLDER;
use ipc_proto::runner_gate::Work;
use runner::tools::{Events, WayOut};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Opens the way out, in which TLS to the places `opaque` passes undecrypted, and writes the authority's certificate for programs into the folder `tmp`. Returns its path.
///
/// # Errors
/// [`RunnerFault`]: the port or the file cannot be had, or no key can be made.
pub(crate) async fn open(gate: &Gate, tmp: &Path, opaque: &[Text<260>]) -> Result<PathBuf, RunnerFault> {
    open_with(gate, tmp, opaque, Events::default()).await
}

/// Opens the way out for a browser, which knows the authority by the pin that is returned.
///
/// # Errors
/// As those of [`open`].
pub(crate) async fn for_browser(gate: &Gate) -> Result<String, RunnerFault> {
    let authority = authority()?;
    let pin = authority.pin();
    serve(gate, authority, &[], Events::default()).await?;
    Ok(pin)
}

/// Opens the way out for the commands of a turn, if its jail has one.
///
/// # Errors
/// As those of [`open`].
pub(crate) async fn for_commands(
    gate: &Gate,
    work: &Work,
    places: &Places,
) -> Result<Option<WayOut>, RunnerFault> {
    if !work.network {
        return Ok(None);
    }
    let events = Events::default();
    let authority = open_with(gate, &places.tmp, &work.opaque, events.clone()).await?;
    let variables = ways(Some(&authority)).into_iter().chain(placeholders(work));
    let variables = variables.map(|(name, value)| (name.to_owned(), value)).collect();
    Ok(Some(WayOut { variables, events }))
}

/// The variables that hold the placeholder of a secret, which is put into requests outside of the jail.
pub(crate) fn placeholders(work: &Work) -> impl Iterator<Item = (&str, String)> {
    work.placeholders.iter().map(|name| (name.as_str(), PLACEHOLDER.to_owned()))
}

async fn open_with(
    gate: &Gate,
    tmp: &Path,
    opaque: &[Text<260>],
    events: Events,
) -> Result<PathBuf, RunnerFault> {
    let authority = authority()?;
    let path = tmp.join("egress-ca.pem");
    std::fs::write(&path, authority.pem())?;
    serve(gate, authority, opaque, events).await?;
    Ok(path)
}

fn authority() -> Result<Authority, RunnerFault> {
    Authority::new().map_err(|fault| RunnerFault::Runtime(std::io::Error::other(fault)))
}

async fn serve(
    gate: &Gate,
    authority: Authority,
    opaque: &[Text<260>],
    events: Events,
) -> Result<(), RunnerFault> {
    let (authority, opaque) = (Arc::new(authority), opaque.into());
    proxy::open(proxy::Proxy { gate: gate.clone(), authority, events, opaque }).await
}
