//! A directory that is handed over as a workspace: on the record first, then given to agentd, which looks at whose
//! it is. Nothing is read from the directory here.

use crate::caller::Identity;
use crate::desk::to_the_end;
use crate::guard;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::config::UserRole;
use ipc_proto::ids::WorkspaceId;
use manifest::Process;
use manifest::command::{Answer, Frame, Kind, id_words};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use wire::hello::ATTACHED;

/// Who may hand a directory over.
const LEAST: Option<UserRole> = Some(UserRole::User);
/// How long the answer may take to be written; it fits the socket of anybody who reads at all.
const PATIENCE: Duration = Duration::from_secs(5);

/// Serves one attach. Without an answer the connection just ends, which says: ask again.
pub(crate) async fn serve(identity: &Identity, mut stream: UnixStream, handed: Vec<OwnedFd>) {
    let id = handed.first().and_then(identity_of).unwrap_or_else(WorkspaceId::random);
    let attached = identity.desk().host.served(attach(identity, id, handed)).await;
    if let Some(answer) = attached {
        let bytes = encode(answer, id);
        drop(tokio::time::timeout(PATIENCE, stream.write_all(&bytes)).await);
    }
}

/// The same directory is the same workspace, whenever and by whatever path it is handed over: its session goes on in
/// it, and its label stays.
fn identity_of(directory: &OwnedFd) -> Option<WorkspaceId> {
    let about = File::from(directory.try_clone().ok()?).metadata().ok()?;
    let number = u128::from(about.dev()) << 64 | u128::from(about.ino());
    Some(WorkspaceId::from_bytes(number.to_le_bytes()))
}

async fn attach(identity: &Identity, id: WorkspaceId, handed: Vec<OwnedFd>) -> Option<Answer> {
    let (desk, uid) = (Rc::clone(identity.desk()), identity.uid());
    let caller = identity.caller().await.ok()?;
    if !caller.is_some_and(|caller| guard::reaches(caller.role(), LEAST)) {
        desk.refuse(uid, "attach", guard::word(LEAST)).await;
        return Some(Answer::NotYours);
    }
    if handed.is_empty() {
        return Some(Answer::NotADirectory);
    }
    let event = Event::new(Action::WorkspaceAttached, Result3::Success).about(&id.to_string());
    let event = event.because(&format!("by uid {uid}"));
    let [first, second] = id_words(id.bytes());
    let frame = Frame::new(Kind::Attach, Process::Agentd).with(&[first, second, uid.into()]);
    let attached = to_the_end(async move {
        desk.record(event).await?;
        let descriptors: Vec<BorrowedFd<'_>> = handed.iter().map(AsFd::as_fd).collect();
        desk.agentd.ask(frame, &descriptors).await
    });
    attached.await.ok()
}

/// The answer on the wire: its number, and the id if there is a workspace now.
fn encode(answer: Answer, id: WorkspaceId) -> [u8; ATTACHED] {
    let id = if answer == Answer::Ok { id.bytes() } else { [0; 16] };
    let number = u8::try_from(answer as u64).unwrap_or(u8::MAX);
    let mut bytes = [number; ATTACHED];
    for (slot, byte) in bytes.iter_mut().skip(1).zip(id) {
        *slot = byte;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_attached_workspace_has_its_id_in_the_answer() {
        let id = WorkspaceId::from_bytes(*b"0123456789abcdef");
        let ok = encode(Answer::Ok, id);
        assert_eq!((ok[0], &ok[1..]), (0, b"0123456789abcdef".as_slice()));
        for answer in [Answer::NoSuchProcess, Answer::NotYours, Answer::NotADirectory, Answer::Full] {
            let bytes = encode(answer, id);
            assert_eq!(Answer::from_number(bytes[0].into()), Some(answer));
            assert_eq!(bytes[1..], [0; 16]);
        }
    }
}
