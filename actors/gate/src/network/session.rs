//! The turn that a jail's requests belong to, as it was when its work was given out, and the place that a request goes to.

use crate::network::secret::Sender;
use crate::state::context::GateContext;
use crate::state::mcp::Instance;
use crate::turn::context::TurnContext;
use ipc_proto::Name;
use ipc_proto::audit::Event;
use ipc_proto::config::{self, Allowed, McpStart, WebReach};
use ipc_proto::credproxy::Placement;
use ipc_proto::dialer::{Host, HostPort};
use ipc_proto::egress::{EgressError, Origin, Request};
use ipc_proto::ids::{SessionId, TurnId};
use ipc_proto::mcp::{Registry, Start, secret_of};
use ipc_proto::router::Task;
use ipc_proto::runner_gate::NetworkError;
use ipc_proto::web::Mode;
use policy::{Profile, Session};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The next step where credproxy refuses the secret of a service.
pub(super) const NEXT: &str = "the owner looks at the service and its secret";

/// The owner of the requests of a jail.
#[derive(Clone)]
pub(super) enum By {
    /// A turn.
    Turn {
        turn: TurnId,
        session: SessionId,
        agent: Name,
        /// Nobody may be asked: it answers a job.
        asks_nobody: bool,
    },
    /// A server, which asks nobody.
    Server(Arc<Instance>),
    /// A session's browser, whose pages ask nobody.
    Browser(Arc<Instance>),
}

/// The turn or the server.
#[derive(Clone)]
pub(crate) struct Outbound {
    pub(super) by: By,
    /// The facts that decisions rest on.
    pub(super) facts: Session,
    /// The way out of the agent's jails; none without one.
    network: Option<config::Network>,
}

impl Outbound {
    /// The turn of this context.
    pub(crate) fn of(gate: &GateContext, context: &TurnContext) -> Self {
        let mut network = context.agent.network.clone();
        if let (Some(network), Task::Run(run)) = (&mut network, &context.turn.task) {
            network.allow.extend(run.allow.iter().filter_map(|text| allowed(text)));
        }
        let mut facts = context.session.clone();
        facts.web = reach(gate, network.as_ref().map_or(&[], |network| &network.allow));
        let turn = &context.turn;
        let by = By::Turn {
            turn: turn.id,
            session: turn.session,
            agent: turn.agent.clone(),
            asks_nobody: context.asks_nobody(),
        };
        Self { by, facts, network }
    }

    /// The server of this jail; none for one without a way out.
    pub(crate) fn of_server(gate: &GateContext, instance: Arc<Instance>) -> Option<Self> {
        if instance.terms.start == Start::Browser {
            return Some(Self::of_browser(gate, instance));
        }
        let server = gate.mcp.servers.get(instance.terms.server.as_str());
        let allow = match (&instance.terms.start, server) {
            (Start::Install(package), _) => registry(package.registry),
            (Start::Program(_), Some(server)) => server.network.clone(),
            (Start::Browser, _) => Vec::new(),
            (Start::Url { origin, .. }, Some(_)) => {
                let host = origin.host.to_string();
                vec![Allowed { host, port: origin.port, sends: true, packages: false }]
            }
            (_, None) => Vec::new(),
        };
        let mut facts = Session::new(&format!("mcp:{}", instance.terms.server), Profile::Standard);
        facts.web = reach(gate, &allow);
        // The configuration has found its own address fit.
        if let Start::Url { origin, .. } = &instance.terms.start {
            facts.web.private_hosts.push(origin.host_port());
        }
        let opaque = server.map_or_else(Vec::new, |server| server.opaque.clone());
        let network = config::Network { allow, opaque };
        (!network.allow.is_empty() || !network.opaque.is_empty()).then_some(Self {
            by: By::Server(instance),
            facts,
            network: Some(network),
        })
    }

    /// The pages of a browser: they may read from any host that the owner does not block.
    fn of_browser(gate: &GateContext, instance: Arc<Instance>) -> Self {
        let mut facts = Session::new("browser", Profile::Standard);
        facts.web = reach(gate, &[]);
        let network = Some(config::Network::default());
        Self { by: By::Browser(instance), facts, network }
    }

