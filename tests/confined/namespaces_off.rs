//! A machine on which user namespaces are off: mode user says so and what to do, and mode flat works. The limit is one of a
//! user namespace above, so that the machine's own is left as it is.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// An ordinary user of the namespace above.
const UID: &str = "64301";
/// Waits until ids are mapped, and only then is root there, by an exec of its own.
const WAIT: &str = "read -r _ && exec sh -c \"$0\" \"$@\" </dev/null";
/// Runs its arguments as that user, in a namespace below which there can be no other.
const OFF: &str = "echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv --reuid $0 --regid $0 --clear-groups \
    --inh-caps=-all --bounding-set=-all -- \"$@\"";
/// Every id of the machine as itself.
const SAME: &str = "0 0 65536";

fn agentd(folder: &Path, mode: &str) -> Child {
    fs::write(folder.join("cordon.toml"), format!("[host]\nmode = \"{mode}\"\n")).unwrap();
    let mut command = Command::new("unshare");
    command.args(["--user", "sh", "-c", WAIT, OFF, UID]).arg(tests::programs().join("agentd")).arg("run");
    command.arg("--config").arg(folder.join("cordon.toml")).arg("--state-dir").arg(folder.join("state"));
    command.arg("--runtime-dir").arg(folder.join("run"));
    let log = fs::File::create(folder.join("log")).unwrap();
    command.stdin(Stdio::piped()).stdout(log.try_clone().unwrap()).stderr(log).process_group(0);
    let mut child = command.spawn().unwrap();
    let of = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/user")).unwrap();
    let pid = child.id().to_string();
    while of(&pid) == of("self") {
        std::thread::sleep(Duration::from_millis(5));
    }
    for map in ["uid_map", "gid_map"] {
        fs::write(format!("/proc/{pid}/{map}"), SAME).unwrap();
    }
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    child
}

fn folder() -> tempfile::TempDir {
    assert!(tests::is_root(), "make test-confined needs root");
    let folder = tempfile::Builder::new().prefix("cordon-off-").tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    folder
}

// Holds P2-23.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn with_user_namespaces_off_mode_user_names_the_layer_and_the_remedy() {
    let folder = folder();
    let status = agentd(folder.path(), "user").wait().unwrap();
    let said = fs::read_to_string(folder.path().join("log")).unwrap();
    assert_eq!(status.code(), Some(78), "{said}");
    for words in ["mode user", "layer namespaces", "user.max_user_namespaces", "mode = \"flat\""] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

// Holds P2-23.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn with_user_namespaces_off_mode_flat_works() {
    let folder = folder();
    let mut host = agentd(folder.path(), "flat");
    let agentctl = |words: &[&str]| {
        let mut command = Command::new(tests::programs().join("agentctl"));
        command.arg("--socket").arg(folder.path().join("run/control.sock")).args(words);
        let uid = UID.parse().unwrap();
        command.uid(uid).gid(uid).stdin(Stdio::null()).output().unwrap()
    };
    let until = Instant::now() + Duration::from_secs(60);
    while !agentctl(&["status"]).status.success() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(50));
    }
    let said = agentctl(&["chat", "--session", "s", "-m", "run: echo $((6*7))"]);
    let pid = nix::unistd::Pid::from_raw(i32::try_from(host.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    host.wait().unwrap();
    let log = fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(String::from_utf8_lossy(&said.stdout).contains("42"), "{said:?}\n{log}");
    assert!(log.contains("gives up"), "{log}");
}
