//! Logging in at a server elsewhere: web fetches what the server and its authorization server publish (RFC 9728 and RFC 8414), and registers
//! a client (RFC 7591). All of it is a stranger's word: addresses have to be plain and public, and the owner is shown them before any is
//! used. The code and the tokens never come here.

use crate::state::context::GateContext;
use address::{Scheme, Target, may_go};
use ipc_proto::config::McpStart;
use ipc_proto::credproxy::Header;
use ipc_proto::mcp::{LoginTerms, McpError, NoLogin, SCOPES};
use ipc_proto::web::{self, FETCH_MS, Fetch, Method, Mode, Page, Rule};
use ipc_proto::{Blob, List, Name, Text};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

/// Bytes of metadata.
const METADATA: u32 = 64 * 1024;
/// Characters of an address besides letters and digits. No shell and no terminal reads any of them in another way within quotes.
const PLAIN: &[u8] = b"-._~:/?&=%+,@[]";
/// Where a browser may be sent back to.
const LOOPBACK: &str = "http://127.0.0.1:";

/// The metadata of a server.
#[derive(Deserialize)]
struct Resource {
    resource: String,
    #[serde(default)]
    authorization_servers: Vec<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
}

/// The metadata of an authorization server.
#[derive(Deserialize)]
struct Authority {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    registration_endpoint: Option<String>,
    #[serde(default)]
    code_challenge_methods_supported: Vec<String>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
    #[serde(default)]
    client_id_metadata_document_supported: bool,
}

/// Its answer to a registration.
#[derive(Deserialize)]
struct Registered {
    client_id: String,
    client_secret: Option<String>,
}

/// The terms of a login at this server.
pub(crate) async fn terms(gate: &GateContext, name: &Name) -> Result<Box<LoginTerms>, McpError> {
    let server = gate.mcp.servers.get(name.as_str()).ok_or_else(|| super::servers::no_server(gate))?;
    let found = match &server.start {
        McpStart::Url { service: Some(service), .. } => Err(NoLogin::Service(Text::clip(service))),
        McpStart::Url { origin, path, token_url, .. } => {
            let scheme = if origin.tls { "https" } else { "http" };
            let url = format!("{scheme}://{}{path}", origin.host_port());
            discover(gate, &url, token_url.as_deref()).await
        }
        McpStart::Command(_) | McpStart::Package { .. } => Err(NoLogin::Program),
    };
    found.map(Box::new).map_err(|why| McpError::Login { server: name.clone(), why })
}

async fn discover(gate: &GateContext, url: &str, token_url: Option<&str>) -> Result<LoginTerms, NoLogin> {
    let server = address::parse(url).map_err(|unfit| refused(url, unfit.phrase()))?;
    let (at, resource) = of_resource(gate, &server).await?;
    let named = resource.authorization_servers.first();
    let issuer = named.ok_or_else(|| refused(&at, "they name no authorization server"))?;
    let place = fit(gate, &at, issuer)?;
    if place.path_and_query.contains('?') {
        return Err(refused(&at, "the authorization server's address has a query"));
    }
    let (at, authority) = of_authority(gate, &place).await?;
    if authority.issuer != *issuer {
        return Err(refused(&at, "the issuer is another than the server named"));
    }
    if !authority.code_challenge_methods_supported.iter().any(|method| method == "S256") {
        return Err(refused(&at, "no proof of the client (PKCE with S256) is offered"));
    }
    let endpoint = |url: &str| fit(gate, &at, url).map(|_| Text::clip(url));
    let configured = token_url == Some(authority.token_endpoint.as_str());
    let registration = authority.registration_endpoint.as_deref().map(endpoint).transpose()?;
    Ok(LoginTerms {
        resource: Text::clip(&resource.resource),
        host: Text::clip(&server.host_port().to_string()),
        issuer: Text::clip(issuer),
        authorization_endpoint: endpoint(&authority.authorization_endpoint)?,
        token_endpoint: endpoint(&authority.token_endpoint)?,
        registration_endpoint: registration,
        scopes: scopes(&at, &resource.scopes_supported)?,
        names_issuer: authority.authorization_response_iss_parameter_supported,
        client_documents: authority.client_id_metadata_document_supported,
        configured,
    })
}

/// The server's own metadata, from its own origin, and where they were: where its challenge says, else at the places that the standard
/// names.
async fn of_resource(gate: &GateContext, server: &Target) -> Result<(String, Resource), NoLogin> {
    let (origin, path) = parts(server);
    let mut places = vec![format!("{origin}/.well-known/oauth-protected-resource")];
    if !path.is_empty() {
        places.insert(0, format!("{origin}/.well-known/oauth-protected-resource{path}"));
    }
    if let Some(place) = challenged(gate, &format!("{origin}{path}")).await {
        if parts(&fit(gate, &origin, &place)?).0 != origin {
            return Err(refused(&origin, "the server's challenge leads to another origin"));
        }
        places.insert(0, place);
    }
    let (at, resource): (String, Resource) = first(gate, &places).await?;
    let named = address::parse(&resource.resource).ok().map(|target| parts(&target));
    let whole = (origin.clone(), path.clone());
    if !named.is_some_and(|named| named == whole || named == (origin, String::new())) {
        return Err(refused(&at, "they are of another server"));
    }
    fit(gate, &at, &resource.resource)?;
    Ok((at, resource))
}

