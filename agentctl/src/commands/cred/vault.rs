//! The key of the vault: opening it, changing its passphrase, new keys for all it holds.

use super::seal;
use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::host;
use crate::secret_input;
use ipc_proto::Blob;
use ipc_proto::config::KeySource;
use ipc_proto::control::{ControlError, method};
use ipc_proto::credproxy::{CredError, PARCEL_BOUND, PASSPHRASE, Purpose, VaultInfo, parcel};
use serde_json::json;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use zeroize::Zeroizing;

/// Bytes of a passphrase.
const MOST: usize = PASSPHRASE.1;

/// The sources of a passphrase.
#[derive(Clone, Copy, clap::ValueEnum)]
pub(crate) enum From {
    /// The desktop's secret service: `secret-tool lookup service cordon`
    SecretService,
    /// The kernel's keyring: `keyctl pipe %user:cordon-vault`
    Keyring,
}

/// The arguments of `cred unlock`.
#[derive(clap::Args)]
pub(crate) struct Unlock {
    /// Fetch the passphrase from there; by default it is read from a prompt or standard input
    #[arg(long, value_enum)]
    from: Option<From>,
}

/// The arguments of `cred passphrase`.
#[derive(clap::Args)]
pub(crate) struct Passphrase {
    /// Open the vault with this key file, if it has no passphrase now; the vault's own key file by default
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

/// The vault as a whole.
pub(super) async fn info(app: &App) -> Result<VaultInfo, Failure> {
    app.link.ask(&method::cred_vault, async |c, cx| c.cred_vault(cx).await).await
}

/// Checks that the vault is open, before a command asks a person for anything.
pub(crate) async fn open(app: &App) -> Result<VaultInfo, Failure> {
    let vault = info(app).await?;
    let locked = Failure::Control(ControlError::Cred(CredError::Locked));
    if vault.locked { Err(locked) } else { Ok(vault) }
}

/// Opens a locked vault.
pub(super) async fn unlock(app: &App, Unlock { from }: Unlock) -> Outcome {
    let vault = info(app).await?;
    let passphrase = match from {
        Some(from) => fetched(from)?,
        None if vault.empty => secret_input::line("a passphrase for the vault (not shown): ", MOST, true)?,
        None => secret_input::line("passphrase of the vault (not shown): ", MOST, false)?,
    };
    give(app, &passphrase).await?;
    let made = if vault.empty { "there is a vault under this passphrase" } else { "the vault is open" };
    Ok(app.out.done(json!({ "locked": false, "made": vault.empty }), made)?)
}

async fn give(app: &App, passphrase: &[u8]) -> Result<(), Failure> {
    let plain = Zeroizing::new(parcel(Purpose::Unlock, &[passphrase]));
    seal::send(app, &plain, async |sealed| {
        let sealed: Blob<PARCEL_BOUND> = seal::bounded(sealed)?;
        app.link.ask(&method::cred_unlock, async |c, cx| c.cred_unlock(cx, sealed.clone()).await).await
    })
    .await
}

/// Changes the passphrase of the vault.
pub(super) async fn passphrase(app: &App, Passphrase { key_file }: Passphrase) -> Outcome {
    let vault = info(app).await?;
    let proof = match vault.key {
        // There is none yet, so there is nothing to show.
        KeySource::Passphrase if vault.empty => None,
        _ => Some(proof(app, vault.key, key_file.as_deref()).await?),
    };
    let new = secret_input::line("the new passphrase (not shown): ", MOST, true)?;
    let Some(proof) = proof else {
        give(app, &new).await?;
        return Ok(app.out.done(json!({ "made": true }), "there is a vault under this passphrase")?);
    };
    let plain = Zeroizing::new(parcel(Purpose::Passphrase, &[&proof, &new]));
    seal::send(app, &plain, async |sealed| {
        let sealed: Blob<PARCEL_BOUND> = seal::bounded(sealed)?;
        let call =
            app.link.ask(&method::cred_passphrase, async |c, cx| c.cred_passphrase(cx, sealed.clone()).await);
        call.await
    })
    .await?;
    Ok(app.out.done(json!({ "made": false }), "the vault is under the new passphrase")?)
}

/// Seals every secret under a new key.
pub(super) async fn rotate(app: &App) -> Outcome {
    app.link.ask(&method::cred_rotate, async |c, cx| c.cred_rotate(cx).await).await?;
    let key = info(app).await?.key;
    Ok(app.out.done(json!({ "key": key }), "every secret is sealed under a new key")?)
}

/// The proof that the caller could open the vault anyway: its passphrase, or the contents of its key file or credential.
///
/// # Errors
/// The file cannot be read, or nobody gives a passphrase.
pub(super) async fn proof(
    app: &App,
    key: KeySource,
    file: Option<&Path>,
) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let path = match (key, file) {
        (KeySource::Passphrase, _) => {
            return secret_input::line("passphrase of the vault (not shown): ", MOST, false);
        }
        (_, Some(file)) => file.to_owned(),
        (KeySource::File, None) => {
            let host = host::status(app).await?;
            Path::new(host.state_dir.as_str()).join("credproxy/vault.key")
        }
        (KeySource::Systemd, None) => {
            let what = "name the credential's plain content with --key-file: the vault is opened by it";
            return Err(Failure::Usage(what.to_owned()));
        }
    };
    let failed = |cause| Failure::File { path: path.clone(), cause };
    let mut bytes = Zeroizing::new(Vec::with_capacity(MOST + 1));
    let file = File::open(&path).map_err(failed)?;
    file.take(MOST as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    secret_input::fits(&bytes, MOST)?;
    Ok(bytes)
}

/// The vault's passphrase from the person's own secret store.
fn fetched(from: From) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let (name, words): (&'static str, &[&str]) = match from {
        From::SecretService => ("secret-tool", &["lookup", "service", "cordon"]),
        From::Keyring => ("keyctl", &["pipe", "%user:cordon-vault"]),
    };
    let failed = |why: String| Failure::Program { name, why };
    #[expect(
        clippy::disallowed_methods,
        reason = "the person's own keeper of secrets, run as the person, outside the host"
    )]
    let mut command = Command::new(name);
    let output = command.args(words).stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.map_err(|cause| failed(cause.to_string()))?;
    let mut passphrase = Zeroizing::new(output.stdout);
    secret_input::trim(&mut passphrase);
    if !output.status.success() || passphrase.is_empty() {
        return Err(failed("it holds no passphrase for the vault".to_owned()));
    }
    secret_input::fits(&passphrase, MOST)?;
    Ok(passphrase)
}
