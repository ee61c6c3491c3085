//! Export and import of secrets. An export is JSON, sealed by age with a passphrase: `age -d` opens it too. Its values come
//! from credproxy sealed to a key that this process made, and are in the clear only here.

use super::vault::{open, proof};
use super::{environment, seal, secrets, store_for};
use crate::app::{App, Outcome};
use crate::atomic_file::folder_of;
use crate::failure::Failure;
use crate::{secret_input, text};
use age::scrypt;
use age::secrecy::SecretString;
use crypto_box::SecretKey;
use crypto_box::aead::OsRng;
use ipc_proto::control::{ControlError, method};
use ipc_proto::credproxy::{CredError, EXPORT_BOUND, Exported, PARCEL_BOUND, Purpose, parcel};
use ipc_proto::{Blob, Name};
use nix::unistd::{AccessFlags, access};
use serde_json::json;
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use zeroize::Zeroizing;

/// Bytes of a file's passphrase.
const PASSPHRASE: usize = 1024;
/// The work that guessing costs, as a power of two, and the most that a file may ask for.
const WORK: (u8, u8) = (18, 22);

/// The arguments of `cred export`.
#[derive(clap::Args)]
pub(crate) struct Export {
    /// The file to write; it must not exist
    file: PathBuf,
    /// Encrypt with the passphrase in this file; by default a prompt asks for it
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
    /// Open the vault with this key file, if it has no passphrase; the vault's own key file by default
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

/// The arguments of `cred import`.
#[derive(clap::Args)]
#[command(
    override_usage = "agentctl cred import [OPTIONS] <FILE>\n       agentctl cred import [OPTIONS] --env",
    group = clap::ArgGroup::new("source").required(true).args(["file", "env"])
)]
pub(crate) struct Import {
    /// A file of `cred export`
    file: Option<PathBuf>,
    /// Import the usual environment variables, each bound to its provider's host
    #[arg(long)]
    env: bool,
    /// Decrypt with the passphrase in this file; by default a prompt asks for it
    #[arg(long, value_name = "FILE", conflicts_with = "env")]
    passphrase_file: Option<PathBuf>,
    /// Replace secrets of the same name; by default they are left as they are
    #[arg(long)]
    replace: bool,
}

/// Writes every secret to a sealed file.
pub(super) async fn export(app: &App, arguments: Export) -> Outcome {
    let Export { file, passphrase_file, key_file } = arguments;
    let key = open(app).await?.key;
    free(&file).map_err(|cause| Failure::File { path: file.clone(), cause })?;
    let proof = proof(app, key, key_file.as_deref()).await?;
    let passphrase = passphrase(passphrase_file.as_deref(), true)?;
    let own = SecretKey::generate(&mut OsRng);
    let plain = Zeroizing::new(parcel(Purpose::Export, &[&proof, own.public_key().as_bytes()]));
    let sealed: Blob<EXPORT_BOUND> = seal::send(app, &plain, async |sealed| {
        let sealed: Blob<PARCEL_BOUND> = seal::bounded(sealed)?;
        app.link.ask(&method::cred_export, async |c, cx| c.cred_export(cx, sealed.clone()).await).await
    })
    .await?;
    let list = Zeroizing::new(own.unseal(&sealed).map_err(|_| Failure::Seal)?);
    let count = read(&list)?.len();
    let mut recipient = scrypt::Recipient::new(passphrase);
    recipient.set_work_factor(WORK.0);
    let sealed = age::encrypt(&recipient, &list).map_err(|error| Failure::Usage(error.to_string()))?;
    write(&file, &sealed).map_err(|cause| Failure::File { path: file.clone(), cause })?;
    let sentence = format!(
        "{} in {}, sealed with its passphrase",
        text::count(count, "secret is", "secrets are"),
        file.display()
    );
    Ok(app.out.done(json!({ "file": file.to_string_lossy(), "secrets": count }), &sentence)?)
}

/// Checks that the file can be made, before anything is asked for, exported and put on the record in vain.
fn free(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(access(folder_of(path), AccessFlags::W_OK)?)
        }
        Err(error) => Err(error),
    }
}

/// Writes the file, never over an existing one; a file that cannot be written whole is removed.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    if written.is_err() {
        drop(std::fs::remove_file(path));
    }
    written
}

