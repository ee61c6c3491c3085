//! `agentctl acp`: the host's agents in an editor, by the Agent Client Protocol, version 1, over standard input and output. The
//! messages are the official crate's. Only the protocol goes to standard output. The editor is the person whose uid the kernel
//! tells control, and has no right that `agentctl chat` has not.

mod connection;
mod message;
mod option;
mod permission;
mod prompt;
mod session;
mod update;

use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::json_lines::{self, LINE, Lines};
use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AgentCapabilities, CancelNotification, Error, Implementation, InitializeRequest, InitializeResponse,
    LoadSessionRequest, PromptRequest, RequestId, ResumeSessionRequest, SessionCapabilities,
    SessionCloseCapabilities, SessionListCapabilities, SessionResumeCapabilities,
};
use connection::Connection;
use futures::StreamExt;
use futures::future::LocalBoxFuture;
use futures::stream::FuturesUnordered;
use ipc_proto::Name;
use message::Message;
use rmcp::transport::stdio_pipes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use session::{Running, Sessions, Wanted, refused, wrong};
use std::cell::Cell;
use std::io;
use std::process::ExitCode;
use tokio::io::AsyncRead;
use tokio_util::sync::CancellationToken;

/// Requests that are answered at once; more wait in the pipe.
const UNDER_WAY: usize = 64;

/// The arguments of `acp`.
#[derive(clap::Args)]
pub(crate) struct Acp {
    /// The agent of new sessions, unless the editor's person chooses another
    #[arg(long, short, value_name = "NAME", value_parser = crate::arguments::text::<64>)]
    agent: Option<Name>,
    /// Open sessions without the MCP servers of the editor, rather than refuse such sessions
    #[arg(long)]
    ignore_servers: bool,
}

/// An answer that is being made, and written.
type Task<'a> = LocalBoxFuture<'a, io::Result<()>>;

/// Serves one editor to the end of its input.
pub(crate) async fn serve(app: &App, acp: Acp) -> Outcome {
    let (input, output) = stdio_pipes();
    let connection = Connection::new(output);
    let sessions = Sessions::new(app, &connection, (acp.agent, acp.ignore_servers));
    let (greeted, gone) = (Cell::new(false), CancellationToken::new());
    let server = Server { app, connection: &connection, sessions: &sessions, greeted: &greeted, gone: &gone };
    match server.run(json_lines::lines(input)).await {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Output(error)),
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// The server of one editor.
#[derive(Clone, Copy)]
struct Server<'a> {
    app: &'a App,
    connection: &'a Connection,
    sessions: &'a Sessions<'a>,
    greeted: &'a Cell<bool>,
    /// Set at the end of the editor's input.
    gone: &'a CancellationToken,
}

impl<'a> Server<'a> {
    /// Answers until the end of the input. Turns under way go on in the host.
    async fn run<R: AsyncRead + Unpin>(self, mut input: Lines<R>) -> io::Result<()> {
        let mut under_way: FuturesUnordered<Task<'a>> = FuturesUnordered::new();
        loop {
            tokio::select! {
                line = input.next(), if under_way.len() < UNDER_WAY => match line {
                    Some(Ok(Ok(line))) if line.trim_ascii().is_empty() => {}
                    Some(Ok(Ok(line))) => under_way.extend(self.receive(&line)),
                    Some(Ok(Err(json_lines::TooLong))) => {
                        let error = Error::invalid_request().data(format!("a line has at most {LINE} bytes"));
                        under_way.push(Box::pin(self.connection.answer(RequestId::Null, Err(error))));
                    }
                    Some(Err(_)) | None => break,
                },
                Some(written) = under_way.next() => written?,
            }
        }
        self.gone.cancel();
        while let Some(written) = under_way.next().await {
            written?;
        }
        Ok(())
    }