/// The address of the metadata in the challenge of a server that is asked without a token (RFC 9728, 5.1); none without one.
async fn challenged(gate: &GateContext, url: &str) -> Option<String> {
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "cordon", "version": "1"}}});
    let page = page(gate, url, "application/json, text/event-stream", Some(hello.to_string())).await.ok()?;
    metadata_in(&page.challenge).map(str::to_owned)
}

/// The value of `resource_metadata` in a challenge.
fn metadata_in(challenge: &str) -> Option<&str> {
    const NAME: &str = "resource_metadata=";
    let lower = challenge.to_ascii_lowercase();
    let at = lower.match_indices(NAME).map(|(at, _)| at).find(|at| {
        let before = challenge.as_bytes().get(at.wrapping_sub(1));
        before.is_some_and(|byte| matches!(byte, b' ' | b',' | b'\t'))
    })?;
    let value = challenge.get(at + NAME.len()..)?;
    match value.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"').map(|(value, _)| value),
        None => value.split([',', ' ', '\t']).next(),
    }
}

async fn of_authority(gate: &GateContext, issuer: &Target) -> Result<(String, Authority), NoLogin> {
    let (origin, path) = parts(issuer);
    let mut places = vec![
        format!("{origin}/.well-known/oauth-authorization-server{path}"),
        format!("{origin}/.well-known/openid-configuration{path}"),
    ];
    if !path.is_empty() {
        places.push(format!("{origin}{path}/.well-known/openid-configuration"));
    }
    first(gate, &places).await
}

/// Origin and path, without a slash at the end.
fn parts(target: &Target) -> (String, String) {
    let origin = format!("{}://{}", target.scheme.text(), target.authority());
    (origin, target.path_and_query.trim_end_matches('/').to_owned())
}

/// The first of these documents that is there.
async fn first<T: DeserializeOwned>(gate: &GateContext, places: &[String]) -> Result<(String, T), NoLogin> {
    let mut missing = None;
    for place in places {
        match fetched(gate, place, None).await {
            Ok(document) => return Ok((place.clone(), document)),
            // Only one that is not there leads to the next.
            Err((fault, true)) => drop(missing.get_or_insert(fault)),
            Err((fault, false)) => return Err(fault),
        }
    }
    Err(missing.unwrap_or(NoLogin::Program))
}

/// A document of JSON by web, which follows no redirect off the origin; a failure says if there is none.
async fn fetched<T: DeserializeOwned>(
    gate: &GateContext,
    url: &str,
    body: Option<String>,
) -> Result<T, (NoLogin, bool)> {
    let failed = |why: &str, missing| (failed(url, why), missing);
    let page = page(gate, url, "application/json", body).await.map_err(|why| (why, false))?;
    if !(200..300).contains(&page.status) {
        return Err(failed(&format!("HTTP {}", page.status), page.status == 404));
    }
    serde_json::from_str(&page.text).map_err(|_| failed("it is not the JSON that it should be", false))
}

/// The reply of an address, whatever its status.
async fn page(gate: &GateContext, url: &str, accept: &str, body: Option<String>) -> Result<Page, NoLogin> {
    let fetch = asked(gate, url, accept, body).ok_or_else(|| failed(url, "it is too long"))?;
    let page = gate.web.call(&web::method::fetch, |web, rpc| {
        let fetch = fetch.clone();
        async move { web.fetch(rpc, fetch).await }
    });
    let page = page.await.map_err(|_| failed(url, "web is held or away: agentctl release web"))?;
    page.map_err(|error| failed(url, &error.to_string()))
}

fn failed(url: &str, why: &str) -> NoLogin {
    NoLogin::Fetch { url: Text::clip(url), why: Text::clip(why) }
}

fn asked(gate: &GateContext, url: &str, accept: &str, body: Option<String>) -> Option<Fetch> {
    let header = |name: &str, value: &str| Header { name: Name::clip(name), value: Text::clip(value) };
    let kind = body.iter().map(|_| header("content-type", "application/json"));
    let headers = std::iter::once(header("accept", accept)).chain(kind);
    Some(Fetch {
        url: Text::new(url).ok()?,
        method: if body.is_some() { Method::Post } else { Method::Get },
        headers: List::clip(headers),
        body: body.map(|body| Blob::new(body.into_bytes())).transpose().ok()?,
        max_bytes: METADATA,
        timeout_ms: FETCH_MS,
        rule: rule(gate),
        same_origin: true,
    })
}

/// The rule of addresses: any public one that the owner does not block in `[web]`, and the private ones that are listed there.
fn rule(gate: &GateContext) -> Rule {
    let web = &gate.settings.web;
    Rule {
        mode: Mode::Unrestricted,
        block: List::clip(web.block.iter().map(|host| Text::clip(host))),
        private: List::clip(web.private_hosts.iter().map(|host| Text::clip(host))),
        ..Rule::default()
    }
}