/// Stores the secrets of a file, or of the environment.
pub(super) async fn import(app: &App, arguments: Import) -> Outcome {
    let there: BTreeSet<Name> = secrets(app).await?.into_iter().map(|secret| secret.name).collect();
    let found = match &arguments.file {
        Some(file) => opened(file, arguments.passphrase_file.as_deref())?,
        None => environment::found(|name| std::env::var_os(name)),
    };
    let (mut stored, mut left, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    for secret in found {
        let Exported { name, binding, lease, value } = secret;
        let value = Zeroizing::new(value.into_bytes());
        if there.contains(&name) && !arguments.replace {
            left.push(name);
            continue;
        }
        match store_for(app, &name, &binding, lease, &value).await {
            Ok(()) => stored.push(name),
            // The failure is of this secret alone: the others may be stored.
            Err(
                failure @ Failure::Control(ControlError::Cred(CredError::BadValue | CredError::BadBinding)),
            ) => {
                refused.push((name, failure));
            }
            Err(failure) => return Err(failure),
        }
    }
    report_outcome(app, &stored, &left, refused)
}

/// Shows the outcome of each. If one was not stored, the command fails.
fn report_outcome(app: &App, stored: &[Name], left: &[Name], refused: Vec<(Name, Failure)>) -> Outcome {
    let names = |names: &[Name]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>().join(", ");
    if !left.is_empty() {
        app.out.remark(&format!("left as they are, which --replace would not: {}", names(left)));
    }
    let sentence = match stored {
        [] => "no secret was stored".to_owned(),
        stored => format!("stored: {}", names(stored)),
    };
    let fields = json!({ "stored": stored, "left": left });
    let Some((_, first)) = refused.first() else { return Ok(app.out.done(fields, &sentence)?) };
    let each = refused.iter().map(|(name, why)| format!("{name} is not stored: {why}"));
    let message = each.collect::<Vec<_>>().join("\n");
    if app.out.json {
        let refused: Vec<&Name> = refused.iter().map(|(name, _)| name).collect();
        let error = json!({ "type": first.kind(), "message": message });
        let document =
            json!({ "ok": false, "error": error, "stored": stored, "left": left, "refused": refused });
        app.out.json_line(&document)?;
    } else {
        app.out.remark(&message);
        app.out.line(&sentence)?;
    }
    Ok(ExitCode::from(first.exit()))
}

/// The secrets of a sealed file.
fn opened(file: &Path, passphrase_file: Option<&Path>) -> Result<Vec<Exported<String>>, Failure> {
    let failed = |cause| Failure::File { path: file.to_owned(), cause };
    let most = EXPORT_BOUND as u64 * 2;
    let mut sealed = Vec::new();
    File::open(file).map_err(failed)?.take(most).read_to_end(&mut sealed).map_err(failed)?;
    let mut identity = scrypt::Identity::new(passphrase(passphrase_file, false)?);
    identity.set_max_work_factor(WORK.1);
    let list = age::decrypt(&identity, &sealed);
    let list = list.map_err(|error| failed(io::Error::other(unopened(&error))))?;
    read(&Zeroizing::new(list))
}

/// The reason why a file cannot be opened: a wrong passphrase, another kind of file, or an altered one.
fn unopened(error: &age::DecryptError) -> String {
    use age::DecryptError::{DecryptionFailed, KeyDecryptionFailed, NoMatchingKeys};
    match error {
        DecryptionFailed | KeyDecryptionFailed | NoMatchingKeys => {
            "this is not the passphrase of the file".to_owned()
        }
        other => format!("it is no export of secrets, or was altered: {other}"),
    }
}

fn read(list: &[u8]) -> Result<Vec<Exported<String>>, Failure> {
    serde_json::from_slice(list).map_err(|_| Failure::Usage("this is no export of secrets".to_owned()))
}

fn passphrase(file: Option<&Path>, new: bool) -> Result<SecretString, Failure> {
    let bytes = match file {
        None => secret_input::line("passphrase of the file (not shown): ", PASSPHRASE, new)?,
        Some(path) => {
            let failed = |cause| Failure::File { path: path.to_owned(), cause };
            let mut bytes = Zeroizing::new(Vec::with_capacity(PASSPHRASE + 2));
            let file = File::open(path).map_err(failed)?;
            file.take(PASSPHRASE as u64 + 2).read_to_end(&mut bytes).map_err(failed)?;
            secret_input::trim(&mut bytes);
            secret_input::fits(&bytes, PASSPHRASE)?;
            bytes
        }
    };
    match std::str::from_utf8(&bytes) {
        Ok(text) if !text.is_empty() => Ok(SecretString::from(text.to_owned())),
        _ => Err(Failure::Usage("the passphrase is empty, or no text".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn an_export_opens_with_its_passphrase_only_and_has_mode_0600() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("right"), "of the file\n").unwrap();
        std::fs::write(path("wrong"), "of another\n").unwrap();
        let list = br#"[{"name":"k","binding":{"hosts":["a.test"],"verbs":[],"paths":[],"at":[]},
            "lease":{"until_ms":null,"uses":3},"value":"0123456789"}]"#;
        let mut recipient = scrypt::Recipient::new(passphrase(Some(&path("right")), true).unwrap());
        recipient.set_work_factor(2);
        write(&path("export"), &age::encrypt(&recipient, list).unwrap()).unwrap();
        assert_eq!(path("export").metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let read = opened(&path("export"), Some(&path("right"))).unwrap();
        assert_eq!((read[0].name.as_str(), read[0].value.as_str()), ("k", "0123456789"));
        assert_eq!(read[0].lease.uses, Some(3));
        let failure_of =
            |passphrase: &str| opened(&path("export"), Some(&path(passphrase))).err().unwrap().to_string();
        assert!(
            failure_of("wrong").ends_with("this is not the passphrase of the file"),
            "{}",
            failure_of("wrong")
        );
        assert!(write(&path("export"), b"over it").is_err(), "a file that is there stays");
        assert!(
            free(&path("export")).is_err() && free(&path("no/folder")).is_err() && free(&path("new")).is_ok()
        );
        std::fs::write(path("export"), "no export").unwrap();
        assert!(
            failure_of("right").contains("it is no export of secrets, or was altered"),
            "{}",
            failure_of("right")
        );
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_at_all_are_an_export_or_none(bytes: Vec<u8>) {
            let _ = read(&bytes);
        }
    }
}
