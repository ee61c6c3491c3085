//! The way out of a jail that has one: a proxy on the jail's own loopback. It ends TLS here, by an authority that is made for this
//! jail and whose key never leaves this process, so that the gate sees method, host and path of each request and decides on it. The
//! proxy decides nothing: whatever it says, the gate judges and egress builds the request anew.

mod authority;
mod environment;
mod forward;
mod proxy;

pub(crate) use environment::{environment, ways};

use crate::RunnerFault;
use crate::gate::Gate;
use crate::places::Places;
use authority::Authority;
use ipc_proto::credproxy::PLACEHOLDER;
use ipc_proto::runner_gate::Work;
use runner::tools::{Events, WayOut};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Opens the way out, and writes the authority's certificate for programs into the folder `tmp`. Returns its path.
///
/// # Errors
/// [`RunnerFault`]: the port or the file cannot be had, or no key can be made.
pub(crate) async fn open(gate: &Gate, tmp: &Path) -> Result<PathBuf, RunnerFault> {
    open_with(gate, tmp, Events::default()).await
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
    let authority = open_with(gate, &places.tmp, events.clone()).await?;
    let variables = ways(Some(&authority)).into_iter().chain(placeholders(work));
    let variables = variables.map(|(name, value)| (name.to_owned(), value)).collect();
    Ok(Some(WayOut { variables, events }))
}

/// The variables that hold the placeholder of a secret, which is put into requests outside of the jail.
pub(crate) fn placeholders(work: &Work) -> impl Iterator<Item = (&str, String)> {
    work.placeholders.iter().map(|name| (name.as_str(), PLACEHOLDER.to_owned()))
}

async fn open_with(gate: &Gate, tmp: &Path, events: Events) -> Result<PathBuf, RunnerFault> {
    let authority = Authority::new().map_err(|fault| RunnerFault::Runtime(std::io::Error::other(fault)))?;
    let path = tmp.join("egress-ca.pem");
    std::fs::write(&path, authority.pem())?;
    proxy::open(proxy::Proxy { gate: gate.clone(), authority: Arc::new(authority), events }).await?;
    Ok(path)
}
