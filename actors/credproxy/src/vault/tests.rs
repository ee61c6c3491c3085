//! The vault on a real folder: what it keeps, what it refuses, and what a crash or a stranger's file does to it.

mod bounds;
mod keys;

use super::keys::{KEY_FILE, NEXT_KEY_FILE};
use super::*;
use crate::envelope::Key;
use crate::format::FormatFault;
use ipc_proto::Name;
use ipc_proto::config::KeySource;
use ipc_proto::credproxy::Verb;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const VALUE: &str = "sk-live-0123456789abcdef";

fn sources(want: KeySource) -> Sources {
    Sources { want, credential: None }
}

/// A life of the process: what it finds in the folder, and in the page that outlives it.
fn life(folder: &Path, sources: Sources, key_store: KeyStore) -> Result<Held, VaultFault> {
    super::open(Arc::new(Store::open(folder).unwrap()), sources, key_store)
}

fn held_open(held: Held) -> Vault {
    match held {
        Held::Open(vault) => *vault,
        Held::Locked(_) => panic!("it is locked"),
    }
}

fn open(folder: &Path) -> Result<Vault, VaultFault> {
    life(folder, sources(KeySource::File), KeyStore::default()).map(held_open)
}

fn bound(hosts: &[&str]) -> Binding {
    crate::testing::hosts(hosts)
}

fn fresh(
    vault: &Vault,
    name: &str,
    binding: &Binding,
    lease: Lease,
    value: &str,
) -> Result<Fresh, CredError> {
    let mut plain = ipc_proto::credproxy::binding(name, binding, lease);
    plain.extend(value.as_bytes());
    vault.judge(name, binding, lease, &plain)
}

fn put(vault: &mut Vault, name: &str, hosts: &[&str], value: &str) {
    let fresh = fresh(vault, name, &bound(hosts), Lease::default(), value).unwrap();
    vault.put(&fresh, 7).unwrap();
}

fn wanted(host_port: &str) -> Wanted {
    let at = At::Header { name: Name::clip("authorization"), prefix: Text::clip("Bearer ") };
    Wanted { target: host_port.parse().unwrap(), verb: Verb::Get, path: "/".to_owned(), at }
}

fn a_vault_with_one_secret() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    put(&mut open(folder.path()).unwrap(), "openai", &["api.example.com"], VALUE);
    folder
}

fn reveal(vault: &mut Vault, name: &str, host_port: &str) -> Result<Vec<u8>, CredError> {
    vault.reveal(name, &wanted(host_port), 1000).map(|secret| secret.reveal().to_vec())
}

fn holds_the_secret(folder: &Path) -> bool {
    reveal(&mut open(folder).unwrap(), "openai", "api.example.com:443").unwrap() == VALUE.as_bytes()
}

#[test]
fn what_was_stored_is_there_after_a_restart_and_removed_is_removed() {
    let folder = a_vault_with_one_secret();
    assert!(holds_the_secret(folder.path()));
    put(&mut open(folder.path()).unwrap(), "openai", &["api.example.com"], "another-value-1");
    let mut vault = open(folder.path()).unwrap();
    assert_eq!(reveal(&mut vault, "openai", "api.example.com:443").unwrap(), b"another-value-1");
    vault.remove("openai").unwrap();
    let mut vault = open(folder.path()).unwrap();
    assert_eq!(reveal(&mut vault, "openai", "api.example.com:443"), Err(CredError::NoSecret));
}

#[test]
fn a_secret_goes_to_the_hosts_it_is_bound_to_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let mut vault = open(folder.path()).unwrap();
    put(&mut vault, "k", &["API.example.com.", "local.test:8080", "[::1]:9"], VALUE);
    for allowed in ["api.example.com:443", "api.example.com:8443", "local.test:8080", "[::1]:9"] {
        assert!(reveal(&mut vault, "k", allowed).is_ok(), "{allowed}");
    }
    for refused in ["example.com:443", "xapi.example.com:443", "local.test:443", "[::1]:443", "127.0.0.1:9"] {
        assert_eq!(reveal(&mut vault, "k", refused), Err(CredError::NotBound), "{refused}");
    }
}

// Holds P4-11.
#[test]
fn a_value_sealed_for_one_name_or_host_is_not_stored_for_another() {
    let folder = tempfile::tempdir().unwrap();
    let vault = open(folder.path()).unwrap();
    let (good, evil) = (bound(&["api.example.com"]), bound(&["evil.test"]));
    let both = bound(&["api.example.com", "evil.test"]);
    let plain = [ipc_proto::credproxy::binding("k", &good, Lease::default()), VALUE.into()].concat();
    let judged = |name: &str, bound: &Binding, lease: Lease| vault.judge(name, bound, lease, &plain).err();
    assert_eq!(judged("k", &good, Lease::default()), None);
    let reads = Binding { verbs: List::new([Verb::Get]).unwrap(), ..good.clone() };
    for (name, bound) in [("k", &evil), ("other", &good), ("k", &both), ("k", &reads)] {
        assert_eq!(judged(name, bound, Lease::default()), Some(CredError::NotSealed), "{name}");
    }
    let longer = Lease { until_ms: Some(u64::MAX), uses: None };
    assert_eq!(judged("k", &good, longer), Some(CredError::NotSealed));
    for unsealed in [VALUE.as_bytes(), &[]] {
        assert_eq!(vault.judge("k", &good, Lease::default(), unsealed).err(), Some(CredError::NotSealed));
    }
}

