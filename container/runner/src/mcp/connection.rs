//! The connection to a server: opened by the official SDK in the newest version of the protocol that the server knows, and served
//! until the server or the gate ends.

use super::http::Outbound;
use super::lines::Junk;
use super::program::{self, Program};
use super::{Environment, answer, offer};
use crate::RunnerFault;
use crate::gate::Gate;
use ipc_proto::egress::{Origin, PATH};
use ipc_proto::mcp::{Act, Argv, Offer, Reply, Report, Request, Trouble};
use ipc_proto::{Text, mcp};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, ClientConfig, GetPromptRequestParams,
    Implementation, JsonObject, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt, NotificationContext, Peer, RunningService,
    ServiceError,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, RoleClient};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// The time in which a program that broke its stream off ends, and in which its last words come.
const PAUSE: Duration = Duration::from_millis(100);

/// A server that has started.
pub(super) struct Connection {
    running: RunningService<RoleClient, Handler>,
    offer: Offer,
    changed: Arc<Notify>,
    program: Option<Watched>,
}

/// A program by which its end is known.
struct Watched {
    ended: program::Ended,
    complaints: program::Complaints,
    junk: Junk,
}

/// The client's side of what a server may ask: nothing. It has no roots and no sampling, and answers no question for a person.
#[derive(Clone)]
struct Handler {
    changed: Arc<Notify>,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(
            ClientCapabilities::default(),
            Implementation::new("cordon", env!("CARGO_PKG_VERSION")),
        )
    }

    fn on_tool_list_changed(
        &self,
        _: NotificationContext<RoleClient>,
    ) -> impl Future<Output = ()> + Send + '_ {
        self.changed.notify_one();
        std::future::ready(())
    }
}

/// The newest version first; a server that knows none of the newer ones is asked in the older way.
fn lifecycle() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::LATEST],
        legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
    }
}

impl Connection {
    /// Starts a program and speaks over its streams.
    pub(super) async fn to_program(argv: &Argv, environment: &Environment) -> Result<Self, Trouble> {
        let Program { ended: mut end, output, junk, input, complaints } = program::start(argv, environment)?;
        let handler = Handler { changed: Arc::default() };
        let changed = Arc::clone(&handler.changed);
        let opened = handler.serve_with_lifecycle((output, input), lifecycle());
        let trouble = tokio::select! {
            opened = opened => match opened {
                Ok(running) => {
                    let offer = offer::of(running.peer()).await?;
                    return Ok(Self { running, offer, changed, program: Some(Watched { ended: end, complaints, junk }) });
                }
                Err(error) => Trouble::Protocol(why(&error)),
            },
            status = &mut end => Trouble::Ended(Text::clip(&program::status(status))),
        };
        if let Some(fault) = junk.found() {
            return Err(Trouble::Protocol(Text::clip(fault)));
        }
        // Its end and its own words say more than a broken stream, and may come a little later.
        let ended = match trouble {
            Trouble::Ended(_) => None,
            _ => tokio::time::timeout(PAUSE, &mut end).await.ok().map(program::status),
        };
        tokio::time::sleep(PAUSE).await;
        let tail = complaints.tail();
        Err(match (ended, trouble) {
            (Some(_), _) | (_, Trouble::Ended(_)) if !tail.is_empty() => Trouble::Ended(last(&tail)),
            (Some(status), _) => Trouble::Ended(Text::clip(&status)),
            (None, trouble) => trouble,
        })
    }

    /// Speaks with a server elsewhere, over the jail's way out.
    pub(super) async fn to_url(gate: &Gate, origin: &Origin, path: &Text<PATH>) -> Result<Self, Trouble> {
        let client = Outbound::new(gate.clone(), origin.clone(), path.clone());
        let mut config = StreamableHttpClientTransportConfig::with_uri(path.as_str());
        config.max_sse_event_size = super::http::EVENT;
        let transport = StreamableHttpClientTransport::with_client(client, config);
        let handler = Handler { changed: Arc::default() };
        let changed = Arc::clone(&handler.changed);
        let running = handler.serve_with_lifecycle(transport, lifecycle()).await;
        let running = running.map_err(|error| Trouble::Protocol(why(&error)))?;
        let offer = offer::of(running.peer()).await?;
        Ok(Self { running, offer, changed, program: None })
    }

