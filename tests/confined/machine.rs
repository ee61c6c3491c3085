//! A small Debian that boots with systemd as its first process: in a container of this kernel, or in user-mode Linux, whose
//! kernel has no landlock. A script runs in it as a unit, writes what it finds as rows, and turns the machine off.
//!
//! The image is made once and kept in `target/tmp`; each machine is a copy of it, and is gone with its value.

use nix::sys::signal::{Signal, killpg};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{LazyLock, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long a machine may be up. Generous: machines are shared, and no test asserts a time.
const PATIENCE: Duration = Duration::from_secs(300);
/// Packages of the image beside those that Debian needs.
const PACKAGES: &str = "systemd,systemd-sysv,libpam-systemd,dbus";
/// The beginning of each script: functions that write rows and that wait.
const PRELUDE: &str = "exec >>/log 2>&1\nset -x\n\
    row() { printf '%s\\t%s\\n' \"$1\" \"$2\" >>/rows; }\n\
    try() { local name=$1; shift; \"$@\" && row \"$name\" ok || row \"$name\" \"exit $?\"; }\n\
    soon() { local _; for _ in $(seq 300); do \"$@\" && return; sleep 0.1; done; return 1; }\n\
    trap 'row end ok; off' EXIT\n";
/// How a container is turned off, and how user-mode Linux is, which halts for ever when it is asked in the usual way.
const OFF: &str = "off() { systemctl poweroff --force --no-block; }\n";
const OFF_USER_MODE: &str = "off() { sync; echo o >/proc/sysrq-trigger; }\n";
/// The unit that runs it.
const UNIT: &str = "[Unit]\nAfter=multi-user.target\n[Service]\nType=oneshot\nExecStart=/bin/bash /script\n\
    [Install]\nWantedBy=multi-user.target\n";

/// The kernel that a machine boots on.
#[derive(Clone, Copy)]
pub(crate) enum Kernel {
    /// This one's, in a container.
    Own,
    /// The same, and nothing of `/proc` is hidden: who is not root can mount one of their own only where they see all of
    /// it (`mount_too_revealing` in the kernel), as on a machine that is no container.
    OwnBare,
    /// Debian's user-mode Linux, without landlock.
    UserMode,
}

/// A machine that is not up yet.
pub(crate) struct Machine {
    root: TempDir,
}

/// The rows that a script wrote, by name, and its whole output.
pub(crate) struct Found {
    rows: BTreeMap<String, String>,
    log: String,
}

impl Found {
    /// The row of this name.
    pub(crate) fn row(&self, name: &str) -> &str {
        self.rows.get(name).unwrap_or_else(|| panic!("no row {name}\n{}", self.log))
    }

    /// It is exactly this.
    pub(crate) fn is(&self, name: &str, expected: &str) {
        assert_eq!(self.row(name), expected, "{name}\n{}", self.log);
    }

    /// It contains each of these.
    pub(crate) fn says(&self, name: &str, words: &[&str]) {
        let found = self.row(name);
        assert!(words.iter().all(|word| found.contains(word)), "{name}: {found}\n{}", self.log);
    }
}

impl Machine {
    /// A copy of the image.
    pub(crate) fn new() -> Self {
        assert!(tests::is_root(), "make test-confined needs root");
        let root = tempfile::Builder::new().prefix("machine-").tempdir_in(places()).unwrap();
        run(Command::new("cp").args(["-a", "--reflink=auto", "-T"]).arg(image()).arg(root.path()));
        Self { root }
    }

    /// Puts a file into it.
    pub(crate) fn file(&self, path: &str, text: &str) {
        let path = self.root.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Puts the tests of the supervisor's own crate into it, as they were built last, as `/agentd-tests`.
    pub(crate) fn supervisors_tests(&self) {
        fs::copy(supervisors_tests(), self.root.path().join("agentd-tests")).unwrap();
    }

    /// Packs the built programs as `version`, and puts the package into it as `/VERSION.deb`.
    pub(crate) fn package(&self, version: &str) {
        let file = self.root.path().join(format!("{version}.deb"));
        let mut build = Command::new(tests::repository().join("deploy/deb/build"));
        run(build.arg(tests::programs()).arg(version).arg(file).env("COMPRESSION", "none"));
    }

    /// Boots it, waits until the script has turned it off, and gives what it found.
    pub(crate) fn boot(self, kernel: Kernel, script: &str) -> Found {
        let off = match kernel {
            Kernel::Own | Kernel::OwnBare => OFF,
            Kernel::UserMode => OFF_USER_MODE,
        };
        self.file("script", &format!("{PRELUDE}{off}{script}"));
        self.file("etc/systemd/system/script.service", UNIT);
        let wants = self.root.path().join("etc/systemd/system/multi-user.target.wants");
        fs::create_dir_all(&wants).unwrap();
        symlink("../script.service", wants.join("script.service")).unwrap();
        let console = self.root.path().with_extension("console");
        let mut command = match kernel {
            Kernel::Own => container(self.root.path()),
            Kernel::OwnBare => {
                // The settings that it would change are the machine's own.
                symlink("/dev/null", self.root.path().join("etc/systemd/system/systemd-sysctl.service"))
                    .unwrap();
                let mut container = container(self.root.path());
                container.env("SYSTEMD_NSPAWN_API_VFS_WRITABLE", "yes");
                container
            }
            Kernel::UserMode => user_mode(self.root.path()),
        };
        let file = fs::File::create(&console).unwrap();
        command.stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file).process_group(0);
        let mut child = command.spawn().unwrap_or_else(|error| {
            panic!("{command:?}: {error}; apt-get install mmdebstrap systemd-container user-mode-linux")
        });
        let until = Instant::now() + PATIENCE;
        while child.try_wait().unwrap().is_none() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(50));
        }
        end(&mut child);
        if !matches!(kernel, Kernel::UserMode) {
            sweep();
        }
        drop(fs::remove_file(self.root.path().with_extension("registers.so")));
        self.found(&console)
    }

    fn found(&self, console: &Path) -> Found {
        let read = |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
        let rows = read(&self.root.path().join("rows"));
        let log = format!(
            "--- console ---\n{}\n--- script ---\n{}",
            read(console),
            read(&self.root.path().join("log"))
        );
        drop(fs::remove_file(console));
        let rows: BTreeMap<String, String> = rows
            .lines()
            .filter_map(|line| line.split_once('\t'))
            .map(|(a, b)| (a.into(), b.into()))
            .collect();
        assert!(rows.contains_key("end"), "the script did not come to its end\n{log}");
        Found { rows, log }
    }
}

