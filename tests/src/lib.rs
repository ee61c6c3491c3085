//! The fixture of every test: a real host in a temporary directory, asked through the real `agentctl`.
//!
//! Nothing here stands in for a part of Cordon. A host ends with the value that holds it.
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a fixture that cannot go on fails its test"
)]
#![expect(clippy::disallowed_methods, reason = "tests start the real programs")]

mod api;
mod channels;
mod chatting;
mod clock;
pub mod discord;
mod disk;
pub mod http;
pub mod mail;
mod model;
mod person;
mod registry;
mod sent_files;
pub mod slack;
pub mod synapse;
pub mod telegram;
mod upstream;

pub use api::{client, connect, free_port, get_over_tcp, post_over_tcp, request_over_tcp, request_over_unix};
pub use channels::Added;
pub use chatting::{Chatting, call, hook, hook_of, planned, script, text};
pub use clock::Clock;
pub use disk::{Disk, free_bytes};
pub use person::Person;
pub use registry::{ADDRESS, Registry};
pub use sent_files::{SentFiles, Way};
pub use upstream::{Upstream, answer};

use serde_json::Value;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long a host may take to be ready, and a killed process to be back. Generous: machines are shared, and no
/// test asserts a time.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running host.
pub struct Host {
    dir: TempDir,
    state: PathBuf,
    bin: PathBuf,
    child: Child,
    /// The folder of its model, if it has one.
    _model: Option<TempDir>,
}

/// How a host is started.
#[derive(Default)]
pub struct Setup {
    config: String,
    arguments: Vec<String>,
    programs: Option<PathBuf>,
    state: Option<PathBuf>,
    environment: Vec<(String, PathBuf)>,
    model: Option<TempDir>,
}

/// An account of every platform. None of them has a secret, so none reaches anybody.
const IDLE: &str = r#"
[channel.idle]
platform = "telegram"
secret = "none-telegram"
[channel.idle-discord]
platform = "discord"
secret = "none-discord"
[channel.idle-slack]
platform = "slack"
secret = "none-slack"
app_secret = "none-app"
[channel.idle-matrix]
platform = "matrix"
secret = "none-matrix"
base_url = "https://matrix.invalid"
[channel.idle-email]
platform = "email"
secret = "none-email"
address = "idle@mail.invalid"
imap = "imaps://mail.invalid:993"
smtp = "smtps://mail.invalid:465"
[channel.idle-signal]
platform = "signal"
base_url = "https://signal.invalid"
[channel.idle-whatsapp]
platform = "whatsapp"
secret = "none-whatsapp"
app_secret = "none-whatsapp-app"
verify_secret = "none-whatsapp-verify"
number = "1"
[channel.idle-webhook]
platform = "webhook"
secret = "none-webhook"
base_url = "https://hooks.invalid"
"#;

impl Setup {
    /// With this `cordon.toml`.
    #[must_use]
    pub fn config(mut self, text: &str) -> Self {
        self.config.push_str(text);
        self
    }

    /// With every process of the table: those that a host starts only where they are configured are egress, the scheduler, a sentence
    /// model of this machine and a channel, which has no secret and so connects to nothing. The model does not lie below `/tmp`, where in
    /// mode system each process has a folder of its own.
    #[must_use]
    pub fn every_process(mut self) -> Self {
        let folder =
            tempfile::Builder::new().prefix("cordon-model-").tempdir_in("/var/tmp").expect("a folder");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("its mode");
        write_model(folder.path(), 7);
        self.config.push_str(&format!(
            "\n[agent.outward.network]\nmode = \"proxy\"\n[scheduler]\nenabled = true\n[embedder]\nfolder = \"{}\"\n[ingress]\nlisten = \"127.0.0.1:{}\"\n{IDLE}",
            folder.path().display(),
            free_port(),
        ));
        self.model = Some(folder);
        self
    }

    /// With these further arguments to `agentd run`.
    #[must_use]
    pub fn arguments(mut self, words: &[&str]) -> Self {
        self.arguments.extend(words.iter().map(|word| (*word).to_owned()));
        self
    }

    /// With the programs of this folder instead of the built ones.
    #[must_use]
    pub fn programs(mut self, folder: &Path) -> Self {
        self.programs = Some(folder.to_owned());
        self
    }

    /// With this state directory, which outlives the host.
    #[must_use]
    pub fn state(mut self, folder: &Path) -> Self {
        self.state = Some(folder.to_owned());
        self
    }

    /// With this variable in agentd's environment.
    #[must_use]
    pub fn environment(mut self, name: &str, value: &Path) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Starts it and waits until it is ready.
    #[must_use]
    pub fn start(self) -> Host {
        let mut host = self.launch();
        host.wait_ready();
        host
    }

