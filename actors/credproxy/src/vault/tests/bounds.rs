//! How long and how often a secret may be used, what narrows it, and how many there may be.

use super::*;

fn set(vault: &mut Vault, lease: Lease) {
    let fresh = fresh(vault, "k", &bound(&["a.test"]), lease, VALUE).unwrap();
    vault.put(&fresh, 7).unwrap();
}

fn at(vault: &mut Vault, now_ms: u64) -> Result<Vec<u8>, CredError> {
    vault.reveal("k", &wanted("a.test:443"), now_ms).map(|secret| secret.reveal().to_vec())
}

// Holds P4-23.
#[test]
fn a_secret_is_used_until_its_time_is_over_and_is_then_still_searched_for() {
    let folder = tempfile::tempdir().unwrap();
    let mut vault = open(folder.path()).unwrap();
    set(&mut vault, Lease { until_ms: Some(50), uses: None });
    assert!(at(&mut vault, 49).is_ok());
    assert_eq!(at(&mut vault, 50), Err(CredError::Expired));
    assert_eq!(vault.values().unwrap().len(), 1);
    set(&mut vault, Lease::default());
    assert!(at(&mut vault, 50).is_ok(), "set again it has another lease");
}

// Holds P4-23.
#[test]
fn uses_that_are_counted_are_counted_durably_before_the_value_is_given() {
    let folder = tempfile::tempdir().unwrap();
    set(&mut open(folder.path()).unwrap(), Lease { until_ms: None, uses: Some(3) });
    for used in 0..3 {
        let mut vault = open(folder.path()).unwrap();
        assert_eq!(vault.list().next().unwrap().lease.uses, Some(3 - used));
        assert!(at(&mut vault, 1).is_ok(), "{used}");
    }
    let mut vault = open(folder.path()).unwrap();
    assert_eq!(at(&mut vault, 1), Err(CredError::Spent));
    set(&mut vault, Lease { until_ms: None, uses: Some(1) });
    fs::create_dir(folder.path().join("vault.new")).unwrap();
    assert_eq!(at(&mut vault, 1), Err(CredError::Vault), "what cannot be counted is not given");
}

#[test]
fn a_use_elsewhere_is_refused_first_and_costs_no_use() {
    let folder = tempfile::tempdir().unwrap();
    let mut vault = open(folder.path()).unwrap();
    set(&mut vault, Lease { until_ms: Some(50), uses: Some(1) });
    let elsewhere = |vault: &mut Vault, now_ms| vault.reveal("k", &wanted("b.test:443"), now_ms).err();
    assert_eq!(elsewhere(&mut vault, 1), Some(CredError::NotBound));
    assert_eq!(elsewhere(&mut vault, 99), Some(CredError::NotBound));
    assert!(at(&mut vault, 1).is_ok());
}

// Holds P4-23.
#[test]
fn a_revoked_secret_stays_unused_after_a_restart_and_is_searched_for() {
    let folder = tempfile::tempdir().unwrap();
    let mut vault = open(folder.path()).unwrap();
    set(&mut vault, Lease::default());
    vault.revoke("k").unwrap();
    assert_eq!(at(&mut vault, 1), Err(CredError::Revoked));
    let mut vault = open(folder.path()).unwrap();
    assert_eq!(at(&mut vault, 1), Err(CredError::Revoked));
    assert_eq!((vault.values().unwrap().len(), vault.list().next().unwrap().revoked), (1, true));
    set(&mut vault, Lease::default());
    assert!(at(&mut vault, 1).is_ok(), "set again it is another");
}

// Holds P4-21.
#[test]
fn a_binding_is_narrowed_and_never_widened_and_the_value_stays() {
    let folder = tempfile::tempdir().unwrap();
    let mut vault = open(folder.path()).unwrap();
    put(&mut vault, "k", &["a.test", "b.test"], VALUE);
    let wider = bound(&["a.test", "b.test", "c.test"]);
    assert_eq!(vault.narrower("k", &wider, Lease::default()).err(), Some(CredError::Widens));
    assert_eq!(vault.narrower("k", &bound(&[]), Lease::default()).err(), Some(CredError::BadBinding));
    assert_eq!(vault.narrower("x", &wider, Lease::default()).err(), Some(CredError::NoSecret));
    let reads = Binding { verbs: List::new([Verb::Head]).unwrap(), ..bound(&["A.test"]) };
    let narrower = vault.narrower("k", &reads, Lease { until_ms: Some(50), uses: None }).unwrap();
    vault.narrow(narrower).unwrap();
    let mut vault = open(folder.path()).unwrap();
    assert_eq!(at(&mut vault, 1), Err(CredError::NotBound), "a GET is no HEAD");
    let head = Wanted { verb: Verb::Head, ..wanted("a.test:443") };
    assert_eq!(vault.reveal("k", &head, 1).unwrap().reveal(), VALUE.as_bytes());
    assert_eq!(vault.reveal("k", &head, 50).err(), Some(CredError::Expired));
    let back = bound(&["a.test"]);
    assert_eq!(vault.narrower("k", &back, Lease::default()).err(), Some(CredError::Widens));
}

