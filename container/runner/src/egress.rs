//! The way out of a jail that has one: a proxy on the jail's own loopback. It ends TLS here, by an authority that is made for this
//! jail and whose key never leaves this process, so that the gate sees method, host and path of each request and decides on it. The
//! proxy decides nothing: whatever it says, the gate judges and egress builds the request anew.

mod authority;
mod environment;
mod forward;
mod proxy;

pub(crate) use environment::{environment, holds_in_both};

use crate::RunnerFault;
use crate::gate::Gate;
use authority::Authority;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Opens the way out, and writes the authority's certificate for programs into the folder `tmp`. Returns its path.
///
/// # Errors
/// [`RunnerFault`]: the port or the file cannot be had, or no key can be made.
pub(crate) async fn open(gate: &Gate, tmp: &Path) -> Result<PathBuf, RunnerFault> {
    let authority = Authority::new().map_err(|fault| RunnerFault::Runtime(std::io::Error::other(fault)))?;
    let path = tmp.join("egress-ca.pem");
    std::fs::write(&path, authority.pem())?;
    proxy::open(gate.clone(), Arc::new(authority)).await?;
    Ok(path)
}