    /// Starts it and does not wait.
    #[must_use]
    pub fn launch(self) -> Host {
        let dir = tempfile::Builder::new().prefix("cordon-test-").tempdir().expect("a temporary directory");
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).expect("its mode");
        let bin = self.programs.unwrap_or_else(programs);
        let state = self.state.unwrap_or_else(|| dir.path().join("state"));
        let mut command = Command::new(bin.join("agentd"));
        command.arg("run").arg("--state-dir").arg(&state).arg("--runtime-dir").arg(dir.path().join("run"));
        fs::write(dir.path().join("cordon.toml"), &self.config).expect("the configuration");
        fs::set_permissions(dir.path().join("cordon.toml"), fs::Permissions::from_mode(0o644))
            .expect("its mode");
        command.arg("--config").arg(dir.path().join("cordon.toml")).args(&self.arguments);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        let log = fs::File::create(dir.path().join("log")).expect("the log");
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("the log")).stderr(log).process_group(0);
        Host { dir, state, bin, child: spawned(&mut command), _model: self.model }
    }
}

/// Starts it. A program that was copied just now may be open for writing in a child that another test has forked and that
/// has not executed its own yet.
fn spawned(command: &mut Command) -> Child {
    let until = Instant::now() + PATIENCE;
    loop {
        match command.spawn() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy && Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(20));
            }
            started => return started.expect("agentd starts"),
        }
    }
}

/// The folder of the built programs: that of the test program itself, one up.
#[must_use]
pub fn programs() -> PathBuf {
    let own = std::env::current_exe().expect("the test's own program");
    let folder = own.parent().and_then(Path::parent).expect("target/PROFILE").to_owned();
    assert!(folder.join("agentd").exists(), "{} has no agentd: run `make build` first", folder.display());
    folder
}

/// Writes a sentence model of random numbers into this folder; another seed is another model.
pub fn write_model(folder: &Path, seed: u64) {
    model::write(folder, seed).expect("the model");
}

/// The repository.
#[must_use]
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository").to_owned()
}

/// Returns whether these tests run as root, and hosts therefore in mode system.
#[must_use]
pub fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

impl Host {
    /// A host with embedded defaults, ready.
    #[must_use]
    pub fn start() -> Self {
        Setup::default().start()
    }

    /// The host's temporary directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Its state directory.
    #[must_use]
    pub fn state(&self) -> PathBuf {
        self.state.clone()
    }

