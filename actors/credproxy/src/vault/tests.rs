//! The vault on a real folder: what it keeps, what it refuses, and what a crash or a stranger's file does to it.

use super::*;
use crate::testing::{seal, text};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const VALUE: &str = "sk-live-0123456789abcdef";

fn open(folder: &Path) -> Result<Vault, VaultFault> {
    Vault::open(Store::open(folder).unwrap())
}

fn put(vault: &mut Vault, folder: &Path, name: &str, hosts: &[&str], value: &str) {
    let hosts: Vec<_> = hosts.iter().map(|host| text(host)).collect();
    let fresh = vault.unseal(name, &hosts, &seal(folder, name, &hosts, value)).unwrap();
    vault.put(&fresh, 7).unwrap();
}

fn target(host_port: &str) -> HostPort {
    host_port.parse().unwrap()
}

fn a_vault_with_one_secret() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut vault = open(folder.path()).unwrap();
    put(&mut vault, folder.path(), "openai", &["api.example.com"], VALUE);
    folder
}

fn reveal(vault: &Vault, name: &str, host_port: &str) -> Result<Vec<u8>, CredError> {
    vault.reveal(name, &target(host_port)).map(|secret| secret.reveal().to_vec())
}

#[test]
fn what_was_stored_is_there_after_a_restart_and_removed_is_removed() {
    let folder = a_vault_with_one_secret();
    let mut vault = open(folder.path()).unwrap();
    assert_eq!(reveal(&vault, "openai", "api.example.com:443").unwrap(), VALUE.as_bytes());
    put(&mut vault, folder.path(), "openai", &["api.example.com"], "another-value-1");
    let mut vault = open(folder.path()).unwrap();
    assert_eq!(reveal(&vault, "openai", "api.example.com:443").unwrap(), b"another-value-1");
    vault.remove("openai").unwrap();
    assert_eq!(
        reveal(&open(folder.path()).unwrap(), "openai", "api.example.com:443"),
        Err(CredError::NoSecret)
    );
}

#[test]
fn a_secret_goes_to_the_hosts_it_is_bound_to_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let mut vault = open(folder.path()).unwrap();
    put(&mut vault, folder.path(), "k", &["API.example.com.", "local.test:8080", "[::1]:9"], VALUE);
    for allowed in ["api.example.com:443", "api.example.com:8443", "local.test:8080", "[::1]:9"] {
        assert!(reveal(&vault, "k", allowed).is_ok(), "{allowed}");
    }
    for refused in ["example.com:443", "xapi.example.com:443", "local.test:443", "[::1]:443", "127.0.0.1:9"] {
        assert_eq!(reveal(&vault, "k", refused), Err(CredError::NotBound), "{refused}");
    }
}

#[test]
fn a_value_sealed_for_one_name_or_host_is_not_stored_for_another() {
    let folder = tempfile::tempdir().unwrap();
    let vault = open(folder.path()).unwrap();
    let (good, evil) = ([text("api.example.com")], [text("evil.test")]);
    let sealed = seal(folder.path(), "k", &good, VALUE);
    assert!(vault.unseal("k", &good, &sealed).is_ok());
    let refused = |name: &str, hosts: &[_], sealed: &[u8]| vault.unseal(name, hosts, sealed).err();
    assert_eq!(refused("k", &evil, &sealed), Some(CredError::NotSealed));
    assert_eq!(refused("other", &good, &sealed), Some(CredError::NotSealed));
    assert_eq!(refused("k", &[good[0].clone(), evil[0].clone()], &sealed), Some(CredError::NotSealed));
    assert_eq!(refused("k", &good, VALUE.as_bytes()), Some(CredError::NotSealed));
    assert_eq!(refused("k", &good, &[]), Some(CredError::NotSealed));
    let elsewhere = tempfile::tempdir().unwrap();
    drop(open(elsewhere.path()).unwrap());
    assert_eq!(refused("k", &good, &seal(elsewhere.path(), "k", &good, VALUE)), Some(CredError::NotSealed));
}

