//! Bindings of secrets: decides whether one use of a secret is a use that it is bound to. Pure; a use is refused before the
//! value is opened.

use address::leads_under;
use ipc_proto::Text;
use ipc_proto::credproxy::{At, Binding, Verb};
use ipc_proto::dialer::HostPort;

/// One use of a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Where the request goes.
    pub(crate) target: HostPort,
    /// How it is sent.
    pub(crate) verb: Verb,
    /// Path and query as they are sent, save that the secret's mark stands where its value goes.
    pub(crate) path: String,
    /// Where in the request the secret goes.
    pub(crate) at: At,
}

/// The part of a use that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Why {
    /// The secret is not for this host and port.
    #[error("not bound to this host")]
    Host,
    /// The secret is not for requests of this verb.
    #[error("not bound to this verb")]
    Verb,
    /// The path is outside of those the secret is for, or two servers could read it in two ways.
    #[error("not bound to this path")]
    Path,
    /// The secret is not for this place of a request.
    #[error("not bound to this place of a request")]
    Place,
}

/// Returns whether a secret bound like this may be used so.
pub(crate) fn allows(binding: &Binding, wanted: &Wanted) -> Result<(), Why> {
    let paths = binding.paths.iter().map(Text::as_str);
    let rules = [
        (binding.hosts.iter().any(|host| covers(host, &wanted.target)), Why::Host),
        (binding.verbs.is_empty() || binding.verbs.contains(&wanted.verb), Why::Verb),
        (binding.paths.is_empty() || leads_under(&wanted.path, paths), Why::Path),
        (goes_to(&binding.at, &wanted.at), Why::Place),
    ];
    rules.into_iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, why)| Err(why))
}

/// `host` is bound at any port, `host:port` at that one.
fn covers(bound: &str, target: &HostPort) -> bool {
    bound == target.host.to_string() || bound == target.to_string()
}

/// Returns whether a secret for these places may go to this one; to any header where none is named.
pub(crate) fn goes_to(places: &[At], at: &At) -> bool {
    if places.is_empty() {
        return matches!(at, At::Header { .. });
    }
    places.iter().any(|place| match (place, at) {
        // Servers read the names of headers in any case, and nothing else.
        (At::Header { name: one, prefix }, At::Header { name: other, prefix: before }) => {
            one.eq_ignore_ascii_case(other) && prefix == before
        }
        _ => place == at,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::{List, Name};

    fn header(name: &str, prefix: &str) -> At {
        At::Header { name: Name::clip(name), prefix: Text::clip(prefix) }
    }

    fn bound(hosts: &[&str], verbs: &[Verb], paths: &[&str], at: &[At]) -> Binding {
        Binding {
            hosts: List::clip(hosts.iter().map(|host| Text::clip(host))),
            verbs: List::clip(verbs.iter().copied()),
            paths: List::clip(paths.iter().map(|path| Text::clip(path))),
            at: List::clip(at.iter().cloned()),
        }
    }

    fn wanted(target: &str, verb: Verb, path: &str, at: At) -> Wanted {
        Wanted { target: target.parse().unwrap(), verb, path: path.to_owned(), at }
    }

    #[test]
    fn a_secret_is_for_its_hosts_and_a_host_with_a_port_for_that_port_alone() {
        let binding = bound(&["a.test", "b.test:8443"], &[], &[], &[]);
        let ask = |target| allows(&binding, &wanted(target, Verb::Post, "/", header("x", "")));
        for target in ["a.test:443", "a.test:8080", "b.test:8443"] {
            assert_eq!(ask(target), Ok(()), "{target}");
        }
        for target in ["b.test:443", "c.test:443", "a.test.evil.test:443", "xa.test:443"] {
            assert_eq!(ask(target), Err(Why::Host), "{target}");
        }
        let nobody = wanted("a.test:443", Verb::Get, "/", header("x", ""));
        assert_eq!(allows(&Binding::default(), &nobody), Err(Why::Host));
    }

    #[test]
    fn a_secret_is_for_its_verbs_and_for_any_where_none_is_named() {
        let reads = bound(&["a.test"], &[Verb::Get, Verb::Head], &[], &[]);
        let any = bound(&["a.test"], &[], &[], &[]);
        for verb in [Verb::Get, Verb::Head, Verb::Post, Verb::Put, Verb::Patch, Verb::Delete] {
            let wanted = wanted("a.test:443", verb, "/", header("x", ""));
            let read = matches!(verb, Verb::Get | Verb::Head);
            assert_eq!(allows(&reads, &wanted), if read { Ok(()) } else { Err(Why::Verb) }, "{verb:?}");
            assert_eq!(allows(&any, &wanted), Ok(()), "{verb:?}");
        }
    }

    #[test]
    fn a_secret_is_for_paths_under_its_own_and_for_any_where_none_is_named() {
        let one = bound(&["a.test"], &[], &["/v1/mail", "/v1/me"], &[]);
        let any = bound(&["a.test"], &[], &[], &[]);
        for (path, under) in [
            ("/v1/mail", true),
            ("/v1/me/x?y=/..", true),
            ("/v1/mailbox", false),
            ("/v1", false),
            ("/v1/mail/../admin", false),
            ("/v1/mail/%2e%2e/admin", false),
            ("/v1/mail/..%2fadmin", false),
            ("/v1/mail/%252e%252e/admin", false),
        ] {
            let wanted = wanted("a.test:443", Verb::Get, path, header("x", ""));
            assert_eq!(allows(&one, &wanted), if under { Ok(()) } else { Err(Why::Path) }, "{path}");
            assert_eq!(allows(&any, &wanted), Ok(()), "{path}");
        }
    }

    // Holds P4-12.
    #[test]
    fn a_secret_goes_to_its_places_or_to_any_header_where_none_is_named() {
        let query = At::Query { name: Name::clip("key") };
        let field = At::Field { name: Name::clip("key") };
        let ask = |binding: &Binding, at| allows(binding, &wanted("a.test:443", Verb::Get, "/", at));
        let any = bound(&["a.test"], &[], &[], &[]);
        assert_eq!(ask(&any, header("x-key", "")), Ok(()));
        for at in [query.clone(), field.clone(), At::Segment] {
            assert_eq!(ask(&any, at.clone()), Err(Why::Place));
            let only = bound(&["a.test"], &[], &[], std::slice::from_ref(&at));
            assert_eq!(ask(&only, at), Ok(()));
            assert_eq!(ask(&only, header("x-key", "")), Err(Why::Place));
        }
        let one = bound(&["a.test"], &[], &[], &[header("X-Key", "Token "), query]);
        assert_eq!(ask(&one, header("x-key", "Token ")), Ok(()));
        for at in [header("x-key", ""), header("x-other", "Token "), field] {
            assert_eq!(ask(&one, at), Err(Why::Place));
        }
        assert_eq!(ask(&one, At::Query { name: Name::clip("KEY") }), Err(Why::Place));
    }
}
