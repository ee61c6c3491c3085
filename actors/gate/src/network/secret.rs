//! A program's request to one of the owner's services: the program has a placeholder where the secret goes, and credproxy puts the
//! secret in outside of the jail. The gate holds the request to the service's agents, verbs and paths; it never sees the secret.

use crate::services::{is_in_body, of_programs};
use ipc_proto::config::Service;
use ipc_proto::credproxy::{self, At, Header, PLACEHOLDER, Verb};
use ipc_proto::egress::{Line, Request};
use ipc_proto::{Blob, List, Name, Text};
use std::collections::BTreeMap;

/// Header lines that credproxy takes, and those that it sets or refuses: they speak of the connection, or carry credentials.
const LINES: usize = 16;
const DROPPED: [&str; 16] = [
    "accept-encoding",
    "connection",
    "content-length",
    "cookie",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
];

/// The rule that a request breaks, and the next step.
pub(super) type Refusal = (String, String);

/// A request to a service.
pub(super) struct Keyed {
    pub(super) service: Name,
    pub(super) request: credproxy::Request,
}

/// The sender of a request.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sender<'a> {
    /// A program of this agent.
    Program(&'a str),
    /// A page of this agent's browser: a secret goes into a field of a form alone, and a login comes back as cookies.
    Page(&'a str),
    /// A server, which has no service.
    Server,
}

impl Sender<'_> {
    const fn is_page(self) -> bool {
        matches!(self, Self::Page(_))
    }
}

/// The request as credproxy sends it, if it has the placeholder of a secret.
///
/// # Errors
/// The placeholder stands where no service of this agent takes it.
pub(super) fn keyed(
    services: &BTreeMap<String, Service>,
    sender: Sender<'_>,
    request: &Request,
) -> Result<Option<Keyed>, Refusal> {
    let agent = match sender {
        Sender::Program(agent) | Sender::Page(agent) => Some(agent),
        Sender::Server => None,
    };
    let found = agent.and_then(|agent| {
        of_programs(services, agent)
            .filter(|(_, it)| !sender.is_page() || is_in_body(it))
            .find(|(_, it)| path_of(it, request).is_some())
    });
    if !is_marked(request, sender.is_page() || found.is_some_and(|(_, service)| is_in_body(service))) {
        return Ok(None);
    }
    let refused = |rule: &str, next: &str| (rule.to_owned(), next.to_owned());
    let (name, service) = found.ok_or_else(|| {
        refused(
            "the request has the placeholder of a secret, and no service of this agent with a `variable` is at this address",
            "the owner adds a [service.NAME] with `base_url`, `agents` and `variable`",
        )
    })?;
    let verb = Verb::ALL.into_iter().find(|verb| verb.word() == request.method.as_str());
    let verb = verb.filter(|verb| service.verbs.contains(verb)).ok_or_else(|| {
        refused("the service is not called by this method", "the owner adds it to `verbs` of the service")
    })?;
    if !is_permitted(service, path_of(service, request).unwrap_or_default()) {
        return Err(refused("the path is outside of those of the service", "use one of its `paths`"));
    }
    let fault = || refused("more headers, or a longer address or body, than credproxy sends on", "send less");
    Ok(Some(Keyed {
        service: Name::clip(name),
        request: credproxy::Request {
            verb,
            url: Text::new(format!("{}{}", request.origin.url(), request.path)).map_err(|_| fault())?,
            headers: headers(service, sender, request).ok_or_else(fault)?,
            body: Blob::new(request.body.to_vec()).map_err(|_| fault())?,
            secret: service.secret.clone(),
            cookies: sender.is_page(),
        },
    }))
}

/// Returns true if a header or the path has the placeholder; or the body, where a secret goes there: elsewhere it is text.
fn is_marked(request: &Request, in_body: bool) -> bool {
    let within =
        |bytes: &[u8]| bytes.windows(PLACEHOLDER.len()).any(|window| window == PLACEHOLDER.as_bytes());
    within(request.path.as_bytes())
        || request.headers.iter().any(|line| within(line.value.as_bytes()))
        || (in_body && within(&request.body))
}

/// The path of a request behind the base URL of the service, without its query; none where it goes elsewhere.
fn path_of<'a>(service: &Service, request: &'a Request) -> Option<&'a str> {
    let path = request.path.split_once('?').map_or(request.path.as_str(), |(path, _)| path);
    let base = service.base_url.strip_prefix(&request.origin.url())?;
    let rest = path.strip_prefix(base)?;
    // A base URL without a path ends with its port or host, which goes no further.
    let is_whole = base.is_empty() || base.starts_with('/');
    (is_whole && (rest.is_empty() || rest.starts_with('/'))).then_some(rest)
}

fn is_permitted(service: &Service, path: &str) -> bool {
    let path = if path.is_empty() { "/" } else { path };
    address::reads_one_way(path)
        && (service.paths.is_empty() || address::leads_under(path, service.paths.iter().map(String::as_str)))
}