#[test]
fn bad_names_hosts_and_values_are_refused_before_anything_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    let vault = open(folder.path()).unwrap();
    let ask = |name: &str, hosts: &[&str], value: &str| {
        let hosts: Vec<_> = hosts.iter().map(|host| text(host)).collect();
        vault.unseal(name, &hosts, &seal(folder.path(), name, &hosts, value)).err()
    };
    for name in ["", "a b", "a/b", "..\\x", "a\n"] {
        assert_eq!(ask(name, &["a.com"], VALUE), Some(CredError::BadBinding), "{name:?}");
    }
    for host in ["*", "*.example.com", "https://a.com", "a.com/", "a.com:0", "a@b.com", "", "127.1"] {
        assert_eq!(ask("k", &["ok.com", host], VALUE), Some(CredError::BadBinding), "{host}");
    }
    assert_eq!(ask("k", &[], VALUE), Some(CredError::BadBinding));
    for value in ["", "short", "line\r\nbreak: in", "tab\tin-it-123"] {
        assert_eq!(ask("k", &["a.com"], value), Some(CredError::BadValue), "{value:?}");
    }
}

#[test]
fn nothing_of_a_value_is_on_disk_and_only_the_public_key_can_be_read_by_others() {
    let folder = a_vault_with_one_secret();
    let modes = [(VAULT_FILE, 0o600), (KEY_FILE, 0o600), (PUBLIC_FILE, 0o644)];
    for (name, mode) in modes {
        let path = folder.path().join(name);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode, "{name}");
        let bytes = fs::read(&path).unwrap();
        for word in [VALUE, "openai", "api.example.com"] {
            assert!(!bytes.windows(word.len()).any(|run| run == word.as_bytes()), "{word} in {name}");
        }
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), modes.len());
    assert_eq!(fs::metadata(folder.path()).unwrap().permissions().mode() & 0o777, 0o711);
}

#[test]
fn a_vault_cut_short_at_any_byte_is_told_so_and_left_as_it_is() {
    let folder = a_vault_with_one_secret();
    let path = folder.path().join(VAULT_FILE);
    let whole = fs::read(&path).unwrap();
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        let fault = open(folder.path()).err().unwrap();
        assert!(matches!(fault, VaultFault::Format(FormatFault::Short { .. })), "{length}: {fault}");
        assert_eq!(fs::read(&path).unwrap(), &whole[..length]);
    }
}

#[test]
fn a_vault_with_any_byte_altered_is_told_so_and_left_as_it_is() {
    let folder = a_vault_with_one_secret();
    let path = folder.path().join(VAULT_FILE);
    let whole = fs::read(&path).unwrap();
    for at in 8..whole.len() {
        let mut altered = whole.clone();
        altered[at] ^= 1;
        fs::write(&path, &altered).unwrap();
        let fault = open(folder.path()).err().unwrap();
        let told = matches!(fault, VaultFault::Format(FormatFault::Altered | FormatFault::Short { .. }));
        assert!(told, "{at}: {fault}");
        assert_eq!(fs::read(&path).unwrap(), altered);
    }
}

#[test]
fn an_alteration_with_a_checksum_that_holds_is_seen_by_the_seal() {
    let folder = a_vault_with_one_secret();
    let path = folder.path().join(VAULT_FILE);
    let whole = fs::read(&path).unwrap();
    let (id, body) = (whole[8..24].try_into().unwrap(), &whole[32..whole.len() - 32]);
    for at in [0, 23, 24, body.len() / 2, body.len() - 1] {
        let mut body = body.to_vec();
        body[at] ^= 1;
        fs::write(&path, format::encode(&id, &body)).unwrap();
        assert!(matches!(open(folder.path()).err().unwrap(), VaultFault::Sealed(_)), "{at}");
    }
}

#[test]
fn a_vault_of_another_host_a_foreign_file_and_a_missing_key_are_told_apart_and_left_as_they_are() {
    let (folder, other) = (a_vault_with_one_secret(), a_vault_with_one_secret());
    let path = folder.path().join(VAULT_FILE);
    let check = |bytes: Vec<u8>, want: FormatFault| {
        fs::write(&path, &bytes).unwrap();
        let fault = open(folder.path()).err().unwrap();
        assert!(matches!(fault, VaultFault::Format(have) if have == want), "{fault}");
        assert_eq!(fs::read(&path).unwrap(), bytes);
    };
    check(fs::read(other.path().join(VAULT_FILE)).unwrap(), FormatFault::OtherKey);
    check(b"SQLite format 3\0".repeat(10), FormatFault::Foreign);
    let mut newer = fs::read(other.path().join(VAULT_FILE)).unwrap();
    newer[7] = b'2';
    check(newer, FormatFault::Version);
    fs::remove_file(folder.path().join(KEY_FILE)).unwrap();
    assert!(matches!(open(folder.path()).err().unwrap(), VaultFault::NoKey));
    assert!(!folder.path().join(KEY_FILE).exists());
}

