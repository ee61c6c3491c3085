//! The connection to a server: opened by the official SDK in the newest version of the protocol that the server knows, and served
//! until the server or the gate ends.

use super::http::Outbound;
use super::lines::Junk;
use super::program::{self, Program};
use super::questions::UnderWay;
use super::{Environment, offer, requests};
use crate::RunnerFault;
use crate::gate::Gate;
use ipc_proto::egress::{Origin, PATH};
use ipc_proto::mcp::{Argv, Offer, Report, Trouble};
use ipc_proto::{Name, Text};
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationCapability, ErrorData,
    FormElicitationCapability, Implementation, ProtocolVersion, UrlElicitationCapability,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt, NotificationContext, RequestContext,
    RunningService,
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
    handler: Handler,
    program: Option<Watched>,
}

/// A program by which its end is known.
struct Watched {
    ended: program::Ended,
    complaints: program::Complaints,
    junk: Junk,
}

/// The client's side of what a server may ask: a person, by the gate. It has no roots and no sampling.
#[derive(Clone, Default)]
struct Handler {
    changed: Arc<Notify>,
    under_way: UnderWay,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut elicitation = ElicitationCapability::default();
        elicitation.form = Some(FormElicitationCapability::new());
        elicitation.url = Some(UrlElicitationCapability::new());
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(elicitation);
        ClientConfig::new(capabilities, Implementation::new("cordon", env!("CARGO_PKG_VERSION")))
    }

    async fn create_elicitation(
        &self,
        asked: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(self.under_way.answer(asked).await)
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
        let handler = Handler::default();
        let opened = handler.clone().serve_with_lifecycle((output, input), lifecycle());
        let trouble = tokio::select! {
            opened = opened => match opened {
                Ok(running) => {
                    let offer = offer::of(running.peer()).await?;
                    return Ok(Self { running, offer, handler, program: Some(Watched { ended: end, complaints, junk }) });
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
    pub(super) async fn to_url(
        gate: &Gate,
        server: &Name,
        origin: &Origin,
        path: &Text<PATH>,
    ) -> Result<Self, Trouble> {
        let client = Outbound::new(gate.clone(), origin.clone(), path.clone());
        let mut config = StreamableHttpClientTransportConfig::with_uri(path.as_str());
        config.max_sse_event_size = super::http::EVENT;
        let transport = StreamableHttpClientTransport::with_client(client.clone(), config);
        let handler = Handler::default();
        let running = handler.clone().serve_with_lifecycle(transport, lifecycle()).await;
        let running = running.map_err(|error| match client.wants_login() {
            true => Trouble::Login(server.clone()),
            false => Trouble::Protocol(why(&error)),
        })?;
        let offer = offer::of(running.peer()).await?;
        client.listens().await;
        Ok(Self { running, offer, handler, program: None })
    }

    /// Reports what the server offers and passes requests on, until the server ends.
    ///
    /// # Errors
    /// [`RunnerFault::GateGone`].
    pub(super) async fn serve(self, gate: &Gate) -> Result<Trouble, RunnerFault> {
        let Self { running, offer, handler, program } = self;
        gate.server_report(Report::Offers(Box::new(offer))).await?;
        let peer = running.peer().clone();
        let ended = ended(running, program);
        tokio::pin!(ended);
        let requests = requests::pass(gate, &peer, &handler.under_way);
        tokio::pin!(requests);
        loop {
            tokio::select! {
                trouble = &mut ended => return Ok(trouble),
                gone = &mut requests => return Err(gone),
                () = handler.changed.notified() => {
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
