//! Other programs that start a confined program, where installed, asked for the same jail as a runner's.

use crate::spread::Samples;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A program, its words before the one that is started, and what of its time a cold launch may take.
pub(crate) struct Rival {
    pub(crate) name: &'static str,
    words: Vec<String>,
    pub(crate) share: f64,
}

/// All of them.
pub(crate) fn all(workspace: &Path) -> Vec<Rival> {
    let plain = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    vec![
        // 0.25 was kept while the runner was linked to a fixed address. Since it is position-independent again, so that its
        // addresses are random, it relocates itself at each launch.
        Rival { name: "bwrap", words: bwrap(workspace), share: 0.28 },
        Rival { name: "codex", words: plain(&["sandbox", "linux", "--"]), share: 0.05 },
        Rival { name: "srt", words: Vec::new(), share: 0.01 },
    ]
}

/// Every namespace, and the mounts of a runner's root.
fn bwrap(workspace: &Path) -> Vec<String> {
    let mut words =
        vec!["--unshare-all", "--die-with-parent", "--hostname", "AGENT", "--ro-bind", "/usr", "/usr"];
    let links = ["bin", "sbin", "lib", "lib32", "lib64"];
    let targets = ["usr/bin", "usr/sbin", "usr/lib", "usr/lib32", "usr/lib64"];
    let places = links.map(|name| format!("/{name}"));
    for (target, place) in targets.iter().zip(&places) {
        words.extend(["--symlink", target, place]);
    }
    let etc = ["ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "ssl", "localtime", "mime.types"];
    let etc = etc.map(|name| format!("/etc/{name}"));
    for path in &etc {
        words.extend(["--ro-bind-try", path, path]);
    }
    let devices = ["null", "zero", "full", "random", "urandom"].map(|name| format!("/dev/{name}"));
    for path in &devices {
        words.extend(["--dev-bind", path, path]);
    }
    let workspace = workspace.to_string_lossy();
    words.extend([
        "--proc", "/proc", "--tmpfs", "/tmp", "--bind", &workspace, "/workspace", "--remount-ro", "/",
    ]);
    words.into_iter().map(str::to_owned).collect()
}

impl Rival {
    /// Returns whether it is installed and starts anything here; says so where it does not.
    #[expect(clippy::print_stderr, reason = "what was not measured must not look measured")]
    pub(crate) fn is_there(&self) -> bool {
        match self.once() {
            Ok(_) => true,
            Err(cause) => {
                eprintln!("bench: {}: NOT MEASURED: {cause}", self.name);
                false
            }
        }
    }

    /// From the request to the end of `/bin/true` in its jail.
    fn once(&self) -> io::Result<Duration> {
        let began = Instant::now();
        let mut command = Command::new(self.name);
        command
            .args(&self.words)
            .arg("/bin/true")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let status = command.status()?;
        if status.success() {
            Ok(began.elapsed())
        } else {
            Err(io::Error::other(format!("it ended with {status}")))
        }
    }

    /// The times of so many starts with a pause before each, ms.
    pub(crate) fn measure(&self, times: usize, pause: Duration) -> io::Result<Samples> {
        let mut samples = Samples::default();
        for _ in 0..times {
            std::thread::sleep(pause);
            samples.add_millis(self.once()?);
        }
        Ok(samples)
    }
}
