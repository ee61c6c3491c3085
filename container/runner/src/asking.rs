//! The start of a runner's work. Its hello and its request for work go out in one write, before anybody listens: its
//! launcher sees that it is sealed, and the gate, once it has the other end, finds the request there. So a runner that
//! waited is woken by the answer, with everything else behind it.
//!
//! It waits without the event loop, and must have read to the end of the answer before the gate's client reads
//! anything.

use crate::RunnerFault;
use crate::gate::within;
use ipc_proto::PROTOCOL_VERSION;
use ipc_proto::runner_gate::{FRAME_BOUND, RunnerGateRequest, RunnerGateResponse, Work, method};
use manifest::Process;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io::{BufReader, ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use tarpc::{ClientMessage, Request, Response};
use wire::codec::{Side, decode, encode};
use wire::hello::{HELLO, Hello, Purpose};

/// The number of the question; the gate's client counts its own from another.
const FIRST: u64 = 0;

/// Bytes that are asked for at once: hello and answer mostly come together.
const ROOM: usize = 16 * 1024;

/// The connection of a runner that is launched when it is needed: hellos are exchanged, and nothing is asked yet.
///
/// # Errors
/// [`RunnerFault::GateGone`] if the gate is gone, or speaks another version; else the kernel's error.
pub(crate) fn hello(socket: OwnedFd, me: Process) -> Result<UnixStream, RunnerFault> {
    let mut stream = UnixStream::from(socket);
    let own = Hello::new(me, Purpose::Calls).encode();
    stream.write_all(&own).map_err(|_| RunnerFault::GateGone)?;
    let mut hello = [0; HELLO];
    stream.read_exact(&mut hello).map_err(|_| RunnerFault::GateGone)?;
    Hello::decode(hello).filter(|it| it.version == PROTOCOL_VERSION).ok_or(RunnerFault::GateGone)?;
    stream.set_nonblocking(true)?;
    Ok(stream)
}

/// A question that is not answered yet.
#[derive(Debug)]
pub(crate) struct Asking(UnixStream);

impl Asking {
    /// Says hello and asks.
    ///
    /// # Errors
    /// [`RunnerFault::GateGone`] if nobody holds the other end; else what the kernel says.
    pub(crate) fn begin(socket: OwnedFd, me: Process) -> Result<Self, RunnerFault> {
        let message = RunnerGateRequest::Work {};
        let question = ClientMessage::Request(Request { context: within(&method::work), id: FIRST, message });
        let question = encode(&question, FRAME_BOUND)?;
        let length = u32::try_from(question.len()).map_err(|_| RunnerFault::GateGone)?;
        let hello = Hello::new(me, Purpose::Calls).encode();
        let said = [&hello[..], &length.to_le_bytes(), &question].concat();
        let mut stream = UnixStream::from(socket);
        stream.write_all(&said).map_err(|_| RunnerFault::GateGone)?;
        stream.set_nonblocking(true)?;
        Ok(Self(stream))
    }

    /// The same connection, for later calls.
    ///
    /// # Errors
    /// The kernel's error.
    pub(crate) fn connection(&self) -> Result<UnixStream, RunnerFault> {
        Ok(self.0.try_clone()?)
    }

    /// Waits until this runner is some turn's, for however long that is, and then for the work of that turn.
    ///
    /// # Errors
    /// [`RunnerFault::GateGone`] if the gate speaks another version, says no, or says nothing.
    pub(crate) fn answered(self) -> Result<Work, RunnerFault> {
        let mut from = BufReader::with_capacity(ROOM, &self.0);
        let mut hello = [0; HELLO];
        self.fill(&mut from, &mut hello, PollTimeout::NONE)?;
        Hello::decode(hello).filter(|it| it.version == PROTOCOL_VERSION).ok_or(RunnerFault::GateGone)?;
        let patience = PollTimeout::try_from(method::work.deadline).unwrap_or(PollTimeout::MAX);
        let mut length = [0; size_of::<u32>()];
        self.fill(&mut from, &mut length, patience)?;
        let length = usize::try_from(u32::from_le_bytes(length)).ok();
        let length = length.filter(|length| *length <= FRAME_BOUND).ok_or(RunnerFault::GateGone)?;
        let mut answer = vec![0; length];
        self.fill(&mut from, &mut answer, patience)?;
        if !from.buffer().is_empty() {
            return Err(RunnerFault::GateGone);
        }
        read_answer(&answer)
    }

    /// Reads all of these bytes, waiting at most this long for each part of them.
    fn fill(
        &self,
        from: &mut BufReader<&UnixStream>,
        mut bytes: &mut [u8],
        patience: PollTimeout,
    ) -> Result<(), RunnerFault> {
        while !bytes.is_empty() {
            match from.read(bytes) {
                Ok(0) => return Err(RunnerFault::GateGone),
                Ok(read) => bytes = bytes.get_mut(read..).unwrap_or_default(),
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.wait(patience)?,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(RunnerFault::GateGone),
            }
        }
        Ok(())
    }

    fn wait(&self, patience: PollTimeout) -> Result<(), RunnerFault> {
        match poll(&mut [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)], patience) {
            Ok(0) => Err(RunnerFault::GateGone),
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(errno) => Err(RunnerFault::Runtime(errno.into())),
        }
    }
}

