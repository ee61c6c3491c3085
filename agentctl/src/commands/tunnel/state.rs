//! The tunnel that root has opened, in a file that everybody may read, and its token, in one that only root may.

use super::vendor::{Provider, Vendor};
use crate::atomic_file;
use crate::failure::tunnel::TunnelFault;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, Permissions};
use std::io::{ErrorKind, Write};
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The file; the unit hands it to the vendor's user as a credential.
const FILE: &str = "/etc/cordon/tunnel.json";
/// The folder of credentials, which is root's alone.
const CREDENTIALS: &str = "/etc/credstore";

/// An open tunnel.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct State {
    /// Its provider.
    pub(super) provider: Provider,
    /// Where it leads.
    pub(super) listen: SocketAddr,
    /// The name in its address, if one was given.
    pub(super) domain: Option<String>,
    /// Its address, if the person gave it.
    pub(super) url: Option<String>,
    /// The configuration that has its hooks.
    pub(super) config: PathBuf,
    /// When it was opened, in unix ms.
    pub(super) started_ms: u64,
}

fn failed(path: &Path) -> impl Fn(std::io::Error) -> TunnelFault + '_ {
    |cause| TunnelFault::File { path: path.to_owned(), cause }
}

/// The open tunnel, if there is one.
///
/// # Errors
/// The file cannot be read, or is damaged.
pub(super) fn read() -> Result<Option<State>, TunnelFault> {
    read_from(Path::new(FILE))
}

/// The same from another file.
///
/// # Errors
/// The file cannot be read, or is damaged.
pub(super) fn read_from(path: &Path) -> Result<Option<State>, TunnelFault> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(failed(path)(cause)),
    };
    let damaged =
        |why: serde_json::Error| TunnelFault::Damaged { path: path.to_owned(), why: why.to_string() };
    serde_json::from_slice(&text).map(Some).map_err(damaged)
}

/// Writes a file whole, with this mode.
fn put(path: &Path, bytes: &[u8], mode: u32) -> Result<(), TunnelFault> {
    let mut file = atomic_file::beside(path).map_err(failed(path))?;
    file.write_all(bytes).map_err(failed(path))?;
    file.as_file().set_permissions(Permissions::from_mode(mode)).map_err(failed(path))?;
    file.as_file().sync_all().map_err(failed(path))?;
    file.persist(path).map_err(|error| failed(path)(error.error))?;
    Ok(())
}

/// The file of a vendor's token.
fn token(vendor: Vendor) -> PathBuf {
    Path::new(CREDENTIALS).join(format!("cordon-tunnel.{}", vendor.name()))
}

/// Writes the tunnel down, with the token of a vendor, which is empty if there is none: the unit needs the file.
///
/// # Errors
/// A file cannot be written.
pub(super) fn write(state: &State, value: &[u8]) -> Result<(), TunnelFault> {
    if let Some(vendor) = state.provider.vendor() {
        let folder = Path::new(CREDENTIALS);
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed(folder))?;
        put(&token(vendor), value, 0o600)?;
    }
    let path = Path::new(FILE);
    let text = serde_json::to_vec(state).map_err(|error| failed(path)(error.into()))?;
    put(path, &text, 0o644)
}

/// Returns true if the vendor's program has logged in before, so that it needs no token.
pub(super) fn is_known(vendor: Vendor) -> bool {
    Path::new("/var/lib").join(format!("cordon-tunnel-{}/tailscaled.state", vendor.name())).is_file()
}

/// Removes the file and the tokens.
///
/// # Errors
/// One cannot be removed.
pub(super) fn remove() -> Result<(), TunnelFault> {
    let tokens = super::vendor::ALL.map(token);
    for path in tokens.iter().map(PathBuf::as_path).chain([Path::new(FILE)]) {
        match fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(path)(error)),
            _ => {}
        }
    }
    Ok(())
}