    /// Takes one line. When this returns, the next line finds all that this one began, such as a turn that it cancels.
    fn receive(self, line: &[u8]) -> Option<Task<'a>> {
        match message::read(line) {
            Ok(Message::Response { id, result }) => self.connection.answered(&id, result),
            Ok(Message::Notification { method, params }) => {
                // The protocol has no answer to a notification, so one that cannot be read is dropped.
                if method == "session/cancel"
                    && let Ok(cancel) = serde_json::from_value::<CancelNotification>(params)
                {
                    self.sessions.cancel(&cancel.session_id);
                }
            }
            Ok(Message::Request { id, method, params }) => return Some(self.request(id, method, params)),
            Err(refused) => {
                let (id, error) = *refused;
                return Some(Box::pin(self.connection.answer(id, Err(error))));
            }
        }
        None
    }

    fn request(self, id: RequestId, method: String, params: Value) -> Task<'a> {
        if method == "initialize" {
            self.greeted.set(true);
        } else if !self.greeted.get() {
            return Box::pin(self.connection.answer(id, Err(refused("`initialize` comes first"))));
        }
        if method == "session/prompt" {
            let begun = self.begin(params);
            return Box::pin(async move { self.connection.answer(id, self.prompt(begun).await).await });
        }
        Box::pin(async move { self.connection.answer(id, self.other(&method, params).await).await })
    }

    /// Begins a prompt's turn, which a cancel in the next line finds.
    fn begin(self, params: Value) -> Result<(Running, String), Error> {
        let request: PromptRequest = read(params)?;
        let running = self.sessions.begin(&request.session_id)?;
        let text = prompt::text(&running.open.cwd, &request.prompt)?;
        Ok((running, text))
    }

    async fn prompt(self, begun: Result<(Running, String), Error>) -> Result<Value, Error> {
        let (running, text) = begun?;
        write(&prompt::prompt(self.app, self.connection, &running, text, self.gone).await?)
    }

    async fn other(self, method: &str, params: Value) -> Result<Value, Error> {
        let sessions = self.sessions;
        match method {
            "initialize" => write(&hello(&read(params)?)),
            "session/new" => write(&sessions.create(read(params)?).await?),
            "session/load" => {
                let LoadSessionRequest { session_id, cwd, additional_directories, mcp_servers, .. } =
                    read(params)?;
                write(
                    &sessions
                        .load(session_id, Wanted::new(cwd, &additional_directories, &mcp_servers))
                        .await?,
                )
            }
            "session/resume" => {
                let ResumeSessionRequest { session_id, cwd, additional_directories, mcp_servers, .. } =
                    read(params)?;
                write(
                    &sessions
                        .resume(session_id, Wanted::new(cwd, &additional_directories, &mcp_servers))
                        .await?,
                )
            }
            "session/list" => {
                let params = if params.is_null() { Value::Object(serde_json::Map::new()) } else { params };
                write(&sessions.list(read(params)?).await?)
            }
            "session/close" => write(&sessions.close(&read(params)?)?),
            "session/set_config_option" => write(&sessions.set(&read(params)?)?),
            _ => Err(Error::method_not_found().data(method)),
        }
    }
}

/// The answer to the greeting. Each editor is told the version that is spoken here.
fn hello(_: &InitializeRequest) -> InitializeResponse {
    let sessions = SessionCapabilities::new()
        .list(SessionListCapabilities::new())
        .resume(SessionResumeCapabilities::new())
        .close(SessionCloseCapabilities::new());
    InitializeResponse::new(ProtocolVersion::V1)
        .agent_capabilities(AgentCapabilities::new().load_session(true).session_capabilities(sessions))
        .agent_info(Implementation::new("cordon", env!("CARGO_PKG_VERSION")).title("Cordon".to_owned()))
}

fn read<T: DeserializeOwned>(params: Value) -> Result<T, Error> {
    serde_json::from_value(params).map_err(|error| wrong(&error.to_string()))
}

fn write(answer: &impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(answer).map_err(Error::into_internal_error)
}
