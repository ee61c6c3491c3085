//! LiteLLM's proxy in front of the same provider, installed from PyPI into a folder of its own beside the cache.

use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The version that was measured before.
const PACKAGE: &str = "litellm[proxy]==1.106.2";
/// On loopback and for the length of a run: it does not start without a key of its own otherwise.
const OPEN: &str = "general_settings:\n  dangerously_permit_weak_or_unset_master_key: true\n";
/// It takes 6 s to start.
const PATIENCE: Duration = Duration::from_secs(90);

/// A running proxy; it ends with its value.
pub(crate) struct LiteLlm {
    at: SocketAddr,
    proxy: Child,
}

impl LiteLlm {
    /// Starts it; what cannot be installed or started is said to be not measured.
    #[expect(clippy::print_stderr, reason = "what was not measured must not look measured")]
    pub(crate) fn start(provider: SocketAddr) -> Option<Self> {
        Self::running(provider).map_err(|cause| eprintln!("bench: LiteLLM: NOT MEASURED: {cause}")).ok()
    }

    /// Where it listens.
    pub(crate) const fn at(&self) -> SocketAddr {
        self.at
    }

    fn running(provider: SocketAddr) -> io::Result<Self> {
        let folder = std::env::temp_dir().join("cordon-litellm");
        let program = installed(&folder)?;
        let at = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let config = folder.join("config.yaml");
        let model = format!("model: openai/one\n      api_base: http://{provider}/v1\n      api_key: none");
        fs::write(
            &config,
            format!("{OPEN}model_list:\n  - model_name: one\n    litellm_params:\n      {model}\n"),
        )?;
        let mut command = Command::new(program);
        command.arg("--config").arg(&config).args(["--host", "127.0.0.1", "--port", &at.port().to_string()]);
        let log = fs::File::create(folder.join("log"))?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let mut this = Self { at, proxy: command.spawn()? };
        let until = Instant::now() + PATIENCE;
        while TcpStream::connect(at).is_err() {
            if this.proxy.try_wait()?.is_some() || Instant::now() > until {
                return Err(io::Error::other(format!(
                    "it did not start; see {}",
                    folder.join("log").display()
                )));
            }
            sleep(Duration::from_millis(200));
        }
        Ok(this)
    }
}

impl Drop for LiteLlm {
    fn drop(&mut self) {
        drop(self.proxy.kill());
        drop(self.proxy.wait());
    }
}

fn installed(folder: &Path) -> io::Result<PathBuf> {
    let program = folder.join("bin/litellm");
    if !program.exists() {
        done(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
        done(Command::new(folder.join("bin/pip")).args(["install", "--quiet", PACKAGE]))?;
    }
    Ok(program)
}

fn done(command: &mut Command) -> io::Result<()> {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("{command:?} ended with {status}"))) }
}
