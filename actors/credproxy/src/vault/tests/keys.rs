//! Keys of a vault: passphrases, credentials, and key files that change. A process may end at every step of a change.

use super::*;
use crate::vault::rekey::Step;
use crypto_box::SecretKey;
use ipc_proto::credproxy::Exported;

const PASSPHRASE: &[u8] = b"correct horse battery";
const ANOTHER: &[u8] = b"a second passphrase";

fn locked(held: Held) -> Locked {
    match held {
        Held::Locked(locked) => locked,
        Held::Open(_) => panic!("it is open"),
    }
}

fn by_passphrase(folder: &Path) -> Locked {
    locked(life(folder, sources(KeySource::Passphrase), KeyStore::default()).unwrap())
}

fn unlock(folder: &Path, passphrase: &[u8]) -> Result<Vault, VaultFault> {
    let mut locked = by_passphrase(folder);
    let unlocked = locked.unlock(passphrase)?;
    locked.enter(unlocked)
}

fn a_vault_under_a_passphrase() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    put(&mut unlock(folder.path(), PASSPHRASE).unwrap(), "openai", &["api.example.com"], VALUE);
    folder
}

fn is_whole(vault: &mut Vault) -> bool {
    reveal(vault, "openai", "api.example.com:443").unwrap() == VALUE.as_bytes()
}

fn file(folder: &Path, name: &str) -> Vec<u8> {
    fs::read(folder.join(name)).unwrap()
}

// Holds P4-24.
#[test]
fn a_passphrase_makes_and_reopens_a_vault_without_a_key_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    assert!(by_passphrase(folder.path()).empty && !folder.path().join(VAULT_FILE).exists());
    drop(unlock(folder.path(), PASSPHRASE).unwrap());
    let locked = by_passphrase(folder.path());
    assert!(!locked.empty && !folder.path().join(KEY_FILE).exists());
    let folder = a_vault_under_a_passphrase();
    let mut vault = unlock(folder.path(), PASSPHRASE).unwrap();
    assert!(is_whole(&mut vault) && vault.head().opener.source() == KeySource::Passphrase);
}

// Holds P4-25.
#[test]
fn each_reason_that_keeps_a_vault_shut_is_reported_and_nothing_changes() {
    let (folder, other) = (a_vault_under_a_passphrase(), a_vault_under_a_passphrase());
    let path = folder.path().join(VAULT_FILE);
    let whole = fs::read(&path).unwrap();
    let locked = by_passphrase(folder.path());
    assert!(matches!(locked.unlock(ANOTHER), Err(VaultFault::WrongPassphrase)));
    assert_eq!(fs::read(&path).unwrap(), whole);
    let check = |bytes: &[u8], told: fn(&VaultFault) -> bool| {
        fs::write(&path, bytes).unwrap();
        // At the start as when it is unlocked, with the right passphrase as with a wrong one.
        for passphrase in [PASSPHRASE, ANOTHER] {
            let fault = locked.unlock(passphrase).err().unwrap();
            assert!(told(&fault), "{fault}");
        }
        let fault = life(folder.path(), sources(KeySource::Passphrase), KeyStore::default()).err().unwrap();
        assert!(told(&fault), "{fault}");
        assert_eq!(fs::read(&path).unwrap(), bytes);
    };
    let short = |fault: &VaultFault| matches!(fault, VaultFault::Format(FormatFault::Short { .. }));
    check(&whole[..whole.len() - 1], short);
    let mut altered = whole.clone();
    altered[whole.len() / 2] ^= 1;
    check(&altered, |fault| matches!(fault, VaultFault::Format(FormatFault::Altered)));
    check(&file(other.path(), VAULT_FILE), |fault| matches!(fault, VaultFault::OtherHost));
}

// Holds P4-24.
#[test]
fn the_key_in_the_page_opens_its_own_vault_and_no_other() {
    let (folder, other) = (a_vault_under_a_passphrase(), a_vault_under_a_passphrase());
    let next =
        |vault: Vault, folder: &Path| life(folder, sources(KeySource::Passphrase), vault.key_store).unwrap();
    let vault = unlock(folder.path(), PASSPHRASE).unwrap();
    let held = next(vault, folder.path());
    assert!(is_whole(&mut held_open(held)));
    let vault = unlock(folder.path(), PASSPHRASE).unwrap();
    assert!(!locked(next(vault, other.path())).empty);
}

