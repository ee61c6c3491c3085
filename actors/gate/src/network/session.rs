//! The turn that a jail's requests belong to, as it was when its work was given out, and the place that a request goes to.

use crate::state::context::GateContext;
use crate::turn::context::TurnContext;
use ipc_proto::Name;
use ipc_proto::config::{self, Allowed, WebReach};
use ipc_proto::dialer::HostPort;
use ipc_proto::egress::{Origin, Request};
use ipc_proto::ids::{SessionId, TurnId};
use ipc_proto::router::Task;
use ipc_proto::web::Mode;
use policy::Session;
use serde_json::{Map, Value, json};

/// The turn.
#[derive(Clone)]
pub(crate) struct Outbound {
    pub(super) turn: TurnId,
    pub(super) session: SessionId,
    pub(super) agent: Name,
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
        let allow =
            network.iter().flat_map(|network| network.allow.iter().map(|allowed| allowed.host.clone()));
        // The web's lists are for the host's own tool; what its owner blocks there is blocked here as well.
        facts.web = WebReach {
            mode: Some(Mode::Unrestricted),
            allow: allow.collect(),
            block: gate.settings.web.block.clone(),
            private_hosts: gate.settings.egress_private_hosts.clone(),
        };
        let turn = &context.turn;
        Self { turn: turn.id, session: turn.session, agent: turn.agent.clone(), facts, network }
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
/// has or has not.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) origin: Origin,
    pub(super) reads: bool,
    pub(super) listed: bool,
}

impl Place {
    pub(super) fn of(outbound: &Outbound, request: &Request) -> Self {
        Self { origin: request.origin.clone(), reads: request.reads(), listed: outbound.lists(request) }
    }

    /// Host and port.
    pub(super) fn host(&self) -> String {
        format!("{}:{}", self.origin.host, self.origin.port)
    }

    /// The verb and the host, as the record has it.
    pub(super) fn subject(&self) -> String {
        format!("{} {}", if self.reads { "read" } else { "send" }, self.host())
    }

    /// The arguments of the tool that stands for a jail's network in the policies.
    pub(super) fn arguments(&self) -> Map<String, Value> {
        let scheme = if self.origin.tls { "https" } else { "http" };
        let method = if self.reads { "GET" } else { "POST" };
        let usual = if self.origin.tls { 443 } else { 80 };
        let place = if self.origin.port == usual { self.origin.host.to_string() } else { self.host() };
        let said = json!({"method": method, "url": format!("{scheme}://{place}/")});
        said.as_object().cloned().unwrap_or_default()
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