    /// The turn that uses a browser, or did last.
    pub(super) fn turn_of_browser(&self) -> Option<TurnId> {
        let By::Browser(instance) = &self.by else { return None };
        instance.browsing.user().map(|user| user.turn)
    }

    /// The secret that the requests carry: that of the service of a server elsewhere, or that of a login there. None where egress
    /// sends them.
    pub(super) fn carried(&self, gate: &GateContext) -> Option<Carried> {
        let By::Server(instance) = &self.by else { return None };
        let name = &instance.terms.server;
        match &gate.mcp.servers.get(name.as_str())?.start {
            McpStart::Url { token_url: Some(_), .. } => Some(Carried {
                secret: Some(Placement::header(&secret_of(name), "Authorization", "Bearer ")),
                next: format!("the owner logs in: agentctl mcp login {name}"),
            }),
            McpStart::Url { service: Some(service), .. } => Some(Carried {
                secret: gate.settings.services.get(service)?.secret.clone(),
                next: NEXT.to_owned(),
            }),
            _ => None,
        }
    }

    /// The event, with what it belongs to.
    pub(super) fn mark(&self, event: Event) -> Event {
        match &self.by {
            By::Turn { turn, session, .. } => event.in_turn(*session, *turn),
            By::Browser(instance) => match instance.browsing.user() {
                Some(user) => event.in_turn(user.session, user.turn),
                None => event,
            },
            By::Server(_) => event,
        }
    }

    /// The agent whose turn or browser it is, if it is one's.
    pub(super) fn agent(&self) -> Option<Name> {
        match &self.by {
            By::Turn { agent, .. } => Some(agent.clone()),
            By::Browser(instance) => instance.browsing.user().map(|user| user.agent),
            By::Server(_) => None,
        }
    }

    /// The sender of the requests, where `agent` is the one that they are of.
    pub(super) fn sender<'a>(&self, agent: Option<&'a Name>) -> Sender<'a> {
        let agent = agent.map_or("", |agent| agent.as_str());
        match &self.by {
            By::Turn { .. } => Sender::Program(agent),
            By::Browser(_) => Sender::Page(agent),
            By::Server(_) => Sender::Server,
        }
    }

    /// Returns true if a page of another site would stand beside those of an isolated browser.
    pub(super) fn mixes_sites(&self, request: &Request) -> bool {
        matches!(&self.by, By::Browser(instance) if instance.browsing.mixes_sites(request))
    }

    /// Returns true if the agent's jails have a way out.
    pub(super) fn has_network(&self) -> bool {
        self.network.is_some()
    }

    /// The owner lists this origin as one that TLS passes to undecrypted.
    pub(super) fn is_opaque(&self, origin: &Origin) -> bool {
        let at = origin.host_port();
        self.network.iter().any(|network| network.opaque.contains(&at))
    }

    /// Returns true if the agent's list has the place of this request, or a browser was used on that site.
    pub(super) fn lists(&self, request: &Request) -> bool {
        let (origin, reads) = (&request.origin, request.reads());
        if let By::Browser(instance) = &self.by {
            return instance.browsing.permits(origin);
        }
        self.network.iter().flat_map(|network| &network.allow).any(|allowed| {
            allowed.port == origin.port
                && covers(&allowed.host, &origin.host)
                && (reads || allowed.sends)
                && !(allowed.packages && request.path.contains('?'))
        })
    }
}

/// The secret of a server's requests, and the next step where credproxy refuses it.
pub(super) struct Carried {
    pub(super) secret: Option<Placement>,
    pub(super) next: String,
}

/// The host has to be in its one normal form: it is what a person is shown and what is dialled.
pub(super) fn is_canonical(origin: &Origin) -> Result<(), NetworkError> {
    let host = origin.host.as_str();
    let fits = origin.port != 0 && host.parse::<Host>().is_ok_and(|parsed| parsed.to_string() == host);
    fits.then_some(()).ok_or_else(|| NetworkError::Egress(EgressError::BadRequest(Name::clip("host"))))
}

/// The hosts that a jail may reach. The web's lists are for the host's own tool; what its owner blocks there is blocked here as well.
fn reach(gate: &GateContext, allow: &[Allowed]) -> WebReach {
    WebReach {
        mode: Some(Mode::Unrestricted),
        allow: allow.iter().map(|allowed| allowed.host.clone()).collect(),
        block: gate.settings.web.block.clone(),
        private_hosts: gate.settings.egress_private_hosts.clone(),
    }
}

