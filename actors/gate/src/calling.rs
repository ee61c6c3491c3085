//! Calls of the owner's services, done by credproxy: to where the configuration says and nowhere else, with a secret
//! that nobody here ever sees. What comes back is a stranger's words.

use crate::context::TurnContext;
use crate::effects::{Effect, failed};
use crate::host::Shared;
use crate::replay::UNKNOWN;
use crate::waits;
use ipc_proto::config::Service;
use ipc_proto::credproxy::{self, At, CredError, Head, Header, PLACEHOLDER, Request, Verb};
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::scanner::Crossing;
use ipc_proto::tool::{Outcome, ToolCall};
use ipc_proto::{Blob, Fault, List, Name, Text};
use kit::Pull;
use serde_json::{Map, Value};
use std::fmt::Write;

/// The tool for services with a key, and the one for those with a login.
const TOOLS: [&str; 2] = ["http_call", "oauth_call"];

/// Returns whether this tool calls services.
pub(crate) fn calls(tool: &str) -> bool {
    TOOLS.contains(&tool)
}

/// Returns whether the agent may call what it asks for: a service that names it, for this tool, by a verb and under a path of
/// the service. Says what is valid where not.
pub(crate) fn fits(
    shared: &Shared,
    context: &TurnContext,
    tool: &str,
    args: &Map<String, Value>,
) -> Result<(), String> {
    if !calls(tool) {
        return Ok(());
    }
    let services = &shared.settings.services;
    let own = |service: &Service| of(service, tool, &context.turn.agent);
    let Some(service) = services.get(text(args, "service")).filter(|service| own(service)) else {
        let names: Vec<&str> =
            services.iter().filter(|(_, service)| own(service)).map(|(name, _)| name.as_str()).collect();
        return Err(format!(
            "{tool}: there is no such service for this agent; there are {}",
            names.join(", ")
        ));
    };
    built(service, args, None).map(drop).map_err(|why| format!("{tool}: {why}"))
}

/// What a tool says of itself to a model, and which services this agent may call by it.
pub(crate) fn described(shared: &Shared, context: &TurnContext, tool: &str, description: &str) -> String {
    let mut text = description.to_owned();
    let own = shared.settings.services.iter().filter(|(_, service)| of(service, tool, &context.turn.agent));
    for (name, service) in own.filter(|_| calls(tool)) {
        let verbs: Vec<&str> = service.verbs.iter().map(|verb| verb.word()).collect();
        let paths = if service.paths.is_empty() { "any path".to_owned() } else { service.paths.join(", ") };
        let _ = write!(text, "\nService {name}: {} {paths}. {}", verbs.join("/"), service.description);
    }
    text
}

fn of(service: &Service, tool: &str, agent: &str) -> bool {
    let [keyed, logged_in] = TOOLS;
    let by = if service.oauth { logged_in } else { keyed };
    tool == by && service.agents.iter().any(|one| one == agent)
}

/// Calls a service. The decision on this very call was made; what the configuration says of the service is held to
/// once more.
pub(crate) async fn call(
    shared: &Shared,
    context: &TurnContext,
    call: &ToolCall,
    args: &Map<String, Value>,
) -> Effect {
    if let Err(why) = fits(shared, context, &call.tool, args) {
        return failed(&why);
    }
    let name = text(args, "service");
    let Some(service) = shared.settings.services.get(name) else { return failed("there is no such service") };
    let request = match built(service, args, Some(call)) {
        Ok(request) => request,
        Err(why) => return failed(&why),
    };
    let reads = reads(request.verb);
    let asked = shared.credproxy.call(&credproxy::method::request, |credproxy, rpc| {
        let request = request.clone();
        async move { credproxy.request(rpc, request).await }
    });
    let mut head = match waits::on("credproxy", asked).await {
        Ok(Ok(head)) => head,
        Ok(Err(error)) => return refused(error, reads),
        Err(fault) => return gone(fault, reads),
    };
    let execution = shared.catalogue.get(&call.tool).map(|capability| capability.execution.max_output_size);
    let bound = execution.and_then(|bound| usize::try_from(bound).ok()).unwrap_or_default();
    let body = waits::on("credproxy", read(Pull::of(&shared.credproxy, &mut head), bound)).await;
    strangers(show(&head, &body), name)
}

/// A call took longer than its tool may.
pub(crate) fn late(args: &Value) -> Effect {
    gone(Fault::Deadline, reads(verb(args.get("method").and_then(Value::as_str).unwrap_or_default())))
}

