//! `agentctl mcp` without a verb: the memory tools for an MCP client that runs this command, over standard input and output, by the
//! official SDK. Only the protocol goes to standard output. The memory is that of the caller's uid, which the kernel tells
//! control; the project is that of the folder.

use super::{folder, lines, memory};
use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::link::Link;
use crate::project;
use ipc_proto::control::ControlError;
use memory_tools::{Answer, Code, Fault, FolderAct, Place, Request, Server, Store, Trouble};
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::stdio_pipes;
use serde_json::Value;
use std::path::PathBuf;
use std::process::ExitCode;
use tokio::sync::{mpsc, oneshot};

/// Requests that wait for the connection to control.
const WAITING: usize = 64;

/// A request to control, and the sender of its answer.
type Asked = (Request, oneshot::Sender<Result<Answer, Trouble>>);

/// The caller's own memory, and the folder they work in.
struct Remembered {
    control: mpsc::Sender<Asked>,
    place: Place,
    folder: PathBuf,
}

/// Serves one client to the end of its input.
pub(super) async fn memory(app: &App, project: Option<PathBuf>) -> Outcome {
    let named = project.unwrap_or_else(|| PathBuf::from("."));
    let folder = named.canonicalize().ok().filter(|folder| folder.is_dir());
    let folder = folder.ok_or_else(|| Failure::Usage(format!("{} is no folder", named.display())))?;
    let place = Place { project: Some(project::of(&folder)) };
    let (control, asked) = mpsc::channel(WAITING);
    let server = Server::new(Remembered { control, place, folder });
    // The connection to control belongs to this task; the client is served beside it. A call to control is dropped once the
    // client is gone.
    let asking = async {
        answer(&app.link, asked).await;
        std::future::pending().await
    };
    let served = tokio::select! { served = serve(server) => served, never = asking => never };
    served.map(|()| ExitCode::SUCCESS)
}

async fn serve(server: Server<Remembered>) -> Result<(), Failure> {
    let (input, output) = stdio_pipes();
    let transport = lines::Lines::new(input, output);
    let broken = |why: String| Failure::Output(std::io::Error::other(why));
    match server.serve(transport).await {
        // Requests in flight are answered before it ends.
        Ok(running) => running.waiting().await.map(drop).map_err(|error| broken(error.to_string())),
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        // The SDK's own message repeats the client's input.
        Err(_) => Err(broken("the client did not begin as the protocol says".to_owned())),
    }
}

/// Makes the tools' calls to control, one after the other, until no tool can send any more.
async fn answer(link: &Link, mut asked: mpsc::Receiver<Asked>) {
    while let Some((request, reply)) = asked.recv().await {
        let answer = memory::call(link, request).await;
        // The caller may have gone.
        drop(reply.send(answer.map_err(trouble)));
    }
}

fn trouble(failure: Failure) -> Trouble {
    match failure {
        Failure::Control(ControlError::Memory(error)) => Trouble::Memory(error),
        Failure::Control(error @ ControlError::NotAllowed(_)) => Trouble::Locked(error.to_string()),
        failure => Trouble::Away(failure.to_string(), None),
    }
}

impl Store for Remembered {
    fn place(&self) -> &Place {
        &self.place
    }

    async fn ask(&self, request: Request) -> Result<Answer, Trouble> {
        let away = || Trouble::Away("the connection to the host is closed".to_owned(), None);
        let (reply, answer) = oneshot::channel();
        self.control.send((request, reply)).await.map_err(|_| away())?;
        answer.await.map_err(|_| away())?
    }

    fn folder(&self, act: FolderAct) -> Result<Value, Fault> {
        folder::act(&self.folder, act).map_err(|error| Fault::new(Code::Internal, error.to_string()))
    }
}
