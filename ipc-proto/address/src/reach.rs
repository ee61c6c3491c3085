//! Where a target may go by a rule, and which addresses it may be connected to.

use crate::{Target, Unfit, is_public};
use ipc_proto::dialer::Host;
use ipc_proto::web::{Mode, Rule};
use std::net::IpAddr;

/// Last labels of names that stand for this machine or the network around it; no public host has one.
const LOCAL: &[&str] = &[
    "cluster.local", "corp", "home", "home.arpa", "internal", "intranet", "ip6-localhost", "ip6-loopback",
    "lan", "local", "localdomain", "localhost", "onion", "private", "svc",
];

/// Names at which a cloud serves an instance its credentials, and that do not end like a local one.
const METADATA: &[&str] = &["instance-data", "metadata", "metadata.goog"];

/// Returns whether a fetch, or one of its redirects, may go to this target: ports, lists and mode of the rule, and no place
/// inside, save those that the rule names.
///
/// # Errors
/// The reason for which the target is refused.
pub fn may_go(target: &Target, rule: &Rule) -> Result<(), Unfit> {
    if rule.blocked_ports.contains(&target.port) {
        return Err(Unfit::BlockedPort);
    }
    if rule.block.iter().any(|glob| host_matches(glob, &target.host)) {
        return Err(Unfit::Blocked);
    }
    let listed = rule.allow.iter().any(|glob| host_matches(glob, &target.host));
    if rule.mode == Mode::Allowlist && !listed {
        return Err(Unfit::NotListed);
    }
    let here = target.host_port();
    if rule.private.iter().any(|text| text.parse().is_ok_and(|private| here == private)) {
        return Ok(());
    }
    outside(&target.host, rule)
}

/// An address must be public, and a name must not be one of the inside. A name of one label is taken only where the
/// allow list spells it out: nothing public has one, and asking for it tells a name server what this network lacks.
fn outside(host: &Host, rule: &Rule) -> Result<(), Unfit> {
    let name = match host {
        Host::Address(address) if is_public(*address) => return Ok(()),
        Host::Address(_) => return Err(Unfit::NotPublic),
        Host::Name(name) => name,
    };
    let ends =
        |end: &&str| name.strip_suffix(*end).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    let spelt_out = || rule.allow.iter().any(|entry| entry.parse().as_ref() == Ok(host));
    let inside = METADATA.contains(&name.as_str()) || LOCAL.iter().any(ends);
    if inside || !(name.contains('.') || spelt_out()) { Err(Unfit::LocalName) } else { Ok(()) }
}

/// Returns whether a connection may be made to a host with these addresses: one bad address spoils them all, since who
/// answers one private address among public ones is trying something.
///
/// # Errors
/// There is none, or one is not public.
pub fn may_connect(addresses: &[IpAddr]) -> Result<(), Unfit> {
    match addresses {
        [] => Err(Unfit::Unresolved),
        _ if addresses.iter().all(|address| is_public(*address)) => Ok(()),
        _ => Err(Unfit::PrivateAnswer),
    }
}

/// Returns whether a glob covers a host. A label `*` stands for one or more labels, a `*` beside other characters for any
/// characters within its label, capitals and a dot at the end do not count. An address is covered by itself in any
/// spelling and by `*` alone: `10.*` would look like a range and not be one.
#[must_use]
pub fn host_matches(glob: &str, host: &Host) -> bool {
    let glob = glob.strip_suffix('.').unwrap_or(glob).to_ascii_lowercase();
    match host {
        _ if glob == "*" => true,
        Host::Address(_) => glob.parse().as_ref() == Ok(host),
        Host::Name(name) => {
            let pattern: Vec<&str> = glob.split('.').collect();
            let labels: Vec<&str> = name.split('.').collect();
            covers(&pattern, &labels, |label| *label == "*", 1, |part, label| label_matches(part, label))
        }
    }
}

fn label_matches(part: &str, label: &str) -> bool {
    covers(part.as_bytes(), label.as_bytes(), |byte| *byte == b'*', 0, |one, other| one == other)
}

/// Returns whether a pattern covers a sequence, where a wild item stands for at least `least` items. Quadratic at worst.
fn covers<T>(
    pattern: &[T],
    items: &[T],
    wild: impl Fn(&T) -> bool,
    least: usize,
    same: impl Fn(&T, &T) -> bool,
) -> bool {
    // reached[n]: the pattern so far covers the first n items.
    let mut reached: Vec<bool> = (0..=items.len()).map(|count| count == 0).collect();
    for part in pattern {
        let mut next = vec![false; reached.len()];
        let first = reached.iter().position(|at| *at);
        for (count, slot) in next.iter_mut().enumerate() {
            *slot = if wild(part) {
                first.is_some_and(|first| count >= first + least)
            } else {
                let before = count.checked_sub(1);
                before.is_some_and(|before| {
                    reached.get(before) == Some(&true)
                        && items.get(before).is_some_and(|item| same(part, item))
                })
            };
        }
        reached = next;
    }
    reached.last() == Some(&true)
}

#[cfg(test)]
mod tests;
