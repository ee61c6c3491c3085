//! Commands to agentd and their answers, which come in the order of the commands: a fixed-size frame each way.

use super::down;
use super::questions::Questions;
use ipc_proto::control::{Answer, Probed};
use ipc_proto::ids::WorkspaceId;
use kit::Supervisor;
use manifest::Process;
use manifest::command::{self, Frame, Kind};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::time::Duration;
use tokio::sync::oneshot;

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(10);
/// Commands that may wait for their answers.
const WAITING: usize = 64;

/// The way to agentd.
pub(crate) struct Agentd {
    supervisor: Supervisor,
    line: Line,
    probes: Questions<2>,
    attachments: Questions<3>,
}

impl Agentd {
    pub(crate) fn new(supervisor: Supervisor) -> Self {
        Self {
            supervisor,
            line: Line::default(),
            probes: Questions::default(),
            attachments: Questions::default(),
        }
    }

    /// Gives a command that agentd does not answer.
    pub(crate) fn tell(&self, frame: Frame) -> Answer<()> {
        self.send(frame, &[])
    }

    /// Gives a command and waits for its answer, at most 10 s.
    pub(crate) async fn ask(&self, frame: Frame, descriptors: &[BorrowedFd<'_>]) -> Answer<command::Answer> {
        if self.line.len() >= WAITING {
            return Err(down(Process::Agentd));
        }
        self.send(frame, descriptors)?;
        // Nothing is awaited between the two: the places in line are the order of the commands.
        let answer = self.line.join();
        let number = tokio::time::timeout(PATIENCE, answer).await.ok().and_then(Result::ok);
        number.and_then(command::Answer::from_number).ok_or_else(|| down(Process::Agentd))
    }

    /// Has something tried and waits for what became of it, at most 10 s. The frame's second word is set here.
    pub(crate) async fn probe(&self, mut frame: Frame) -> Answer<Probed> {
        let (number, answer) = self.probes.join().ok_or_else(|| down(Process::Agentd))?;
        let [_, token, ..] = &mut frame.words;
        *token = number;
        self.send(frame, &[])?;
        let came = tokio::time::timeout(PATIENCE, answer).await.ok().and_then(Result::ok);
        let [ended, code] = came.ok_or_else(|| down(Process::Agentd))?;
        Ok(Probed { ended, code })
    }

    /// Takes what became of something that was tried.
    pub(crate) fn probed(&self, frame: &Frame) {
        let [_, ended, code, number, ..] = frame.words;
        self.probes.answer(number, [ended, code]);
    }

    /// Has agentd look at the directory that a connection of this uid hands over, and keep it; waits at most 10 s. Gives its id, if
    /// it is kept.
    pub(crate) async fn attach(
        &self,
        uid: u32,
        connection: BorrowedFd<'_>,
    ) -> Answer<(command::Answer, WorkspaceId)> {
        let (number, answer) = self.attachments.join().ok_or_else(|| down(Process::Agentd))?;
        let frame = Frame::new(Kind::Attach, Process::Agentd).with(&[number, uid.into()]);
        self.send(frame, &[connection])?;
        let came = tokio::time::timeout(PATIENCE, answer).await.ok().and_then(Result::ok);
        let [answer, low, high] = came.ok_or_else(|| down(Process::Agentd))?;
        let answer = command::Answer::from_number(answer).ok_or_else(|| down(Process::Agentd))?;
        let id = u128::from(high) << 64 | u128::from(low);
        Ok((answer, WorkspaceId::from_bytes(id.to_le_bytes())))
    }

    /// Takes the answer to an attach.
    pub(crate) fn attached(&self, frame: &Frame) {
        let [number, answer, low, high, ..] = frame.words;
        self.attachments.answer(number, [answer, low, high]);
    }

    /// Takes an answer.
    pub(crate) fn done(&self, frame: &Frame) {
        let [number, ..] = frame.words;
        self.line.answer(number);
    }

    fn send(&self, frame: Frame, descriptors: &[BorrowedFd<'_>]) -> Answer<()> {
        self.supervisor.send(frame, descriptors).map_err(|error| {
            tracing::warn!(kind = ?frame.kind, %error, "agentd does not take a command");
            down(Process::Agentd)
        })
    }
}

/// Callers that wait for an answer. The place of a caller that gave up stays, since its answer still comes.
#[derive(Default)]
struct Line(RefCell<VecDeque<oneshot::Sender<u64>>>);

impl Line {
    fn len(&self) -> usize {
        self.0.borrow().len()
    }

    fn join(&self) -> oneshot::Receiver<u64> {
        let (sender, receiver) = oneshot::channel();
        self.0.borrow_mut().push_back(sender);
        receiver
    }

    fn answer(&self, number: u64) {
        let first = self.0.borrow_mut().pop_front();
        // A caller that gave up loses nothing.
        let _ = first.map(|asker| asker.send(number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_goes_to_its_command_even_after_an_abandoned_one() {
        let line = Line::default();
        let (mut first, second, mut third) = (line.join(), line.join(), line.join());
        drop(second);
        for number in [10, 20, 30, 40] {
            line.answer(number);
        }
        assert_eq!((first.try_recv(), third.try_recv(), line.len()), (Ok(10), Ok(30), 0));
    }
}
