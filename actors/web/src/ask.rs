//! The request at each step of a fetch: the caller's method, headers and body as far as they may go, and the part of them
//! that is left after a redirect. Pure.

use address::Target;
use bytes::Bytes;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_TYPE, HOST, HeaderName, HeaderValue, USER_AGENT,
};
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::Full;
use ipc_proto::credproxy::Header;
use ipc_proto::web::{self, WebError};
use ipc_proto::{Blob, Name};

/// Headers that a caller may set. None of them carries credentials, names another host or speaks of the connection.
const ALLOWED: &[&str] = &[
    "accept",
    "accept-language",
    "cache-control",
    "content-language",
    "content-type",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-unmodified-since",
    "prefer",
    "range",
];

/// The request that is sent to the next address.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    /// How.
    pub(crate) method: Method,
    headers: HeaderMap,
    body: Bytes,
}

impl Ask {
    /// A request as the caller wants it.
    ///
    /// # Errors
    /// A header that may not be set, or a body with a method that has none.
    pub(crate) fn new(
        method: web::Method,
        given: &[Header],
        body: Option<Blob<65536>>,
    ) -> Result<Self, WebError> {
        let method = match method {
            web::Method::Get => Method::GET,
            web::Method::Head => Method::HEAD,
            web::Method::Post => Method::POST,
            web::Method::Put => Method::PUT,
            web::Method::Patch => Method::PATCH,
            web::Method::Delete => Method::DELETE,
        };
        let body = Bytes::from(body.map(Blob::into_vec).unwrap_or_default());
        if !body.is_empty() && reads(&method) {
            return Err(out_of_bounds("body"));
        }
        let mut headers = HeaderMap::new();
        for header in given {
            let (name, value) = one_header(header).ok_or_else(|| out_of_bounds("headers"))?;
            headers.insert(name, value);
        }
        Ok(Self { method, headers, body })
    }

    /// The request for this target. The target's own parts are printable ASCII, so that nothing of it can end a line.
    pub(crate) fn to(&self, target: &Target) -> Result<Request<Full<Bytes>>, WebError> {
        let host = HeaderValue::from_str(&target.authority()).map_err(|_| WebError::Upstream)?;
        let mut request = Request::new(Full::new(self.body.clone()));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = target.path_and_query.parse().map_err(|_| out_of_bounds("url"))?;
        let mut headers = self.headers.clone();
        headers.entry(ACCEPT).or_insert(HeaderValue::from_static("text/html, text/*;q=0.9, */*;q=0.5"));
        headers.insert(HOST, host);
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
        headers.insert(USER_AGENT, HeaderValue::from_static("Cordon"));
        // A few bytes that unfold into gigabytes are not asked for, and not taken.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        *request.headers_mut() = headers;
        Ok(request)
    }

    /// How to ask after a redirect with this status; none where it is not followed. A body goes nowhere but where it
    /// was sent, so a redirect that would have it repeated is the answer itself.
    pub(crate) fn redirected(&self, status: StatusCode) -> Option<Method> {
        let kept = reads(&self.method).then(|| self.method.clone());
        match status.as_u16() {
            301 | 302 if self.method == Method::POST => Some(Method::GET),
            303 => Some(kept.unwrap_or(Method::GET)),
            301 | 302 | 307 | 308 => kept,
            _ => None,
        }
    }

    /// The request after a redirect: no body, and the caller's headers only as long as the origin is the same.
    pub(crate) fn moved(self, method: Method, same_origin: bool) -> Self {
        let mut headers = if same_origin { self.headers } else { HeaderMap::new() };
        headers.remove(CONTENT_TYPE);
        Self { method, headers, body: Bytes::new() }
    }
}

/// A field of a request that is not what it must be.
pub(crate) fn out_of_bounds(field: &str) -> WebError {
    WebError::BadRequest(Name::clip(field))
}

