//! The owner's services: which of them an agent may call by which tool, and the request that a call becomes.

use ipc_proto::config::Service;
use ipc_proto::credproxy::{At, Header, PLACEHOLDER, Request, Verb};
use ipc_proto::tool::ToolCall;
use ipc_proto::{Blob, List, Name, Text};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The tool for services with a key, and the one for those with a login.
const TOOLS: [&str; 2] = ["http_call", "oauth_call"];

/// The tool that types the placeholder of a secret into a form.
const TYPING: &str = "browser_type";

/// Returns true if this tool calls services.
pub(crate) fn calls(tool: &str) -> bool {
    TOOLS.contains(&tool)
}

/// Checks that the agent may make this call: to a service that names the agent, by this tool, with a verb and a path of the
/// service. The error names the valid ones.
pub(crate) fn fits(
    services: &BTreeMap<String, Service>,
    agent: &str,
    tool: &str,
    args: &Map<String, Value>,
) -> Result<(), String> {
    if calls(tool) { request(services, agent, tool, args, None).map(drop) } else { Ok(()) }
}

/// The request of a call that the agent may make. The error names the valid services, verbs and paths.
pub(crate) fn request(
    services: &BTreeMap<String, Service>,
    agent: &str,
    tool: &str,
    args: &Map<String, Value>,
    call: Option<&ToolCall>,
) -> Result<Request, String> {
    let service = own(services, agent, tool, text(args, "service"));
    service.and_then(|service| built(service, args, call)).map_err(|why| format!("{tool}: {why}"))
}

/// The service of this name, if the agent may call it by this tool.
fn own<'a>(
    services: &'a BTreeMap<String, Service>,
    agent: &str,
    tool: &str,
    name: &str,
) -> Result<&'a Service, String> {
    let own = |service: &Service| of(service, tool, agent);
    services.get(name).filter(|service| own(service)).ok_or_else(|| {
        let names: Vec<&str> =
            services.iter().filter(|(_, service)| own(service)).map(|(name, _)| name.as_str()).collect();
        format!("there is no such service for this agent; there are {}", names.join(", "))
    })
}

/// A tool's description for the model, with the services that this agent may call by it.
pub(crate) fn described(
    services: &BTreeMap<String, Service>,
    agent: &str,
    tool: &str,
    description: &str,
) -> String {
    let mut text = description.to_owned();
    for service in of_forms(services, agent).filter(|_| tool == TYPING) {
        let _ = write!(text, "\nOn {} the host has the secret", service.base_url);
        let _ = write!(text, ": type {PLACEHOLDER} alone into its field. {}", service.description);
    }
    let own = services.iter().filter(|(_, service)| of(service, tool, agent));
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

/// Returns true if an agent may call by this tool every service that `other` may.
pub(crate) fn covers(services: &BTreeMap<String, Service>, tool: &str, agent: &str, other: &str) -> bool {
    services.values().filter(|service| of(service, tool, other)).all(|service| of(service, tool, agent))
}

/// Returns true if the programs of an agent may call every service that those of `other` may.
pub(crate) fn covers_variables(services: &BTreeMap<String, Service>, agent: &str, other: &str) -> bool {
    let own = variables(services, agent);
    variables(services, other).iter().all(|variable| own.contains(variable))
}

/// The services that programs of this agent may call.
pub(crate) fn of_programs<'a>(
    services: &'a BTreeMap<String, Service>,
    agent: &'a str,
) -> impl Iterator<Item = (&'a String, &'a Service)> {
    services.iter().filter(move |(_, it)| {
        it.variable.is_some() && it.secret.is_some() && it.agents.iter().any(|one| one == agent)
    })
}

/// Returns true if the secret of a service goes into a field of a body.
pub(crate) fn is_in_body(service: &Service) -> bool {
    matches!(service.secret.as_ref().map(|secret| &secret.at), Some(At::Field { .. }))
}

/// The services whose secret goes into a form that a page of this agent's browser sends.
fn of_forms<'a>(
    services: &'a BTreeMap<String, Service>,
    agent: &'a str,
) -> impl Iterator<Item = &'a Service> {
    of_programs(services, agent).map(|(_, service)| service).filter(|service| is_in_body(service))
}

/// Returns true if one of them is at this site, a URL of scheme, host and port.
pub(crate) fn has_form(services: &BTreeMap<String, Service>, agent: &str, site: &str) -> bool {
    of_forms(services, agent).any(|service| {
        let rest = service.base_url.strip_prefix(site.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

/// The variables of programs of this agent that hold the placeholder of a secret.
pub(crate) fn variables(services: &BTreeMap<String, Service>, agent: &str) -> Vec<Name> {
    of_programs(services, agent)
        .filter_map(|(_, service)| service.variable.as_deref().map(Name::clip))
        .collect()
}

/// The request, with a placeholder for the secret. `call` identifies the request for a service that takes an idempotency key.
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
        cookies: false,
    })
}

/// The query with its question mark; empty where there is none.
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

/// The body as JSON; empty where the call has none and no secret is placed there.
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
    // After a crash, the same call has the same id.
    if let (Some(name), Some(call)) = (&service.idempotency_header, call) {
        headers.push(header(name, &call.id.to_string()));
    }
    List::clip(headers)
}

pub(crate) fn verb(name: &str) -> Verb {
    Verb::ALL.into_iter().find(|verb| verb.word() == name).unwrap_or_default()
}

pub(crate) const fn reads(verb: Verb) -> bool {
    matches!(verb, Verb::Get | Verb::Head)
}

pub(crate) fn text<'a>(args: &'a Map<String, Value>, key: &str) -> &'a str {
    args.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