#[test]
fn a_key_file_that_others_can_read_or_that_holds_no_key_is_refused() {
    let folder = a_vault_with_one_secret();
    let path = folder.path().join(KEY_FILE);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    assert!(matches!(open(folder.path()).err().unwrap(), VaultFault::OpenKey(0o640)));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    for bad in ["", "00", &"g".repeat(64), &"0".repeat(63), &"0".repeat(66)] {
        fs::write(&path, bad).unwrap();
        assert!(matches!(open(folder.path()).err().unwrap(), VaultFault::BadKey), "{bad:?}");
    }
}

/// A crash while a new vault is written leaves any prefix of it beside the old one.
#[test]
fn a_crash_at_any_byte_of_a_rewrite_leaves_the_old_vault_and_the_next_rewrite_works() {
    let folder = a_vault_with_one_secret();
    let whole = fs::read(folder.path().join(VAULT_FILE)).unwrap();
    for length in (0..whole.len()).step_by(7) {
        fs::write(folder.path().join("vault.new"), &whole[..length]).unwrap();
        let vault = open(folder.path()).unwrap();
        assert_eq!(reveal(&vault, "openai", "api.example.com:443").unwrap(), VALUE.as_bytes());
    }
    let mut vault = open(folder.path()).unwrap();
    put(&mut vault, folder.path(), "second", &["b.test"], VALUE);
    assert!(reveal(&open(folder.path()).unwrap(), "second", "b.test:443").is_ok());
}

/// A crash at first start, after the key and before the vault.
#[test]
fn a_first_start_that_was_cut_off_after_the_key_is_taken_up_again() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path()).unwrap());
    let key = fs::read(folder.path().join(KEY_FILE)).unwrap();
    fs::remove_file(folder.path().join(VAULT_FILE)).unwrap();
    fs::remove_file(folder.path().join(PUBLIC_FILE)).unwrap();
    drop(open(folder.path()).unwrap());
    assert_eq!(fs::read(folder.path().join(KEY_FILE)).unwrap(), key);
    assert!(folder.path().join(PUBLIC_FILE).exists());
}

#[test]
fn a_change_that_cannot_be_written_changes_nothing() {
    let folder = a_vault_with_one_secret();
    let mut vault = open(folder.path()).unwrap();
    // A folder where the new file would be makes the write fail, as a full disk does.
    fs::create_dir(folder.path().join("vault.new")).unwrap();
    let hosts = [text("b.test")];
    let fresh = vault.unseal("second", &hosts, &seal(folder.path(), "second", &hosts, VALUE)).unwrap();
    assert!(matches!(vault.put(&fresh, 1), Err(VaultFault::File(VAULT_FILE, _))));
    assert!(!vault.has("second"));
    assert!(vault.remove("openai").is_err());
    assert!(vault.has("openai"));
}

#[test]
fn the_vault_holds_256_secrets_and_says_when_it_is_full() {
    let folder = tempfile::tempdir().unwrap();
    let mut vault = open(folder.path()).unwrap();
    let entry = Entry {
        version: 1,
        hosts: vec!["a.com".into()],
        set_ms: 0,
        value: Envelope::seal(&vault.keys.wrapping, &associated("s", 1, &["a.com".into()]), VALUE.as_bytes())
            .unwrap(),
    };
    for number in 0..SECRETS {
        vault.index.secrets.insert(format!("s{number}"), entry.clone());
    }
    let hosts = [text("a.com")];
    let ask = |name: &str| vault.unseal(name, &hosts, &seal(folder.path(), name, &hosts, VALUE)).err();
    assert_eq!(ask("one-more"), Some(CredError::Full));
    assert_eq!(ask("s7"), None);
}
