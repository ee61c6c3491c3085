//! A filter around agentd, such as a unit's or a container's, that keeps processes from sealing themselves: agentd says
//! which layer is missing and what to do, and starts nothing. The same of a disk that cannot show a jail its workspace.

use nix::libc::{SYS_landlock_create_ruleset, SYS_landlock_restrict_self, SYS_seccomp};
use std::fs;
use std::process::Command;

/// Puts a filter on itself that gives this answer to the call with this number, and becomes the program that is named.
const FILTERED: &str = r#"
import ctypes, os, struct, sys
answer, number = int(sys.argv[1]), int(sys.argv[2])
steps = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, answer), (0x06, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_void_p)]
program = Program(len(steps), ctypes.addressof(code))
prctl, long = ctypes.CDLL(None).prctl, ctypes.c_ulong
assert prctl(38, long(1), long(0), long(0), long(0)) == 0
assert prctl(22, long(2), ctypes.byref(program), long(0), long(0)) == 0
os.execv(sys.argv[3], sys.argv[3:])
"#;
/// `SECCOMP_RET_ERRNO` with `EPERM`, and `SECCOMP_RET_KILL_PROCESS`.
const REFUSED: u32 = 0x0005_0001;
const KILLED: u32 = 0x8000_0000;

// Holds P2-20.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "agentd under a filter, as a unit or a container would start it"
)]
fn a_filter_that_prevents_the_seal_is_named_with_layer_and_remedy() {
    let usual = if tests::is_root() { "system" } else { "user" };
    let cases = [
        (SYS_landlock_create_ruleset, REFUSED, "layer landlock", "filter allow landlock_*"),
        (SYS_landlock_create_ruleset, KILLED, "layer landlock", "allow landlock_*"),
        (SYS_landlock_restrict_self, REFUSED, "layer landlock", "allow landlock_*"),
        (SYS_seccomp, REFUSED, "layer seccomp", "allow seccomp"),
    ];
    for mode in [usual, "flat"] {
        for (number, answer, layer, remedy) in cases {
            let folder = tempfile::tempdir().unwrap();
            let at = |name: &str| folder.path().join(name);
            fs::write(at("cordon.toml"), format!("[host]\nmode = \"{mode}\"\n")).unwrap();
            let mut command = Command::new("python3");
            command.args(["-c", FILTERED, &answer.to_string(), &number.to_string()]);
            command.arg(tests::programs().join("agentd")).arg("run");
            command.arg("--config").arg(at("cordon.toml")).arg("--state-dir").arg(at("state"));
            let output = command.arg("--runtime-dir").arg(at("run")).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(78), "{mode} {number} {answer:#x}: {output:?}");
            for words in [layer, "every row", &format!("mode {mode}"), remedy] {
                assert!(said.contains(words), "{mode} {number} {answer:#x}: {words}: {said}");
            }
        }
    }
}

/// Begins the rest of its words on an overlay, as a container without a volume would: `$1` is where the state will be.
const ON_OVERLAY: &str = r#"
mkdir "$1" "$1.lower" "$1.disk" && mount -t tmpfs none "$1.disk" && mkdir "$1.disk/upper" "$1.disk/work" &&
mount -t overlay overlay -o "lowerdir=$1.lower,upperdir=$1.disk/upper,workdir=$1.disk/work" "$1" || exit 99
shift; exec "$@"
"#;

// Holds P2-21.
#[test]
#[ignore = "needs root: run by make test-confined"]
#[expect(clippy::disallowed_methods, reason = "agentd in a mount namespace, as a container would start it")]
fn a_state_directory_without_id_mapping_is_refused_with_the_remedy() {
    assert!(tests::is_root(), "make test-confined needs root");
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("cordon.toml"), "[host]\nmode = \"system\"\n").unwrap();
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", ON_OVERLAY, "sh"]).arg(at("disk"));
    command.arg(tests::programs().join("agentd")).arg("run");
    command.arg("--config").arg(at("cordon.toml")).arg("--state-dir").arg(at("disk/state"));
    let output = command.arg("--runtime-dir").arg(at("run")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(78), "{output:?}");
    for words in
        ["mode system: layer mounts, row runner", "disk/state/runner", "on a volume", "mode = \"user\""]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
}
