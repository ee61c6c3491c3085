//! Backups: the whole state of one instant while the host goes on, put back where a new host starts on it.

mod check;
mod still;

use serde_json::Value;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use tests::{Host, Setup};

/// A key pair that was made for these tests.
const RECIPIENT: &str = "age1fveg3epkmjvj6lvurfl5rgxndpmpu9cc4xjxmfqwlyj3dvl5hvjscujsuc";
const IDENTITY: &str = "AGE-SECRET-KEY-1WUAYLG5M3R3L9RW8A2NC7AVD5NPD9KHAZ4AYL2K23FV2NJYGAHQSKFWNQ9";

/// A folder with the identity in it, for backups of a host.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("cordon-backup-test-").tempdir().unwrap();
        fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        fs::write(folder.path().join("identity"), IDENTITY).unwrap();
        Self(folder)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.at(name).to_str().unwrap().to_owned()
    }

    fn create(&self, host: &Host, more: &[&str]) -> Value {
        let file = self.text("backup");
        let words = [&["backup", "create", &file, "--recipient", RECIPIENT], more].concat();
        host.json(&words)
    }

    fn verify(&self, host: &Host) -> Value {
        host.ask(&["backup", "verify", &self.text("backup"), "--identity", &self.text("identity")])
    }

    fn restore(&self, host: &Host, into: &str) -> Value {
        let (file, into, identity) = (self.text("backup"), self.text(into), self.text("identity"));
        host.ask(&["backup", "restore", &file, "--into", &into, "--identity", &identity])
    }
}

fn kind(answer: &Value) -> &str {
    answer["error"]["type"].as_str().unwrap_or("none")
}

// Holds P7-71.
#[test]
fn a_backup_made_during_turns_restores_to_a_host_that_resumes_them() {
    let (host, place) = (Host::start(), Place::new());
    let _ = host.chat("harbour", "remember: the harbour office opens at 07:40 on Tuesdays");
    let _ = host.chat("harbour", "write notes.md: the lighthouse keeper is called Ines");
    let under_way: Vec<_> =
        (0..6).map(|n| host.say(&format!("s{n}"), &format!("echo: answer {n}"))).collect();
    let made = place.create(&host, &[]);
    assert_eq!(
        (made["secrets"].as_bool(), made["left_out"].as_array().map(Vec::len)),
        (Some(false), Some(0))
    );
    for (n, turn) in under_way.into_iter().enumerate() {
        let ended = turn.ended();
        assert_eq!(ended["reply"], format!("answer {n}"), "{ended}");
    }
    assert_eq!(host.json(&["status"])["host"]["state"], "ready");

    let verified = place.verify(&host);
    assert_eq!(verified["ok"], true, "{verified}");
    let entries = verified["record"]["entries"].as_u64().unwrap();
    assert!(entries > 3, "{verified}");

    let restored = place.restore(&host, "state");
    assert_eq!(restored["ok"], true, "{restored}");
    assert_eq!(restored["record"]["at"], "audit/former/1");
    let other = Setup::default().state(&place.at("state")).start();
    let sessions = other.json(&["session", "list"]).to_string();
    assert!(sessions.contains("harbour"), "{sessions}");
    assert!(other.chat("harbour", "read notes.md").contains("Ines"));
    assert!(other.chat("new", "recall harbour office").contains("07:40"));
    assert_eq!(other.json(&["audit", "verify"])["ok"], true);
    let former = place.text("state/audit/former/1");
    let former = other.json(&["audit", "verify", "--dir", &former]);
    assert_eq!(former["entries"].as_u64(), Some(entries));
}

#[test]
fn restored_with_secrets_a_host_goes_on_with_its_record_and_vault() {
    let (host, place) = (Host::start(), Place::new());
    let _ = host.chat("s", "echo: before");
    let made = place.create(&host, &["--with-secrets"]);
    assert_eq!(made["secrets"], true);
    assert_eq!(place.restore(&host, "state")["ok"], true);
    let same = |name: &str| {
        let there = fs::read(place.at("state").join(name)).unwrap();
        assert_eq!(fs::read(host.state().join(name)).unwrap(), there, "{name}");
    };
    same("audit/key");
    let other = Setup::default().state(&place.at("state")).start();
    let _ = other.chat("s", "echo: after");
    let origin = |host: &Host| host.json(&["audit", "stats"])["origin"].clone();
    assert_eq!(origin(&other), origin(&host));
    assert_eq!(other.json(&["audit", "verify"])["ok"], true);
    for name in ["credproxy/vault", "credproxy/vault.key", "credproxy/vault.id"] {
        same(name);
    }
}

