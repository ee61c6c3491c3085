//! The tools' calls to memory, each by the gate's method for it: in the name of the client that makes them.

use super::trouble;
use crate::app_state::AppState;
use ipc_proto::api::Caller;
use ipc_proto::gate::{RelayError, method};
use memory_tools::{Answer, Request, Trouble};

/// Makes one call.
#[expect(clippy::too_many_lines, reason = "a table, an arm for each method")]
pub(super) async fn call(app: &AppState, caller: Caller, request: Request) -> Result<Answer, Trouble> {
    let gate = &app.gate;
    match request {
        Request::Read(ids) => {
            let asked = gate.call(&method::memory_read, |gate, rpc| {
                let ids = ids.clone();
                async move { gate.memory_read(rpc, caller, ids).await }
            });
            answered(asked.await, Answer::Rows)
        }
        Request::Raw(id) => {
            let asked = gate
                .call(&method::memory_raw, |gate, rpc| async move { gate.memory_raw(rpc, caller, id).await });
            answered(asked.await, Answer::Raw)
        }
        Request::List { filter, limit, start } => {
            let asked = gate.call(&method::memory_list, |gate, rpc| {
                let (filter, start) = (filter.clone(), start.clone());
                async move { gate.memory_list(rpc, caller, filter, limit, start).await }
            });
            answered(asked.await, Answer::Rows)
        }
        Request::Find(question) => {
            let asked = gate.call(&method::memory_find, |gate, rpc| {
                let question = question.clone();
                async move { gate.memory_find(rpc, caller, question).await }
            });
            answered(asked.await, Answer::Found)
        }
        Request::Timeline(around) => {
            let asked = gate.call(&method::memory_timeline, |gate, rpc| {
                let around = around.clone();
                async move { gate.memory_timeline(rpc, caller, around).await }
            });
            answered(asked.await, Answer::Rows)
        }
        Request::History(id) => {
            let asked = gate.call(&method::memory_history, |gate, rpc| async move {
                gate.memory_history(rpc, caller, id).await
            });
            answered(asked.await, Answer::Rows)
        }
        Request::Sessions { project, limit, start } => {
            let asked = gate.call(&method::memory_sessions, |gate, rpc| {
                let (project, start) = (project.clone(), start.clone());
                async move { gate.memory_sessions(rpc, caller, project, limit, start).await }
            });
            answered(asked.await, Answer::Sessions)
        }
        Request::Block(ask) => {
            let asked = gate.call(&method::memory_block, |gate, rpc| {
                let ask = ask.clone();
                async move { gate.memory_block(rpc, caller, ask).await }
            });
            answered(asked.await, Answer::Block)
        }
        Request::Unread { each } => {
            let asked = gate.call(&method::memory_unread, |gate, rpc| async move {
                gate.memory_unread(rpc, caller, each).await
            });
            answered(asked.await, Answer::Unread)
        }
        Request::Write(entry) => {
            let asked = gate.call(&method::memory_write, |gate, rpc| {
                let entry = entry.clone();
                async move { gate.memory_write(rpc, caller, entry).await }
            });
            answered(asked.await, Answer::Id)
        }
        Request::Revise { id, entry, reason } => {
            let asked = gate.call(&method::memory_revise, |gate, rpc| {
                let (entry, reason) = (entry.clone(), reason.clone());
                async move { gate.memory_revise(rpc, caller, id, entry, reason).await }
            });
            answered(asked.await, Answer::Id)
        }
        Request::Remove { id, reason } => {
            let asked = gate.call(&method::memory_remove, |gate, rpc| {
                let reason = reason.clone();
                async move { gate.memory_remove(rpc, caller, id, reason).await }
            });
            answered(asked.await, |()| Answer::Done)
        }
        Request::Restore(row) => {
            let asked = gate.call(&method::memory_restore, |gate, rpc| {
                let row = row.clone();
                async move { gate.memory_restore(rpc, caller, row).await }
            });
            answered(asked.await, Answer::Restored)
        }
    }
}

fn answered<T, E>(
    answer: Result<Result<T, RelayError>, E>,
    kind: impl FnOnce(T) -> Answer,
) -> Result<Answer, Trouble> {
    match answer {
        Ok(answer) => answer.map(kind).map_err(trouble),
        Err(_) => Err(Trouble::Away("The gate is not there.".to_owned(), Some(2))),
    }
}
