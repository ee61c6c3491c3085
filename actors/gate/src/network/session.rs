//! The turn that a jail's requests belong to, as it was when its work was given out, and the place that a request goes to.

use crate::state::context::GateContext;
use crate::state::mcp::Instance;
use crate::turn::context::TurnContext;
use ipc_proto::Name;
use ipc_proto::audit::Event;
use ipc_proto::config::{self, Allowed, McpStart, Service, WebReach};
use ipc_proto::dialer::HostPort;
use ipc_proto::egress::{Origin, Request};
use ipc_proto::ids::{SessionId, TurnId};
use ipc_proto::mcp::{Registry, Start};
use ipc_proto::router::Task;
use ipc_proto::web::Mode;
use policy::{Profile, Session};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The owner of the requests of a jail.
#[derive(Clone)]
pub(super) enum By {
    /// A turn.
    Turn { turn: TurnId, session: SessionId, agent: Name },
    /// A server, which asks nobody.
    Server(Arc<Instance>),
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
        let by = By::Turn { turn: turn.id, session: turn.session, agent: turn.agent.clone() };
        Self { by, facts, network }
    }

    /// The server of this jail; none for one without a way out.
    pub(crate) fn of_server(gate: &GateContext, instance: Arc<Instance>) -> Option<Self> {
        let server = gate.mcp.servers.get(instance.terms.server.as_str());
        let allow = match (&instance.terms.start, server) {
            (Start::Install(package), _) => registry(package.registry),
            (Start::Program(_), Some(server)) => server.network.clone(),
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
            facts.web.private_hosts.push(format!("{}:{}", origin.host, origin.port));
        }
        let network = config::Network { allow };
        (!network.allow.is_empty()).then_some(Self {
            by: By::Server(instance),
            facts,
            network: Some(network),
        })
    }

    /// The service whose secret the requests carry: that of a server elsewhere.
    pub(super) fn service<'a>(&self, gate: &'a GateContext) -> Option<&'a Service> {
        let By::Server(instance) = &self.by else { return None };
        let server = gate.mcp.servers.get(instance.terms.server.as_str())?;
        let McpStart::Url { service: Some(name), .. } = &server.start else { return None };
        gate.settings.services.get(name)
    }

    /// The event, with what it belongs to.
    pub(super) fn mark(&self, event: Event) -> Event {
        match &self.by {
            By::Turn { turn, session, .. } => event.in_turn(*session, *turn),
            By::Server(_) => event,
        }
    }

    /// The agent whose turn it is, if it is one's.
    pub(super) fn agent(&self) -> Option<&str> {
        match &self.by {
            By::Turn { agent, .. } => Some(agent.as_str()),
            By::Server(_) => None,
        }
    }

    /// Returns true if the agent's jails have a way out.
    pub(super) fn has_network(&self) -> bool {
        self.network.is_some()
    }

    /// Returns true if the agent's list has the place of this request.
    pub(super) fn lists(&self, request: &Request) -> bool {
        let (origin, reads) = (&request.origin, request.reads());
        self.network.iter().flat_map(|network| &network.allow).any(|allowed| {
            allowed.port == origin.port
                && covers(&allowed.host, &origin.host)
                && (reads || allowed.sends)
                && !(allowed.packages && request.path.contains('?'))
        })
    }
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
}

impl Place {
    pub(super) fn of(outbound: &Outbound, request: &Request) -> Self {
        let (reads, listed) = (request.reads(), outbound.lists(request));
        Self { origin: request.origin.clone(), reads, listed, service: None }
    }

    /// The same with this service's secret. The agent's list is about hosts, and permits no sending in the owner's name.
    pub(super) fn with_secret(self, service: Name) -> Self {
        Self { listed: self.listed && self.reads, service: Some(service), ..self }
    }

    /// Host and port.
    pub(super) fn host(&self) -> String {
        format!("{}:{}", self.origin.host, self.origin.port)
    }

    /// The verb and the host, as the record has it.
    pub(super) fn subject(&self) -> String {
        let verb = if self.reads { "read" } else { "send" };
        match &self.service {
            Some(service) => format!("{verb} {} as {service}", self.host()),
            None => format!("{verb} {}", self.host()),
        }
    }

    /// The arguments of the tool that stands for a jail's network in the policies.
    pub(super) fn arguments(&self) -> Map<String, Value> {
        let scheme = if self.origin.tls { "https" } else { "http" };
        let method = if self.reads { "GET" } else { "POST" };
        let usual = if self.origin.tls { 443 } else { 80 };
        let place = if self.origin.port == usual { self.origin.host.to_string() } else { self.host() };
        let said = json!({"method": method, "url": format!("{scheme}://{place}/")});
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
