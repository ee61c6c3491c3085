//! The binding of a secret, as it is written on the command line and shown.

use crate::failure::Failure;
use crate::text;
use ipc_proto::bounded::TooLong;
use ipc_proto::credproxy::{At, Binding, Lease, LoginInfo, SecretInfo, Verb};
use ipc_proto::{List, Name, Text};

/// The binding of a secret besides its hosts, and its lease.
#[derive(clap::Args)]
pub(crate) struct Bound {
    /// Only this verb: GET, HEAD, POST, PUT, PATCH or DELETE; may be given again; any verb by default
    #[arg(long = "verb", visible_alias = "method", value_name = "VERB", value_parser = verb)]
    verbs: Vec<Verb>,
    /// Only paths that begin with this, in whole segments; any path by default
    #[arg(long = "path", value_name = "/PATH", value_parser = path)]
    paths: Vec<Text<256>>,
    /// Only into this header, with the text before it there; any header if no place is named
    #[arg(long = "header", value_name = "NAME[=PREFIX]", value_parser = header)]
    headers: Vec<At>,
    /// Only into this parameter of the query
    #[arg(long = "query", value_name = "NAME", value_parser = field)]
    queries: Vec<Name>,
    /// Only into a segment of the path
    #[arg(long)]
    segment: bool,
    /// Only into this field of a body, JSON or a form
    #[arg(long = "field", value_name = "NAME", value_parser = field)]
    fields: Vec<Name>,
    /// Only into the login of IMAP or SMTP
    #[arg(long)]
    login: bool,
    /// The lease: a number and s, m, h, d or w
    #[arg(long, value_name = "SPAN", value_parser = crate::text::seconds)]
    expires: Option<u64>,
    /// The number of times that it may be used
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    uses: Option<u64>,
}

impl Bound {
    /// All of it, for these hosts.
    ///
    /// # Errors
    /// More of something than there may be.
    pub(super) fn whole(self, hosts: Vec<Text<253>>) -> Result<(Binding, Lease), Failure> {
        let lease = self.lease();
        let at = self.places();
        let binding = Binding {
            hosts: list("--host", hosts)?,
            verbs: list("--verb", self.verbs)?,
            paths: list("--path", self.paths)?,
            at: list("a place", at)?,
        };
        Ok((binding, lease))
    }

    /// The binding of a secret with the given parts replaced.
    ///
    /// # Errors
    /// More of something than there may be.
    pub(super) fn instead(
        self,
        hosts: Vec<Text<253>>,
        held: &SecretInfo,
    ) -> Result<(Binding, Lease), Failure> {
        let (given, lease) = self.whole(hosts)?;
        let binding = Binding {
            hosts: or(given.hosts, &held.binding.hosts),
            verbs: or(given.verbs, &held.binding.verbs),
            paths: or(given.paths, &held.binding.paths),
            at: or(given.at, &held.binding.at),
        };
        let until_ms = lease.until_ms.or(held.lease.until_ms);
        Ok((binding, Lease { until_ms, uses: lease.uses.or(held.lease.uses) }))
    }

    /// Returns true if nothing of it is given.
    pub(super) fn is_empty(&self) -> bool {
        let lists = self.verbs.is_empty() && self.paths.is_empty() && self.places().is_empty();
        lists && self.expires.is_none() && self.uses.is_none()
    }

    fn lease(&self) -> Lease {
        let until_ms = self.expires.map(|span| text::now_ms().saturating_add(span.saturating_mul(1000)));
        Lease { until_ms, uses: self.uses }
    }

    fn places(&self) -> Vec<At> {
        let headers = self.headers.iter().cloned();
        let queries = self.queries.iter().map(|name| At::Query { name: name.clone() });
        let fields = self.fields.iter().map(|name| At::Field { name: name.clone() });
        let marked = [self.segment.then_some(At::Segment), self.login.then_some(At::Login)];
        headers.chain(queries).chain(marked.into_iter().flatten()).chain(fields).collect()
    }
}

fn list<T, const N: usize>(what: &'static str, items: Vec<T>) -> Result<List<T, N>, Failure> {
    List::new(items).map_err(|why| Failure::TooLong { what, why })
}

fn or<T: Clone, const N: usize>(given: List<T, N>, held: &List<T, N>) -> List<T, N> {
    if given.is_empty() { held.clone() } else { given }
}

