//! The addresses that a fetch may reach: the profile's mode or the owner's, restricted by the tool's capability.

use crate::Profile;
use ipc_proto::capability::{Access, Network};
use ipc_proto::config::WebReach;
use ipc_proto::web::{Mode, Rule};
use ipc_proto::{List, Text};

/// The meaning of the owner's lists in a profile, where the owner does not say.
const fn mode(profile: Profile) -> Mode {
    match profile {
        Profile::Paranoid => Mode::Allowlist,
        Profile::Standard => Mode::Blocklist,
        Profile::PowerUser => Mode::Unrestricted,
    }
}

/// The rule that a fetch and each of its redirects is held to; `None` for a tool without a network.
pub(crate) fn rule(profile: Profile, web: &WebReach, network: &Network) -> Option<Rule> {
    if network.access == Access::None {
        return None;
    }
    let own = web.mode.unwrap_or_else(|| mode(profile));
    let (mode, allow) = match (own, &network.allowed_hosts) {
        // Two lists that both must hold: only what stands in both is sure to be meant by both.
        (Mode::Allowlist, Some(hosts)) => {
            (Mode::Allowlist, hosts.iter().filter(|host| web.allow.contains(host)).cloned().collect())
        }
        (_, Some(hosts)) => (Mode::Allowlist, hosts.clone()),
        (_, None) if network.access == Access::Limited => (Mode::Allowlist, web.allow.clone()),
        (own, None) => (own, web.allow.clone()),
    };
    let block: Vec<_> = web.block.iter().chain(&network.blocked_hosts).cloned().collect();
    // A blocked address that does not fit the list must not be let through: then nothing is.
    if List::<_, 64>::new(block.clone()).is_err() || network.blocked_ports.len() > 64 {
        return Some(Rule::default());
    }
    Some(Rule {
        mode,
        allow: globs(&allow),
        block: globs(&block),
        blocked_ports: List::clip(network.blocked_ports.iter().copied()),
        private: List::clip(web.private_hosts.iter().map(|host| Text::clip(host))),
    })
}

fn globs(hosts: &[String]) -> List<Text<253>, 64> {
    List::clip(hosts.iter().map(|host| Text::clip(host)))
}