/// The request, with the mark where the secret goes. `call` is its name for a service that takes an idempotency key.
fn built(service: &Service, args: &Map<String, Value>, call: Option<&ToolCall>) -> Result<Request, String> {
    let verb = verb(text(args, "method"));
    let path = text(args, "path");
    if !service.verbs.contains(&verb) {
        let valid: Vec<&str> = service.verbs.iter().map(|verb| verb.word()).collect();
        return Err(format!("the service is not called by {}; valid are {}", verb.word(), valid.join(", ")));
    }
    let plain = path.bytes().all(|byte| byte.is_ascii_graphic() && !br#"?#"<>^`{|}"#.contains(&byte));
    if !plain || !address::reads_one_way(path) {
        return Err(
            "path: it begins with a slash, without a query, without segments of dots, and what is not plain \
                    ASCII is percent-encoded"
                .to_owned(),
        );
    }
    let under =
        service.paths.is_empty() || address::leads_under(path, service.paths.iter().map(String::as_str));
    if !under {
        return Err(format!("the path is outside of those of the service: {}", service.paths.join(", ")));
    }
    if Value::Object(args.clone()).to_string().contains(PLACEHOLDER) {
        return Err("the arguments hold the mark of a secret, which only the host places".to_owned());
    }
    let at = service.secret.as_ref().map(|placement| &placement.at);
    let body = body(args, at)?;
    let url = format!("{}{path}{}", service.base_url, query(args, at)?);
    Ok(Request {
        verb,
        url: Text::new(url).map_err(|_| "path and query together are too long".to_owned())?,
        headers: headers(service, body.is_empty(), call),
        body: Blob::new(body).map_err(|_| "the body is too long".to_owned())?,
        secret: service.secret.clone(),
    })
}

/// The query as a URL holds it, its question mark included.
fn query(args: &Map<String, Value>, at: Option<&At>) -> Result<String, String> {
    let given = args.get("query").and_then(Value::as_object);
    let mut pairs = form_urlencoded::Serializer::new(String::new());
    for (name, value) in given.into_iter().flatten() {
        pairs.append_pair(name, value.as_str().unwrap_or_default());
    }
    if let Some(At::Query { name }) = at {
        if given.is_some_and(|given| given.keys().any(|key| key.eq_ignore_ascii_case(name))) {
            return Err(format!("query: {name} is the host's to set"));
        }
        pairs.append_pair(name, PLACEHOLDER);
    }
    let query = pairs.finish();
    Ok(if query.is_empty() { query } else { format!("?{query}") })
}

/// The body as JSON; nothing where none is given and no secret goes there.
fn body(args: &Map<String, Value>, at: Option<&At>) -> Result<Vec<u8>, String> {
    let mut body = args.get("body").and_then(Value::as_object).cloned();
    if let Some(At::Field { name }) = at {
        let body = body.get_or_insert_default();
        if body.insert(name.to_string(), Value::from(PLACEHOLDER)).is_some() {
            return Err(format!("body: {name} is the host's to set"));
        }
    }
    Ok(body.map(|body| Value::Object(body).to_string().into_bytes()).unwrap_or_default())
}

fn headers(service: &Service, empty: bool, call: Option<&ToolCall>) -> List<Header, 16> {
    let header = |name: &str, value: &str| Header { name: Name::clip(name), value: Text::clip(value) };
    let mut headers = vec![header("accept", "application/json, text/*;q=0.9, */*;q=0.1")];
    if !empty {
        headers.push(header("content-type", "application/json"));
    }
    // The same call, given out again after a crash, has the same id.
    if let (Some(name), Some(call)) = (&service.idempotency_header, call) {
        headers.push(header(name, &call.id.to_string()));
    }
    List::clip(headers)
}

/// What came of a body.
struct Body {
    bytes: Vec<u8>,
    /// More followed than may be read.
    cut: bool,
    /// It broke off.
    broken: bool,
}

/// Reads a body, as much of it as may be read.
async fn read(mut pull: Pull, bound: usize) -> Body {
    let mut body = Body { bytes: Vec::new(), cut: false, broken: false };
    loop {
        let Ok(Ok(chunk)) = pull.next().await else { return Body { broken: true, ..body } };
        body.bytes.extend(&*chunk.bytes);
        if body.bytes.len() > bound {
            body.bytes.truncate(bound);
            return Body { cut: true, ..body };
        }
        if chunk.last {
            return body;
        }
    }
}

/// Credproxy did not send it, or what it sent was not answered: then a call that does more than read is unknown.
fn refused(error: CredError, reads: bool) -> Effect {
    let sent = matches!(error, CredError::Upstream | CredError::Compressed | CredError::Stalled);
    let mut effect = failed(&error.to_string());
    if sent && !reads {
        effect.outcome = Outcome::Unknown;
        UNKNOWN.clone_into(&mut effect.output);
    }
    effect
}

/// Credproxy went away. What only reads has failed; what may have been sent is not known, and is not sent again by
/// itself.
fn gone(fault: Fault, reads: bool) -> Effect {
    tracing::warn!(%fault, "credproxy did not answer");
    let mut effect = failed("credproxy is not there, or went away");
    if !reads && fault != Fault::Unreachable {
        effect.outcome = Outcome::Unknown;
        UNKNOWN.clone_into(&mut effect.output);
    }
    effect
}

/// Output that the service wrote.
fn strangers(output: String, service: &str) -> Effect {
    let source = format!("service:{service}");
    Effect {
        outcome: Outcome::Success,
        output,
        label: Some(Label::of(Trust::Untrusted, Class::Internal, &source)),
        crossing: Crossing::Web,
        from: Some(source),
    }
}

fn show(head: &Head, body: &Body) -> String {
    let mut out = head.status.to_string();
    for header in head.headers.iter().filter(|header| SHOWN.contains(&header.name.as_str())) {
        let _ = write!(out, "\n{}: {}", header.name, header.value);
    }
    let end = match (body.cut, body.broken) {
        (true, _) => "\n[... more followed and was not read]",
        (_, true) => "\n[... the reply broke off]",
        _ => "",
    };
    format!("{out}\n\n{}{end}", String::from_utf8_lossy(&body.bytes))
}

/// Headers of a reply that a model is shown.
const SHOWN: [&str; 3] = ["content-type", "location", "retry-after"];

fn verb(name: &str) -> Verb {
    Verb::ALL.into_iter().find(|verb| verb.word() == name).unwrap_or_default()
}

const fn reads(verb: Verb) -> bool {
    matches!(verb, Verb::Get | Verb::Head)
}

fn text<'a>(args: &'a Map<String, Value>, key: &str) -> &'a str {
    args.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
