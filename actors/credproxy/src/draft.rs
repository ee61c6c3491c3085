//! A request before its secret is in it: where the secret goes is found and checked here, before anybody decides on
//! its use, and filled in after. Pure.
//!
//! The mark stands once, exactly where the secret goes, and nowhere else. A body whose secret goes into a header is
//! the caller's own: nothing in it is ever swapped, so a mark in it is text.

use crate::address::Address;
use crate::escape::{json, percent, percent_in_path};
use crate::headers;
use crate::secret::Secret;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Method};
use http_body_util::Full;
use ipc_proto::credproxy::{At, CredError, PLACEHOLDER, Request, Verb};
use std::ops::Range;

/// Texts that stand for the mark while a body is examined: as long as the mark, and plain text like it. A body may hold one
/// of them by itself anywhere, but no field of it is first the one and then the other.
const PROBES: [&str; 2] = ["__cordon_probed__", "__cordon_proved__"];

/// A request to be filled in and sent.
#[derive(Clone)]
pub(crate) struct Draft {
    verb: Verb,
    path: String,
    headers: HeaderMap,
    body: Vec<u8>,
    slot: Slot,
}

/// Where the secret goes.
#[derive(Clone)]
enum Slot {
    Nowhere,
    Header { name: String, prefix: String },
    Path(Range<usize>),
    Body(Range<usize>, Escape),
}

/// How a text stands in a body.
#[derive(Clone, Copy)]
enum Escape {
    Json,
    Form,
}

impl Draft {
    /// The request to this address, with the place found that its secret goes to.
    pub(crate) fn new(request: Request, address: &Address) -> Result<Self, CredError> {
        let at = request.secret.as_ref().map(|placement| &placement.at);
        let free = match at {
            Some(At::Header { name, prefix }) => Some((name.as_str(), prefix.as_str())),
            _ => None,
        };
        let headers = headers::build(&address.to_string(), &request.headers, free, request.cookies)?;
        let slot = slot(at, &address.path, &headers, &request.body)?;
        let Request { verb, body, .. } = request;
        Ok(Self { verb, path: address.path.clone(), headers, body: body.into_vec(), slot })
    }

    /// Puts the secret in.
    pub(crate) fn fill(&mut self, secret: &Secret) -> Result<(), CredError> {
        match std::mem::replace(&mut self.slot, Slot::Nowhere) {
            Slot::Nowhere => Err(CredError::Misplaced),
            Slot::Header { name, prefix } => headers::place(&mut self.headers, &name, &prefix, secret),
            Slot::Path(range) => {
                self.path.replace_range(range, &percent_in_path(secret.reveal()));
                Ok(())
            }
            Slot::Body(range, escape) => {
                let value = match escape {
                    Escape::Json => json(secret.reveal(), false),
                    Escape::Form => percent(secret.reveal(), true),
                };
                drop(self.body.splice(range, value.bytes()));
                Ok(())
            }
        }
    }

    /// As HTTP sends it.
    pub(crate) fn finish(self) -> Result<http::Request<Full<Bytes>>, CredError> {
        let mut request = http::Request::new(Full::new(Bytes::from(self.body)));
        *request.method_mut() = method(self.verb);
        *request.uri_mut() = self.path.parse().map_err(|_| CredError::BadUrl)?;
        *request.headers_mut() = self.headers;
        Ok(request)
    }
}

const fn method(verb: Verb) -> Method {
    match verb {
        Verb::Get => Method::GET,
        Verb::Head => Method::HEAD,
        Verb::Post => Method::POST,
        Verb::Put => Method::PUT,
        Verb::Patch => Method::PATCH,
        Verb::Delete => Method::DELETE,
    }
}

fn slot(at: Option<&At>, path: &str, headers: &HeaderMap, body: &[u8]) -> Result<Slot, CredError> {
    let (in_path, in_body) = (marks(path.as_bytes()), marks(body));
    let found = match (at, in_path.as_slice(), in_body.as_slice()) {
        (None, [], _) => Some(Slot::Nowhere),
        (Some(At::Header { name, prefix }), [], _) => {
            Some(Slot::Header { name: name.to_string(), prefix: prefix.to_string() })
        }
        (Some(At::Query { name }), [mark], []) => {
            let (segments, query) = path.split_once('?').unwrap_or((path, ""));
            pair(query, name).filter(|_| mark.start > segments.len()).map(|()| Slot::Path(mark.clone()))
        }
        (Some(At::Segment), [mark], []) => {
            let segments = path.find('?').unwrap_or(path.len());
            (mark.end <= segments).then(|| Slot::Path(mark.clone()))
        }
        (Some(At::Field { name }), [], [mark]) => {
            field(headers, body, mark, name).map(|escape| Slot::Body(mark.clone(), escape))
        }
        _ => None,
    };
    found.ok_or(CredError::Misplaced)
}

fn marks(bytes: &[u8]) -> Vec<Range<usize>> {
    let mark = PLACEHOLDER.as_bytes();
    let places = bytes.windows(mark.len()).enumerate().filter(|(_, window)| *window == mark);
    // Two are as wrong as twenty.
    places.map(|(at, _)| at..at + mark.len()).take(2).collect()
}

