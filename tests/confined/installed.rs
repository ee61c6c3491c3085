//! `make install` and `make uninstall`: what the one puts there the other takes away, and what a person changed stays.

use crate::machine::run;
use std::fs;
use std::path::Path;
use std::process::Command;

fn make(target: &str, root: &Path) {
    let mut command = Command::new("make");
    command.arg("--silent").arg("-C").arg(tests::repository()).arg(target);
    command.arg(format!("DESTDIR={}", root.display())).arg(format!("BUILT={}", tests::programs().display()));
    run(&mut command);
}

/// Every file and link beneath a folder.
fn files(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.push(entry.path().display().to_string());
        }
    }
    found
}

// Holds P2-26.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn uninstall_removes_what_install_put_there_but_the_configuration() {
    assert!(tests::is_root(), "make test-confined needs root");
    let root = tempfile::tempdir().unwrap();
    let config = root.path().join("etc/cordon/cordon.toml");
    make("install", root.path());
    let there = files(root.path());
    for part in [
        "libexec/cordon/agentd",
        "bin/agentctl",
        "man8/agentctl.8",
        "system/cordon.service",
        "user/cordon.service",
        "share/cordon/policies/schema.cedarschema",
        "share/cordon/verify.py",
        "doc/cordon/README.md",
        "doc/cordon/docs/guide/first-hour.md",
    ] {
        assert!(there.iter().any(|path| path.ends_with(part)), "{part}: {there:?}");
    }
    fs::write(&config, "# mine\n").unwrap();
    make("install", root.path());
    assert_eq!(
        fs::read_to_string(&config).unwrap(),
        "# mine\n",
        "an installed configuration is not replaced"
    );
    make("uninstall", root.path());
    assert_eq!(files(root.path()), [config.display().to_string()]);
}