fn verb(text: &str) -> Result<Verb, String> {
    let found = Verb::ALL.into_iter().find(|verb| verb.word().eq_ignore_ascii_case(text));
    found.ok_or_else(|| "one of GET, HEAD, POST, PUT, PATCH and DELETE".to_owned())
}

/// `HOST` or `HOST:PORT`. Common mistakes, such as a URL, are refused here; credproxy judges the rest.
pub(super) fn host(text: &str) -> Result<Text<253>, String> {
    if text.contains(['/', '*', '@', '?', '#']) || text.contains(char::is_whitespace) {
        return Err("it is a host or host:port: no scheme, no path, no user and no star".to_owned());
    }
    Text::new(text).map_err(|why| why.to_string())
}

/// Reads the prefix of a path.
fn path(text: &str) -> Result<Text<256>, String> {
    if !text.starts_with('/') {
        return Err("it begins with a slash".to_owned());
    }
    let dots = text.split('/').any(|segment| matches!(segment, "." | ".."));
    if dots || text.contains(['?', '#']) || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        let what =
            "it is a path alone: no query, no blank, no segment of dots, and other than plain ASCII escaped";
        return Err(what.to_owned());
    }
    Text::new(text).map_err(|why| why.to_string())
}

/// `NAME`, or `NAME=PREFIX` with the prefix's blank. credproxy decides which headers a request may set.
fn header(text: &str) -> Result<At, String> {
    let (name, prefix) = text.split_once('=').unwrap_or((text, ""));
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_name) {
        return Err("it is the name of a header, or NAME=PREFIX".to_owned());
    }
    let long = |why: TooLong| why.to_string();
    Ok(At::Header { name: Name::new(name).map_err(long)?, prefix: Text::new(prefix).map_err(long)? })
}

/// The name of a parameter or a field.
fn field(text: &str) -> Result<Name, String> {
    if text.is_empty() || !text.bytes().all(|byte| matches!(byte, 0x20..=0x7e)) {
        return Err("it is a name of printable ASCII".to_owned());
    }
    Name::new(text).map_err(|why| why.to_string())
}

/// The hosts, for a person.
pub(super) fn hosts(secret: &SecretInfo) -> String {
    joined(secret.binding.hosts.iter().map(|host| host.to_string()), "none")
}

/// The verbs.
pub(super) fn verbs(secret: &SecretInfo) -> String {
    joined(secret.binding.verbs.iter().map(|verb| verb.word().to_owned()), "any")
}

/// The paths.
pub(super) fn paths(secret: &SecretInfo) -> String {
    joined(secret.binding.paths.iter().map(|path| path.to_string()), "any")
}

/// The places of a request.
pub(super) fn places(secret: &SecretInfo) -> String {
    let place = |at: &At| match at {
        At::Header { name, prefix } if prefix.is_empty() => format!("header {name}"),
        At::Header { name, prefix } => format!("header {name} after {prefix:?}", prefix = prefix.as_str()),
        At::Query { name } => format!("query {name}"),
        At::Segment => "a segment of the path".to_owned(),
        At::Field { name } => format!("field {name}"),
        At::Login => "the login of IMAP or SMTP".to_owned(),
    };
    joined(secret.binding.at.iter().map(place), "any header")
}

fn joined(items: impl Iterator<Item = String>, none: &str) -> String {
    let all: Vec<String> = items.collect();
    if all.is_empty() { none.to_owned() } else { all.join(", ") }
}

/// Returns true if it may still be used.
pub(super) fn state(secret: &SecretInfo, now_ms: u64) -> &'static str {
    if secret.revoked {
        "revoked"
    } else if secret.lease.until_ms.is_some_and(|until| now_ms >= until) {
        "expired"
    } else if secret.lease.uses == Some(0) {
        "used up"
    } else {
        "active"
    }
}