#[test]
fn a_credential_opens_the_vault_and_another_or_none_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let with = |key: Option<[u8; 32]>| Sources {
        want: KeySource::Systemd,
        credential: key.and_then(|key| Key::from_slice(&key)),
    };
    let open = |key| life(folder.path(), with(key), KeyStore::default());
    assert!(matches!(open(None).err(), Some(VaultFault::NoCredential)));
    put(&mut held_open(open(Some([1; 32])).unwrap()), "openai", &["api.example.com"], VALUE);
    let mut vault = held_open(open(Some([1; 32])).unwrap());
    assert!(is_whole(&mut vault) && !folder.path().join(KEY_FILE).exists());
    assert!(matches!(open(Some([2; 32])).err(), Some(VaultFault::OtherCredential)));
    assert!(matches!(open(None).err(), Some(VaultFault::NoCredential)));
}

#[test]
fn another_passphrase_needs_the_present_one_and_rewraps_the_data_keys() {
    let folder = a_vault_under_a_passphrase();
    let mut vault = unlock(folder.path(), PASSPHRASE).unwrap();
    assert!(matches!(vault.passphrase(ANOTHER, ANOTHER), Err(VaultFault::WrongPassphrase)));
    let rekeying = vault.passphrase(PASSPHRASE, ANOTHER).unwrap().unwrap();
    assert_eq!(rekeying.step(), Step::Rewrap);
    vault.rekey(rekeying).unwrap();
    assert!(is_whole(&mut vault));
    assert!(matches!(vault.passphrase(PASSPHRASE, ANOTHER), Ok(None)), "asked again it is done");
    assert!(matches!(unlock(folder.path(), PASSPHRASE), Err(VaultFault::WrongPassphrase)));
    assert!(is_whole(&mut unlock(folder.path(), ANOTHER).unwrap()));
    let held = life(folder.path(), sources(KeySource::Passphrase), vault.key_store).unwrap();
    assert!(is_whole(&mut held_open(held)), "the page has the new key");
}

#[test]
fn the_key_file_proves_a_change_to_a_passphrase_and_is_removed() {
    let folder = a_vault_with_one_secret();
    let held = life(folder.path(), sources(KeySource::Passphrase), KeyStore::default()).unwrap();
    let mut vault = held_open(held);
    assert!(matches!(vault.passphrase(&[b'0'; 64], PASSPHRASE), Err(VaultFault::WrongPassphrase)));
    assert!(matches!(vault.check(PASSPHRASE), Err(VaultFault::NotByPassphrase)));
    let key = file(folder.path(), KEY_FILE);
    let rekeying = vault.passphrase(&key, PASSPHRASE).unwrap().unwrap();
    vault.rekey(rekeying).unwrap();
    assert!(!folder.path().join(KEY_FILE).exists());
    assert!(is_whole(&mut unlock(folder.path(), PASSPHRASE).unwrap()));
    // A key file that is configured again is used from the next rotation on.
    let mut locked = locked(life(folder.path(), sources(KeySource::File), KeyStore::default()).unwrap());
    let unlocked = locked.unlock(PASSPHRASE).unwrap();
    let mut vault = locked.enter(unlocked).unwrap();
    assert!(matches!(vault.passphrase(PASSPHRASE, ANOTHER), Err(VaultFault::NotByPassphrase)));
    let rotation = vault.rotation().unwrap();
    vault.rekey(rotation).unwrap();
    assert!(holds_the_secret(folder.path()));
}

#[test]
fn a_rotation_reseals_every_value_and_replaces_the_key_file() {
    let folder = a_vault_with_one_secret();
    let (vault_before, key_before) = (file(folder.path(), VAULT_FILE), file(folder.path(), KEY_FILE));
    let mut vault = open(folder.path()).unwrap();
    let before = serde_json::to_string(&vault.index.secrets["openai"].value).unwrap();
    let rotation = vault.rotation().unwrap();
    assert_eq!(rotation.step(), Step::Reseal);
    vault.rekey(rotation).unwrap();
    let after = serde_json::to_string(&vault.index.secrets["openai"].value).unwrap();
    assert!(before != after && is_whole(&mut vault) && holds_the_secret(folder.path()));
    assert_ne!(file(folder.path(), KEY_FILE), key_before);
    assert!(!folder.path().join(NEXT_KEY_FILE).exists());
    fs::write(folder.path().join(VAULT_FILE), vault_before).unwrap();
    assert!(matches!(open(folder.path()).err(), Some(VaultFault::OtherKey)));
}