    /// Its control socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("run/control.sock")
    }

    /// Everything the host has written so far.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }

    /// agentd's pid.
    #[must_use]
    pub fn agentd(&self) -> i32 {
        self.child.id().try_into().expect("a pid")
    }

    /// A command of `agentctl`, to be run by the test.
    #[must_use]
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(self.bin.join("agentctl"));
        command.arg("--socket").arg(self.socket()).args(words).stdin(Stdio::null());
        command
    }

    /// Runs `agentctl`.
    #[must_use]
    pub fn ctl(&self, words: &[&str]) -> Output {
        self.command(words).output().expect("agentctl runs")
    }

    /// Runs `agentctl … --json`, whatever it comes to.
    #[must_use]
    pub fn ask(&self, words: &[&str]) -> Value {
        let output = self.command(words).arg("--json").output().expect("agentctl runs");
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
            panic!("agentctl {words:?} --json: {error}: {output:?}\n{}", self.log());
        })
    }

    /// The same, and it must be well.
    #[must_use]
    pub fn json(&self, words: &[&str]) -> Value {
        let value = self.ask(words);
        assert_eq!(value["ok"], true, "agentctl {words:?}: {value}\n{}", self.log());
        value
    }

    /// Says something in a session and gives the reply.
    #[must_use]
    pub fn chat(&self, session: &str, text: &str) -> String {
        let value = self.json(&["chat", "--session", session, "-m", text]);
        value["reply"].as_str().unwrap_or_else(|| panic!("no reply: {value}")).to_owned()
    }

    /// A process as `status` shows it.
    #[must_use]
    pub fn process(&self, name: &str) -> Value {
        let status = self.json(&["status"]);
        let processes = status["processes"].as_array().expect("processes");
        processes.iter().find(|process| process["name"] == name).cloned().unwrap_or(Value::Null)
    }

    /// A process's pid.
    #[must_use]
    pub fn pid(&self, name: &str) -> i32 {
        let process = self.process(name);
        i32::try_from(process["pid"].as_i64().expect("a pid")).expect("a pid")
    }

    /// The pids of the runners that have a turn.
    #[must_use]
    pub fn runners(&self) -> Vec<i32> {
        self.runners_that(|pid, line| line.starts_with("runner\0flat") || has_work(pid))
    }

    /// The pids of the runners that wait for work.
    #[must_use]
    pub fn waiting_runners(&self) -> Vec<i32> {
        self.runners_that(|pid, line| !line.starts_with("runner\0flat") && !has_work(pid))
    }

    /// The pids of the first processes of jails in which a person's own program runs.
    #[must_use]
    pub fn programs_in_jails(&self) -> Vec<i32> {
        self.children_named("runner@agent\0", |_, _| true)
    }

    /// The pids of the runners of turns that have a way out.
    #[must_use]
    pub fn runners_with_a_way_out(&self) -> Vec<i32> {
        self.children_named("runner@net\0", |_, _| true)
    }

    /// The pids of the first processes of the jails of browsers.
    #[must_use]
    pub fn browsers(&self) -> Vec<i32> {
        self.children_named("runner@browser\0", |_, _| true)
    }

    /// Those among agentd's own children.
    fn runners_that(&self, are: impl Fn(i32, &str) -> bool) -> Vec<i32> {
        self.children_named("runner\0", are)
    }

    fn children_named(&self, name: &str, are: impl Fn(i32, &str) -> bool) -> Vec<i32> {
        let agentd = self.agentd();
        let children =
            fs::read_to_string(format!("/proc/{agentd}/task/{agentd}/children")).unwrap_or_default();
        let pids = children.split_whitespace().filter_map(|pid| pid.parse().ok());
        let line = |pid: i32| fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        pids.map(|pid| (pid, line(pid)))
            .filter(|(pid, line)| line.starts_with(name) && are(*pid, line))
            .map(|(pid, _)| pid)
            .collect()
    }

    /// Kills a process and waits until another of its name is ready.
    pub fn kill_and_wait(&self, name: &str) {
        let pid = self.pid(name);
        kill(pid);
        self.wait_for(&format!("{name} is back"), || {
            let process = self.try_status().and_then(|status| {
                status["processes"].as_array()?.iter().find(|process| process["name"] == name).cloned()
            });
            process.is_some_and(|process| process["pid"] != pid && process["state"] == "ready")
        });
    }

    /// `status`, if control answers.
    #[must_use]
    pub fn try_status(&self) -> Option<Value> {
        let output = self.command(&["status", "--json"]).output().ok()?;
        serde_json::from_slice::<Value>(&output.stdout).ok().filter(|status| status["ok"] == true)
    }

    /// Waits until the host is ready, and has checked itself: the probes of that check look like the processes that they
    /// stand for.
    pub fn wait_ready(&mut self) {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            if let Some(status) = self.child.try_wait().expect("agentd's status") {
                panic!("agentd ended: {status}\n{}", self.log());
            }
            if self.socket().exists()
                && self.try_status().is_some_and(|status| {
                    status["host"]["state"] == "ready" && status["host"]["self_check"] != "pending"
                })
            {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("not ready\n{}", self.log());
    }

    /// Waits until something is so.
    pub fn wait_for(&self, what: &str, mut so: impl FnMut() -> bool) {
        let until = Instant::now() + PATIENCE;
        while !so() {
            assert!(Instant::now() < until, "waited in vain: {what}\n{}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until the whole host is in this state.
    pub fn becomes(&self, state: &str) {
        self.wait_for(&format!("the host is {state}"), || self.json(&["status"])["host"]["state"] == state);
    }

    /// Stops it as systemd would, and gives its exit status.
    pub fn stop(&mut self) -> Option<i32> {
        signal(self.agentd(), nix::sys::signal::Signal::SIGTERM);
        self.child.wait().expect("agentd's status").code()
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> Option<i32> {
        self.child.wait().expect("agentd's status").code()
    }
}

/// Returns whether a runner in a jail with namespaces has begun its work: it has one thread before that, and then one besides
/// that watches what the jail uses.
fn has_work(pid: i32) -> bool {
    fs::read_dir(format!("/proc/{pid}/task")).is_ok_and(|threads| threads.count() > 1)
}

impl Drop for Host {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|status| status.is_none()) {
            signal(self.agentd(), nix::sys::signal::Signal::SIGTERM);
            let until = Instant::now() + Duration::from_secs(10);
            while Instant::now() < until && self.child.try_wait().is_ok_and(|status| status.is_none()) {
                std::thread::sleep(Duration::from_millis(10));
            }
            drop(self.child.kill());
            drop(self.child.wait());
        }
        if std::thread::panicking() {
            eprint_log(&self.log());
        }
    }
}

#[expect(clippy::print_stderr, reason = "what a failed test's host has said")]
fn eprint_log(log: &str) {
    eprintln!("--- the host's log ---\n{log}");
}

/// `kill -9`.
pub fn kill(pid: i32) {
    signal(pid, nix::sys::signal::Signal::SIGKILL);
}

/// Sends a signal; that nobody is there any more is fine.
pub fn signal(pid: i32, signal: nix::sys::signal::Signal) {
    let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), signal);
}
