//! A control server in this process on a real socket, and how `agentctl` is run against it.

use crate::canned::Canned;
use futures::StreamExt;
use ipc_proto::control::{Control, FRAME_BOUND};
use ipc_proto::ids::WorkspaceId;
use manifest::Process;
use nix::sys::signal::{Signal, kill};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};
use nix::unistd::Pid;
use serde_json::Value;
use std::io::{ErrorKind, IoSliceMut, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tarpc::server::{BaseChannel, Channel};
use tokio::io::{AsyncWriteExt, Interest};
use tokio::net::{UnixListener, UnixStream};
use wire::codec::{Messages, Side};
use wire::hello::{HELLO, Hello, Purpose};

/// A canned host.
pub(crate) struct Host {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) socket: PathBuf,
    pub(crate) canned: Canned,
}

impl Host {
    /// Listens in a folder of its own.
    pub(crate) fn new(canned: Canned) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("control.sock");
        let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        listener.set_nonblocking(true).unwrap();
        let server = canned.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = UnixListener::from_std(listener).unwrap();
                while let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(connection(stream, server.clone()));
                }
            });
        });
        Self { folder, socket, canned }
    }

    /// `agentctl` with these words, before it runs.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = agentctl(words);
        command.env("CORDON_SOCKET", &self.socket).env("XDG_STATE_HOME", self.folder.path());
        command
    }

    /// Runs `agentctl` to its end.
    pub(crate) fn run(&self, words: &[&str]) -> Output {
        self.command(words).stdin(Stdio::null()).output().unwrap()
    }

    /// Runs it with this on standard input.
    pub(crate) fn run_with(&self, words: &[&str], input: &[u8]) -> Output {
        let mut child = self
            .command(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // One that refuses its words has ended before it read: what it says is looked at, not the pipe.
        match child.stdin.take().unwrap().write_all(input) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
            written => written.unwrap(),
        }
        child.wait_with_output().unwrap()
    }

    /// Runs it with `--json` and gives the one document it must print.
    pub(crate) fn json(&self, words: &[&str]) -> Value {
        let output = self.run(&[words, &["--json"]].concat());
        document(&output)
    }

    /// Starts it, for tests that do something meanwhile.
    pub(crate) fn start(&self, words: &[&str]) -> Started {
        let child = self
            .command(words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Started(Some(child))
    }
}

/// A program that is ended with its test, however that ends.
pub(crate) struct Started(Option<Child>);

impl Started {
    /// Interrupts it, as Ctrl-C does.
    pub(crate) fn interrupt(&self) {
        let pid = i32::try_from(self.0.as_ref().unwrap().id()).unwrap();
        kill(Pid::from_raw(pid), Signal::SIGINT).unwrap();
    }

    /// Waits for its end, for up to 20 s.
    pub(crate) fn end(mut self) -> Output {
        let end = Instant::now() + Duration::from_secs(20);
        while self.0.as_mut().unwrap().try_wait().unwrap().is_none() {
            assert!(Instant::now() < end, "it does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
        self.0.take().unwrap().wait_with_output().unwrap()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The real program.
pub(crate) fn agentctl(words: &[&str]) -> Command {
    #[expect(clippy::disallowed_methods, reason = "the program under test, as an operator starts it")]
    let mut command = Command::new(env!("CARGO_BIN_EXE_agentctl"));
    command.args(words).env_remove("XDG_RUNTIME_DIR").env_remove("CORDON_SOCKET").env_remove("COLUMNS");
    command
}

/// The one JSON document on standard output.
pub(crate) fn document(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("no JSON document: {text} {}", stderr(output)))
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Waits up to 10 s.
pub(crate) fn until(what: &str, holds: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(10);
    while !holds() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// One connection: calls until it is cut, or a directory.
async fn connection(mut stream: UnixStream, canned: Canned) {
    let Some((hello, descriptor)) = greeting(&stream).await else { return };
    match (hello.purpose, descriptor) {
        (Purpose::Attach, Some(descriptor)) => {
            let about = std::fs::metadata(format!("/proc/self/fd/{descriptor}")).unwrap();
            nix::unistd::close(descriptor).unwrap();
            let answer = canned.attached(&about);
            stream.write_all(&answer).await.unwrap();
        }
        (Purpose::Attach, None) | (Purpose::NoSlot, _) => {}
        (Purpose::Calls, _) => {
            let mine = Hello { version: canned.version(), ..Hello::new(Process::Control, Purpose::Calls) };
            stream.write_all(&mine.encode()).await.unwrap();
            let channel = BaseChannel::with_defaults(Messages::new(stream, FRAME_BOUND, Side::Server));
            let cut = canned.cut.clone();
            let calls = channel.execute(canned.serve()).for_each_concurrent(None, |call| call);
            tokio::select! {
                () = calls => {}
                () = cut.notified() => {}
            }
        }
    }
}

/// The first bytes with the descriptor that may come with them.
async fn greeting(stream: &UnixStream) -> Option<(Hello, Option<RawFd>)> {
    let mut bytes = [0; HELLO];
    let mut room = nix::cmsg_space!([i32; 2]);
    let received = stream
        .async_io(Interest::READABLE, || {
            let mut parts = [IoSliceMut::new(&mut bytes)];
            let flags = MsgFlags::MSG_CMSG_CLOEXEC;
            let message = recvmsg::<()>(stream.as_raw_fd(), &mut parts, Some(&mut room), flags)?;
            let mut rights = message.cmsgs()?.filter_map(|part| match part {
                ControlMessageOwned::ScmRights(rights) => rights.first().copied(),
                _ => None,
            });
            Ok((message.bytes, rights.next()))
        })
        .await;
    let (length, descriptor) = received.ok()?;
    (length == HELLO).then_some(())?;
    Some((Hello::decode(bytes)?, descriptor))
}

/// The id that attached directories get.
pub(crate) const ATTACHED_ID: WorkspaceId = WorkspaceId::from_bytes([9; 16]);
