//! The gate's requests to a server, each in a task of its own, which waits while the server asks a person.

use super::answer;
use super::questions::{self, Asking, Questions, Resumed, UnderWay};
use crate::RunnerFault;
use crate::gate::Gate;
use ipc_proto::Text;
use ipc_proto::mcp::{Act, ITEMS, Reply, Request};
use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, GetPromptRequestParams, InputRequiredResult, InputResponses,
    JsonObject, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
};
use rmcp::service::{Peer, ServiceError};
use std::time::Duration;
use tokio::sync::mpsc;

/// How often a server may answer one request with questions, or with a request for more time.
const ROUNDS: u32 = 10;
/// The pause before a request for which the server wants more time is repeated.
const AGAIN: Duration = Duration::from_millis(200);

/// Passes them on. Ends with the gate.
pub(super) async fn pass(gate: &Gate, peer: &Peer<RoleClient>, under_way: &UnderWay) -> RunnerFault {
    loop {
        match gate.server_next().await {
            Ok(Some(Request { id, seconds, act: Act::Resume { request, answers } })) => {
                if !under_way.resume(request, Resumed { id, seconds, answers }) {
                    drop(gate.server_reply(id, Reply::Gone).await);
                }
            }
            Ok(Some(request)) => {
                let (gate, peer, under_way) = (gate.clone(), peer.clone(), under_way.clone());
                tokio::task::spawn_local(async move { reply(&gate, &peer, &under_way, request).await });
            }
            Ok(None) => {}
            Err(gone) => return gone,
        }
    }
}

/// Carries a request out and gives the gate the reply, and before that the questions of the server.
async fn reply(gate: &Gate, peer: &Peer<RoleClient>, under_way: &UnderWay, request: Request) {
    let Request { id: first, seconds, act } = request;
    let (asking, mut asked) = mpsc::channel(1);
    under_way.begin(first, asking.clone());
    let work = perform(peer, act, asking);
    tokio::pin!(work);
    let (mut id, mut time) = (first, Duration::from_secs(seconds.into()));
    // A gate that is gone ends the jail.
    let replied = loop {
        tokio::select! {
            replied = &mut work => break replied.unwrap_or_else(|error| answer::failed(&error)),
            Some(Questions { asks, answers }) = asked.recv() => {
                let resumed = under_way.suspend(first);
                drop(gate.server_reply(id, Reply::Asks { request: first, asks }).await);
                let Ok(resumed) = resumed.await else { return under_way.end(first) };
                (id, time) = (resumed.id, Duration::from_secs(resumed.seconds.into()));
                drop(answers.send(resumed.answers));
            }
            () = tokio::time::sleep(time) => break Reply::TimedOut,
        }
    };
    under_way.end(first);
    drop(gate.server_reply(id, replied).await);
}

async fn perform(peer: &Peer<RoleClient>, act: Act, asking: Asking) -> Result<Reply, ServiceError> {
    match act {
        Act::Call { tool, args } => {
            let mut params = CallToolRequestParams::new(tool.to_string());
            params.arguments = Some(object(&args));
            call(peer, params, &asking).await
        }
        Act::Resources => {
            let mut listed = peer.list_resources(Some(PaginatedRequestParams::default())).await?.resources;
            listed.truncate(ITEMS);
            Ok(answer::resources(&listed))
        }
        Act::Read { uri } => read(peer, ReadResourceRequestParams::new(uri.to_string()), &asking).await,
        Act::Prompts => {
            let mut listed = peer.list_prompts(Some(PaginatedRequestParams::default())).await?.prompts;
            listed.truncate(ITEMS);
            Ok(answer::prompts(&listed))
        }
        Act::Prompt { name, args } => {
            let mut params = GetPromptRequestParams::new(name.to_string());
            params.arguments = Some(object(&args));
            Ok(answer::of_prompt(&peer.get_prompt(params).await?))
        }
        Act::Browse(_) => Ok(Reply::Refused(Text::clip("a server is no browser"))),
        // It was handed over to the request that waits.
        Act::Resume { .. } => Ok(Reply::Gone),
    }
}

async fn call(
    peer: &Peer<RoleClient>,
    mut params: CallToolRequestParams,
    asking: &Asking,
) -> Result<Reply, ServiceError> {
    for _ in 0..ROUNDS {
        match peer.call_tool_once(params.clone()).await? {
            CallToolResponse::Complete(result) => return Ok(answer::of_call(&result)),
            CallToolResponse::InputRequired(required) => match answered(required, asking).await {
                Some((responses, state)) => {
                    (params.input_responses, params.request_state) = (responses, state)
                }
                None => return Ok(other()),
            },
            _ => return Err(ServiceError::UnexpectedResponse),
        }
    }
    Ok(endless())
}

async fn read(
    peer: &Peer<RoleClient>,
    mut params: ReadResourceRequestParams,
    asking: &Asking,
) -> Result<Reply, ServiceError> {
    for _ in 0..ROUNDS {
        match peer.read_resource_once(params.clone()).await? {
            ReadResourceResponse::Complete(result) => return Ok(answer::of_resource(&result)),
            ReadResourceResponse::InputRequired(required) => match answered(required, asking).await {
                Some((responses, state)) => {
                    (params.input_responses, params.request_state) = (responses, state)
                }
                None => return Ok(other()),
            },
            _ => return Err(ServiceError::UnexpectedResponse),
        }
    }
    Ok(endless())
}

/// The parts of the repeated request that the server required. None if it asks for what this client does not give.
async fn answered(
    required: InputRequiredResult,
    asking: &Asking,
) -> Option<(Option<InputResponses>, Option<String>)> {
    let requests = required.input_requests.unwrap_or_default();
    if requests.is_empty() {
        tokio::time::sleep(AGAIN).await;
        return Some((None, required.request_state));
    }
    let responses = questions::answer_all(asking, requests).await?;
    Some((Some(responses), required.request_state))
}

fn other() -> Reply {
    Reply::Refused(Text::clip("the server asks for a model or for folders, which it is not given"))
}

fn endless() -> Reply {
    Reply::Refused(Text::clip("the server asked again and again"))
}

fn object(text: &str) -> JsonObject {
    serde_json::from_str(text).unwrap_or_default()
}