#[test]
fn bad_names_hosts_and_values_are_refused_before_anything_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    let vault = open(folder.path()).unwrap();
    let ask =
        |name: &str, bound: &Binding, value: &str| fresh(&vault, name, bound, Lease::default(), value).err();
    let good = bound(&["a.com"]);
    for name in ["", "a b", "a/b", "..\\x", "a\n"] {
        assert_eq!(ask(name, &good, VALUE), Some(CredError::BadBinding), "{name:?}");
    }
    for host in ["*", "*.example.com", "https://a.com", "a.com/", "a.com:0", "a@b.com", "", "127.1"] {
        assert_eq!(ask("k", &bound(&["ok.com", host]), VALUE), Some(CredError::BadBinding), "{host}");
    }
    assert_eq!(ask("k", &bound(&[]), VALUE), Some(CredError::BadBinding));
    for path in ["", "v1", "/a b", "/a?b", "/a#b", "/\u{e9}", "/a/../b", "/a/%2e%2e", "/a%2fb"] {
        let paths = List::new([Text::clip(path)]).unwrap();
        assert_eq!(
            ask("k", &Binding { paths, ..good.clone() }, VALUE),
            Some(CredError::BadBinding),
            "{path}"
        );
    }
    let header = |name: &str, prefix: &str| At::Header { name: Name::clip(name), prefix: Text::clip(prefix) };
    let query = |name: &str| At::Query { name: Name::clip(name) };
    let carried = ["Cookie", "host", "content-length", "Transfer-Encoding"].map(|name| header(name, ""));
    let malformed = [header("", ""), header("a b", ""), header("a", "\r\n"), query(""), query("\n")];
    for place in carried.iter().chain(&malformed) {
        let at = List::new([place.clone()]).unwrap();
        assert_eq!(
            ask("k", &Binding { at, ..good.clone() }, VALUE),
            Some(CredError::BadBinding),
            "{place:?}"
        );
    }
    for value in ["", "short", "line\r\nbreak: in", "tab\tin-it-123"] {
        assert_eq!(ask("k", &good, value), Some(CredError::BadValue), "{value:?}");
    }
}

