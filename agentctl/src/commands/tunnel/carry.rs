//! `agentctl tunnel run`, the process of the unit: it starts the vendor's program, passes its lines on to the journal, and gives
//! systemd the public address, or the reason why there is none, as the status of the unit. It ends when the program does.

use super::address::{Heard, heard};
use super::state::{self, State};
use super::vendor::{Provider, Scene, Step, Until, Vendor};
use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::failure::tunnel::TunnelFault;
use crate::{places, secret_input};
use std::ffi::OsStr;
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;
use zeroize::Zeroizing;

/// Bytes of a line; a longer one is cut in pieces.
const LINE: u64 = 16 << 10;
/// Lines that wait.
const LINES: usize = 64;
/// Lines that are still read of a program that has ended.
const LAST: usize = 1000;
/// The pause between two looks at the programs.
const LOOK: Duration = Duration::from_millis(200);

/// The running programs.
struct Carrier<'a> {
    app: &'a App,
    vendor: Vendor,
    state: &'a State,
    /// Each with its name.
    children: Vec<(&'static str, Child)>,
    line: SyncSender<Vec<u8>>,
    lines: Receiver<Vec<u8>>,
    /// True once the address was heard.
    is_open: bool,
    /// The last reason that a program gave.
    trouble: String,
}

/// Runs the vendor's program until it ends.
pub(super) fn run(app: &App, provider: Provider, file: &Path) -> Outcome {
    let vendor = provider.vendor().ok_or(TunnelFault::NotInUnit("a vendor"))?;
    let state = state::read_from(file)?.ok_or(TunnelFault::NotInUnit("the tunnel's file"))?;
    let folder = |name| places::named(name).ok_or(TunnelFault::NotInUnit(name));
    let (kept, runtime) = (folder("STATE_DIRECTORY")?, folder("RUNTIME_DIRECTORY")?);
    let path = folder("CREDENTIALS_DIRECTORY")?.join("token");
    let token = token(&path)?;
    let scene = Scene {
        listen: state.listen,
        domain: state.domain.as_deref(),
        state: &kept,
        runtime: &runtime,
        token: token.is_some().then_some(&path),
    };
    if let Some((name, text)) = vendor.file() {
        let path = runtime.join(name);
        fs::write(&path, text).map_err(|cause| TunnelFault::File { path, cause })?;
    }
    let (line, lines) = sync_channel(LINES);
    let (children, trouble) = (Vec::new(), String::new());
    let mut carrier = Carrier { app, vendor, state: &state, children, line, lines, is_open: false, trouble };
    let end = vendor.steps(&scene).iter().try_for_each(|step| carrier.step(step, token.as_ref()));
    carrier.end();
    end.map(|()| ExitCode::SUCCESS)
}

/// The token, if there is one.
fn token(path: &Path) -> Result<Option<Zeroizing<Vec<u8>>>, TunnelFault> {
    let read = fs::read(path).map_err(|cause| TunnelFault::File { path: path.to_owned(), cause })?;
    let mut value = Zeroizing::new(read);
    secret_input::trim(&mut value);
    Ok(Some(value).filter(|value| !value.is_empty()))
}

