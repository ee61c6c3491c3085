//! `agentd check`: what is said before an upgrade, and that nothing is changed by saying it.

use manifest::schemas::{self, DATABASES};
use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::process::{Command, Output};
use tests::Host;

#[expect(clippy::disallowed_methods, reason = "the program under test")]
fn check(config: &Path, state: &Path) -> Output {
    let mut command = Command::new(tests::programs().join("agentd"));
    command.arg("check").arg("--config").arg(config).arg("--state-dir").arg(state).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Writes a version into the first page, as a database's own library would.
fn set_version(database: &Path, version: u32) {
    let mut file = fs::File::options().write(true).open(database).unwrap();
    file.seek(SeekFrom::Start(60)).unwrap();
    file.write_all(&version.to_be_bytes()).unwrap();
}

#[test]
fn a_fresh_hosts_databases_are_of_the_versions_that_the_table_says() {
    let mut host = Host::start();
    let _ = host.chat("s", "remember: something");
    host.stop();
    for database in DATABASES {
        let path = host.state().join(database.path());
        let log = fs::read(path.with_extension("db-wal")).unwrap_or_default();
        let version = schemas::version(&fs::read(&path).unwrap(), &log);
        assert_eq!(version, Some(database.version), "{}", path.display());
    }
}

#[test]
fn what_this_program_would_run_is_said_while_the_host_runs_and_after_it() {
    let mut host = Host::start();
    let _ = host.chat("s", "remember: something");
    let config = host.dir().join("cordon.toml");
    for stop in [true, false] {
        let output = check(&config, &host.state());
        let text = said(&output);
        assert_eq!(output.status.code(), Some(0), "{text}");
        for word in ["as this program has it", "every layer of mode", "MiB are free"] {
            assert!(text.contains(word), "{word}: {text}");
        }
        if stop {
            host.stop();
        }
    }
    let nowhere = host.dir().join("nowhere");
    let output = check(&config, &nowhere);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(!nowhere.exists(), "a check makes nothing");
}

// Holds P7-72.
#[test]
fn check_names_an_older_or_newer_database_and_a_bad_configuration() {
    let mut host = Host::start();
    let _ = host.chat("s", "remember: something");
    host.stop();
    let (config, queue) = (host.dir().join("cordon.toml"), host.state().join("router/queue.db"));
    // A log that outlived the host would speak louder than the file.
    let _ = fs::remove_file(queue.with_extension("db-wal"));
    set_version(&queue, 0);
    let older = check(&config, &host.state());
    assert_eq!(older.status.code(), Some(0), "{}", said(&older));
    assert!(said(&older).contains("version 0; a start brings it to version"), "{}", said(&older));
    set_version(&queue, 4711);
    let before = fs::read(&queue).unwrap();
    let newer = check(&config, &host.state());
    assert_eq!(newer.status.code(), Some(78));
    assert!(said(&newer).contains("queue.db: version 4711"), "{}", said(&newer));
    assert_eq!(fs::read(&queue).unwrap(), before);

    fs::write(&config, "version = 99\n[host]\nmode = \"wild\"\n").unwrap();
    let refused = check(&config, &host.state());
    assert_eq!(refused.status.code(), Some(78));
    for word in ["cordon.toml", "host.mode"] {
        assert!(said(&refused).contains(word), "{word}: {}", said(&refused));
    }
}

#[test]
fn a_record_that_does_not_hold_is_found_before_an_upgrade() {
    let mut host = Host::start();
    let _ = host.chat("s", "echo: x");
    host.stop();
    let checkpoint = host.state().join("audit/checkpoint");
    let note = fs::read_to_string(&checkpoint).unwrap();
    fs::write(&checkpoint, note.replacen('\n', "x\n", 1)).unwrap();
    let output = check(&host.dir().join("cordon.toml"), &host.state());
    assert_eq!(output.status.code(), Some(78), "{}", said(&output));
}
