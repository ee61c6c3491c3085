//! The program of a server, in the jail: started with its standard streams as the way to it, and the end of what it complains of.

use super::Environment;
use super::lines::{Junk, Lines};
use ipc_proto::Text;
use ipc_proto::mcp::{Argv, Trouble};
use std::cell::RefCell;
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::rc::Rc;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::task::JoinHandle;

/// Bytes of the end of its standard error that are kept.
const TAIL: usize = 1024;

/// A program that runs.
pub(super) struct Program {
    pub(super) ended: Ended,
    pub(super) output: Lines<Receiver>,
    pub(super) junk: Junk,
    pub(super) input: Sender,
    pub(super) complaints: Complaints,
}

/// The end of a program.
pub(super) type Ended = JoinHandle<io::Result<ExitStatus>>;

/// The end of what a program wrote to its standard error.
#[derive(Clone, Default)]
pub(super) struct Complaints(Rc<RefCell<Vec<u8>>>);

impl Complaints {
    /// The end of it as text.
    pub(super) fn tail(&self) -> String {
        String::from_utf8_lossy(&self.0.borrow()).trim().to_owned()
    }

    /// Reads a stream to its end and keeps the last of it.
    async fn read(self, mut from: impl AsyncRead + Unpin) {
        let mut piece = vec![0; 4096];
        while let Ok(read @ 1..) = from.read(&mut piece).await {
            let mut kept = self.0.borrow_mut();
            kept.extend(piece.iter().take(read));
            let over = kept.len().saturating_sub(TAIL);
            kept.drain(..over);
        }
    }
}

/// A command of the server's, with nothing of this process but its streams.
pub(super) fn command(argv: &[&str], environment: &Environment) -> Option<Command> {
    let (program, arguments) = argv.split_first()?;
    #[expect(clippy::disallowed_methods, reason = "a server's own program, in its jail")]
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(environment.iter().map(|(name, value)| (name, value)));
    Some(command)
}

/// Waits for its end on a thread of its own, and keeps the end of what it complains of.
pub(super) fn watch(mut child: Child) -> io::Result<(Ended, Complaints)> {
    let complaints = Complaints::default();
    if let Some(error) = child.stderr.take() {
        let error = Receiver::from_owned_fd(OwnedFd::from(error))?;
        tokio::task::spawn_local(complaints.clone().read(error));
    }
    Ok((tokio::task::spawn_blocking(move || child.wait()), complaints))
}

/// Starts it.
pub(super) fn start(argv: &Argv, environment: &Environment) -> Result<Program, Trouble> {
    let words: Vec<&str> = argv.iter().map(Text::as_str).collect();
    let mut command = command(&words, environment).ok_or_else(|| failed("it has no command"))?;
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|cause| failed(&cause.to_string()))?;
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(failed("it has no streams"));
    };
    let streams = || {
        let input = Sender::from_owned_fd(OwnedFd::from(input))?;
        let output = Receiver::from_owned_fd(OwnedFd::from(output))?;
        let (ended, complaints) = watch(child)?;
        let junk = Junk::default();
        Ok(Program { ended, output: Lines::new(output, junk.clone()), junk, input, complaints })
    };
    streams().map_err(|cause: io::Error| failed(&cause.to_string()))
}

/// How it ended, in words.
pub(super) fn status(ended: Result<io::Result<ExitStatus>, tokio::task::JoinError>) -> String {
    match ended {
        Ok(Ok(status)) => status.to_string(),
        Ok(Err(cause)) => cause.to_string(),
        Err(_) => "it is not known how".to_owned(),
    }
}

fn failed(why: &str) -> Trouble {
    Trouble::NotStarted(Text::clip(why))
}