/// The hosts of a registry, to read from.
fn registry(registry: Registry) -> Vec<Allowed> {
    let hosts: &[&str] = match registry {
        Registry::Pypi => &["pypi.org", "files.pythonhosted.org"],
        Registry::Npm => &["registry.npmjs.org"],
    };
    let allowed = |host: &&str| Allowed { host: (*host).to_owned(), port: 443, sends: false, packages: true };
    hosts.iter().map(allowed).collect()
}

/// A host that the person let a program reach, by an argument of `agentctl run`.
fn allowed(text: &str) -> Option<Allowed> {
    let (place, verb) = text.split_once(' ')?;
    let HostPort { host, port } = place.parse().ok()?;
    Some(Allowed { host: host.to_string(), port, sends: verb == "send", packages: false })
}

fn covers(pattern: &str, host: &str) -> bool {
    match pattern.strip_prefix("*.") {
        Some(suffix) => host.strip_suffix(suffix).is_some_and(|rest| rest.ends_with('.') && rest.len() > 1),
        None => pattern == host,
    }
}

/// The requests of a turn that one decision is about: those to one origin that all read or all may send, and that the agent's list
/// has or has not, with a secret of one service or with none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) origin: Origin,
    pub(super) reads: bool,
    pub(super) listed: bool,
    /// The service whose secret the requests carry.
    pub(super) service: Option<Name>,
    /// A tunnel of TLS, which nobody sees into.
    pub(super) opaque: bool,
}

impl Place {
    pub(super) fn of(outbound: &Outbound, request: &Request) -> Self {
        let (reads, listed) = (request.reads(), outbound.lists(request));
        Self { origin: request.origin.clone(), reads, listed, service: None, opaque: false }
    }

    /// The place of a tunnel to this origin. An agent's list permits none without a question; a server asks nobody.
    pub(super) fn of_tunnel(outbound: &Outbound, origin: Origin) -> Self {
        let listed = matches!(outbound.by, By::Server(_)) && outbound.is_opaque(&origin);
        Self { origin, reads: false, listed, service: None, opaque: true }
    }

    /// The same with this service's secret. The agent's list is about hosts, and permits no sending in the owner's name; a browser may
    /// send where a permitted call has typed the placeholder.
    pub(super) fn with_secret(self, outbound: &Outbound, service: Name) -> Self {
        let listed = match &outbound.by {
            By::Browser(instance) => instance.browsing.permits_secret(&self.origin),
            By::Turn { .. } | By::Server(_) => self.reads,
        };
        Self { listed: self.listed && listed, service: Some(service), ..self }
    }

    /// Host and port.
    pub(super) fn host(&self) -> String {
        self.origin.host_port()
    }

    /// The verb and the host, as the record has it.
    pub(super) fn subject(&self) -> String {
        let verb = match (self.opaque, self.reads) {
            (true, _) => "tunnel",
            (false, true) => "read",
            (false, false) => "send",
        };
        match &self.service {
            Some(service) => format!("{verb} {} as {service}", self.host()),
            None => format!("{verb} {}", self.host()),
        }
    }

    /// The arguments of the tool that stands for a jail's network in the policies.
    pub(super) fn arguments(&self) -> Map<String, Value> {
        let method = match (self.opaque, self.reads) {
            (true, _) => "CONNECT",
            (false, true) => "GET",
            (false, false) => "POST",
        };
        let said = json!({"method": method, "url": format!("{}/", self.origin.url())});
        let mut said = said.as_object().cloned().unwrap_or_default();
        said.extend(self.service.as_ref().map(|service| ("account".to_owned(), json!(service.as_str()))));
        said
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_covers_its_host_and_a_starred_one_those_beneath_it() {
        for (pattern, host, does) in [
            ("pypi.org", "pypi.org", true),
            ("pypi.org", "a.pypi.org", false),
            ("*.example.com", "a.example.com", true),
            ("*.example.com", "a.b.example.com", true),
            ("*.example.com", "example.com", false),
            ("*.example.com", "evilexample.com", false),
            ("*.example.com", ".example.com", false),
        ] {
            assert_eq!(covers(pattern, host), does, "{pattern} {host}");
        }
    }
}
