//! The checks of every route before it asks a peer: there is none in these tests.

use super::*;
use crate::metrics::Metrics;
use http_body_util::BodyExt;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use ipc_proto::config;
use kit::bench;
use manifest::Process;
use serde_json::Value;
use std::net::{IpAddr, Ipv4Addr};
use tokio::net::UnixStream;

const TCP: Via = Via::Tcp(IpAddr::V4(Ipv4Addr::LOCALHOST));
const ROUTES: [(&str, &str); 9] = [
    ("POST", "/v1/chat/completions"),
    ("POST", "/v1/responses"),
    ("POST", "/v1/embeddings"),
    ("POST", "/v1/messages"),
    ("POST", "/v1/messages/count_tokens?beta=true"),
    ("POST", "/v1/steer"),
    ("GET", "/v1/models"),
    ("GET", "/v1/models/agent/default"),
    ("GET", "/metrics"),
];

/// A app whose peers never come; the far ends keep their links waiting.
fn app() -> (Arc<AppState>, [UnixStream; 2]) {
    let config = config::Gateway {
        listen: Some("127.0.0.1:1".into()),
        origins: vec!["https://chat.lan".into()],
        hosts: vec!["127.0.0.1:1".into(), "localhost:1".into()],
        max_body: 1024,
        requests_per_minute: 600,
    };
    let [(router, one), (gate, other)] = [(); 2].map(|()| UnixStream::pair().unwrap());
    let (router, gate) = (bench::link(router, Process::Gateway), bench::link(gate, Process::Gateway));
    (Arc::new(AppState::new(config, Metrics::new().unwrap(), router, gate)), [one, other])
}

struct Answer {
    status: u16,
    headers: HeaderMap,
    body: String,
}

async fn ask(app: &Arc<AppState>, via: Via, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut request = request.body(Body::empty()).unwrap();
    request.extensions_mut().insert(via);
    let (head, body) = TowerToHyperService::new(all(app)).call(request).await.unwrap().into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    Answer {
        status: head.status.as_u16(),
        headers: head.headers,
        body: String::from_utf8(body.to_vec()).unwrap(),
    }
}

// Holds P3-15.
#[test]
fn without_a_key_every_route_is_refused_in_the_form_of_its_own_api() {
    let test = async {
        let (app, _peers) = app();
        for (method, path) in ROUTES {
            let answer = ask(&app, TCP, method, path, &[("host", "localhost:1")]).await;
            assert_eq!(answer.status, 401, "{path}");
            let body: Value = serde_json::from_str(&answer.body).unwrap();
            let (kind, id) = match path.starts_with("/v1/messages") {
                true => (&body["error"]["type"], "request-id"),
                false => (&body["error"]["code"], "x-request-id"),
            };
            let expected = if id == "request-id" { "authentication_error" } else { "invalid_api_key" };
            assert_eq!(kind, expected, "{path}");
            assert!(answer.headers[id].to_str().unwrap().starts_with("req_"), "{path}");
            assert_eq!(answer.headers["www-authenticate"], "Bearer");
        }
        let second = [("host", "localhost:1"), ("anthropic-version", "2023-06-01")];
        let answer = ask(&app, TCP, "GET", "/v1/models", &second).await;
        assert!(answer.body.contains("authentication_error"), "{}", answer.body);
    };
    bench::run(test).unwrap();
}

// Holds P3-15.
#[test]
fn a_request_for_another_host_is_refused_before_its_key_is_checked() {
    let test = async {
        let (app, _peers) = app();
        for headers in [
            &[("host", "evil.test"), ("authorization", "Bearer cdn_x")][..],
            &[("host", "localhost:2")],
            &[("host", "localhost:1"), ("host", "localhost:1")],
            &[],
        ] {
            assert_eq!(ask(&app, TCP, "GET", "/v1/models", headers).await.status, 421, "{headers:?}");
            assert_eq!(ask(&app, TCP, "GET", "/healthz", headers).await.status, 421, "{headers:?}");
        }
        let named = ask(&app, TCP, "GET", "http://evil.test/v1/models", &[("host", "localhost:1")]).await;
        assert_eq!(named.status, 421, "a request line names the host too");
        assert_eq!(ask(&app, TCP, "GET", "/healthz", &[("host", "LocalHost:1")]).await.status, 200);
        assert_eq!(ask(&app, Via::Unix(7), "GET", "/healthz", &[("host", "any")]).await.status, 200);
    };
    bench::run(test).unwrap();
}

// Holds P3-15.
#[test]
fn only_a_page_that_is_configured_is_told_that_it_may_ask() {
    let test = async {
        let (app, _peers) = app();
        let preflight = |origin: &'static str| {
            [("host", "localhost:1"), ("origin", origin), ("access-control-request-method", "POST")]
        };
        let path = "/v1/chat/completions";
        let allowed = ask(&app, TCP, "OPTIONS", path, &preflight("https://chat.lan")).await;
        assert_eq!(allowed.status, 204);
        assert_eq!(allowed.headers["access-control-allow-origin"], "https://chat.lan");
        let sent: Vec<&str> =
            allowed.headers["access-control-allow-headers"].to_str().unwrap().split(", ").collect();
        // The star does not stand for that one.
        assert!(sent.contains(&"authorization") && sent.contains(&"*"), "{sent:?}");
        for origin in ["https://evil.test", "null", "https://chat.lan.evil.test", "http://chat.lan"] {
            let refused = ask(&app, TCP, "OPTIONS", path, &preflight(origin)).await;
            assert_eq!(refused.status, 403, "{origin}");
            assert!(!refused.headers.contains_key("access-control-allow-origin"), "{origin}");
        }
        // A page may not read an answer that it may not ask for.
        let from = |origin: &'static str| [("host", "localhost:1"), ("origin", origin)];
        let foreign = ask(&app, TCP, "GET", "/healthz", &from("https://evil.test")).await;
        assert!(!foreign.headers.contains_key("access-control-allow-origin"));
        let own = ask(&app, TCP, "GET", "/v1/models", &from("https://chat.lan")).await;
        assert_eq!((own.status, own.headers.contains_key("access-control-allow-origin")), (401, true));
    };
    bench::run(test).unwrap();
}

#[test]
fn whether_it_serves_is_told_to_anybody_and_what_is_away_is_named() {
    let test = async {
        let (app, _peers) = app();
        let host = [("host", "localhost:1")];
        let healthy = ask(&app, TCP, "GET", "/healthz", &host).await;
        assert_eq!((healthy.status, healthy.body.as_str()), (200, "ok\n"));
        let ready = ask(&app, TCP, "GET", "/readyz", &host).await;
        assert_eq!((ready.status, ready.body.as_str()), (503, "waiting for router, gate\n"));
    };
    bench::run(test).unwrap();
}

#[test]
fn counters_know_the_routes_there_are_and_no_client_can_make_more() {
    for (_, path) in ROUTES {
        assert_ne!(route(path.split('?').next().unwrap()), "other", "{path}");
    }
    for path in ["/", "/v1", "/v1/chat/completions/", "/v2/models", "/%00"] {
        assert_eq!(route(path), "other", "{path}");
    }
}