fn reads(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

fn one_header(header: &Header) -> Option<(HeaderName, HeaderValue)> {
    let name = HeaderName::from_bytes(header.name.as_bytes()).ok()?;
    let printable = header.value.bytes().all(|byte| (0x20..=0x7e).contains(&byte));
    let value = HeaderValue::from_str(&header.value).ok().filter(|_| printable)?;
    ALLOWED.contains(&name.as_str()).then_some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::Text;

    fn header(name: &str, value: &str) -> Header {
        Header { name: Text::new(name).unwrap(), value: Text::new(value).unwrap() }
    }

    fn post() -> Ask {
        let headers = [header("Content-Type", "text/plain"), header("Accept-Language", "de")];
        Ask::new(web::Method::Post, &headers, Some(Blob::new(*b"body").unwrap())).unwrap()
    }

    // Holds P4-10.
    #[test]
    fn headers_of_the_connection_of_the_host_and_of_credentials_cannot_be_set() {
        for name in [
            "Host",
            "Authorization",
            "Cookie",
            "Connection",
            "Content-Length",
            "Transfer-Encoding",
            "Proxy-Authorization",
            "Upgrade",
            "Expect",
            "TE",
            "Accept-Encoding",
            "User-Agent",
            "Referer",
            "Origin",
            "X-Forwarded-For",
            "Metadata-Flavor",
            "x-aws-ec2-metadata-token",
            "",
            "a b",
            "accept\r\nhost",
        ] {
            let refused = Ask::new(web::Method::Get, &[header(name, "x")], None);
            assert_eq!(refused.err(), Some(out_of_bounds("headers")), "{name}");
        }
        for value in ["a\r\nHost: evil", "a\0", "\u{e9}", "a\u{7f}"] {
            assert!(Ask::new(web::Method::Get, &[header("accept", value)], None).is_err(), "{value:?}");
        }
    }

    #[test]
    fn a_request_says_its_host_closes_the_connection_and_wants_no_compression() {
        let target = address::parse("http://a.example.org:8080/x?y=1").unwrap();
        let request = post().to(&target).unwrap();
        let got = |name: &str| request.headers().get(name).unwrap().to_str().unwrap().to_owned();
        assert_eq!((got("host"), got("connection")), ("a.example.org:8080".into(), "close".into()));
        assert_eq!((got("accept-encoding"), got("content-type")), ("identity".into(), "text/plain".into()));
        assert_eq!(request.uri(), "/x?y=1");
    }

    // Holds P4-10.
    #[test]
    fn a_redirect_never_carries_a_body_and_never_repeats_a_change() {
        let ask = |method| Ask::new(method, &[], None).unwrap();
        let cases = [
            (web::Method::Get, 301, Some(Method::GET)),
            (web::Method::Head, 302, Some(Method::HEAD)),
            (web::Method::Head, 303, Some(Method::HEAD)),
            (web::Method::Get, 307, Some(Method::GET)),
            (web::Method::Get, 308, Some(Method::GET)),
            (web::Method::Post, 301, Some(Method::GET)),
            (web::Method::Post, 303, Some(Method::GET)),
            (web::Method::Delete, 303, Some(Method::GET)),
            (web::Method::Post, 307, None),
            (web::Method::Post, 308, None),
            (web::Method::Put, 301, None),
            (web::Method::Delete, 302, None),
            (web::Method::Get, 300, None),
            (web::Method::Get, 304, None),
            (web::Method::Get, 200, None),
        ];
        for (method, status, want) in cases {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(ask(method).redirected(status), want, "{method:?} {status}");
        }
        let target = address::parse("http://a.example.org/").unwrap();
        for (same_origin, language) in [(true, true), (false, false)] {
            let moved = post().moved(Method::GET, same_origin).to(&target).unwrap();
            assert!(!moved.headers().contains_key(CONTENT_TYPE));
            assert_eq!(moved.headers().contains_key("accept-language"), language);
            assert_eq!(hyper::body::Body::size_hint(moved.body()).exact(), Some(0));
        }
    }
}