#[test]
fn what_was_less_when_it_was_looked_at_and_is_more_by_now_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut vault = open(folder.path()).unwrap();
    put(&mut vault, "k", &["a.test", "b.test"], VALUE);
    let narrower = vault.narrower("k", &bound(&["a.test"]), Lease::default()).unwrap();
    put(&mut vault, "k", &["b.test"], VALUE);
    assert!(matches!(vault.narrow(narrower), Err(VaultFault::Widens)));
    assert_eq!(at(&mut vault, 1), Err(CredError::NotBound));
}

#[test]
fn uses_that_are_left_stay_as_many_when_a_secret_is_narrowed() {
    let folder = tempfile::tempdir().unwrap();
    let mut vault = open(folder.path()).unwrap();
    set(&mut vault, Lease { until_ms: None, uses: Some(3) });
    at(&mut vault, 1).unwrap();
    let left = vault.list().next().unwrap().lease;
    let more = Lease { uses: Some(3), ..left };
    assert_eq!(vault.narrower("k", &bound(&["a.test"]), more).err(), Some(CredError::Widens));
    for _ in 0..2 {
        let narrower = vault.narrower("k", &bound(&["a.test"]), left).unwrap();
        vault.narrow(narrower).unwrap();
    }
    assert_eq!(vault.list().next().unwrap().lease.uses, Some(2));
    assert!(at(&mut vault, 1).is_ok() && at(&mut vault, 1).is_ok());
    assert_eq!(at(&mut vault, 1), Err(CredError::Spent));
}

#[test]
fn a_renewed_value_is_for_what_the_one_before_was_for() {
    let folder = tempfile::tempdir().unwrap();
    let mut vault = open(folder.path()).unwrap();
    set(&mut vault, Lease { until_ms: Some(50), uses: Some(2) });
    at(&mut vault, 1).unwrap();
    let secret = |text: &str| Secret::new(text.as_bytes().to_vec().into()).unwrap();
    let value = secret("the-next-token");
    vault.renew("k", &secret(VALUE), &value).unwrap();
    let late = vault.renew("k", &secret(VALUE), &secret("of-a-login-before"));
    assert!(matches!(late, Err(VaultFault::Replaced)), "what was set anew stays");
    let mut vault = open(folder.path()).unwrap();
    assert_eq!(at(&mut vault, 1).unwrap(), b"the-next-token");
    assert_eq!(at(&mut vault, 1), Err(CredError::Spent));
    assert!(vault.renew("x", &value, &value).is_err());
}

// Holds P4-21.
#[test]
fn an_entry_that_was_put_in_the_place_of_another_does_not_open() {
    let folder = tempfile::tempdir().unwrap();
    let mut vault = open(folder.path()).unwrap();
    put(&mut vault, "k", &["a.test"], VALUE);
    put(&mut vault, "other", &["b.test"], VALUE);
    let wrapping = vault.wrapping().unwrap();
    let entry = vault.index.secrets.get("other").unwrap().clone();
    assert!(entry.open("other", &wrapping).is_ok());
    assert!(entry.open("k", &wrapping).is_err());
    let changes: [fn(&mut Entry); 4] = [
        |entry| entry.version += 1,
        |entry| entry.binding = bound(&["evil.test"]),
        |entry| entry.lease.uses = Some(9),
        |entry| entry.binding.verbs = List::new([Verb::Get]).unwrap(),
    ];
    for change in changes {
        let mut entry = entry.clone();
        change(&mut entry);
        assert!(entry.open("other", &wrapping).is_err());
    }
}

// Holds B-95.
#[test]
fn the_vault_holds_256_secrets_and_says_when_it_is_full() {
    let folder = tempfile::tempdir().unwrap();
    let mut vault = open(folder.path()).unwrap();
    put(&mut vault, "s", &["a.com"], VALUE);
    let entry = vault.index.secrets.get("s").unwrap().clone();
    for number in 0..SECRETS - 1 {
        vault.index.secrets.insert(format!("s{number}"), entry.clone());
    }
    let ask = |name: &str| fresh(&vault, name, &bound(&["a.com"]), Lease::default(), VALUE).err();
    assert_eq!(ask("one-more"), Some(CredError::Full));
    assert_eq!(ask("s7"), None);
}
