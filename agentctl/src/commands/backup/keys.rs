//! The keys that seal and open a backup: age's keys, or a passphrase. A passphrase comes from a file or a prompt without
//! echo, never from an argument; neither it nor an identity is ever shown.

use crate::failure::Failure;
use crate::failure::backup::Fault;
use crate::secret_input;
use age::secrecy::SecretString;
use age::{Encryptor, scrypt, x25519};
use std::fs::File;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Bytes of a passphrase.
const PASSPHRASE: usize = 1024;
/// Bytes of a file of identities.
const IDENTITIES: u64 = 1 << 20;
/// The work that guessing a passphrase costs, as a power of two: what age's own program takes, about a second.
const WORK: u8 = 18;
/// The most work that a file may ask for: 16 times as much, and 4 GiB of memory.
const MOST_WORK: u8 = 22;

/// The options that seal a backup.
#[derive(clap::Args)]
pub(super) struct SealWith {
    /// Encrypt to this age recipient (age1…); may be given again
    #[arg(long = "recipient", value_name = "AGE", conflicts_with = "passphrase_file")]
    recipients: Vec<String>,
    /// Encrypt with the passphrase in this file; without this and a recipient, a prompt asks for it
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

/// The options that open a backup.
#[derive(clap::Args)]
pub(super) struct OpenWith {
    /// Decrypt with the age identities in this file
    #[arg(long, value_name = "FILE", conflicts_with = "passphrase_file")]
    identity: Option<PathBuf>,
    /// Decrypt with the passphrase in this file; without this and an identity, a prompt asks for it
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

/// The recipients that a backup is sealed to.
pub(super) struct Lock(Vec<Box<dyn age::Recipient>>);

/// The identities that open a backup.
pub(super) struct Key(Vec<Box<dyn age::Identity>>);

impl SealWith {
    /// Reads what was named, or asks.
    ///
    /// # Errors
    /// A recipient that is none, a file that cannot be read, or nobody to ask.
    pub(super) fn lock(&self) -> Result<Lock, Failure> {
        if self.recipients.is_empty() {
            let passphrase = passphrase(self.passphrase_file.as_deref(), true)?;
            let mut recipient = scrypt::Recipient::new(passphrase);
            recipient.set_work_factor(WORK);
            return Ok(Lock(vec![Box::new(recipient)]));
        }
        let read = |text: &String| match text.parse::<x25519::Recipient>() {
            Ok(recipient) => Ok(Box::new(recipient) as Box<dyn age::Recipient>),
            Err(why) => Err(Failure::Usage(format!("--recipient {text}: {why}"))),
        };
        self.recipients.iter().map(read).collect::<Result<_, _>>().map(Lock)
    }
}

impl Lock {
    /// Begins a sealed file.
    ///
    /// # Errors
    /// age's error. There is always a recipient, and never two kinds of them.
    pub(super) fn encryptor(&self) -> Result<Encryptor, Failure> {
        let recipients = self.0.iter().map(|recipient| &**recipient);
        Encryptor::with_recipients(recipients).map_err(|error| Failure::Usage(error.to_string()))
    }
}

impl OpenWith {
    #[cfg(test)]
    pub(super) const fn none() -> Self {
        Self { identity: None, passphrase_file: None }
    }

    /// Reads what was named, or asks.
    ///
    /// # Errors
    /// The named file does not fit how the backup was sealed or cannot be read, or nobody can be asked.
    pub(super) fn key(&self, by_passphrase: bool) -> Result<Key, Failure> {
        let usage = |what: &str| Err(Failure::Usage(what.to_owned()));
        match (&self.identity, by_passphrase) {
            (Some(_), true) => usage("it was sealed with a passphrase; --identity does not open it"),
            (None, false) => usage("it was sealed to an age recipient; name the identity with --identity"),
            (Some(file), false) => identities(file).map(Key),
            (None, true) => {
                let mut identity = scrypt::Identity::new(passphrase(self.passphrase_file.as_deref(), false)?);
                identity.set_max_work_factor(MOST_WORK);
                Ok(Key(vec![Box::new(identity)]))
            }
        }
    }
}

impl Key {
    /// Opens what was begun to be read.
    ///
    /// # Errors
    /// The key is another one, or the file's head was changed.
    pub(super) fn open<R: Read>(
        &self,
        file: age::Decryptor<R>,
    ) -> Result<age::stream::StreamReader<R>, Fault> {
        file.decrypt(self.0.iter().map(|identity| &**identity)).map_err(|error| match error {
            age::DecryptError::InvalidMac => Fault::Changed("its head does not hold"),
            age::DecryptError::ExcessiveWork { .. } => Fault::NotABackup("it asks for too much work to open"),
            age::DecryptError::InvalidHeader | age::DecryptError::UnknownFormat => {
                Fault::Changed("its head is not one of age's")
            }
            _ => Fault::WrongKey,
        })
    }
}

/// The identities of a file, a line each; empty lines and comments are passed over.
fn identities(file: &Path) -> Result<Vec<Box<dyn age::Identity>>, Failure> {
    let text = read(file, IDENTITIES)?;
    let text = std::str::from_utf8(&text).unwrap_or_default();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut found: Vec<Box<dyn age::Identity>> = Vec::new();
    for (number, line) in (1..).zip(lines) {
        let identity = line.parse::<x25519::Identity>();
        let why = |why| Failure::Usage(format!("{}: identity {number}: {why}", file.display()));
        found.push(Box::new(identity.map_err(why)?));
    }
    if found.is_empty() {
        return Err(Failure::Usage(format!("{} holds no age identity", file.display())));
    }
    Ok(found)
}

/// The passphrase of this file, or the one that a person types; a new one twice.
fn passphrase(file: Option<&Path>, new: bool) -> Result<SecretString, Failure> {
    let bytes = match file {
        Some(file) => read(file, PASSPHRASE as u64 + 2)?,
        None if !std::io::stdin().is_terminal() => {
            return Err(Failure::Usage(
                "no terminal to ask for the passphrase: name a file with --passphrase-file".to_owned(),
            ));
        }
        None => typed("passphrase of the backup (not shown): ")?,
    };
    let bytes = trimmed(&bytes);
    if new && file.is_none() && trimmed(&typed("the same again: ")?) != bytes {
        return Err(Failure::Usage("the two passphrases are not the same".to_owned()));
    }
    match std::str::from_utf8(bytes) {
        Ok("") => Err(Failure::Usage("the passphrase is empty".to_owned())),
        Ok(text) if text.len() <= PASSPHRASE => Ok(SecretString::from(text.to_owned())),
        _ => Err(Failure::Usage(format!("the passphrase is no text of at most {PASSPHRASE} bytes"))),
    }
}

fn typed(question: &str) -> Result<Zeroizing<Vec<u8>>, Failure> {
    // Allocated at once: a buffer that grows leaves copies behind.
    let mut value = Zeroizing::new(Vec::with_capacity(PASSPHRASE + 2));
    secret_input::hidden(question, &mut value, PASSPHRASE + 2)?;
    Ok(value)
}

/// Without the line break at its end.
fn trimmed(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    bytes.strip_suffix(b"\r").unwrap_or(bytes)
}

fn read(path: &Path, most: u64) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let failed = |cause| Failure::File { path: path.to_owned(), cause };
    let file = File::open(path).map_err(failed)?;
    let mut bytes =
        Zeroizing::new(Vec::with_capacity(usize::try_from(most).unwrap_or_default().saturating_add(1)));
    file.take(most + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > most {
        return Err(Failure::Usage(format!("{} is over {most} bytes", path.display())));
    }
    Ok(bytes)
}
