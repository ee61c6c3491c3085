//! The tools' calls to memory, each by control's method for it.

use crate::failure::Failure;
use crate::link::Link;
use ipc_proto::control::method;
use ipc_proto::memory::Area;
use memory_tools::{Answer, Request};

/// Makes one call in the user's own area.
#[expect(clippy::too_many_lines, reason = "a table, an arm for each method")]
pub(super) async fn call(link: &Link, request: Request) -> Result<Answer, Failure> {
    let area = || Area::User;
    match request {
        Request::Read(ids) => link
            .ask(&method::memory_read, async |c, cx| c.memory_read(cx, area(), ids.clone()).await)
            .await
            .map(Answer::Rows),
        Request::Raw(id) => link
            .ask(&method::memory_raw, async |c, cx| c.memory_raw(cx, area(), id).await)
            .await
            .map(Answer::Raw),
        Request::List { filter, limit, start } => link
            .ask(&method::memory_list, async |c, cx| {
                c.memory_list(cx, area(), filter.clone(), limit, start.clone()).await
            })
            .await
            .map(Answer::Rows),
        Request::Find(question) => link
            .ask(&method::memory_find, async |c, cx| c.memory_find(cx, area(), question.clone()).await)
            .await
            .map(Answer::Found),
        Request::Timeline(around) => link
            .ask(&method::memory_timeline, async |c, cx| c.memory_timeline(cx, area(), around.clone()).await)
            .await
            .map(Answer::Rows),
        Request::History(id) => link
            .ask(&method::memory_history, async |c, cx| c.memory_history(cx, area(), id).await)
            .await
            .map(Answer::Rows),
        Request::Sessions { project, limit, start } => link
            .ask(&method::memory_sessions, async |c, cx| {
                c.memory_sessions(cx, area(), project.clone(), limit, start.clone()).await
            })
            .await
            .map(Answer::Sessions),
        Request::Block(ask) => link
            .ask(&method::memory_block, async |c, cx| c.memory_block(cx, area(), ask.clone()).await)
            .await
            .map(Answer::Block),
        Request::Unread { each } => link
            .ask(&method::memory_unread, async |c, cx| c.memory_unread(cx, area(), each).await)
            .await
            .map(Answer::Unread),
        Request::Write(entry) => link
            .ask(&method::memory_write, async |c, cx| c.memory_write(cx, area(), entry.clone()).await)
            .await
            .map(Answer::Id),
        Request::Revise { id, entry, reason } => link
            .ask(&method::memory_revise, async |c, cx| {
                c.memory_revise(cx, area(), id, entry.clone(), reason.clone()).await
            })
            .await
            .map(Answer::Id),
        Request::Remove { id, reason } => link
            .ask(&method::memory_remove, async |c, cx| c.memory_remove(cx, area(), id, reason.clone()).await)
            .await
            .map(|()| Answer::Done),
        Request::Restore(row) => link
            .ask(&method::memory_restore, async |c, cx| c.memory_restore(cx, area(), row.clone()).await)
            .await
            .map(Answer::Restored),
    }
}
