//! `agentctl cred`: secrets go in and never come out.
//!
//! A value comes from standard input or a prompt without echo, never from an argument, and leaves this process
//! only sealed to credproxy's public key. The key's path comes from control, so the file is trusted only if it
//! lies where nobody but agentd and credproxy can write.

use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::{status, text, view};
use crypto_box::PublicKey;
use crypto_box::aead::OsRng;
use ipc_proto::bounded::TooLong;
use ipc_proto::control::method;
use ipc_proto::credproxy::{SECRET_BOUND, binding};
use ipc_proto::{Blob, List, Name, Text};
use nix::fcntl::{OFlag, open, openat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat};
use nix::sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr};
use serde_json::json;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use zeroize::Zeroizing;

/// Bytes that sealing adds: an ephemeral public key and a tag.
const SEAL: usize = 48;
/// Bytes of the key file: 64 hex digits and a line break.
const KEY_FILE: u64 = 65;

/// The commands of `cred`.
#[derive(clap::Subcommand)]
pub(crate) enum Cred {
    /// Store a secret; its value is read from standard input or a prompt
    Set {
        /// Its name
        #[arg(value_parser = crate::cli::text::<64>)]
        name: Name,
        /// A host that it may be sent to; may be given again
        #[arg(long = "host", value_name = "HOST", required = true, value_parser = crate::cli::text::<253>)]
        hosts: Vec<Text<253>>,
    },
    /// List secrets, without their values
    List,
    /// Forget a secret
    Remove {
        /// Its name
        #[arg(value_parser = crate::cli::text::<64>)]
        name: Name,
    },
}

/// Stores a secret.
pub(crate) async fn set(app: &App, name: Name, hosts: Vec<Text<253>>) -> Outcome {
    let hosts: List<Text<253>, 8> =
        List::new(hosts).map_err(|why| Failure::TooLong { what: "--host", why })?;
    let host = status::read(app).await?;
    let key = public_key(Path::new(host.state_dir.as_str()), app.link.peer()?.uid)?;
    let sealed = seal(&key, &name, &hosts)?;
    let call = app.link.ask(&method::cred_set, async |c, cx| {
        c.cred_set(cx, name.clone(), hosts.clone(), sealed.clone()).await
    });
    call.await?;
    Ok(app.out.done(json!({ "name": name, "hosts": hosts }), &format!("secret {name} is stored"))?)
}

/// Reads the value and seals it behind its binding, so that whoever carries it cannot bind it to other hosts.
fn seal(key: &PublicKey, name: &str, hosts: &[Text<253>]) -> Result<Blob<SECRET_BOUND>, Failure> {
    let binding = binding(name, hosts);
    let value = value(name, SECRET_BOUND.saturating_sub(SEAL + binding.len()))?;
    // The room is made at once: a buffer that grows leaves copies behind.
    let mut plain = Zeroizing::new(Vec::with_capacity(binding.len() + value.len()));
    plain.extend_from_slice(&binding);
    plain.extend_from_slice(&value);
    let sealed = key.seal(&mut OsRng, &plain).map_err(|_| Failure::Seal)?;
    Blob::new(sealed).map_err(|why| Failure::TooLong { what: "the sealed value", why })
}

/// Lists secrets.
pub(crate) async fn list(app: &App) -> Outcome {
    let found = app.link.ask(&method::cred_list, async |c, cx| c.cred_list(cx).await).await?;
    let head = ["SECRET", "HOSTS", "SET", "USES", "LAST USED"];
    Ok(app.out.list("secrets", &found, view::secret, &head, |secret| {
        vec![
            secret.name.to_string(),
            secret.hosts.iter().map(|host| host.as_str()).collect::<Vec<_>>().join(", "),
            text::utc(secret.set_ms),
            secret.uses.to_string(),
            text::utc(secret.used_ms),
        ]
    })?)
}

/// Forgets a secret.
pub(crate) async fn remove(app: &App, name: Name) -> Outcome {
    app.link.ask(&method::cred_remove, async |c, cx| c.cred_remove(cx, name.clone()).await).await?;
    Ok(app.out.done(json!({ "name": name }), &format!("secret {name} is forgotten"))?)
}

/// Reads the key below a state directory that belongs to `owner`.
fn public_key(state: &Path, owner: u32) -> Result<PublicKey, Failure> {
    let path = state.join("credproxy/public.key");
    let distrust = |why: &str| Failure::PublicKey { path: path.clone(), why: why.to_owned() };
    let unreadable = |error: nix::Error| Failure::File { path: path.clone(), cause: error.into() };
    let folder = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    // A state directory is 0711: it can be passed through, not listed, so it is opened as a path.
    let state_dir = open(state, folder | OFlag::O_PATH, Mode::empty()).map_err(unreadable)?;
    let of_state = stat(&state_dir, &path)?;
    if of_state.st_uid != owner || writable_by_others(&of_state) {
        return Err(distrust("the state directory is not agentd's own"));
    }
    let flags = folder | OFlag::O_PATH | OFlag::O_NOFOLLOW;
    let vault = openat(&state_dir, "credproxy", flags, Mode::empty()).map_err(unreadable)?;
    let of_vault = stat(&vault, &path)?;
    let file = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let file = openat(&vault, "public.key", file, Mode::empty()).map_err(unreadable)?;
    let of_file = stat(&file, &path)?;
    if writable_by_others(&of_vault) || writable_by_others(&of_file) || of_file.st_uid != of_vault.st_uid {
        return Err(distrust("others than credproxy can write it"));
    }
    if SFlag::from_bits_truncate(of_file.st_mode) & SFlag::S_IFMT != SFlag::S_IFREG {
        return Err(distrust("it is not a regular file"));
    }
    let mut text = String::new();
    let read = File::from(file).take(KEY_FILE + 1).read_to_string(&mut text);
    read.map_err(|cause| Failure::File { path: path.clone(), cause })?;
    parse(&text).ok_or_else(|| distrust("it is not 64 hex digits"))
}