/// The newest program of the tests of agentd's crate. The program itself lies beside them under the same name, and is
/// the same file as the one that is run.
fn supervisors_tests() -> PathBuf {
    use std::os::unix::fs::MetadataExt as _;
    let programs = tests::programs();
    let program = fs::metadata(programs.join("agentd")).unwrap().ino();
    let built = fs::read_dir(programs.join("deps")).unwrap().map(|entry| entry.unwrap().path());
    let named = built.filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.strip_prefix("agentd-").is_some_and(|hash| hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
    });
    let others = named.filter(|path| fs::metadata(path).unwrap().ino() != program);
    let newest = others.max_by_key(|path| fs::metadata(path).unwrap().modified().unwrap());
    newest.expect("the tests of agentd's crate are not built: `make build`")
}

/// Ends what is left of a machine: a container ends with all that is in it at the second word, user-mode Linux by force.
fn end(child: &mut Child) {
    let group = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    for signal in [Signal::SIGTERM, Signal::SIGTERM, Signal::SIGKILL] {
        if child.try_wait().unwrap().is_none() {
            let _ = killpg(group, signal);
            std::thread::sleep(Duration::from_secs(1));
        }
    }
    // The threads of user-mode Linux, whatever became of its first.
    let _ = killpg(group, Signal::SIGKILL);
    child.wait().unwrap();
}

/// Where images and machines lie: on the disk that the programs are on.
fn places() -> PathBuf {
    let place = tests::programs().parent().unwrap().join("tmp");
    fs::create_dir_all(&place).unwrap();
    place
}

/// The image, made by whoever needs it first.
fn image() -> &'static Path {
    static MAKING: Mutex<()> = Mutex::new(());
    static IMAGE: LazyLock<PathBuf> = LazyLock::new(|| {
        let _one = MAKING.lock();
        let image = places().join("debian-bookworm");
        if image.exists() {
            return image;
        }
        // Whole or not at all: a half one would be taken for the image by the next run.
        let making = tempfile::Builder::new().prefix("making-").tempdir_in(places()).unwrap();
        let root = making.path().join("root");
        let mut make = Command::new("mmdebstrap");
        make.args(["--quiet", "--variant=essential", &format!("--include={PACKAGES}")]);
        make.args(["--dpkgopt=force-unsafe-io", "--dpkgopt=path-exclude=/usr/share/doc/*"]);
        make.args(["--dpkgopt=path-exclude=/usr/share/man/*", "--dpkgopt=path-exclude=/usr/share/locale/*"]);
        run(make.arg("bookworm").arg(&root));
        fs::rename(&root, &image).unwrap();
        image
    });
    &IMAGE
}

/// Runs a tool of the machine to its end, which must be well.
pub(crate) fn run(command: &mut Command) {
    let output = command.stdin(Stdio::null()).output().unwrap_or_else(|error| {
        panic!("{command:?}: {error}; apt-get install mmdebstrap systemd-container user-mode-linux")
    });
    assert!(output.status.success(), "{command:?}: {output:?}");
}

/// Without the container's own filter, which hides landlock.
fn container(root: &Path) -> Command {
    let mut command = Command::new("systemd-nspawn");
    command.env("SYSTEMD_SECCOMP", "0").arg("-D").arg(root);
    command.args(["--boot", "--keep-unit", "--register=no", "--private-network", "--quiet"]);
    command
}

fn user_mode(root: &Path) -> Command {
    let registers = root.with_extension("registers.so");
    let source = tests::repository().join("tests/confined/registers.c");
    run(Command::new("cc").args(["-O2", "-shared", "-fPIC", "-o"]).arg(&registers).arg(source));
    let mut command = Command::new("linux.uml");
    command.env("LD_PRELOAD", registers).env("TMPDIR", "/tmp").args([
        "mem=1000M",
        "rootfstype=hostfs",
        "root=/dev/root",
        "rw",
    ]);
    command.arg(format!("rootflags={}", root.display())).arg("init=/lib/systemd/systemd");
    command.args(["con=null", "con0=null,fd:1", "ssl=null"]);
    command
}

/// Removes the empty control groups that a container leaves where no service manager is there to do so.
fn sweep() {
    for root in ["/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd"] {
        for name in ["payload", "supervisor"] {
            remove_groups(&Path::new(root).join(name));
        }
    }
}

fn remove_groups(group: &Path) {
    for below in fs::read_dir(group).into_iter().flatten().flatten() {
        if below.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_groups(&below.path());
        }
    }
    // A group that is still in use is its user's.
    drop(fs::remove_dir(group));
}