/// Returns whether the mark is the whole value of the parameter or field of this name.
fn pair(pairs: &str, name: &str) -> Option<()> {
    let wanted = percent(name.as_bytes(), true);
    let holds = |pair: &str| {
        pair.split_once('=')
            .is_some_and(|(key, value)| value == PLACEHOLDER && (key == name || key == wanted.as_str()))
    };
    pairs.split('&').any(holds).then_some(())
}

/// How the body is written, if the mark is the whole value of the field of this name. The field is looked for with
/// other texts in the place of this one mark, so that neither an escaped second mark nor a text of the body can stand for
/// it.
fn field(headers: &HeaderMap, body: &[u8], mark: &Range<usize>, name: &str) -> Option<Escape> {
    let kind = headers.get(CONTENT_TYPE)?.to_str().ok()?.split(';').next()?.trim().to_ascii_lowercase();
    match kind.as_str() {
        "application/json" => {
            let changes = |probe: &&str| changes_with(body, mark, name, probe).unwrap_or(false);
            PROBES.iter().all(changes).then_some(Escape::Json)
        }
        "application/x-www-form-urlencoded" => {
            pair(std::str::from_utf8(body).ok()?, name).map(|()| Escape::Form)
        }
        _ => None,
    }
}

/// Returns whether the field of this name is the probe once that stands in the place of the mark.
fn changes_with(body: &[u8], mark: &Range<usize>, name: &str, probe: &str) -> Option<bool> {
    let mut probed = body.to_vec();
    probed.get_mut(mark.clone())?.copy_from_slice(probe.as_bytes());
    let object: serde_json::Value = serde_json::from_slice(&probed).ok()?;
    Some(object.get(name)?.as_str()? == probe)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;
    use ipc_proto::credproxy::{Header, Placement};
    use ipc_proto::{Blob, List, Name, Text};
    use proptest::prelude::*;
    use zeroize::Zeroizing;

    const JSON: &str = "application/json; charset=utf-8";
    const FORM: &str = "application/x-www-form-urlencoded";

    fn query(name: &str) -> At {
        At::Query { name: Name::clip(name) }
    }

    fn named(name: &str) -> At {
        At::Field { name: Name::clip(name) }
    }

    fn header() -> At {
        At::Header { name: Name::clip("x-key"), prefix: Text::clip("Token ") }
    }

    fn asked(path: &str, kind: &str, body: &str, at: Option<At>) -> Request {
        let kind = Header { name: Name::clip("content-type"), value: Text::clip(kind) };
        Request {
            verb: Verb::Post,
            url: Text::new(format!("https://a.test{path}")).unwrap(),
            headers: List::new([kind]).unwrap(),
            body: Blob::new(body).unwrap(),
            secret: at.map(|at| Placement { secret: Name::clip("k"), at }),
            cookies: false,
        }
    }

    fn draft(path: &str, kind: &str, body: &str, at: Option<At>) -> Result<Draft, CredError> {
        let request = asked(path, kind, body, at);
        let address = Address::parse(&request.url)?;
        Draft::new(request, &address)
    }

    /// Path and body as they are sent with this value.
    fn sent(path: &str, kind: &str, body: &str, at: At, value: &str) -> (String, String) {
        let secret = Secret::new(Zeroizing::new(value.as_bytes().to_vec())).unwrap();
        let mut draft = draft(path, kind, body, Some(at)).unwrap();
        draft.fill(&secret).unwrap();
        let request = draft.finish().unwrap();
        let path = request.uri().to_string();
        let body = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let body = body.block_on(request.into_body().collect()).unwrap().to_bytes();
        (path, String::from_utf8(body.to_vec()).unwrap())
    }

    #[test]
    fn a_secret_goes_to_its_place_as_that_place_is_written() {
        let value = r#"a/b+c&d="e\f""#;
        let percented = "a%2Fb%2Bc%26d%3D%22e%5Cf%22";
        let cases = [
            (
                "/x?key=__cordon_secret__&a=1",
                "",
                "",
                query("key"),
                format!("/x?key={percented}&a=1"),
                String::new(),
            ),
            ("/bot__cordon_secret__/get", "", "", At::Segment, format!("/bot{percented}/get"), String::new()),
            (
                "/x",
                JSON,
                r#"{"a": 1, "token": "__cordon_secret__"}"#,
                named("token"),
                "/x".to_owned(),
                r#"{"a": 1, "token": "a/b+c&d=\"e\\f\""}"#.to_owned(),
            ),
            (
                "/x",
                FORM,
                "a=1&token=__cordon_secret__",
                named("token"),
                "/x".to_owned(),
                format!("a=1&token={percented}"),
            ),
        ];
        let (bot, _) = sent("/bot__cordon_secret__/get", "", "", At::Segment, "42:abc/def");
        assert_eq!(bot, "/bot42:abc%2Fdef/get", "a bot's token is sent as its own clients send it");
        for (path, kind, body, at, path_sent, body_sent) in cases {
            assert_eq!(sent(path, kind, body, at, value), (path_sent, body_sent), "{path} {body}");
        }
    }

    // Holds P4-13.
    #[test]
    fn a_mark_that_is_missing_twice_there_or_elsewhere_stops_the_request() {
        let mark = PLACEHOLDER;
        let json = |text: &str| text.replace("MARK", mark);
        let cases = [
            ("/x?key=1".to_owned(), "", String::new(), Some(query("key"))),
            (format!("/x?other={mark}"), "", String::new(), Some(query("key"))),
            (format!("/x?key=a{mark}"), "", String::new(), Some(query("key"))),
            (format!("/x?key={mark}&key={mark}"), "", String::new(), Some(query("key"))),
            (format!("/{mark}?key=1"), "", String::new(), Some(query("key"))),
            (format!("/key={mark}"), "", String::new(), Some(query("key"))),
            (format!("/x?key={mark}"), JSON, json(r#"{"a":"MARK"}"#), Some(query("key"))),
            (format!("/x?key={mark}"), "", String::new(), Some(At::Segment)),
            (format!("/{mark}/{mark}"), "", String::new(), Some(At::Segment)),
            ("/x".to_owned(), "", String::new(), Some(At::Segment)),
            (format!("/{mark}"), "", String::new(), Some(header())),
            (format!("/{mark}"), "", String::new(), None),
            (format!("/x?a={mark}"), "", String::new(), None),
            (format!("/{mark}"), JSON, json(r#"{"a":"MARK"}"#), Some(named("a"))),
            ("/x".to_owned(), JSON, json(r#"{"b":"MARK"}"#), Some(named("a"))),
            ("/x".to_owned(), JSON, json(r#"{"a":"x MARK"}"#), Some(named("a"))),
            ("/x".to_owned(), JSON, json(r#"{"a":{"a":"MARK"}}"#), Some(named("a"))),
            ("/x".to_owned(), JSON, json(r#"["MARK"]"#), Some(named("a"))),
            ("/x".to_owned(), JSON, json(r#"{"a":"MARK","b":"MARK"}"#), Some(named("a"))),
            // The one that is written out is somewhere else than the one that is meant.
            ("/x".to_owned(), JSON, json(r#"{"b":"MARK","a":"__cordon\u005fsecret__"}"#), Some(named("a"))),
            // A text that stands for the mark during the search makes no field the one that is meant.
            ("/x".to_owned(), JSON, json(r#"{"b":"MARK","a":"__cordon_probed__"}"#), Some(named("a"))),
            ("/x".to_owned(), JSON, json(r#"{"b":"MARK","a":"__cordon_proved__"}"#), Some(named("a"))),
            ("/x".to_owned(), JSON, json(r#"{"a":"MARK"#), Some(named("a"))),
            ("/x".to_owned(), "text/plain", json(r#"{"a":"MARK"}"#), Some(named("a"))),
            ("/x".to_owned(), FORM, format!("b={mark}"), Some(named("a"))),
            ("/x".to_owned(), FORM, format!("a={mark}&a={mark}"), Some(named("a"))),
        ];
        for (path, kind, body, at) in cases {
            assert_eq!(draft(&path, kind, &body, at).err(), Some(CredError::Misplaced), "{path} {body}");
        }
    }

    #[test]
    fn nothing_is_ever_swapped_in_a_body_whose_secret_goes_into_a_header() {
        let body = r#"{"messages":"what is __cordon_secret__ for? __cordon_secret__"}"#;
        assert_eq!(sent("/x", JSON, body, header(), "0123456789").1, body);
        assert!(draft("/x", JSON, body, None).is_ok());
        let secret = Secret::new(Zeroizing::new(b"0123456789".to_vec())).unwrap();
        let nowhere = draft("/x", JSON, body, None).unwrap().fill(&secret);
        assert_eq!(nowhere, Err(CredError::Misplaced));
    }

    proptest! {
        // Holds P4-13.
        #[test]
        fn a_request_has_its_secret_once_or_is_not_sent(
            path in "(/|[a-c=&?]|__cordon_secret__){0,8}", body in "(\\{|\\}|[\":,a=&]|__cordon_secret__|\\\\u005f){0,12}",
            form: bool, place in 0..4_u8,
        ) {
            let at = match place {
                0 => query("a"),
                1 => At::Segment,
                2 => named("a"),
                _ => header(),
            };
            let path = format!("/{path}");
            if let Ok(mut draft) = draft(&path, if form { FORM } else { JSON }, &body, Some(at)) {
                let secret = Secret::new(Zeroizing::new(b"ZZZZZZZZZZ".to_vec())).unwrap();
                draft.fill(&secret).unwrap();
                let body = String::from_utf8(draft.body.clone()).unwrap();
                let header = draft.headers.get("x-key").map_or("", |value| value.to_str().unwrap());
                let all = format!("{} {header} {body}", draft.path);
                prop_assert_eq!(all.matches("ZZZZZZZZZZ").count(), 1);
            }
        }
    }
}
