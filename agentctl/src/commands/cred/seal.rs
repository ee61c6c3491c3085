//! Sealing to credproxy's public key. Its file is trusted only if nobody but agentd and credproxy can write there.

use crate::app::App;
use crate::failure::Failure;
use crate::host;
use crypto_box::PublicKey;
use crypto_box::aead::OsRng;
use ipc_proto::Blob;
use ipc_proto::control::ControlError;
use ipc_proto::credproxy::CredError;
use nix::fcntl::{OFlag, open, openat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat};
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::Path;

/// Bytes that sealing adds: an ephemeral public key and a tag.
pub(super) const SEAL: usize = 48;
/// Bytes of the key file: 64 hex digits and a line break.
const KEY_FILE: u64 = 65;
/// The number of times that the key is read: credproxy makes a new one at each start, and after each parcel.
const KEYS: usize = 8;

/// Seals these bytes and sends them; again if credproxy has another key by then, because it restarted or another parcel
/// came first.
///
/// # Errors
/// The key is not to be trusted, or the failure of `send`.
pub(super) async fn send<T>(
    app: &App,
    plain: &[u8],
    send: impl AsyncFn(Vec<u8>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut key = read(app).await?;
    for _ in 1..KEYS {
        let outcome = send(sealed(&key, plain)?).await;
        if !matches!(&outcome, Err(Failure::Control(ControlError::Cred(CredError::NotSealed)))) {
            return outcome;
        }
        let now = read(app).await?;
        if now.as_bytes() == key.as_bytes() {
            return outcome;
        }
        key = now;
    }
    send(sealed(&key, plain)?).await
}

fn sealed(key: &PublicKey, plain: &[u8]) -> Result<Vec<u8>, Failure> {
    key.seal(&mut OsRng, plain).map_err(|_| Failure::Seal)
}

/// Sealed bytes within the bound of a method.
///
/// # Errors
/// They are too many.
pub(super) fn bounded<const N: usize>(sealed: Vec<u8>) -> Result<Blob<N>, Failure> {
    Blob::new(sealed).map_err(|why| Failure::TooLong { what: "the sealed value", why })
}

async fn read(app: &App) -> Result<PublicKey, Failure> {
    let host = host::status(app).await?;
    public_key(Path::new(host.state_dir.as_str()), app.link.peer()?.uid)
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
