//! Secrets on the command line: what is typed, what leaves and to whom, and that nothing of a value is ever shown.

use crate::canned::Canned;
use crate::host::{Host, stderr, stdout};
use crate::shapes::says;
use crypto_box::SecretKey;
use ipc_proto::credproxy::{At, Binding, Lease, Purpose, Verb, binding, open_parcel};
use ipc_proto::{List, Name, Text};
use serde_json::json;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// A host whose credproxy shows a key of the test's, and the folder that it is in.
fn host() -> (Host, SecretKey, PathBuf) {
    let host = Host::new(Canned::default());
    let state = host.folder.path().join("state");
    let vault = state.join("credproxy");
    std::fs::create_dir_all(&vault).unwrap();
    for folder in [&state, &vault] {
        std::fs::set_permissions(folder, PermissionsExt::from_mode(0o711)).unwrap();
    }
    let key = SecretKey::generate(&mut crypto_box::aead::OsRng);
    let hex: String = key.public_key().as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    std::fs::write(vault.join("public.key"), format!("{hex}\n")).unwrap();
    std::fs::set_permissions(vault.join("public.key"), PermissionsExt::from_mode(0o644)).unwrap();
    host.canned.set(|s| s.state_dir = state.to_str().unwrap().to_owned());
    (host, key, vault)
}

#[test]
fn every_command_of_secrets_is_one_document_with_ok_and_its_fields() {
    let host = Host::new(Canned::default());
    for (words, pointer, expected) in [
        ("cred list", "/secrets/0/hosts/0", json!("api.example.com")),
        ("cred remove key", "/name", json!("key")),
        ("cred show key", "/secret/uses_left", json!(3)),
        ("cred show key", "/secret/verbs/1", json!("POST")),
        ("cred show key", "/secret/login", json!({ "until_ms": 9000, "renews": true })),
        ("cred revoke key", "/name", json!("key")),
        ("cred bind key --path /v1", "/name", json!("key")),
        ("cred test key https://api.example.com/", "/status", json!(200)),
        ("cred test key https://api.example.com/ --head", "/status", json!(204)),
        ("cred rotate", "/key", json!("passphrase")),
    ] {
        says(&host, words, pointer, &expected);
    }
}

#[test]
fn a_secret_leaves_only_sealed_and_only_to_a_key_that_can_be_trusted() {
    let (host, key, vault) = host();
    let words = ["cred", "set", "openai", "--host", "api.openai.com", "--host", "b.example:8443"];
    let output = host.run_with(&words, b"sk-very-secret\n");
    assert!(output.status.success(), "{}", stderr(&output));
    let (name, bound, lease, sealed) = host.canned.get(|state| state.secrets[0].clone());
    let hosts = List::new([Text::clip("api.openai.com"), Text::clip("b.example:8443")]).unwrap();
    let wanted = Binding { hosts, ..Binding::default() };
    assert_eq!((name.as_str(), &bound, lease), ("openai", &wanted, Lease::default()));
    assert!(!sealed.windows(6).any(|part| part == b"secret"));
    let plain = [binding("openai", &wanted, lease), b"sk-very-secret".to_vec()].concat();
    assert_eq!(key.unseal(&sealed).unwrap(), plain);
    assert!(!stdout(&output).contains("sk-very") && !stderr(&output).contains("sk-very"));

    assert_eq!(host.run_with(&words, b"").status.code(), Some(64));
    assert_eq!(host.run_with(&words, &[b'x'; 17_000]).status.code(), Some(1));
    std::fs::set_permissions(&vault, PermissionsExt::from_mode(0o777)).unwrap();
    let refused = host.run_with(&words, b"sk-very-secret");
    assert!(
        !refused.status.success() && stderr(&refused).contains("cannot be trusted"),
        "{}",
        stderr(&refused)
    );
    assert_eq!(host.canned.get(|state| state.secrets.len()), 1);
}

// Holds P4-21.
#[test]
fn everything_that_a_secret_is_bound_to_is_within_its_seal() {
    let (host, key, _vault) = host();
    let line = "cred set k --host a.test --verb get --verb HEAD --path /v1 --header x-key=Token --query q \
                --segment --field f --uses 5";
    let words: Vec<&str> = line.split_whitespace().collect();
    let output = host.run_with(&words, b"0123456789");
    assert!(output.status.success(), "{}", stderr(&output));
    let (name, bound, lease, sealed) = host.canned.get(|state| state.secrets[0].clone());
    assert_eq!(bound.verbs, List::new([Verb::Get, Verb::Head]).unwrap());
    assert_eq!((bound.paths[0].as_str(), lease.uses, lease.until_ms), ("/v1", Some(5), None));
    let named = Name::clip;
    let places = [
        At::Header { name: named("x-key"), prefix: Text::clip("Token") },
        At::Query { name: named("q") },
        At::Segment,
        At::Field { name: named("f") },
    ];
    assert_eq!(bound.at, List::new(places).unwrap());
    let plain = [binding(&name, &bound, lease), b"0123456789".to_vec()].concat();
    assert_eq!(key.unseal(&sealed).unwrap(), plain);
    for wrong in [
        "--host https://b.test",
        "--path v1",
        "--verb TRACE",
        "--uses 0",
        "--expires soon",
        "--header",
        "0123456789",
    ] {
        let words: Vec<&str> = "cred set k --host a.test".split(' ').chain(wrong.split(' ')).collect();
        assert_eq!(host.run_with(&words, b"0123456789").status.code(), Some(64), "{wrong}");
    }
}

