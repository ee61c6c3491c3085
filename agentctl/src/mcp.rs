//! `agentctl mcp`: the memory tools for an MCP client that runs this command and speaks to it over its standard input and
//! output, by the official SDK. Nothing but the protocol goes to standard output. Whose memory it is, the kernel tells
//! control; which project, the folder says.

mod folder;
mod lines;

use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::link::Link;
use crate::project;
use ipc_proto::control::{ControlError, method};
use ipc_proto::memory::{Area, Ask, Said};
use memory_tools::{Code, Fault, FolderAct, Place, Server, Store, Trouble};
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::stdio_pipes;
use serde_json::Value;
use std::path::PathBuf;
use std::process::ExitCode;
use tokio::sync::{mpsc, oneshot};

/// Questions that wait for the connection to control.
const WAITING: usize = 64;

/// What `mcp` is told.
#[derive(clap::Args)]
pub(crate) struct Mcp {
    /// The folder that the client works in; this one without it
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
}

/// A question on its way to control, and where its answer goes.
type Asked = (Ask, oneshot::Sender<Result<Said, Trouble>>);

/// The caller's own memory, and the folder they work in.
struct Remembered {
    control: mpsc::Sender<Asked>,
    place: Place,
    folder: PathBuf,
}

/// Serves one client, until it has no more to say.
pub(crate) async fn mcp(app: &App, arguments: Mcp) -> Outcome {
    let named = arguments.project.unwrap_or_else(|| PathBuf::from("."));
    let folder = named.canonicalize().ok().filter(|folder| folder.is_dir());
    let folder = folder.ok_or_else(|| Failure::Usage(format!("{} is no folder", named.display())))?;
    let place = Place { project: Some(project::of(&folder)) };
    let (control, asked) = mpsc::channel(WAITING);
    let server = Server::new(Remembered { control, place, folder });
    // The connection to control belongs to this task; the client is answered beside it. What control is still asked once
    // nobody is there to hear the answer is waited for no longer.
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
        // What is under way is answered before it ends.
        Ok(running) => running.waiting().await.map(drop).map_err(|error| broken(error.to_string())),
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        // Its own words repeat what the client said.
        Err(_) => Err(broken("the client did not begin as the protocol says".to_owned())),
    }
}

/// Asks control what the tools want to know, one question after the other, for as long as anybody asks.
async fn answer(link: &Link, mut asked: mpsc::Receiver<Asked>) {
    while let Some((ask, reply)) = asked.recv().await {
        let said = link
            .ask(&method::memory, async |control, context| {
                control.memory(context, Area::User, ask.clone()).await
            })
            .await;
        // Whoever asked may have gone.
        drop(reply.send(said.map_err(trouble)));
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

    async fn ask(&self, ask: Ask) -> Result<Said, Trouble> {
        let away = || Trouble::Away("the connection to the host is closed".to_owned(), None);
        let (reply, answer) = oneshot::channel();
        self.control.send((ask, reply)).await.map_err(|_| away())?;
        answer.await.map_err(|_| away())?
    }

    fn folder(&self, act: FolderAct) -> Result<Value, Fault> {
        folder::act(&self.folder, act).map_err(|error| Fault::new(Code::Internal, error.to_string()))
    }
}