impl Carrier<'_> {
    /// Starts a program, and waits until the next one may start.
    fn step(&mut self, step: &Step, token: Option<&Zeroizing<Vec<u8>>>) -> Result<(), Failure> {
        self.start(step, token)?;
        loop {
            if let Until::Socket(socket) = &step.until
                && socket.exists()
            {
                return Ok(());
            }
            let Some((program, status)) = self.tick()? else { continue };
            let is_last = program == step.program && matches!(step.until, Until::End);
            if is_last && status.success() {
                return Ok(());
            }
            return Err(self.ended(program, status));
        }
    }

    fn start(&mut self, step: &Step, token: Option<&Zeroizing<Vec<u8>>>) -> Result<(), TunnelFault> {
        let program = step.program;
        #[expect(
            clippy::disallowed_methods,
            reason = "the vendor's program, in a unit of its own outside the host"
        )]
        let mut command = Command::new(program);
        command.args(&step.words).env_remove("NOTIFY_SOCKET").env_remove("CREDENTIALS_DIRECTORY");
        if let (Some(name), Some(token)) = (step.token, token) {
            command.env(name, OsStr::from_bytes(token));
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|cause| TunnelFault::Start { program, cause })?;
        if let Some(from) = child.stdout.take() {
            self.reads(from);
        }
        if let Some(from) = child.stderr.take() {
            self.reads(from);
        }
        self.children.push((program, child));
        Ok(())
    }

    /// Reads the lines of a program beside everything else.
    fn reads(&self, from: impl Read + Send + 'static) {
        let line = self.line.clone();
        std::thread::spawn(move || {
            let mut from = BufReader::new(from);
            loop {
                let mut read = Vec::new();
                let end = from.by_ref().take(LINE).read_until(b'\n', &mut read);
                if end.map_or(true, |bytes| bytes == 0) || line.send(read).is_err() {
                    return;
                }
            }
        });
    }

    /// Passes on the next line, or else looks for a program that has ended.
    fn tick(&mut self) -> Result<Option<(&'static str, ExitStatus)>, Failure> {
        if let Ok(line) = self.lines.recv_timeout(LOOK) {
            self.pass(&line)?;
            return Ok(None);
        }
        for at in 0..self.children.len() {
            let ended = self.children.get_mut(at).map(|(_, child)| child.try_wait()).transpose()?.flatten();
            if let Some(status) = ended {
                return Ok(Some((self.children.remove(at).0, status)));
            }
        }
        Ok(None)
    }

    fn pass(&mut self, line: &[u8]) -> Result<(), Failure> {
        self.app.out.raw(line, true)?;
        let text = String::from_utf8_lossy(line);
        let state = self.state;
        match heard(self.vendor, state.listen, state.domain.as_deref(), text.trim_end()) {
            Some(Heard::Address(url)) => {
                notify(&format!("READY=1\nSTATUS={url}"))?;
                self.is_open = true;
            }
            Some(Heard::Trouble(why)) => {
                // An open tunnel that has lost the vendor for a while keeps its address.
                if !self.is_open {
                    notify(&format!("STATUS={why}"))?;
                }
                self.trouble = why;
            }
            None => {}
        }
        Ok(())
    }

    /// The failure of a program that has ended, once its last lines were read.
    fn ended(&mut self, program: &'static str, status: ExitStatus) -> Failure {
        for _ in 0..LAST {
            let Ok(line) = self.lines.recv_timeout(LOOK) else { break };
            // A line that cannot be passed on is no reason to forget why the program has ended.
            let _ = self.pass(&line);
        }
        let (status, last) = (status.to_string().replace("exit status:", "status"), &self.trouble);
        let reason = if last.is_empty() { String::new() } else { format!(": {last}") };
        // Without this the unit has only its exit status to show.
        let _ = notify(&format!("STATUS={program} ended with {status}{reason}"));
        TunnelFault::Ended { program, status, reason }.into()
    }

    /// Ends the programs that are left.
    fn end(&mut self) {
        for (_, child) in &mut self.children {
            // One that has ended is as it should be.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Tells systemd, if it started this process.
fn notify(text: &str) -> Result<(), TunnelFault> {
    let Some(path) = places::named("NOTIFY_SOCKET") else { return Ok(()) };
    send(path, text).map_err(TunnelFault::Notify)
}

fn send(path: PathBuf, text: &str) -> io::Result<()> {
    let name = path.into_os_string().into_vec();
    let address = match name.split_first() {
        Some((b'@', rest)) => SocketAddr::from_abstract_name(rest)?,
        _ => SocketAddr::from_pathname(OsStr::from_bytes(&name))?,
    };
    UnixDatagram::unbound()?.send_to_addr(text.as_bytes(), &address).map(drop)
}
