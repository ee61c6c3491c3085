//! A directory that is handed over as a workspace: agentd looks at it and keeps it, and router lets its user work in it once the
//! attachment is on the record. Control never holds the directory, whose file system may not answer to anything: it gives agentd
//! the connection.

use crate::caller::Identity;
use crate::guard;
use crate::state::to_the_end;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::config::UserRole;
use ipc_proto::control::ControlError;
use ipc_proto::ids::WorkspaceId;
use ipc_proto::router::{RouterClient, RouterError, method};
use manifest::command::Answer;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use wire::hello::ATTACHED;

/// The least role that may hand a directory over.
const LEAST: Option<UserRole> = Some(UserRole::User);
/// How long the answer may take to be written; it fits the socket of anybody who reads at all.
const PATIENCE: Duration = Duration::from_secs(5);

/// Serves one attach. A connection that ends without an answer tells the client to ask again.
pub(crate) async fn serve(identity: &Identity, mut stream: UnixStream) {
    let attached = identity.state().host.served(attach(identity, &stream)).await;
    if let Some((answer, id)) = attached {
        let bytes = encode(answer, id);
        drop(tokio::time::timeout(PATIENCE, stream.write_all(&bytes)).await);
    }
}

/// agentd looks at the directory and keeps it; it is of use once the attachment is on the record and router knows whose it is.
async fn attach(identity: &Identity, stream: &UnixStream) -> Option<(Answer, WorkspaceId)> {
    let (state, uid) = (Rc::clone(identity.state()), identity.uid());
    let none = WorkspaceId::from_bytes([0; 16]);
    let caller = identity.caller().await.ok()?;
    let Some(caller) = caller.filter(|caller| guard::reaches(caller.role(), LEAST)) else {
        state.refuse(uid, "attach", guard::word(LEAST)).await;
        return Some((Answer::NotYours, none));
    };
    let user = caller.user().await.ok()?.id;
    let connection = stream.as_fd().try_clone_to_owned().ok()?;
    let attached = to_the_end(async move {
        let (answer, id) = state.agentd.attach(uid, connection.as_fd()).await?;
        drop(connection);
        if answer == Answer::Ok {
            let event = Event::new(Action::WorkspaceAttached, Result3::Success).about(&id.to_string());
            state.record(event.because(&format!("by uid {uid}"))).await?;
            let confirm =
                |router: RouterClient, context| async move { router.attach(context, user, id).await };
            let confirmed = state.ask(&state.router, &method::attach, confirm).await?;
            match confirmed {
                Err(RouterError::NoWorkspace) => return Ok((Answer::NotYours, none)),
                confirmed => confirmed.map_err(ControlError::Router)?,
            }
        }
        Ok::<_, ControlError>((answer, id))
    });
    // A client without an answer asks again.
    attached.await.ok().filter(|(answer, _)| *answer != Answer::Busy)
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
        for answer in [Answer::NoSuchProcess, Answer::NotYours, Answer::Stalled, Answer::Full] {
            let bytes = encode(answer, id);
            assert_eq!(Answer::from_number(bytes[0].into()), Some(answer));
            assert_eq!(bytes[1..], [0; 16]);
        }
    }
}
