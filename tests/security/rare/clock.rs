//! A host whose processes find no clock of the kernel's in their memory, as on a machine where reading it takes a call.

use super::{By, all_needed, recorded, with_script};
use std::fs;
use tests::{Setup, is_root};

// Holds P2-13.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn a_clock_that_takes_a_call_is_read_by_one() {
    // To change what a program starts with takes a right over it that root alone has everywhere.
    assert!(is_root(), "make test-confined needs root");
    let folder = tempfile::tempdir().unwrap();
    let (blind, told) = (folder.path().join("blind.py"), folder.path().join("told"));
    fs::write(&blind, include_str!("blind.py")).unwrap();
    let text = format!(
        "#!/bin/sh\npython3 {} $$ {told} &\nwhile [ ! -e {told} ]; do sleep 0.02; done\nexec {} \"$@\"\n",
        blind.display(),
        tests::programs().join("agentd").display(),
        told = told.display(),
    );
    with_script(folder.path(), &text);
    let seen = recorded(Setup::default().programs(folder.path()), |host| {
        assert_eq!(host.chat("s", "echo: what time is it"), "what time is it");
    });
    all_needed(By::AClock, &seen);
}
