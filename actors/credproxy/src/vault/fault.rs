//! Why the vault cannot be used: one fault for each remedy.

use crate::envelope::EnvelopeFault;
use crate::format::FormatFault;
use ipc_proto::credproxy::CredError;
use std::io;

/// Why the vault cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum VaultFault {
    /// A file could not be read or written.
    #[error("{0}: {1}")]
    File(&'static str, #[source] io::Error),
    /// There is a vault and no key.
    #[error("there is a vault and no vault.key: put the key back; a new one would lose every secret")]
    NoKey,
    /// The key file holds no key.
    #[error("{0} is not 64 hexadecimal digits")]
    BadKey(&'static str),
    /// Others can read the key file.
    #[error(
        "vault.key has mode {0:o}: others can read it; `chmod 600` it, and take its secrets as known to them"
    )]
    OpenKey(u32),
    /// The file is not a vault.
    #[error("vault: {0}")]
    Format(#[from] FormatFault),
    /// It is whole, but made with another key.
    #[error(
        "vault: it was made with another vault.key, so it belongs to another host or the key was replaced"
    )]
    OtherKey,
    /// It is whole, but another host's.
    #[error("vault: it belongs to another host; if it was moved here on purpose, remove vault.id")]
    OtherHost,
    /// `vault.id` holds no id.
    #[error("vault.id names no host: put it back, or remove it if the vault that is there is this host's")]
    BadHost,
    /// The vault is opened by a credential that the unit has not.
    #[error(
        "there is no credential `cordon-vault`: the unit needs LoadCredential= or LoadCredentialEncrypted="
    )]
    NoCredential,
    /// The credential is no key.
    #[error("the credential `cordon-vault` is neither 64 hexadecimal digits nor 32 to 1,024 bytes")]
    BadCredential,
    /// The vault was made with another credential.
    #[error("vault: it was made with another credential, so it belongs to another host or that was replaced")]
    OtherCredential,
    /// The passphrase is not the vault's.
    #[error("the passphrase is not the vault's")]
    WrongPassphrase,
    /// Argon2 refused its parameters.
    #[error("no key can be made of the passphrase")]
    Stretch,
    /// The configuration has the vault opened by something else than a passphrase.
    #[error("the configuration has the vault opened by something else than a passphrase")]
    NotByPassphrase,
    /// The file is whole and of this key, but somebody who could make the checksum hold has changed it.
    #[error("vault: it was altered: {0}")]
    Sealed(EnvelopeFault),
    /// The list inside is not one.
    #[error("vault: the list inside is not one of this version")]
    List,
    /// The value that was to be renewed is not there any more.
    #[error("the secret was set anew or removed meanwhile")]
    Replaced,
    /// It is no less than what a secret is bound to by now.
    #[error("the secret is bound to less by now")]
    Widens,
    /// It would be larger than what is read of a vault.
    #[error("the vault is full")]
    Full,
    /// Randomness or sealing failed.
    #[error("sealing: {0}")]
    Envelope(EnvelopeFault),
    /// There is no randomness for the key of the fingerprints.
    #[error("randomness: {0}")]
    Random(getrandom::Error),
}

impl VaultFault {
    /// The error that callers see; the log says more.
    pub(crate) fn reported(&self) -> CredError {
        match self {
            Self::WrongPassphrase | Self::OtherKey | Self::OtherCredential => CredError::WrongPassphrase,
            Self::NotByPassphrase => CredError::NotByPassphrase,
            Self::Full => CredError::Full,
            Self::Widens => CredError::Widens,
            Self::Replaced => CredError::Login,
            _ => CredError::Vault,
        }
    }
}