/// The header lines without the one that the secret goes into; none where they do not fit.
fn headers(service: &Service, sender: Sender<'_>, request: &Request) -> Option<List<Header, LINES>> {
    let placed = match service.secret.as_ref().map(|secret| &secret.at) {
        Some(At::Header { name, .. }) => name.as_str(),
        _ => "",
    };
    let mut lines: Vec<Header> = Vec::new();
    for Line { name, value } in request.headers.iter() {
        let known = name.to_ascii_lowercase();
        let is_kept = sender.is_page() && known == "cookie";
        let is_dropped = DROPPED.contains(&known.as_str()) || known.eq_ignore_ascii_case(placed);
        // A browser's hints on itself would leave no room for the others.
        if (is_dropped && !is_kept) || known == "authorization" || known.starts_with("sec-ch-") {
            continue;
        }
        lines.push(Header { name: Name::clip(&known), value: Text::new(value.as_str()).ok()? });
    }
    List::new(lines).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::credproxy::Placement;
    use ipc_proto::egress::Origin;

    fn services() -> BTreeMap<String, Service> {
        let service = Service {
            base_url: "https://a.example/api".to_owned(),
            secret: Some(Placement::header("key", "Authorization", "Bearer ")),
            oauth: false,
            verbs: vec![Verb::Get],
            paths: vec!["/messages".to_owned()],
            agents: vec!["default".to_owned()],
            description: String::new(),
            idempotency_header: None,
            variable: Some("MAIL_TOKEN".to_owned()),
        };
        BTreeMap::from([("mail".to_owned(), service)])
    }

    fn request(host: &str, method: &str, path: &str, header: (&str, &str)) -> Request {
        let line = |(name, value): (&str, &str)| Line { name: Name::clip(name), value: Text::clip(value) };
        Request {
            origin: Origin { tls: true, host: Text::clip(host), port: 443 },
            method: Name::clip(method),
            path: Text::clip(path),
            headers: List::clip([line(("Accept", "*/*")), line(("Cookie", "a=1")), line(header)]),
            body: Blob::default(),
            websocket: false,
        }
    }

    fn bearer() -> (&'static str, String) {
        ("Authorization", format!("Bearer {PLACEHOLDER}"))
    }

    #[test]
    fn a_placeholder_becomes_a_request_of_its_service_without_credentials() {
        let (name, value) = bearer();
        let asked = request("a.example", "GET", "/api/messages/1?unread=1", (name, &value));
        let keyed = keyed(&services(), Sender::Program("default"), &asked).unwrap().unwrap();
        assert_eq!(keyed.service.as_str(), "mail");
        assert_eq!(keyed.request.url.as_str(), "https://a.example/api/messages/1?unread=1");
        let names: Vec<&str> = keyed.request.headers.iter().map(|header| header.name.as_str()).collect();
        assert_eq!(names, ["accept"]);
        assert!(keyed.request.secret.is_some());
    }

    #[test]
    fn a_placeholder_elsewhere_is_refused_and_without_one_no_secret_is_used() {
        let (name, value) = bearer();
        let program = Sender::Program("default");
        for (sender, host, method, path) in [
            (program, "evil.example", "GET", "/api/messages"),
            (program, "a.example.evil.example", "GET", "/api/messages"),
            (program, "a.example", "POST", "/api/messages"),
            (program, "a.example", "GET", "/api/contacts"),
            (program, "a.example", "GET", "/apis/messages"),
            (program, "a.example", "GET", "/api/messages/../contacts"),
            (Sender::Program("other"), "a.example", "GET", "/api/messages"),
            (Sender::Page("default"), "a.example", "GET", "/api/messages"),
            (Sender::Server, "a.example", "GET", "/api/messages"),
        ] {
            let asked = request(host, method, path, (name, &value));
            assert!(keyed(&services(), sender, &asked).is_err(), "{sender:?} {host} {method} {path}");
        }
        let plain = request("a.example", "GET", "/api/messages", ("x", "y"));
        assert!(keyed(&services(), program, &plain).unwrap().is_none());
    }
    fn form(host: &str, path: &str, body: &str) -> Request {
        let body = Blob::new(body.as_bytes().to_vec()).unwrap();
        Request { body, ..request(host, "POST", path, ("Content-Type", "application/x-www-form-urlencoded")) }
    }

    // Holds P4-47.
    #[test]
    fn a_page_s_form_takes_the_secret_of_its_own_site_with_its_cookies() {
        let mut services = services();
        let service = services.get_mut("mail").unwrap();
        service.secret =
            Some(Placement { secret: Name::clip("key"), at: At::Field { name: Name::clip("pw") } });
        service.verbs = vec![Verb::Post];
        let page = Sender::Page("default");
        let body = format!("who=ann&pw={PLACEHOLDER}");
        let asked = form("a.example", "/api/messages/login", &body);
        let of_page = keyed(&services, page, &asked).unwrap().unwrap();
        let names = |keyed: &Keyed| -> Vec<String> {
            keyed.request.headers.iter().map(|header| header.name.to_string()).collect()
        };
        assert!(of_page.request.cookies && names(&of_page).contains(&"cookie".to_owned()));
        let of_program = keyed(&services, Sender::Program("default"), &asked).unwrap().unwrap();
        assert!(!of_program.request.cookies && !names(&of_program).contains(&"cookie".to_owned()));
        for (sender, host, path) in [
            (page, "evil.example", "/api/messages/login"),
            (page, "a.example", "/comment"),
            (page, "a.example", "/api/comment"),
            (Sender::Page("other"), "a.example", "/api/messages/login"),
        ] {
            assert!(keyed(&services, sender, &form(host, path, &body)).is_err(), "{sender:?} {host} {path}");
        }
        assert!(keyed(&services, page, &form("a.example", "/comment", "a=b")).unwrap().is_none());
    }
}