#[test]
fn what_is_not_given_of_a_binding_stays_when_it_is_narrowed() {
    let (host, _key, _vault) = host();
    let nothing = host.run_with(&["cred", "bind", "key"], b"");
    assert!(nothing.status.code() == Some(64) && stderr(&nothing).contains("--uses"), "{}", stderr(&nothing));
    let words = ["cred", "bind", "key", "--path", "/v1", "--uses", "2"];
    assert!(host.run_with(&words, b"").status.success());
    let (_, bound, lease, _) = host.canned.get(|state| state.secrets[0].clone());
    assert_eq!((bound.hosts[0].as_str(), bound.verbs.len()), ("api.example.com", 2));
    assert_eq!((bound.paths[0].as_str(), lease.uses), ("/v1", Some(2)));
}

// Holds P4-20.
#[test]
fn keys_of_the_environment_are_taken_on_request_alone() {
    let (host, _key, _vault) = host();
    for words in ["", "--replace", "--passphrase-file /nowhere", "--env /a/file"] {
        let words: Vec<&str> = "cred import".split(' ').chain(words.split_whitespace()).collect();
        let refused = host.run_with(&words, b"");
        assert_eq!(refused.status.code(), Some(64), "{words:?} {}", stderr(&refused));
    }
    assert_eq!(host.run_with(&["cred", "import", "--env"], b"").status.code(), Some(0));
}

#[test]
fn a_passphrase_leaves_only_sealed_for_what_it_is_for() {
    let (host, key, _vault) = host();
    let passphrase = b"correct horse battery";
    let run = |words: &[&str], input: &[u8]| {
        let output = host.run_with(words, input);
        assert!(!stdout(&output).contains("horse") && !stderr(&output).contains("horse"));
        output.status.code()
    };
    assert_eq!(run(&["cred", "unlock"], b"correct horse battery\n"), Some(0));
    assert_eq!(run(&["cred", "passphrase"], b"correct horse battery\nanother passphrase\n"), Some(0));
    assert_eq!(run(&["cred", "unlock"], b"\n"), Some(64));
    assert_eq!(run(&["cred", "unlock", "correct"], b""), Some(64));
    let parcels = host.canned.get(|state| state.parcels.clone());
    let plain: Vec<Vec<u8>> = parcels.iter().map(|sealed| key.unseal(sealed).unwrap()).collect();
    assert_eq!(open_parcel(Purpose::Unlock, &plain[0]), Some([&passphrase[..]]));
    assert_eq!(open_parcel(Purpose::Passphrase, &plain[1]), Some([&passphrase[..], b"another passphrase"]));
    assert_eq!(plain.len(), 2);
}

#[test]
fn a_passphrase_is_fetched_from_the_person_s_own_keeper_of_secrets() {
    let (host, key, _vault) = host();
    let programs = host.folder.path().join("programs");
    std::fs::create_dir(&programs).unwrap();
    let keepers = [
        ("secret-service", "secret-tool", "lookup service cordon"),
        ("keyring", "keyctl", "pipe %user:cordon-vault"),
    ];
    let unlock = |from: &str| {
        let mut command = host.command(&["cred", "unlock", "--from", from]);
        command.env("PATH", format!("{}:/usr/bin:/bin", programs.display())).output().unwrap()
    };
    for (from, program, words) in keepers {
        let path = programs.join(program);
        // A keeper that has nothing for the vault.
        std::fs::write(&path, "#!/bin/sh\nexit 1\n").unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        assert_eq!(unlock(from).status.code(), Some(1), "{from}");
        let script = format!("#!/bin/sh\n[ \"$*\" = '{words}' ] && echo 'correct horse battery'\n");
        std::fs::write(&path, script).unwrap();
        let output = unlock(from);
        assert!(output.status.success() && !stdout(&output).contains("horse"), "{}", stderr(&output));
    }
    let parcels = host.canned.get(|state| state.parcels.clone());
    assert_eq!(parcels.len(), 2);
    for sealed in parcels {
        let plain = key.unseal(&sealed).unwrap();
        assert_eq!(open_parcel(Purpose::Unlock, &plain), Some([&b"correct horse battery"[..]]));
    }
}