/// The work in an answer.
fn read_answer(answer: &[u8]) -> Result<Work, RunnerFault> {
    let answer: Response<RunnerGateResponse> = decode(answer, FRAME_BOUND, Side::Client)?;
    match answer.message {
        Ok(RunnerGateResponse::Work(Ok(work))) if answer.request_id == FIRST => Ok(work),
        _ => Err(RunnerFault::GateGone),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::router::Task;
    use ipc_proto::runner_gate::GateError;
    use ipc_proto::{List, Text};
    use tarpc::ServerError;

    fn work() -> Work {
        Work {
            task: Task::Get { path: Text::clip("a") },
            prompt: Text::clip("a"),
            messages: List::default(),
            tools: List::default(),
            tool_calls: 0,
            tool_failures: 0,
            wall_ms: 0,
            tool_ms: List::default(),
            engine: None,
            files: List::default(),
            network: false,
            opaque: List::default(),
            placeholders: List::default(),
        }
    }

    fn answer(request_id: u64, message: Result<RunnerGateResponse, ServerError>) -> Vec<u8> {
        let body = encode(&Response { request_id, message }, FRAME_BOUND).unwrap();
        [&u32::try_from(body.len()).unwrap().to_le_bytes()[..], &body].concat()
    }

    fn hello() -> Vec<u8> {
        Hello::new(Process::Gate, Purpose::Calls).encode().to_vec()
    }

    /// The work read if the gate writes these bytes in pieces of this size and then closes.
    fn heard(said: &[u8], piece: usize) -> Option<Work> {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let asking = Asking::begin(ours.into(), Process::Runner).unwrap();
        let mut question = vec![0; HELLO + 4];
        theirs.read_exact(&mut question).unwrap();
        assert_eq!(question[..HELLO], Hello::new(Process::Runner, Purpose::Calls).encode());
        let said = said.to_vec();
        let gate = std::thread::spawn(move || {
            for piece in said.chunks(piece) {
                // It may have heard enough.
                drop(theirs.write_all(piece));
                std::thread::yield_now();
            }
        });
        let work = asking.answered().ok();
        gate.join().unwrap();
        work
    }

    // Holds P7-06.
    #[test]
    fn the_question_waits_for_the_gate_and_any_framing_is_read() {
        let said = [hello(), answer(FIRST, Ok(RunnerGateResponse::Work(Ok(work()))))].concat();
        for piece in [1, 7, HELLO, HELLO + 5, said.len()] {
            assert_eq!(heard(&said, piece), Some(work()), "{piece}");
        }
    }

    // Holds P7-06.
    #[test]
    fn another_version_a_refusal_or_garbage_ends_the_runner() {
        let well = || answer(FIRST, Ok(RunnerGateResponse::Work(Ok(work()))));
        let mut other = hello();
        other[8] = other[8].wrapping_add(1);
        let cut = well()[..9].to_vec();
        let long = u32::try_from(FRAME_BOUND + 1).unwrap().to_le_bytes().to_vec();
        for (what, said) in [
            ("nothing", vec![]),
            ("half a hello", hello()[..8].to_vec()),
            ("another version", [other, well()].concat()),
            ("no hello", well()),
            (
                "a refusal",
                [hello(), answer(FIRST, Ok(RunnerGateResponse::Work(Err(GateError::OutOfTurn))))].concat(),
            ),
            (
                "the answer to something else",
                [hello(), answer(FIRST, Ok(RunnerGateResponse::Finish(Ok(()))))].concat(),
            ),
            (
                "the answer to another question",
                [hello(), answer(1, Ok(RunnerGateResponse::Work(Ok(work()))))].concat(),
            ),
            ("half an answer", [hello(), cut].concat()),
            ("one that is too long", [hello(), long, vec![0; 9]].concat()),
            ("more than the answer", [hello(), well(), vec![0]].concat()),
        ] {
            assert_eq!(heard(&said, 1 << 16), None, "{what}");
        }
    }
}
