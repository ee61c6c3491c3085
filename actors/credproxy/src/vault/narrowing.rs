//! Decides whether one binding allows nothing that another does not. Pure. The carrier of a binding is trusted to take
//! rights away and not to give any: a wider one comes sealed, with the value.

use crate::binding::goes_to;
use address::leads_under;
use ipc_proto::Text;
use ipc_proto::credproxy::{At, Binding, Lease};

/// Returns whether whatever the second allows, the first allows too.
pub(super) fn narrows(old: (&Binding, Lease), new: (&Binding, Lease)) -> bool {
    let ((old, old_lease), (new, new_lease)) = (old, new);
    new.hosts.iter().all(|host| old.hosts.iter().any(|bound| covers(bound, host)))
        && within(&old.verbs, &new.verbs, |verb| old.verbs.contains(verb))
        && within(&old.paths, &new.paths, |path| leads_under(path, old.paths.iter().map(Text::as_str)))
        && places(&old.at, &new.at)
        && at_most(old_lease.until_ms, new_lease.until_ms)
        && at_most(old_lease.uses, new_lease.uses)
}

/// `host` covers itself and itself at any port. Both are in their normal form, where an address of version 6 stands in
/// brackets.
fn covers(bound: &str, host: &str) -> bool {
    let port = host.strip_prefix(bound).and_then(|rest| rest.strip_prefix(':'));
    bound == host || port.is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
}

/// An empty list is no bound.
fn within<T>(old: &[T], new: &[T], holds: impl Fn(&T) -> bool) -> bool {
    old.is_empty() || !new.is_empty() && new.iter().all(holds)
}

/// An empty list of places is any header.
fn places(old: &[At], new: &[At]) -> bool {
    (old.is_empty() || !new.is_empty()) && new.iter().all(|at| goes_to(old, at))
}

/// `None` is no bound.
fn at_most(old: Option<u64>, new: Option<u64>) -> bool {
    old.is_none_or(|old| new.is_some_and(|new| new <= old))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binding::{Wanted, allows};
    use ipc_proto::credproxy::Verb;
    use ipc_proto::{List, Name};
    use proptest::prelude::*;

    const HOSTS: [&str; 5] = ["a.test", "a.test:8443", "b.test:1", "[::1]", "[::1]:9"];
    const PATHS: [&str; 5] = ["/", "/v1", "/v1/mail", "/v1/", "/v2"];

    fn at(index: usize) -> At {
        let header = |name, prefix| At::Header { name: Name::clip(name), prefix: Text::clip(prefix) };
        match index {
            0 => header("x-key", ""),
            1 => header("X-Key", ""),
            2 => header("x-key", "Token "),
            3 => At::Query { name: Name::clip("key") },
            4 => At::Field { name: Name::clip("key") },
            _ => At::Segment,
        }
    }

    fn bindings() -> impl Strategy<Value = Binding> {
        let some = |most: usize| proptest::collection::vec(0..most, 0..3);
        (proptest::collection::vec(0..5_usize, 1..3), some(6), some(5), some(6)).prop_map(
            |(hosts, verbs, paths, places)| Binding {
                hosts: List::clip(hosts.into_iter().map(|host| Text::clip(HOSTS[host]))),
                verbs: List::clip(verbs.into_iter().map(|verb| Verb::ALL[verb])),
                paths: List::clip(paths.into_iter().map(|path| Text::clip(PATHS[path]))),
                at: List::clip(places.into_iter().map(at)),
            },
        )
    }

    proptest! {
        // Holds P4-21.
        #[test]
        fn what_a_narrower_binding_allows_the_wider_one_allows(
            old in bindings(), new in bindings(), host in 0..4_usize, verb in 0..6_usize, path in 0..6_usize, place in 0..6_usize,
        ) {
            let target = ["a.test:443", "a.test:8443", "b.test:1", "[::1]:9"][host].parse().unwrap();
            let path = ["/", "/v1", "/v1/mail/3", "/v2/x", "/v1x", "/v1/../v2"][path].to_owned();
            let wanted = Wanted { target, verb: Verb::ALL[verb], path, at: at(place) };
            let lease = Lease::default();
            if narrows((&old, lease), (&new, lease)) && allows(&new, &wanted).is_ok() {
                prop_assert!(allows(&old, &wanted).is_ok());
            }
        }

        #[test]
        fn a_binding_is_as_narrow_as_itself(bound in bindings(), until_ms: Option<u64>, uses: Option<u64>) {
            let lease = Lease { until_ms, uses };
            prop_assert!(narrows((&bound, lease), (&bound, lease)));
        }
    }

    #[test]
    fn a_host_more_a_bound_less_and_a_longer_lease_are_wider() {
        let old = Binding {
            hosts: List::new([Text::clip("a.test:8443")]).unwrap(),
            verbs: List::new([Verb::Get]).unwrap(),
            paths: List::new([Text::clip("/v1")]).unwrap(),
            at: List::new([at(0)]).unwrap(),
        };
        let held = Lease { until_ms: Some(10), uses: Some(3) };
        let wider: [fn(&mut Binding, &mut Lease); 8] = [
            |bound, _| bound.hosts = List::new([Text::clip("a.test")]).unwrap(),
            |bound, _| bound.verbs = List::default(),
            |bound, _| bound.verbs = List::new([Verb::Get, Verb::Post]).unwrap(),
            |bound, _| bound.paths = List::default(),
            |bound, _| bound.paths = List::new([Text::clip("/v1x")]).unwrap(),
            |bound, _| bound.at = List::default(),
            |_, lease| lease.until_ms = None,
            |_, lease| lease.uses = Some(4),
        ];
        for (number, widen) in wider.iter().enumerate() {
            let (mut new, mut lease) = (old.clone(), held);
            assert!(narrows((&old, held), (&new, lease)));
            widen(&mut new, &mut lease);
            assert!(!narrows((&old, held), (&new, lease)), "{number}");
        }
    }
}