/// The validity of a login; a dash for any other secret.
pub(super) fn login(secret: &SecretInfo, now_ms: u64) -> String {
    let Some(LoginInfo { until_ms, renews }) = secret.login else { return "-".to_owned() };
    match (until_ms.map(text::utc), renews) {
        (Some(until), true) => format!("token until {until}, renews by itself"),
        (None, true) => "renews by itself".to_owned(),
        (Some(until), false) if until_ms <= Some(now_ms) => format!("ended {until}"),
        (Some(until), false) => format!("ends {until}"),
        (None, false) => "no end known".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_a_name_with_or_without_what_stands_before_the_value() {
        let at = |name: &str, prefix: &str| At::Header { name: Name::clip(name), prefix: Text::clip(prefix) };
        assert_eq!(header("x-api-key"), Ok(at("x-api-key", "")));
        assert_eq!(header("Authorization=Bearer "), Ok(at("Authorization", "Bearer ")));
        assert_eq!(header("a=b=c"), Ok(at("a", "b=c")));
        let long = format!("a={}", "x".repeat(33));
        for wrong in [&long, "", "=x", "a b", "a:", "é"] {
            assert!(header(wrong).is_err(), "{wrong}");
        }
        assert!(field("api key").is_ok() && field("").is_err() && field("é").is_err());
    }

    // Holds P4-18.
    #[test]
    fn a_login_says_when_it_ends_and_whether_it_renews_itself() {
        let of = |until_ms, renews| {
            let login = Some(LoginInfo { until_ms, renews });
            self::login(&SecretInfo { login, ..held() }, 5_000)
        };
        assert_eq!(login(&held(), 5_000), "-");
        assert_eq!((of(None, true), of(None, false)), ("renews by itself".into(), "no end known".into()));
        assert!(of(Some(5_000), false).starts_with("ended 1970-01-01"));
        assert!(of(Some(5_001), false).starts_with("ends 1970-01-01"));
        let renewed = of(Some(1), true);
        assert!(renewed.starts_with("token until 1970") && renewed.ends_with(", renews by itself"));
    }

    #[test]
    fn a_verb_is_one_of_six_in_any_case() {
        assert_eq!(verb("get"), Ok(Verb::Get));
        assert_eq!(verb("DELETE"), Ok(Verb::Delete));
        assert!(verb("TRACE").is_err() && verb("").is_err());
    }

    #[test]
    fn a_host_is_no_address_and_a_path_begins_at_the_root() {
        for good in ["api.example.com", "api.example.com:8443", "127.0.0.1:80", "[::1]:80"] {
            assert!(host(good).is_ok(), "{good}");
        }
        for bad in ["https://api.example.com", "api.example.com/v1", "*.example.com", "me@example.com", "a b"]
        {
            assert!(host(bad).is_err(), "{bad}");
        }
        assert!(path("/v1").is_ok() && path("/").is_ok() && path("/.well-known").is_ok());
        for bad in ["v1", "", "/v1?x", "/v1#x", "/a b", "/é", "/a/../b", "/a/."] {
            assert!(path(bad).is_err(), "{bad}");
        }
    }

    fn held() -> SecretInfo {
        let binding = Binding {
            hosts: List::clip([Text::clip("a.test")]),
            verbs: List::clip([Verb::Get]),
            ..Binding::default()
        };
        let lease = Lease { until_ms: Some(50), uses: Some(1) };
        let name = Name::clip("k");
        SecretInfo { name, binding, lease, revoked: false, set_ms: 1, uses: 0, used_ms: 0, login: None }
    }

    #[test]
    fn what_is_not_given_of_a_binding_stays() {
        let bound = Bound {
            verbs: Vec::new(),
            paths: vec![Text::clip("/v1")],
            headers: Vec::new(),
            queries: Vec::new(),
            segment: false,
            login: false,
            fields: Vec::new(),
            expires: None,
            uses: None,
        };
        let held = held();
        let (binding, lease) = bound.instead(Vec::new(), &held).unwrap();
        assert_eq!((&binding.hosts, &binding.verbs), (&held.binding.hosts, &held.binding.verbs));
        assert_eq!((binding.paths.len(), lease), (1, held.lease));
    }

    #[test]
    fn a_secret_that_may_be_used_no_more_says_why() {
        let secret = held();
        assert_eq!(state(&secret, 49), "active");
        assert_eq!(state(&secret, 50), "expired");
        assert_eq!(state(&SecretInfo { revoked: true, ..secret.clone() }, 49), "revoked");
        let lease = Lease { until_ms: None, uses: Some(0) };
        assert_eq!(state(&SecretInfo { lease, ..secret }, 49), "used up");
    }
}
