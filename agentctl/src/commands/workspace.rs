//! `agentctl workspace`: the workspaces of sessions. Getting and putting a file are turns of the session, done by a runner
//! in its jail: nothing here opens a file of a workspace.

use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::turn::{self, Ended};
use crate::{turn_end, view};
use ipc_proto::bounded::TooLong;
use ipc_proto::control::{Ask, method};
use ipc_proto::ids::WorkspaceId;
use ipc_proto::router::{End, FILE_BOUND, SessionName, Task, TurnEvent};
use ipc_proto::{Blob, Text};
use serde_json::json;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The commands of `workspace`.
#[derive(clap::Subcommand)]
pub(crate) enum Workspace {
    /// List workspaces
    List,
    /// Print a file of a session's workspace
    Get {
        /// The session
        #[arg(value_parser = crate::arguments::text::<128>)]
        session: SessionName,
        /// The file's path below the workspace
        #[arg(value_parser = crate::arguments::text::<1024>)]
        path: Text<1024>,
        /// Print it unescaped on a terminal too, which its bytes may then steer
        #[arg(long)]
        raw: bool,
    },
    /// Put a file into a session's workspace
    Put {
        /// The session
        #[arg(value_parser = crate::arguments::text::<128>)]
        session: SessionName,
        /// Its path below the workspace
        #[arg(value_parser = crate::arguments::text::<1024>)]
        path: Text<1024>,
        /// The file to put there; standard input by default
        file: Option<PathBuf>,
    },
    /// Remove the workspace of an ended session: a folder of the host is deleted; a directory of yours is detached and
    /// left as it is
    Remove {
        /// Its id
        id: WorkspaceId,
    },
}

/// Runs the command.
pub(crate) async fn run(app: &App, command: Workspace) -> Outcome {
    match command {
        Workspace::List => list(app).await,
        Workspace::Get { session, path, raw } => get(app, session, path, raw).await,
        Workspace::Put { session, path, file } => put(app, session, path, file).await,
        Workspace::Remove { id } => remove(app, id).await,
    }
}

/// Lists workspaces.
async fn list(app: &App) -> Outcome {
    let found = app.link.ask(&method::workspaces, async |c, cx| c.workspaces(cx).await).await?;
    let head = ["ID", "SESSION", "USER", "KIND", "LABEL"];
    Ok(app.out.list("workspaces", &found, view::workspace, &head, |workspace| {
        let kind = if workspace.attached { "attached" } else { "own" };
        vec![
            workspace.id.to_string(),
            workspace.session.to_string(),
            workspace.user.to_string(),
            kind.to_owned(),
            view::label(&workspace.label),
        ]
    })?)
}

/// Prints a file.
async fn get(app: &App, session: SessionName, path: Text<1024>, raw: bool) -> Outcome {
    let words = Text::clip(&format!("get {path}"));
    let ask = turn::ask(session, None, words, Task::Get { path: path.clone() });
    let mut bytes = Vec::new();
    let ended = played(app, &ask, |piece| bytes.extend_from_slice(piece)).await?;
    if app.out.json {
        let turn = ended.accepted.turn.to_string();
        let mut document = json!({ "path": path, "bytes": bytes.len(), "turn": turn });
        view::add_bytes(&mut document, "content", &bytes);
        app.out.document(document)?;
    } else {
        app.out.content(&bytes, false, raw)?;
    }
    Ok(std::process::ExitCode::SUCCESS)
}

/// Puts a file.
async fn put(app: &App, session: SessionName, path: Text<1024>, file: Option<PathBuf>) -> Outcome {
    let bytes = match &file {
        Some(file) => read(file)?,
        None => bounded(std::io::stdin().lock(), Path::new("standard input"))?,
    };
    let length = bytes.len();
    let words = Text::clip(&format!("put {path} ({length} bytes)"));
    let ask = turn::ask(session, None, words, Task::Put { path: path.clone(), bytes });
    let ended = played(app, &ask, |_| {}).await?;
    let document = json!({ "path": path, "bytes": length, "turn": ended.accepted.turn.to_string() });
    Ok(app.out.done(document, &format!("{path}: {length} bytes"))?)
}

/// Removes a workspace.
async fn remove(app: &App, id: WorkspaceId) -> Outcome {
    app.link.ask(&method::remove_workspace, async |c, cx| c.remove_workspace(cx, id).await).await?;
    Ok(app.out.done(json!({ "workspace": id.to_string() }), "removed")?)
}

/// Runs a turn that moves a file; any end but status 0 is a failure with the jail's message.
async fn played(app: &App, ask: &Ask, mut piece: impl FnMut(&[u8])) -> Result<Ended, Failure> {
    let mut complaint = Vec::new();
    let ended = turn::play(app, ask, |event| {
        match event {
            TurnEvent::Output { error: false, bytes } => piece(bytes),
            TurnEvent::Output { error: true, bytes } => complaint.extend_from_slice(bytes),
            _ => {}
        }
        Ok(())
    })
    .await?;
    let end = &ended.finished.end;
    if matches!(end, End::Exited { status: 0 } | End::Answered) {
        return Ok(ended);
    }
    let complaint_text = String::from_utf8_lossy(&complaint).trim().to_owned();
    let message = if complaint_text.is_empty() { turn_end::sentence(end) } else { complaint_text };
    Err(Failure::Turn { kind: turn_end::kind(end), message })
}

fn read(path: &Path) -> Result<Blob<FILE_BOUND>, Failure> {
    let file = std::fs::File::open(path).map_err(|cause| Failure::File { path: path.to_owned(), cause })?;
    bounded(file, path)
}

/// Reads one byte over the bound, so that a larger file is noticed without being read whole.
fn bounded(source: impl Read, path: &Path) -> Result<Blob<FILE_BOUND>, Failure> {
    let mut bytes = Vec::new();
    let most = u64::try_from(FILE_BOUND).unwrap_or(u64::MAX).saturating_add(1);
    let read = source.take(most).read_to_end(&mut bytes);
    read.map_err(|cause| Failure::File { path: path.to_owned(), cause })?;
    Blob::new(bytes).map_err(|why: TooLong| Failure::TooLong { what: "the file", why })
}