// Holds P7-71.
#[test]
fn a_backup_without_secrets_holds_none_of_them() {
    let (host, place) = (Host::start(), Place::new());
    place.create(&host, &[]);
    assert_eq!(place.restore(&host, "state")["ok"], true);
    assert!(!place.at("state/credproxy").exists());
    assert!(!place.at("state/audit/former/1/key").exists());
    assert!(place.at("state/audit/former/1/key.pub").exists());
}

#[test]
fn as_root_restored_files_belong_to_their_processes() {
    let (host, place) = (Host::start(), Place::new());
    let _ = host.chat("s", "write notes.md: x");
    place.create(&host, &["--with-secrets"]);
    assert_eq!(place.restore(&host, "state")["ok"], true);
    let mut seen = 0;
    for row in manifest::TABLE {
        let (here, there) =
            (host.state().join(row.process.name()), place.at("state").join(row.process.name()));
        seen += owners(&here, &there);
    }
    assert!(seen > 10);
}

/// Compares whose everything in two folders is; gives how much that was.
fn owners(here: &Path, there: &Path) -> usize {
    let Ok(entries) = fs::read_dir(there) else { return 0 };
    let mut seen = 0;
    for entry in entries.flatten() {
        let (Ok(one), Ok(other)) = (here.join(entry.file_name()).symlink_metadata(), entry.metadata()) else {
            continue;
        };
        assert_eq!((one.uid(), one.gid(), one.mode()), (other.uid(), other.gid(), other.mode()), "{entry:?}");
        seen += 1 + owners(&here.join(entry.file_name()), &entry.path());
    }
    seen
}

// Holds P7-71.
#[test]
fn a_tampered_backup_is_refused_with_its_reason_and_nothing_is_restored() {
    let (host, place) = (Host::start(), Place::new());
    place.create(&host, &[]);
    let whole = fs::read(place.at("backup")).unwrap();
    let put = |bytes: &[u8]| fs::write(place.at("backup"), bytes).unwrap();

    let mut changed = whole.clone();
    changed[whole.len() / 2] ^= 1;
    put(&changed);
    let answer = place.verify(&host);
    assert_eq!(kind(&answer), "changed", "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().contains("trustworthy: its manifest"), "{answer}");
    assert_eq!(kind(&place.restore(&host, "state")), "changed");

    put(&whole[..whole.len() - 1000]);
    assert_eq!(kind(&place.verify(&host)), "cut_short");
    assert_eq!(kind(&place.restore(&host, "state")), "cut_short");

    put(b"a file of another kind");
    assert_eq!(kind(&place.verify(&host)), "not_a_backup");
    assert!(!place.at("state").exists());

    put(&whole);
    fs::create_dir(place.at("state")).unwrap();
    fs::write(place.at("state/file"), "mine").unwrap();
    assert_eq!(kind(&place.restore(&host, "state")), "not_empty");
    assert_eq!(fs::read_to_string(place.at("state/file")).unwrap(), "mine");
    fs::remove_file(place.at("state/file")).unwrap();
    assert_eq!(place.restore(&host, "state")["ok"], true, "an empty folder is good enough");
    let names: Vec<_> = fs::read_dir(place.0.path()).unwrap().flatten().map(|it| it.file_name()).collect();
    assert_eq!(names.len(), 3, "something is left of what was refused: {names:?}");
}

#[test]
fn a_passphrase_seals_it_and_another_one_does_not_open_it() {
    let (host, place) = (Host::start(), Place::new());
    fs::write(place.at("right"), "correct horse battery staple\n").unwrap();
    fs::write(place.at("wrong"), "correct horse battery stable\n").unwrap();
    let (file, right, wrong) = (place.text("backup"), place.text("right"), place.text("wrong"));
    let _ = host.json(&["backup", "create", &file, "--passphrase-file", &right]);
    assert_eq!(host.json(&["backup", "verify", &file, "--passphrase-file", &right])["ok"], true);
    assert_eq!(kind(&host.ask(&["backup", "verify", &file, "--passphrase-file", &wrong])), "wrong_key");
    assert_eq!(kind(&place.verify(&host)), "usage", "an identity is no passphrase");
    assert_eq!(kind(&host.ask(&["backup", "create", &file, "--passphrase-file", &right])), "exists");
    assert_eq!(
        host.ctl(&["backup", "create", &place.text("other")]).status.code(),
        Some(64),
        "nobody to ask"
    );
}
