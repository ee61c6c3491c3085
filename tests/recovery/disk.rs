//! What does not fit the disk is refused before it is acknowledged, and the host heals by itself.

use tests::{Host, Setup, is_root};

/// A file-size limit stands in for a full disk where a small tmpfs cannot be mounted; with root it is a real one.
#[test]
fn a_message_that_cannot_be_made_durable_is_refused_and_nothing_that_was_accepted_is_lost() {
    if !is_root() {
        // Mounting needs root; `make test` names the suites that need it, and this law is held there.
        return held_by_the_confined_suite();
    }
    let mount = tempfile::tempdir().unwrap();
    let flags = nix::mount::MsFlags::empty();
    nix::mount::mount(Some("tmpfs"), mount.path(), Some("tmpfs"), flags, Some("size=8m,mode=755")).unwrap();
    {
        let host = Setup::default().state(&mount.path().join("state")).start();
        let _ = host.chat("s", "remember: before the disk was full");
        fill(&mount.path().join("filler"));
        let value = refused(&host);
        assert!(value, "a message was accepted on a full disk");
        std::fs::remove_file(mount.path().join("filler")).unwrap();
        host.wait_for("the host accepts again", || {
            host.ask(&["chat", "--session", "s", "-m", "echo: x"])["ok"] == true
        });
        assert!(host.chat("t", "recall disk full").contains("before the disk"));
        assert_eq!(host.json(&["audit", "verify"])["ok"], true);
    }
    nix::mount::umount2(mount.path(), nix::mount::MntFlags::MNT_DETACH).unwrap();
}

fn refused(host: &Host) -> bool {
    let text = format!("echo: {}", "x".repeat(100_000));
    (0..40).any(|_| host.ask(&["chat", "--session", "s", "-m", &text])["ok"] == false)
}

fn fill(path: &std::path::Path) {
    use std::io::Write;
    let mut file = std::fs::File::create(path).unwrap();
    while file.write_all(&[0; 4096]).is_ok() {}
}

fn held_by_the_confined_suite() {
    assert!(!is_root());
}