    /// Reports what the server offers and passes requests on, until the server ends.
    ///
    /// # Errors
    /// [`RunnerFault::GateGone`].
    pub(super) async fn serve(self, gate: &Gate) -> Result<Trouble, RunnerFault> {
        let Self { running, offer, changed, program } = self;
        gate.server_report(Report::Offers(Box::new(offer))).await?;
        let peer = running.peer().clone();
        let ended = ended(running, program);
        tokio::pin!(ended);
        let requests = pass(gate, &peer);
        tokio::pin!(requests);
        loop {
            tokio::select! {
                trouble = &mut ended => return Ok(trouble),
                gone = &mut requests => return Err(gone),
                () = changed.notified() => {
                    match offer::of(&peer).await {
                        Ok(offer) => gate.server_report(Report::Offers(Box::new(offer))).await?,
                        Err(trouble) => return Ok(trouble),
                    }
                }
            }
        }
    }
}

/// Waits for the end of a server.
async fn ended(running: RunningService<RoleClient, Handler>, program: Option<Watched>) -> Trouble {
    let Some(Watched { ended: mut end, complaints, junk }) = program else {
        drop(running.waiting().await);
        return Trouble::Ended(Text::clip("the connection closed"));
    };
    tokio::select! {
        status = &mut end => {
            let status = program::status(status);
            let tail = complaints.tail();
            Trouble::Ended(if tail.is_empty() { Text::clip(&status) } else { last(&tail) })
        }
        _ = running.waiting() => {
            Trouble::Protocol(Text::clip(junk.found().unwrap_or("it closed its output")))
        }
    }
}

/// Passes the gate's requests on, each in a task of its own. Ends with the gate.
async fn pass(gate: &Gate, peer: &Peer<RoleClient>) -> RunnerFault {
    loop {
        match gate.server_next().await {
            Ok(Some(request)) => {
                let (gate, peer) = (gate.clone(), peer.clone());
                tokio::task::spawn_local(async move {
                    let id = request.id;
                    let reply = reply(&peer, request).await;
                    // A gate that is gone ends the jail.
                    drop(gate.server_reply(id, reply).await);
                });
            }
            Ok(None) => {}
            Err(gone) => return gone,
        }
    }
}

async fn reply(peer: &Peer<RoleClient>, request: Request) -> Reply {
    let time = Duration::from_secs(request.seconds.into());
    let replied = tokio::time::timeout(time, perform(peer, request.act)).await;
    match replied {
        Ok(Ok(reply)) => reply,
        Ok(Err(error)) => answer::failed(&error),
        Err(_) => Reply::TimedOut,
    }
}

async fn perform(peer: &Peer<RoleClient>, act: Act) -> Result<Reply, ServiceError> {
    match act {
        Act::Call { tool, args } => {
            let mut params = CallToolRequestParams::new(tool.to_string());
            params.arguments = Some(object(&args));
            match peer.call_tool_once(params).await? {
                CallToolResponse::Complete(result) => Ok(answer::of_call(&result)),
                CallToolResponse::InputRequired(_) => {
                    Ok(Reply::Refused(Text::clip("the server asks a person for more, which it may not")))
                }
                _ => Err(ServiceError::UnexpectedResponse),
            }
        }
        Act::Resources => {
            let mut listed = peer.list_resources(Some(PaginatedRequestParams::default())).await?.resources;
            listed.truncate(mcp::ITEMS);
            Ok(answer::resources(&listed))
        }
        Act::Read { uri } => {
            let params = ReadResourceRequestParams::new(uri.to_string());
            Ok(answer::of_resource(&peer.read_resource(params).await?))
        }
        Act::Prompts => {
            let mut listed = peer.list_prompts(Some(PaginatedRequestParams::default())).await?.prompts;
            listed.truncate(mcp::ITEMS);
            Ok(answer::prompts(&listed))
        }
        Act::Prompt { name, args } => {
            let mut params = GetPromptRequestParams::new(name.to_string());
            params.arguments = Some(object(&args));
            Ok(answer::of_prompt(&peer.get_prompt(params).await?))
        }
    }
}

fn object(text: &str) -> JsonObject {
    serde_json::from_str(text).unwrap_or_default()
}

/// Why a server could not be spoken with, without the names of the SDK's types.
fn why(error: &ClientInitializeError) -> Text<256> {
    let said = error.to_string();
    let said = match error {
        ClientInitializeError::JsonRpcError(error) => &error.message,
        ClientInitializeError::ConnectionClosed(_) => "it closed the connection",
        ClientInitializeError::TransportError { .. } => said.rsplit("] error: ").next().unwrap_or(&said),
        _ => &said,
    };
    Text::clip(said)
}

/// The last line of what a program complained of.
fn last(tail: &str) -> Text<256> {
    Text::clip(tail.lines().next_back().unwrap_or_default())
}