#[test]
fn no_value_is_on_disk_and_others_read_the_public_key_alone() {
    let folder = a_vault_with_one_secret();
    drop(crate::testing::start(Store::open(folder.path()).unwrap()));
    let modes = [
        (VAULT_FILE, 0o600),
        (KEY_FILE, 0o600),
        (HOST_FILE, 0o600),
        (crate::sealing_key::PUBLIC_FILE, 0o644),
    ];
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

// Holds P4-25.
#[test]
fn an_alteration_with_a_checksum_that_holds_is_seen_by_the_seal() {
    let folder = a_vault_with_one_secret();
    let path = folder.path().join(VAULT_FILE);
    let file = fs::read(&path).unwrap();
    let whole = format::decode(&file).unwrap();
    let (head, body) = (whole.written.to_vec(), whole.body.to_vec());
    for at in [0, 23, 24, body.len() / 2, body.len() - 1] {
        let mut body = body.clone();
        body[at] ^= 1;
        fs::write(&path, format::encode(&head, &body)).unwrap();
        assert!(matches!(open(folder.path()).err().unwrap(), VaultFault::Sealed(_)), "{at}");
    }
    // The head of another host over this body, where nothing says whose vault this is.
    let other = Head { host: [1; 16], ..whole.head }.encode();
    fs::write(&path, format::encode(&other, &body)).unwrap();
    fs::remove_file(folder.path().join(HOST_FILE)).unwrap();
    assert!(matches!(open(folder.path()).err().unwrap(), VaultFault::Sealed(_)));
}

// Holds P4-25.
#[test]
fn another_hosts_vault_a_foreign_file_and_a_missing_key_differ_and_stay() {
    let (folder, other) = (a_vault_with_one_secret(), a_vault_with_one_secret());
    let path = folder.path().join(VAULT_FILE);
    let check = |bytes: Vec<u8>, told: fn(&VaultFault) -> bool| {
        fs::write(&path, &bytes).unwrap();
        let fault = open(folder.path()).err().unwrap();
        assert!(told(&fault), "{fault}");
        assert_eq!(fs::read(&path).unwrap(), bytes);
    };
    let own = fs::read(&path).unwrap();
    let another = fs::read(other.path().join(VAULT_FILE)).unwrap();
    check(another.clone(), |fault| matches!(fault, VaultFault::OtherHost));
    let foreign = |fault: &VaultFault| matches!(fault, VaultFault::Format(FormatFault::Foreign));
    check(b"SQLite format 3\0".repeat(10), foreign);
    let key = fs::read(folder.path().join(KEY_FILE)).unwrap();
    fs::copy(other.path().join(KEY_FILE), folder.path().join(KEY_FILE)).unwrap();
    check(own.clone(), |fault| matches!(fault, VaultFault::OtherKey));
    fs::remove_file(folder.path().join(KEY_FILE)).unwrap();
    check(own, |fault| matches!(fault, VaultFault::NoKey));
    assert!(!folder.path().join(KEY_FILE).exists());
    // A person who moves a vault on purpose moves its key as well, and removes the id.
    fs::write(&path, another).unwrap();
    fs::copy(other.path().join(KEY_FILE), folder.path().join(KEY_FILE)).unwrap();
    fs::remove_file(folder.path().join(HOST_FILE)).unwrap();
    assert!(holds_the_secret(folder.path()) && fs::read(folder.path().join(KEY_FILE)).unwrap() != key);
}

// Holds P4-25.
#[test]
fn a_vault_id_that_names_no_host_is_refused_and_left_as_it_is() {
    let folder = a_vault_with_one_secret();
    let path = folder.path().join(HOST_FILE);
    let own = fs::read_to_string(&path).unwrap();
    for bad in ["", &own[..16], &own.replace(|c: char| c.is_ascii_digit(), "x")] {
        fs::write(&path, bad).unwrap();
        assert!(matches!(open(folder.path()).err().unwrap(), VaultFault::BadHost), "{bad:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), bad);
    }
    fs::write(&path, own).unwrap();
    assert!(holds_the_secret(folder.path()));
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
        assert!(matches!(open(folder.path()).err().unwrap(), VaultFault::BadKey(_)), "{bad:?}");
    }
}

/// A crash while a new vault is written leaves any prefix of it beside the old one.
// Holds P7-47.
#[test]
fn a_crash_within_a_rewrite_leaves_the_old_vault_to_be_rewritten() {
    let folder = a_vault_with_one_secret();
    let whole = fs::read(folder.path().join(VAULT_FILE)).unwrap();
    for length in (0..whole.len()).step_by(7) {
        fs::write(folder.path().join("vault.new"), &whole[..length]).unwrap();
        assert!(holds_the_secret(folder.path()), "{length}");
    }
    put(&mut open(folder.path()).unwrap(), "second", &["b.test"], VALUE);
    assert!(reveal(&mut open(folder.path()).unwrap(), "second", "b.test:443").is_ok());
}

/// A crash at first start, after the key and before the vault.
#[test]
fn a_first_start_that_was_cut_off_after_the_key_is_taken_up_again() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path()).unwrap());
    let key = fs::read(folder.path().join(KEY_FILE)).unwrap();
    fs::remove_file(folder.path().join(VAULT_FILE)).unwrap();
    fs::remove_file(folder.path().join(HOST_FILE)).unwrap();
    drop(open(folder.path()).unwrap());
    assert_eq!(fs::read(folder.path().join(KEY_FILE)).unwrap(), key);
    assert!(folder.path().join(HOST_FILE).exists());
}

#[test]
fn a_change_that_cannot_be_written_changes_nothing() {
    let folder = a_vault_with_one_secret();
    let mut vault = open(folder.path()).unwrap();
    // A folder where the new file would be makes the write fail, as a full disk does.
    fs::create_dir(folder.path().join("vault.new")).unwrap();
    let second = fresh(&vault, "second", &bound(&["b.test"]), Lease::default(), VALUE).unwrap();
    assert!(matches!(vault.put(&second, 1), Err(VaultFault::File(VAULT_FILE, _))));
    assert!(!vault.has("second"));
    assert!(vault.remove("openai").is_err() && vault.revoke("openai").is_err());
    assert!(vault.has("openai") && reveal(&mut vault, "openai", "api.example.com:443").is_ok());
}

// Holds P7-49.
#[test]
fn a_vault_of_another_version_is_refused_and_left_as_it_is() {
    let folder = a_vault_with_one_secret();
    let path = folder.path().join(VAULT_FILE);
    let mut newer = fs::read(&path).unwrap();
    assert!(newer.starts_with(b"CORDNVT1"));
    newer[7] = b'2';
    fs::write(&path, &newer).unwrap();
    assert!(matches!(open(folder.path()).err(), Some(VaultFault::Format(FormatFault::Version))));
    assert_eq!(fs::read(&path).unwrap(), newer);
}