fn stat(file: &OwnedFd, path: &Path) -> Result<FileStat, Failure> {
    fstat(file).map_err(|error| Failure::File { path: path.to_owned(), cause: error.into() })
}

fn writable_by_others(stat: &FileStat) -> bool {
    Mode::from_bits_truncate(stat.st_mode).intersects(Mode::S_IWGRP | Mode::S_IWOTH)
}

/// 64 hex digits and at most a line break.
fn parse(text: &str) -> Option<PublicKey> {
    let digits = text.strip_suffix('\n').unwrap_or(text).as_bytes();
    if digits.len() != 64 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let mut key = [0; 32];
    for (byte, pair) in key.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(PublicKey::from(key))
}

/// The value, from a prompt on a terminal, else all of standard input without the line break at its end.
fn value(name: &str, bound: usize) -> Result<Zeroizing<Vec<u8>>, Failure> {
    // One byte more than may be, and a line break of two.
    let most = bound.saturating_add(3);
    let mut value = Zeroizing::new(Vec::with_capacity(most));
    if io::stdin().is_terminal() {
        prompt(name, &mut value, most)?;
    } else {
        read(&mut value, most, false)?;
    }
    for end in [b'\n', b'\r'] {
        if value.last() == Some(&end) {
            value.pop();
        }
    }
    if value.is_empty() {
        return Err(Failure::Usage("the value is empty".to_owned()));
    }
    if value.len() > bound {
        let why = TooLong { what: "bytes", given: value.len(), bound };
        return Err(Failure::TooLong { what: "the value", why });
    }
    Ok(value)
}

/// Reads standard input without a buffer of its own, so that no other copy of the value is left behind.
fn read(value: &mut Vec<u8>, most: usize, one_line: bool) -> io::Result<()> {
    let mut byte = [0];
    while value.len() < most && nix::unistd::read(io::stdin(), &mut byte)? == 1 {
        let [read] = byte;
        value.push(read);
        if one_line && read == b'\n' {
            break;
        }
    }
    Ok(())
}

/// The terminal as it was, restored however the prompt ends.
struct Quiet(Termios);

impl Quiet {
    fn new() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut quiet = before.clone();
        quiet.local_flags.remove(LocalFlags::ECHO);
        quiet.local_flags.insert(LocalFlags::ECHONL);
        tcsetattr(io::stdin(), SetArg::TCSAFLUSH, &quiet)?;
        Ok(Self(before))
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // A terminal that cannot be set is gone.
        let _ = tcsetattr(io::stdin().as_fd(), SetArg::TCSAFLUSH, &self.0);
    }
}

fn prompt(name: &str, value: &mut Vec<u8>, most: usize) -> io::Result<()> {
    hidden(&format!("value of {name} (not shown): "), value, most)
}

/// Asks on the terminal for a line that is not shown while it is typed.
///
/// # Errors
/// There is no terminal.
pub(crate) fn hidden(question: &str, value: &mut Vec<u8>, most: usize) -> io::Result<()> {
    crate::out::Out::new(false).ask(question)?;
    let _quiet = Quiet::new()?;
    read(value, most, true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::path::PathBuf;

    fn state() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let vault = state.join("credproxy");
        std::fs::create_dir_all(&vault).unwrap();
        for (path, mode) in [(&state, 0o711), (&vault, 0o711)] {
            std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        }
        std::fs::write(vault.join("public.key"), format!("{}\n", "ab".repeat(32))).unwrap();
        std::fs::set_permissions(vault.join("public.key"), PermissionsExt::from_mode(0o644)).unwrap();
        (folder, state)
    }

    #[test]
    fn a_key_that_only_credproxy_can_have_written_is_read() {
        let (_folder, state) = state();
        let owner = state.metadata().unwrap().uid();
        assert_eq!(public_key(&state, owner).unwrap().as_bytes(), &[0xab; 32]);
    }

    #[test]
    fn a_key_that_somebody_else_may_have_written_is_refused() {
        fn mode(path: PathBuf, mode: u32) {
            std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        }
        let weaken: [fn(&Path); 4] = [
            |state| mode(state.to_owned(), 0o777),
            |state| mode(state.join("credproxy"), 0o775),
            |state| mode(state.join("credproxy/public.key"), 0o666),
            |state| {
                let key = state.join("credproxy/public.key");
                std::fs::rename(&key, state.join("other")).unwrap();
                symlink(state.join("other"), key).unwrap();
            },
        ];
        for (number, weaken) in weaken.iter().enumerate() {
            let (_folder, state) = state();
            let owner = state.metadata().unwrap().uid();
            weaken(&state);
            assert!(public_key(&state, owner).is_err(), "weakness {number}");
        }
        let (_folder, state) = state();
        let owner = state.metadata().unwrap().uid();
        assert!(public_key(&state, owner + 1).is_err());
    }

    #[test]
    fn a_key_is_64_hex_digits_and_nothing_else() {
        assert!(parse(&"0f".repeat(32)).is_some());
        let long = "0f".repeat(33);
        let signed = format!("+{}", "0".repeat(63));
        for wrong in ["", "0f", long.as_str(), signed.as_str(), "0f\n\n"] {
            assert!(parse(wrong).is_none(), "{wrong}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_at_all_is_a_key_or_none(text: String) {
            let _ = parse(&text);
        }
    }
}
