//! `agentctl chat`: a message and its reply, or a conversation.

use crate::app::{App, Outcome};
use crate::attach::{Attached, Directory};
use crate::failure::Failure;
use crate::live::Live;
use crate::out::Out;
use crate::prompt::Prompt;
use crate::turn;
use ipc_proto::content::TEXT_BOUND;
use ipc_proto::ids::WorkspaceId;
use ipc_proto::router::{End, SessionName, Task};
use ipc_proto::{Name, Text};
use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;

/// The session of a chat that names none.
pub(crate) const DEFAULT_SESSION: &str = "default";

/// The arguments of `chat`.
#[derive(clap::Args)]
pub(crate) struct Chat {
    /// The session; made if it is new
    #[arg(long, short, value_name = "NAME", value_parser = crate::arguments::text::<128>)]
    session: Option<SessionName>,
    /// The agent of a new session; an old session keeps its own
    #[arg(long, short, value_name = "NAME", value_parser = crate::arguments::text::<64>)]
    agent: Option<Name>,
    #[command(flatten)]
    directory: Directory,
    /// Send this message, print the reply and end; `-` reads it from standard input
    #[arg(long, short, value_name = "TEXT")]
    message: Option<String>,
    /// Keep the history of your lines in this file
    #[arg(long, value_name = "FILE")]
    history: Option<PathBuf>,
    /// Keep this many lines of it
    #[arg(long, value_name = "LINES", default_value_t = 1000)]
    history_size: usize,
    /// The text before your lines
    #[arg(long, value_name = "TEXT", default_value = "cordon> ")]
    prompt: String,
}

/// The session, agent and workspace of a chat.
struct Talk {
    session: SessionName,
    agent: Option<Name>,
    workspace: Option<Attached>,
}

/// Sends one message, or chats until the end of input.
pub(crate) async fn chat(app: &App, chat: Chat) -> Outcome {
    let talk = begin(app, &chat).await?;
    if let Some(message) = chat.message {
        let text = if message == "-" { standard_input()? } else { message };
        return say(app, &talk, text).await;
    }
    if Out::interactive() && !app.out.json {
        app.out.remark(&format!("session {}; Ctrl-C cancels a turn, Ctrl-D ends the chat", talk.session));
    }
    let mut prompt = Prompt::new(chat.prompt, chat.history, chat.history_size)?;
    while let Some(line) = prompt.line()? {
        match say(app, &talk, line).await {
            Ok(_) => {}
            Err(
                failure @ (Failure::Output(_) | Failure::Unreachable { .. } | Failure::SocketDenied { .. }),
            ) => {
                return Err(failure);
            }
            Err(failure) => {
                app.out.failure(&failure);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn begin(app: &App, chat: &Chat) -> Result<Talk, Failure> {
    let workspace = chat.directory.attach(app).await?;
    let session = chat.session.clone().unwrap_or_else(|| default_session(workspace.map(|it| it.id)));
    Ok(Talk { session, agent: chat.agent.clone(), workspace })
}

/// A session belongs to one workspace, so a directory without a named session has one of its own, named after
/// the id that control gave the directory.
fn default_session(workspace: Option<WorkspaceId>) -> SessionName {
    workspace.map_or_else(|| Text::clip(DEFAULT_SESSION), |id| Text::clip(&format!("workspace-{id}")))
}

async fn say(app: &App, talk: &Talk, text: String) -> Outcome {
    let message = turn::message(text)?;
    let ask = turn::ask(talk.session.clone(), talk.agent.clone(), message, Task::Chat);
    let ask = turn::within(ask, talk.workspace);
    let mut live = Live::new(app.out);
    let ended = turn::play(app, &ask, |event| live.on_event(event)).await?;
    live.finish(&ended)?;
    if app.out.json {
        app.out.json_line(&live.document(&talk.session, &ended))?;
    }
    Ok(if ended.finished.end == End::Answered { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Reads standard input, up to one byte over a message's bound.
pub(crate) fn standard_input() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let most = u64::try_from(TEXT_BOUND).unwrap_or(u64::MAX).saturating_add(1);
    std::io::stdin().lock().take(most).read_to_end(&mut bytes)?;
    if bytes.len() > TEXT_BOUND {
        return turn::message(String::from_utf8_lossy(&bytes).into_owned()).map(|text| text.to_string());
    }
    String::from_utf8(bytes).map_err(|_| Failure::Usage("standard input is not UTF-8 text".to_owned()))
}