/// The states that a death at each step of a rotation leaves, made of the files before it and after it.
// Holds P7-48.
#[test]
fn a_rotation_cut_off_at_any_step_leaves_a_vault_that_rotates_again() {
    let folder = a_vault_with_one_secret();
    let names = [VAULT_FILE, KEY_FILE];
    let before = names.map(|name| file(folder.path(), name));
    let mut vault = open(folder.path()).unwrap();
    let rotation = vault.rotation().unwrap();
    vault.rekey(rotation).unwrap();
    let after = names.map(|name| file(folder.path(), name));
    let ([old_vault, old_key], [new_vault, new_key]) = (&before, &after);
    let torn = &new_vault[..new_vault.len() / 2];
    type State<'a> = (&'a str, &'a [u8], &'a [u8], Option<&'a [u8]>, Option<&'a [u8]>);
    let states: [State<'_>; 5] = [
        ("before the key is written", old_vault, old_key, None, None),
        ("the key is written", old_vault, old_key, Some(new_key), None),
        ("the vault is half written", old_vault, old_key, Some(new_key), Some(torn)),
        ("the vault is written", new_vault, old_key, Some(new_key), None),
        ("the key is in its place", new_vault, new_key, None, None),
    ];
    for (step, vault, key, next, half) in states {
        let lay = |name: &str, bytes: &[u8]| {
            fs::write(folder.path().join(name), bytes).unwrap();
            fs::set_permissions(folder.path().join(name), fs::Permissions::from_mode(0o600)).unwrap();
        };
        lay(VAULT_FILE, vault);
        lay(KEY_FILE, key);
        next.into_iter().for_each(|bytes| lay(NEXT_KEY_FILE, bytes));
        half.into_iter().for_each(|bytes| lay("vault.new", bytes));
        assert!(holds_the_secret(folder.path()), "{step}");
        assert!(!folder.path().join(NEXT_KEY_FILE).exists(), "{step}");
        let mut again = open(folder.path()).unwrap();
        let rotation = again.rotation().unwrap();
        again.rekey(rotation).unwrap();
        assert!(holds_the_secret(folder.path()), "{step}");
    }
}

// Holds P7-48.
#[test]
fn a_change_of_passphrase_whose_end_was_cut_off_is_found_by_the_next_life() {
    let folder = a_vault_under_a_passphrase();
    let mut vault = unlock(folder.path(), PASSPHRASE).unwrap();
    let old = vault.key().unwrap();
    let rekeying = vault.passphrase(PASSPHRASE, ANOTHER).unwrap().unwrap();
    vault.rekey(rekeying).unwrap();
    let new = vault.key().unwrap();
    // The vault is written, and the page has both still.
    let mut key_store = KeyStore::default();
    key_store.put(Slot::Current, &old);
    key_store.put(Slot::Next, &new);
    let mut vault = held_open(life(folder.path(), sources(KeySource::Passphrase), key_store).unwrap());
    assert!(is_whole(&mut vault));
    assert_eq!(vault.key_store.get(Slot::Current).unwrap().bytes(), new.bytes());
    assert!(vault.key_store.get(Slot::Next).is_none());
    // A key file that was left behind when the vault went under a passphrase.
    fs::write(folder.path().join(KEY_FILE), "0".repeat(64)).unwrap();
    drop(unlock(folder.path(), ANOTHER).unwrap());
    assert!(!folder.path().join(KEY_FILE).exists());
}

#[test]
fn a_rotation_that_cannot_be_written_leaves_the_vault_as_it_was_and_open() {
    let folder = a_vault_with_one_secret();
    let mut vault = open(folder.path()).unwrap();
    fs::create_dir(folder.path().join("vault.new")).unwrap();
    let rotation = vault.rotation().unwrap();
    assert!(vault.rekey(rotation).is_err());
    assert!(is_whole(&mut vault) && holds_the_secret(folder.path()));
    fs::remove_dir(folder.path().join("vault.new")).unwrap();
    put(&mut vault, "second", &["b.test"], VALUE);
    assert!(holds_the_secret(folder.path()));
}

// Holds P4-26.
#[test]
fn an_export_is_sealed_to_a_person_who_proves_the_key() {
    let folder = a_vault_with_one_secret();
    let mut vault = open(folder.path()).unwrap();
    put(&mut vault, "revoked", &["b.test"], "another-value-1");
    vault.revoke("revoked").unwrap();
    let own = SecretKey::generate(&mut crypto_box::aead::OsRng);
    let public = own.public_key();
    let key = file(folder.path(), KEY_FILE);
    let sealed = vault.export(&key, public.as_bytes()).unwrap();
    assert!(!sealed.windows(VALUE.len()).any(|run| run == VALUE.as_bytes()));
    let list: Vec<Exported<String>> = serde_json::from_slice(&own.unseal(&sealed).unwrap()).unwrap();
    let shown: Vec<_> = list.iter().map(|it| (it.name.as_str(), it.value.as_str())).collect();
    assert_eq!(shown, [("openai", VALUE)]);
    assert_eq!(list[0].binding, bound(&["api.example.com"]));
    for wrong in [&[b'0'; 64][..], b"", &key[..63], b"a passphrase of nobody"] {
        let refused = vault.export(wrong, public.as_bytes());
        assert!(matches!(refused, Err(VaultFault::WrongPassphrase)), "{}", wrong.len());
    }
    assert!(vault.export(&key, &public.as_bytes()[..31]).is_err());
}
