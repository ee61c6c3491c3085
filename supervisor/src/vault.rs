//! The descriptors through which credproxy gets the vault's key at each of its starts: a page of memory, which agentd keeps over
//! credproxy's lives and never maps, and the credential of agentd's unit, which it never reads. And the vault's state, as
//! credproxy reports it.

use crate::own_log;
use confine::secret;
use manifest::Inherited;
use manifest::command::{START_CREDENTIAL, START_PAGE};
use std::env;
use std::fs::{File, OpenOptions};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

/// The credential's name.
const CREDENTIAL: &str = "cordon-vault";

/// The vault as agentd knows it.
#[derive(Debug)]
pub(crate) struct Vault {
    page: Option<OwnedFd>,
    /// It waits for its passphrase.
    pub(crate) locked: bool,
}

impl Vault {
    /// Makes the page. Without one the vault is opened again after each end of credproxy.
    pub(crate) fn new() -> Self {
        let page = secret::page().inspect_err(|cause| {
            let lost = "it does not outlive credproxy";
            own_log::warn(&format!("no memory for the vault's key: {cause}; {lost}"));
        });
        Self { page: page.ok(), locked: false }
    }

    /// The flags and descriptors for a process that inherits these; the descriptors follow its section.
    pub(crate) fn descriptors(&self, inherits: &[Inherited]) -> (u64, Vec<OwnedFd>) {
        let has = |inherited| inherits.contains(&inherited);
        let page = self.page.as_ref().filter(|_| has(Inherited::KeyPage));
        let page = page.and_then(|page| page.try_clone().ok()).map(|page| (START_PAGE, page));
        let credential = if has(Inherited::Credential) { credential() } else { None };
        let credential = credential.map(|file| (START_CREDENTIAL, OwnedFd::from(file)));
        let (flags, descriptors): (Vec<u64>, Vec<OwnedFd>) = page.into_iter().chain(credential).unzip();
        (flags.iter().sum(), descriptors)
    }
}

/// The credential, opened anew each time: each life of credproxy reads it from its beginning.
fn credential() -> Option<File> {
    let folder = env::var_os("CREDENTIALS_DIRECTORY").filter(|folder| !folder.is_empty())?;
    let path = PathBuf::from(folder).join(CREDENTIAL);
    let file = OpenOptions::new().read(true).custom_flags(nix::libc::O_NOFOLLOW).open(path).ok()?;
    file.metadata().is_ok_and(|about| about.is_file()).then_some(file)
}
