//! A request as it goes to the server, built from the gate's fields, and the head of its reply. Pure.

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, HOST, HeaderName, HeaderValue, UPGRADE};
use http::{HeaderMap, Method, Request};
use http_body_util::Full;
use hyper::body::Body;
use ipc_proto::dialer::Host;
use ipc_proto::egress::{self, EgressError, HEADERS, Line, Origin};
use ipc_proto::{List, Name, Text};

/// Methods that are sent on. CONNECT and TRACE would make another protocol of the connection, or show its headers.
const METHODS: [Method; 7] =
    [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS];

/// Headers that speak of one connection or of the message's framing (RFC 9110, 7.6.1), and those that are set here.
const DROPPED: [&str; 13] = [
    "connection",
    "content-length",
    "expect",
    "host",
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

/// The host of an origin, parsed.
pub(crate) fn host(origin: &Origin) -> Result<Host, EgressError> {
    origin.host.parse().map_err(|_| bad("host"))
}

/// The request for a server.
///
/// # Errors
/// [`EgressError::BadRequest`]: a field that cannot be sent on.
pub(crate) fn build(request: egress::Request) -> Result<Request<Full<Bytes>>, EgressError> {
    let method = METHODS.into_iter().find(|known| known.as_str() == request.method.as_str());
    let path = request.path.as_str();
    if !path.starts_with('/') || !path.bytes().all(|byte| (0x21..=0x7e).contains(&byte)) {
        return Err(bad("path"));
    }
    let mut built = Request::new(Full::new(Bytes::from(request.body.into_vec())));
    *built.method_mut() = method.ok_or_else(|| bad("method"))?;
    *built.uri_mut() = path.parse().map_err(|_| bad("path"))?;
    *built.headers_mut() = headers(&request.headers)?;
    if request.websocket {
        if built.method() != Method::GET || built.body().size_hint().exact() != Some(0) {
            return Err(bad("method"));
        }
        built.headers_mut().insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        built.headers_mut().insert(UPGRADE, HeaderValue::from_static("websocket"));
    }
    built.headers_mut().insert(HOST, authority(&request.origin)?);
    Ok(built)
}

/// The host as the server is told it, with its port where that is not the scheme's own.
fn authority(origin: &Origin) -> Result<HeaderValue, EgressError> {
    let (host, usual) = (host(origin)?, if origin.tls { 443 } else { 80 });
    let text = if origin.port == usual { host.to_string() } else { format!("{host}:{}", origin.port) };
    HeaderValue::from_str(&text).map_err(|_| bad("host"))
}

fn headers(lines: &[Line]) -> Result<HeaderMap, EgressError> {
    let mut headers = HeaderMap::new();
    for line in lines {
        let name = HeaderName::from_bytes(line.name.as_bytes()).map_err(|_| bad("headers"))?;
        let value = HeaderValue::from_str(&line.value).map_err(|_| bad("headers"))?;
        if !DROPPED.contains(&name.as_str()) {
            headers.append(name, value);
        }
    }
    Ok(headers)
}

/// The headers of a reply for the jail, and the length that the server announced. Lines that do not fit are left out.
pub(crate) fn told(headers: &HeaderMap) -> (List<Line, HEADERS>, Option<u64>) {
    let length = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    let lines = headers.iter().filter(|(name, _)| !DROPPED.contains(&name.as_str())).filter_map(line);
    (List::clip(lines), length)
}

fn line((name, value): (&HeaderName, &HeaderValue)) -> Option<Line> {
    let name = Name::new(name.as_str()).ok()?;
    Some(Line { name, value: Text::new(value.to_str().ok()?).ok()? })
}

fn bad(field: &str) -> EgressError {
    EgressError::BadRequest(Name::clip(field))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::Blob;

    fn request(method: &str, path: &str, headers: &[(&str, &str)]) -> egress::Request {
        let line = |(name, value): &(&str, &str)| Line { name: Name::clip(name), value: Text::clip(value) };
        egress::Request {
            origin: Origin { tls: true, host: Text::clip("a.example"), port: 443 },
            method: Name::clip(method),
            path: Text::clip(path),
            headers: List::clip(headers.iter().map(line)),
            body: Blob::default(),
            websocket: false,
        }
    }

    #[test]
    fn a_request_is_built_anew_and_keeps_no_header_of_the_connection() {
        let given = [
            ("accept", "*/*"),
            ("Host", "evil.example"),
            ("Connection", "keep-alive"),
            ("Transfer-Encoding", "chunked"),
            ("Content-Length", "9"),
            ("Proxy-Authorization", "x"),
            ("cookie", "a=1"),
        ];
        let built = build(request("GET", "/simple/?q=1", &given)).unwrap();
        let got: Vec<_> = built.headers().keys().map(HeaderName::as_str).collect();
        assert_eq!(got, ["accept", "cookie", "host"]);
        assert_eq!(built.headers()["host"], "a.example");
        assert_eq!(built.uri(), "/simple/?q=1");
    }

    #[test]
    fn an_upgrade_is_asked_for_by_a_websocket_and_by_nothing_else() {
        let given = [("Upgrade", "h2c"), ("Connection", "Upgrade"), ("Sec-WebSocket-Key", "x")];
        assert!(build(request("GET", "/", &given)).unwrap().headers().get(UPGRADE).is_none());
        let asked = egress::Request { websocket: true, ..request("GET", "/", &given) };
        let built = build(asked.clone()).unwrap();
        assert_eq!(
            (&built.headers()[UPGRADE], &built.headers()[CONNECTION]),
            (&HeaderValue::from_static("websocket"), &HeaderValue::from_static("Upgrade"))
        );
        let posted = egress::Request { method: Name::clip("POST"), ..asked };
        assert!(build(posted).is_err());
    }

    #[test]
    fn what_could_end_a_line_or_change_the_protocol_is_refused() {
        for (method, path, headers) in [
            ("CONNECT", "/", vec![]),
            ("TRACE", "/", vec![]),
            ("get", "/", vec![]),
            ("GET", "", vec![]),
            ("GET", "x", vec![]),
            ("GET", "http://b.example/", vec![]),
            ("GET", "/a b", vec![]),
            ("GET", "/a\r\nx: y", vec![]),
            ("GET", "/\u{e9}", vec![]),
            ("GET", "/", vec![("a b", "x")]),
            ("GET", "/", vec![("a", "x\r\nhost: evil")]),
        ] {
            assert!(build(request(method, path, &headers)).is_err(), "{method} {path:?} {headers:?}");
        }
    }

    #[test]
    fn the_host_is_told_with_a_port_that_is_not_the_schemes_own() {
        for (tls, port, told) in
            [(true, 443, "a.example"), (false, 80, "a.example"), (true, 8443, "a.example:8443")]
        {
            let origin = Origin { tls, host: Text::clip("a.example"), port };
            assert_eq!(authority(&origin).unwrap(), told);
        }
    }
}
