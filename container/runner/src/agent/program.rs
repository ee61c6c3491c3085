//! The program itself: started in the workspace, on a terminal of the jail's own or on pipes, and waited for together
//! with everything that it leaves behind, since this is the first process of the jail.

use crate::RunnerFault;
use crate::command::{Piece, WAITING, read};
use crate::places::Places;
use ipc_proto::router::{Size, Terminal, Typed};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

/// Time for the processes that a program left to be gone once they are killed.
const CLEARED: Duration = Duration::from_secs(2);

/// A program that runs.
pub(super) struct Program {
    /// The program's output.
    pub(super) output: Receiver<Piece>,
    /// The input that is typed for it.
    pub(super) input: Sender<Typed>,
    /// Its exit status, once it has ended; 128 and the signal's number if one ended it.
    pub(super) ended: oneshot::Receiver<u8>,
}

impl Program {
    /// Starts it; the kernel's error where it cannot be.
    pub(super) fn start(
        argv: &[impl AsRef<str>],
        terminal: Option<&Terminal>,
        environment: &[(&str, String)],
        places: &Places,
    ) -> Result<io::Result<Self>, RunnerFault> {
        let Some((name, arguments)) = argv.split_first() else {
            return Ok(Err(io::ErrorKind::InvalidInput.into()));
        };
        #[expect(clippy::disallowed_methods, reason = "a person's own program, in the jail")]
        let mut command = Command::new(name.as_ref());
        command.args(arguments.iter().map(AsRef::as_ref)).env_clear().current_dir(&places.workspace);
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        let (said, output) = channel(WAITING);
        let (input, typed) = channel(WAITING);
        let child = match terminal {
            Some(terminal) => on_terminal(command, terminal, said, typed)?,
            None => on_pipes(command, said, typed)?,
        };
        match child {
            Ok(child) => Ok(Ok(Self { output, input, ended: wait(&child)? })),
            Err(cause) => Ok(Err(cause)),
        }
    }
}

/// Ends the processes that a program left, which would go on writing to its stored state; returns true if they are
/// gone. A killed one may be in the middle of a write.
pub(super) async fn clear() -> bool {
    let _ = kill(Pid::from_raw(-1), Signal::SIGKILL);
    let until = Instant::now() + CLEARED;
    // From the first process of a pid namespace, -1 is everybody in it but itself.
    while kill(Pid::from_raw(-1), None) != Err(Errno::ESRCH) {
        if Instant::now() >= until {
            return false;
        }
        sleep(Duration::from_millis(5)).await;
    }
    true
}

fn on_pipes(
    mut command: Command,
    said: Sender<Piece>,
    typed: Receiver<Typed>,
) -> Result<io::Result<Child>, RunnerFault> {
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(cause) => return Ok(Err(cause)),
    };
    read(false, child.stdout.take(), said.clone())?;
    read(true, child.stderr.take(), said)?;
    if let Some(stdin) = child.stdin.take() {
        write(typed, OwnedFd::from(stdin), |_, _| {})?;
    }
    Ok(Ok(child))
}

/// This process leads a session without a terminal, so that the first which it opens is that session's; the program stays
/// in its group, which is the one in the foreground. Signals of the terminal are nothing to the first process of a jail.
fn on_terminal(
    mut command: Command,
    terminal: &Terminal,
    said: Sender<Piece>,
    typed: Receiver<Typed>,
) -> Result<io::Result<Child>, RunnerFault> {
    let (ours, theirs) = open(terminal.size)?;
    command.env("TERM", terminal.kind.as_str());
    command.stdin(theirs.try_clone()?).stdout(theirs.try_clone()?).stderr(theirs);
    let child = match command.spawn() {
        Ok(child) => child,
        Err(cause) => return Ok(Err(cause)),
    };
    // Its copies of the other end go with it, so that the end of the program is the end of its output.
    drop(command);
    read(false, Some(File::from(ours.try_clone()?)), said)?;
    write(typed, ours, |terminal, size| {
        let _ = tcsetwinsize(terminal, winsize(size));
    })?;
    Ok(Ok(child))
}

/// A terminal of this size: this end, and the program's.
fn open(size: Size) -> Result<(OwnedFd, File), RunnerFault> {
    let ours =
        openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).map_err(io::Error::from)?;
    grantpt(&ours).map_err(io::Error::from)?;
    unlockpt(&ours).map_err(io::Error::from)?;
    tcsetwinsize(&ours, winsize(size)).map_err(io::Error::from)?;
    let name = ptsname(&ours, Vec::new()).map_err(io::Error::from)?;
    let name = name.to_str().map_err(io::Error::other)?;
    Ok((ours, File::options().read(true).write(true).open(name)?))
}

const fn winsize(size: Size) -> Winsize {
    Winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 }
}

/// Writes the input, on a thread of its own: a program that does not read holds up nobody but its person.
fn write(
    mut typed: Receiver<Typed>,
    to: OwnedFd,
    resize: impl Fn(&OwnedFd, Size) + Send + 'static,
) -> Result<(), RunnerFault> {
    let writing = move || {
        let mut to = File::from(to);
        while let Some(typed) = typed.blocking_recv() {
            match typed {
                Typed::Bytes(bytes) if to.write_all(&bytes).is_err() => return,
                Typed::Bytes(_) => {}
                Typed::Size(size) => {
                    let terminal = OwnedFd::from(to);
                    resize(&terminal, size);
                    to = File::from(terminal);
                }
                Typed::End => return,
            }
        }
    };
    std::thread::Builder::new().spawn(writing)?;
    Ok(())
}

/// Waits for it on a thread of its own, and collects whatever else ends in the jail.
fn wait(child: &Child) -> Result<oneshot::Receiver<u8>, RunnerFault> {
    let own = i32::try_from(child.id()).unwrap_or_default();
    let (told, ended) = oneshot::channel();
    let waiting = move || {
        let mut told = Some(told);
        loop {
            let (pid, status) = match waitpid(None, None) {
                Ok(WaitStatus::Exited(pid, status)) => {
                    (pid.as_raw(), u8::try_from(status).unwrap_or(u8::MAX))
                }
                Ok(WaitStatus::Signaled(pid, signal, _)) => {
                    (pid.as_raw(), u8::try_from(128 + signal as i32).unwrap_or(u8::MAX))
                }
                Ok(_) | Err(Errno::EINTR) => continue,
                Err(_) => return,
            };
            if pid == own
                && let Some(told) = told.take()
            {
                let _ = told.send(status);
            }
        }
    };
    std::thread::Builder::new().spawn(waiting)?;
    Ok(ended)
}