/// An address that may be shown, opened and asked.
fn fit(gate: &GateContext, at: &str, url: &str) -> Result<Target, NoLogin> {
    let rule = rule(gate);
    judged(&rule, url).map_err(|why| refused(at, why))
}

fn judged(rule: &Rule, url: &str) -> Result<Target, &'static str> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || PLAIN.contains(&byte);
    if url.len() > 1024 || !url.bytes().all(plain) {
        return Err("an address is too long, or has characters that no address needs");
    }
    let target = address::parse(url).map_err(|unfit| unfit.phrase())?;
    may_go(&target, rule).map_err(|unfit| unfit.phrase())?;
    let at = target.host_port();
    let listed = rule.private.iter().any(|text| text.parse().is_ok_and(|private| at == private));
    if target.scheme == Scheme::Http && !listed {
        return Err("an address has no TLS");
    }
    Ok(target)
}

fn scopes(at: &str, scopes: &[String]) -> Result<List<Text<128>, SCOPES>, NoLogin> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/*+".contains(&byte);
    if scopes.iter().any(|scope| scope.is_empty() || scope.len() > 128 || !scope.bytes().all(plain)) {
        return Err(refused(at, "a scope is too long, or has characters that no scope needs"));
    }
    Ok(List::clip(scopes.iter().map(|scope| Text::clip(scope))))
}

fn refused(url: &str, rule: &str) -> NoLogin {
    NoLogin::Refused { url: Text::clip(url), rule: Text::clip(rule) }
}

/// Registers a client, which sends people back to an address of their own machine alone.
pub(crate) async fn register(
    gate: &GateContext,
    name: &Name,
    redirect_uri: &str,
) -> Result<Text<1024>, McpError> {
    let terms = terms(gate, name).await?;
    let registered = registered(gate, &terms, redirect_uri).await;
    registered.map_err(|why| McpError::Login { server: name.clone(), why })
}

async fn registered(
    gate: &GateContext,
    terms: &LoginTerms,
    redirect_uri: &str,
) -> Result<Text<1024>, NoLogin> {
    let url = terms.registration_endpoint.as_ref().ok_or(NoLogin::NoRegistration)?;
    if !redirect_uri.starts_with(LOOPBACK) {
        return Err(refused(url, "nobody is sent back to another machine"));
    }
    let client = json!({
        "client_name": "Cordon",
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    });
    let answer: Registered =
        fetched(gate, url, Some(client.to_string())).await.map_err(|(fault, _)| fault)?;
    if answer.client_secret.is_some_and(|secret| !secret.is_empty()) {
        // It would have passed through here.
        return Err(refused(url, "it gives a client a secret; register one by hand, and give --client-id"));
    }
    let printable = answer.client_id.bytes().all(|byte| byte.is_ascii_graphic());
    let id = Text::new(answer.client_id).ok().filter(|id| printable && !id.is_empty());
    id.ok_or_else(|| refused(url, "it gives no id of a client"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_names_the_metadata_quoted_or_not() {
        let at = "https://a.example/meta";
        for challenge in [
            format!("Bearer resource_metadata=\"{at}\""),
            format!("Bearer realm=\"x\", Resource_Metadata=\"{at}\", scope=\"a b\""),
            format!("Bearer resource_metadata={at}, scope=a"),
            format!("Basic realm=\"x\",resource_metadata={at}"),
        ] {
            assert_eq!(metadata_in(&challenge), Some(at), "{challenge}");
        }
        for challenge in [
            "",
            "Bearer",
            "resource_metadata=x",
            "Bearer my_resource_metadata=x",
            "Bearer resource_metadata=\"x",
        ] {
            assert_eq!(metadata_in(challenge), None, "{challenge}");
        }
    }

    #[test]
    fn an_address_of_a_login_is_plain_public_and_over_tls() {
        let rule = Rule {
            mode: Mode::Unrestricted,
            private: List::clip([Text::clip("127.0.0.2:8080")]),
            ..Rule::default()
        };
        for good in ["https://login.example.com/authorize?tenant=a&x=%20", "http://127.0.0.2:8080/token"] {
            assert!(judged(&rule, good).is_ok(), "{good}");
        }
        for bad in [
            "https://login.example.com/$(touch x)",
            "https://login.example.com/`id`",
            "https://login.example.com/a;b",
            "https://login.example.com/a|b",
            "https://login.example.com/a'b",
            "https://login.example.com/a b",
            "https://login.example.com/\u{1b}[2J",
            "https://login.example.com/#x",
            "https://10.0.0.1/token",
            "https://169.254.169.254/latest",
            "https://localhost/token",
            "http://login.example.com/token",
            "http://127.0.0.2:8081/token",
            "javascript:alert(1)",
            "file:///etc/passwd",
            "",
        ] {
            assert!(judged(&rule, bad).is_err(), "{bad}");
        }
    }
}
